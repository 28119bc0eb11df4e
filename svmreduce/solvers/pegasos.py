"""Pegasos: stochastic sub-gradient descent on the primal problem, linear and with kernels."""

from __future__ import annotations

from itertools import count
from typing import ClassVar

import numpy as np
from scipy import sparse

from svmreduce.checks import FINITE
from svmreduce.core import pegasos_passes
from svmreduce.core.kernel_values import KernelRows, single_threaded_blas
from svmreduce.core.threads import resolve_threads
from svmreduce.core.watch import share_of_time, time_is_up
from svmreduce.errors import InputError
from svmreduce.model import LinearModel
from svmreduce.parameters import Parameters
from svmreduce.solvers.base import Outcome, SVMClassifier, seed_of
from svmreduce.types import DualSolution

_RUN = 16  # neighbouring rows visited together: jumping to every single one waits for memory
_BLOCK = 1024  # rows whose steps share their kernel values


class _SubGradient(Parameters, SVMClassifier):
    """What both share: when to stop, and the constant feature.

    Parameters
    ----------
    tol : float
        Stop when the duality gap is at most this part of the objective.
    max_iter : int
        Maximum number of passes over the rows of a two-class problem; -1 for no limit.
    bias : float
        Value of the constant feature that gives the intercept; below 0 for none.
    """

    stops_in_time = True

    tol: float = 0.05
    max_iter: int = 500
    bias: float = 1.0
    rules: ClassVar = {"bias": FINITE}


class Pegasos(_SubGradient, parameters="C tol max_iter bias random_state class_weight"):
    """Linear SVM by stochastic sub-gradient steps (Pegasos); several classes one against the rest.

    Every step looks at one row, shrinks the weights by 1/t and, if the row's margin is below one, adds the
    row with step size 1/(λt). The problem is λ/2·||w||² + mean hinge loss with λ = 1/(C·rows), so C means what it
    means elsewhere. The offset is the weight of a constant feature and is regularised, as in LIBLINEAR.

    Two things follow the practice of its paper: rows are visited in shuffled order, each once per pass, and
    there is no projection. The answer is the mean of the iterates of the last fifth of the passes (each weighted
    by its step number), which comes much closer to the optimum than the last one alone. The counts of
    violations give a feasible point of the dual problem; the gap between the two is what ``tol`` bounds, so a fit
    that ends before ``max_iter`` is proven to be that good, and mostly is far better.

    References
    ----------
    Shalev-Shwartz, Singer, Srebro, Cotter (2011): Pegasos: primal estimated sub-gradient solver for SVM.
    """

    kernels = ("linear",)

    def _solve(self, X, y, weights):
        random = np.random.default_rng(seed_of(self.random_state))
        order = random.permutation(len(y))
        X, y, weights = X[order], y[order], weights[order]
        k = len(self.classes_)
        parts = []
        for code in [1] if k == 2 else range(k):
            walk = _LinearWalk(X, np.where(y == code, 1.0, -1.0), weights, self.C, self.bias)
            with share_of_time(k - code):
                parts.append(descend(walk, random, self.tol, self.max_iter))
        w = np.array([part["mean"] for part in parts])
        model = LinearModel(
            np.ascontiguousarray(w[:, :-1]),
            w[:, -1] * max(self.bias, 0.0),
            self.classes_[[1, 0]] if k == 2 else self.classes_,
            "L2R_L1LOSS_SVC_DUAL",
            float(self.bias),
        )
        return Outcome(
            model,
            objective=-sum(part["primal"] for part in parts),
            n_iter=sum(part["passes"] for part in parts),
            gap=max(part["gap"] for part in parts),
            converged=all(part["converged"] for part in parts),
        )


class KernelPegasos(
    _SubGradient,
    parameters="C kernel gamma coef0 degree tol max_iter bias threads random_state class_weight probability",
):
    """SVM by stochastic sub-gradient steps in the feature space of a kernel (kernelised Pegasos).

    The steps, the mean and the certificate of ``Pegasos``, with the weights kept as coefficients of rows.
    The decision values of all rows are kept up to date, so a pass costs (rows × violators) kernel values.
    The offset is that of a constant feature, that is of the kernel k + bias², and is regularised.
    """

    _toy_rows = 1500  # enough for prediction in float32
    _toy_settings = ({"tol": 0.9},)

    max_iter: int = 100

    def _fit_binary(self, X, y, weights, kernel):
        self.threads_ = resolve_threads(self.threads)
        walk = _KernelWalk(X, y, weights, self.C, self.bias, kernel, self.threads_)
        random = np.random.default_rng(seed_of(self.random_state))
        with single_threaded_blas:
            found = descend(walk, random, self.tol, self.max_iter)
        beta = y * found["alpha"]
        return DualSolution(
            beta,
            intercept=max(self.bias, 0.0) ** 2 * beta.sum(),
            objective=-found["primal"],
            gap=found["gap"],
            n_iter=found["passes"],
            kernel_evals=walk.kernel_evals,
            converged=found["converged"],
        )


