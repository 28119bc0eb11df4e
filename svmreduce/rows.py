"""Rows in one form, dense or sparse, what makes two rows equal, and random rows of every class."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import sparse

from svmreduce.errors import InputError
from svmreduce.memory import check_memory, free_bytes
from svmreduce.types import Matrix, RowsLike

DENSE_FROM = 0.25
"""Share of stored values from which a matrix is kept dense: there the dense loops win."""


def finite_rows(X: RowsLike) -> Matrix:
    """Rows of finite numbers; nested lists become an array, and the first cell that is not finite is an error."""
    if not sparse.issparse(X):
        try:
            X = np.asarray(X)
            X = X if X.dtype.kind in "biuf" else X.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError("rows must be numbers, as many in each; give an array or a list of rows") from None
        if X.ndim != 2:
            raise InputError(f"rows must be a table of two axes, got shape {X.shape}; put a single row into a list")
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        cells = sparse.coo_matrix(X)
        first = np.lexsort((cells.col, cells.row, np.isfinite(cells.data)))[0]
        row, column, value = cells.row[first], cells.col[first], cells.data[first]
        raise InputError(f"row {row}, column {column} (from 0): {value} is not finite; give a number")
    return X


def stacked(parts: Sequence[Matrix]) -> Matrix:
    """Rows under each other: CSR if any of them are."""
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack([sparse.csr_matrix(part) for part in parts], format="csr")
    return np.vstack(parts)


def canonical_rows(X: Matrix) -> Matrix:
    """CSR rows sorted, without repeats, as ``csr_matrix``; arrays as they are."""
    if not sparse.issparse(X):
        return X
    if not (isinstance(X, sparse.csr_matrix) and X.has_canonical_format):
        X = sparse.csr_matrix(X, copy=True)
        X.sum_duplicates()
    return X


def row_keys(X: Matrix) -> list:
    """Keys that are equal only for equal rows; entries that are zero do not count."""
    if not sparse.issparse(X):
        return [row.tobytes() for row in X + 0.0]  # −0 is 0
    if not X.data.all():
        X = X.copy()
        X.eliminate_zeros()
    return [(X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in pairwise(X.indptr)]


def sample_of_groups(groups: np.ndarray, share: float, random: np.random.RandomState) -> list[np.ndarray]:
    """A random share of the rows of each group 0, 1, …, at least one row of each, in file order."""
    members = [np.flatnonzero(groups == group) for group in range(groups.max() + 1)]
    return [np.sort(random.choice(rows, max(1, round(share * len(rows))), replace=False)) for rows in members]


def best_layout(X: Matrix) -> Matrix:
    """Dense or CSR, whichever the loops read faster, if memory allows."""
    cells = X.shape[0] * X.shape[1]
    stored = X.nnz if sparse.issparse(X) else np.count_nonzero(X)
    fits = 8 * cells <= free_bytes() // 2
    if stored >= DENSE_FROM * cells and (fits or not sparse.issparse(X)):
        if X.dtype != np.float64:
            check_memory(8 * cells, f"{X.shape[0]} rows of {X.shape[1]} values", "give fewer rows")
        return X.toarray() if sparse.issparse(X) else np.ascontiguousarray(X, np.float64)
    return sparse.csr_matrix(X, dtype=np.float64)


def widened(X: Matrix, columns: int) -> Matrix:
    """A file in which the last features never occur has fewer columns than its data set."""
    missing = columns - X.shape[1]
    if missing <= 0:
        return X
    if sparse.issparse(X):
        return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], columns))
    return np.pad(X, ((0, 0), (0, missing)))
