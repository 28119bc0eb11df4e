"""The rows that are being optimised, with all kernel values among them.

The values lie in one buffer of at most the memory given, row after row with some slack, so that rows
can come and go without a second copy: leaving rows are squeezed out in place, and the slack is widened
in place when it is used up.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit

LEAST_ROWS = 256  # with fewer the solver may cycle


@njit()
def _squeeze(K, stride, keep):
    """Keep these rows and columns (ascending), in place: every value moves towards the front."""
    for a in range(keep.size):
        source = K[keep[a] * stride :]
        for b in range(keep.size):
            K[a * stride + b] = source[keep[b]]


@njit()
def _widen(K, n, old, new):
    """The same n x n values with longer rows, in place: last row first, each towards the back."""
    for a in range(n - 1, 0, -1):
        for b in range(n - 1, -1, -1):
            K[a * new + b] = K[a * old + b]


@njit()
def _mirror(K, stride, first, n):
    """Copy the rows from ``first`` on into the columns from ``first`` on, in square tiles."""
    tile = 32
    for a0 in range(0, first, tile):
        for b0 in range(first, n, tile):
            for a in range(a0, min(first, a0 + tile)):
                for b in range(b0, min(n, b0 + tile)):
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
        self.K = np.empty(self.capacity * self.capacity, rows.dtype)
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
            stride = min(self.capacity, n + n // 4)
            _widen(self.K, first, self.stride, stride)
            self.stride = stride
        self.members = np.concatenate([self.members, new])
        if values is None:
            self.rows.block(new, self.rows, self.members, self.K[first * self.stride :], self.stride, threads)
        else:
            self.K[first * self.stride : first * self.stride + n] = values
        _mirror(self.K, self.stride, first, n)
        # from the block itself: a diagonal rounded in another way would spoil the curvature k_ii + k_jj − 2k_ij
        self.diagonal = np.append(self.diagonal, self.K[np.arange(first, n) * (self.stride + 1)])
        return new.size * n

    def keep(self, which: np.ndarray):
        """Keep only the members marked in this mask."""
        kept = np.flatnonzero(which)
        if kept.size < self.size:
            _squeeze(self.K, self.stride, kept)
            self.members = self.members[kept]
            self.diagonal = self.diagonal[kept]
