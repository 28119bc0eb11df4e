"""Every fit of a grid, fold by fold: kernel values shared where they fit, solutions carried along C.

Where the matrix of all rows fits into ``cache_mb``, squared distances (or products) are computed once, one matrix per
gamma serves all folds, all C, all pairs of classes and the validation rows, and ``core.cost_paths`` solves. Where it
does not fit, ``core.smo_engine`` solves, each C from the solution of the last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import prod
from threading import Lock
from time import monotonic

import numpy as np
from scipy import sparse

from svmreduce.core import smo_engine
from svmreduce.core.cost_paths import bands, block_shape, matrix_from, solve_path
from svmreduce.core.kernel_values import FLOAT32_LARGEST, decision_function, kernel_matrix, single_threaded_blas
from svmreduce.core.threads import in_threads, resolve_threads
from svmreduce.core.tiles import RADIAL
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec

BLOCK_ROWS = 8192  # the most rows that pair steps run on at a time
MOST_STEPS = 10_000_000
PROBES = 200  # rows
ROUNDING, TOLERABLE = 2.0**-24, 1e-4  # of a kernel value in float32; of the squared distance of two rows in its space


class _OutOfTimeError(Exception):
    """The budget is spent, or the search was stopped, in the middle of a path."""


@dataclass(frozen=True)
class PathResult:
    """One gamma (and epsilon) on one fold: a list over C each."""

    scores: list[float]
    vectors: list[int]
    gaps: list[float]
    steps: list[int]
    kernel_evals: int = 0


class GridSearch:
    """All fits of a grid.

    Parameters
    ----------
    X : rows
    kernels : one KernelSpec per gamma
    C : ascending
    folds : ClassFold or RegressionFold per fold
    measure : of a fold, its predictions and decision values
    reduce : (kernel, problem) -> the problem on fewer rows, optional; ``reduce.keeps_few`` says that the matrix of all
        rows is not worth its time
    """

    def __init__(self, X, kernels, C, folds, measure, *, tol=1e-3, cache_mb=2048, threads=None, reduce=None):
        self.X, self.kernels, self.C, self.folds, self.measure = X, kernels, C, folds, measure
        self.tol, self.cache_mb, self.reduce = tol, cache_mb, reduce
        self.threads = resolve_threads(threads)
        self.stopped = False
        self._lock = Lock()
        self._spare = defaultdict(list)
        matrix_mb = 4 * X.shape[0] ** 2 / 2**20
        fit = int((cache_mb - 64) / matrix_mb) - 1  # one matrix is shared by all gammas
        self.dtype = np.float32 if self._is_precise() else np.float64  # of kernel values
        keeps_few = reduce is not None and reduce.keeps_few
        self.shares_matrix = fit >= 1 and not keeps_few and self.dtype == np.float32
        self.threads = min(self.threads, fit) if self.shares_matrix else self.threads
        self.place = self._places()

    def _places(self) -> np.ndarray:
        """Of every row in the matrix: rows that are held out together, and of one class, stand together."""
        held_out = np.full(self.X.shape[0], len(self.folds))
        for f in reversed(range(len(self.folds))):
            held_out[self.folds[f].test] = f
        return np.argsort(np.lexsort((self.folds[0].codes, held_out)))

    def _is_precise(self) -> bool:
        """Whether float32 tells rows apart, by some of them. If not, the engine finds its own way, or says why not."""
        if self.kernels[0].code in RADIAL:
            return True
        X = self._centred()
        some = X[np.sort(np.random.default_rng(0).choice(X.shape[0], min(PROBES, X.shape[0]), replace=False))]
        for kernel in self.kernels:
            with np.errstate(over="ignore", invalid="ignore"):
                K = kernel_matrix(kernel, some, some)
                apart = np.median(np.abs(K.diagonal()[:, None] + K.diagonal() - 2 * K)[~np.eye(len(K), dtype=bool)])
            largest = np.abs(K).max() if np.isfinite(K).all() else np.inf
            if not (largest <= FLOAT32_LARGEST and largest * ROUNDING <= TOLERABLE * apart):
                return False
        return True

    def _centred(self):
        """Distances do not change, nor does a linear kernel but for the intercept; and both cancel less."""
        can = self.kernels[0].code in RADIAL or self.kernels[0].name == "linear"
        return self.X - self.X.mean(axis=0) if can and not sparse.issparse(self.X) else self.X

    def run(self, report: Callable[[int, int, PathResult], object], done=frozenset(), deadline=None, stop=None):
        """Solve all that is not ``done``, until the deadline or until ``stop()``.

        ``report`` takes gamma, fold and result, one at a time.
        """
        self._deadline, self._stop = deadline, stop
        order = sorted(range(len(self.kernels)), key=lambda g: abs(g - (len(self.kernels) - 1) / 2))
        order = [g for g in order if any((g, f) not in done for f in range(len(self.folds)))]
        with single_threaded_blas:
            base = self._base() if self.shares_matrix and order else None
        by_gamma = self.shares_matrix and len(order) >= self.threads
        outer, inner = (self.threads, 1) if by_gamma else (1, self.threads if self.shares_matrix else 1)

        def one_gamma(place):
            g = order[place]

            def one_fold(f):
                if (g, f) in done or self._over():
                    return
                with suppress(_OutOfTimeError):
                    result = self._path(g, f, K)
                    with self._lock:
                        report(g, f, result)

            shape = (0, 0) if base is None else base.shape
            with self._floats(shape[0] * shape[1]) as room:
                K = None if base is None or self._over() else matrix_from(self.kernels[g], base, room.reshape(shape))
                in_threads(one_fold, len(self.folds), inner)

        try:
            with single_threaded_blas:
                in_threads(one_gamma, len(order), outer)
        except BaseException:
            self.stopped = True  # threads end after the path they are at
            raise

    def _over(self) -> bool:
        asked = self._stop is not None and self._stop()
        return self.stopped or asked or (self._deadline is not None and monotonic() > self._deadline)

    @contextmanager
    def _floats(self, size: int):
        """Room that is used again: memory costs most when it is touched for the first time."""
        spare = self._spare[size]
        with self._lock:
            room = spare.pop() if spare else np.empty(size, np.float32)
        yield room
        spare.append(room)

    def _base(self) -> np.ndarray:
        """Squared distances, or products, of all rows at their places: in double, kept in float32."""
        X, n = self._centred()[np.argsort(self.place)], self.X.shape[0]
        radial = self.kernels[0].code in RADIAL
        norms = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
        base = np.empty((n, n), np.float32)

        parts = bands(n)

        def band(place):
            rows = parts[place]
            product = X[rows] @ X.T
            product = product.toarray() if sparse.issparse(product) else product
            if radial:
                product *= -2.0
                product += norms[rows, None]
                product += norms
                np.maximum(product, 0.0, out=product)
            base[rows] = product

        with np.errstate(over="ignore", invalid="ignore"):
            in_threads(band, len(parts), self.threads)
        if radial:
            np.fill_diagonal(base, 0.0)
        if not np.isfinite(base.max()):
            raise InputError("the numbers are too large for kernel values: scale the data")
        return base

    def _path(self, g: int, f: int, K) -> PathResult:
        fold = self.folds[f]
        problems = fold.problems()
        decisions = np.zeros((len(self.C), fold.test.size, len(problems)))
        used = np.zeros((len(self.C), self.X.shape[0]), bool)
        gaps, steps, evals = np.zeros(len(self.C)), np.zeros(len(self.C), np.int64), 0
        for p, problem in enumerate(problems):
            problem = problem if self.reduce is None else self.reduce(self.kernels[g], problem)
            if K is not None:
                evals += self._on_matrix(K, problem, fold, decisions[:, :, p], used, gaps, steps)
            else:
                evals += self._on_rows(self.kernels[g], problem, fold, decisions[:, :, p], used, gaps, steps)
        scores = [self.measure(fold, *fold.predict(decisions[c])) for c in range(len(self.C))]
        return PathResult(scores, used.sum(axis=1).tolist(), gaps.tolist(), steps.tolist(), int(evals))

    def _on_matrix(self, K, problem, fold, decisions, used, gaps, steps) -> int:
        n = self.X.shape[0]
        f_of, beta_of = np.empty((len(self.C), n)), np.empty((len(self.C), problem.target.size))
        facts = np.empty((len(self.C), 3))
        order = np.argsort(self.place[problem.rows], kind="stable")
        rows = problem.rows[order]
        shape = block_shape(min(BLOCK_ROWS, problem.target.size))
        with self._floats(prod(block_shape(min(BLOCK_ROWS, 2 * n)))) as room:  # one size for all problems
            solve_path(K, n, self.place[rows], problem.target[order], problem.lower[order],
                       problem.upper[order], self.C, self.tol, MOST_STEPS, room[: prod(shape)].reshape(shape),
                       f_of, beta_of, facts)  # fmt: skip
        decisions[:] = f_of[:, self.place[fold.test]] + facts[:, :1]
        for c in range(len(self.C)):
            used[c, rows[beta_of[c] != 0]] = True
        np.maximum(gaps, facts[:, 1], out=gaps)
        steps += facts[:, 2].astype(np.int64)
        return 0

    def _on_rows(self, kernel: KernelSpec, problem, fold, decisions, used, gaps, steps) -> int:
        """Without a matrix: the engine, each C from the last solution times the ratio."""
        rows = problem.rows[: len(np.unique(problem.rows))]  # a regression has every row twice
        doubled = rows.size < problem.rows.size
        X = self.X[problem.rows] if doubled else self.X[rows]
        beta, evals = None, 0
        for c, C in enumerate(self.C):
            start = None if beta is None else beta * (C / self.C[c - 1])
            if start is not None:  # products of rounded numbers may be just beyond
                start = np.clip(start, C * problem.lower, C * problem.upper)
            found = smo_engine.solve(X, problem.target, C * problem.lower, C * problem.upper, kernel, tol=self.tol,
                                     cache_mb=self.cache_mb / 4, threads=self.threads, start=start)  # fmt: skip
            beta = found.beta
            support = np.flatnonzero(beta)
            values = decision_function(kernel, self.X[fold.test], X[support], beta[support, None], self.threads,
                                       self.dtype)  # fmt: skip
            decisions[c] = values[:, 0] + found.intercept
            used[c, problem.rows[support]] = True
            gaps[c], steps[c] = max(gaps[c], found.gap), steps[c] + found.n_iter
            evals += found.kernel_evals + fold.test.size * support.size
            if self._over() and c + 1 < len(self.C):
                raise _OutOfTimeError  # a path that is not whole has no scores
        return evals


def with_gamma(kernel: KernelSpec, gamma: float) -> KernelSpec:
    return replace(kernel, gamma=float(gamma))
