"""What happens to rows between the file and the learner: scaling, and the papers' preparations.

Scalers learn from training rows only: ``fit`` on those, then ``transform`` anything. They are thin
wrappers of scikit-learn's, adding one thing: a scaler that shifts columns turns a sparse matrix dense
only when that fits into memory, and otherwise names the scaler that keeps it sparse.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import sparse
from sklearn import preprocessing
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.sparsefuncs import min_max_axis

from svmreduce.errors import InputError, nearest_name_error
from svmreduce.label_keys import label_key
from svmreduce.memory import free_bytes
from svmreduce.types import Matrix


class Scaler(TransformerMixin, BaseEstimator):
    """A column or row scaling: subclasses choose the scikit-learn scaler that does the work."""

    name = "none"
    shifts = False  # a shift turns zeros into something else, so the result cannot stay sparse
    scales_rows = False  # whether it looks at whole rows, and not at columns
    _LEARNED = ("mean_", "scale_", "min_")  # what scikit-learn's scalers need to transform

    def fit(self, X: Matrix, y=None) -> Scaler:
        self.shifts_ = self.shifts and not (sparse.issparse(X) and self._zeros_stay(X))
        self.inner_ = self._inner(X).fit(self._ready(X))
        return self

    def transform(self, X: Matrix) -> Matrix:
        scaled = self.inner_.transform(self._ready(X))
        return scaled.tocsr() if sparse.issparse(scaled) else np.ascontiguousarray(scaled, dtype=np.float64)

    def learned(self) -> dict:
        """What ``fit`` found out, for a JSON file; ``from_learned`` takes it."""
        arrays = {name: getattr(self.inner_, name).tolist() for name in self._LEARNED if hasattr(self.inner_, name)}
        return {"kind": type(self.inner_).__name__, "shifts": self.shifts_, **arrays}

    @classmethod
    def from_learned(cls, content: dict) -> Scaler:
        """The scaler that learned this; numbers come back exactly."""
        made = cls()
        made.shifts_ = bool(content["shifts"])
        made.inner_ = made._inner(None) if content["kind"] != "MaxAbsScaler" else _max_abs()
        for name in cls._LEARNED:
            if name in content:
                setattr(made.inner_, name, np.array(content[name], dtype=np.float64))
                made.inner_.n_features_in_ = len(content[name])
        return made

    def _inner(self, X: Matrix):
        return preprocessing.FunctionTransformer()

    def _zeros_stay(self, X: Matrix) -> bool:
        return False

    def _ready(self, X: Matrix) -> Matrix:
        if sparse.issparse(X) and self.shifts_:
            return dense_if_it_fits(X, self.name)
        return X


class NoScaling(Scaler):
    """Leave every value as it is."""


class MinusOneOne(Scaler):
    """Each column's training range becomes [-1, 1], as ``svm-scale`` does by default."""

    name = "minus_one_one"
    shifts = True

    def _inner(self, X):
        return preprocessing.MinMaxScaler((-1, 1))


class ZeroOne(Scaler):
    """Each column's training range becomes [0, 1].

    A sparse matrix whose columns all have the minimum 0 needs no shift, so it stays sparse.
    """

    name = "zero_one"
    shifts = True

    def _inner(self, X):
        return preprocessing.MinMaxScaler((0, 1)) if self.shifts_ or not sparse.issparse(X) else _max_abs()

    def _zeros_stay(self, X):
        return bool(np.all(min_max_axis(X, axis=0)[0] == 0))


class MaxAbs(Scaler):
    """Each column is divided by its largest absolute training value; zeros stay zeros."""

    name = "max_abs"

    def _inner(self, X):
        return _max_abs()


class UnitNorm(Scaler):
    """Each row is divided by its Euclidean length; an all-zero row stays. Nothing is learned."""

    name = "unit"
    scales_rows = True

    def _inner(self, X):
        return preprocessing.Normalizer()


class Standard(Scaler):
    """Each column gets mean 0 and variance 1 on the training rows."""

    name = "standard"
    shifts = True

    def _inner(self, X):
        return preprocessing.StandardScaler()


