"""Pair steps along conjugate directions, in float32.

For grids of many small problems, and for the engine. Kernel rows of the members are copied together when they are first
used, or are those of the engine's block as it is. The steps of ``pair_steps.py`` with three differences. A scan knows
where its largest value was (``tag_of``), so that no second search is needed. A step follows the pair plus the share of
the last direction that makes both conjugate, as in conjugate gradients, as long as that leads to no bound: about half
as many steps at large C (Torres-Barrán, Alaíz and Dorronsoro, Faster SVM training via conjugate SMO, Pattern
Recognition 2021). And v is float32: the caller checks in double.

A direction has up to ``LONGEST`` rows, but a step touches two of them. The direction is scale·part, where a row's part
only changes when it is in the pair, and total is the sum of step·scale so far. So a row's true coefficient is
β + part·(total − since), since being the total at which β was right; and the bounds of all rows make one interval for
the total. When the scale is far from one, rounding would count: all rows are brought up to date, and it is one again.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.pair_scans import BARRED, LEAST_CURVATURE, NOTHING, TAU
from svmreduce.core.scan_team import (
    ALONE,
    ASSISTANT,
    NOBODY,
    best_partner,
    copy_share,
    fill,
    is_over,
    join,
    lead,
    padded,
    share_of,
    step_of_all,
    tags_for,
)
from svmreduce.core.vector import tag_of

DUST = 1e-12  # of a coefficient: what rounding leaves
LONGEST = 30  # rows in a direction; beyond, a new one begins
TINY = np.float32(1e-30)  # below it a tagged value is nothing but its tag
SCALES = 0.01, 100.0  # a direction's scale in between needs no attention


@njit()
def squeeze(block, filled, keep):
    """Keep these members (a mask), in place: their rows and columns move towards the front."""
    kept = np.flatnonzero(keep).astype(np.uint64)
    for a in range(kept.size):
        count = np.searchsorted(kept, np.uint64(filled[kept[a]]))
        for b in range(np.uint64(count)):
            block[np.uint64(a), b] = block[kept[a], kept[b]]
        for b in range(count, padded(count)):
            block[a, b] = np.float32(0)
        filled[a] = count


@njit(allocates=False)
def _catch_up(t, beta, part, since, total):
    """Bring β of row t up to date."""
    beta[t] += part[t] * (total - since[t])
    since[t] = total


@njit(allocates=False)
def _narrow(t, beta, part, since, lower, upper, least, most):
    """The interval of totals, less those that lead row t to a bound."""
    if part[t] == 0.0:
        return least, most
    a, b = (lower[t] - beta[t]) / part[t], (upper[t] - beta[t]) / part[t]
    return max(least, since[t] + min(a, b)), min(most, since[t] + max(a, b))


@njit(allocates=False)
def _interval(i, j, places, count, beta, part, since, lower, upper):
    """The totals at which no row of the direction is at a bound, but for i and j."""
    least, most = -np.inf, np.inf
    for a in range(count):
        if places[a] != i and places[a] != j:
            least, most = _narrow(places[a], beta, part, since, lower, upper, least, most)
    return least, most


@njit(allocates=False)
def _bring_up_to_date(places, count, beta, part, since, total, scale):
    """True β of all rows of the direction, at scale one and total zero."""
    for a in range(count):
        t = places[a]
        _catch_up(t, beta, part, since, total)
        part[t] *= scale
        since[t] = 0.0


@njit(allocates=False)
def _arrays(state, size):
    """q, v of those that may go up, v of those that may go down, and half of k(x, x)."""
    return state[:size], state[size : 2 * size], state[2 * size : 3 * size], state[3 * size : 4 * size]


@njit(allocates=False)
def _begin(K, rows, beta, v, lower, upper, state, size):
    """The members' numbers before the first step; returns what is ``nothing`` beside a kernel value."""
    none, shortest = np.float32(0), BARRED
    q, up, down, half = _arrays(state, size)
    for t in range(size):
        q[t], up[t], down[t], half[t] = none, -BARRED, BARRED, none
    for t in range(rows.size):
        half[t] = np.float32(0.5) * K[rows[t], rows[t]]
        if half[t] > none:
            shortest = min(shortest, half[t])
        if beta[t] < upper[t]:
            up[t] = v[t]
        if beta[t] > lower[t]:
            down[t] = v[t]
    return np.float32(NOTHING) * shortest if shortest < BARRED else none


