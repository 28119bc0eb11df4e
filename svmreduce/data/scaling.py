"""Scaling of columns or rows: learned from training rows, then applied to any.

Thin wrappers of scikit-learn's scalers, adding one thing: a scaler that shifts columns turns a sparse matrix dense only
when that fits into memory, and otherwise names the scaler that keeps it sparse.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import sparse
from sklearn import preprocessing
from sklearn.utils.sparsefuncs import min_max_axis

from svmreduce.errors import InputError, nearest_name_error
from svmreduce.memory import free_bytes
from svmreduce.types import Matrix

SCALERS: dict[str, Callable] = {
    "none": preprocessing.FunctionTransformer,
    "minus_one_one": partial(preprocessing.MinMaxScaler, (-1, 1)),  # a column's training range, as svm-scale does it
    "zero_one": partial(preprocessing.MinMaxScaler, (0, 1)),
    "max_abs": preprocessing.MaxAbsScaler,  # a column's largest absolute training value becomes 1, zeros stay zeros
    "unit": preprocessing.Normalizer,  # a row's Euclidean length becomes 1, but for rows of zeros; nothing is learned
    "standard": preprocessing.StandardScaler,  # a column has mean 0 and variance 1 on the training rows
}
_SHIFTING = {"minus_one_one", "zero_one", "standard"}  # a shift makes something else of zeros
_LEARNED = ("mean_", "scale_", "min_")  # what scikit-learn's scalers need to transform


class Scaler:
    """One of ``SCALERS``, by name."""

    def __init__(self, name: str):
        if name not in SCALERS:
            raise nearest_name_error("scaler", name, SCALERS)
        self.name = name

    @property
    def scales_rows(self) -> bool:
        """Whether it looks at whole rows, and not at columns."""
        return self.name == "unit"

    def fit(self, X: Matrix) -> Scaler:
        self.shifts_ = self.name in _SHIFTING
        if self.name == "zero_one" and sparse.issparse(X) and np.all(min_max_axis(X, axis=0)[0] == 0):
            self.shifts_ = False  # all columns begin at 0 already, so they can stay sparse
        self.inner_ = self._inner().fit(self._ready(X))
        return self

    def partial_fit(self, X: Matrix) -> Scaler:
        """Learn from one more block of rows; sparse rows stay sparse, so a scaler that moves zeros is refused."""
        if not hasattr(self, "inner_"):
            self.shifts_ = self.name in _SHIFTING
            if self.shifts_ and sparse.issparse(X):
                raise InputError(
                    f"scaler {self.name!r} moves zeros of sparse rows: use 'max_abs', which keeps them sparse"
                )
            self.inner_ = self._inner()
        getattr(self.inner_, "partial_fit", self.inner_.fit)(X)
        return self

    def _inner(self):
        return SCALERS["max_abs" if self.name == "zero_one" and not self.shifts_ else self.name]()

    def transform(self, X: Matrix) -> Matrix:
        scaled = self.inner_.transform(self._ready(X))
        return scaled.tocsr() if sparse.issparse(scaled) else np.ascontiguousarray(scaled, dtype=np.float64)

    def _ready(self, X: Matrix) -> Matrix:
        """Rows that the inner scaler takes: a dense copy, unless it would take more than half of the free memory."""
        if not (sparse.issparse(X) and self.shifts_):
            return X
        needed, free = X.shape[0] * X.shape[1] * 8, free_bytes()
        if needed > free / 2:
            raise InputError(
                f"scaler {self.name!r} moves zeros, so {X.shape[0]} × {X.shape[1]} sparse rows would take "
                f"{needed / 2**30:.1f} GB as a dense matrix ({free / 2**30:.1f} GB are free): "
                "use 'max_abs', which keeps them sparse"
            )
        return X.toarray()

    def to_json(self) -> dict:
        """What ``fit`` found out; ``from_json`` takes it."""
        arrays = {name: getattr(self.inner_, name).tolist() for name in _LEARNED if hasattr(self.inner_, name)}
        return {"name": self.name, "kind": type(self.inner_).__name__, "shifts": self.shifts_, **arrays}

    @classmethod
    def from_json(cls, content: dict) -> Scaler:
        """The scaler that learned this; numbers come back exactly."""
        made = cls(content["name"])
        made.shifts_ = bool(content["shifts"])
        made.inner_ = made._inner()
        for name in _LEARNED:
            if name in content:
                setattr(made.inner_, name, np.array(content[name], dtype=np.float64))
                made.inner_.n_features_in_ = len(content[name])
        return made
