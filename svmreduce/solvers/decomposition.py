"""Our SMO engine, started from a chosen working set: what a ranking of the rows gains in an ordinary SVM."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import sparse

from svmreduce.checks import NOT_NEGATIVE
from svmreduce.core import smo_engine
from svmreduce.core.jit import resolve_threads
from svmreduce.model import KernelModel
from svmreduce.solvers._first_rows import FirstRows, rows_in_order
from svmreduce.solvers._multiclass import support_of
from svmreduce.solvers._outcome import Outcome
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
            return smo_engine.solve(
                X, y, np.where(y > 0, 0.0, -box), np.where(y > 0, box, 0.0), kernel, tol=self.tol,
                cache_mb=self.cache_mb, max_iter=self.max_iter, seed=seed, threads=self.threads_,
                first=order[: self.working_set],
            )  # fmt: skip

        order = rows_in_order(self.first, X, (y > 0).astype(np.int64), kernel, seed=seed, threads=self.threads_,
                              coefficients_from=lambda order: solve(order).beta)  # fmt: skip
        return solve(order)


class DecompositionSVR(
    FirstRows,
    SVMRegressor,
    parameters="C epsilon kernel gamma coef0 degree tol first working_set cache_mb max_iter threads random_state",
):
    """ε-SVR by decomposition, as ``DecompositionSVC``; the optimum is that of ``libsvm_svr``.

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
        box, none = self.C * weights, np.zeros(n)
        seed = seed_of(self.random_state)
        self.threads_ = resolve_threads(self.threads)
        # Every row appears twice: once for being above the tube, once for being below
        twice = sparse.vstack([X, X], format="csr") if sparse.issparse(X) else np.vstack([X, X])
        target = np.concatenate([y - self.epsilon, y + self.epsilon])

        def solve(order):
            first = order[: self.working_set]
            found = smo_engine.solve(
                twice, target, np.concatenate([none, -box]), np.concatenate([box, none]), kernel, tol=self.tol,
                cache_mb=self.cache_mb, max_iter=self.max_iter, seed=seed, threads=self.threads_,
                first=np.concatenate([first, first + n]),
            )  # fmt: skip
            return found, found.beta[:n] + found.beta[n:]

        order = rows_in_order(self.first, X, np.zeros(n, np.int64), kernel, target=y, seed=seed, threads=self.threads_,
                              coefficients_from=lambda order: solve(order)[1])  # fmt: skip
        found, beta = solve(order)
        support = support_of(beta)
        model = KernelModel(kernel, X[support], beta[None, support], np.array([found.intercept]),
                            svm_type="epsilon_svr")  # fmt: skip
        return Outcome(model, support, found.objective, found.n_iter, found.kernel_evals, found.gap, found.converged)