@njit(allocates=False)
def compact_steps(team, K, rows, block, filled, beta, v, lower, upper, tol, max_steps, states, places, lazy):
    """Steps until the largest violation is at most ``tol``; β is changed in place.

    Parameters
    ----------
    team : where an assistant may come (``scan_team.py``); empty for none
    K : float32 array, kernel values of all pairs of rows
    rows : which row of K each member is; unsigned
    block, filled : K of the members among themselves, of which the first filled[0, i] of row i are there. Where an
        assistant may come there is a second row for what it has filled
    v : float32, target − Kβ of the members, better near zero
    states, lazy : room for four arrays as long as v, float32 and padded, once for each thread; and for three of float64
    places : room for ``LONGEST + 2`` numbers
    """
    nothing = _begin(K, rows, beta, v, lower, upper, states[0], padded(rows.size))
    side = lead(team, nothing)
    return _steps(team, side, nothing, K, rows, block, filled, beta, lower, upper, tol, max_steps, states, places, lazy)


@njit(allocates=False)
def assist(team, K, rows, block, filled, beta, lower, upper, tol, max_steps, states, places, lazy, own):
    """Make the same steps on another thread, if it comes in time; ``own`` is room for its β."""
    for t in range(own.size):
        own[t] = beta[t]
    side, nothing = join(team)
    if side == ASSISTANT:
        copy_share(states[0], states[1], padded(rows.size))
        _steps(team, side, nothing, K, rows, block, filled, own, lower, upper, tol, max_steps, states, places, lazy)


