"""LP-SVR: the optimum of one linear program over all rows, whatever it starts from, and what its parts say."""

from dataclasses import asdict

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.core.watch import watched
from svmreduce.data.synthetic import make
from svmreduce.errors import InputError
from svmreduce.experiments.config import Config
from svmreduce.experiments.planning import expand
from svmreduce.experiments.worker import run_task
from svmreduce.solvers._first_rows import rows_in_order
from svmreduce.solvers.lp_svr import LPSVC, LPSVR, tube_search

KERNELS = [
    {"gamma": 0.5},
    {"kernel": "linear"},
    {"kernel": "poly", "gamma": 0.01, "coef0": 1.0, "degree": 3},
    {"kernel": "sigmoid", "gamma": 0.3, "coef0": 0.5},
]


def whole_program(K, target, C, epsilon, weights=None):
    """Objective of the primal over all rows at once: α = α⁺ − α⁻, b free, a slack for each side of the tube."""
    n = len(target)
    weights = np.ones(n) if weights is None else weights
    cost = np.concatenate([np.ones(2 * n), [0.0], 2 * C * weights, 2 * C * weights])
    one, none, eye = np.ones((n, 1)), np.zeros((n, n)), np.eye(n)
    above, below = np.hstack([-K, K, -one, -eye, none]), np.hstack([K, -K, one, none, -eye])
    bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * (2 * n)
    found = linprog(
        cost, np.vstack([above, below]), np.concatenate([epsilon - target, epsilon + target]), bounds=bounds
    )
    assert found.status == 0
    return found.fun


def function_of(fitted, X):
    """α over all rows, b, and the residuals d − f without the target."""
    alpha = np.zeros(X.shape[0])
    alpha[fitted.support_] = fitted.dual_coef_[0]
    return alpha, fitted.intercept_[0], kernel_matrix(fitted.model_.kernel, X, X)


