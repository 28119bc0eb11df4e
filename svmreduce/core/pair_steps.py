"""Sequential minimal optimisation on a block whose kernel values are all in memory.

The problem, here and in ``smo_engine.py``, is  min ½ βᵀKβ − targetᵀβ  subject to Σβ = 0 and
lower ≤ β ≤ upper, and v = target − Kβ is minus the gradient. One step moves the same amount from a
row that can go down to a row that can go up. No labels appear: β carries the sign.

With a *kink* the objective has the term kink·Σ|β| as well (ε-regression). Its slope belongs to the side on which a row
is: a step ends at zero at the latest, where going up and going down cost differently.

``block_solver.py`` says which blocks take the steps of ``compact_steps.py`` instead.

Loops run in strips: a strip's largest value is a vector reduction, and only the best strip is
searched for *where* that value is. ``no_up`` and ``no_low`` hold the kink's slope (0 without one) or a huge number,
so that a bound is an addition and not a branch.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit, take
from svmreduce.core.pair_scans import BARRED, TAU
from svmreduce.core.vector import VECTOR, fmax, fmin

STRIP = 512


@njit(fastmath=VECTOR)
def step_and_extremes(row_i, row_j, step, v, no_up, no_low):
    """v -= step·(row_i − row_j); then the row with the largest v that may go up, that v, and the
    smallest v that may go down."""
    n = v.size
    high, low, at = -np.inf, np.inf, 0
    for s in range(0, n, STRIP):
        e = min(n, s + STRIP)
        v_s, i_s, j_s, up_s, low_s = v[s:e], row_i[s:e], row_j[s:e], no_up[s:e], no_low[s:e]
        strip_high, strip_low = -1e300, 1e300
        for t in range(e - s):
            u = v_s[t] - step * np.float64(i_s[t] - j_s[t])
            v_s[t] = u
            strip_high = fmax(u - up_s[t], strip_high)
            strip_low = fmin(u + low_s[t], strip_low)
        if strip_high > high:
            high, at = strip_high, s
        low = min(low, strip_low)
    for t in range(at, min(n, at + STRIP)):
        if v[t] - no_up[t] == high:
            return t, high, low
    return at, high, low


@njit(fastmath=VECTOR)
def partner(row_i, diagonal, i, v, no_low, v_i):
    """The row that may go down and gains most with row i, to second order: (v_i − v_t)²/curvature."""
    n = v.size
    real = row_i.dtype.type
    best, at = real(-1), 0
    tau, zero, two = real(TAU), real(0), real(2)
    k_ii = diagonal[i]
    for s in range(0, n, STRIP):
        e = min(n, s + STRIP)
        v_s, low_s, k_s, d_s = v[s:e], no_low[s:e], row_i[s:e], diagonal[s:e]
        strip_best = real(-1)
        for t in range(e - s):
            drop = fmax(real(v_i - v_s[t]) - real(low_s[t]), zero)
            strip_best = fmax(drop * drop / fmax(k_ii + d_s[t] - two * k_s[t], tau), strip_best)
        if strip_best > best:
            best, at = strip_best, s
    best *= real(0.999999)  # the search below may round differently
    for t in range(at, min(n, at + STRIP)):
        drop = fmax(real(v_i - v[t]) - real(no_low[t]), zero)
        if drop * drop / fmax(k_ii + diagonal[t] - two * row_i[t], tau) >= best:
            return t
    return at


@njit()
def mark_bounds(t, beta, lower, upper, no_up, no_low, kink):
    """What going up takes off v[t], and what going down adds to it."""
    no_up[t] = (kink if beta[t] >= 0.0 else -kink) if beta[t] < upper[t] else BARRED
    no_low[t] = (kink if beta[t] <= 0.0 else -kink) if beta[t] > lower[t] else BARRED


@njit()
def move_pair(i, j, k_ij, diagonal, beta, v, lower, upper, no_up, no_low, kink):
    """β_i up and β_j down by the best step that the bounds allow; returns it. v is left to the caller."""
    curvature = np.float64(diagonal[i]) + np.float64(diagonal[j]) - 2.0 * np.float64(k_ij)
    slope, end_i, end_j = v[i] - v[j], upper[i], lower[j]
    if kink > 0.0:
        slope -= (kink if beta[i] >= 0.0 else -kink) + (kink if beta[j] <= 0.0 else -kink)
        end_i, end_j = (0.0 if beta[i] < 0.0 else end_i), (0.0 if beta[j] > 0.0 else end_j)
    step = slope / max(curvature, TAU)
    room_i, room_j = end_i - beta[i], beta[j] - end_j
    step = min(step, room_i, room_j)
    # land exactly on a bound: a row a rounding error away from it would be picked forever
    beta[i] = end_i if step == room_i else beta[i] + step
    beta[j] = end_j if step == room_j else beta[j] - step
    mark_bounds(i, beta, lower, upper, no_up, no_low, kink)
    mark_bounds(j, beta, lower, upper, no_up, no_low, kink)
    return step


@njit()
def _pair_steps(K, stride, diagonal, beta, v, lower, upper, kink, tol, max_steps):
    """Pair steps until the largest violation is at most ``tol``; β and v are changed in place."""
    n = beta.size
    no_up, no_low = np.zeros(n, np.float32), np.zeros(n, np.float32)
    for t in range(n):
        mark_bounds(t, beta, lower, upper, no_up, no_low, kink)
    row = K[:n]
    i, high, low = step_and_extremes(row, row, 0.0, v, no_up, no_low)
    steps = 0
    while high - low > tol and steps < max_steps:
        row_i = K[i * stride : i * stride + n]
        j = partner(row_i, diagonal, i, v, no_low, high)
        row_j = K[j * stride : j * stride + n]
        step = move_pair(i, j, row_i[j], diagonal, beta, v, lower, upper, no_up, no_low, kink)
        steps += 1
        i, high, low = step_and_extremes(row_i, row_j, step, v, no_up, no_low)
    return steps, high, low


@njit()
def pair_steps_of_rows(K, begin, last_used, now, diagonal, beta, v, lower, upper, no_up, no_low, tol, max_steps, found):
    """The same where row i of the block is ``K[begin[i] : begin[i] + n]``, and not in memory if begin[i] < 0.

    Returns the steps made and the row that is missing, or -1. The bounds are marked by the caller. ``found`` is what
    outlives a call: the pair that is next, or -1, and the extremes.
    """
    n = beta.size
    i, j, high, low = int(found[0]), int(found[1]), found[2], found[3]
    if i < 0:
        i, high, low = step_and_extremes(K[:n], K[:n], 0.0, v, no_up, no_low)
    steps, missing = 0, -1
    while high - low > tol and steps < max_steps:
        if begin[i] < 0:
            missing = i
            break
        row_i = K[begin[i] : begin[i] + n]
        last_used[i] = now + steps
        if j < 0:
            j = partner(row_i, diagonal, i, v, no_low, high)
        if begin[j] < 0:
            missing = j
            break
        row_j = K[begin[j] : begin[j] + n]
        last_used[j] = now + steps
        step = move_pair(i, j, row_i[j], diagonal, beta, v, lower, upper, no_up, no_low, 0.0)
        steps += 1
        i, high, low = step_and_extremes(row_i, row_j, step, v, no_up, no_low)
        j = -1
    found[0], found[1], found[2], found[3] = i, j, high, low
    return steps, missing


@njit()
def still_movable(beta, v, lower, upper, kink, high, low, rows):
    """How many rows, and which, could still be picked, which free ones always can: LIBSVM's shrinking rule."""
    count = 0
    for t in range(beta.size):
        up = beta[t] < upper[t] and v[t] - (kink if beta[t] >= 0.0 else -kink) >= low
        if up or (beta[t] > lower[t] and v[t] + (kink if beta[t] <= 0.0 else -kink) <= high):
            rows[count] = t
            count += 1
    return count


