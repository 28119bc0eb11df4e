"""The rows that are being optimised, with all kernel values among them.

The values lie in one buffer of at most the memory given, row after row with some slack, so that rows
can come and go without a second copy: the last rows take the places of those that leave, and the slack is
widened in place when it is used up.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import in_threads, njit
from svmreduce.core.pair_scans import TOGETHER

LEAST_ROWS = 256  # with fewer the solver may cycle


@njit()
def _move(K, stride, order, sources, targets):
    """What was at ``order[p]`` goes to p, in place: ``sources``, which are last, to ``targets``; others stay."""
    for p in range(order.size):
        row = K[order[p] * stride :]
        for m in range(sources.size):
            row[targets[m]] = row[sources[m]]
        if order[p] != p:
            target = K[p * stride :]
            for b in range(order.size):
                target[b] = row[b]


@njit()
def _widen(K, n, old, new):
    """The same n x n values with longer rows, in place: last row first, each towards the back."""
    for a in range(n - 1, 0, -1):
        for b in range(n - 1, -1, -1):
            K[a * new + b] = K[a * old + b]


@njit()
def _mirror(K, stride, first, n):
    """Copy the rows from ``first`` on, up to the diagonal, into the columns, in tiles: few rows are written at a time,
    each from begin to end, which takes a third of the time that another order takes."""
    tall, wide = 64, 512
    for a0 in range(0, n, tall):
        for b0 in range(max(first, a0), n, wide):
            for a in range(a0, min(n, a0 + tall)):
                for b in range(max(b0, a + 1), min(n, b0 + wide)):
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
        self.rows = rows
        room = np.sqrt(max(0.0, megabytes) * 2**20 / rows.dtype.itemsize)
        self.capacity = int(min(rows.n, max(LEAST_ROWS, room)))
        # pair steps read whole vectors: what lies behind a row must be finite, and behind the last one memory
        self.K = np.zeros(self.capacity * self.capacity + TOGETHER, rows.dtype)
        self.stride = 0
        self.members = np.empty(0, np.int64)
        self.diagonal = np.empty(0, rows.dtype)

    @property
    def size(self) -> int:
        return self.members.size

    def admit(self, new: np.ndarray, threads: int, values: np.ndarray | None = None) -> int:
        """Add rows; returns how many kernel values that took. The values of a single row may be given."""
        first, n = self.size, self.size + new.size
        if n > self.stride:
            stride = min(self.capacity, n + n // 16)
            _widen(self.K, first, self.stride, stride)
            self.stride = stride
        self.members = np.concatenate([self.members, new])
        if values is None:
            self.rows.block(new, self.rows, self.members, self.K[first * self.stride :], self.stride, threads, first)
        else:
            self.K[first * self.stride : first * self.stride + n] = values
        pieces = 1 if threads == 1 else 4 * threads
        edges = [first + new.size * p // pieces for p in range(pieces + 1)]
        in_threads(lambda p: _mirror(self.K, self.stride, edges[p], edges[p + 1]), pieces, threads)
        # from the block itself: a diagonal rounded in another way would spoil the curvature k_ii + k_jj − 2k_ij
        self.diagonal = np.append(self.diagonal, self.K[np.arange(first, n) * (self.stride + 1)])
        return new.size * first + new.size * (new.size + 1) // 2

    def keep(self, which: np.ndarray) -> np.ndarray:
        """Keep only the members marked in this mask; the last ones take the places of those that leave.

        Returns the old places of the members in their new order.
        """
        order = np.arange(np.count_nonzero(which))
        targets, sources = np.flatnonzero(~which[: order.size]), order.size + np.flatnonzero(which[order.size :])
        order[targets] = sources
        _move(self.K, self.stride, order, sources, targets)
        self.members, self.diagonal = self.members[order], self.diagonal[order]
        return order
