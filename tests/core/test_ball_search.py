"""The search around the steps: samples, memory, precision, and an honest certificate."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from svmreduce.core import kernel_values
from svmreduce.core.ball_search import RULES, epsilons, solve
from svmreduce.core.l2svm import Hessian, LaggingGradient, RowCache
from svmreduce.data.synthetic import make
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from tests.ball import dual_matrix, gap_of, row_norm

RBF = KernelSpec("rbf", 2.0)
CENTRED = ("fw", "mfw", "cvm")  # those that find the smallest ball


def board(rows, seed=0, C=10.0):
    data = make("checkerboard", rows, seed=seed)
    return data.X, data.y, np.full(rows, 1 / C)


def test_the_widening_shrinks_to_the_tolerance():
    assert list(epsilons(0.1)) == [0.5, 0.25, 0.125, 0.1]
    assert list(epsilons(0.7)) == [0.7]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_come_and_go_and_grow(dtype):
    """Rows of Q from a cache too small for all of them are those of Q."""
    X, y, ridge = board(40)
    full = dual_matrix(RBF, X, y, ridge)
    Q = Hessian(X, y, ridge, RBF, dtype, 1)
    members = np.random.default_rng(0).permutation(40)[:30]
    cache = RowCache(Q, members, 0.0, least=6, slack=0.2)
    assert (cache.slots, cache.stride) == (6, 36)

    def check(n):
        there = np.flatnonzero(cache.begin >= 0)
        for place in there:
            row = cache.values[cache.begin[place] : cache.begin[place] + n]
            assert_allclose(row, full[np.ix_(cache.members, cache.members)][place], rtol=1e-6)
        return there.tolist()

    cache.fetch(np.array([3, 7, 11, 2]), now=1)
    cache.fetch(np.array([20, 21]), now=2)
    assert check(30) == [2, 3, 7, 11, 20, 21]
    cache.last_used[[3, 7]] = 3
    cache.fetch(np.array([29]), now=4)
    left = check(30)
    assert len(left) == 6 and {3, 7, 20, 21, 29} < set(left)
    others = np.setdiff1d(np.arange(40), members)
    before = Q.values
    assert cache.grow(others[:5]) and check(35) == []  # they lack the new columns
    cache.fetch(np.array(left), now=5)
    assert check(35) == left and Q.values == before + 5 * len(left)
    assert not cache.grow(others[5:7])


@pytest.mark.parametrize("method", RULES)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_the_certificate_is_true(method, form):
    """Sampled or exact, float32 or double: the gap is what numpy finds from α alone."""
    X, y, ridge = board(1200)
    Q, size = dual_matrix(RBF, X, y, ridge), row_norm(RBF, X, ridge)
    for exact in (False, True):
        found = solve(form(X), y, ridge, RBF, method=method, tol=1e-5, exact=exact, cache_mb=1024 if exact else 1)
        assert found.alpha.min() >= 0 and found.alpha.sum() == pytest.approx(1, abs=1e-9)
        assert found.norm == pytest.approx(found.alpha @ Q @ found.alpha, rel=1e-10)
        assert found.gap == pytest.approx(gap_of(Q, found.alpha, size), rel=1e-6, abs=1e-12)
        assert found.converged
        assert found.gap <= 1e-5 or not (exact and method in CENTRED)


@pytest.mark.parametrize("method", RULES)
def test_without_a_certificate(method):
    X, y, ridge = board(2000)
    options = {"method": method, "tol": 1e-5, "cache_mb": 1}  # too little for exact selection
    sampled = solve(X, y, ridge, RBF, certify=False, **options)
    assert sampled.gap is None and sampled.converged
    stated = solve(X, y, ridge, RBF, **options)
    assert np.array_equal(sampled.alpha, stated.alpha)
    # R by the step formulas, in float32 values of Q, is R
    assert sampled.norm == pytest.approx(stated.norm, rel=1e-4)
    assert sampled.kernel_evals < stated.kernel_evals


@pytest.mark.parametrize("method", RULES)
def test_samples_depend_on_the_seed_alone(method):
    X, y, ridge = board(3000)
    options = {"method": method, "tol": 1e-5, "cache_mb": 2, "certify": False}
    first, again, other = (solve(X, y, ridge, RBF, seed=seed, **options) for seed in (1, 1, 2))
    assert np.array_equal(first.alpha, again.alpha)
    assert not np.array_equal(first.alpha, other.alpha)


@pytest.mark.parametrize("method", RULES)
def test_the_cost_of_a_sample_does_not_grow_with_the_rows(method):
    """The same number of steps on twenty times the rows takes no more kernel values, but for chance."""
    cost = []
    for rows in (4000, 80_000):
        X, y, ridge = board(rows)
        found = solve(X, y, ridge, RBF, method=method, max_iter=400, certify=False, cache_mb=16)
        assert found.n_iter == 400
        cost.append(found.kernel_evals)
    assert cost[1] < 2 * cost[0]


def test_small_problems_turn_exact_and_large_ones_do_not():
    X, y, ridge = board(3000)
    by_itself = solve(X, y, ridge, RBF, method="mfw", tol=1e-5)
    assert by_itself.converged and by_itself.gap <= 1e-5
    too_large = solve(X, y, ridge, RBF, method="mfw", tol=1e-5, cache_mb=4, quiet_samples=1)
    assert too_large.converged and too_large.gap > 1e-5


def test_more_quiet_samples_leave_less_outside():
    X, y, ridge = board(20_000)
    gaps = [solve(X, y, ridge, RBF, method="mfw", tol=1e-5, quiet_samples=q, cache_mb=16).norm for q in (1, 40)]
    assert gaps[1] < gaps[0]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("columns", [2, 20])  # tiles by differences or products
def test_the_gradient_of_rows_out_of_view_keeps_up(columns, form):
    """Whatever was asked before, and however α was scaled: g is Qα. Asking costs less than from scratch."""
    rng = np.random.default_rng(0)
    X, y, ridge = rng.normal(size=(400, columns)), np.where(np.arange(400) % 3, 1.0, -1.0), np.ones(400)
    Q = Hessian(form(X), y, ridge, RBF, np.float64, 1)
    full = dual_matrix(RBF, X, y, ridge)
    lagging, members, alpha = LaggingGradient(Q), np.arange(0, 400, 2), np.zeros(400)
    alpha[members] = rng.random(200)
    for turn in range(60):
        alpha[rng.choice(members, 3)] = rng.random(3)
        if turn % 2:
            alpha *= 0.9
            lagging.scale *= 0.9
        rows = 1 + 2 * rng.choice(200, 30, replace=False)
        assert_allclose(lagging.of(rows, members, alpha[members], 3 * turn), (full @ alpha)[rows], rtol=1e-9, atol=1e-9)
    assert np.count_nonzero(lagging.base) == 200
    assert Q.values < 0.75 * 60 * 30 * 200


@pytest.mark.parametrize("method", ["fw", "mfw", "bvm"])
def test_little_memory_gives_the_same_ball(method):
    """More rows in view than their block may have: rows of Q are computed again and again."""
    X, y, ridge = board(2000, C=1.0)
    best = solve(X, y, ridge, RBF, method="mfw", tol=1e-6, exact=True).norm
    for exact in (False, True):
        found = solve(X, y, ridge, RBF, method=method, tol=1e-4, exact=exact, cache_mb=0.05, quiet_samples=20)
        assert found.converged and np.count_nonzero(found.alpha) > 300
        assert best <= found.norm < (1.6 if method == "bvm" else 1.25) * best


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_core_set_that_outgrows_its_block_is_searched_row_by_row(form):
    X, y, ridge = board(2000, C=1.0)
    X = np.hstack([X, np.zeros((2000, 20))])  # too many columns for tiles of differences
    little, much = (solve(form(X), y, ridge, RBF, method="cvm", tol=1e-5, cache_mb=mb) for mb in (0.05, 30))
    assert little.converged and np.count_nonzero(little.alpha) > 300 > little.alpha.size // 20
    assert little.norm == pytest.approx(much.norm, rel=1e-2)
    Q = dual_matrix(RBF, X, y, ridge)
    assert little.gap == pytest.approx(gap_of(Q, little.alpha, row_norm(RBF, X, ridge)), rel=1e-6)
    assert little.gap < 1e-3


def test_exact_selection_of_core_vectors_needs_all_kernel_values():
    X, y, ridge = board(3000, C=1.0)
    with pytest.raises(InputError, match=r"exact selection .* of its 3000 rows, 35 MB: raise cache_mb, or select from"):
        solve(X, y, ridge, RBF, method="cvm", cache_mb=0.05, exact=True)


@pytest.mark.parametrize("method", CENTRED)
def test_rounding_errors_are_found_and_cured(method, monkeypatch):
    """A large constant column leaves distances alone, but float32 products of sparse rows lose them in the norms."""
    monkeypatch.setattr(kernel_values, "FLOAT32_ROUNDING", np.inf)  # or double would be chosen from the start
    X, y, ridge = board(1200)
    far = sparse.csr_matrix(np.hstack([X, np.full((1200, 1), 60.0)]))
    found = solve(far, y, ridge, RBF, method=method, exact=True, tol=1e-5)
    assert found.converged and found.gap <= 1e-5
    near = solve(X, y, ridge, RBF, method=method, exact=True, tol=1e-5)
    assert found.norm == pytest.approx(near.norm, rel=5e-3)
    assert found.kernel_evals > 1.5 * near.kernel_evals  # once in float32, then in double


def test_kernels_without_a_ball_are_told():
    X, y, ridge = board(50)
    with pytest.raises(InputError, match=r"kernel values reach .* too large"):
        solve(X * 1e9, y, ridge, KernelSpec("poly", 1.0, 0.0, 3), method="mfw")
    with pytest.raises(InputError, match="poly kernel is not positive definite on these rows"):
        solve(X, y, np.full(50, 1e-6), KernelSpec("poly", 1.0, -30.0, 1), method="mfw", max_iter=1000)
