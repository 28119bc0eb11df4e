"""The engine against scikit-learn's SVC, its own optimality conditions, and what weights mean."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from svmreduce.core import parts, smo_engine
from svmreduce.core.dual_point import DualPoint
from svmreduce.core.kernel_values import KernelRows, kernel_matrix
from svmreduce.core.optimality import kkt_gap
from svmreduce.core.watch import watched
from svmreduce.core.working_set import WorkingSet
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from svmreduce.solvers.smo import SMO


def _problem(seed, sparse_rows=False):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 400)), int(rng.integers(1, 30))
    X = rng.normal(size=(n, d))
    if sparse_rows:
        X *= rng.random(X.shape) < 0.4
    y = np.where(X @ rng.normal(size=d) + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y, rng.uniform(0.01, 3.0, n), 10.0 ** rng.uniform(-2, 1.5)


def _solve(X, y, box, kernel, **options):
    return smo_engine.solve(
        X, y, np.where(y > 0, 0, -box), np.where(y > 0, box, 0.0), kernel, **{"tol": 1e-6, **options}
    )


def _kernel(index, d):
    choices = [KernelSpec("linear"), KernelSpec("poly", 1 / d, 1.0, 3), KernelSpec("rbf", 1 / d)]
    return choices[index % len(choices)]


def _violation(K, y, beta, box):
    """Largest violation of the optimality conditions, from first principles and in double."""
    v = y - K @ beta
    alpha = beta * y
    up = ((y > 0) & (alpha < box)) | ((y < 0) & (alpha > 0))
    down = ((y < 0) & (alpha < box)) | ((y > 0) & (alpha > 0))
    return v[up].max() - v[down].min()


@pytest.mark.parametrize("seed", range(30))
def test_same_optimum_as_svc(seed):
    X, y, weight, C = _problem(seed, sparse_rows=seed % 2 == 1)
    kernel = _kernel(seed // 2, X.shape[1])
    rows = sparse.csr_matrix(X) if seed % 2 else X
    result = _solve(rows, y, C * weight, kernel)
    oracle = SVC(C=C, kernel=kernel.name, gamma=kernel.gamma, coef0=kernel.coef0, degree=kernel.degree, tol=1e-6)
    oracle.fit(X, y, sample_weight=weight)
    K = kernel_matrix(kernel, X, X)
    beta = np.zeros(len(y))
    beta[oracle.support_] = oracle.dual_coef_[0]
    assert result.converged
    assert result.objective == pytest.approx(0.5 * beta @ K @ beta - beta @ y, rel=1e-6)
    assert result.objective == pytest.approx(0.5 * result.beta @ K @ result.beta - result.beta @ y, rel=1e-9)
    assert_allclose(K @ result.beta + result.intercept, oracle.decision_function(X), atol=1e-3)
    # feasible, and optimal in the sense that was asked for
    alpha = result.beta * y
    assert alpha.min() >= 0 and np.all(alpha <= C * weight)
    assert abs(result.beta.sum()) <= 1e-10 * alpha.sum() + 1e-15
    assert _violation(K, y, result.beta, C * weight) <= 1e-6 * (1 + 1e-6) + 1e-10 * C


@pytest.mark.parametrize("seed", range(6))
def test_sigmoid_ends_and_is_finite(seed):
    """Not positive definite, so there is no unique optimum: it must end at a stationary point."""
    X, y, weight, C = _problem(100 + seed)
    kernel = KernelSpec("sigmoid", 0.5 / X.shape[1], 0.1)
    result = _solve(X, y, C * weight, kernel, max_iter=200_000)
    assert np.isfinite(result.beta).all() and np.isfinite(result.intercept)
    assert np.isfinite(result.objective) and result.objective <= 0
    if result.converged:
        assert _violation(kernel_matrix(kernel, X, X), y, result.beta, C * weight) <= 1.1e-6


def test_integer_weights_are_repeated_rows():
    X, y, _, C = _problem(3)
    count = np.random.default_rng(0).integers(1, 4, len(y))
    kernel = _kernel(2, X.shape[1])
    weighted = _solve(X, y, C * count, kernel, tol=1e-8)
    repeated = _solve(np.repeat(X, count, axis=0), np.repeat(y, count), np.full(count.sum(), C), kernel, tol=1e-8)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9)
    K = kernel_matrix(kernel, X, X)
    firsts = np.concatenate([[0], np.cumsum(count)[:-1]])
    assert_allclose(
        K @ weighted.beta + weighted.intercept,
        K @ np.add.reduceat(repeated.beta, firsts) + repeated.intercept,
        atol=1e-6,
    )


def test_zero_weight_is_a_missing_row():
    X, y, weight, C = _problem(4)
    weight[5::3] = 0
    kernel = _kernel(2, X.shape[1])
    kept = weight > 0
    with_zeros = _solve(X, y, C * weight, kernel, tol=1e-8)
    without = _solve(X[kept], y[kept], C * weight[kept], kernel, tol=1e-8)
    assert np.all(with_zeros.beta[~kept] == 0)
    assert with_zeros.objective == pytest.approx(without.objective, rel=1e-9)
    assert_allclose(with_zeros.beta[kept], without.beta, atol=1e-5 * C)


def _checkerboard(n, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2)) * 4
    y = np.where(np.floor(X).sum(axis=1) % 2 == 0, 1.0, -1.0)
    y[rng.random(n) < noise] *= -1
    return X, y


def test_rings_reach_the_optimum_of_the_whole_problem():
    """Many more rows than the working set and the first sample hold, in float32."""
    X, y = _checkerboard(20_000, noise=0.02)
    kernel = KernelSpec("rbf", 2.0)
    result = _solve(X, y, np.ones(len(y)), kernel, tol=1e-3)
    support = np.flatnonzero(result.beta)
    f = kernel_matrix(kernel, X, X[support]) @ result.beta[support]
    assert result.converged
    v, alpha = y - f, result.beta * y
    up = ((y > 0) & (alpha < 1)) | ((y < 0) & (alpha > 0))
    down = ((y < 0) & (alpha < 1)) | ((y > 0) & (alpha > 0))
    assert v[up].max() - v[down].min() <= 1e-3 * 1.01
    # strong duality: the primal value of this model is within the tolerance of the dual one
    primal = 0.5 * result.beta @ f + np.maximum(0, 1 - y * (f + result.intercept)).sum()
    assert primal == pytest.approx(-result.objective, rel=1e-3)


@pytest.mark.parametrize("C", [0.3, 10.0])
def test_rows_beyond_the_reach_of_all_changes_need_no_kernel_values(C, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20_000, 8)) + np.where(np.arange(20_000) % 2, 0.8, -0.8)[:, None]
    y, kernel = np.where(np.arange(20_000) % 2, 1.0, -1.0), KernelSpec("rbf", 0.1)
    box = np.full(len(y), C)
    result = _solve(X, y, box, kernel, tol=1e-3)
    support = np.flatnonzero(result.beta)
    f = kernel_matrix(kernel, X, X[support]) @ result.beta[support]
    assert result.converged and kkt_gap(y - f, result.beta, np.where(y > 0, 0, -C), np.where(y > 0, C, 0)) <= 1e-3
    assert result.objective == pytest.approx(result.beta @ (0.5 * f - y), rel=1e-9)
    monkeypatch.setattr(smo_engine._Search, "_reach", lambda *_: np.inf)
    slower = _solve(X, y, box, kernel, tol=1e-3)
    assert slower.objective == pytest.approx(result.objective, rel=1e-6)
    assert result.kernel_evals < 0.95 * slower.kernel_evals


def test_a_small_cache_changes_the_way_and_not_the_end():
    X, y = _checkerboard(3000, noise=0.1)  # about a thousand support vectors, room for 256 rows
    kernel = KernelSpec("rbf", 2.0)
    roomy = _solve(X, y, np.ones(len(y)), kernel, tol=1e-5)
    tight = _solve(X, y, np.ones(len(y)), kernel, tol=1e-5, cache_mb=0.1)
    assert tight.converged
    assert tight.objective == pytest.approx(roomy.objective, rel=1e-8)


def test_float32_is_left_when_it_cannot_meet_the_tolerance():
    """With C = 1e4 the rounding of float32 kernel values is far above tol = 1e-3."""
    X, y = _checkerboard(4000)
    kernel = KernelSpec("rbf", 2.0)
    result = _solve(X, y, np.full(len(y), 1e4), kernel, tol=1e-3)
    assert result.converged
    assert _violation(kernel_matrix(kernel, X, X), y, result.beta, 1e4) <= 1e-3 * 1.01


def test_the_iteration_limit_is_kept_and_said():
    X, y = _checkerboard(500)
    result = _solve(X, y, np.ones(len(y)), KernelSpec("rbf", 2.0), max_iter=7)
    assert result.n_iter == 7
    assert not result.converged and result.gap > 1e-6


def test_seed_and_threads_do_not_change_the_solution_beyond_tolerance():
    X, y = _checkerboard(9000)
    kernel = KernelSpec("rbf", 2.0)
    options = {"tol": 1e-4}
    first = _solve(X, y, np.ones(len(y)), kernel, threads=1, **options)
    again = _solve(X, y, np.ones(len(y)), kernel, threads=2, **options)
    assert np.array_equal(first.beta, again.beta)
    other = _solve(X, y, np.ones(len(y)), kernel, seed=7, **options)
    assert other.objective == pytest.approx(first.objective, rel=1e-6)


@pytest.mark.parametrize("C", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("kernel", [KernelSpec("rbf", 0.2), KernelSpec("linear")], ids=lambda k: k.name)
def test_a_working_set_all_at_its_bounds_is_not_the_end(kernel, C):
    """With a small C every row of the first working set ends at its bound, and no pair in it can move."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(9000) < 0.1, 1.0, -1.0)
    X = rng.normal(size=(9000, 5)) + 0.3 * y[:, None]
    result = _solve(X, y, np.full(9000, C), kernel, tol=1e-3)
    assert result.converged
    K_part = kernel_matrix(kernel, X, X[result.beta != 0]) @ result.beta[result.beta != 0]
    v, alpha = y - K_part, result.beta * y
    up = ((y > 0) & (alpha < C)) | ((y < 0) & (alpha > 0))
    down = ((y < 0) & (alpha < C)) | ((y > 0) & (alpha > 0))
    assert v[up].max() - v[down].min() <= 1.01e-3


