"""The own engine from a chosen first working set: what a ranking of the rows brings to an ordinary SVM."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from svmreduce.core import smo_engine
from svmreduce.core.jit import resolve_threads
from svmreduce.model import KernelModel
from svmreduce.solvers._first_rows import rows_in_order
from svmreduce.solvers._multiclass import support_of
from svmreduce.solvers._outcome import Outcome
from svmreduce.solvers.base import SVMClassifier, SVMRegressor, seed_of


class DecompositionSVC(SVMClassifier):
    """C-SVC by decomposition: solve on a small working set, take in the rows that violate the conditions, repeat.

    The optimum is that of ``smo``; only the way there differs. ``n_iter_`` counts pair steps.

    Parameters
    ----------
    C : float, default=1.0
    kernel : {"linear", "poly", "rbf", "sigmoid"}, default="rbf"
    gamma : float or {"scale", "auto", "auto-distance"}, default="scale"
    coef0 : float, default=0.0
    degree : int, default=3
    tol : float, default=1e-3
    first : {"mahalanobis", "kernel_mahalanobis", "random"}, default="mahalanobis"
        How the first working set is chosen: the rows of each class that are furthest from its centre, in the input
        space or in that of the kernel, or any.
    working_set : int, default=200
        Rows of the first working set; at most as many come in at a time, or as many as are there.
    cache_mb : float, default=1024
    max_iter : int, default=-1
        Pair steps per two-class problem; -1 leaves the limit to the engine.
    threads : int or None
    random_state : int, RandomState or None, default=0
    """

    def __init__(
        self,
        C=1.0,
        kernel="rbf",
        gamma="scale",
        coef0=0.0,
        degree=3,
        tol=1e-3,
        first="mahalanobis",
        working_set=200,
        cache_mb=1024,
        max_iter=-1,
        threads=None,
        random_state=0,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.tol = tol
        self.first = first
        self.working_set = working_set
        self.cache_mb = cache_mb
        self.max_iter = max_iter
        self.threads = threads
        self.random_state = random_state

    def _fit_binary(self, X, y, weights, kernel):
        box = self.C * weights
        seed = seed_of(self.random_state)
        self.threads_ = resolve_threads(self.threads)
        order = rows_in_order(self.first, X, (y > 0).astype(np.int64), kernel, seed=seed, threads=self.threads_)
        return smo_engine.solve(X, y, np.where(y > 0, 0.0, -box), np.where(y > 0, box, 0.0), kernel, tol=self.tol,
                         cache_mb=self.cache_mb, max_iter=self.max_iter, seed=seed, threads=self.threads_,
                         first=order[: self.working_set])  # fmt: skip


class DecompositionSVR(SVMRegressor):
    """ε-SVR by decomposition, as ``DecompositionSVC``; the optimum is that of ``libsvm_svr``.

    Parameters
    ----------
    C : float, default=1.0
    epsilon : float, default=0.1
        Errors up to here cost nothing.
    kernel : {"linear", "poly", "rbf", "sigmoid"}, default="rbf"
    gamma : float or {"scale", "auto", "auto-distance"}, default="scale"
    coef0 : float, default=0.0
    degree : int, default=3
    tol : float, default=1e-3
    first : {"mahalanobis", "kernel_mahalanobis", "random"}, default="mahalanobis"
        The ranked rows are those furthest from the centre of the joint cloud of inputs and target.
    working_set : int, default=200
    cache_mb : float, default=1024
    max_iter : int, default=-1
    threads : int or None
    random_state : int, RandomState or None, default=0
    """

    def __init__(
        self,
        C=1.0,
        epsilon=0.1,
        kernel="rbf",
        gamma="scale",
        coef0=0.0,
        degree=3,
        tol=1e-3,
        first="mahalanobis",
        working_set=200,
        cache_mb=1024,
        max_iter=-1,
        threads=None,
        random_state=0,
    ):
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.tol = tol
        self.first = first
        self.working_set = working_set
        self.cache_mb = cache_mb
        self.max_iter = max_iter
        self.threads = threads
        self.random_state = random_state

    def _solve(self, X, y, weights):
        kernel, n = self._kernel_spec(X), len(y)
        box, none = self.C * weights, np.zeros(n)
        seed = seed_of(self.random_state)
        self.threads_ = resolve_threads(self.threads)
        order = rows_in_order(self.first, X, np.zeros(n, np.int64), kernel, target=y, seed=seed, threads=self.threads_)
        first = order[: self.working_set]
        # Every row stands twice: once for being above the tube, once for being below
        twice = sparse.vstack([X, X], format="csr") if sparse.issparse(X) else np.vstack([X, X])
        found = smo_engine.solve(twice, np.concatenate([y - self.epsilon, y + self.epsilon]), np.concatenate([none, -box]),
                          np.concatenate([box, none]), kernel, tol=self.tol, cache_mb=self.cache_mb,
                          max_iter=self.max_iter, seed=seed, threads=self.threads_,
                          first=np.concatenate([first, first + n]))  # fmt: skip
        beta = found.beta[:n] + found.beta[n:]
        support = support_of(beta)
        model = KernelModel(kernel, X[support], beta[None, support], np.array([found.intercept]),
                            svm_type="epsilon_svr")  # fmt: skip
        return Outcome(model, support, found.objective, found.n_iter, found.kernel_evals, found.gap, found.converged)
