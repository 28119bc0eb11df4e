"""Our SMO engine as an estimator."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from svmreduce.checks import POSITIVE, Rule, one_of
from svmreduce.core import smo_engine
from svmreduce.core.jit import resolve_threads
from svmreduce.kernels import KERNELS, PRECOMPUTED
from svmreduce.parameters import Parameters
from svmreduce.solvers.base import SVMClassifier, seed_of


class SMO(
    Parameters,
    SVMClassifier,
    parameters="C kernel gamma coef0 degree tol cache_mb max_iter threads class_weight random_state probability "
    "decision_function_shape max_seconds callback",
):
    """Weighted C-SVC by sequential minimal optimisation, the same optimum as LIBSVM.

    Two rows at a time are moved to where the dual objective is best, until no pair violates the
    optimality conditions by more than ``tol``. A row of weight w has the box 0 ≤ α ≤ C·w, so it counts
    as w equal rows.

    Parameters
    ----------
    kernel : str
        linear, poly, rbf, sigmoid, kmod, gaussian (the same as rbf), gaussian_diagonal, gaussian_mahalanobis (norms
        learned from the training rows), or an average of them: ``rbf:5+poly(degree=2):5``. With precomputed, rows hold
        their kernel values with all training rows.
    tol : float
        Largest violation of the optimality conditions, as LIBSVM's -e.
    max_iter : int
        Steps per two-class problem; -1 leaves the limit to the engine.
    decision_function_shape : {"ovr", "ovo"}
        More than two classes: a decision value per class, or per pair of classes, positive for the first of the two.
    max_seconds : float or None
        End after about this time with the best model so far; ``gap_`` says how good it is.
    callback : callable or None
        Called once per round with a dict: seconds, rounds, steps, rows looked at, and gap among them. The fit ends if
        it returns True.
    """

    kernels = (*KERNELS, PRECOMPUTED)
    mixes_kernels = True
    _toy_rows = 2500  # more than a first working set, so that every compiled function is met
    stops_in_time = True
    _toy_settings = ({}, {"tol": 1e-5})  # kernel values in float32 and in double

    decision_function_shape: str = "ovr"
    max_seconds: float | None = None
    callback: object = None
    rules: ClassVar = {
        "decision_function_shape": one_of("ovr", "ovo"),
        "max_seconds": POSITIVE,
        "callback": Rule("a function", callable),
    }

    def _engine_tol(self, rows: int) -> float:
        return self.tol

    def _fit_binary(self, X, y, weights, kernel):
        box = self.C * weights
        self.threads_ = resolve_threads(self.threads)
        return smo_engine.solve(
            X,
            y,
            np.where(y > 0, 0.0, -box),
            np.where(y > 0, box, 0.0),
            kernel,
            tol=self._engine_tol(X.shape[0]),
            cache_mb=self.cache_mb,
            max_iter=self.max_iter,
            seed=seed_of(self.random_state),
            threads=self.threads_,
        )
