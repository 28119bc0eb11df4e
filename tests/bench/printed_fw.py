"""Frank-Wolfe as the paper prints it, to see where its times and accuracies come from.

One step per sample: 59 rows drawn from all rows alike, a step toward the farthest, the end at the first sample of
which no row lies outside the ball. ``svmreduce``'s own FW draws half of a sample from each class, moves until all rows
it has seen lie inside, and wants several quiet samples in a row.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core import ball_search
from svmreduce.core.kernel_values import decision_function
from svmreduce.core.l2svm import Hessian, weighted_columns
from svmreduce.kernels import KernelSpec


class PrintedFW:
    """Two classes, rbf kernel."""

    def __init__(self, C=1.0, gamma=1.0, tol=1e-6, sample_size=59, start_rows=20, random_state=0):
        self.C, self.gamma, self.tol = C, gamma, tol
        self.sample_size, self.start_rows, self.random_state = sample_size, start_rows, random_state

    def fit(self, X, y):
        self.kernel_, rng, n = KernelSpec("rbf", self.gamma), np.random.default_rng(self.random_state), len(y)
        self.classes_ = np.unique(y)
        sign = np.where(y == self.classes_[1], 1.0, -1.0)
        Q = Hessian(X, sign, np.full(n, 1.0 / self.C), self.kernel_, np.float32, 1)
        support, alpha, R = self._start(X, sign, rng.choice(n, self.start_rows, replace=False))
        self.n_iter_ = 0
        while True:
            rows = np.unique(rng.integers(0, n, self.sample_size))
            block = np.empty(support.size * rows.size, Q.dtype)
            Q.block(support, None, rows, block, rows.size)
            g = weighted_columns(block, rows.size, alpha)
            nearest = np.argmin(g)  # the largest distance from the centre is the smallest product with it
            row, g = rows[nearest], g[nearest]
            delta = (Q.size + R - 2 * g) / (Q.size - R) - 1
            if delta <= (1 + self.tol) ** 2 - 1:
                break
            step = delta / (2 * (1 + delta))
            alpha *= 1 - step
            if row not in support:
                support, alpha = np.append(support, row), np.append(alpha, 0.0)
            alpha[support == row] += step
            R = (1 - step) ** 2 * R + 2 * step * (1 - step) * g + step**2 * Q.diagonal[row]
            self.n_iter_ += 1
        self.support_, self.vectors_, self.coef_ = support, X[support], sign[support] * alpha
        self.kernel_evals_, self.gap_, self.converged_ = Q.values, None, True
        return self

    def _start(self, X, sign, rows):
        """The ball of a few random rows."""
        ridge = np.full(rows.size, 1.0 / self.C)
        ball = ball_search.solve(X[rows], sign[rows], ridge, self.kernel_, method="mfw", exact=True, threads=1)
        inside = ball.alpha > 0
        return rows[inside], ball.alpha[inside], ball.norm

    def predict(self, X):
        f = decision_function(self.kernel_, X, self.vectors_, self.coef_[:, None], threads=1)[:, 0] + self.coef_.sum()
        return self.classes_[(f > 0).astype(int)]