@pytest.mark.parametrize("first", ["random", "mahalanobis", "kernel_mahalanobis"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.get("kernel", "rbf"))
def test_decomposition_reaches_the_optimum_of_the_whole_program(kernel, first):
    data = make("sinc_times_pi", 150, seed=1)
    for C in (0.1, 10.0):
        fitted = LPSVR(C=C, epsilon=0.2, working_set=10, first=first, tol=1e-7, **kernel).fit(data.X, data.y)
        alpha, b, K = function_of(fitted, data.X)
        best = whole_program(K, data.y, C, 0.2)
        assert fitted.converged_ and fitted.n_iter_ > 2
        assert fitted.objective_ == pytest.approx(best, rel=1e-6)
        loss = np.maximum(np.abs(data.y - K @ alpha - b) - 0.2, 0)
        assert np.abs(alpha).sum() + 2 * C * loss.sum() == pytest.approx(fitted.objective_, rel=1e-9)


def test_from_all_rows_at_once_it_is_one_program():
    data = make("sinc", 100, seed=2)
    fitted = LPSVR(C=5, gamma=0.5, working_set=100, tol=1e-7).fit(data.X, data.y)
    few = LPSVR(C=5, gamma=0.5, working_set=8, tol=1e-7).fit(data.X, data.y)
    assert fitted.n_iter_ == 1 < few.n_iter_
    assert few.objective_ == pytest.approx(fitted.objective_, rel=1e-6)


def test_samples_that_grow_to_all_rows_end_at_the_same_optimum(monkeypatch):
    monkeypatch.setattr(tube_search, "LEAST_ROOM", 30)
    monkeypatch.setattr(tube_search, "ROOM", 1)
    data = make("sinc_times_pi", 600, seed=3)
    fitted = LPSVR(C=1, gamma=0.5, epsilon=0.1, working_set=10, candidates=40, tol=1e-7).fit(data.X, data.y)
    # only a sample of 40 and the first rows, ranked among all, may carry a coefficient; the errors of all rows count
    ranked = rows_in_order("mahalanobis", data.X, np.zeros(600, np.int64), None, target=data.y)[:10]
    pool = np.union1d(np.random.default_rng(0).choice(600, 40, replace=False), ranked)
    assert {entry["rows"] for entry in fitted.history_} == {len(pool), 8 * len(pool), 600} and len(pool) > 40
    assert set(fitted.support_) <= set(pool)
    K = kernel_matrix(fitted.model_.kernel, data.X, data.X)
    cost = np.concatenate([np.ones(2 * len(pool)), [0.0], np.full(600, 2.0)])
    basis = np.hstack([K[:, pool], -K[:, pool], np.ones((600, 1))])
    A = np.vstack([np.hstack([basis, -np.eye(600)]), np.hstack([-basis, -np.eye(600)])])
    bounds = [(0, None)] * (2 * len(pool)) + [(None, None)] + [(0, None)] * 600
    best = linprog(cost, A, np.concatenate([data.y + 0.1, 0.1 - data.y]), bounds=bounds).fun
    assert fitted.converged_ and fitted.objective_ == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_tube_and_prices_hold_on_all_rows_at_the_end(tol, monkeypatch):
    """A dual solution over all rows proves it: bounds, prices and complementarity up to the tolerance."""
    kept = []
    end = tube_search._Search.result
    monkeypatch.setattr(tube_search._Search, "result", lambda self, *units: (kept.append(self), end(self, *units))[1])
    data = make("sinc_times_pi", 1500, seed=4)
    fitted = LPSVR(C=2, gamma=0.5, epsilon=0.1, tol=tol, working_set=20).fit(data.X, data.y)
    alpha, b, K = function_of(fitted, data.X)
    residual, lam = data.y - K @ alpha - b, kept[0].lam
    assert np.abs(lam).max() <= 4 + 1e-6 and abs(lam.sum()) <= 1e-6
    price = K @ lam
    assert np.abs(price).max() <= 1 + tol + 1e-6
    used = alpha != 0
    np.testing.assert_allclose(price[used], np.sign(alpha[used]), atol=1e-6)
    assert np.all(np.abs(lam[np.abs(residual) < 0.1 - tol]) <= 1e-6)  # inside the tube nothing is paid
    outside = np.abs(residual) > 0.1 + tol
    np.testing.assert_allclose(lam[outside], 4 * np.sign(residual[outside]), atol=1e-6)
    assert fitted.gap_ <= tol


def test_weights_are_prices_of_rows():
    data = make("sinc_times_pi", 120, seed=5)
    weights = np.random.default_rng(0).uniform(0.2, 3, 120)
    fitted = LPSVR(C=1, gamma=0.5, tol=1e-7, working_set=20).fit(data.X, data.y, sample_weight=weights)
    K = kernel_matrix(fitted.model_.kernel, data.X, data.X)
    assert fitted.objective_ == pytest.approx(whole_program(K, data.y, 1, 0.1, weights), rel=1e-6)


def test_classes_are_targets_of_one_program_each():
    data = make("synthetic_ns", 90, seed=0)
    fitted = LPSVC(C=1, gamma=0.3, tol=1e-7, working_set=12).fit(data.X, data.y)
    K = kernel_matrix(fitted.model_.kernel, data.X, data.X)
    programs = [whole_program(K, np.where(data.y == label, 1.0, -1.0), 1, 0.5) for label in (1, 2, 3)]
    assert fitted.objective_ == pytest.approx(sum(programs), rel=1e-6)
    assert [entry["problem"] for entry in fitted.history_] == sorted(entry["problem"] for entry in fitted.history_)
    assert {entry["problem"] for entry in fitted.history_} == {0, 1, 2}
    # the pair (i, j) is fᵢ − fⱼ: votes and the largest value agree
    pairs = fitted.model_.decision_function(data.X)
    np.testing.assert_allclose(pairs[:, 0] + pairs[:, 2], pairs[:, 1], atol=1e-9)
    assert fitted.score(data.X, data.y) > 0.8


def test_support_vectors_by_kind_after_every_program():
    data = make("sinc_times_pi", 800, seed=6)
    fitted = LPSVR(C=1, gamma=0.5, epsilon=0.2, working_set=20).fit(data.X, data.y)
    assert len(fitted.history_) == fitted.n_iter_
    size = np.abs(data.y - fitted.predict(data.X))
    last = fitted.history_[-1]
    assert last["saturated"] == np.sum(size > 0.2 + 1e-3)
    assert last["exact"] == pytest.approx(np.sum(np.abs(size - 0.2) <= 1e-3), abs=1)
    assert last["sparse"] == len(fitted.support_) and last["objective"] == fitted.objective_


def test_an_experiment_records_the_course_of_the_kinds():
    data = {"generator": "sinc_times_pi", "rows": 300, "test_rows": 50}
    solver = {"name": "lp_svr", "working_set": 20, "gamma": 0.5}
    (task,) = expand(Config.model_validate({"name": "kinds", "datasets": [data], "solvers": [solver]}))
    facts = run_task(asdict(task))
    curves = [facts["counters"][f"{kind}_vectors"] for kind in ("saturated", "exact", "sparse")]
    assert [len(curve) for curve in curves] == [facts["counters"]["n_iter"]] * 3
    assert curves[2][-1] == facts["sizes"]["vectors"]


@pytest.mark.parametrize("first", ["random", "mahalanobis", "file"])
def test_the_first_working_set_is_what_was_ranked_first(first, monkeypatch):
    seen = []
    enter = tube_search._Search._enter

    def spy(self, sample, rows, known_to):
        seen.append(rows)
        enter(self, sample, rows, known_to)

    monkeypatch.setattr(tube_search._Search, "_enter", spy)
    data = make("synthetic_ns", 90, seed=0)
    fitted = LPSVC(first=first, working_set=9, gamma=0.3).fit(data.X, data.y)
    groups = np.unique(data.y, return_inverse=True)[1]
    expected = rows_in_order(first, data.X, groups, fitted.model_.kernel)[:9]
    assert all(np.array_equal(rows, expected) for rows in seen)
    assert np.bincount(groups[expected]).tolist() == [3, 3, 3]


def test_an_oracle_starts_from_the_rows_with_coefficients(monkeypatch):
    data = make("sinc_times_pi", 300, seed=0)
    known = LPSVR(first="random", gamma=0.5, working_set=20).fit(data.X, data.y)
    seen = []
    run = tube_search._Search.run
    monkeypatch.setattr(
        tube_search._Search, "run", lambda self, first, *more: seen.append(first) or run(self, first, *more)
    )
    fitted = LPSVR(first="oracle", gamma=0.5, working_set=20).fit(data.X, data.y)
    assert len(seen) == 2 and len(seen[1]) == 20
    assert set(known.support_) <= set(seen[1])
    assert fitted.objective_ == pytest.approx(known.objective_, rel=1e-3)


def test_a_limit_on_programs_is_told():
    data = make("sinc_times_pi", 500, seed=0)
    with pytest.warns(UserWarning, match="LPSVR stopped before it reached tol; raise max_iter"):
        fitted = LPSVR(max_iter=2, working_set=10, gamma=0.5).fit(data.X, data.y)
    assert fitted.n_iter_ == 2 and not fitted.converged_


def test_a_target_that_fits_into_the_tube_needs_no_vector():
    X = np.linspace(0, 1, 30)[:, None]
    fitted = LPSVR(epsilon=1.0).fit(X, np.sin(X[:, 0]))
    assert fitted.objective_ == 0 and np.ptp(fitted.predict(X)) == 0
    assert fitted.dual_coef_.tolist() == [[0.0]]


def test_kernel_values_beyond_a_linear_program():
    X = 1e4 * np.arange(1.0, 9)[:, None]
    for rows in (X, sparse.csr_matrix(X)):
        with pytest.raises(InputError, match=r"^kernel values reach 3e\+29, too large for a linear program: scale the"):
            LPSVR(kernel="poly", gamma=1.0).fit(rows, np.arange(8.0))


@pytest.mark.parametrize("unit", [1e-6, 1e6, 1e9])
def test_the_unit_and_the_zero_of_the_target_do_not_matter(unit):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 3))
    y = 1 + 0.3 * np.sin(X.sum(axis=1)) + 0.1 * rng.normal(size=200)
    plain = LPSVR(C=10, epsilon=0.02, tol=1e-6).fit(X, y)
    other = LPSVR(C=10, epsilon=0.02 * unit, tol=1e-6).fit(X, unit * (y + 5))
    assert plain.converged_ and other.converged_
    assert other.objective_ == pytest.approx(unit * plain.objective_, rel=1e-5)
    assert other.predict(X) / unit - 5 == pytest.approx(plain.predict(X), abs=1e-3)


