"""What is made of a matrix of kernel values, tile by tile: the matrix itself, its product with coefficients, or both
halves of a symmetric product at once. Parameters that all have in common are those of ``KernelRows``.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit, take
from svmreduce.core.registers import TOGETHER, radial_products, radial_sum
from svmreduce.core.tiles import (
    DIFFERENCES,
    LEFT,
    RBF,
    SCATTER,
    clear_slots,
    dense_panels,
    dense_sums,
    fill,
    fill_with_sums,
    padded,
    panels_of,
)
from svmreduce.core.vector import VECTOR


@njit()
def block_part(
    mode, code, gamma, coef0, degree, left, left_rows, right, right_rows, tile, width, slot, out, stride, diagonal
):
    """out[i*stride + j] = k(left_rows[i], right_rows[j]); tiles with j > i + diagonal throughout may be left out."""
    real = left[4].dtype.type
    for j0 in range(0, right_rows.size, tile):
        columns = right_rows[j0 : j0 + tile]
        panels = panels_of(mode, right, columns, slot, width)
        right_norm = padded(right[4], columns, width, right[4])
        room = np.empty(LEFT * right_norm.size, right_norm.dtype)
        for i0 in range(0, left_rows.size, LEFT):
            rows = left_rows[i0 : i0 + LEFT]
            if j0 >= i0 + rows.size + diagonal:
                continue
            if mode == DIFFERENCES and code == RBF:
                dense_sums(mode, left[0], rows, panels[0], width, real(-gamma), out[i0 * stride + j0 :], stride,
                            columns.size)  # fmt: skip
                continue
            A = room[: rows.size * right_norm.size].reshape((rows.size, right_norm.size))
            fill(mode, code, gamma, coef0, degree, left, rows, panels, width, right_norm, slot, A)
            for i in range(rows.size):
                for j in range(columns.size):
                    out[(i0 + i) * stride + j0 + j] = A[i, j]
        if mode >= SCATTER:
            clear_slots(right[2], right[3], columns, slot)


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
def _radial_product_part(gamma, left, left_rows, right, right_rows, coef, tile, width, out):
    """out[i] += Σ_j exp(−gamma·‖x_i − z_j‖²)·coef[j], for dense rows of few features."""
    X, real = left[0].reshape(-1), left[0].dtype.type
    d = left[0].shape[1]
    starts, sums = np.empty(TOGETHER, np.int64), np.empty(TOGETHER)
    for j0 in range(0, right_rows.size, tile):
        columns = right_rows[j0 : j0 + tile]
        panels = dense_panels(right[0], columns, width, width)
        weights = padded(coef[j0:], np.arange(columns.size), width, right[4])
        for i in range(0, left_rows.size, TOGETHER):
            for r in range(TOGETHER):
                starts[r], sums[r] = left_rows[min(i + r, left_rows.size - 1)] * d, 0.0
            radial_products(X, starts, d, panels, weights.size // width, real(-gamma), weights, sums)
            for r in range(min(TOGETHER, left_rows.size - i)):
                out[i + r] += sums[r]


@njit()
def product_part(mode, code, gamma, coef0, degree, left, left_rows, right, right_rows, coef, tile, width, slot, out):
    """out[i, :] += Σ_j k(left_rows[i], right_rows[j])·coef[:, j]."""
    if mode == DIFFERENCES and code == RBF and coef.shape[0] == 1 and left[0].shape[1] > 0:
        _radial_product_part(gamma, left, left_rows, right, right_rows, coef[0], tile, width, out[0])
        return
    real, at_once = left[4].dtype.type, code == RBF and mode >= SCATTER and coef.shape[0] == 1
    for j0 in range(0, right_rows.size, tile):
        columns = right_rows[j0 : j0 + tile]
        panels = panels_of(mode, right, columns, slot, width)
        right_norm = padded(right[4], columns, width, right[4])
        weights = padded(coef[0, j0:], np.arange(columns.size if at_once else 0), width, right[4])
        room = np.empty(LEFT * right_norm.size, right_norm.dtype)
        for i0 in range(0, left_rows.size, LEFT):
            rows = left_rows[i0 : i0 + LEFT]
            A = room[: rows.size * right_norm.size].reshape((rows.size, right_norm.size))
            if at_once:
                fill_with_sums(mode, code, left, rows, panels, width, take(left[4], rows), right_norm, slot, A)
                factor = real(2.0 * gamma)  # of minus half the squared distances
                for i in range(rows.size):
                    out[0, i0 + i] += radial_sum(A.reshape(-1), i * right_norm.size, right_norm.size, factor, weights)
                continue
            fill(mode, code, gamma, coef0, degree, left, rows, panels, width, right_norm, slot, A)
            for k in range(coef.shape[0]):
                _weighted_sums(A, coef[k, j0 : j0 + columns.size], out[k, i0 : i0 + rows.size])
        if mode >= SCATTER:
            clear_slots(right[2], right[3], columns, slot)


@njit(fastmath=VECTOR)
def _both_ways(a, coef, own, sums, most):
    """sums[j] += a[j]·own for j < most; returns Σ_j a[j]·coef[j]."""
    s = 0.0
    for j in range(most):
        x = np.float64(a[j])
        s += x * coef[j]
        sums[j] += x * own
    return s


@njit()
def symmetric_part(mode, code, gamma, coef0, degree, rows, low, high, coef, tile, width, slot, out):
    """out[i] += Σ_j k(i, j)·coef[j] and out[j] += k(i, j)·coef[i], for the rows i from low to high and all j < i; the
    diagonal once. Together, over all i, K·coef for half of the values."""
    n = rows[4].size
    every = np.arange(n)
    for j0 in range(0, high, tile):
        columns = every[j0 : min(high, j0 + tile)]
        panels = panels_of(mode, rows, columns, slot, width)
        right_norm = padded(rows[4], columns, width, rows[4])
        room = np.empty(LEFT * right_norm.size, right_norm.dtype)
        for i0 in range(low, high, LEFT):
            own = every[i0 : min(high, i0 + LEFT)]
            if j0 >= i0 + own.size:
                continue
            A = room[: own.size * right_norm.size].reshape((own.size, right_norm.size))
            fill(mode, code, gamma, coef0, degree, rows, own, panels, width, right_norm, slot, A)
            for i in range(own.size):
                most = min(columns.size, i0 + i - j0)
                out[i0 + i] += _both_ways(A[i], coef[j0:], coef[i0 + i], out[j0:], most)
                if 0 <= most < columns.size:
                    out[i0 + i] += np.float64(A[i, most]) * coef[i0 + i]
        if mode >= SCATTER:
            clear_slots(rows[2], rows[3], columns, slot)