def test_no_row_decides_the_intercept_where_all_are_at_their_bounds():
    """Equal sums of bounds are equal up to rounding only; the rest of it must not make a row free."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300 + 37 * seed, 3))
        y = np.where(X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0.9, 1.0, -1.0)
        model = SMO(C=1e-4, gamma=0.5, class_weight="balanced").fit(X, y)
        right = model.predict(X) == y
        assert min(right[y > 0].mean(), right[y < 0].mean()) > 0.7


def test_an_indefinite_kernel_ends_beyond_one_working_set():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(3000) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(3000, 5)) + 0.5 * y[:, None]
    result = _solve(X, y, np.ones(3000), KernelSpec("sigmoid", 0.5, 0.0), tol=1e-3, max_iter=100_000)
    assert np.isfinite(result.objective) and np.isfinite(result.intercept)


def test_unscaled_features_do_not_stall_float32():
    """k_ii rounded otherwise than k_ij once kept the steps going for ever."""
    rng = np.random.default_rng(2)
    X = 5.0 * rng.normal(size=(1000, 20))
    y = np.where(X @ rng.normal(size=20) + 10 * rng.normal(size=1000) > 0, 1.0, -1.0)
    result = _solve(X, y, np.full(1000, 0.25), KernelSpec("linear"), tol=1e-3)
    assert result.converged and result.n_iter < 1_000_000


def test_kernel_values_too_large_for_float32_are_done_in_double_and_for_double_refused():
    X, y = _checkerboard(60)
    X = (X - 2) * 1e3
    result = _solve(X, y, np.full(60, 1e-3), KernelSpec("poly", 1.0, 1.0, 3), tol=1e-3, max_iter=20_000)
    assert np.isfinite(result.objective) and np.isfinite(result.beta).all()
    with pytest.raises(InputError, match="scale the data"):
        _solve(X * 1e10, y, np.ones(60), KernelSpec("linear"))


def test_a_gap_after_the_iteration_limit_is_that_of_all_rows():
    X, y = _checkerboard(12_000)
    kernel = KernelSpec("rbf", 2.0)
    result = _solve(X, y, np.ones(len(y)), kernel, tol=1e-3, max_iter=2000)
    assert not result.converged
    support = np.flatnonzero(result.beta)
    v = y - kernel_matrix(kernel, X, X[support]) @ result.beta[support]
    alpha = result.beta * y
    up = ((y > 0) & (alpha < 1)) | ((y < 0) & (alpha > 0))
    down = ((y < 0) & (alpha < 1)) | ((y > 0) & (alpha > 0))
    assert result.gap == pytest.approx(v[up].max() - v[down].min(), rel=1e-3, abs=1e-5)  # kernel values in float32


def test_very_many_columns_cost_what_the_used_ones_cost():
    X, y = _checkerboard(300)
    far = np.array([3, 2**31 - 2])
    wide = sparse.csr_matrix(
        (X.ravel(), np.tile(far, 300).astype(np.int32), 2 * np.arange(301)), shape=(300, 2**31 - 1)
    )
    kernel = KernelSpec("rbf", 1.0)
    narrow = _solve(sparse.csr_matrix(X), y, np.ones(300), kernel)
    assert_allclose(_solve(wide, y, np.ones(300), kernel).beta, narrow.beta, atol=1e-6)
    assert_allclose(kernel_matrix(kernel, wide[:5], wide[5:50]), kernel_matrix(kernel, X[:5], X[5:50]), rtol=1e-12)


def test_working_set_block_stays_right_while_rows_come_and_go():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    kernel = KernelSpec("rbf", 0.5)
    K = kernel_matrix(kernel, X, X)
    work = WorkingSet(KernelRows(kernel, X, np.float64), megabytes=4)
    outside = list(rng.permutation(900))
    for _ in range(12):
        new = np.array([outside.pop() for _ in range(min(len(outside), 90, work.capacity - work.size))], np.int64)
        work.admit(new, threads=1)
        stay = rng.random(work.size) < 0.8
        before = work.members
        outside[:0] = before[~stay].tolist()
        order = work.keep(stay)
        assert sorted(order) == np.flatnonzero(stay).tolist()
        assert (work.members == before[order]).all()
        block = np.lib.stride_tricks.as_strided(work.K, (work.size, work.size), (8 * work.stride, 8))
        assert_allclose(block, K[np.ix_(work.members, work.members)], rtol=1e-12)
        assert_allclose(work.diagonal, 1.0)


@pytest.mark.parametrize("threads", [1, 3])
def test_new_rows_of_more_than_one_tile_meet_each_other_once(threads):
    X = np.random.default_rng(0).normal(size=(1500, 3))
    kernel = KernelSpec("rbf", 0.5)
    work = WorkingSet(KernelRows(kernel, X, np.float64), megabytes=30)
    counts = [work.admit(new, threads) for new in np.split(np.arange(1500), [200])]
    assert counts == [200 * 201 // 2, 1300 * 200 + 1300 * 1301 // 2]
    block = np.lib.stride_tricks.as_strided(work.K, (1500, 1500), (8 * work.stride, 8))
    assert_allclose(block, kernel_matrix(kernel, X, X), rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_sparse_rows_far_from_the_origin(seed):
    """Squared lengths of 1e8 with distances of 1: float32 products of whole rows would know nothing of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=300) > 0).astype(int)
    ours = SMO(C=1.0, gamma=0.1).fit(sparse.csr_matrix(X + 1e4), y)
    theirs = SVC(C=1.0, gamma=0.1).fit(X, y)
    assert_allclose(ours.decision_function(sparse.csr_matrix(X + 1e4)), theirs.decision_function(X), atol=0.02)


