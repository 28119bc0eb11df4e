"""The compiled parts of 1-slack cutting-plane training with a kernel basis.

K holds the kernel values of rows with the basis in panels: K[p, i, j] is that of row i with vector p·width + j. So the
part in use of some rows is a few long stretches of memory, whatever room is left for more vectors, whose columns are 0.
"""

from __future__ import annotations

import math

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.vector import VECTOR

WIDTH, LANES = 256, 32  # most columns of a panel; it has a multiple of so many
TOGETHER = 64  # rows that are still in the cache when it is known which of them are inside the margin
VALUES = 2048  # values that stay in the cache while all cuts go through them


def shape_of_panels(rows: int, columns: int) -> tuple[int, int, int]:
    panels = max(1, math.ceil(columns / WIDTH))
    return panels, rows, math.ceil(columns / (panels * LANES)) * LANES


def to_whole_panels(vector, width):
    """With zeros to the end of the last panel in use: reading all of a panel is faster than most of it."""
    return np.append(vector, np.zeros(-len(vector) % width))


@njit(fastmath=VECTOR)
def _dot(row, beta):
    total = 0.0
    for j in range(beta.size):
        total += np.float64(row[j]) * beta[j]
    return total


@njit(fastmath=VECTOR)
def _add_row(out, row, amount):
    for j in range(out.size):
        out[j] += amount * np.float64(row[j])


@njit()
def add_rows(K, rows, amounts, total):
    """total[j] += Σ_i amounts[i]·k(row rows[i], b_j)."""
    width = K.shape[2]
    for p in range(total.size // width):
        own = total[p * width : (p + 1) * width]
        for i in range(rows.size):
            _add_row(own, K[p, rows[i]], amounts[i])


@njit()
def cut_part(K, begin, beta, offset, pull, cut, total):
    """Which rows from ``begin`` on are inside the margin, and their sum over the basis, in one sweep over their values.

    ``pull`` is y·weight. Sets cut[i] to 1 or 0, adds Σ cut·pull·k(x, b_j) to ``total``, and returns the weight, the
    pull and the hinge loss of the rows cut. ``beta`` and ``total`` end with a panel.
    """
    weight = pulled = loss = 0.0
    width = K.shape[2]
    f, inside, amounts = np.empty(TOGETHER), np.empty(TOGETHER, np.int64), np.empty(TOGETHER)
    for low in range(0, pull.size, TOGETHER):
        high = min(pull.size, low + TOGETHER)
        f[:] = offset
        for p in range(beta.size // width):
            own = beta[p * width : (p + 1) * width]
            for i in range(low, high):
                f[i - low] += _dot(K[p, begin + i], own)
        found = 0
        for i in range(low, high):
            amount = abs(pull[i])
            slack = amount - pull[i] * f[i - low]
            cut[i] = slack > 0.0
            if slack > 0.0:
                inside[found], amounts[found] = begin + i, pull[i]
                found += 1
                weight += amount
                pulled += pull[i]
                loss += slack
        add_rows(K, inside[:found], amounts[:found], total)
    return weight, pulled, loss


@njit(fastmath=VECTOR)
def _masked_sum(cut, values):
    total = 0.0
    for i in range(values.size):
        total += np.float64(cut[i]) * values[i]
    return total


@njit()
def masked_sums(cuts, which, values):
    """Σ_i cuts[c, i]·values[i] for each of these c."""
    sums = np.zeros(which.size)
    for low in range(0, values.size, VALUES):
        own = values[low : low + VALUES]
        for c in range(which.size):
            sums[c] += _masked_sum(cuts[which[c], low : low + own.size], own)
    return sums
