"""The template of every reducer: the base validates and packs, a subclass only chooses rows."""

from __future__ import annotations

from time import perf_counter
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y

from svmreduce.checks import check_parameters
from svmreduce.errors import InputError
from svmreduce.rows import canonical_rows
from svmreduce.types import Reduction


class BaseReducer(BaseEstimator):
    """Fewer rows that stand for all.

    Class facts
    -----------
    tasks : "classification" and/or "regression"
    gives_weights : whether the kept rows can carry weights other than 1; if so, they add up to the number of rows
    keeps_every_class : whether no class can get lost
    """

    tasks: ClassVar[tuple[str, ...]] = ("classification",)
    gives_weights: ClassVar[bool] = True
    _toy_settings: ClassVar[tuple[dict, ...]] = ({},)  # of warm_up
    keeps_every_class: ClassVar[bool] = True

    def _reduce(self, X, y) -> tuple[np.ndarray, np.ndarray, dict]:
        """Subclass: the rows to keep, the weight of each, and counters worth recording."""
        raise TypeError(f"{type(self).__name__} does not say how to reduce")

    @classmethod
    def warm_up(cls) -> None:
        """Compile what a reduction needs on a toy problem, off the clock."""
        X = np.random.default_rng(0).random((64, 2))
        for rows in (X, sparse.csr_matrix(X)):
            for settings in cls._toy_settings:
                cls(**settings).fit_reduce(rows, np.arange(64) % 2)

    def fit_reduce(self, X, y) -> Reduction:
        """Choose rows of (X, y); ``seconds_`` says how long it took.

        Returns
        -------
        Reduction
            ``sample_weight[k]`` says how many rows the kept row ``indices[k]`` stands for.
        """
        check_parameters(self)
        start = perf_counter()
        X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=False)
        X = canonical_rows(X)
        if "regression" not in self.tasks:
            check_classification_targets(y)
        indices, weights, info = self._reduce(X, y)
        if len(indices) == 0:
            raise InputError(f"{type(self).__name__} kept no row; ask for more")
        reduction = Reduction(X[indices], y[indices], weights, indices, info)
        self.seconds_ = perf_counter() - start
        return reduction
