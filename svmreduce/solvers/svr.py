"""Our SMO engine as a regression estimator."""

from __future__ import annotations

from typing import ClassVar

from svmreduce.checks import NOT_NEGATIVE
from svmreduce.core.svm_problems import epsilon_svr
from svmreduce.parameters import Parameters
from svmreduce.solvers._engine import Engine
from svmreduce.solvers._multiclass import one_sum
from svmreduce.solvers.base import SVMRegressor


class SVR(
    Engine,
    Parameters,
    SVMRegressor,
    parameters="C epsilon kernel gamma coef0 degree tol cache_mb max_iter threads random_state max_seconds callback "
    "warm_start",
):
    """ε-SVR by sequential minimal optimisation, the same optimum as LIBSVM.

    As ``SMO``, with one coefficient per row between -C·w and C·w. Rows whose error is below ``epsilon`` have none.

    Parameters
    ----------
    epsilon : float
        Errors up to here cost nothing.
    """

    epsilon: float = 0.1
    rules: ClassVar = {"epsilon": NOT_NEGATIVE}

    def _solve(self, X, y, weights):
        kernel, start = self._kernel_spec(X), self._start(1)
        found = epsilon_svr(X, y, self.C * weights, self.epsilon, kernel, start=None if start is None else start[0],
                            **self._engine_options(X))  # fmt: skip
        return one_sum(found, X, kernel, "epsilon_svr")
