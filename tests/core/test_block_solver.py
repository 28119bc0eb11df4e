"""Pair steps on a block of float32, along conjugate directions: the conditions hold in double, and everything ends."""

import numpy as np
import pytest

from svmreduce.core.block_solver import optimise_block_in_time
from svmreduce.core.pair_scans import TOGETHER


def _block(n, stride, gamma=1.0):
    """A flat block, with kernel values of other rows behind each row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(stride, 2))
    y = np.where(np.sin(3 * X[:n, 0]) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    values = np.exp(-gamma * ((X[:n, None] - X[None]) ** 2).sum(axis=2)).astype(np.float32)
    return np.append(values.ravel(), np.zeros(TOGETHER, np.float32)), values[:, :n], y


def _solve(K, stride, y, C, tol=1e-3, max_steps=10**6):
    n = y.size
    beta, v, lower, upper = np.zeros(n), y.copy(), np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    diagonal = K[np.arange(n) * (stride + 1)]
    steps, high, low = optimise_block_in_time(K, stride, diagonal, beta, v, lower, upper, tol, max_steps)
    return steps, high, low, beta, v, lower, upper


@pytest.mark.parametrize(
    "n, stride, C", [(1, 1, 1.0), (2, 7, 1.0), (33, 33, 1e4), (200, 213, 0.1), (700, 700, 1e3), (700, 750, np.inf)]
)
def test_the_extremes_are_those_of_beta_in_double(n, stride, C):
    K, values, y = _block(n, stride, gamma=1.0 if np.isfinite(C) else 300.0)  # without bounds rows must be separable
    y[:2] = np.array([1.0, -1.0])[:n]
    before = K.copy()
    steps, high, low, beta, v, lower, upper = _solve(K, stride, y, C)
    np.testing.assert_allclose(v, y - values.astype(np.float64) @ beta, atol=1e-12 * (1 + np.abs(beta).sum()))
    assert (beta >= lower).all() and (beta <= upper).all()
    assert abs(beta.sum()) <= 1e-10 * np.abs(beta).sum()
    assert high - low <= 1e-3
    if n > 1:
        assert (high, low) == (v[beta < upper].max(initial=-np.inf), v[beta > lower].min(initial=np.inf))
    assert (before == K).all()
    again = _solve(K, stride, y, C)
    assert again[0] == steps and (again[3] == beta).all()


def test_the_number_of_steps_is_limited():
    K, _, y = _block(300, 300)
    steps, high, low, *_ = _solve(K, 300, y, 100.0, max_steps=50)
    assert steps == 50 and high - low > 1e-3


def test_more_members_than_a_grid_search_has():
    """The kernel is a number on the diagonal and nothing elsewhere: the solution is known."""
    n = 9001
    K, y = np.zeros(n * n + TOGETHER, np.float32), np.where(np.arange(n) < 4000, 1.0, -1.0)
    K[np.arange(n) * (n + 1)] = 2.0
    *_, beta, _, _, _ = _solve(K, n, y, 1e3, tol=1e-2)
    np.testing.assert_allclose(beta, (y - y.mean()) / 2, atol=1e-2)


@pytest.mark.parametrize("where", [0, 150, 299])
def test_kernel_values_that_are_not_numbers_end(where):
    K, _, y = _block(300, 300)
    K[where * 300 + 7] = K[7 * 300 + where] = np.nan
    assert _solve(K, 300, y, 10.0, max_steps=10**9)[0] < 10**6
