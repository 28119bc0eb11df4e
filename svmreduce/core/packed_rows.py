"""Kernel values of one row with many, to which more are added: for methods that take in one row at a time."""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit, take
from svmreduce.core.kernel_values import KernelRows
from svmreduce.core.tiles import DIFFERENCES, DISTANCES, PRODUCTS, SCATTER, finish
from svmreduce.core.vector import VECTOR


@njit()
def _sparse_row(code, gamma, coef0, degree, data, indices, indptr, norm, row, right_rows, width, out):
    """out[j] = k(row, right_rows[j]) without a tile, whose making would be most of the work."""
    x, zero = np.zeros(width, data.dtype), data.dtype.type(0)
    for p in range(indptr[row], indptr[row + 1]):
        x[indices[p]] = data[p]
    for j in range(right_rows.size):
        total = zero
        for p in range(indptr[right_rows[j]], indptr[right_rows[j] + 1]):
            total += data[p] * x[indices[p]]
        out[j] = total
    a = out[: right_rows.size].reshape((1, right_rows.size))
    finish(code, gamma, coef0, degree, PRODUCTS, norm[row : row + 1], take(norm, right_rows), a)


@njit(fastmath=VECTOR)
def _add_products(x, T, a):
    """a = Σ_f x[f]·T[f], four features at a time."""
    for j in range(a.size):
        a[j] = 0
    whole = x.size // 4 * 4
    for f in range(0, whole, 4):
        x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
        t0, t1, t2, t3 = T[f], T[f + 1], T[f + 2], T[f + 3]
        for j in range(a.size):
            a[j] += (x0 * t0[j] + x1 * t1[j]) + (x2 * t2[j] + x3 * t3[j])
    for f in range(whole, x.size):
        x0, t0 = x[f], T[f]
        for j in range(a.size):
            a[j] += x0 * t0[j]


@njit(fastmath=VECTOR)
def _add_squares(x, T, a):
    """a = Σ_f (x[f] − T[f])²."""
    for j in range(a.size):
        a[j] = 0
    for f in range(x.size):
        x0, t0 = x[f], T[f]
        for j in range(a.size):
            a[j] += (x0 - t0[j]) * (x0 - t0[j])


@njit()
def _packed_row(distances, code, gamma, coef0, degree, x, own_norm, T, norm, start, stop, tile, out):
    """out[j - start] = k(x, row j) for the rows from ``start`` to ``stop``, which T holds as columns."""
    for s in range(start, stop, tile):
        e = min(stop, s + tile)
        a = out[s - start : e - start]
        if distances:
            _add_squares(x, T[:, s:e], a)
        else:
            _add_products(x, T[:, s:e], a)
        sums = DISTANCES if distances else PRODUCTS
        finish(code, gamma, coef0, degree, sums, own_norm, norm[s:e], a.reshape((1, e - s)))


class PackedRows:
    """Some rows of a ``KernelRows``, to which others are added, for kernel values of one row with all of them.

    Dense rows lie side by side, as columns: there is no tile to make, and the memory is read from begin to end.
    """

    def __init__(self, rows: KernelRows, members):
        self.rows, self.members = rows, members[:0]
        self.is_dense = rows.mode != SCATTER
        self.T = np.empty((rows.arrays[0].shape[1] if self.is_dense else 0, 0), rows.dtype)
        self.norm = np.empty(0, rows.dtype)
        self.add(members)

    def add(self, new):
        first, n = self.members.size, self.members.size + new.size
        self.members = np.append(self.members, new)
        if not self.is_dense:
            return
        if n > self.T.shape[1]:
            room = n + n // 4 - self.T.shape[1]
            self.T, self.norm = np.pad(self.T, ((0, 0), (0, room))), np.pad(self.norm, (0, room))
        self.T[:, first:n], self.norm[first:n] = self.rows.arrays[0][new].T, self.rows.arrays[4][new]

    def take(self, order):
        """Keep the members at these places, in this order."""
        self.members = self.members[order]
        if self.is_dense:
            self.T, self.norm = np.ascontiguousarray(self.T[:, order]), self.norm[order]

    def row(self, row, start, out):
        """out[j - start] = k(row, member j), for the members from ``start`` on."""
        rows, n = self.rows, self.members.size
        if self.is_dense:
            dense, norm = rows.arrays[0], rows.arrays[4]
            _packed_row(rows.mode == DIFFERENCES, *rows.parameters()[1:], dense[row], norm[row : row + 1], self.T,
                        self.norm, start, n, rows.tile, out)  # fmt: skip
        else:
            _sparse_row(*rows.parameters()[1:], *rows.arrays[1:], row, self.members[start:], rows.width, out)