def test_small_kernel_values_are_part_of_the_program():
    """HiGHS leaves out what is below 1e-9 unless it is told not to."""
    X = 1e-5 * np.random.default_rng(0).normal(size=(60, 2))
    fitted = LPSVR(kernel="linear", C=1e10, epsilon=0.01).fit(X, 1e5 * (X @ [1.0, 2.0]))
    assert fitted.converged_ and fitted.score(X, 1e5 * (X @ [1.0, 2.0])) > 0.999


def test_equal_rows_with_other_targets():
    """Rows that are there many times, and prices that are equal: many programs have the same optimum."""
    rng = np.random.default_rng(8)
    X = np.repeat(rng.integers(0, 3, (40, 3)).astype(float), 4, axis=0)
    y = np.where(rng.random(160) < 0.5, 1.0, -1.0)
    fitted = LPSVR(C=3, gamma=0.3, tol=1e-7, working_set=20).fit(X, y)
    K = kernel_matrix(fitted.model_.kernel, X, X)
    assert fitted.converged_ and fitted.objective_ == pytest.approx(whole_program(K, y, 3, 0.1), rel=1e-7)


@pytest.mark.parametrize("n", [2, 3])
def test_hardly_any_rows(n):
    X = np.arange(n)[:, None].astype(float)
    fitted = LPSVR(C=100, epsilon=0.01, tol=1e-7).fit(X, X[:, 0])
    K = kernel_matrix(fitted.model_.kernel, X, X)
    assert fitted.objective_ == pytest.approx(whole_program(K, X[:, 0], 100, 0.01), rel=1e-7)


@pytest.mark.parametrize("seconds", [1e-9, 0.05])
def test_a_time_limit_leaves_the_best_function_so_far(seconds):
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(1500, 40)), rng.normal(size=1500)
    with watched(seconds) as watch, pytest.warns(UserWarning, match="stopped before it reached tol"):
        fitted = LPSVR(threads=1).fit(X, y)
    assert watch.stopped and not fitted.converged_ and np.isfinite(fitted.predict(X)).all()
    if seconds < 1e-6:
        assert np.ptp(fitted.predict(X)) == 0 and fitted.intercept_[0] == np.median(y)


def test_all_classes_get_a_share_of_the_time():
    data = make("synthetic_ns", 1500, seed=1)
    with watched(1e-9), pytest.warns(UserWarning, match="stopped before it reached tol"):
        fitted = LPSVC(gamma=0.3).fit(data.X, data.y)
    assert fitted.n_iter_ == 3 and set(fitted.predict(data.X)) <= set(data.y)
