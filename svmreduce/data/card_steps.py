"""The papers' preparations of rows and labels, as steps of a data set's card."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import sparse

from svmreduce.errors import InputError
from svmreduce.label_keys import label_key
from svmreduce.types import Matrix


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


def shifted_images(X: Matrix, pixels: int, background: float) -> sparse.csr_matrix:
    """Every image at (2·pixels + 1)² places of a frame that is wider by ``pixels`` on each side; place by place."""
    side = math.isqrt(X.shape[1])
    if side**2 != X.shape[1]:
        raise InputError(f"shifts: rows of {X.shape[1]} numbers are no square images")
    ink = sparse.csr_matrix((X.toarray() if sparse.issparse(X) else X) - background)
    frame, steps = side + 2 * pixels, np.arange(2 * pixels + 1)
    corners = (frame * steps[:, None] + steps).ravel()  # where the first pixel goes
    places = corners[:, None] + ink.indices // side * frame + ink.indices % side
    indptr = np.append(0, np.cumsum(np.tile(np.diff(ink.indptr), corners.size)))
    shape = corners.size * X.shape[0], frame**2
    return sparse.csr_matrix((np.tile(ink.data, corners.size), places.ravel(), indptr), shape=shape)
