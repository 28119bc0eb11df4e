"""Kernel values, in tiles. ``tile_loops.py`` goes over all tiles of a matrix; both, and the instructions of
``registers.py``, are the only places that evaluate kernels.

A *tile* is a block of left rows against a few hundred right rows, which lie transposed and dense in panels
(``registers.py``). Four ways fill a tile, chosen once per matrix:

- differences: dense rows with few features; squared distances without cancellation,
- product: dense rows with many features,
- scatter: sparse left rows; work is proportional to their non-zeros,
- mixed: differences for the columns that are mostly not zero, scatter for the others.

Rows come as ``(dense, data, indices, indptr, squared_norms)`` with the unused arrays empty. The norms of mixed rows are
those of their sparse part. What is summed are products, squared distances, or (sparse rows) minus half of those: begun
with the norms, so that rows of zeros and ones have no rounding errors.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit, take
from svmreduce.core.registers import (
    DENSE_PANEL,
    IN_CACHE,
    SPARSE_PANEL,
    TOGETHER,
    VECTOR_BYTES,
    dense_distances,
    dense_products,
    radial_values,
    sparse_products,
    take_off_distances,
)
from svmreduce.core.vector import VECTOR, exp_negative, kmod, phi

LINEAR, POLY, RBF, SIGMOID, TABLE, KMOD = range(6)  # the codes of svmreduce.kernels; up to 4 also LIBSVM's -t
RADIAL = (RBF, KMOD)  # functions of the squared distance, 1 where it is 0
DIFFERENCES, PRODUCT, SCATTER, MIXED = 0, 1, 2, 3  # the last two have sparse rows
PRODUCTS, DISTANCES, HALVES = 0, 1, 2  # what sums are
LEFT = 96  # left rows in a tile


@njit(fastmath=VECTOR)
def finish(code, gamma, coef0, degree, sums, left_norm, right_norm, A):
    """Turn dot products (or squared distances, or minus half of them) into kernel values, in place."""
    n, b = A.shape
    zero = A.dtype.type(0)
    two = A.dtype.type(2)
    one = A.dtype.type(1)
    g = A.dtype.type(gamma)
    c = A.dtype.type(coef0)
    for i in range(n):
        a = A[i]
        if code == RBF:
            if sums == DISTANCES:
                for j in range(b):
                    a[j] = exp_negative(-g * a[j])
            elif sums == HALVES:
                for j in range(b):
                    a[j] = exp_negative(min(zero, two * g * a[j]))
            else:
                norm = left_norm[i]
                for j in range(b):
                    a[j] = exp_negative(min(zero, g * (two * a[j] - norm - right_norm[j])))
        elif code == POLY:
            for j in range(b):
                base = g * a[j] + c
                power = one
                for _ in range(degree):
                    power *= base
                a[j] = power
        elif code == SIGMOID:
            for j in range(b):
                u = g * a[j] + c
                e = exp_negative(-two * abs(u))
                t = (one - e) / (one + e)
                a[j] = t if u >= zero else -t
        elif code == KMOD:
            norm, phi_of_shape = np.float64(left_norm[i]), phi(coef0)
            for j in range(b):
                squared = np.float64(a[j])
                if sums == HALVES:
                    squared = max(0.0, -2.0 * squared)
                elif sums == PRODUCTS:
                    squared = max(0.0, norm + right_norm[j] - 2.0 * squared)
                a[j] = kmod(gamma * squared, coef0, phi_of_shape)


@njit(fastmath=VECTOR)
def centred(X, centre, stretch, out, norm):
    """out = stretch·(X − centre), and the squared lengths of its rows, computed in double."""
    for i in range(X.shape[0]):
        x, o = X[i], out[i]
        total = 0.0
        for f in range(x.size):
            value = stretch * (x[f] - centre[f])
            o[f] = value
            total += value * value
        norm[i] = total


@njit()
def _dense_panels(X, rows, padded, width):
    """These rows in panels, transposed: feature f of row j is at [j // width, f, j % width]; zeros up to a multiple of
    ``padded`` rows."""
    d = X.shape[1]
    T = np.zeros((rows.size + padded - 1) // padded * padded * d, X.dtype)
    for j0 in range(0, rows.size, width):
        together = min(width, rows.size - j0)
        for f in range(d):
            for j in range(together):
                T[j0 * d + f * width + j] = X[rows[j0 + j], f]
    return T


@njit()
def _sparse_panels(data, indices, indptr, rows, slot, width):
    """The same over the features that these rows use; ``slot`` (all -1 before) says where each lies, in their order."""
    for j in range(rows.size):
        for p in range(indptr[rows[j]], indptr[rows[j] + 1]):
            slot[indices[p]] = 0
    used = 0
    for f in range(slot.size):
        if slot[f] == 0:
            slot[f] = used
            used += 1
    T = np.zeros((rows.size + width - 1) // width * used * width, data.dtype)
    for j in range(rows.size):
        panel, column = j // width * used * width, j % width
        for p in range(indptr[rows[j]], indptr[rows[j] + 1]):
            T[panel + slot[indices[p]] * width + column] = data[p]
    return T


@njit()
def clear_slots(indices, indptr, rows, slot):
    for j in range(rows.size):
        for p in range(indptr[rows[j]], indptr[rows[j] + 1]):
            slot[indices[p]] = -1


@njit()
def dense_sums(mode, X, rows, T, width, factor, out, stride, columns):
    """out[i*stride + j] = ‖x_i − t_j‖², or x_i · t_j; of mixed rows, half of the former is taken off ``out``. With a
    factor other than zero: exp(factor·‖x_i − t_j‖²)."""
    n = rows.size
    flat, d = X.reshape(-1), X.shape[1]
    last, starts = np.empty(TOGETHER * width, out.dtype), np.empty(TOGETHER, np.int64)
    for j0 in range(0, columns, width):
        wide = min(width, columns - j0)
        for i in range(0, n, TOGETHER):
            for r in range(TOGETHER):
                starts[r] = rows[min(i + r, n - 1)] * d
            fits = i + TOGETHER <= n and wide == width
            into, at, step = (out, i * stride + j0, stride) if fits else (last, 0, width)
            edge = 0 if fits else min(TOGETHER, n - i)
            if mode == MIXED:
                for r in range(edge):
                    for j in range(wide):
                        last[r * width + j] = out[(i + r) * stride + j0 + j]
                take_off_distances(flat, starts, d, T, j0 * d, into, at, step, factor)
            elif factor != 0:
                radial_values(flat, starts, d, T, j0 * d, into, at, step, factor)
            elif mode == DIFFERENCES:
                dense_distances(flat, starts, d, T, j0 * d, into, at, step, factor)
            else:
                dense_products(flat, starts, d, T, j0 * d, into, at, step, factor)
            for r in range(edge):
                for j in range(wide):
                    out[(i + r) * stride + j0 + j] = last[r * width + j]


@njit()
def _known_features(data, indices, indptr, rows, slot, used, width):
    """The left rows as values and their places in a panel, and where each row's part of the panel begins."""
    parts = (used + IN_CACHE - 1) // IN_CACHE
    most = 0
    for i in range(rows.size):
        most += indptr[rows[i] + 1] - indptr[rows[i]]
    values, places = np.empty(most, data.dtype), np.empty(most, np.int32)
    begins = np.empty((rows.size, parts + 1), np.int64)
    count = 0
    for i in range(rows.size):
        part = 0
        begins[i, 0] = count
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            place = slot[indices[p]]
            if place >= 0:
                while place >= (part + 1) * IN_CACHE:
                    part += 1
                    begins[i, part] = count
                values[count], places[count] = data[p], place * width
                count += 1
        while part < parts:
            part += 1
            begins[i, part] = count
    return values, places, begins


@njit()
def _sparse_sums(data, indices, indptr, rows, slot, T, width, left_norm, right_norm, sums, A):
    """A[i, j] = x_i · t_j for sparse x_i, whose features outside the panels do not count; or −½‖x_i − t_j‖²."""
    n, stride = A.shape
    out = A.reshape(-1)
    half, none = A.dtype.type(-0.5), A.dtype.type(0)
    for i in range(n):
        for j in range(stride):
            A[i, j] = half * (left_norm[i] + right_norm[j]) if sums == HALVES else none
    used = T.size // stride
    values, places, begins = _known_features(data, indices, indptr, rows, slot, used, width)
    for j0 in range(0, stride, width):
        for part in range(begins.shape[1] - 1):
            for i in range(n):
                begin, end = begins[i, part], begins[i, part + 1]
                if begin < end:
                    sparse_products(values, places, begin, end, T, j0 * used, out, i * stride + j0)


@njit()
def fill_with_sums(mode, code, left, rows, panels, width, own_norm, right_norm, slot, A):
    """What kernel values are made of, for these left rows against the panels of one tile; returns what the sums are."""
    X, data, indices, indptr, _ = left
    dense, sparse = panels
    sums = DISTANCES if mode == DIFFERENCES else PRODUCTS
    if mode >= SCATTER:
        sums = HALVES if code in RADIAL else PRODUCTS
        _sparse_sums(data, indices, indptr, rows, slot, sparse, width, own_norm, right_norm, sums, A)
    if mode != SCATTER:
        dense_sums(mode, X, rows, dense, _dense_width(mode, width), A.dtype.type(0), A.reshape(-1),
                    A.shape[1], A.shape[1])  # fmt: skip
    return sums


@njit()
def fill(mode, code, gamma, coef0, degree, left, rows, panels, width, right_norm, slot, A):
    """Kernel values of these left rows against the panels of one tile."""
    own_norm = take(left[4], rows)
    sums = fill_with_sums(mode, code, left, rows, panels, width, own_norm, right_norm, slot, A)
    finish(code, gamma, coef0, degree, sums, own_norm, right_norm, A)


@njit()
def _dense_width(mode, width):
    return width * DENSE_PANEL // SPARSE_PANEL if mode == MIXED else width


@njit()
def panels_of(mode, right, rows, slot, width):
    """The dense and the sparse panels of these rows; those that the mode does not want are empty."""
    X, data, indices, indptr, norm = right
    dense = sparse = np.empty(0, norm.dtype)
    if mode != SCATTER:
        dense = _dense_panels(X, rows, width, _dense_width(mode, width))
    if mode >= SCATTER:
        sparse = _sparse_panels(data, indices, indptr, rows, slot, width)
    return dense, sparse


@njit()
def padded(values, rows, width, like):
    """``values[rows]``, and zeros up to whole panels, in the precision of ``like``."""
    out = np.zeros((rows.size + width - 1) // width * width, like.dtype)
    for j in range(rows.size):
        out[j] = values[rows[j]]
    return out


def panel_width(mode: int, itemsize: int) -> int:
    """Right rows in a panel."""
    return (SPARSE_PANEL if mode >= SCATTER else DENSE_PANEL) * VECTOR_BYTES // itemsize


@njit()
def squared_norms(data, indptr):
    norm = np.zeros(indptr.size - 1)
    for i in range(norm.size):
        for p in range(indptr[i], indptr[i + 1]):
            norm[i] += data[p] * data[p]
    return norm


@njit()
def diagonal(code, gamma, coef0, degree, norm):
    if code in RADIAL:
        return np.ones(norm.size)
    out = norm.astype(np.float64)
    if code == POLY:
        out = (gamma * out + coef0) ** degree
    elif code == SIGMOID:
        out = np.tanh(gamma * out + coef0)
    return out
