"""How far the rows of a problem are from optimality: one pass over all of them, in place of several by numpy.

Rows want up by v and down by −v, less the slope of kink·|β| on that side; a row at a bound is barred from going on.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.vector import fmax, fmin

STRIP = 512
NEVER = 1e300  # with infinity in its place, or ``and``, the compiler makes no vector instructions


@njit(allocates=False)
def _up(v, beta, upper, kink, counts):
    """How much a row wants up, −``NEVER`` if it may not or does not count."""
    slope = kink if beta >= 0.0 else -kink
    return v - slope if (beta < upper) & counts else -NEVER


@njit(allocates=False)
def _down(v, beta, lower, kink, counts):
    """How little a row wants down, ``NEVER`` if it may not or does not count."""
    slope = kink if beta > 0.0 else -kink
    return v - slope if (beta > lower) & counts else NEVER


@njit(fastmath={"nnan", "nsz", "reassoc", "contract"}, allocates=False)
def _extremes(v, beta, lower, upper, kink, among, begin, end):
    """The largest v from ``begin`` to ``end`` that may go up, the smallest that may go down."""
    largest, smallest = -NEVER, NEVER
    for t in range(np.uint64(begin), np.uint64(end)):
        largest = fmax(_up(v[t], beta[t], upper[t], kink, among[t]), largest)
        smallest = fmin(_down(v[t], beta[t], lower[t], kink, among[t]), smallest)
    return largest, smallest


@njit(allocates=False)
def _first_odd(v, among):
    """The first of these rows whose v is not a number, or -1."""
    odd = 0
    for t in range(v.size):
        odd += among[t] & (v[t] != v[t])
    for t in range(v.size if odd else 0):
        if among[t] and v[t] != v[t]:
            return t
    return -1


@njit()
def worst_pair(v, beta, lower, upper, kink, among):
    """The largest v that may go up, the smallest that may go down, and the rows where they are.

    Among the rows of the mask ``among``. Where a v is not a number, neither is the first of the answers. Like the loops
    of ``pair_steps.py`` it looks for extremes in strips, and only in the best one for their rows.
    """
    high, low, strip_high, strip_low = -NEVER, NEVER, 0, 0
    odd = _first_odd(v, among)
    if odd >= 0:
        return np.nan, np.inf, odd, odd
    for s in range(0, v.size, STRIP):
        largest, smallest = _extremes(v, beta, lower, upper, kink, among, s, min(v.size, s + STRIP))
        if largest > high:
            high, strip_high = largest, s
        if smallest < low:
            low, strip_low = smallest, s
    at_high = at_low = 0
    for t in range(min(v.size, strip_high + STRIP) - 1, strip_high - 1, -1):
        if high > -NEVER and _up(v[t], beta[t], upper[t], kink, among[t]) == high:
            at_high = t
    for t in range(min(v.size, strip_low + STRIP) - 1, strip_low - 1, -1):
        if low < NEVER and _down(v[t], beta[t], lower[t], kink, among[t]) == low:
            at_low = t
    return high if high > -NEVER else -np.inf, low if low < NEVER else np.inf, at_high, at_low


@njit()
def violations(v, beta, lower, upper, kink, intercept):
    """How far each row is on the wrong side, given the intercept; negative on the right side."""
    out = np.empty(v.size)
    for t in range(v.size):
        up, down = _up(v[t], beta[t], upper[t], kink, True), _down(v[t], beta[t], lower[t], kink, True)
        out[t] = max(up - intercept, intercept - down)
    return out


@njit()
def subtract(v, rows, amounts):
    """v[rows] -= amounts, for rows that differ."""
    for a in range(rows.size):
        v[rows[a]] -= amounts[a]
