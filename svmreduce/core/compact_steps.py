"""Pair steps on the few rows that still move, in float32, with kernel rows copied together when they are first used.

For grids of many small problems. The steps of ``pair_steps.py`` with three differences. A scan knows where its largest
value was (``tagged``), so that no second search is needed. A step follows the pair plus the share of the last direction
that makes both conjugate, as in conjugate gradients, as long as that leads to no bound: about half as many steps at
large C (Torres-Barrán, Alaíz and Dorronsoro, Faster SVM training via conjugate SMO, Pattern Recognition 2021). And v is
float32: the caller checks in double.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.vector import VECTOR, fmax, fmin, tag_of, tagged

BARRED = np.float32(1e30)
TAU = np.float32(1e-12)  # curvature below this is taken as this: kernels need not be positive definite
DUST = 1e-12  # of a box: what rounding leaves
LEAST_CURVATURE = 0.05  # of the pair's own: where the last direction leaves less, rounding would decide
LONGEST = 30  # rows in a direction; beyond, a new one begins
TINY = np.float32(1e-30)  # below it a tagged value is nothing but its tag
NOTHING = np.float32(1e-10)  # of K's least diagonal: less in Kd is zero; products of denormal numbers would take ages


@njit(fastmath=VECTOR, allocates=False)
def _step_and_scan(block, i, j, share, q, nothing, step, v, no_up, no_low, floor):
    """q = row i − row j + share·q and v -= step·q; then as ``_scan``."""
    zero = np.float32(0)
    best, high, low = zero, -BARRED, BARRED
    i, j = np.uint64(i), np.uint64(j)  # numba wraps signed indices around; unsigned ones it leaves alone
    for t in range(v.size):
        x = block[i, t] - block[j, t] + share * q[t]
        q[t] = x if abs(x) > nothing else zero
    for t in range(v.size):  # a loop of its own: the compiler vectorises what writes to one array
        u = v[t] - step * q[t]
        v[t] = u
        up = u - no_up[t]
        high = fmax(up, high)
        low = fmin(u + no_low[t], low)
        best = fmax(tagged(fmax(up - floor, zero), t), best)
    return best, high, low


@njit(fastmath=VECTOR, allocates=False)
def _scan(v, no_up, no_low, floor):
    """The tagged row that wants up most (above ``floor``), and both extremes of v."""
    zero = np.float32(0)
    best, high, low = zero, -BARRED, BARRED
    for t in range(v.size):
        u = v[t]
        up = u - no_up[t]
        high = fmax(up, high)
        low = fmin(u + no_low[t], low)
        best = fmax(tagged(fmax(up - floor, zero), t), best)
    return best, high, low


@njit(fastmath=VECTOR, allocates=False)
def _partner(block, i, diagonal, k_ii, q, q_i, inverse, v, no_low, v_i):
    """The row that may go down and gains most with row i, to second order, given the last direction."""
    zero, two, least = np.float32(0), np.float32(2), np.float32(LEAST_CURVATURE)
    best = zero
    i = np.uint64(i)
    for t in range(v.size):
        drop = fmax(v_i - v[t] - no_low[t], zero)
        along = q_i - q[t]
        curvature = k_ii + diagonal[t] - two * block[i, t]
        gain = drop * drop / fmax(fmax(curvature - along * along * inverse, least * curvature), TAU)
        best = fmax(tagged(gain, t), best)
    return tag_of(best)


@njit(fastmath=VECTOR, allocates=False)
def _fill(K, rows, block, filled, place):
    """Kernel values of one member with all members: those that are not there yet are copied from K."""
    place, r = np.uint64(place), rows[place]
    for t in range(np.uint64(filled[place]), np.uint64(rows.size)):
        block[place, t] = K[r, rows[t]]
    filled[place] = rows.size


@njit()
def squeeze(block, filled, keep):
    """Keep these members (a mask), in place: their rows and columns move towards the front."""
    kept = 0
    for a in range(keep.size):
        if keep[a]:
            count = 0
            for b in range(filled[a]):
                if keep[b]:
                    block[kept, count] = block[a, b]
                    count += 1
            filled[kept] = count
            kept += 1


@njit(allocates=False)
def _fits(i, j, step, share, places, d, count, beta, lower, upper):
    """Whether β + step·(e_i − e_j + share·d) stays off all bounds."""
    rest_i, rest_j = 0.0, 0.0
    for a in range(count):
        t = places[a]
        if t == i:
            rest_i = share * d[a]
        elif t == j:
            rest_j = share * d[a]
        elif not lower[t] < beta[t] + step * share * d[a] < upper[t]:
            return False
    return (lower[i] < beta[i] + step * (1.0 + rest_i) < upper[i]) and (
        lower[j] < beta[j] + step * (rest_j - 1.0) < upper[j]
    )


@njit(allocates=False)
def _turn(i, j, share, places, d, count):
    """d = e_i − e_j + share·d on the places it has; returns how many these are now."""
    new_i, new_j = True, True
    for a in range(count):
        d[a] *= share
        if places[a] == i:
            d[a] += 1.0
            new_i = False
        elif places[a] == j:
            d[a] -= 1.0
            new_j = False
    if new_i:
        places[count], d[count] = i, 1.0
        count += 1
    if new_j:
        places[count], d[count] = j, -1.0
        count += 1
    return count


@njit(allocates=False)
def compact_steps(K, rows, block, filled, diagonal, beta, v, lower, upper, tol, max_steps, room, places, d):
    """Steps until the largest violation is at most ``tol``; β and v are changed in place.

    Parameters
    ----------
    K : float32 array, kernel values of all pairs of rows
    rows : which row of K each member is; unsigned
    block, filled : the members' values among themselves, of which the first filled[i] of row i are there
    v : float32, target − Kβ of the members, better near zero
    room : float32 array of three rows, at least as long as v; places, d : room for ``LONGEST + 2`` numbers
    """
    m = rows.size
    none = np.float32(0)
    q, no_up, no_low = room[0, :m], room[1, :m], room[2, :m]  # q = Kd
    for t in range(m):
        q[t] = none
        no_up[t] = none if beta[t] < upper[t] else BARRED
        no_low[t] = none if beta[t] > lower[t] else BARRED
    nothing = BARRED
    for t in range(m):
        if diagonal[t] > none:
            nothing = min(nothing, NOTHING * diagonal[t])
    nothing = nothing if nothing < BARRED else none
    count, bend = 0, 1.0  # bend = dᵀKd
    best, high, low = _scan(v, no_up, no_low, -BARRED)
    best = none
    steps = 0
    while high - low > tol and steps < max_steps:
        if best < TINY:  # all below the last floor: look again from the new one
            best, high, low = _scan(v, no_up, no_low, low)
        # Step 1 – the pair
        i = tag_of(best)
        if filled[i] < m:
            _fill(K, rows, block, filled, i)
        inverse = np.float32(1.0 / bend if count else 0.0)
        j = _partner(block, i, diagonal, diagonal[i], q, q[i], inverse, v, no_low, v[i])
        if filled[j] < m:
            _fill(K, rows, block, filled, j)
        slope = np.float64(v[i]) - np.float64(v[j])
        plain = max(np.float64(diagonal[i]) + np.float64(diagonal[j]) - 2.0 * np.float64(block[i, j]), np.float64(TAU))
        # Step 2 – with a share of the last direction, if that leads to no bound
        along = np.float64(q[i]) - np.float64(q[j])
        share, curvature = -along / bend, plain - along * along / bend
        joint = 0 < count <= LONGEST and curvature > LEAST_CURVATURE * plain
        if joint and _fits(i, j, slope / curvature, share, places, d, count, beta, lower, upper):
            step, bend = slope / curvature, curvature
            count = _turn(i, j, share, places, d, count)
            for a in range(count):
                beta[places[a]] += step * d[a]
            no_up[i] = no_low[i] = no_up[j] = no_low[j] = none
        # Step 3 – else the pair alone
        else:
            room_i, room_j = upper[i] - beta[i], beta[j] - lower[j]
            step = min(slope / plain, room_i, room_j)
            # Land exactly on a bound: a row a rounding error away from it would be picked for ever, and count as free
            at_i = room_i - step <= DUST * (upper[i] - lower[i])
            at_j = room_j - step <= DUST * (upper[j] - lower[j])
            beta[i] = upper[i] if at_i else beta[i] + step
            beta[j] = lower[j] if at_j else beta[j] - step
            no_up[i] = BARRED if at_i else none
            no_low[j] = BARRED if at_j else none
            no_low[i] = no_up[j] = none
            share, bend = 0.0, plain
            count = 0 if at_i or at_j else _turn(i, j, 0.0, places, d, 0)
        steps += 1
        best, high, low = _step_and_scan(block, i, j, np.float32(share), q, nothing, np.float32(step), v, no_up,
                                         no_low, low)  # fmt: skip
    return steps
