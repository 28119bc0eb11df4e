"""What is made of a matrix of kernel values, tile by tile: the matrix itself, its product with coefficients, or both
halves of a symmetric product at once. Parameters that all have in common are those of ``KernelRows``. Threads that run
the same loop take tiles in turns: those of all left rows with the first right rows, then with the next, so that each
thread makes its panels once.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit, take
from svmreduce.core.registers import TOGETHER, both_ways, radial_products, radial_sum
from svmreduce.core.threads import begin_turns, end_stage, end_turns, next_turn, wait_for_stage
from svmreduce.core.tiles import (
    DIFFERENCES,
    LEFT,
    PRODUCT,
    RBF,
    SCATTER,
    clear_slots,
    dense_sums,
    fill,
    fill_with_sums,
    padded,
    panels_of,
)
from svmreduce.core.vector import VECTOR


@njit()
def parts_of(rows):
    """Tiles side by side: what is divided among threads."""
    return (rows + LEFT - 1) // LEFT


@njit()
def _ready(mode, right, columns, before, width, slot):
    """The panels and norms of one tile's right rows; ``before`` are those of this thread's tile before, in ``slot``."""
    if mode >= SCATTER:
        clear_slots(right[2], right[3], before, slot)
    return columns, panels_of(mode, right, columns, slot, width), padded(right[4], columns, width, right[4])


@njit()
def block_part(
    mode, code, gamma, coef0, degree, left, left_rows, right, right_rows, tile, width, slot, turns, out, stride, shift
):
    """out[i*stride + j] = k(left_rows[i], right_rows[j]); tiles with j > i + shift throughout may be left out."""
    real, parts, ready = left[4].dtype.type, parts_of(left_rows.size), -1
    at_once = code == RBF and mode == DIFFERENCES
    columns, right_norm, room = right_rows[:0], right[4][:0], right[4][:0]
    panels = (right_norm, right_norm)
    begin_turns(turns)
    while True:
        stage, part = divmod(next_turn(turns), parts)
        i0, j0 = part * LEFT, stage * tile
        if j0 >= right_rows.size:
            end_turns(turns)
            return
        rows = left_rows[i0 : i0 + LEFT]
        if j0 >= i0 + rows.size + shift:
            continue
        if stage != ready:
            columns, panels, right_norm = _ready(mode, right, right_rows[j0 : j0 + tile], columns, width, slot)
            ready = stage
            room = np.empty(0 if at_once else LEFT * right_norm.size, right_norm.dtype)
        if at_once:
            dense_sums(mode, left[0], rows, panels[0], width, real(-gamma), out[i0 * stride + j0 :], stride,
                       columns.size)  # fmt: skip
            continue
        A = room[: rows.size * right_norm.size].reshape((rows.size, right_norm.size))
        fill(mode, code, gamma, coef0, degree, left, rows, panels, width, right_norm, slot, A)
        for i in range(rows.size):
            begin, a = (i0 + i) * stride + j0, A[i]
            into = out[begin : begin + columns.size]
            for j in range(into.size):
                into[j] = a[j]


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
def _radial_products(gamma, left, rows, panels, width, weights, out):
    """out[i] += Σ_j exp(−gamma·‖x_i − z_j‖²)·weights[j], for dense rows of few features."""
    X, d, real = left[0].reshape(-1), left[0].shape[1], left[0].dtype.type
    starts, sums = np.empty(TOGETHER, np.int64), np.empty(TOGETHER)
    for i in range(0, rows.size, TOGETHER):
        for r in range(TOGETHER):
            starts[r], sums[r] = rows[min(i + r, rows.size - 1)] * d, 0.0
        radial_products(X, starts, d, panels, weights.size // width, real(-gamma), weights, sums)
        for r in range(min(TOGETHER, rows.size - i)):
            out[i + r] += sums[r]


@njit()
def product_part(
    mode, code, gamma, coef0, degree, left, left_rows, right, right_rows, coef, tile, width, slot, turns, out
):
    """out[i, :] += Σ_j k(left_rows[i], right_rows[j])·coef[:, j], for every i in the order of j."""
    real, parts, ready = left[4].dtype.type, parts_of(left_rows.size), -1
    at_once = code == RBF and mode != PRODUCT and coef.shape[0] == 1
    columns, right_norm, room, weights = right_rows[:0], right[4][:0], right[4][:0], right[4][:0]
    panels = (right_norm, right_norm)
    begin_turns(turns)
    while True:
        stage, part = divmod(next_turn(turns), parts)
        i0, j0 = part * LEFT, stage * tile
        if j0 >= right_rows.size:
            end_turns(turns)
            return
        rows = left_rows[i0 : i0 + LEFT]
        if stage != ready:
            columns, panels, right_norm = _ready(mode, right, right_rows[j0 : j0 + tile], columns, width, slot)
            ready = stage
            weights = padded(coef[0, j0:], np.arange(columns.size if at_once else 0), width, right[4])
            room = np.empty(LEFT * right_norm.size, right_norm.dtype)
        wait_for_stage(turns, part, stage)
        A = room[: rows.size * right_norm.size].reshape((rows.size, right_norm.size))
        if at_once and mode == DIFFERENCES:
            _radial_products(gamma, left, rows, panels[0], width, weights, out[0, i0:])
        elif at_once:
            fill_with_sums(mode, code, left, rows, panels, width, take(left[4], rows), right_norm, slot, A)
            factor = real(2.0 * gamma)  # of minus half the squared distances
            for i in range(rows.size):
                out[0, i0 + i] += radial_sum(A.reshape(-1), i * right_norm.size, right_norm.size, factor, weights)
        else:
            fill(mode, code, gamma, coef0, degree, left, rows, panels, width, right_norm, slot, A)
            for k in range(coef.shape[0]):
                _weighted_sums(A, coef[k, j0 : j0 + columns.size], out[k, i0 : i0 + rows.size])
        end_stage(turns, part)


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
def _together_both_ways(A, columns, coef, own, sums, out):
    """The same for rows beyond those of the columns, as many together as registers take, in the precision of A."""
    flat, wide = A.reshape(-1), A.shape[1]
    of_columns, of_rows = np.zeros(wide, A.dtype), np.empty(TOGETHER)
    for i in range(0, A.shape[0], TOGETHER):
        both_ways(flat, i * wide, wide, coef, own, i, of_columns, of_rows)
        for r in range(TOGETHER):
            out[i + r] += of_rows[r]
    for j in range(columns):
        sums[j] += of_columns[j]


@njit()
def symmetric_part(mode, code, gamma, coef0, degree, rows, coef, tile, width, slot, turns, first, out):
    """Σ_t out[t, k] = K·coef[k] of all rows, from half of K: tile t of the columns has the rows from its own on.

    out[t, k, i] += Σ_j k(i, j)·coef[k, j] and out[t, k, j] += k(i, j)·coef[k, i] for its columns j < i; the diagonal
    once. The ``first`` tile is that of out[0].
    """
    every = np.arange(rows[4].size)
    columns, room = every[:0], np.empty(LEFT * (tile + width), rows[4].dtype)
    begin_turns(turns)
    while True:
        t = next_turn(turns)
        j0 = (first + t) * tile
        if t >= out.shape[0]:
            end_turns(turns)
            return
        columns, panels, right_norm = _ready(mode, rows, every[j0 : j0 + tile], columns, width, slot)
        for i0 in range(j0, every.size, LEFT):
            own = every[i0 : i0 + LEFT]
            A = room[: own.size * right_norm.size].reshape((own.size, right_norm.size))
            fill(mode, code, gamma, coef0, degree, rows, own, panels, width, right_norm, slot, A)
            single = own.size // TOGETHER * TOGETHER if A.itemsize == 4 and i0 >= j0 + columns.size else 0
            for k in range(coef.shape[0]):
                sums, into, own_coef, right_coef = out[t, k, j0:], out[t, k, i0:], coef[k, i0:], coef[k, j0 : j0 + tile]
                if single:
                    weights, factors = padded(coef[k], columns, width, right_norm), padded(coef[k], own, 1, right_norm)
                    _together_both_ways(A[:single], columns.size, weights, factors, sums, into)
                for i in range(single, own.size):
                    most = min(columns.size, i0 + i - j0)
                    into[i] += _both_ways(A[i], right_coef, own_coef[i], sums, most)
                    if most < columns.size:
                        into[i] += np.float64(A[i, most]) * own_coef[i]
