"""How far the rows of a problem are from optimality: one pass over all of them, in place of several by numpy.

Rows want up by v and down by −v, less the slope of kink·|β| on that side; a row at a bound is barred from going on.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit

STRIP = 512


@njit()
def _pulls(v, beta, lower, upper, kink):
    """How much a row wants up, −inf if it may not, and how little it wants down, inf if it may not."""
    up = v - (kink if beta >= 0.0 else -kink) if beta < upper else -np.inf
    down = v - (kink if beta > 0.0 else -kink) if beta > lower else np.inf
    return up, down


@njit()
def worst_pair(v, beta, lower, upper, kink, among):
    """The largest v that may go up, the smallest that may go down, and the rows where they are.

    Among the rows of the mask ``among``. Where a v is not a number, neither is the first of the answers. Like the loops
    of ``pair_steps.py`` it looks for extremes in strips, and only in the best one for their rows.
    """
    high, low, strip_high, strip_low = -np.inf, np.inf, 0, 0
    for s in range(0, v.size, STRIP):
        e = min(v.size, s + STRIP)
        largest, smallest, odd = -np.inf, np.inf, 0
        v_s, beta_s, lower_s, upper_s, among_s = v[s:e], beta[s:e], lower[s:e], upper[s:e], among[s:e]
        for t in range(e - s):
            up, down = _pulls(v_s[t], beta_s[t], lower_s[t], upper_s[t], kink)
            up, down = up if among_s[t] else -np.inf, down if among_s[t] else np.inf
            largest = up if up > largest else largest
            smallest = down if down < smallest else smallest
            odd |= among_s[t] & (v_s[t] != v_s[t])
        for t in range(s, e if odd else s):
            if among[t] and np.isnan(v[t]):
                return np.nan, low, t, t
        if largest > high:
            high, strip_high = largest, s
        if smallest < low:
            low, strip_low = smallest, s
    at_high = at_low = 0
    for t in range(min(v.size, strip_high + STRIP) - 1, strip_high - 1, -1):
        if among[t] and high > -np.inf and _pulls(v[t], beta[t], lower[t], upper[t], kink)[0] == high:
            at_high = t
    for t in range(min(v.size, strip_low + STRIP) - 1, strip_low - 1, -1):
        if among[t] and low < np.inf and _pulls(v[t], beta[t], lower[t], upper[t], kink)[1] == low:
            at_low = t
    return high, low, at_high, at_low


@njit()
def violations(v, beta, lower, upper, kink, intercept):
    """How far each row is on the wrong side, given the intercept; negative on the right side."""
    out = np.empty(v.size)
    for t in range(v.size):
        up, down = _pulls(v[t], beta[t], lower[t], upper[t], kink)
        out[t] = max(up - intercept, intercept - down)
    return out
