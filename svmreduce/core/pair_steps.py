"""Sequential minimal optimisation on a block whose kernel values are all in memory.

The problem, here and in ``smo_engine.py``, is  min ½ βᵀKβ − targetᵀβ  subject to Σβ = 0 and
lower ≤ β ≤ upper, and v = target − Kβ is minus the gradient. One step moves the same amount from a
row that can go down to a row that can go up. No labels appear: β carries the sign.

With a *kink* the objective has the term kink·Σ|β| as well (ε-regression). Its slope belongs to the side on which a row
is: a step ends at zero at the latest, where going up and going down cost differently.

Blocks of float32 without a kink take the steps of ``compact_steps.py`` instead: fewer, and in vector instructions.

Loops run in strips: a strip's largest value is a vector reduction, and only the best strip is
searched for *where* that value is. ``no_up`` and ``no_low`` hold the kink's slope (0 without one) or a huge number,
so that a bound is an addition and not a branch.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from svmreduce.core.cache_lines import in_lines
from svmreduce.core.compact_steps import LONGEST, assist, compact_steps
from svmreduce.core.jit import njit, take
from svmreduce.core.pair_scans import BARRED, TAU, TOGETHER
from svmreduce.core.row_sums import add_rows
from svmreduce.core.scan_team import LEAST_SHARED, new_team, padded
from svmreduce.core.threads import begin_turns, end_turns, in_turns, next_turn
from svmreduce.core.vector import TAGS, VECTOR, fmax, fmin
from svmreduce.core.watch import time_is_up

STRIP = 512
ROUNDED = 0.98  # of the tolerance: what steps in float32 leave, so that it holds in double


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
def _still_movable(beta, v, lower, upper, kink, high, low, rows):
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
def _block_round(K, stride, diagonal, beta, v, lower, upper, kink, tol, max_steps):
    """Some pair steps on the whole block, then many on a copy of the rows that still move.

    Returns the steps made, the last extremes, and whether the block is solved or ``max_steps`` are used up.
    """
    n = beta.size
    patience = min(max_steps, max(n, 500))
    steps, high, low = _pair_steps(K, stride, diagonal, beta, v, lower, upper, kink, tol, patience)
    if not high - low > tol or steps >= max_steps:  # also where kernel values are not numbers
        return steps, high, low, True
    rows = np.empty(n, np.int64)
    rows = rows[: _still_movable(beta, v, lower, upper, kink, high, low, rows)]
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
        made, high, low, done = _block_round(K, stride, diagonal, beta, v, lower, upper, 0.0, tol, max_steps - steps)
        steps += made
    return steps, high, low


@njit()
def _extremes(beta, v, lower, upper):
    """The largest v that may go up and the smallest that may go down; NaN if any v is not finite."""
    high, low, odd = -np.inf, np.inf, 0.0
    for t in range(beta.size):
        odd += 0.0 * v[t]
        if beta[t] < upper[t]:
            high = max(high, v[t])
        if beta[t] > lower[t]:
            low = min(low, v[t])
    return high + odd, low + odd


@njit()
def _gather(rows, middle, v, beta, lower, upper, part_v, parts):
    """What ``compact_steps`` wants of these rows: v about its middle, β and its bounds."""
    for t in range(rows.size):
        r = rows[t]
        part_v[t] = v[r] - middle
        parts[0, t], parts[1, t], parts[2, t] = beta[r], lower[r], upper[r]


@njit()
def _scatter(rows, part_beta, beta, moved, change):
    """Bring β up to date: which rows have changed, and the change of f = −v for each; returns how many."""
    count = 0
    for t in range(rows.size):
        r = rows[t]
        if part_beta[t] != beta[r]:
            moved[count], change[count] = r, beta[r] - part_beta[t]
            beta[r] = part_beta[t]
            count += 1
    return count


@njit()
def _lead_or_assist(team, K, rows, block, filled, beta, v, lower, upper, tol, max_steps, states, made, turns):
    """``compact_steps`` on one thread; another one, if it comes, assists."""
    places, lazy, own = np.empty(LONGEST + 2, np.int64), np.empty((3, rows.size)), np.empty(rows.size)
    team = team[: 0 if turns[2] == 0 else team.size]  # the caller without helpers need not wait for any
    begin_turns(turns)
    while True:
        turn = next_turn(turns)
        if turn == 0:
            made[0] = compact_steps(team, K, rows, block, filled, beta, v, lower, upper, tol, max_steps, states, places,
                                    lazy)  # fmt: skip
        elif turn == 1 and team.size > 0:
            assist(team, K, rows, block, filled, beta, lower, upper, tol, max_steps, states, places, lazy, own)
        else:
            end_turns(turns)
            return


@njit()
def _add_in_turns(K, rows, weights, count, f, turns):
    """``add_rows`` to all of f, some columns a turn."""
    begin_turns(turns)
    while True:
        begin = next_turn(turns) * STRIP
        if begin >= f.size:
            end_turns(turns)
            return
        add_rows(K, np.array([[begin, min(f.size, begin + STRIP)]]), rows, weights, count, f)


def _conjugate_round(K, stride, diagonal, beta, v, lower, upper, tol, max_steps, threads):
    """Steps along conjugate directions with v in float32, then v of all rows in double.

    Takes and returns what ``_block_round`` does, which takes over where no step was made, or where rounding made the
    objective worse.
    """
    n = beta.size
    high, low = _extremes(beta, v, lower, upper)
    if not high - low > tol or max_steps <= 0:  # also where kernel values are not numbers
        return 0, high, low, True
    # Arrays are made here: a signal that comes while compiled code hands one over is a SystemError.
    rows = np.empty(n, np.uint64)
    rows = rows[: _still_movable(beta, v, lower, upper, 0.0, high, low, rows)]
    block = square = K[: n * stride].reshape(n, stride)
    few = 2 * rows.size <= n
    m = rows.size if few else n
    threads_of_steps = min(threads, 2) if m >= LEAST_SHARED else 1
    filled = np.zeros((threads_of_steps, m), np.int64)
    if few:  # on a copy, which is filled when it is needed
        block = in_lines((m, padded(m) + TOGETHER), np.float32)
    else:
        rows = np.arange(n, dtype=np.uint64)
        filled += n
    part_v, parts = np.empty(m, np.float32), np.empty((3, m))
    states = in_lines((threads_of_steps, 4 * padded(m)), np.float32)
    _gather(rows, 0.5 * (high + low), v, beta, lower, upper, part_v, parts)
    answer, patience = np.zeros(1, np.int64), (50 if few else 2) * max(n, 500)
    loop = partial(_lead_or_assist, new_team(), square, rows, block, filled, parts[0], part_v, parts[1], parts[2],
                   ROUNDED * tol, min(max_steps, patience), states, answer)  # fmt: skip
    in_turns(loop, m * m, threads_of_steps)
    made = int(answer[0])
    if made == 0:
        return _block_round(K, stride, diagonal, beta, v, lower, upper, 0.0, tol, max_steps)
    v_before, beta_before = v.copy(), beta.copy()
    moved, change = np.empty(m, np.int64), np.empty(m)
    count = _scatter(rows, parts[0], beta, moved, change)
    in_turns(partial(_add_in_turns, square, moved, change, count, v), n * count, threads)
    moved, change = moved[:count], change[:count]
    if change @ (v_before[moved] + v[moved]) > 0.0:
        beta[:], v[:] = beta_before, v_before
        return _block_round(K, stride, diagonal, beta, v, lower, upper, 0.0, tol, max_steps)
    high, low = _extremes(beta, v, lower, upper)
    return made, high, low, not high - low > tol or made >= max_steps


def optimise_block_in_time(K, stride, diagonal, beta, v, lower, upper, tol, max_steps, kink=0.0, threads=1):
    """What ``optimise_block`` does, with a look at the clock between rounds; also with a kink at β = 0.

    Blocks of float32 without a kink are solved along conjugate directions, if there is something to read behind the
    last row. What is behind rows, up to a multiple of ``TOGETHER``, must be finite.
    """
    n, steps, done = beta.size, 0, False
    last = (n - 1) * stride + padded(n)
    conjugate = K.dtype == np.float32 and kink == 0.0 and n <= TAGS and max(n * stride, last) <= K.size
    while not done:
        problem = K, stride, diagonal, beta, v, lower, upper
        if conjugate:
            made, high, low, done = _conjugate_round(*problem, tol, max_steps - steps, threads)
        else:
            made, high, low, done = _block_round(*problem, kink, tol, max_steps - steps)
        steps += made
        done = done or time_is_up()
    return steps, high, low
