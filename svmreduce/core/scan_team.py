"""The passes of a pair step by one thread, or by two of which each has half of the members.

The thread that makes the steps leads: it gives an order, does its half, and waits for the answer. The assistant, on
another core, does one order after the other. Neither sleeps in between: an order and its answer take a tenth of a
microsecond between cores that share a cache, and a pass over some thousand members takes longer. What they find is
the same as one thread finds, to the bit: extremes of halves.

An assistant may come late or never. One that keeps the leader waiting for ``PATIENCE`` looks is dismissed, since its
core has other work to do.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.atomics import add, look, put
from svmreduce.core.jit import njit
from svmreduce.core.pair_scans import TOGETHER, partner, step_and_scan
from svmreduce.core.vector import bits_as_float32, float32_as_bits, tag_of

LEAST_SHARED = 3072  # members; with fewer, orders cost more than half of the passes
PATIENCE = 50_000  # looks, some 50 microseconds
# Places in a team: counters of orders, of answers, and of who came; what an order and an answer say. Each is in a cache
# line of its own: one that is written while somebody looks at it goes back and forth.
ORDERS, ANSWERS, PRESENT, SAID, FOUND = 0, 16, 32, 48, 64
LEAVE, FILL, PARTNER, STEP = range(4)  # orders
NOBODY = -1
_LINE = 8  # numbers in a cache line


def new_team() -> np.ndarray:
    """Room for orders and answers, at the begin of a cache line."""
    room = np.zeros(FOUND + 2 * _LINE, np.int64)
    return room[-room.ctypes.data // room.itemsize % _LINE :]


@njit()
def padded(count):
    """The least multiple of ``TOGETHER`` that is at least ``count``."""
    return -(-count // TOGETHER) * TOGETHER


@njit(allocates=False)
def tags_for(size):
    tags = TOGETHER
    while tags < size:
        tags *= 2
    return tags


@njit(allocates=False)
def _two(low, high):
    """Two float32 in one number."""
    return (np.int64(float32_as_bits(low)) & 0xFFFFFFFF) | (np.int64(float32_as_bits(high)) << 32)


@njit(allocates=False)
def _read(team, place):
    return bits_as_float32(np.int32(team[place])), bits_as_float32(np.int32(team[place] >> 32))


@njit(allocates=False)
def _order(team, kind, i, j):
    """Two members, or a member and a place, from -1 on; float32 numbers were written before."""
    team[SAID] = kind | (i + 1) << 8 | (j + 1) << 32
    put(team, ORDERS, team[ORDERS] + 1)


@njit()
def dismiss(team):
    """Send the assistant away, now or when it comes."""
    add(team, PRESENT, 2)
    _order(team, LEAVE, 0, 0)


@njit(allocates=False)
def _wait(team):
    """Until the last order is answered."""
    looks = 0
    while look(team, ANSWERS) < team[ORDERS]:
        looks += 1
    if looks > PATIENCE:
        dismiss(team)


@njit(allocates=False)
def _is_assisted(team):
    return team.size > 0 and look(team, PRESENT) == 1


@njit(allocates=False)
def _fill_part(K, rows, block, place, begin, end):
    place, r = np.uint64(place), rows[place]
    for t in range(np.uint64(begin), np.uint64(min(end, rows.size))):
        block[place, t] = K[r, rows[t]]
    for t in range(np.uint64(max(begin, rows.size)), np.uint64(end)):
        block[place, t] = np.float32(0)


@njit(allocates=False)
def fill(team, K, rows, block, filled, place):
    """What the block holds of one member with all members: what is not there yet is made from K."""
    begin, end = filled[place], padded(rows.size)
    assisted = _is_assisted(team)
    if assisted:
        _order(team, FILL, place, begin)
    _fill_part(K, rows, block, place, begin, padded(end // 2) if assisted else end)
    if assisted:
        _wait(team)
    filled[place] = rows.size


@njit(allocates=False)
def _partner(flat, stride, i, state, size, begin, end, v_i, q_i, half_i, inverse, tags):
    """The tagged partner, its v and its q."""
    gain = partner(flat, i * stride, state, size, begin, end, v_i, q_i, half_i, inverse, tags)
    j = min(tag_of(gain, tags), size - 1)
    return gain, state[2 * size + j], state[j]


@njit(allocates=False)
def _step(flat, state, size, begin, end, tags, floor, nothing, share, step, stride, i, j, both):
    """A step from ``begin`` to ``end``: the tagged member that wants up most, the smallest v, the former's v and q."""
    if begin <= i < end:
        state[size + i], state[2 * size + i] = both[0], both[1]
    if begin <= j < end and i >= 0:
        state[size + j], state[2 * size + j] = both[2], both[3]
    row_i, row_j = max(i, 0) * stride, j * stride
    best, low = step_and_scan(flat, row_i, row_j, share, step, state, size, begin, end, floor, nothing, tags)
    i = min(tag_of(best, tags), size - 1)
    return best, low, state[size + i], state[i]


