"""Our SMO engine as a detector of outliers."""

from __future__ import annotations

from typing import ClassVar

from svmreduce.checks import SHARE
from svmreduce.core.svm_problems import one_class
from svmreduce.parameters import Parameters
from svmreduce.solvers._engine import Engine
from svmreduce.solvers._multiclass import one_sum
from svmreduce.solvers.base import SVMOutlierDetector


class OneClass(
    Engine,
    Parameters,
    SVMOutlierDetector,
    parameters="nu kernel gamma coef0 degree tol cache_mb max_iter threads random_state max_seconds callback",
):
    """One-class SVM by sequential minimal optimisation: where most rows are. ``predict`` is +1 there and -1 elsewhere.

    The optimum is LIBSVM's: coefficients between 0 and w that add up to ``nu`` times the sum of all w.

    Parameters
    ----------
    nu : float
        At most this share of the training rows are outside.
    """

    nu: float = 0.5
    rules: ClassVar = {"nu": SHARE}

    def _solve(self, X, y, weights):
        kernel = self._kernel_spec(X)
        return one_sum(one_class(X, weights, self.nu, kernel, **self._engine_options(X)), X, kernel, "one_class")