def test_the_objective_is_that_of_the_solution_in_double():
    """Rows of great weight leave float32 sums wrong in the fifth digit."""
    from sklearn.metrics.pairwise import rbf_kernel

    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 5))
        y = np.where(X[:, 0] + rng.normal(size=300) > 0, 1, -1)
        weights = rng.choice([1, 10, 1000.0], 300)
        C, gamma = 10 ** rng.uniform(0, 3), 10 ** rng.uniform(-2, 0)
        fitted = SMO(C=C, gamma=gamma).fit(X, y, sample_weight=weights)
        beta, target = fitted.dual_coef_[0], y[fitted.support_]
        exact = 0.5 * beta @ rbf_kernel(fitted.support_vectors_, gamma=gamma) @ beta - target @ beta
        assert fitted.objective_ == pytest.approx(exact, rel=1e-8)


def test_what_is_known_of_rows_is_asked_for_in_any_order():
    X, y, box, gamma = _problem(3)
    point = DualPoint(X, y, np.minimum(y * box, 0.0), np.maximum(y * box, 0.0), KernelSpec("rbf", gamma), 0.0, 1)
    point.v, point.intercept = np.random.default_rng(0).normal(size=y.size), 0.2
    rows = np.random.default_rng(1).permutation(y.size)
    for some in (rows, rows[: y.size // 2]):
        assert_allclose(point.violation(some), point.violation()[some])
    assert point.worst_pair(rows) == point.worst_pair()
    high, low, i, j = point.worst_pair(rows[:5])
    assert {i, j} <= set(rows[:5]) and point.v[i] == high and point.v[j] == low


def test_the_intercept_of_a_fit_that_was_ended_is_that_of_its_coefficients_in_double():
    from sklearn.metrics.pairwise import rbf_kernel

    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0, 1, -1)
    weights = rng.choice([1, 10, 1000.0], 300)
    with pytest.warns(ConvergenceWarning):
        fitted = SMO(C=400, gamma=0.02, max_iter=2000).fit(X, y, sample_weight=weights)
    rows, beta = fitted.support_, fitted.dual_coef_[0]
    free = np.abs(beta) < 400 * weights[rows]
    values = rbf_kernel(X[rows][free], X[rows], gamma=0.02) @ beta
    assert free.any() and np.abs(beta).max() > 1e4
    assert fitted.intercept_[0] == pytest.approx(np.mean(y[rows][free] - values), rel=1e-9)


def _digits(n, seed=0):
    """Three classes of long rows, mostly zeros."""
    rng = np.random.default_rng(seed)
    centres = rng.random((3, 150)) * (rng.random((3, 150)) < 0.2)
    y = rng.integers(0, 3, n)
    return (centres[y] + 0.5 * rng.random((n, 150))) * (rng.random((n, 150)) < 0.25), y


def test_pairs_of_classes_are_the_same_dense_and_sparse_and_on_any_number_of_threads():
    X, y = _digits(900)
    models = [SMO(C=5, gamma=0.2, threads=threads).fit(form(X), y)
              for form in (np.asarray, sparse.csr_matrix) for threads in (1, 3)]  # fmt: skip
    for model in models[1:]:
        assert (model.dual_coef_ == models[0].dual_coef_).all()
        assert (model.intercept_ == models[0].intercept_).all()
        assert model.kernel_evals_ == models[0].kernel_evals_
    assert isinstance(models[0].support_vectors_, np.ndarray)
    oracle = SVC(C=5, gamma=0.2, tol=1e-3).fit(X, y)
    assert_allclose(models[0].decision_function(X), oracle.decision_function(X), atol=5e-3)
    assert (models[0].predict(X) == oracle.predict(X)).mean() > 0.995


def test_pairs_too_large_for_their_share_of_the_cache_are_solved_one_after_the_other():
    X, y = _digits(900, 1)
    alone, together = (SMO(C=5, gamma=0.2, cache_mb=mb, threads=2).fit(X, y) for mb in (2, 200))
    assert alone.converged_ and together.converged_
    assert alone.objective_ == pytest.approx(together.objective_, rel=1e-5)


def test_the_rows_of_a_pair_meet_the_conditions_of_their_own_problem():
    X, y = _digits(600, 2)
    model = SMO(C=2, gamma=0.3).fit(X, y)
    K = kernel_matrix(KernelSpec("rbf", 0.3), X, X)
    kernel_model = model.model_
    ends = np.concatenate([[0], np.cumsum(kernel_model.n_support)])
    for i, j in ((0, 1), (0, 2), (1, 2)):
        beta = np.zeros(600)
        rows = np.argsort(y[model.support_], kind="stable")
        support = model.support_[rows]
        beta[support[ends[i] : ends[i + 1]]] = kernel_model.coef[j - 1, ends[i] : ends[i + 1]]
        beta[support[ends[j] : ends[j + 1]]] = kernel_model.coef[i, ends[j] : ends[j + 1]]
        pair = np.flatnonzero((y == i) | (y == j))
        target = np.where(y[pair] == i, 1.0, -1.0)
        assert _violation(K[np.ix_(pair, pair)], target, beta[pair], 2.0) <= 1e-3


def test_rows_that_are_not_numbers_are_never_called_solved():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.where(np.arange(200) % 2, 1.0, -1.0)
    X[3] = np.nan
    assert not smo_engine.solve(
        X, y, np.minimum(10 * y, 0), np.maximum(10 * y, 0), KernelSpec("rbf", 1.0), max_iter=10_000
    ).converged


@pytest.mark.parametrize("seed", range(3))
def test_short_rows_count_beside_long_ones(seed):
    """Their kernel values are far below the largest; steps that lose them go up, not down."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5)) * np.exp(2 * rng.normal(size=(300, 1)))
    length = np.linalg.norm(X, axis=1)
    y = np.where(np.sin(3 * X[:, 0] / length) + 0.3 * rng.normal(size=300) > 0, 1.0, -1.0)
    kernel = KernelSpec("poly", gamma=1.0, coef0=0.0, degree=5)
    found = smo_engine.solve(14 * X / length.max(), y, np.minimum(1e9 * y, 0), np.maximum(1e9 * y, 0), kernel)
    assert found.converged and found.n_iter < 10_000


def _local_problem(n=2600):
    """Many rows that know little of each other, and labels that are mostly noise."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y, rng.uniform(20.0, 40.0, n)


def _quarters(asked):
    def divide(X):
        asked.append(True)
        return [np.flatnonzero((X[:, 0] > 0) + 2 * (X[:, 1] > 0) == number) for number in range(4)]

    return divide


@pytest.fixture
def few_rows_are_divided(monkeypatch):
    monkeypatch.setattr(parts, "LEAST_ROWS", 2500)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_parts_of_a_local_problem_lead_to_the_same_solution(few_rows_are_divided, tol):
    (X, y, box), kernel, asked = _local_problem(), KernelSpec("rbf", 2000.0), []
    whole = _solve(X, y, box, kernel, tol=tol, threads=1)
    ones, twos = (_solve(X, y, box, kernel, tol=tol, threads=t, divide=_quarters(asked)) for t in (1, 2))
    assert len(asked) == 2 and ones.converged
    K = kernel_matrix(kernel, X, X)
    assert _violation(K, y, ones.beta, box) <= tol * 1.01 and abs(ones.beta.sum()) < 1e-9
    assert ones.objective == pytest.approx(whole.objective, rel=1e-6)
    assert np.array_equal(ones.beta, twos.beta) and ones.n_iter == twos.n_iter  # whatever the number of threads


def test_only_a_local_problem_is_divided(few_rows_are_divided):
    (X, y, box), asked = _local_problem(), []
    for gamma, size in ((0.5, 1.0), (2000.0, 0.01)):  # few support vectors; all of them at bounds
        _solve(X, y, size * box, KernelSpec("rbf", gamma), tol=1e-3, divide=_quarters(asked))
    _solve(X, y, box, KernelSpec("rbf", 2000.0), tol=1e-3, divide=_quarters(asked), start=np.zeros(len(y)))
    assert not asked
    _solve(X, y, box, KernelSpec("rbf", 2000.0), tol=1e-3, divide=lambda X: [np.arange(len(y))])  # cannot be divided


def test_a_part_may_have_one_class(few_rows_are_divided):
    X, y, box = _local_problem()
    X[y > 0] += [[3.0, 0.0]]
    left = X[:, 0] < 1.5
    divided = [np.flatnonzero(left), np.flatnonzero(~left)]
    kernel = KernelSpec("rbf", 2000.0)
    result = _solve(X, y, box, kernel, tol=1e-3, divide=lambda X: divided)
    assert (y[left] < 0).all() and (y[~left] > 0).all() and result.converged
    assert _violation(kernel_matrix(kernel, X, X), y, result.beta, box) <= 1.01e-3


def test_parts_are_heard_of_and_end_in_time(few_rows_are_divided):
    (X, y, box), kernel, heard = _local_problem(), KernelSpec("rbf", 2000.0), []
    with watched(callback=heard.append):
        _solve(X, y, box, kernel, tol=1e-3, threads=1, divide=_quarters([]))
    assert [facts["rounds"] for facts in heard[:5]] == [1] * 5 and heard[4]["rows"] == len(y)
    assert sorted(facts["steps"] for facts in heard[1:]) == [facts["steps"] for facts in heard[1:]]
    with watched(callback=lambda facts: len(heard) < facts["steps"] and facts["rows"] < len(y) / 2) as watch:
        ended = _solve(X, y, box, kernel, tol=1e-3, threads=1, divide=_quarters([]))
    assert watch.stopped and not ended.converged and abs(ended.beta.sum()) < 1e-9
    assert np.isfinite([ended.gap, ended.objective, ended.intercept]).all()
