"""The small quadratic programs: optimal by their own conditions, whatever the planes look like."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from svmreduce.core.simplex_qp import minimise_on_simplex


def duality_gap(H, d, x):
    """xᵀg − min g: by how much the best vertex would still be better, to first order."""
    g = H @ x - d
    return g @ x - g.min()


@pytest.mark.parametrize("seed", range(40))
def test_optimal_on_the_simplex(seed):
    rng = np.random.default_rng(seed)
    n, rank = rng.integers(1, 60), rng.integers(1, 20)
    A = rng.normal(size=(n, rank))
    if seed % 3 == 0:
        A[n // 2] = A[0]  # the same plane twice
    H, d = A @ A.T * 10 ** rng.uniform(-3, 6), rng.normal(size=n)
    x = minimise_on_simplex(H, d, np.eye(n)[rng.integers(n)])
    assert x.min() >= 0 and x.sum() == pytest.approx(1, abs=1e-12)
    assert duality_gap(H, d, x) <= 1e-9 * (1 + np.abs(d).max())


def test_by_hand():
    # two unit vectors at a right angle and a third that is of no use: half and half
    H = np.array([[1.0, 0, 5], [0, 1, 5], [5, 5, 50]])
    np.testing.assert_allclose(minimise_on_simplex(H, np.zeros(3), np.array([0, 0, 1.0])), [0.5, 0.5, 0], atol=1e-14)
    # no curvature: all to the largest gain
    assert minimise_on_simplex(np.zeros((3, 3)), np.array([1.0, 3, 2]), np.array([1.0, 0, 0])).tolist() == [0, 1, 0]
    assert minimise_on_simplex(np.ones((1, 1)), np.zeros(1), np.ones(1)).tolist() == [1.0]


def test_a_start_at_the_answer_stays_there():
    rng = np.random.default_rng(0)
    A, d = rng.normal(size=(30, 8)), rng.normal(size=30)
    x = minimise_on_simplex(A @ A.T, d, np.eye(30)[0])
    np.testing.assert_allclose(minimise_on_simplex(A @ A.T, d, x), x, atol=1e-12)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_no_worse_than_a_general_method_from_any_start(n, rank, seed):
    rng = np.random.default_rng(seed)
    A, d, start = rng.normal(size=(n, rank)), rng.normal(size=n), rng.dirichlet(np.ones(n))
    A[: n // 3] = 0.0  # planes without a pull, as the first one is
    H = A @ A.T
    value = lambda x: 0.5 * x @ H @ x - d @ x  # noqa: E731
    total = {"type": "eq", "fun": lambda x: x.sum() - 1}
    general = minimize(value, start, jac=lambda x: H @ x - d, bounds=[(0, 1)] * n, constraints=total, method="SLSQP")
    x = minimise_on_simplex(H, d, start)
    assert x.min() >= 0 and x.sum() == pytest.approx(1, abs=1e-12)
    feasible = np.maximum(general.x, 0) / np.maximum(general.x, 0).sum()
    assert value(x) <= value(feasible) + 1e-9
