"""Steps of the Frank-Wolfe family on the simplex, compiled.

The problem is  min R(α) = αᵀQα  on the simplex, with g = Qα. Read as a ball, α is its centre and R the squared norm
of the centre; with Δ² for the squared norm of a row, Δ² + R − 2g_i is the squared distance of row i from the
centre. So the farthest row is the one with the smallest g.

A step goes *toward* a row, α ← (1−λ)α + λe_i, or *away* from an active one, α ← (1+λ)α − λe_j. The away step is
the same formula with λ < 0.
"""

from __future__ import annotations

import math

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.pair_steps import BARRED, STRIP
from svmreduce.core.vector import VECTOR, fmax, fmin

FRANK_WOLFE, MODIFIED, BALL = 0, 1, 2  # which steps: toward; also away; toward until a ball of fixed radius touches
LONGEST = 1.0 - 2.0**-20  # a whole step would leave no weights to scale
MIN_BALL = 1e-3  # of Δ²: a few rows of little weight may have R > Δ², which no ball has; more rows fix that
ROUNDING = 1e-15  # of Δ²: a slope that is nothing but rounding
SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100
INSIDE, LIMIT, STALLED = -1, -2, -3  # why the steps ended; otherwise the row whose values are missing
# Places in ``numbers`` and ``counters``, the state that outlives a call
NORM, SLACK, SCALE = 0, 1, 2
TOWARD, AWAY, DROP = 0, 1, 2


@njit()
def is_inside(rule, size, limit, numbers, low):
    """Whether a row with g = ``low`` lies in the ball, widened by ``limit`` (the square of a factor).

    The ball of Frank-Wolfe has r² = Δ² − R and grows. That of the ball vector machine has the fixed r² = Δ², in a
    space with one more coordinate: rows are 0 there, the centre is √slack and sinks as it moves.
    """
    radius = size if rule == BALL else max(size - numbers[NORM], MIN_BALL * size)
    return size + numbers[NORM] - 2.0 * low + numbers[SLACK] <= limit * radius


@njit()
def _toward(rule, size, numbers, g_i, own_i):
    """λ of a step toward row i: where R is least on the way or, for ``BALL``, where the ball touches the row."""
    R = numbers[NORM]
    if rule == BALL:
        return 1.0 - math.sqrt(size / (size + R - 2.0 * g_i + numbers[SLACK]))
    slope, curvature = R - g_i, R - 2.0 * g_i + own_i
    return min(slope / curvature, LONGEST) if curvature > 0.0 else LONGEST


@njit()
def _away(numbers, g_j, own_j, alpha_j):
    """λ < 0 of a step away from row j: where R is least, unless the weight of j is used up before."""
    R = numbers[NORM]
    furthest = alpha_j / (1.0 - alpha_j)
    slope, curvature = g_j - R, R - 2.0 * g_j + own_j
    return -min(slope / curvature, furthest) if curvature > 0.0 else -furthest


@njit(fastmath=VECTOR)
def _shift(g, keep, step, row, barred):
    """g ← keep·g + step·row; then its smallest value, and its largest among rows that are not barred.

    In strips: a strip's extremes are vector reductions, and only the best strip is searched for the place.
    """
    low, high, low_strip, high_strip = np.inf, -np.inf, 0, 0
    for s in range(0, g.size, STRIP):
        e = min(g.size, s + STRIP)
        g_s, row_s, barred_s = g[s:e], row[s:e], barred[s:e]
        least, most = 1e300, -1e300
        for t in range(e - s):
            u = keep * g_s[t] + step * np.float64(row_s[t])
            g_s[t] = u
            least = fmin(u, least)
            most = fmax(u - barred_s[t], most)
        if least < low:
            low, low_strip = least, s
        if most > high:
            high, high_strip = most, s
    low_at, high_at = low_strip, high_strip
    for t in range(low_strip, min(g.size, low_strip + STRIP)):
        if g[t] == low:
            low_at = t
    for t in range(high_strip, min(g.size, high_strip + STRIP)):
        if g[t] - barred[t] == high:
            high_at = t
    return low, low_at, high, high_at


@njit()
def ball_steps(rule, size, limit, Q, begin, last_used, own, weight, g, barred, numbers, counters, max_steps):
    """Steps until every row lies in the ball, or the values of a row are missing.

    Row i of Q is ``Q[begin[i] : begin[i] + n]``, and begin[i] < 0 where it is not in memory; ``own`` is the diagonal.
    α is ``weight`` times numbers[SCALE], so that a step changes one weight. ``barred`` is 0 for active rows.
    Everything from ``last_used`` on is changed in place. Returns why it ended.
    """
    n = g.size
    low, low_at, high, high_at = _shift(g, 1.0, 0.0, Q[:n], barred)
    last = counters[TOWARD] + counters[AWAY] + max_steps
    while not is_inside(rule, size, limit, numbers, low):
        # Step 1 – the better of the two directions
        R, made = numbers[NORM], counters[TOWARD] + counters[AWAY]
        goes_away = rule == MODIFIED and high - R > R - low
        i = high_at if goes_away else low_at
        if begin[i] < 0:
            return i
        if made >= last:
            return LIMIT
        last_used[i] = made
        # Step 2 – how far
        g_i, alpha_i = g[i], weight[i] * numbers[SCALE]
        step = _away(numbers, g_i, own[i], alpha_i) if goes_away else _toward(rule, size, numbers, g_i, own[i])
        drops = goes_away and -step * (1.0 - alpha_i) >= alpha_i
        if rule != BALL and abs(R - g_i) <= ROUNDING * size:
            return STALLED
        # Step 3 – R, α and g
        keep = 1.0 - step
        numbers[NORM] = keep * keep * R + 2.0 * step * keep * g_i + step * step * own[i]
        numbers[SLACK] *= keep * keep
        numbers[SCALE] *= keep
        weight[i] = 0.0 if drops else weight[i] + step / numbers[SCALE]
        barred[i] = BARRED if drops else np.float32(0)
        counters[AWAY if goes_away else TOWARD] += 1
        counters[DROP] += drops
        low, low_at, high, high_at = _shift(g, keep, step, Q[begin[i] : begin[i] + n], barred)
        if not SMALLEST_SCALE < numbers[SCALE] < LARGEST_SCALE:
            for t in range(n):
                weight[t] *= numbers[SCALE]
            numbers[SCALE] = 1.0
    return INSIDE
