"""A point β of the dual problem that ``smo_engine`` states: v = target − Kβ, and how far its rows are from optimal."""

from __future__ import annotations

import numpy as np

from svmreduce.core.kernel_values import kernel_rows
from svmreduce.core.row_passes import gather, round_to_bounds, subtract, violations, worst_pair

PART = 8192  # rows whose copy in double is made at a time


class DualPoint:
    """β and v of all rows, and the intercept; ``rows``, ready for kernel evaluation, is what a subclass sets."""

    def __init__(self, X, target, lower, upper, kernel, kink, threads):
        self.X, self.kernel, self.kink, self.threads = X, kernel, kink, threads
        self.target, self.lower, self.upper = target, lower, upper
        self.n = X.shape[0]
        self.beta, self.v, self.intercept = np.zeros(self.n), target.astype(np.float64), 0.0
        self.kernel_evals = 0
        self.room = np.empty(self.n, np.int64), np.empty(self.n)  # for a pass over all rows

    def _of(self, rows):
        """v, β and the bounds of these rows."""
        if rows is None:
            return self.v, self.beta, self.lower, self.upper
        return gather(self.v, self.beta, self.lower, self.upper, rows)

    def violation(self, rows=None):
        """How far each row is on the wrong side, given the intercept; negative on the right side."""
        return violations(*self._of(rows), self.kink, self.intercept)

    def worst_pair(self, rows=None):
        """The largest v that may go up, the smallest that may go down, and their rows; of all rows by default."""
        if rows is None or rows.size == self.n:
            return worst_pair(*self._of(None), self.kink)
        if not rows.size:
            return -np.inf, np.inf, 0, 0
        high, low, i, j = worst_pair(*self._of(rows), self.kink)
        return high, low, rows[i], rows[j]

    def gap(self) -> float:
        return gap_of(*self.worst_pair()[:2])

    def subtract_products(self, rows, moved, change):
        """v[rows] -= K[rows, moved]·change."""
        if rows.size and moved.size:
            out = self.room[1][None, : rows.size]
            out[:] = 0.0
            self.rows.add_products(rows, self.rows, moved, change[None], out, self.threads)
            subtract(self.v, rows, out[0])
            self.kernel_evals += rows.size * moved.size

    def exact_v(self, which):
        """v of these rows in double. All rows with a β are among them."""
        v, is_support = self.target[which].astype(np.float64), self.beta[which] != 0
        support, others = which[is_support], np.flatnonzero(~is_support)
        if support.size:
            right, coef = kernel_rows(self.kernel, self.X[support], np.float64, split=True), self.beta[support]
            v[is_support] -= right.products_with_all(coef, self.threads)
            for start in range(0, others.size, PART):
                part = others[start : start + PART]
                left = kernel_rows(self.kernel, self.X[which[part]], np.float64, like=right)
                out = np.zeros((1, part.size))
                left.add_products(np.arange(part.size), right, np.arange(support.size), coef[None], out, self.threads)
                v[part] -= out[0]
            self.kernel_evals += support.size * (support.size + 1) // 2 + others.size * support.size
        return v

    def round_to_bounds(self, start=None):
        """Sums of bounds are not exact: a row that takes up the rest is not free, or the intercept would be its own.

        Bounds may be infinite: the largest β, also of a ``start``, says what is small.
        """
        largest = max(self.beta.max(), -self.beta.min(), 0.0 if start is None else np.abs(start).max())
        round_to_bounds(self.beta, self.lower, self.upper, self.kink, self.n * np.finfo(np.float64).eps, largest)


def gap_of(high: float, low: float) -> float:
    return np.inf if np.isnan(high - low) else max(0.0, high - low)


def middle(high: float, low: float) -> float:
    """Half-way between two extremes, of which one or both may not exist."""
    finite = [value for value in (high, low) if np.isfinite(value)]
    return sum(finite) / len(finite) if finite else 0.0
