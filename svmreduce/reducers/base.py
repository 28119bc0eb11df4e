"""The template of every reducer: the base validates and packs, a subclass only chooses or makes rows."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y

from svmreduce.checks import check_parameters, checked_weights
from svmreduce.errors import InputError
from svmreduce.rows import canonical_rows
from svmreduce.types import Matrix, Reduction, RowsLike


class BaseReducer(BaseEstimator):
    """Fewer rows that stand for all.

    Class facts
    -----------
    tasks : "classification" and/or "regression"
    gives_weights : whether the kept rows can carry new weights; if so, these add up to the weights of all rows
    keeps_every_class : whether no class can get lost
    selects_rows : whether what it returns are some of the given rows; False for centroids and other rows it makes
    """

    tasks: ClassVar[tuple[str, ...]] = ("classification",)
    gives_weights: ClassVar[bool] = True
    keeps_every_class: ClassVar[bool] = True
    selects_rows: ClassVar[bool] = True
    _toy_settings: ClassVar[tuple[dict, ...]] = ({},)  # of warm_up

    def _reduce(self, X, y, weights) -> tuple:
        """Subclass: choose among checked rows; ``weights`` says how many rows each stands for already, all above 0.

        Returns
        -------
        (indices, weights, info) of the rows to keep, or (X, y, weights, info) of made rows where ``selects_rows`` is
        False. ``info`` is a dict of counters worth recording, as JSON can hold them; ``info["seconds"]`` are by stage.
        """
        raise TypeError(f"{type(self).__name__} does not say how to reduce")

    @classmethod
    def warm_up(cls) -> None:
        """Compile what a reduction needs on a toy problem, off the clock."""
        X = np.random.default_rng(0).random((64, 2))
        for rows in (X, sparse.csr_matrix(X)):
            for settings in cls._toy_settings:
                cls(**settings).fit_reduce(rows, np.arange(64) % 2)

    def fit_reduce(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Reduction:
        """Choose or make fewer rows for (X, y); ``seconds_`` says how long it took.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            How many rows a row stands for already. A zero weight is the same as leaving the row out.
        """
        check_parameters(self)
        start = perf_counter()
        X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=False)
        X = canonical_rows(X)
        if "regression" not in self.tasks:
            check_classification_targets(y)
        weights = checked_weights(sample_weight, X)
        counted = None
        if not weights.all():
            counted = np.flatnonzero(weights)
            X, y, weights = X[counted], y[counted], weights[counted]
        if self.selects_rows:
            indices, kept, info = self._selected(*self._reduce(X, y, weights), len(y))
            made = Reduction(X[indices], y[indices], kept, indices if counted is None else counted[indices], info)
        else:
            made = self._made(*self._reduce(X, y, weights), X.shape[1])
            if "regression" not in self.tasks and len(unknown := np.setdiff1d(made.y, y)):
                raise InputError(f"{type(self).__name__} made rows of class {unknown[0]}, which no given row has")
        if made.n_rows == 0:
            raise InputError(f"{type(self).__name__} kept no row; ask for more")
        self.seconds_ = perf_counter() - start
        return made

    def _selected(self, indices, weights, info, rows: int) -> tuple:
        """What a subclass selected, checked: each row at most once, with a weight."""
        indices, weights = np.asarray(indices), np.asarray(weights, np.float64)
        places = indices.astype(np.int64) if indices.dtype.kind in "iu" else np.array([-1])
        if places.ndim != 1 or not ((places >= 0) & (places < rows)).all() or len(np.unique(places)) < len(places):
            raise InputError(f"{type(self).__name__} must return row numbers from 0 to {rows - 1}, each once")
        if weights.shape != places.shape or not (np.isfinite(weights) & (weights >= 0)).all():
            raise InputError(f"{type(self).__name__} must return a finite weight of at least 0 for each row it keeps")
        return places, weights, info

    def _made(self, rows, targets, weights, info, width: int) -> Reduction:
        """Rows that a subclass made, checked as given rows are: nobody else sees them before a solver does."""
        rows, targets = check_X_y(rows, targets, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=False)
        if rows.shape[1] != width:
            raise InputError(f"{type(self).__name__} made rows of {rows.shape[1]} columns from rows of {width}")
        return Reduction(canonical_rows(rows), targets, checked_weights(weights, rows), None, info)

    def in_words(self, facts: dict) -> Iterator[tuple[str, object]]:
        """Names and values of what ``info`` counted, for people; empty lists are left out."""
        for name, value in facts.items():
            words = name.replace("_", " ")
            if isinstance(value, list):
                yield words, ", ".join(map(str, value)) or None
            elif name != "residual_max" and not isinstance(value, dict):
                yield words, f"{value:.6g}" if isinstance(value, float) else value

    def fit_resample(self, X: RowsLike, y: ArrayLike) -> tuple[Matrix, np.ndarray]:
        """(X, y) of the kept rows, as imbalanced-learn's samplers return them; for reducers without weights only."""
        reduction = self.fit_reduce(X, y)
        if reduction.weights_if_any is not None:
            off = "set weighted=False, or " if "weighted" in self.get_params() else ""
            raise InputError(f"{type(self).__name__} gives weights, which fit_resample has no place for: {off}call "
                             "fit_reduce, or train with ReducedSolver")  # fmt: skip
        return reduction.X, reduction.y