def _max_abs():
    return preprocessing.MaxAbsScaler()


SCALERS: dict[str, type[Scaler]] = {
    scaler.name: scaler for scaler in (NoScaling, MinusOneOne, ZeroOne, MaxAbs, UnitNorm, Standard)
}


def make_scaler(name: str) -> Scaler:
    """A fresh, unfitted scaler by name; an unknown name lists the known ones."""
    if name not in SCALERS:
        raise nearest_name_error("scaler", name, SCALERS)
    return SCALERS[name]()


def dense_if_it_fits(X: sparse.csr_matrix, scaler: str) -> np.ndarray:
    """The dense copy of a sparse matrix, unless it would take more than half of the free memory."""
    needed, free = X.shape[0] * X.shape[1] * 8, free_bytes()
    if needed > free / 2:
        raise InputError(
            f"scaler {scaler!r} moves zeros, so {X.shape[0]} × {X.shape[1]} sparse rows would take "
            f"{needed / 2**30:.1f} GB as a dense matrix ({free / 2**30:.1f} GB are free): "
            "use 'max_abs', which keeps them sparse"
        )
    return X.toarray()


def map_labels(y: np.ndarray, mapping: dict) -> np.ndarray:
    """Names (or numbers) of classes to the numbers that solvers and LIBSVM files use.

    Cards write labels as text, files may hold ``1`` or ``1.0`` or ``normal.``: both sides are compared
    in one spelling (see :func:`label_key`).
    """
    labels, inverse = np.unique(y, return_inverse=True)
    missing = [label_key(label) for label in labels if label_key(label) not in mapping]
    if missing:
        raise InputError(f"no number is given for label {missing[0]!r}: known are {', '.join(mapping)}")
    return np.array([mapping[label_key(label)] for label in labels], dtype=np.float64)[inverse]


def one_against_rest(y: np.ndarray, positive: Sequence[str]) -> np.ndarray:
    """+1 for the rows of the positive classes, −1 for all others."""
    labels, inverse = np.unique(y, return_inverse=True)
    is_positive = np.array([label_key(label) in positive for label in labels])
    if is_positive.all() or not is_positive.any():
        raise InputError(f"positive classes {', '.join(positive)} leave one class empty")
    return np.where(is_positive, 1.0, -1.0)[inverse]


def rows_labelled(y: np.ndarray, kept: Sequence[str]) -> np.ndarray:
    """The indices of the rows whose label is one of ``kept``, in their order."""
    labels, inverse = np.unique(y, return_inverse=True)
    return np.flatnonzero(np.array([label_key(label) in kept for label in labels])[inverse])


def first_of_equal_rows(X: Matrix) -> np.ndarray:
    """The indices of the first occurrence of each distinct row of ``X``, in order; labels do not count."""
    if sparse.issparse(X):
        X = X.copy()
        X.eliminate_zeros()  # a stored zero equals one that is not stored
        keys = [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in pairwise(X.indptr)]
        seen: dict[bytes, int] = {}
        for row, key in enumerate(keys):
            seen.setdefault(key, row)
        return np.fromiter(seen.values(), dtype=np.intp, count=len(seen))
    # adding 0.0 turns -0.0 into 0.0, so that equal rows have equal bytes
    rows = np.ascontiguousarray(X + 0.0)
    whole_rows = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return np.sort(np.unique(whole_rows, return_index=True)[1])


def without_columns(X: Matrix, dropped: Sequence[int]) -> Matrix:
    """``X`` without the given columns (counted from 0; from the right when negative)."""
    width = X.shape[1]
    wrong = [column for column in dropped if not -width <= column < width]
    if wrong:
        raise InputError(f"cannot drop column {wrong[0]} of {width}")
    kept = np.setdiff1d(np.arange(width), np.array(dropped, dtype=int) % width)
    return X[:, kept].tocsr() if sparse.issparse(X) else np.ascontiguousarray(X[:, kept])
