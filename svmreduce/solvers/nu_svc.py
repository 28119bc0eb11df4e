"""ν-SVC on our SMO engine."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import ClassVar

import numpy as np

from svmreduce.checks import SHARE
from svmreduce.core.nu_problems import nu_svc
from svmreduce.errors import InputError
from svmreduce.solvers.smo import SMO


class NuSVC(
    SMO,
    parameters="nu kernel gamma coef0 degree tol cache_mb max_iter threads random_state probability "
    "decision_function_shape max_seconds callback",
):
    """ν-SVC, the same optimum as LIBSVM: the C-SVC whose C gives the wanted share of support vectors.

    C is found by a few C-SVCs, each from the solution of the one before. Where ``nu`` is so small that no margin is
    left, the answer is that of the smallest ``nu`` that has one, and ``converged_`` is False.

    Parameters
    ----------
    nu : float
        At least this share of the rows become support vectors, and at most this share lie inside the margin.
    """

    nu: float = 0.5
    rules: ClassVar = {"nu": SHARE}

    def _solve_with(self, kernel, X, y, weights):
        self._check_nu(np.bincount(y, weights))
        outcome = super()._solve_with(kernel, X, y, weights)
        return replace(outcome, model=replace(outcome.model, svm_type="nu_svc"))

    def _fit_binary(self, X, y, weights, kernel, start=None):
        return nu_svc(X, y, weights, self.nu, kernel, **self._engine_options(X))

    def _check_nu(self, sizes: np.ndarray) -> None:
        """The smaller of two classes must have as many rows as either of them is to give."""
        most = min(2 * min(pair) / sum(pair) for pair in combinations(sizes, 2))
        if self.nu > most * (1 + 1e-9):
            raise InputError(f"specified nu is infeasible: {self.nu:g}, and for these classes at most {most:.6g}")

    def _advice(self, out_of_time):
        return super()._advice(out_of_time).replace("lower C", "raise nu")
