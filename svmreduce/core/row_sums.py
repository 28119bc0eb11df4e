"""Weighted sums of rows of kernel values, in double."""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.vector import VECTOR

PART = 4096  # columns at a time


@njit(fastmath=VECTOR)
def _add_eight(K, s, e, rows, w, f):
    a, b, c, d = rows[0], rows[1], rows[2], rows[3]
    i, j, k, m = rows[4], rows[5], rows[6], rows[7]
    for t in range(np.uint64(s), np.uint64(e)):
        first = w[0] * np.float64(K[a, t]) + w[1] * np.float64(K[b, t])
        second = w[2] * np.float64(K[c, t]) + w[3] * np.float64(K[d, t])
        third = w[4] * np.float64(K[i, t]) + w[5] * np.float64(K[j, t])
        fourth = w[6] * np.float64(K[k, t]) + w[7] * np.float64(K[m, t])
        f[t] += (first + second) + (third + fourth)


@njit()
def add_rows(K, spans, rows, weights, count, f):
    """f += Σ weights[r]·K[rows[r]] over the first ``count``, eight at a time, in these ranges of columns."""
    size = -(-count // 8) * 8
    padded, w = np.zeros(size, np.uint64), np.zeros(size)
    for r in range(size):
        padded[r], w[r] = rows[min(r, count - 1)], weights[r] if r < count else 0.0
    for first, last in spans:
        for s in range(first, last, PART):
            for p in range(0, size, 8):
                _add_eight(K, s, min(last, s + PART), padded[p : p + 8], w[p : p + 8], f)
