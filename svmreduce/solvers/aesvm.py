"""AESVM: the SVM trained on the representative set."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from svmreduce.reducers.derive_rs import DeriveRS, representative_set
from svmreduce.solvers.smo import SMO


class AESVC(SMO):
    """C-SVC on the approximate extreme points: DeriveRS, then weighted SMO.

    The objective differs from that of the whole problem by at most C·√(C·ε), with the paper's C, which is
    the number of rows times the C here. ``seconds_`` tells the reduction and the solver apart.

    Parameters
    ----------
    C : float, default=1.0
        LIBSVM's C; the paper's C'.
    kernel : {"linear", "poly", "rbf", "sigmoid", "kmod", "gaussian_diagonal", "gaussian_mahalanobis"}, default="rbf"
    gamma : float or {"scale", "auto", "auto-distance"}, default="scale"
    coef0 : float, default=0.0
    degree : int, default=3
    epsilon : float, default=1e-2
        Largest squared feature-space distance left between a dropped row and its mixture of kept rows.
    P : int, default=100000
    V : int, default=1000
    first_level : {"fls2", "fls1"}, default="fls2"
        See ``DeriveRS``.
    tol : float, default=1e-3
    cache_mb : float, default=1024
    max_iter : int, default=-1
    threads : int or None
    class_weight : None, "balanced" or dict
    random_state : int, RandomState or None, default=0
    """

    _toy_settings = ({"P": 1000, "V": 500}, {"P": 1000, "V": 500, "tol": 1e-5, "epsilon": 1e-6})  # see DeriveRS
    mixes_kernels = False
    rules: ClassVar = DeriveRS.rules

    def __init__(
        self,
        C=1.0,
        kernel="rbf",
        gamma="scale",
        coef0=0.0,
        degree=3,
        epsilon=1e-2,
        P=100_000,
        V=1000,
        first_level="fls2",
        tol=1e-3,
        cache_mb=1024,
        max_iter=-1,
        threads=None,
        class_weight=None,
        random_state=0,
    ):
        super().__init__(C, kernel, gamma, coef0, degree, tol, cache_mb, max_iter, threads, class_weight, random_state)
        self.epsilon = epsilon
        self.P = P
        self.V = V
        self.first_level = first_level

    def _solve(self, X, y, weights):
        with self._stage("reduce"):
            kernel = self._kernel_spec(X)
            indices, beta, self.reduction_ = representative_set(
                X, y, weights, kernel, epsilon=self.epsilon, P=self.P, V=self.V,
                first_level=self.first_level, threads=self.threads,
            )  # fmt: skip
            X, y = X[indices], y[indices]
        outcome = self._solve_with(kernel, X, y, beta)
        return replace(outcome, support=indices[outcome.support])
