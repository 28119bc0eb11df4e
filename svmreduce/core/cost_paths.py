"""Solutions for many C on one kernel matrix: each starts from the last.

The matrix of all rows is at hand, training and validation rows alike; a fold only says which rows may move. So f = Kβ
of the validation rows needs no kernel values of its own, and is made once for each C. A problem has variables of which
each belongs to a row (two for one row in ε-regression), with  target, lower·C ≤ β ≤ upper·C  and Σβ = 0, as in
``smo_engine.py``.

Each round takes the variables that are free or violate the optimality conditions, makes pair steps on those alone in
float32, brings f of all rows up to date in double, and looks at all of them again. The kernel values are float32
numbers, as LIBSVM's are; with them the largest violation is exact.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.compact_steps import DUST, LONGEST, compact_steps, squeeze
from svmreduce.core.jit import njit, take
from svmreduce.core.pair_scans import TOGETHER
from svmreduce.core.row_sums import add_rows
from svmreduce.core.scan_team import padded
from svmreduce.core.tiles import DISTANCES, finish

ADMIT = 0.02  # of the gap: a row outside that violates more than this comes in,
NEAR, LATER = -0.1, 1.0  # or, below this gap, that is so near to a violation that it may come to one in the round
IDLE = 0.02  # a row at a bound and this far on the right side is not needed
FIRST, SHRINK = 0.15, 0.3  # of the gap: what a round leaves
SETTLED, FEW = 0.05, 0.01  # what it leaves when fewer than this share of the rows are new
SAFETY = 0.8  # of the tolerance: what the last round leaves
MOST_ROUNDS = 1000
BAND = 2**17  # values of a matrix that are made at a time
LEAST_GAP = 64  # columns: fewer are not worth leaving out
LARGE_START = 20.0  # Σ|βK| of a row with all at their bounds: beyond, that is not worth its kernel values


@njit()
def _spans(rows, n):
    """Ranges of columns that hold the rows, and those between them: pairs of first and end."""
    taken = np.zeros(n, np.bool_)
    taken[rows] = True
    found, size, end = np.empty((rows.size, 2), np.int64), 0, -LEAST_GAP
    for r in np.flatnonzero(taken):
        if r - end >= LEAST_GAP:
            found[size, 0] = r
            size += 1
        end = r + 1
        found[size - 1, 1] = end
    between = np.empty((size + 1, 2), np.int64)
    between[0, 0], between[size, 1] = 0, n
    between[1:, 0], between[:size, 1] = found[:size, 1], found[:size, 0]
    return found[:size], between


@njit()
def _extremes(moving, row_of, target, f, beta, lower, upper):
    """Largest v that may go up and smallest that may go down."""
    high, low = -np.inf, np.inf
    for t in moving:
        v = target[t] - f[row_of[t]]
        if beta[t] < upper[t] and v > high:
            high = v
        if beta[t] > lower[t] and v < low:
            low = v
    return high, low


@njit()
def _violations(moving, row_of, target, f, beta, lower, upper, middle, out, rises):
    for a in range(moving.size):
        t = moving[a]
        v = target[t] - f[row_of[t]] - middle
        out[a] = max(v if beta[t] < upper[t] else -np.inf, -v if beta[t] > lower[t] else -np.inf)
        rises[a] = v > 0.0


@njit()
def _worst(violation, rises, capacity, moving, stays):
    """The worst of both directions: with one of them alone, there would be no pairs."""
    order = np.argsort(-violation)
    room = capacity // 2, capacity - capacity // 2
    taken = [0, 0]
    for a in order:
        side = 1 if rises[a] else 0
        if taken[side] < room[side]:
            stays[moving[a]] = True
            taken[side] += 1
    left = capacity - taken[0] - taken[1]
    for a in order:
        if left > 0 and not stays[moving[a]]:
            stays[moving[a]] = True
            left -= 1


@njit()
def _choose(moving, violation, rises, gap, members, count, inside, block, filled):
    """Let violators in, and idle members out when they are many; returns how many members there are, and are new.

    Members keep their places, so that the kernel values among them stay.
    """
    capacity, keep = members.size, -IDLE
    for share in (NEAR if gap <= LATER else ADMIT, ADMIT):  # those that are only near come in if there is room
        admit, new, idle = share * gap, 0, 0
        for a in range(moving.size):
            if inside[moving[a]]:
                idle += violation[a] <= keep
            else:
                new += violation[a] > admit
        if count - idle + new <= capacity:
            break
    stays = np.zeros(inside.size, np.bool_)
    if count - idle + new > capacity:  # only the worst have room
        _worst(violation, rises, capacity, moving, stays)
    else:
        for a in range(moving.size):
            stays[moving[a]] = violation[a] > (keep if inside[moving[a]] else admit)
    if 4 * idle > count or count + new > capacity:
        mask, kept = np.empty(count, np.bool_), 0
        for a in range(count):
            mask[a] = stays[members[a]]
        squeeze(block, filled, mask)
        for a in range(count):
            inside[members[a]] = mask[a]
            if mask[a]:
                members[kept] = members[a]
                kept += 1
        count = kept
    before = count
    for a in range(moving.size):
        t = moving[a]
        if stays[t] and not inside[t] and count < capacity:
            members[count], filled[count], inside[t] = t, 0, True
            count += 1
    return count, count - before


@njit()
def _solve_cell(K, spans, row_of, moving, target, lower, upper, beta, f, tol, max_steps, block, members, filled, count):
    """Optimise β from where it is. Returns high, low, steps, and how many members there are, for the next cell."""
    violation, rises = np.empty(moving.size), np.empty(moving.size, np.bool_)
    inside = np.zeros(target.size, np.bool_)
    for a in range(count):
        inside[members[a]] = True
    changed, change = np.empty(members.size, np.int64), np.empty(members.size)
    v, states = np.empty(members.size, np.float32), np.empty((1, 4 * padded(members.size)), np.float32)
    places, lazy = np.empty(LONGEST + 2, np.int64), np.empty((3, members.size))
    alone, steps = np.empty(0, np.int64), 0
    for round_ in range(MOST_ROUNDS):
        high, low = _extremes(moving, row_of, target, f, beta, lower, upper)
        gap = high - low
        if not gap > tol or steps >= max_steps:
            break
        middle = 0.5 * (high + low)
        _violations(moving, row_of, target, f, beta, lower, upper, middle, violation, rises)
        count, new = _choose(moving, violation, rises, gap, members, count, inside, block, filled)
        now = members[:count]
        rows = take(row_of, now).astype(np.uint64)
        part_beta = take(beta, now)
        for a in range(count):
            v[a] = target[now[a]] - f[rows[a]] - middle
        leave = max(SAFETY * tol, (SETTLED if new < FEW * count else SHRINK if round_ else FIRST) * gap)
        made = compact_steps(alone, K, rows, block, filled.reshape((1, filled.size)), part_beta, v[:count],
                             take(lower, now), take(upper, now), leave, max_steps - steps, states, places,
                             lazy)  # fmt: skip
        moved = 0
        for a in range(count):
            if part_beta[a] != beta[now[a]]:
                changed[moved], change[moved] = rows[a], part_beta[a] - beta[now[a]]
                beta[now[a]] = part_beta[a]
                moved += 1
        add_rows(K, spans, changed, change, moved, f)
        steps += made
        if made == 0:
            break
    high, low = _extremes(moving, row_of, target, f, beta, lower, upper)
    return high, low, steps, count


@njit()
def _balance(K, spans, row_of, moving, target, lower, upper, beta, f):
    """Make Σβ zero: the variables that want to go that way most go there, each as far as it can."""
    excess, size = 0.0, 0.0
    for t in moving:
        excess += beta[t]
        size += abs(beta[t])
    if abs(excess) <= DUST * size:
        return
    sign = 1.0 if excess > 0 else -1.0
    wish = np.empty(moving.size)
    for a in range(moving.size):
        t = moving[a]
        wish[a] = sign * (target[t] - f[row_of[t]])
    order = np.argsort(wish)
    rows, change, count = np.empty(moving.size, np.int64), np.empty(moving.size), 0
    excess = abs(excess)
    for a in order:
        t = moving[a]
        bound = lower[t] if sign > 0 else upper[t]
        room = sign * (beta[t] - bound)
        if room <= 0.0:
            continue
        step = min(room, excess)
        beta[t] = bound if room - step <= DUST * (upper[t] - lower[t]) else beta[t] - sign * step
        rows[count], change[count] = row_of[t], -sign * step
        count += 1
        excess -= step
        if excess <= DUST * size:  # rounding must not make a row free: the intercept would be its own
            break
    add_rows(K, spans, rows, change, count, f)


@njit()
def _widen(moving, lower, upper, beta, f, ratio):
    """Boxes grow, and all of β and f with them while few variables are free. Bounds, β and f are changed in place."""
    free, bound = 0, 0
    for t in moving:
        if lower[t] < beta[t] < upper[t]:
            free += 1
        elif beta[t] != 0.0:
            bound += 1
    grows = free <= bound
    for t in moving:
        at_upper, at_lower = beta[t] == upper[t], beta[t] == lower[t]
        upper[t] *= ratio
        lower[t] *= ratio
        if grows:
            beta[t] = upper[t] if at_upper else lower[t] if at_lower else beta[t] * ratio
    if grows:
        for r in range(f.size):
            f[r] *= ratio


@njit()
def _first_beta(K, spans, row_of, moving, target, lower, upper, beta, f):
    """All at their bounds, but for what makes Σβ zero, where C is so small that this is nearly the solution."""
    rows, weights, total = np.empty(moving.size, np.int64), np.empty(moving.size), 0.0
    for a in range(moving.size):
        t = moving[a]
        rows[a], weights[a] = row_of[t], upper[t] + lower[t]
        beta[t] = weights[a]
        total += abs(weights[a]) * abs(K[rows[a], rows[0]])
    if total <= LARGE_START:
        add_rows(K, spans, rows, weights, moving.size, f)
        _balance(K, spans, row_of, moving, target, lower, upper, beta, f)
        slope, curvature = 0.0, 0.0  # of the objective from zero to here: is it still falling?
        for t in moving:
            slope += beta[t] * target[t]
            curvature += beta[t] * f[row_of[t]]
        if curvature <= slope:
            return
    beta[:] = 0.0
    f[:] = 0.0


@njit()
def solve_path(K, n, row_of, target, lower, upper, C, tol, max_steps, block, f_out, beta_out, facts):
    """Solve for every C, ascending.

    Parameters
    ----------
    K : float32 array of kernel values of all pairs of rows
    row_of : the row of K of each variable
    target, lower, upper : of each variable; bounds for C = 1, both zero where it may not move
    block : float32 room of a ``block_shape``; it has a row for each variable that pair steps run on at a time
    f_out, beta_out : (len(C), n) and (len(C), variables), filled with Kβ and β
    facts : (len(C), 3), filled with intercept, gap and steps
    """
    moving = np.flatnonzero(upper > lower)
    spans, others = _spans(row_of[moving], n)
    beta, told, f = np.zeros(target.size), np.zeros(target.size), np.zeros(n)
    lower, upper = lower * C[0], upper * C[0]
    _first_beta(K, spans, row_of, moving, target, lower, upper, beta, f)
    capacity = max(1, min(moving.size, block.shape[0]))
    members, filled, count = np.empty(capacity, np.int64), np.zeros(capacity, np.int64), 0
    for c in range(C.size):
        if c:
            _widen(moving, lower, upper, beta, f, C[c] / C[c - 1])
            told[:] = beta  # what f of the others is made of
        _balance(K, spans, row_of, moving, target, lower, upper, beta, f)
        high, low, steps, count = _solve_cell(K, spans, row_of, moving, target, lower, upper, beta, f, tol,
                                              max_steps, block, members, filled, count)  # fmt: skip
        changed = np.flatnonzero(beta != told)
        add_rows(K, others, row_of[changed], beta[changed] - told[changed], changed.size, f)
        f_out[c], beta_out[c] = f, beta
        facts[c, 0] = _intercept(moving, row_of, target, f, beta, lower, upper, high, low)
        facts[c, 1], facts[c, 2] = max(0.0, high - low), steps


@njit()
def _intercept(moving, row_of, target, f, beta, lower, upper, high, low):
    """Mean v of the free variables, or half-way between the extremes."""
    total, free = 0.0, 0
    for t in moving:
        if lower[t] < beta[t] < upper[t]:
            total += target[t] - f[row_of[t]]
            free += 1
    if free:
        return total / free
    if not np.isfinite(high):
        return low if np.isfinite(low) else 0.0
    return 0.5 * (high + low) if np.isfinite(low) else high


def block_shape(members: int) -> tuple[int, int]:
    """Of the block for at most that many; rows a power of two apart would share few places of the cache."""
    members = max(1, members)
    return members, padded(members) + TOGETHER


def bands(n: int) -> list[slice]:
    """Rows of an n × n matrix, so many at a time that their values stay in the cache from one pass to the next."""
    rows = max(1, BAND // max(1, n))
    return [slice(start, start + rows) for start in range(0, n, rows)]


def matrix_from(kernel, base: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Kernel values of all pairs of rows from their squared distances, or products; float32, written into ``K``."""
    none = np.zeros(len(base), np.float32)  # squared lengths are in the distances already
    for rows in bands(len(base)):
        np.copyto(K[rows], base[rows])
        finish(
            kernel.code, float(kernel.gamma), float(kernel.coef0), int(kernel.degree), DISTANCES, none, none, K[rows]
        )
    return K
