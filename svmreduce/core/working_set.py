"""The rows that are being optimised, with all kernel values among them.

The values lie in one buffer of at most the memory given, row after row with some slack, so that rows
can come and go without a second copy: the last rows take the places of those that leave, and the slack is
widened in place when it is used up.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from svmreduce.core.cache_lines import LINE, in_lines
from svmreduce.core.jit import njit
from svmreduce.core.pair_scans import TOGETHER
from svmreduce.core.registers import VECTOR_BYTES, turn_square
from svmreduce.core.threads import begin_turns, end_stage, end_turns, in_turns, next_turn, wait_for_stage

LEAST_ROWS = 256  # with fewer the solver may cycle
ROWS_IN_TURN = 64
COLUMNS_IN_TILE = 512  # a multiple of those of a vector
ROWS_TO_WIDEN = 8  # in a turn: the fewer, the less they wait for each other
PAGE, HUGE_PAGE = 4096, 1 << 21  # bytes


@njit()
def _touch(K, low, high, page, huge, before, turns):
    """Write to every page from ``low`` to ``high`` for the first time; huge pages begin ``before`` numbers before K.

    A thread has whole huge pages: two that ask for the same one both make it, and one of them in vain.
    """
    first, last = (low + before) // huge, (high + before - 1) // huge
    begin_turns(turns)
    while True:
        turn = next_turn(turns)
        if turn > last - first:
            end_turns(turns)
            return
        begin = (first + turn) * huge - before
        for place in range(max(low, begin), min(high, begin + huge), page):
            K[place] = 0


@njit()
def _move(K, stride, order, sources, targets, turns):
    """What was at ``order[p]`` goes to p, in place: ``sources``, which are last, to ``targets``; others stay."""
    begin_turns(turns)
    while True:
        p0 = next_turn(turns) * ROWS_IN_TURN
        if p0 >= order.size:
            end_turns(turns)
            return
        for p in range(p0, min(order.size, p0 + ROWS_IN_TURN)):
            row = K[order[p] * stride :]
            for m in range(sources.size):
                row[targets[m]] = row[sources[m]]
            if order[p] != p:
                target = K[p * stride :]
                for b in range(order.size):
                    target[b] = row[b]


@njit()
def _widen(K, n, old, new, turns):
    """The n values of n rows, which lie ``old`` apart, to where they lie ``new`` apart, in place: the last rows first.

    Rows can go as soon as those that lie where they go to are on their way.
    """
    begin_turns(turns)
    while True:
        turn = next_turn(turns)
        high = n - turn * ROWS_TO_WIDEN
        if high <= 0:
            end_turns(turns)
            return
        low = max(0, high - ROWS_TO_WIDEN)
        first, last = low * new // old, min(n - 1, ((high - 1) * new + n - 1) // old)  # where these go to
        for task in range((n - 1 - last) // ROWS_TO_WIDEN, min(turn, (n - 1 - first) // ROWS_TO_WIDEN + 1)):
            wait_for_stage(turns, task, 1)
        for a in range(high - 1, low - 1, -1):
            source, target = K[a * old : a * old + n], K[a * new : a * new + n]
            if a * new >= a * old + n:
                for b in range(n):
                    target[b] = source[b]
            else:
                for b in range(n - 1, -1, -1):
                    target[b] = source[b]
        end_stage(turns, turn)


@njit()
def _mirror(K, stride, first, n, turns):
    """Copy the rows from ``first`` on, up to the diagonal, into the columns: squares of whole vectors, in tiles that
    stay in the cache."""
    side = VECTOR_BYTES // K.itemsize
    begin_turns(turns)
    while True:
        a0 = next_turn(turns) * ROWS_IN_TURN
        if a0 >= n:
            end_turns(turns)
            return
        for b0 in range(max(first, a0), n, COLUMNS_IN_TILE):
            for a in range(a0, min(n, a0 + ROWS_IN_TURN), side):
                for b in range(b0, min(n, b0 + COLUMNS_IN_TILE), side):
                    if b >= a + side and b + side <= n:
                        turn_square(K, b * stride + a, a * stride + b, stride)
                    else:
                        _mirror_edge(K, stride, a, min(n, a + side), b, min(n, b + side))


@njit()
def _mirror_edge(K, stride, a0, a1, b0, b1):
    for a in range(a0, a1):
        for b in range(max(b0, a + 1), b1):
            K[a * stride + b] = K[b * stride + a]


class WorkingSet:
    """Rows under optimisation and their kernel block.

    Parameters
    ----------
    rows : KernelRows
    megabytes : float
        The most the block may take, but for ``LEAST_ROWS`` rows there is always room.
    """

    def __init__(self, rows, megabytes: float):
        self.rows, itemsize = rows, rows.dtype.itemsize
        self.line = LINE // itemsize
        room = max(0.0, megabytes) * 2**20 / itemsize
        self.capacity = int(min(rows.n, max(LEAST_ROWS, room / self._width(np.sqrt(room)))))
        self.widest = self._width(self.capacity)
        # pair steps read whole vectors: what lies behind a row must be finite, and behind the last one memory
        self.K = in_lines(self.capacity * self.widest + TOGETHER, rows.dtype, np.zeros)
        self.stride = self.touched = 0
        self.members = np.empty(0, np.int64)
        self.diagonal = np.empty(0, rows.dtype)

    def _width(self, n: float) -> int:
        """A row of at least n values: whole cache lines, and an odd number of them, or columns would share few places
        in the cache."""
        lines = math.ceil(n / self.line)
        return (lines + 1 - lines % 2) * self.line

    @property
    def size(self) -> int:
        return self.members.size

    def admit(self, new: np.ndarray, threads: int, values: np.ndarray | None = None) -> int:
        """Add rows; returns how many kernel values that took. The values of a single row may be given."""
        first, n = self.size, self.size + new.size
        if n > self.stride:
            stride = min(self.widest, self._width(n + n // 16))
            self._make_room(n * stride, threads)
            in_turns(partial(_widen, self.K, first, self.stride, stride), first * first, threads,
                     -(-first // ROWS_TO_WIDEN))  # fmt: skip
            self.stride = stride
        self._make_room(n * self.stride, threads)
        self.members = np.concatenate([self.members, new])
        if values is None:
            self.rows.block(new, self.rows, self.members, self.K[first * self.stride :], self.stride, threads, first)
        else:
            self.K[first * self.stride : first * self.stride + n] = values
        in_turns(partial(_mirror, self.K, self.stride, first, n), n * new.size, threads)
        # from the block itself: a diagonal rounded in another way would spoil the curvature k_ii + k_jj − 2k_ij
        self.diagonal = np.append(self.diagonal, self.K[np.arange(first, n) * (self.stride + 1)])
        return new.size * first + new.size * (new.size + 1) // 2

    def _make_room(self, end: int, threads: int):
        """Have memory for this many numbers: the system gives it when it is first written to, which takes longer than
        to compute a kernel value."""
        size, low = self.K.itemsize, self.touched
        huge, before = HUGE_PAGE // size, self.K.ctypes.data % HUGE_PAGE // size
        loop = partial(_touch, self.K, low, end, PAGE // size, huge, before)
        in_turns(loop, end - low, min(threads, (end + before) // huge - (low + before) // huge + 1))
        self.touched = max(low, end)

    def keep(self, which: np.ndarray, threads: int = 1) -> np.ndarray:
        """Keep only the members marked in this mask; the last ones take the places of those that leave.

        Returns the old places of the members in their new order.
        """
        order = np.arange(np.count_nonzero(which))
        targets, sources = np.flatnonzero(~which[: order.size]), order.size + np.flatnonzero(which[order.size :])
        order[targets] = sources
        in_turns(partial(_move, self.K, self.stride, order, sources, targets), order.size * sources.size, threads)
        self.members, self.diagonal = self.members[order], self.diagonal[order]
        return order
