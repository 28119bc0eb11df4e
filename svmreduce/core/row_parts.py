"""Rows in the form in which kernel values cost least, and parts of one matrix that share what was made ready once."""

from __future__ import annotations

import threading

import numpy as np
from scipy import sparse

from svmreduce.core.jit import njit
from svmreduce.core.tiles import RADIAL, TABLE, squared_norms

MANY_FEATURES = 32  # from here on zeros are worth leaving out
MOSTLY_ZEROS = 0.4  # share of other values below which rows without their zeros are faster
PROBE = 1000  # rows that are looked at first
LONG = 256.0  # gamma times a squared length: beyond, distances cancel unless rows are centred, which leaves no zeros
SHORT = 16.0  # the same: up to here no column needs to be centred
MOST_FULL = 64  # columns that are held dense


@njit()
def _count(X, per_row):
    for i in range(X.shape[0]):
        count = 0
        for f in range(X.shape[1]):
            count += X[i, f] != 0.0
        per_row[i] = count


@njit()
def _fill(X, indptr, data, indices):
    for i in range(X.shape[0]):
        p = indptr[i]
        for f in range(X.shape[1]):
            if X[i, f] != 0.0:
                data[p], indices[p] = X[i, f], f
                p += 1


def without_zeros(kernel, X):
    """X as CSR rows if they are dense, long and mostly zeros, and the kernel takes them as they are."""
    if sparse.issparse(X) or kernel.is_mixture or kernel.norm is not None or kernel.code == TABLE:
        return X
    n, d = X.shape
    some = X[:: n // PROBE + 1]
    if d < MANY_FEATURES or np.count_nonzero(some) > MOSTLY_ZEROS * some.size:
        return X
    if kernel.code in RADIAL:
        rest = 2 * np.count_nonzero(some, axis=0) <= some.shape[0]  # the others are centred, if there are not too many
        rest |= d - np.count_nonzero(rest) > MOST_FULL
        if not kernel.gamma * np.einsum("ij,ij,j->i", X, X, rest).max(initial=0.0) <= LONG:
            return X
    return csr_rows(X)


def full_columns(kernel, X):
    """The columns of CSR rows that are mostly not zero, if products of such long rows would cost digits; or None."""
    if kernel.code not in RADIAL:
        return None
    lengths = squared_norms(X.data * np.sqrt(np.float64(kernel.gamma)), X.indptr.astype(np.int64, copy=False))
    if not lengths.max(initial=0.0) > SHORT:
        return None
    some = X[:: X.shape[0] // PROBE + 1]
    columns, counts = np.unique(some.indices, return_counts=True)
    full = columns[2 * counts > some.shape[0]]
    return full if 0 < full.size <= MOST_FULL else None


def split_columns(X, columns):
    """These columns of CSR rows (ascending), dense, and the rows without them; there may be very many others."""
    place = np.minimum(np.searchsorted(columns, X.indices), columns.size - 1)
    chosen = columns[place] == X.indices
    dense = np.zeros((X.shape[0], columns.size))
    dense[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[chosen], place[chosen]] = X.data[chosen]
    indptr = np.append(0, np.cumsum(~chosen))[X.indptr]
    return dense, sparse.csr_matrix((X.data[~chosen], X.indices[~chosen], indptr), shape=X.shape)


def csr_rows(X) -> sparse.csr_matrix:
    """The same rows, sorted by column, as CSR."""
    if sparse.issparse(X):
        return sparse.csr_matrix(X)
    X = np.ascontiguousarray(X, np.float64)
    indptr = np.zeros(X.shape[0] + 1, np.int64)
    _count(X, indptr[1:])
    np.cumsum(indptr, out=indptr)
    data, indices = np.empty(indptr[-1]), np.empty(indptr[-1], np.int32)
    _fill(X, indptr, data, indices)
    return sparse.csr_matrix((data, indices, indptr), shape=X.shape)


class SharedRows:
    """A matrix for many problems, each on some of its rows."""

    def __init__(self, kernel, X):
        self.X = without_zeros(kernel, X)
        self._ready, self._lock = {}, threading.Lock()

    def part(self, rows: np.ndarray | slice):
        """What a problem on these rows (ascending, or a slice that means all) takes in place of a matrix."""
        return self.X if isinstance(rows, slice) or rows.size == self.X.shape[0] else RowPart(self, rows)

    def ready(self, name, make):
        """``make(X)``, made once."""
        with self._lock:
            if name not in self._ready:
                self._ready[name] = make(self.X)
            return self._ready[name]


class RowPart:
    """Some rows of a shared matrix."""

    def __init__(self, whole: SharedRows, rows: np.ndarray):
        self.whole, self.rows = whole, rows
        self.shape = rows.size, whole.X.shape[1]

    def __getitem__(self, which):
        return self.whole.X[self.rows[which]]


class ReadyPart:
    """Some of the rows that are ready for kernel evaluation, with the methods of ``KernelRows``."""

    def __init__(self, ready, rows: np.ndarray):
        self.ready, self.rows = ready, rows
        self.n, self.dtype, self.arrays, self.entries = rows.size, ready.dtype, ready.arrays, ready.entries

    def rounding(self) -> float:
        return self.ready.rounding()

    def block(self, rows, right, columns, out, stride, threads=1, diagonal=None):
        self.ready.block(self.rows[rows], right.ready, right.rows[columns], out, stride, threads, diagonal)

    def add_products(self, rows, right, columns, coef, out, threads=1):
        self.ready.add_products(self.rows[rows], right.ready, right.rows[columns], coef, out, threads)
