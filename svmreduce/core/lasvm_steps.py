"""LASVM's steps, compiled: one new row with its best partner, then the worst pair of the old ones.

The problem and the letters are those of ``pair_steps``. The *expansion* is the set of rows that may have
β ≠ 0. Its rows of kernel values lie in slots of one buffer; a slot is taken over by another row when
all are full, and a step that needs a row which has lost its slot stops and says so: the caller
computes the row and calls again.

Arrays travel in three bundles:

- ``store``: K (slot after slot, ``stride`` values each), slot_of[position], owner[slot], used[slot];
- ``state``, by position: beta, v, lower, upper, no_up, no_low, diagonal;
- ``chunk``: kernel values of the candidates (rows) against the expansion as it was, then the candidates
  (columns); their target, lower and upper; and ``origin``, which candidate each newcomer was.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.pair_steps import mark_bounds, move_pair, partner, step_and_extremes
from svmreduce.core.vector import VECTOR

SIZE, TURN, STAGE, BEST, INSERTED, STEPS, CLOCK = range(7)  # of the counters
COUNTERS = 7
CHOOSE, PROCESS, REPROCESS = range(3)  # stages of a turn
RANDOM, GRADIENT, ACTIVE = range(3)  # ways to choose a candidate
NOTHING = -1  # no row is wanted


@njit(fastmath=VECTOR)
def _dot(row, beta):
    total = 0.0
    for s in range(row.size):
        total += np.float64(row[s]) * beta[s]
    return total


@njit()
def _choose(state, chunk, old, per_turn, selection, counters, extremes):
    """The candidate of this turn, and its v."""
    beta, chunk_K, target, origin = state[0], chunk[0], chunk[1], chunk[4]
    width, first = old + target.size, counters[TURN] * per_turn
    middle = 0.5 * (extremes[0] + extremes[1])  # where f changes its sign
    chosen, chosen_v, best = first, 0.0, -np.inf
    for c in range(first, first + per_turn):
        row = chunk_K[c * width : (c + 1) * width]
        v = target[c] - _dot(row[:old], beta[:old])
        for s in range(old, counters[SIZE]):
            v -= beta[s] * np.float64(row[old + origin[s - old]])
        merit = 0.0
        if selection == GRADIENT:
            merit = target[c] * (v - middle)  # 1 − y·f
        elif selection == ACTIVE:
            merit = -abs(target[c] - v + middle)  # −|f|
        if merit > best:
            chosen, chosen_v, best = c, v, merit
    return chosen, chosen_v


@njit()
def take_slot(store, position, counters):
    """A slot for this member: the one that was used longest ago."""
    _, slot_of, owner, used = store
    slot = np.argmin(used)
    if owner[slot] >= 0:
        slot_of[owner[slot]] = -1
    slot_of[position], owner[slot] = slot, position
    counters[CLOCK] += 1
    used[slot] = counters[CLOCK]
    return slot


@njit()
def _admit(c, v_c, store, stride, state, chunk, old, counters):
    """Candidate c becomes the last member of the expansion, with β = 0."""
    K, _, owner, _ = store
    beta, v, lower, upper, no_up, no_low, diagonal = state
    chunk_K, target, chunk_lower, chunk_upper, origin = chunk
    width, p = old + target.size, counters[SIZE]
    source = chunk_K[c * width : (c + 1) * width]
    origin[p - old] = c
    row = K[take_slot(store, p, counters) * stride :]
    for s in range(old):
        row[s] = source[s]
    for s in range(old, p + 1):
        row[s] = source[old + origin[s - old]]
    for slot in range(owner.size):
        if 0 <= owner[slot] < p:
            K[slot * stride + p] = row[owner[slot]]
    beta[p], v[p], lower[p], upper[p], diagonal[p] = 0.0, v_c, chunk_lower[c], chunk_upper[c], row[p]
    mark_bounds(p, beta, lower, upper, no_up, no_low, 0.0)
    counters[SIZE] += 1
    counters[INSERTED] += 1


@njit()
def _step(i, j, store, stride, state, counters, extremes):
    """The pair step of members i (up) and j (down); returns the member whose row is missing, if one is."""
    K, slot_of, _, used = store
    beta, v, lower, upper, no_up, no_low, diagonal = state
    n = counters[SIZE]
    for member in (i, j):
        if slot_of[member] < 0:
            return member
        counters[CLOCK] += 1
        used[slot_of[member]] = counters[CLOCK]
    row_i = K[slot_of[i] * stride : slot_of[i] * stride + n]
    row_j = K[slot_of[j] * stride : slot_of[j] * stride + n]
    step = move_pair(i, j, row_i[j], diagonal, beta, v, lower, upper, no_up, no_low, 0.0)
    counters[BEST], extremes[0], extremes[1] = step_and_extremes(row_i, row_j, step, v[:n], no_up[:n], no_low[:n])
    counters[STEPS] += 1
    return NOTHING


@njit()
def _process(store, stride, state, counters, extremes):
    """The newest member with the worst of the others, in the direction in which it can move."""
    v, upper, no_low = state[1], state[3], state[5]
    new = counters[SIZE] - 1
    if upper[new] <= 0:
        return _step(counters[BEST], new, store, stride, state, counters, extremes)
    for other in range(new):
        if v[other] + no_low[other] == extremes[1]:
            return _step(new, other, store, stride, state, counters, extremes)
    return NOTHING


@njit()
def _reprocess(store, stride, state, counters, extremes):
    """The member that most wants to go up, with the partner that gains most to second order."""
    K, slot_of, _, _ = store
    v, no_low, diagonal = state[1], state[5], state[6]
    i, n = counters[BEST], counters[SIZE]
    if slot_of[i] < 0:
        return i
    row_i = K[slot_of[i] * stride : slot_of[i] * stride + n]
    j = partner(row_i, diagonal[:n], i, v[:n], no_low[:n], extremes[0])
    return _step(i, j, store, stride, state, counters, extremes)


@njit()
def turns(store, stride, state, chunk, per_turn, selection, tol, counters, extremes):
    """PROCESS and REPROCESS once for each ``per_turn`` candidates; continues where it stopped.

    Returns the position of the member whose kernel row is wanted, or NOTHING when the chunk is done.
    """
    target, upper = chunk[1], chunk[3]
    old = chunk[0].size // target.size - target.size
    while (counters[TURN] + 1) * per_turn <= target.size:
        if counters[STAGE] == CHOOSE:
            c, v_c = _choose(state, chunk, old, per_turn, selection, counters, extremes)
            goes_up = upper[c] > 0
            middle = 0.5 * (extremes[0] + extremes[1])
            if (v_c - extremes[1] if goes_up else extremes[0] - v_c) > tol:
                _admit(c, v_c, store, stride, state, chunk, old, counters)
                counters[STAGE] = PROCESS
            elif (v_c - middle if goes_up else middle - v_c) > tol:
                # It breaks the margin, but all members are at their bounds and none can be its partner: the next
                # newcomer of the other class can
                _admit(c, v_c, store, stride, state, chunk, old, counters)
                if goes_up and v_c > extremes[0]:
                    counters[BEST], extremes[0] = counters[SIZE] - 1, v_c
                elif not goes_up:
                    extremes[1] = min(extremes[1], v_c)
                counters[STAGE] = REPROCESS
            else:
                counters[STAGE] = REPROCESS
        if counters[STAGE] == PROCESS:
            wanted = _process(store, stride, state, counters, extremes)
            if wanted != NOTHING:
                return wanted
            counters[STAGE] = REPROCESS
        if extremes[0] - extremes[1] > tol:
            wanted = _reprocess(store, stride, state, counters, extremes)
            if wanted != NOTHING:
                return wanted
        counters[STAGE] = CHOOSE
        counters[TURN] += 1
    return NOTHING


@njit()
def reprocess_until(store, stride, state, tol, last_step, counters, extremes):
    """REPROCESS until no pair violates by more than ``tol``: FINISHING. Returns as ``turns`` does."""
    while extremes[0] - extremes[1] > tol and counters[STEPS] < last_step:
        wanted = _reprocess(store, stride, state, counters, extremes)
        if wanted != NOTHING:
            return wanted
    return NOTHING


@njit()
def refresh_extremes(state, counters, extremes):
    """Which member most wants to go up, how much, and how much the one that most wants to go down."""
    beta, v, lower, upper, no_up, no_low, _ = state
    n = counters[SIZE]
    counters[BEST], extremes[0], extremes[1] = 0, -np.inf, np.inf
    for t in range(n):
        mark_bounds(t, beta, lower, upper, no_up, no_low, 0.0)
        if v[t] - no_up[t] > extremes[0]:
            counters[BEST], extremes[0] = t, v[t] - no_up[t]
        extremes[1] = min(extremes[1], v[t] + no_low[t])


@njit()
def squeeze_columns(K, stride, owner, keep):
    """In every slot in use keep these columns (ascending), in place."""
    for slot in range(owner.size):
        if owner[slot] >= 0:
            row = K[slot * stride : (slot + 1) * stride]
            for s in range(keep.size):
                row[s] = row[keep[s]]


@njit()
def lengthen_rows(K, slots, columns, old, new):
    """The same values with a longer stride, in place: last slot first, each towards the back."""
    for slot in range(slots - 1, 0, -1):
        for s in range(columns - 1, -1, -1):
            K[slot * new + s] = K[slot * old + s]
