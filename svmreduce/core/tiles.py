"""Kernel values, in tiles: the only place that evaluates a kernel.

A *tile* is a block of left rows against a few hundred right rows held transposed and dense, so that
the innermost loop runs along right rows and becomes vector instructions. Three ways fill a tile, chosen
once per matrix:

- differences: dense rows with few features; squared distances without cancellation,
- product: dense rows with many features; one BLAS call,
- scatter: sparse left rows; work is proportional to their non-zeros.

Rows come as ``(dense, data, indices, indptr, squared_norms)`` with the unused arrays empty.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit, take
from svmreduce.core.vector import VECTOR, exp_negative, kmod, phi

LINEAR, POLY, RBF, SIGMOID, KMOD = 0, 1, 2, 3, 5  # the codes of svmreduce.kernels; up to 3 also LIBSVM's -t
RADIAL = (RBF, KMOD)  # functions of the squared distance, 1 where it is 0
DIFFERENCES, PRODUCT, SCATTER = 0, 1, 2
LEFT = 64  # left rows in a tile


@njit(fastmath=VECTOR)
def _differences(X, rows, T, A):
    """A[i, j] = ||x_i - t_j||², four features at a time."""
    d, b = T.shape
    whole = d // 4 * 4
    for i in range(rows.size):
        x = X[rows[i]]
        a = A[i]
        for j in range(b):
            a[j] = 0
        for f in range(0, whole, 4):
            x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
            t0, t1, t2, t3 = T[f], T[f + 1], T[f + 2], T[f + 3]
            for j in range(b):
                u0, u1, u2, u3 = x0 - t0[j], x1 - t1[j], x2 - t2[j], x3 - t3[j]
                a[j] += (u0 * u0 + u1 * u1) + (u2 * u2 + u3 * u3)
        for f in range(whole, d):
            x0, t0 = x[f], T[f]
            for j in range(b):
                u0 = x0 - t0[j]
                a[j] += u0 * u0


@njit(fastmath=VECTOR)
def _scatter(data, indices, indptr, rows, slot, T, A):
    """A[i, j] = x_i · t_j for sparse x_i; ``slot`` says where a feature lies in the tile, or -1."""
    b = T.shape[1]
    for i in range(rows.size):
        a = A[i]
        for j in range(b):
            a[j] = 0
        p, end = indptr[rows[i]], indptr[rows[i] + 1]
        while p < end:
            # gather up to four features that the tile knows, then one pass over the tile
            x0 = x1 = x2 = x3 = data[0] * 0
            s0 = s1 = s2 = s3 = 0
            found = 0
            while p < end and found < 4:
                s = slot[indices[p]]
                if s >= 0:
                    if found == 0:
                        x0, s0 = data[p], s
                    elif found == 1:
                        x1, s1 = data[p], s
                    elif found == 2:
                        x2, s2 = data[p], s
                    else:
                        x3, s3 = data[p], s
                    found += 1
                p += 1
            if found == 0:
                break
            t0, t1, t2, t3 = T[s0], T[s1], T[s2], T[s3]
            for j in range(b):
                a[j] += (x0 * t0[j] + x1 * t1[j]) + (x2 * t2[j] + x3 * t3[j])


@njit(fastmath=VECTOR)
def finish(code, gamma, coef0, degree, have_distances, left_norm, right_norm, A):
    """Turn dot products (or squared distances) into kernel values, in place."""
    n, b = A.shape
    zero = A.dtype.type(0)
    two = A.dtype.type(2)
    one = A.dtype.type(1)
    g = A.dtype.type(gamma)
    c = A.dtype.type(coef0)
    for i in range(n):
        a = A[i]
        if code == RBF:
            if have_distances:
                for j in range(b):
                    a[j] = exp_negative(-g * a[j])
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
                if not have_distances:
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
def _dense_tile(X, rows):
    T = np.empty((X.shape[1], rows.size), X.dtype)
    for f in range(X.shape[1]):  # the other way round the writes fall into few sets of the cache
        t = T[f]
        for j in range(rows.size):
            t[j] = X[rows[j], f]
    return T


@njit()
def _sparse_tile(data, indices, indptr, rows, slot):
    """Densify these rows over the features they use; ``slot`` (all -1 before) is filled."""
    used = 0
    for j in range(rows.size):
        for p in range(indptr[rows[j]], indptr[rows[j] + 1]):
            if slot[indices[p]] < 0:
                slot[indices[p]] = used
                used += 1
    T = np.zeros((used, rows.size), data.dtype)
    for j in range(rows.size):
        for p in range(indptr[rows[j]], indptr[rows[j] + 1]):
            T[slot[indices[p]], j] = data[p]
    return T


@njit()
def _clear_slots(indices, indptr, rows, slot):
    for j in range(rows.size):
        for p in range(indptr[rows[j]], indptr[rows[j] + 1]):
            slot[indices[p]] = -1


@njit()
def _fill(mode, code, gamma, coef0, degree, left, rows, T, right_norm, slot, A):
    """Kernel values of these left rows against one right tile."""
    X, data, indices, indptr, norm = left
    if mode == DIFFERENCES:
        _differences(X, rows, T, A)
    elif mode == PRODUCT:
        gathered = np.empty((rows.size, X.shape[1]), X.dtype)
        for i in range(rows.size):
            for f in range(X.shape[1]):
                gathered[i, f] = X[rows[i], f]
        np.dot(gathered, T, A)
    else:
        _scatter(data, indices, indptr, rows, slot, T, A)
    finish(code, gamma, coef0, degree, mode == DIFFERENCES, take(norm, rows), right_norm, A)


@njit()
def _tile_of(mode, right, rows, slot):
    X, data, indices, indptr, _ = right
    if mode == SCATTER:
        return _sparse_tile(data, indices, indptr, rows, slot)
    return _dense_tile(X, rows)


# ---------------------------------------------------------------- loops over tiles


@njit()
def block_part(mode, code, gamma, coef0, degree, left, left_rows, right, right_rows, tile, slot, out, stride):
    """out[i*stride + j] = k(left_rows[i], right_rows[j])."""
    for j0 in range(0, right_rows.size, tile):
        columns = right_rows[j0 : j0 + tile]
        T = _tile_of(mode, right, columns, slot)
        room = np.empty(LEFT * columns.size, T.dtype)
        for i0 in range(0, left_rows.size, LEFT):
            rows = left_rows[i0 : i0 + LEFT]
            A = room[: rows.size * columns.size].reshape((rows.size, columns.size))
            _fill(mode, code, gamma, coef0, degree, left, rows, T, take(right[4], columns), slot, A)
            for i in range(rows.size):
                for j in range(columns.size):
                    out[(i0 + i) * stride + j0 + j] = A[i, j]
        if mode == SCATTER:
            _clear_slots(right[2], right[3], columns, slot)


@njit()
def sparse_row(code, gamma, coef0, degree, data, indices, indptr, norm, row, right_rows, width, out):
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
    finish(code, gamma, coef0, degree, False, norm[row : row + 1], take(norm, right_rows), a)


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


@njit()
def packed_row(code, gamma, coef0, degree, x, own_norm, T, norm, start, stop, tile, out):
    """out[j - start] = k(x, row j) for the rows from ``start`` to ``stop``, which T holds as columns."""
    for s in range(start, stop, tile):
        e = min(stop, s + tile)
        a = out[s - start : e - start]
        _add_products(x, T[:, s:e], a)
        finish(code, gamma, coef0, degree, False, own_norm, norm[s:e], a.reshape((1, e - s)))


@njit(fastmath=VECTOR)
def _weighted_sums(A, coef, sums):
    """sums[i] += Σ_j A[i, j]·coef[j], in double whatever A is."""
    for i in range(A.shape[0]):
        a = A[i]
        s = 0.0
        for j in range(coef.size):
            s += np.float64(a[j]) * coef[j]
        sums[i] += s


@njit()
def product_part(mode, code, gamma, coef0, degree, left, left_rows, right, right_rows, coef, tile, slot, out):
    """out[i, :] += Σ_j k(left_rows[i], right_rows[j])·coef[:, j]."""
    for j0 in range(0, right_rows.size, tile):
        columns = right_rows[j0 : j0 + tile]
        T = _tile_of(mode, right, columns, slot)
        room = np.empty(LEFT * columns.size, T.dtype)
        for i0 in range(0, left_rows.size, LEFT):
            rows = left_rows[i0 : i0 + LEFT]
            A = room[: rows.size * columns.size].reshape((rows.size, columns.size))
            _fill(mode, code, gamma, coef0, degree, left, rows, T, take(right[4], columns), slot, A)
            for k in range(coef.shape[0]):
                _weighted_sums(A, coef[k, j0 : j0 + columns.size], out[k, i0 : i0 + rows.size])
        if mode == SCATTER:
            _clear_slots(right[2], right[3], columns, slot)


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
