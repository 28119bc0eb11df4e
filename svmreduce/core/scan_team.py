"""The passes of a pair step by one thread, or by two of which each has half of the members.

Both make all steps: each does its half of a pass, then they tell each other what they found, and go on from the same
numbers. So they are in lock step without orders, and a message takes a fifth of a microsecond between cores that share
a cache. Nobody sleeps in between. What they find is the same as one thread finds, to the bit: extremes of halves.

The thread that begins (``LEADER``) waits a little for the other one to come. One whose message then takes longer than
``PATIENCE`` is dismissed when it has come, since its core has other work to do; the leader goes on alone.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.atomics import add, look, put
from svmreduce.core.cache_lines import in_lines
from svmreduce.core.jit import njit
from svmreduce.core.pair_scans import TOGETHER, partner, step_and_scan
from svmreduce.core.threads import looks_within
from svmreduce.core.vector import bits_as_float32, float32_as_bits, tag_of

LEAST_SHARED = 2560  # members; with fewer, messages cost more than half of the passes; halves must not be empty
PATIENCE = 1e-4  # seconds
ALONE, LEADER, ASSISTANT = -1, 0, 1
NOBODY = -1
UP, DOWN, HALF = 1, 2, 3  # after q: the arrays that a pass goes over, see ``pair_scans.py``
_LINE = 16  # numbers in two cache lines, which come together
# Places in a team: who is there, the leader's word for the other, and its patience in looks; what each keeps for
# itself: how many messages it sent, whether it is to say that the team ends, and whether that was said; and two
# messages of each, since one may send its next before the other has read its last.
_PRESENT, _WORD, _PATIENCE, _SENT, _ENDS, _ENDED, _OWN, _MESSAGES = 0, 1, 2, 0, 1, 2, _LINE, 3 * _LINE
_CLOSED = 2  # added to those present: nobody may come any more


def new_team() -> np.ndarray:
    team = in_lines(_MESSAGES + 4 * _LINE, np.int64, np.zeros)
    team[_PATIENCE] = looks_within(PATIENCE)
    return team


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
def lead(team, word):
    """Whether there is an assistant: it gets this float32. Nobody can come later."""
    if team.size == 0:
        return ALONE
    team[_WORD], looks = _two(word, word), 0
    while look(team, _PRESENT) == 0 and looks < team[_PATIENCE]:
        looks += 1
    return LEADER if add(team, _PRESENT, _CLOSED) == 1 else ALONE


@njit(allocates=False)
def join(team):
    """Whether the leader takes an assistant, and its word."""
    before = add(team, _PRESENT, 1)
    while look(team, _PRESENT) < _CLOSED:
        pass
    return ASSISTANT if before == 0 else ALONE, _read(team, _WORD)[0]


@njit(allocates=False)
def _tell(team, side, one, other):
    """Send the other thread these two numbers, and get its own."""
    own = _OWN + _LINE * side
    number = team[own + _SENT] + 1
    team[own + _SENT] = number
    mine = _MESSAGES + _LINE * (2 * side + (number & 1))
    its = _MESSAGES + _LINE * (2 * (1 - side) + (number & 1))
    team[mine + 1], team[mine + 2], team[mine + 3] = one, other, team[own + _ENDS]
    put(team, mine, number)
    looks = 0
    while look(team, its) < number:
        looks += 1
    if team[mine + 3] + team[its + 3] > 0:
        team[own + _ENDED] = 1
    if looks > team[_PATIENCE] and side == LEADER:
        team[own + _ENDS] = 1
    return its


@njit(allocates=False)
def _others(side, own, its):
    """Whether the other thread's number counts: the assistant's if it is larger, else the leader's, even where one is
    not a number. Both choose the same, or one would wait for ever."""
    return its > own if side == LEADER else not own > its


@njit(allocates=False)
def is_over(team, side):
    """Whether the team has ended; both know it after the same step."""
    return side != ALONE and team[_OWN + _LINE * side + _ENDED] != 0


@njit(allocates=False)
def copy_share(source, target, size):
    """Copy the assistant's share of q, up and down, and the whole of what does not change."""
    begin, _ = share_of(ASSISTANT, size)
    for array in range(HALF + 1):
        for t in range(np.uint64(array * size + (0 if array == HALF else begin)), np.uint64((array + 1) * size)):
            target[t] = source[t]


@njit(allocates=False)
def share_of(side, size):
    """The members that this thread has, from the first to behind the last."""
    middle = padded(size // 2)
    return middle if side == ASSISTANT else 0, middle if side == LEADER else size


@njit(allocates=False)
def fill(K, rows, block, filled, place, begin, end):
    """What the block holds of one member with those from ``begin`` to ``end``: what is not there yet is made from K."""
    begin, r = max(begin, filled[place]), rows[place]
    filled[place] = rows.size
    place = np.uint64(place)
    for t in range(np.uint64(begin), np.uint64(min(end, rows.size))):
        block[place, t] = K[r, rows[t]]
    for t in range(np.uint64(max(begin, rows.size)), np.uint64(end)):
        block[place, t] = np.float32(0)


@njit(allocates=False)
def best_partner(team, side, flat, stride, i, state, size, begin, end, v_i, q_i, inverse, tags):
    """``pair_scans.partner`` of all members, its v, its q, and its kernel value with i."""
    best = partner(flat, i * stride, state, size, begin, end, v_i, q_i, state[HALF * size + i], inverse, tags)
    j = min(tag_of(best, tags), size - 1)
    v, q, k = state[DOWN * size + j], state[j], flat[i * stride + j]
    if side == ALONE:
        return best, v, q, k
    its = _tell(team, side, _two(best, v), _two(q, k))
    its_best, its_v = _read(team, its + 1)
    if _others(side, best, its_best):
        q, k = _read(team, its + 2)
        return its_best, its_v, q, k
    return best, v, q, k


@njit(allocates=False)
def step_of_all(team, side, flat, state, size, begin, end, tags, floor, nothing, share, step, stride, i, j, both):
    """``pair_scans.step_and_scan`` of all members, with the v (that may go up) and the q of the one that wants up most.

    Before it v of i is set to ``both[0]`` for going up and ``both[1]`` for going down, and v of j to the other two.
    With ``NOBODY`` in the place of i there is no step, and nothing is set.
    """
    if begin <= i < end:
        state[UP * size + i], state[DOWN * size + i] = both[0], both[1]
    if begin <= j < end and i >= 0:
        state[UP * size + j], state[DOWN * size + j] = both[2], both[3]
    row_i, row_j = max(i, 0) * stride, j * stride
    best, low = step_and_scan(flat, row_i, row_j, share, step, state, size, begin, end, floor, nothing, tags)
    most = min(tag_of(best, tags), size - 1)
    v, q = state[UP * size + most], state[most]
    if side == ALONE:
        return best, low, v, q
    its = _tell(team, side, _two(best, v), _two(q, low))
    its_best, its_v = _read(team, its + 1)
    its_q, its_low = _read(team, its + 2)
    if _others(side, best, its_best):
        best, v, q = its_best, its_v, its_q
    return best, its_low if _others(side, -low, -its_low) else low, v, q