@njit(allocates=False)
def best_partner(team, flat, stride, i, state, size, v_i, q_i, half_i, inverse, tags):
    """``pair_scans.partner`` of all members, its v and its q."""
    if not _is_assisted(team):
        return _partner(flat, stride, i, state, size, 0, size, v_i, q_i, half_i, inverse, tags)
    team[SAID + 1], team[SAID + 2] = _two(v_i, q_i), _two(half_i, inverse)
    _order(team, PARTNER, i, 0)
    gain, v, q = _partner(flat, stride, i, state, size, 0, padded(size // 2), v_i, q_i, half_i, inverse, tags)
    _wait(team)
    other, its_v = _read(team, FOUND)
    return (other, its_v, _read(team, FOUND + 1)[0]) if other > gain else (gain, v, q)


@njit(allocates=False)
def step_of_all(team, flat, state, size, tags, floor, nothing, share, step, stride, i, j, both):
    """``pair_scans.step_and_scan`` of all members, with the v (that may go up) and the q of the one that wants up most.

    Before it v of i is set to ``both[0]`` for going up and ``both[1]`` for going down, and v of j to the other two.
    With ``NOBODY`` in the place of i there is no step, and nothing is set.
    """
    if not _is_assisted(team):
        return _step(flat, state, size, 0, size, tags, floor, nothing, share, step, stride, i, j, both)
    team[SAID + 1], team[SAID + 2] = _two(floor, nothing), _two(share, step)
    team[SAID + 3], team[SAID + 4] = _two(both[0], both[1]), _two(both[2], both[3])
    _order(team, STEP, i, j)
    best, low, v, q = _step(
        flat, state, size, 0, padded(size // 2), tags, floor, nothing, share, step, stride, i, j, both
    )
    _wait(team)
    other, its_v = _read(team, FOUND)
    its_q, its_low = _read(team, FOUND + 1)
    if other > best:
        best, v, q = other, its_v, its_q
    return best, min(low, its_low), v, q


@njit()
def assist(team, K, rows, block, state):
    """Do the upper half of what is ordered, until sent away."""
    size, flat, stride = padded(rows.size), block.reshape(block.size), block.shape[1]
    middle, tags, done = padded(size // 2), tags_for(size), 0
    add(team, PRESENT, 1)
    while True:
        while look(team, ORDERS) == done:
            pass
        done += 1
        said = team[SAID]
        kind, i, j = said & 0xFF, ((said >> 8) & 0xFFFFFF) - 1, (said >> 32) - 1
        a, b = _read(team, SAID + 1)
        c, d = _read(team, SAID + 2)
        if kind == LEAVE:
            return
        if kind == FILL:
            _fill_part(K, rows, block, i, max(j, middle), size)
        elif kind == PARTNER:
            best, v, q = _partner(flat, stride, i, state, size, middle, size, a, b, c, d, tags)
            team[FOUND], team[FOUND + 1] = _two(best, v), _two(q, q)
        else:
            up_i, down_i = _read(team, SAID + 3)
            up_j, down_j = _read(team, SAID + 4)
            both = up_i, down_i, up_j, down_j
            best, low, v, q = _step(flat, state, size, middle, size, tags, a, b, c, d, stride, i, j, both)
            team[FOUND], team[FOUND + 1] = _two(best, v), _two(q, low)
        put(team, ANSWERS, done)
