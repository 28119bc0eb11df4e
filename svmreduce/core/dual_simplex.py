"""Steps of the dual simplex method on a dense tableau whose variables all have two bounds, compiled.

The tableau says how the *basic* variables follow from the *free* ones, of which each rests at one of its bounds:
x = at·T, and the objective grows by d for a unit of a free variable. A free variable with d > 0 rests at its upper
bound, one with d < 0 at its lower: that is all that dual feasibility asks for. A step takes a basic variable that is
out of its bounds, puts it to the bound, and lets a free one take its place. Its price rises from zero on the way, and
as long as it is out of bounds every d that reaches zero is a reason to flip that variable to its other bound, not to
stop: one step passes many corners.

A step changes T by one product of two vectors. They are kept beside it, T + VᵀU, and added for many steps at once as a
product of matrices, which costs a tenth.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.vector import VECTOR, fmax

OPTIMAL, GOES_ON, NO_PIVOT = 0, 1, 2  # why the steps ended
ZERO = 1e-9  # entries of T that may be nothing but rounding are no pivots
NOTHING = 1e-12  # of the largest gain, about one: a d of this size is rounding
SOUND = 1e-3  # a pivot of this share of the largest entry of its row is large enough
STEPS, FLIPS, STALLED = 0, 1, 2  # places in ``counters``: the last counts steps since d last changed


@njit()
def dual_steps(T, U, V, x, at, d, low, high, margin, basic, free, weight, give, counters):
    """As many steps as U has rows, or until no basic variable is beyond its bounds by more than its margin.

    ``low``, ``high`` and ``margin`` belong to variables, of which ``basic`` and ``free`` have the numbers; ``weight``
    is about 1 + the squared length of each column of T. Changed in place: all but the bounds and margins; T has those
    rows and columns set to zero that U and V have in full. Returns the steps in U and V, and why they ended.
    """
    n, m = T.shape
    row, column = np.empty(n), np.empty(m)
    ratio, places = np.empty(n), np.empty(n, np.int64)
    for made in range(U.shape[0]):
        r = _leaving(x, low, high, margin, basic, weight)
        if r < 0:
            return made, OPTIMAL
        _row_of(T, U, V, made, r, row)
        k = basic[r]
        goes_up = x[r] < low[k]
        bound = low[k] if goes_up else high[k]
        q, flips = _entering(row, goes_up, abs(x[r] - bound), at, d, low, high, free, give, ratio, places)
        if q < 0:
            return made, NO_PIVOT
        _column_of(T, U, V, made, q, column)
        _flip(T, U, V, made, x, at, low, high, free, places, flips)
        counters[STEPS] += 1
        counters[FLIPS] += flips
        counters[STALLED] = 0 if abs(d[q]) > 10.0 * give + NOTHING else counters[STALLED] + 1
        _move(x, at, weight, column, r, q, bound)
        _exchange(T, U, V, d, row, column, made, r, q)
        basic[r], free[q] = free[q], k
    return U.shape[0], GOES_ON


@njit()
def _leaving(x, low, high, margin, basic, weight):
    """The basic variable that is furthest out of its bounds, for the length of its column."""
    r, best = -1, 0.0
    for i in range(x.size):
        k = basic[i]
        beyond = max(x[i] - high[k], low[k] - x[i])
        if beyond > margin[k] and beyond * beyond > best * weight[i]:
            r, best = i, beyond * beyond / weight[i]
    return r


@njit()
def _entering(row, goes_up, slope, at, d, low, high, free, give, ratio, places):
    """The free variable that takes the place, and how many flip before, which are first in ``places``; −1: none.

    ``slope`` is by how much the leaving variable is out of its bounds: what the dual objective gains per unit of the
    way. Each variable that flips takes its part of that.
    """
    count, largest = 0, 0.0
    for j in range(row.size):
        k = free[j]
        a = -row[j] if goes_up else row[j]
        if abs(a) > ZERO and high[k] > low[k] and (a > 0.0) == (at[j] == high[k]):
            ratio[j] = d[j] / a
            places[count] = j
            count += 1
            largest = max(largest, abs(a))
    if count == 0:
        return -1, 0
    before = _flipped(row, slope, low, high, free, ratio, places, count)
    limit, q = np.inf, places[before]
    for c in range(before, count):
        limit = min(limit, ratio[places[c]] + give / abs(row[places[c]]))
    for c in range(before, count):
        j = places[c]
        if ratio[j] <= limit and abs(row[j]) > abs(row[q]):
            q = j
    if abs(row[q]) >= SOUND * largest:
        return q, before
    return _earlier(row, SOUND * largest, ratio, places, before, q)


@njit()
def _flipped(row, slope, low, high, free, ratio, places, count):
    """How many of ``places`` flip, put first: those of least ratio, as long as there is a slope. As quicksort does it,
    but only the part where the slope ends is looked at again."""
    begin, end = 0, count
    while begin < end:
        a, b, c = ratio[places[begin]], ratio[places[(begin + end) // 2]], ratio[places[end - 1]]
        pivot = max(min(a, b), min(max(a, b), c))
        less, more, here, taken = begin, end, begin, 0.0
        while here < more:
            j = places[here]
            if ratio[j] < pivot:
                places[here], places[less] = places[less], j
                taken += abs(row[j]) * (high[free[j]] - low[free[j]])
                less += 1
                here += 1
            elif ratio[j] > pivot:
                more -= 1
                places[here], places[more] = places[more], j
            else:
                here += 1
        if taken >= slope:
            end = less
            continue
        slope -= taken
        for c in range(less, more):
            j = places[c]
            slope -= abs(row[j]) * (high[free[j]] - low[free[j]])
            if slope <= 0.0:
                return c
        begin = more
    return min(begin, count - 1)


@njit()
def _earlier(row, sound, ratio, places, before, q):
    """In place of q, whose entry is too small, the last sound one of those that would flip, and how many still do."""
    found = -1
    for c in range(before):
        j = places[c]
        if abs(row[j]) >= sound and (found < 0 or ratio[j] > ratio[found]):
            found = j
    if found < 0:
        return q, before
    flips = 0
    for c in range(before):
        j = places[c]
        if ratio[j] < ratio[found]:
            places[c], places[flips] = places[flips], j
            flips += 1
    return found, flips


@njit(fastmath=VECTOR)
def _row_of(T, U, V, made, r, row):
    """What one basic variable depends on."""
    for j in range(row.size):
        row[j] = T[j, r]
    for p in range(made):
        c, v = U[p, r], V[p]
        for j in range(row.size):
            row[j] += c * v[j]


@njit(fastmath=VECTOR)
def _column_of(T, U, V, made, q, column):
    """What depends on one free variable."""
    t = T[q]
    for i in range(column.size):
        column[i] = t[i]
    for p in range(made):
        c, u = V[p, q], U[p]
        for i in range(column.size):
            column[i] += c * u[i]


@njit(fastmath=VECTOR)
def _flip(T, U, V, made, x, at, low, high, free, places, flips):
    """The first of ``places`` go to their other bounds, and the basic variables with them."""
    way = np.empty(flips)
    for f in range(flips):
        j = places[f]
        k = free[j]
        other = low[k] if at[j] == high[k] else high[k]
        way[f], at[j] = other - at[j], other
        t = T[j]
        for i in range(x.size):
            x[i] += way[f] * t[i]
    for p in range(made):
        c = 0.0
        for f in range(flips):
            c += V[p, places[f]] * way[f]
        u = U[p]
        for i in range(x.size):
            x[i] += c * u[i]


@njit(fastmath=VECTOR)
def _move(x, at, weight, column, r, q, bound):
    """The leaving variable goes to its bound, the entering one as far as that takes; their weights change places."""
    pivot = column[r]
    way, own = (bound - x[r]) / pivot, weight[r] / (pivot * pivot)
    for i in range(x.size):
        x[i] += way * column[i]
        weight[i] = fmax(weight[i], own * column[i] * column[i])
    x[r], at[q], weight[r] = at[q] + way, bound, fmax(own, 1.0)


@njit(fastmath=VECTOR)
def _exchange(T, U, V, d, row, column, made, r, q):
    """The product of two vectors that exchanges basic variable r and free variable q in the tableau."""
    pivot = column[r]
    for p in range(made):
        U[p, r] = 0.0
        V[p, q] = 0.0
    u, v = U[made], V[made]
    for i in range(column.size):
        u[i] = column[i]
        T[q, i] = 0.0
    for j in range(row.size):
        v[j] = -row[j] / pivot
        T[j, r] = 0.0
    u[r], v[q] = 1.0, 1.0 / pivot
    price = d[q]
    d[q] = 0.0
    for j in range(row.size):
        d[j] += price * v[j]
