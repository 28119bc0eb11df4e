"""Dense linear programs: the optimum that HiGHS finds, and numbers that prove it without HiGHS."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from svmreduce.core import dense_program
from svmreduce.core.dense_program import best_vertex
from svmreduce.core.watch import watched
from svmreduce.solvers.lp_svr import tube_program

KINDS = ("normal", "whole numbers", "smooth", "low rank", "zeros", "equal", "cubic")


def matrix_of(kind, rng, m, n):
    rows, columns = rng.normal(size=(m, 2)), rng.normal(size=(n, 2))
    if kind == "whole numbers":
        return rng.integers(-2, 3, size=(m, n)).astype(float)
    if kind == "smooth":  # nearly singular
        return np.exp(-0.05 * np.square(rows[:, None] - columns).sum(axis=2))
    if kind == "low rank":
        return rows @ columns.T
    if kind == "cubic":
        return (1 + 9 * rows @ columns.T) ** 3
    A = rng.normal(size=(m, n))
    if kind == "zeros":
        A[:, rng.random(n) < 0.3] = 0
        A[rng.random(m) < 0.3] = 0
    return A[rng.integers(0, m, m)][:, rng.integers(0, n, n)] if kind == "equal" else A


def tube(kind, seed, C):
    """matrix, gain, upper, bound as LP-SVR has them; some with equal targets, weights, or bounds of no width."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 25), rng.integers(1, 40)
    side = rng.choice([-1.0, 1.0], n)
    target = [rng.normal(size=n), rng.choice([-1.0, 1.0], n), np.zeros(n)][rng.integers(3)]
    upper = 2 * C * (rng.uniform(0.1, 3, n) if rng.random() < 0.5 else np.ones(n))
    upper[rng.random(n) < rng.choice([0, 0.4])] = 0
    bound = np.append(np.ones(m), 0.0)
    return np.vstack([matrix_of(kind, rng, m, n) * side, side]), side * target - rng.choice([0, 0.1]), upper, bound


def assert_optimal(matrix, gain, upper, bound, found):
    """Feasible, and as good as the bound that the prices give: a proof that needs no other solver."""
    v, size = found.values, np.abs(matrix) @ found.values
    assert v.min() >= 0 and np.all(v <= upper)
    assert np.all(np.abs(matrix @ v) <= bound + 1e-8 + 1e-13 * size)
    surplus = gain - found.prices @ matrix
    rounding = 1e-12 * (np.abs(gain).max() + np.abs(found.prices) @ np.abs(matrix).max(axis=1)) * upper.sum()
    dual = np.abs(found.prices) @ bound + np.maximum(surplus, 0) @ upper
    assert dual == pytest.approx(gain @ v, rel=2e-9, abs=rounding + 1e-300)
    assert np.count_nonzero(found.is_basic) == len(bound)
    assert np.all(found.prices[found.is_basic[len(gain) :]] == 0)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(KINDS), st.integers(0, 2**32), st.sampled_from([1e-8, 1e-2, 1.0, 30.0, 1e3, 1e8]))
def test_the_optimum_is_proved_whatever_the_program(kind, seed, C):
    program = tube(kind, seed, C)
    found = best_vertex(*program, 1e-9)
    if found is None:  # HiGHS is asked then; never where numbers are of usual size
        assert kind in ("smooth", "cubic") and C > 1e3
    else:
        assert_optimal(*program, found)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(KINDS[:-1]), st.integers(0, 2**32), st.sampled_from([0.01, 1.0, 30.0]))
def test_it_is_the_optimum_of_highs(kind, seed, C):
    matrix, gain, upper, bound = tube(kind, seed, C)
    best = linprog(
        -gain, np.vstack([matrix[:-1], -matrix[:-1]]), np.ones(2 * len(matrix) - 2), matrix[-1:], [0.0],
        np.stack([np.zeros_like(upper), upper], axis=1), method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    found = best_vertex(matrix, gain, upper, bound, 1e-9)
    scale = np.abs(gain) @ found.values
    assert gain @ found.values == pytest.approx(-best.fun, rel=1e-9, abs=1e-9 * scale + 1e-12)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(KINDS[:-1]), st.integers(0, 2**32))
def test_any_basis_is_a_start(kind, seed):
    """That of the answer needs no step; any other, singular ones among them, leads to the same optimum."""
    program = tube(kind, seed, 1.0)
    gain, found = program[1], best_vertex(*program, 1e-9)
    with np.errstate(divide="ignore"):
        again = dense_program._Program(*program, 1e-9)
    assert again.solve(found.is_basic, found.is_above) is not None and again.counters[dense_program.STEPS] == 0
    chance = np.random.default_rng(seed).permutation(found.is_basic)
    other = best_vertex(*program, 1e-9, chance)
    assert_optimal(*program, other)
    assert gain @ other.values == pytest.approx(gain @ found.values, rel=1e-9, abs=1e-12)


def test_degenerate_steps_come_to_an_end():
    """Equal rows with equal gains: without a nudge the steps go round in a circle."""
    rng = np.random.default_rng(0)
    K = np.exp(-0.3 * np.abs(rng.integers(0, 2, (300, 12))[:, None] - rng.integers(0, 2, (90, 12))).sum(axis=2)).T
    side = rng.choice([-1.0, 1.0], 300)
    program = np.vstack([K * side, side]), np.full(300, 0.5), np.full(300, 2.0), np.append(np.ones(90), 0.0)
    assert_optimal(*program, best_vertex(*program, 1e-9))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("part", range(3))
def test_what_is_no_number_is_no_program(part, value):
    program = [part.copy() for part in tube("normal", 1, 1.0)]
    program[part].flat[0] = value
    assert best_vertex(*program, 1e-9) is None


def test_programs_of_nothing():
    """No variable that may move, and one row of zeros."""
    found = best_vertex(np.zeros((1, 3)), np.ones(3), np.zeros(3), np.zeros(1), 1e-9)
    assert found.values.tolist() == [0, 0, 0]
    found = best_vertex(np.zeros((2, 3)), np.ones(3), np.full(3, 5.0), np.array([1.0, 0.0]), 1e-9)
    assert found.values.tolist() == [5, 5, 5] and found.prices.tolist() == [0, 0]


def test_without_time_there_is_no_answer():
    program = tube("normal", 3, 1.0)
    assert best_vertex(*program, 1e-9) is not None
    with watched(1e-9):
        assert best_vertex(*program, 1e-9) is None


def test_where_there_is_no_certificate_highs_is_asked(monkeypatch):
    matrix, gain, upper, _ = tube("normal", 5, 1.0)
    own = tube_program.solve_program(matrix, gain, upper, None, 1e-6)
    monkeypatch.setattr(tube_program, "best_vertex", lambda *program: None)
    other = tube_program.solve_program(matrix, gain, upper, None, 1e-6)
    assert own.is_optimal and other.is_optimal
    assert own.objective == pytest.approx(other.objective, rel=1e-9)
    np.testing.assert_allclose(own.duals, other.duals, atol=1e-7)
    with watched(1e-9):
        assert not tube_program.solve_program(matrix, gain, upper, None, 1e-6).is_optimal