@njit()
def _sub_block(K, stride, rows):
    out = np.empty(rows.size * rows.size, K.dtype)
    for a in range(rows.size):
        source = K[rows[a] * stride :]
        for b in range(rows.size):
            out[a * rows.size + b] = source[rows[b]]
    return out


@njit(fastmath=VECTOR)
def _subtract_row(v, row, amount):
    for t in range(v.size):
        v[t] -= amount * np.float64(row[t])


@njit()
def block_round(K, stride, diagonal, beta, v, lower, upper, kink, tol, max_steps):
    """Some pair steps on the whole block, then many on a copy of the rows that still move.

    Returns the steps made, the last extremes, and whether the block is solved or ``max_steps`` are used up.
    """
    n = beta.size
    patience = min(max_steps, max(n, 500))
    steps, high, low = _pair_steps(K, stride, diagonal, beta, v, lower, upper, kink, tol, patience)
    if not high - low > tol or steps >= max_steps:  # also where kernel values are not numbers
        return steps, high, low, True
    rows = np.empty(n, np.int64)
    rows = rows[: still_movable(beta, v, lower, upper, kink, high, low, rows)]
    if 2 * rows.size > n:
        return steps, high, low, False
    part_beta, part_v = take(beta, rows), take(v, rows)
    patience = min(max_steps - steps, 50 * max(n, 500))
    made, high, low = _pair_steps(
        _sub_block(K, stride, rows), rows.size, take(diagonal, rows),
        part_beta, part_v, take(lower, rows), take(upper, rows), kink, tol, patience,
    )  # fmt: skip
    for t in range(rows.size):
        change = part_beta[t] - beta[rows[t]]
        if change != 0.0:
            _subtract_row(v, K[rows[t] * stride : rows[t] * stride + n], change)
            beta[rows[t]] = part_beta[t]
    for t in range(rows.size):
        v[rows[t]] = part_v[t]
    return steps + made, high, low, False


@njit()
def optimise_block(K, stride, diagonal, beta, v, lower, upper, tol, max_steps):
    """Pair steps on the whole block until the largest violation is at most ``tol``.

    Row i of the block is ``K[i*stride : i*stride + n]``; β and v are changed in place. Returns the
    steps made and the last extremes (largest v that may go up, smallest that may go down).
    """
    steps, done = 0, False
    while not done:
        made, high, low, done = block_round(K, stride, diagonal, beta, v, lower, upper, 0.0, tol, max_steps - steps)
        steps += made
    return steps, high, low
