"""Our SMO engine, started from a chosen working set: what a ranking of the rows gains in an ordinary SVM."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from svmreduce.checks import NOT_NEGATIVE
from svmreduce.core.svm_problems import c_svc, epsilon_svr
from svmreduce.core.threads import resolve_threads
from svmreduce.solvers._first_rows import FirstRows, rows_in_order
from svmreduce.solvers._multiclass import one_sum
from svmreduce.solvers.base import SVMClassifier, SVMRegressor, seed_of


class DecompositionSVC(
    FirstRows,
    SVMClassifier,
    parameters="C kernel gamma coef0 degree tol first working_set cache_mb max_iter threads random_state "
    "class_weight probability",
):
    """C-SVC by decomposition: solve on a small working set, take in the rows that violate the conditions, repeat.

    The optimum is that of ``smo``; only the way there differs. ``n_iter_`` counts pair steps.

    Parameters
    ----------
    max_iter : int
        Pair steps per two-class problem; -1 leaves the limit to the engine.
    """

    stops_in_time = True

    def _fit_binary(self, X, y, weights, kernel):
        box = self.C * weights
        seed = seed_of(self.random_state)
        self.threads_ = resolve_threads(self.threads)

        def solve(order):
            return c_svc(X, y, box, kernel, tol=self.tol, cache_mb=self.cache_mb, max_iter=self.max_iter, seed=seed,
                         threads=self.threads_, first=order[: self.working_set])  # fmt: skip

        order = rows_in_order(self.first, X, (y > 0).astype(np.int64), kernel, seed=seed, threads=self.threads_,
                              coefficients_from=lambda order: solve(order).beta)  # fmt: skip
        return solve(order)


class DecompositionSVR(
    FirstRows,
    SVMRegressor,
    parameters="C epsilon kernel gamma coef0 degree tol first working_set cache_mb max_iter threads random_state",
):
    """ε-SVR by decomposition, as ``DecompositionSVC``; the optimum is that of ``svr``.

    Parameters
    ----------
    epsilon : float
        Errors up to here cost nothing.
    max_iter : int
        Pair steps; -1 leaves the limit to the engine.
    """

    epsilon: float = 0.1
    rules: ClassVar = {"epsilon": NOT_NEGATIVE}

    def _solve(self, X, y, weights):
        kernel, n = self._kernel_spec(X), len(y)
        seed = seed_of(self.random_state)
        self.threads_ = resolve_threads(self.threads)

        def solve(order):
            return epsilon_svr(X, y, self.C * weights, self.epsilon, kernel, tol=self.tol, cache_mb=self.cache_mb,
                               max_iter=self.max_iter, seed=seed, threads=self.threads_,
                               first=order[: self.working_set])  # fmt: skip

        order = rows_in_order(self.first, X, np.zeros(n, np.int64), kernel, target=y, seed=seed, threads=self.threads_,
                              coefficients_from=lambda order: solve(order).beta)  # fmt: skip
        return one_sum(solve(order), X, kernel, "epsilon_svr")
