"""How far the rows of a problem are from optimality: one pass over all of them, in place of several by numpy.

Rows want up by v and down by −v, less the slope of kink·|β| on that side; a row at a bound is barred from going on.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit


@njit()
def _pulls(v, beta, lower, upper, kink):
    """How much a row wants up, −inf if it may not, and how little it wants down, inf if it may not."""
    up = v - (kink if beta >= 0.0 else -kink) if beta < upper else -np.inf
    down = v - (kink if beta > 0.0 else -kink) if beta > lower else np.inf
    return up, down


@njit()
def worst_pair(v, beta, lower, upper, kink, among):
    """The largest v that may go up, the smallest that may go down, and the rows where they are.

    Among the rows of the mask ``among``. Where a v is not a number, neither is the first of the answers.
    """
    high, low, at_high, at_low = -np.inf, np.inf, 0, 0
    for t in range(v.size):
        if not among[t]:
            continue
        if np.isnan(v[t]):
            return np.nan, low, t, t
        up, down = _pulls(v[t], beta[t], lower[t], upper[t], kink)
        if up > high:
            high, at_high = up, t
        if down < low:
            low, at_low = down, t
    return high, low, at_high, at_low


@njit()
def violations(v, beta, lower, upper, kink, intercept):
    """How far each row is on the wrong side, given the intercept; negative on the right side."""
    out = np.empty(v.size)
    for t in range(v.size):
        up, down = _pulls(v[t], beta[t], lower[t], upper[t], kink)
        out[t] = max(up - intercept, intercept - down)
    return out
