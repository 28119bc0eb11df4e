"""Single passes over many rows, each in place of several by numpy, whose temporary arrays cost more than the work: on a
virtual machine fresh memory takes a microsecond a page.

How far rows are from optimality: they want up by v and down by −v, less the slope of kink·|β| on that side; a row at a
bound is barred from going on.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.vector import fmax, fmin

STRIP = 512
NEVER = 1e300  # with infinity in its place, or ``and``, the compiler makes no vector instructions


@njit(allocates=False)
def _up(v, beta, upper, kink):
    """How much a row wants up, −``NEVER`` if it may not."""
    slope = kink if beta >= 0.0 else -kink
    return v - slope if beta < upper else -NEVER


@njit(allocates=False)
def _down(v, beta, lower, kink):
    """How little a row wants down, ``NEVER`` if it may not."""
    slope = kink if beta > 0.0 else -kink
    return v - slope if beta > lower else NEVER


@njit(fastmath={"nnan", "nsz", "reassoc", "contract"}, allocates=False)
def _extremes(v, beta, lower, upper, kink, begin, end):
    """The largest v from ``begin`` to ``end`` that may go up, the smallest that may go down."""
    largest, smallest = -NEVER, NEVER
    for t in range(np.uint64(begin), np.uint64(end)):
        largest = fmax(_up(v[t], beta[t], upper[t], kink), largest)
        smallest = fmin(_down(v[t], beta[t], lower[t], kink), smallest)
    return largest, smallest


@njit(allocates=False)
def _first_odd(v):
    """The first v that is not a number, or -1."""
    odd = 0
    for t in range(v.size):
        odd += v[t] != v[t]
    for t in range(v.size if odd else 0):
        if v[t] != v[t]:
            return t
    return -1


@njit()
def worst_pair(v, beta, lower, upper, kink):
    """The largest v that may go up, the smallest that may go down, and where they are.

    Where a v is not a number, neither is the first of the answers. Like the loops of ``pair_steps.py`` it looks for
    extremes in strips, and only in the best one for their places.
    """
    high, low, strip_high, strip_low = -NEVER, NEVER, 0, 0
    odd = _first_odd(v)
    if odd >= 0:
        return np.nan, np.inf, odd, odd
    for s in range(0, v.size, STRIP):
        largest, smallest = _extremes(v, beta, lower, upper, kink, s, min(v.size, s + STRIP))
        if largest > high:
            high, strip_high = largest, s
        if smallest < low:
            low, strip_low = smallest, s
    at_high = at_low = 0
    for t in range(min(v.size, strip_high + STRIP) - 1, strip_high - 1, -1):
        if high > -NEVER and _up(v[t], beta[t], upper[t], kink) == high:
            at_high = t
    for t in range(min(v.size, strip_low + STRIP) - 1, strip_low - 1, -1):
        if low < NEVER and _down(v[t], beta[t], lower[t], kink) == low:
            at_low = t
    return high if high > -NEVER else -np.inf, low if low < NEVER else np.inf, at_high, at_low


@njit()
def violations(v, beta, lower, upper, kink, intercept):
    """How far each row is on the wrong side, given the intercept; negative on the right side."""
    out = np.empty(v.size)
    for t in range(v.size):
        up, down = _up(v[t], beta[t], upper[t], kink), _down(v[t], beta[t], lower[t], kink)
        out[t] = max(up - intercept, intercept - down)
    return out


@njit()
def subtract(v, rows, amounts):
    """v[rows] -= amounts, for rows that differ."""
    for a in range(rows.size):
        v[rows[a]] -= amounts[a]


@njit()
def gather(v, beta, lower, upper, rows):
    """The four of these rows."""
    out = np.empty(rows.size), np.empty(rows.size), np.empty(rows.size), np.empty(rows.size)
    for a in range(rows.size):
        r = np.uint64(rows[a])
        out[0][a], out[1][a], out[2][a], out[3][a] = v[r], beta[r], lower[r], upper[r]
    return out


@njit()
def changes(beta, before, rows, amounts):
    """Which rows have another β than before, and by how much; returns how many."""
    count = 0
    for t in range(beta.size):
        if beta[t] != before[t]:
            rows[count], amounts[count] = t, beta[t] - before[t]
            count += 1
    return count


@njit()
def mark_first(order, bound, count, marks):
    """Mark the first rows in this order that have a bound other than zero."""
    for a in range(order.size):
        if count <= 0:
            return
        if bound[order[a]] != 0.0:
            marks[order[a]] = True
            count -= 1


@njit()
def round_to_bounds(beta, lower, upper, kink, dust, largest):
    """Put every β on a bound that it is as good as at, or on zero if that is a kink: within ``dust`` of its room, which
    is at most ``largest``."""
    for t in range(beta.size):
        near = dust * min(upper[t] - lower[t], largest)
        if upper[t] - beta[t] <= near:
            beta[t] = upper[t]
        if beta[t] - lower[t] <= near:
            beta[t] = lower[t]
        if kink > 0.0 and abs(beta[t]) <= near:
            beta[t] = 0.0
