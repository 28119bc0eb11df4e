"""Our SMO engine as a classifier."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from svmreduce.checks import one_of
from svmreduce.core.row_parts import SharedRows
from svmreduce.core.svm_problems import c_svc
from svmreduce.core.threads import resolve_threads
from svmreduce.parameters import Parameters
from svmreduce.solvers._engine import Engine
from svmreduce.solvers._multiclass import one_versus_one
from svmreduce.solvers.base import SVMClassifier

PAIRS_AT_ONCE = 8  # pairs of classes whose kernel blocks fit into the cache together, however many threads there are


class SMO(
    Engine,
    Parameters,
    SVMClassifier,
    parameters="C kernel gamma coef0 degree tol cache_mb max_iter threads class_weight random_state probability "
    "decision_function_shape max_seconds callback warm_start",
):
    """Weighted C-SVC by sequential minimal optimisation, the same optimum as LIBSVM.

    Two rows at a time are moved to where the dual objective is best, until no pair violates the
    optimality conditions by more than ``tol``. A row of weight w has the box 0 ≤ α ≤ C·w, so it counts
    as w equal rows.

    Parameters
    ----------
    decision_function_shape : {"ovr", "ovo"}
        More than two classes: a decision value per class, or per pair of classes, positive for the first of the two.
    """

    decision_function_shape: str = "ovr"
    rules: ClassVar = {"decision_function_shape": one_of("ovr", "ovo")}

    def _solve_with(self, kernel, X, y, weights):
        start = self._start(len(self.classes_) - 1)
        rows_at_once = int((self.cache_mb * 2**20 / PAIRS_AT_ONCE / np.dtype(np.float32).itemsize) ** 0.5)
        return one_versus_one(
            self._fit_binary, X, y, weights, kernel, self.classes_, start, SharedRows(kernel, X).part,
            min(resolve_threads(self.threads), PAIRS_AT_ONCE), rows_at_once,
        )  # fmt: skip

    def _fit_binary(self, X, y, weights, kernel, start=None):
        return c_svc(X, y, self.C * weights, kernel, start=start, **self._engine_options(X))
