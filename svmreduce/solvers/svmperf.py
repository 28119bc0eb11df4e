"""SVMperf: cutting planes, and a kernel expansion of a size that is chosen beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from svmreduce.checks import COUNT, FINITE
from svmreduce.core.kernel_values import FLOAT32_TOL, single_threaded_blas
from svmreduce.core.svmperf_basis import BasisSpace
from svmreduce.core.svmperf_search import LinearSpace, search
from svmreduce.core.threads import resolve_threads
from svmreduce.model import KernelModel
from svmreduce.parameters import Parameters
from svmreduce.rows import stacked
from svmreduce.solvers._multiclass import joint_counters, linear_one_versus_rest
from svmreduce.solvers._outcome import Outcome
from svmreduce.solvers.base import SVMClassifier, seed_of
from svmreduce.types import LinearSolution, Matrix

MOST_PLANES = 100_000


class SVMperf(
    Parameters,
    SVMClassifier,
    parameters="C kernel gamma coef0 degree k bias tol cache_mb max_iter threads random_state class_weight",
):
    """Sparse kernel SVM by 1-slack cutting planes: at most k basis vectors, which need not be rows.

    The hinge loss of all rows is one convex function of w, and each w tried gives a plane below it. w lies in the
    span of the basis. With every plane the basis grows by the vector that points most along what the plane
    asks for and the span lacks: for rbf any point of the input space (a pre-image, by fixed-point iteration), for
    other kernels a row. Then planes go on until they are within ``tol`` of the loss. Prediction costs k kernel
    values, however many rows there were. A linear kernel needs no basis: it is the plain 1-slack method.

    The problem differs from that of LIBSVM in the intercept, which belongs to a constant feature ``bias`` and is
    penalised as any other weight (as LIBLINEAR's).

    Parameters
    ----------
    C : float
        LIBSVM's C: the penalty of one row's slack.
    k : int
        Maximum number of basis vectors of each two-class problem. With no more rows than that, all rows are the basis,
        and the optimum is that of the whole problem.
    bias : float
        Value of the constant feature; 0 or below for no intercept.
    tol : float
        How far the mean loss of a row may be above its bound.
    cache_mb : float
        Memory for rows × k kernel values; with less they are computed again for each plane.
    max_iter : int
        Planes; -1 for 100,000.
    random_state : int, RandomState or None
        Chooses the rows that a new basis vector is sought from.

    Attributes
    ----------
    gap_ : float
        Mean loss at the end minus its bound from the planes.
    objective_ : float
        Minus the bound on the objective from below, in the span of the basis (a dual objective, as LIBSVM signs it).
    support_ : array
        The rows that are basis vectors; only where they are rows.
    """

    _toy_settings = ({"k": 5}, {"k": 5, "tol": 1e-5}, {})  # kernel values in float32, in double; all rows

    k: int = 1000
    bias: float = 1.0
    rules: ClassVar = {"k": COUNT, "bias": FINITE}

    def _solve_with(self, kernel, X, y, weights):
        self.threads_ = resolve_threads(self.threads)
        with single_threaded_blas:
            if kernel.name == "linear":
                return linear_one_versus_rest(
                    self._fit_linear, X, y, weights, kernel, self.classes_, "L2R_L1LOSS_SVC_DUAL", max(self.bias, 0.0)
                )
            return self._one_versus_one(kernel, X, y, weights)

    def _search(self, space, total_weight):
        most = MOST_PLANES if self.max_iter < 0 else self.max_iter
        found = search(space, self.C * total_weight, self.tol, most)
        facts = {
            "objective": -found.bound,
            "gap": found.gap,
            "n_iter": found.n_iter,
            "kernel_evals": space.kernel_evals,
            # no share in any plane would give a bound of zero: below it, rounding has the last word
            "converged": found.gap <= self.tol and found.bound >= 0.0,
        }
        return found.w, facts

    def _fit_linear(self, X, y, weights, kernel):
        space = LinearSpace(X, y * weights / weights.sum(), max(self.bias, 0.0))
        w, facts = self._search(space, weights.sum())
        return LinearSolution(w[1:], space.bias * w[0], **facts)

    def _fit_basis(self, X, y, weights, kernel):
        space = BasisSpace(kernel, X, y * weights / weights.sum(), max(self.bias, 0.0), self.k,
                           single=self.tol >= FLOAT32_TOL, cache_mb=self.cache_mb,
                           seed=seed_of(self.random_state), threads=self.threads_)  # fmt: skip
        w, facts = self._search(space, weights.sum())
        if space.size == 0:  # the kernel is zero everywhere: an intercept is all there is, but a model has vectors
            return BasisSolution(X[:1], np.zeros(1), np.zeros(1, np.int64), space.bias * w[0], **facts)
        rows = space.chosen if space.invented is None else None
        return BasisSolution(space.vectors(), space.coefficients(w[1:]), rows, space.bias * w[0], **facts)

    def _one_versus_one(self, kernel, X, y, weights):
        """A basis for each pair of classes. In the model the vectors of a pair are with its first class."""
        classes = len(self.classes_)
        order = [1, 0] if classes == 2 else list(range(classes))
        solutions, coefs, supports = [], [], []
        for i, j in combinations(range(classes), 2):
            rows = np.flatnonzero((y == order[i]) | (y == order[j]))
            target = np.where(y[rows] == order[i], 1.0, -1.0)
            solution = self._fit_basis(X[rows], target, weights[rows], kernel)
            coef = np.zeros((classes - 1, len(solution.coef)))
            coef[j - 1] = solution.coef
            solutions.append(solution)
            coefs.append(coef)
            supports.append(None if solution.rows is None else rows[solution.rows])
        sizes = np.zeros(classes, np.int64)
        for (i, _), coef in zip(combinations(range(classes), 2), coefs, strict=True):
            sizes[i] += coef.shape[1]
        model = KernelModel(
            kernel,
            stacked([solution.vectors for solution in solutions]),
            np.hstack(coefs),
            np.array([solution.intercept for solution in solutions]),
            self.classes_[order],
            sizes,
        )
        support = None if any(rows is None for rows in supports) else np.concatenate(supports)
        return Outcome(model, support, **joint_counters(solutions))


@dataclass(frozen=True)
class BasisSolution:
    """One two-class problem solved in the span of a basis: f(x) = Σ coef_j k(vector_j, x) + intercept."""

    vectors: Matrix
    coef: np.ndarray
    rows: np.ndarray | None  # which rows the vectors are, if they are
    intercept: float
    objective: float
    gap: float
    n_iter: int
    kernel_evals: int
    converged: bool
