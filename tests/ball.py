"""The L2-SVM's dual from its definition, for tests of its solvers."""

import numpy as np
from scipy.optimize import nnls

from svmreduce.core.kernel_values import kernel_matrix

KERNELS = [
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "gamma": 0.2, "coef0": 1.0},
]


def problem(seed):
    """A small problem: rows (two of them twice), labels, weights, C and a kernel."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 61)), int(rng.integers(1, 8))
    X = rng.normal(size=(n, d))
    X[-2:] = X[:2]
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weights = rng.uniform(0.2, 3.0, n) if seed % 2 else np.ones(n)
    return X, y, weights, 10.0 ** rng.uniform(-1, 2), KERNELS[seed % 3]


def dual_matrix(kernel, X, y, ridge):
    return np.outer(y, y) * (kernel_matrix(kernel, X, X) + 1) + np.diag(ridge)


def row_norm(kernel, X, ridge):
    """Δ² of the stopping rule: the largest k(x, x), the offset, the ridge of a row of mean weight."""
    return np.diag(kernel_matrix(kernel, X, X)).max() + 1 + 1 / np.mean(1 / ridge)


def smallest_norm(Q):
    """min αᵀQα on the simplex, by least squares: min ½aᵀQa − Σa over a ≥ 0 has a = α/R."""
    L = np.linalg.cholesky(Q)
    a, _ = nnls(L.T, np.linalg.solve(L, np.ones(len(Q))), maxiter=100 * len(Q))
    return 1 / a.sum()


def gap_of(Q, alpha, size):
    """ε for which the ball around α, widened by 1 + ε, holds all rows."""
    g = Q @ alpha
    R = alpha @ g
    return np.sqrt((size + R - 2 * g.min()) / (size - R)) - 1