class _LinearWalk:
    """Steps on weights: ``sums`` are in the space of the features and the constant one."""

    def __init__(self, X, y, weights, C, bias):
        self.X, self.y, self.box = X, y, C * weights
        self.bias = max(float(bias), 0.0)
        self.lam = 1.0 / self.box.sum()
        self.gain = weights * (len(y) / weights.sum())
        self.sums = np.zeros((2, X.shape[1] + 1))
        self.visits = np.zeros((2, len(y)))

    def run(self, random, step):
        n = len(self.y)
        run = max(1, min(_RUN, n // 64))
        order = (random.permutation(-(-n // run))[:, None] * run + np.arange(run)).ravel()
        X = self.X
        rows = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
        work = pegasos_passes.sparse_pass if sparse.issparse(X) else pegasos_passes.dense_pass
        work(*rows, self.y, self.gain, order[order < n], step, self.lam, self.bias, self.sums, self.visits)

    def values_and_norm(self, w, alpha):
        """Decision values of all rows, and ||w||²."""
        return self.X @ w[:-1] + w[-1] * self.bias, w @ w


class _KernelWalk:
    """Steps on coefficients: ``sums`` are decision values of the rows, up to a factor."""

    def __init__(self, X, y, weights, C, bias, kernel, threads):
        self.rows, self.y, self.box = KernelRows(kernel, X, np.float32), y, C * weights
        self.constant = max(float(bias), 0.0) ** 2
        self.threads, self.kernel_evals = threads, 0
        self.lam = 1.0 / self.box.sum()
        self.gain = weights * (len(y) / weights.sum())
        self.sums = np.zeros((2, len(y)))
        self.visits = np.zeros((2, len(y)))

    def run(self, random, step):
        order = random.permutation(len(self.y))
        for start in range(0, len(order), _BLOCK):
            self._block(order[start : start + _BLOCK], step + start)

    def _block(self, block, step):
        """Step by step within the block, then bring the decision values of all rows up to date at once."""
        b, rows = len(block), self.rows
        K = np.empty(b * b, rows.dtype)
        rows.block(block, rows, block, K, b, self.threads)
        K += rows.dtype.type(self.constant)
        steps = np.empty(b, np.int64)
        pegasos_passes.kernel_steps(K, self.y[block], self.gain[block], self.sums[0, block], step, self.lam, steps)
        moved = block[steps > 0]
        gain = self.gain[moved]
        timed = np.array([gain, gain * steps[steps > 0]])
        self.visits[:, moved] += timed
        timed *= self.y[moved]
        rows.add_products(np.arange(rows.n), rows, moved, timed, self.sums, self.threads)
        self.sums += self.constant * timed.sum(axis=1)[:, None]
        self.kernel_evals += b * b + rows.n * len(moved)

    def values_and_norm(self, values, alpha):
        return values, (alpha * self.y) @ values


def descend(walk, random, tol: float, max_iter: int) -> dict:
    """Passes over the rows until the duality gap is at most ``tol`` times the objective.

    Returns the mean iterate (weights, or decision values of the rows), its coefficients ``alpha`` (one per row,
    between 0 and C·weight but for rounding), the objective ½||w||² + C·Σ weight·hinge and the gap reached.
    """
    n, step, lower, gap = len(walk.y), 0, 0.0, None
    begun, before, visited = 0, 0.0, 0.0  # where the mean starts, and the sums up to there
    next_look = 1
    for passes in count(1):
        walk.run(random, step)
        step += n
        is_last = time_is_up(rounds=passes, gap=gap) or passes == max_iter
        if passes == next_look or is_last:
            # Σ t·w over the steps since the last look is Σ U/λ, and their t sum up to the rest
            scale = 1.0 / (walk.lam * (step * (step + 1) - begun * (begun + 1)) / 2)
            mean = scale * (_total(walk.sums, step) - before)
            alpha = scale * (_total(walk.visits, step) - visited)
            values, norm = walk.values_and_norm(mean, alpha)
            primal = norm / 2 + walk.box @ np.maximum(0.0, 1.0 - walk.y * values)
            if not np.isfinite(primal):
                raise InputError("the objective is not finite: scale the data")
            lower = max(lower, _dual_bound(alpha, walk.box, norm))
            gap = (primal - lower) / primal
            if gap <= tol or is_last:
                return {
                    "mean": mean, "alpha": alpha, "primal": primal, "gap": gap, "passes": passes,
                    "converged": gap <= tol,
                }  # fmt: skip
            begun, before, visited = step, _total(walk.sums, step), _total(walk.visits, step)
            next_look = max(passes + 1, passes * 5 // 4)


def _total(sums, step):
    """U₁ + … + U_step from the plain and the timed sum of its terms."""
    return (step + 1) * sums[0] - sums[1]


def _dual_bound(alpha, box, norm) -> float:
    """The best lower bound on the objective along the ray of ``alpha`` that keeps to 0 ≤ s·alpha ≤ box."""
    if norm <= 0:  # no step yet, or a kernel that is not positive definite, for which nothing is proven
        return 0.0
    total = alpha.sum()
    s = min(1.0 / np.max(alpha / box), total / norm)
    return s * total - s * s * norm / 2