@njit(allocates=False)
def _steps(team, side, nothing, K, rows, block, filled, beta, lower, upper, tol, max_steps, states, places, lazy):
    m, none = rows.size, np.float32(0)
    size, stride = padded(m), block.shape[1]
    tags = tags_for(size)
    flat = block.reshape(block.size)
    state, filled = states[max(side, 0)], filled[max(side, 0)]
    half = _arrays(state, size)[3]
    begin, end = share_of(side, size)
    part, since, inside = lazy[0], lazy[1], lazy[2]
    for t in range(m):
        part[t] = since[t] = inside[t] = 0.0
    if filled[0] < m:  # the first scans read this row
        fill(K, rows, block, filled, 0, begin, end)
    count, bend, scale, total = 0, 1.0, 1.0, 0.0  # of the direction d: its rows, dᵀKd, and as said above
    least, most = -np.inf, np.inf
    best, low, same = none, -BARRED, (none, none, none, none)
    _, low, v_i, q_i = step_of_all(team, side, flat, state, size, begin, end, tags, low, nothing, none, none, stride,
                                   NOBODY, 0, same)  # fmt: skip
    steps = 0
    while steps < max_steps:
        if is_over(team, side):
            if side == ASSISTANT:
                return steps
            copy_share(states[1], state, size)
            side = ALONE
            begin, end = share_of(side, size)
        if best < TINY:  # all below the last floor: look again from the new one
            best, low, v_i, q_i = step_of_all(team, side, flat, state, size, begin, end, tags, low, nothing,
                                              np.float32(1), none, stride, NOBODY, 0, same)  # fmt: skip
        # Step 1 – the pair
        i = tag_of(best, tags)
        if best < TINY or i >= m or not v_i - low > tol:  # i ≥ m: kernel values are not numbers
            break
        if filled[i] < m:
            fill(K, rows, block, filled, i, begin, end)
        inverse = np.float32(0.5 / bend if count else 0.0)
        gain, v_j, q_j, k_ij = best_partner(team, side, flat, stride, i, state, size, begin, end, v_i, q_i,
                                            inverse, tags)  # fmt: skip
        j = tag_of(gain, tags)
        if j >= m or not v_i > v_j:  # gains beyond float32: the place is of none, or of one that may not go down
            break
        if filled[j] < m:
            fill(K, rows, block, filled, j, begin, end)
        slope = np.float64(v_i) - np.float64(v_j)
        plain = 2.0 * (np.float64(half[i]) + np.float64(half[j]) - np.float64(k_ij))
        plain = max(plain, TAU)
        _catch_up(i, beta, part, since, total)
        _catch_up(j, beta, part, since, total)
        # Step 2 – with a share of the last direction, if that leads to no bound
        along = np.float64(q_i) - np.float64(q_j)
        share, curvature = -along / bend, plain - along * along / bend
        step, turned = slope / curvature, scale * share
        beta_i, beta_j = beta[i] + step * (1.0 + part[i] * turned), beta[j] - step * (1.0 - part[j] * turned)
        after = total + step * turned
        joint = 0 < count <= LONGEST and curvature > LEAST_CURVATURE * plain and turned != 0.0
        joint = joint and lower[i] < beta_i < upper[i] and lower[j] < beta_j < upper[j]
        if joint and not least < after < most:  # the interval may still be that of earlier parts of some rows
            least, most = _interval(i, j, places, count, beta, part, since, lower, upper)
            joint = least < after < most
        up_i, down_j = v_i, v_j
        if joint:
            for t in (i, j):
                if inside[t] == 0.0:
                    places[count], inside[t] = t, 1.0
                    count += 1
            bend, scale, total = curvature, turned, after
            beta[i], part[i], since[i] = beta_i, part[i] + 1.0 / scale, total
            beta[j], part[j], since[j] = beta_j, part[j] - 1.0 / scale, total
            if not SCALES[0] < abs(scale) < SCALES[1]:
                _bring_up_to_date(places, count, beta, part, since, total, scale)
                scale, total = 1.0, 0.0
                least, most = _interval(i, j, places, count, beta, part, since, lower, upper)
        # Step 3 – else the pair alone
        else:
            _bring_up_to_date(places, count, beta, part, since, total, 0.0)
            for a in range(count):
                inside[places[a]] = 0.0
            room_i, room_j = upper[i] - beta[i], beta[j] - lower[j]
            step = min(slope / plain, room_i, room_j)
            # Land exactly on a bound: a row a rounding error away from it would be picked for ever, and count as free
            at_i = room_i - step <= DUST * (abs(beta[i]) + abs(step))
            at_j = room_j - step <= DUST * (abs(beta[j]) + abs(step))
            beta[i] = upper[i] if at_i else beta[i] + step
            beta[j] = lower[j] if at_j else beta[j] - step
            up_i = -BARRED if at_i else v_i
            down_j = BARRED if at_j else v_j
            share, count, bend, scale, total, least, most = 0.0, 0, plain, 1.0, 0.0, -np.inf, np.inf
            since[i] = since[j] = 0.0
            if not (at_i or at_j):
                places[0], places[1], count = i, j, 2
                part[i], part[j] = 1.0, -1.0
                inside[i] = inside[j] = 1.0
        for t in (i, j):
            least, most = _narrow(t, beta, part, since, lower, upper, least, most)
        steps += 1
        both = up_i, v_i, v_j, down_j  # i may go down now, and j up
        best, low, v_i, q_i = step_of_all(team, side, flat, state, size, begin, end, tags, low, nothing,
                                          np.float32(share), np.float32(step), stride, i, j, both)  # fmt: skip
    _bring_up_to_date(places, count, beta, part, since, total, scale)
    return steps
