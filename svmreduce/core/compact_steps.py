"""Pair steps on the few rows that still move, in float32, with kernel rows copied together when they are first used.

The same steps as in ``pair_steps.py``, for grids of many small problems: values fit into the cache, and a scan knows
where its largest value was (``tagged``), so that no second search is needed. The caller checks in double.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.vector import VECTOR, fmax, fmin, tag_of, tagged

BARRED = np.float32(1e30)
TAU = np.float32(1e-12)  # curvature below this is taken as this: kernels need not be positive definite
TINY = np.float32(1e-30)  # below it a tagged value is nothing but its tag


@njit(fastmath=VECTOR)
def _step_and_scan(row_i, row_j, step, v, no_up, no_low, floor):
    """v -= step·(row_i − row_j); the tagged row that wants up most (above ``floor``), and both extremes of v."""
    zero = np.float32(0)
    best, high, low = zero, -BARRED, BARRED
    for t in range(v.size):
        u = v[t] - step * (row_i[t] - row_j[t])
        v[t] = u
        up = u - no_up[t]
        high = fmax(up, high)
        low = fmin(u + no_low[t], low)
        best = fmax(tagged(fmax(up - floor, zero), t), best)
    return best, high, low


@njit(fastmath=VECTOR)
def _partner(row_i, diagonal, k_ii, v, no_low, v_i):
    """The row that may go down and gains most with row i, to second order."""
    zero, two = np.float32(0), np.float32(2)
    best = zero
    for t in range(v.size):
        drop = fmax(v_i - v[t] - no_low[t], zero)
        gain = drop * drop / fmax(k_ii + diagonal[t] - two * row_i[t], TAU)
        best = fmax(tagged(gain, t), best)
    return tag_of(best)


@njit()
def _row(K, n, rows, block, filled, place):
    """Kernel values of one member with all members; those that are not there yet are copied from K."""
    m = rows.size
    row = block[place * m : place * m + m]
    if not filled[place]:
        source = K[rows[place] * n : rows[place] * n + n]
        for t in range(m):
            row[t] = source[rows[t]]
        filled[place] = True
    return row


@njit()
def compact_steps(K, n, rows, block, filled, diagonal, beta, v, lower, upper, tol, max_steps):
    """Pair steps until the largest violation is at most ``tol``; β and v are changed in place.

    Parameters
    ----------
    K : float32 array, n·n kernel values row by row
    rows : which row of K each member is
    block, filled : room for the members' values among themselves, and which rows of it are there
    v : float32, target − Kβ of the members, better near zero
    """
    m = rows.size
    no_up, no_low = np.empty(m, np.float32), np.empty(m, np.float32)
    for t in range(m):
        no_up[t] = np.float32(0) if beta[t] < upper[t] else BARRED
        no_low[t] = np.float32(0) if beta[t] > lower[t] else BARRED
    still = block[:m]
    none = np.float32(0)
    for t in range(m):
        still[t] = none if not filled[0] else still[t]  # numbers, whatever the room held
    best, high, low = _step_and_scan(still, still, none, v, no_up, no_low, -BARRED)
    best = none
    steps = 0
    while high - low > tol and steps < max_steps:
        if best < TINY:  # all below the last floor: look again from the new one
            best, high, low = _step_and_scan(still, still, none, v, no_up, no_low, low)
        i = tag_of(best)
        row_i = _row(K, n, rows, block, filled, i)
        j = _partner(row_i, diagonal, diagonal[i], v, no_low, v[i])
        row_j = _row(K, n, rows, block, filled, j)
        curvature = np.float64(diagonal[i]) + np.float64(diagonal[j]) - 2.0 * np.float64(row_i[j])
        room_i, room_j = upper[i] - beta[i], beta[j] - lower[j]
        step = min(np.float64(v[i] - v[j]) / max(curvature, np.float64(TAU)), room_i, room_j)
        beta[i] = upper[i] if step == room_i else beta[i] + step
        beta[j] = lower[j] if step == room_j else beta[j] - step
        no_up[i] = BARRED if step == room_i else none
        no_low[j] = BARRED if step == room_j else none
        no_low[i] = no_up[j] = none
        steps += 1
        best, high, low = _step_and_scan(row_i, row_j, np.float32(step), v, no_up, no_low, low)
    return steps
