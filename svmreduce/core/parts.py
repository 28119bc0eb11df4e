"""The start of a search from solutions of parts of its rows.

Where a kernel is *local*, rows that are far from each other have next to nothing to do with each other, and most rows
are free support vectors. Parts of near rows, each solved by itself, are then together near the solution of all rows;
and a part costs little, since its kernel values stay in the cache (divide and conquer: Hsieh, Si and Dhillon 2014).
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from svmreduce.core.threads import in_threads
from svmreduce.core.tiles import RBF
from svmreduce.core.watch import silent, time_is_up

LEAST_ROWS = 16_384  # with fewer, parts are of no use
SUPPORT, FREE = 0.6, 0.9  # what shows a local kernel: the share of support vectors, and of these the share of free ones
AT_ONCE = 4  # that share the cache; the same for any number of threads, and so is the solution
TOL = 10  # times the tolerance is good enough for parts


def suit(kernel) -> bool:
    """Whether rows that are near each other in the input space are so for the kernel, and others soon are not."""
    return not kernel.is_mixture and kernel.code == RBF and kernel.norm is None


def is_local(beta, lower, upper) -> bool:
    """Whether a solution of some random rows looks like that of a local kernel."""
    support = np.count_nonzero(beta)
    free = np.count_nonzero((beta != 0) & (lower < beta) & (beta < upper))
    return support >= SUPPORT * beta.size and free >= FREE * support


def joint_solution(parts, count, solve_part, threads, facts) -> tuple[np.ndarray, int, int]:
    """β of all ``count`` rows, and steps and kernel values in all; ``solve_part(part)`` returns those of a part.

    Whoever watches hears when a part is done: how many steps that makes, for how many rows, and the other facts.
    """
    joint, sums, lock = np.zeros(count), np.zeros(3, np.int64), Lock()

    def solve(number):
        part = parts[number]
        with silent():
            joint[part], *counts = solve_part(part)
        with lock:
            sums[:] += part.size, *counts
            time_is_up(**facts, rows=int(sums[0]), steps=int(sums[1]))

    in_threads(solve, len(parts), min(threads, AT_ONCE))
    return joint, int(sums[1]), int(sums[2])
