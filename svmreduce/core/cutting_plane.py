"""The compiled parts of 1-slack cutting-plane training with a kernel basis.

K holds the kernel values of some rows (first index) with the basis; it may have unused columns at the end.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.vector import VECTOR


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
def cut_part(K, beta, offset, pull, cut, total):
    """Which rows are inside the margin, and their sum over the basis, in one sweep over the kernel values.

    ``pull`` is y·weight. Sets cut[i] to 1 or 0, adds Σ cut·pull·k(x, b_j) to ``total``, and returns the weight, the
    pull and the hinge loss of the rows cut.
    """
    weight = pulled = loss = 0.0
    for i in range(pull.size):
        row = K[i]
        amount = abs(pull[i])
        slack = amount - pull[i] * (_dot(row, beta) + offset)
        cut[i] = slack > 0.0
        if slack > 0.0:
            _add_row(total, row, pull[i])
            weight += amount
            pulled += pull[i]
            loss += slack
    return weight, pulled, loss


@njit(fastmath=VECTOR)
def masked_sum(cut, values):
    """Σ_i cut[i]·values[i]."""
    total = 0.0
    for i in range(values.size):
        total += np.float64(cut[i]) * values[i]
    return total
