"""The search finds what GridSearchCV(SVC) finds, and keeps scikit-learn's contract."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, mean_squared_error, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR

from svmreduce.core.cost_paths import block_shape, solve_path
from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.core.optimality import kkt_gap
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from svmreduce.search import SVMSearchCV

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
C, GAMMA = [0.1, 1.0, 10.0, 100.0], [0.003, 0.03, 0.3]
SETS = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "cancer": lambda: load_breast_cancer(return_X_y=True),
    "moons": lambda: make_moons(300, noise=0.3, random_state=0),
    "digits": lambda: tuple(part[:400] for part in load_digits(return_X_y=True)),
}


def rows_of(name):
    X, y = SETS[name]()
    return scale(X), y


def scores_of(search, fold):
    found = search.cv_results_
    return {tuple(p.values()): s for p, s in zip(found["params"], found[f"split{fold}_test_score"], strict=True)}


@pytest.mark.parametrize("name", SETS)
def test_every_fold_equals_grid_search(name):
    X, y = rows_of(name)
    peer = GridSearchCV(SVC(), {"C": C, "gamma": GAMMA}, cv=FOLDS).fit(X, y)
    own = SVMSearchCV(C, GAMMA, cv=FOLDS, threads=1).fit(X, y)
    for fold, (_, test) in enumerate(FOLDS.split(X, y)):
        ours, theirs = scores_of(own, fold), scores_of(peer, fold)
        assert max(abs(ours[cell] - theirs[cell]) for cell in theirs) * len(test) < 2.5
    assert abs(own.best_score_ - peer.best_score_) * len(y) <= 1.001
    assert own.cv_results_["max_gap"].max() <= 1e-3


def pair_problem(n=200, seed=0):
    X, y = make_moons(n, noise=0.35, random_state=seed)
    return X, np.where(y == 1, 1.0, -1.0)


def path(X, y, Cs, gamma=2.0, tol=1e-3, kernel="rbf"):
    n = len(y)
    K = kernel_matrix(KernelSpec(kernel, gamma), X, X, np.float32)
    f, beta, facts = np.empty((len(Cs), n)), np.empty((len(Cs), n)), np.empty((len(Cs), 3))
    solve_path(K, n, np.arange(n), y, np.minimum(y, 0), np.maximum(y, 0), np.array(Cs),
               tol, 10**7, np.full(block_shape(n), np.nan, np.float32), f, beta, facts)  # fmt: skip
    return f, beta, facts


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_every_cell_is_optimal_in_double(kernel):
    X, y = pair_problem()
    Cs = [0.01, 0.1, 1.0, 10.0, 100.0]
    _, beta, facts = path(X, y, Cs, kernel=kernel)
    exact = kernel_matrix(KernelSpec(kernel, 2.0), X, X)
    for c, one in enumerate(Cs):
        lower, upper = one * np.minimum(y, 0), one * np.maximum(y, 0)
        assert (beta[c] >= lower - 1e-12).all() and (beta[c] <= upper + 1e-12).all()
        assert abs(beta[c].sum()) <= 1e-9 * one * len(y)
        assert kkt_gap(y - exact @ beta[c], beta[c], lower, upper) <= 1.1e-3
        assert facts[c, 1] <= 1e-3


def test_a_warm_start_ends_where_a_cold_one_ends():
    X, y = pair_problem()
    exact = kernel_matrix(KernelSpec("rbf", 2.0), X, X)
    Cs = [0.02, 0.3, 4.0, 60.0]
    _, warm, _ = path(X, y, Cs, tol=1e-5)
    for c, one in enumerate(Cs):
        _, cold, _ = path(X, y, [one], tol=1e-5)
        values = [0.5 * beta @ exact @ beta - y @ beta for beta in (warm[c], cold[0])]
        assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_a_small_block_is_enough():
    """Fewer rows in the block than support vectors: rounds over parts reach the same optimum."""
    X, y = pair_problem(400)
    n, K = 400, kernel_matrix(KernelSpec("rbf", 2.0), X, X, np.float32)
    f, beta, facts = np.empty((2, n)), np.empty((2, n)), np.empty((2, 3))
    solve_path(K, n, np.arange(n), y, np.minimum(y, 0), np.maximum(y, 0), np.array([1.0, 30.0]), 1e-3,
               10**7, np.full(block_shape(64), np.nan, np.float32), f, beta, facts)  # fmt: skip
    assert facts[:, 1].max() <= 1e-3


def test_targets_beyond_float32_are_not_said_to_have_converged():
    X = np.random.default_rng(0).normal(size=(75, 2))
    with pytest.warns(ConvergenceWarning):
        search = SVMSearchCV([1.0, 1e3], [0.5], epsilon=0.1, cv=3, refit=False, threads=1).fit(
            X, 1e20 * np.sin(X[:, 0])
        )
    assert search.cv_results_["max_gap"].max() > 1e-3


def test_without_room_for_the_matrix_the_answers_are_the_same():
    X, y = rows_of("iris")
    roomy = SVMSearchCV(C, GAMMA, cv=FOLDS, threads=1, refit=False).fit(X, y)
    tight = SVMSearchCV(C, GAMMA, cv=FOLDS, threads=1, refit=False, cache_mb=0.05).fit(X, y)
    assert tight.kernel_evals_ > 0 == roomy.kernel_evals_
    for fold in range(5):
        ours, theirs = scores_of(tight, fold), scores_of(roomy, fold)
        assert max(abs(ours[cell] - theirs[cell]) for cell in theirs) * 30 < 1.5


def test_the_order_of_the_grid_changes_nothing():
    X, y = rows_of("moons")
    one = SVMSearchCV(C, GAMMA, cv=FOLDS, refit=False).fit(X, y)
    other = SVMSearchCV(C[::-1], GAMMA[::-1], cv=FOLDS, refit=False).fit(X, y)
    assert one.best_params_ == other.best_params_
    assert np.array_equal(one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"])


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("balanced_accuracy", lambda y, f: balanced_accuracy_score(y, f > 0)),
        ("f1", lambda y, f: f1_score(y, f > 0)),
        ("auc", roc_auc_score),
        ("accuracy", lambda y, f: accuracy_score(y, f > 0)),
    ],
)
def test_scores_are_those_of_scikit_learn(name, measure):
    X, y = rows_of("moons")
    search = SVMSearchCV([1.0], [0.5], cv=FOLDS, scoring=name, refit=False).fit(X, y)
    for fold, (train, test) in enumerate(FOLDS.split(X, y)):
        peer = SVC(C=1.0, gamma=0.5, tol=1e-5).fit(X[train], y[train])
        expected = measure(y[test], peer.decision_function(X[test]))
        assert search.cv_results_[f"split{fold}_test_score"][0] == pytest.approx(expected, abs=0.02)


def test_class_weights_are_those_of_the_fold():
    X, y = rows_of("cancer")
    peer = GridSearchCV(SVC(class_weight="balanced"), {"C": [0.05, 1.0], "gamma": [0.03]}, cv=FOLDS).fit(X, y)
    own = SVMSearchCV([0.05, 1.0], [0.03], cv=FOLDS, class_weight="balanced", refit=False).fit(X, y)
    assert own.cv_results_["mean_test_score"] == pytest.approx(peer.cv_results_["mean_test_score"], abs=0.004)


def test_regression_equals_svr():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (120, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=120)
    folds = KFold(4, shuffle=True, random_state=0)
    search = SVMSearchCV([1.0, 20.0], [0.3], epsilon=[0.05, 0.2], cv=folds).fit(X, y)
    assert search.cv_results_["max_gap"].max() <= 1e-3
    for params, mean in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        errors = [
            mean_squared_error(y[test], SVR(tol=1e-5, **params).fit(X[train], y[train]).predict(X[test]))
            for train, test in folds.split(X)
        ]
        assert -mean == pytest.approx(np.mean(errors), rel=0.01)
    assert search.score(X, y) == pytest.approx(-mean_squared_error(y, search.predict(X)))


def test_the_contract_of_a_search():
    X, y = rows_of("iris")
    search = SVMSearchCV([1.0, 10.0], [0.03, 0.3], cv=3)
    copy = clone(search)
    assert copy.get_params()["C"] == [1.0, 10.0]
    copy.fit(X, y)
    assert copy.best_params_ == copy.cv_results_["params"][copy.best_index_]
    assert copy.cv_results_["rank_test_score"][copy.best_index_] == 1
    assert copy.best_score_ == copy.cv_results_["mean_test_score"].max()
    assert accuracy_score(y, copy.predict(X)) == copy.score(X, y) > 0.95
    assert copy.decision_function(X).shape == (150, 3)
    assert cross_val_score(search, X, y, cv=3).mean() > 0.9
    splits = list(FOLDS.split(X, y))[:2]
    assert SVMSearchCV([1.0], [0.1], cv=splits, refit=False).fit(X, y).n_splits_ == 2


def test_two_threads_find_the_same():
    X, y = rows_of("wine")
    one, two = (SVMSearchCV(C, GAMMA, cv=FOLDS, threads=threads, refit=False).fit(X, y) for threads in (1, 2))
    assert np.array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])


@pytest.mark.parametrize("screen", ["random", "aesvm"])
def test_screening_keeps_a_good_cell(screen):
    X, y = make_moons(1200, noise=0.25, random_state=1)
    grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.1, 1.0, 10.0]}
    exact = SVMSearchCV(**grid, cv=FOLDS, refit=False).fit(X, y)
    quick = SVMSearchCV(**grid, cv=FOLDS, refit=False, screen=screen).fit(X, y)
    assert quick.best_score_ >= exact.best_score_ - 0.01
    assert quick.screened_["exact_fits_saved"] == 8 * 5
    assert np.isnan(quick.cv_results_["mean_test_score"]).sum() == 8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": [-1.0]}, "C must be positive numbers, got -1"),
        ({"C": []}, "C: no values are given"),
        ({"C": np.arange(1, 1001), "gamma": np.arange(1, 1001)}, "1,000,000 cells"),
        ({"scoring": "acuracy"}, "accuracy"),
        ({"scoring": "mse"}, "mse does not measure classification"),
        ({"kernel": "rbff"}, "rbff"),
    ],
)
def test_bad_settings_are_one_clear_error(settings, message):
    X, y = rows_of("iris")
    with pytest.raises(InputError, match=message):
        SVMSearchCV(**settings).fit(X, y)


def test_a_fold_with_one_class_is_refused():
    X, y = rows_of("moons")
    ones = np.flatnonzero(y == 1)
    with pytest.raises(InputError, match="one class only"):
        SVMSearchCV([1.0], [1.0], cv=[(ones, np.flatnonzero(y == 0))]).fit(X, y)


def test_a_path_that_runs_out_of_time_has_no_scores(monkeypatch):
    """Without the matrix a path may stop between two C: none of its scores may be made up."""
    X, y = rows_of("moons")
    clock = iter(np.arange(0.0, 1e6, 1.0))
    monkeypatch.setattr("svmreduce.search.search_cv.monotonic", lambda: next(clock))
    monkeypatch.setattr("svmreduce.search.fold_paths.monotonic", lambda: next(clock))
    search = SVMSearchCV(C, GAMMA, cv=2, threads=1, refit=False, cache_mb=0.05, budget=13)
    search.fit(X, y)
    for fold in range(2):
        scores = search.cv_results_[f"split{fold}_test_score"].reshape(len(C), len(GAMMA))
        assert all(np.isnan(scores[:, g]).all() or not np.isnan(scores[:, g]).any() for g in range(len(GAMMA)))
    missing = np.isnan(search.cv_results_["mean_test_score"])
    assert 0 < missing.sum() < len(missing)


def test_a_search_that_did_not_converge_warns():
    X, y = rows_of("moons")
    with pytest.warns(ConvergenceWarning, match="before they reached tol"):
        assert not SVMSearchCV(C=[100.0], gamma=[1.0], tol=1e-15, refit=False).fit(X, y).converged_


def test_a_weight_of_no_class_is_refused():
    X, y = rows_of("moons")
    with pytest.raises(InputError, match="class_weight names 7"):
        SVMSearchCV([1.0], [1.0], class_weight={7: 2.0}).fit(X, y)


def test_a_budget_of_no_time_says_so():
    X, y = rows_of("moons")
    with pytest.raises(InputError, match="no cell was finished"):
        SVMSearchCV(C, GAMMA, budget=1e-9).fit(X, y)


def test_rows_of_any_size_have_the_same_solution():
    """Values of the linear kernel around 1e-12: nothing of them counts as nothing."""
    X, y = pair_problem()
    _, large, _ = path(X, y, [1.0, 10.0], kernel="linear")
    _, small, facts = path(X * 1e-6, y, [1e12, 1e13], kernel="linear")
    assert facts[:, 1].max() <= 1e-3
    exact = X @ X.T
    for one, other in zip(large, small * 1e-12, strict=True):
        values = [0.5 * beta @ exact @ beta - y @ beta for beta in (one, other)]
        assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_rows_of_very_different_sizes_are_optimal():
    """Linear kernel, a few rows a thousand times as long as the rest: what small rows feel is not taken for nothing."""
    X, y = pair_problem()
    X[:3] *= 1e3
    _, _, facts = path(X, y, [1.0], kernel="linear")
    assert facts[0, 1] <= 1e-3 and facts[0, 2] < 10**6


def test_columns_far_from_zero_do_not_blur_a_linear_kernel():
    X, y = rows_of("cancer")
    near, far = (SVMSearchCV([1.0], kernel="linear", cv=FOLDS, refit=False).fit(X + off, y) for off in (0.0, 1e4))
    assert far.best_score_ == pytest.approx(near.best_score_, abs=2 / len(y))


def test_kernel_values_beyond_all_numbers_are_refused():
    X, y = rows_of("wine")
    with pytest.raises(InputError, match="too large"):
        SVMSearchCV([1.0], [1.0], kernel="poly", degree=5, cv=FOLDS, refit=False).fit(X * 1e5, y)
