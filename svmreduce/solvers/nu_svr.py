"""ν-SVR on our SMO engine."""

from __future__ import annotations

from typing import ClassVar

from svmreduce.checks import SHARE
from svmreduce.core.nu_problems import nu_svr
from svmreduce.parameters import Parameters
from svmreduce.solvers._engine import Engine
from svmreduce.solvers._multiclass import one_sum
from svmreduce.solvers.base import SVMRegressor


class NuSVR(
    Engine,
    Parameters,
    SVMRegressor,
    parameters="C nu kernel gamma coef0 degree tol cache_mb max_iter threads random_state max_seconds callback",
):
    """ν-SVR, the same optimum as LIBSVM: the ε-SVR whose tube leaves the wanted share of rows outside.

    The width of the tube is found by a few ε-SVRs, each from the solution of the one before.

    Parameters
    ----------
    nu : float
        At most this share of the rows lie outside of the tube.
    """

    nu: float = 0.5
    rules: ClassVar = {"nu": SHARE}

    def _solve(self, X, y, weights):
        kernel = self._kernel_spec(X)
        found = nu_svr(X, y, self.C * weights, self.nu, kernel, **self._engine_options(X))
        return one_sum(found, X, kernel, "nu_svr")
