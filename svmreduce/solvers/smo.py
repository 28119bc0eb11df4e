"""The project's own engine as an estimator."""

from __future__ import annotations

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from svmreduce.core import smo_engine
from svmreduce.core.jit import resolve_threads
from svmreduce.kernels import KERNELS
from svmreduce.solvers.base import SVMClassifier, seed_of


class SMO(SVMClassifier):
    """Weighted C-SVC by sequential minimal optimisation, the same optimum as LIBSVM.

    Two rows at a time are moved to where the dual objective is best, until no pair violates the
    optimality conditions by more than ``tol``. A row of weight w has the box 0 ≤ α ≤ C·w, so it counts
    as w equal rows.

    Parameters
    ----------
    C : float, default=1.0
    kernel : str, default="rbf"
        linear, poly, rbf, sigmoid, kmod, gaussian (the same as rbf), gaussian_diagonal, gaussian_mahalanobis (norms
        learned from the training rows), or an average of them: ``rbf:5+poly(degree=2):5``.
    gamma : float or {"scale", "auto", "auto-distance"}, default="scale"
    coef0 : float, default=0.0
    degree : int, default=3
    tol : float, default=1e-3
        Largest violation of the optimality conditions, as LIBSVM's -e.
    cache_mb : float, default=1024
        Memory for kernel rows.
    max_iter : int, default=-1
        Steps per two-class problem; -1 leaves the limit to the engine.
    threads : int or None
        None takes every core this process may use.
    class_weight : None, "balanced" or dict
        Factor on C per class.
    random_state : int, RandomState or None, default=0
    """

    kernels = KERNELS
    mixes_kernels = True
    _toy_rows = 2500  # more than a first working set, so that every compiled function is met
    _toy_settings = ({}, {"tol": 1e-5})  # kernel values in float32 and in double

    def __init__(
        self,
        C=1.0,
        kernel="rbf",
        gamma="scale",
        coef0=0.0,
        degree=3,
        tol=1e-3,
        cache_mb=1024,
        max_iter=-1,
        threads=None,
        class_weight=None,
        random_state=0,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.tol = tol
        self.cache_mb = cache_mb
        self.max_iter = max_iter
        self.threads = threads
        self.class_weight = class_weight
        self.random_state = random_state

    def _targets(self, y, weights):
        if self.class_weight is not None:
            weights = weights * compute_sample_weight(self.class_weight, y)
        return super()._targets(y, weights)

    def _fit_binary(self, X, y, weights, kernel):
        box = self.C * weights
        self.threads_ = resolve_threads(self.threads)
        return smo_engine.solve(
            X,
            y,
            np.where(y > 0, 0.0, -box),
            np.where(y > 0, box, 0.0),
            kernel,
            tol=self.tol,
            cache_mb=self.cache_mb,
            max_iter=self.max_iter,
            seed=seed_of(self.random_state),
            threads=self.threads_,
        )
