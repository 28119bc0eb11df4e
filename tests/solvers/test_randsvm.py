"""RandSVM: the optimum and its proof, why it stops, what a round is, and what each backend is given."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.core.optimality import correct_near_margin, kkt_gap
from svmreduce.data.synthetic import make
from svmreduce.errors import InputError
from svmreduce.randsvm import RandSVM, support_limit
from svmreduce.solvers.liblinear import Liblinear
from svmreduce.solvers.smo import SMO


def cloud(rows=600, features=4, spread=1.5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(rows) < 0.5, 1.0, -1.0)
    return rng.normal(size=(rows, features)) + y[:, None] / spread, y


def certificate(fitted, X, y, C, weights=1.0):
    """Gap of the optimality conditions and between primal and dual, from first principles."""
    K = kernel_matrix(fitted.model_.kernel, X, X)
    beta = np.zeros(len(y))
    beta[fitted.support_] = fitted.dual_coef_[0]
    box = C * weights * np.ones(len(y))
    gap = kkt_gap(y - K @ beta, beta, np.where(y > 0, 0, -box), np.where(y > 0, box, 0))
    loss = box @ np.maximum(0, 1 - y * (K @ beta + fitted.intercept_[0]))
    norm = beta @ K @ beta
    return gap, norm / 2 + loss - (beta @ y - norm / 2)


@pytest.mark.parametrize("backend", ["smo", "libsvm"])
@pytest.mark.parametrize(
    "kernel", [{"gamma": 0.3}, {"kernel": "linear"}, {"kernel": "poly", "gamma": 0.2, "coef0": 1.0, "degree": 2}]
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_without_violators_it_is_the_optimum_of_all_rows(backend, kernel, form):
    X, y = cloud()
    fitted = RandSVM(C=2, k=400, c=0.9, backend=backend, tol=1e-4, **kernel).fit(form(X), y)
    assert fitted.stop_reason_ == "no violators" and fitted.rounds_ > 1 and fitted.converged_
    oracle = SVC(C=2, tol=1e-6, **{"kernel": "rbf", **kernel}).fit(X, y)
    assert_allclose(fitted.decision_function(form(X)), oracle.decision_function(X), atol=2e-3)
    gap, duality_gap = certificate(fitted, X, y, 2)
    assert fitted.gap_ == pytest.approx(gap, abs=1e-6) and gap <= 1e-4
    assert fitted.duality_gap_ == pytest.approx(duality_gap, abs=1e-5 * abs(fitted.objective_))
    assert 0 <= duality_gap <= 1e-4 * abs(fitted.objective_)
    assert fitted.history_[-1]["violators"] == 0
    assert fitted.history_[-1]["scanned"] + fitted.history_[-1]["rows"] == len(y)


def test_in_float32_the_proof_is_still_one_in_double():
    data = make("checkerboard", 20_000, seed=0)
    fitted = RandSVM(C=1000, gamma=2.0, k=3000, c=1.0).fit(data.X, data.y)
    assert fitted.stop_reason_ == "no violators" and fitted.rounds_ > 2
    K = kernel_matrix(fitted.model_.kernel, data.X, fitted.support_vectors_)
    f = K @ fitted.dual_coef_[0]
    beta = np.zeros(len(data.y))
    beta[fitted.support_] = fitted.dual_coef_[0]
    lower, upper = np.where(data.y > 0, 0, -1000.0), np.where(data.y > 0, 1000.0, 0)
    assert fitted.gap_ <= 1e-3 and fitted.gap_ == pytest.approx(kkt_gap(data.y - f, beta, lower, upper), abs=1e-8)


def test_float32_that_is_far_off_is_not_believed():
    y = np.ones(6)
    exact = np.array([0.5, 0.9, 1.05, 2.0, 3.0, 4.0])
    slightly, badly = exact + 0.01, exact + np.array([0.1, 0.0, 0.0, -3.0, 0.0, 1.0])
    asked = []

    def true_values(rows):
        asked.append(rows.tolist())
        return exact[rows]

    correct_near_margin(slightly, np.arange(6), y, 0.0, true_values)
    assert asked == [[0, 1, 2]] and slightly.tolist() == [0.5, 0.9, 1.05, 2.01, 3.01, 4.01]
    correct_near_margin(badly, np.arange(6), y, 0.0, true_values)
    assert asked[1:] == [[0, 1, 2, 3], [0, 1, 2, 3, 4, 5]] and badly.tolist() == exact.tolist()


def test_every_stop_is_named():
    data = make("twonorm", 4000, seed=0)

    def ends(**settings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return RandSVM(C=1, gamma=0.05, **settings).fit(data.X, data.y)

    at_k = ends(k=100)
    assert at_k.stop_reason_ == "k support vectors" and len(at_k.support_) >= 100 and at_k.converged_
    assert at_k.gap_ is None and at_k.duality_gap_ is None
    full = ends(k=100, c=0.3)
    assert full.stop_reason_ == "sample full" and len(full.support_) == 30 and not full.converged_
    cut_short = ends(k=1000, c=0.5, max_rounds=2)
    assert cut_short.stop_reason_ == "max_rounds" and cut_short.rounds_ == 2 and not cut_short.converged_
    with pytest.warns(ConvergenceWarning, match=r"RandSVM stopped before it reached tol; raise max_rounds$"):
        RandSVM(C=1, gamma=0.05, k=1000, c=0.5, max_rounds=2).fit(data.X, data.y)
    with pytest.warns(ConvergenceWarning, match="no room for violators next to the support vectors: raise c"):
        RandSVM(C=1, gamma=0.05, k=100, c=0.3).fit(data.X, data.y)


def test_a_round_is_the_support_vectors_and_violators_up_to_the_size_of_a_sample():
    data = make("twonorm", 30_000, seed=0)
    fitted = RandSVM(C=1, gamma=0.05, k=1200, c=1.0).fit(data.X, data.y)
    assert fitted.rounds_ > 2
    for before, after in zip(fitted.history_, fitted.history_[1:], strict=False):
        assert after["rows"] == min(1200, before["support_vectors"] + before["violators"])
        assert after["rows"] > before["support_vectors"]
    # many violators: the scan ends as soon as the sample is full
    assert fitted.history_[1]["scanned"] < 30_000 - 1200


def test_the_dual_objective_rises_with_every_round():
    data = make("checkerboard", 3000, seed=0)
    objectives = []
    for rounds in (1, 2, 3, 4, 5, 100):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = RandSVM(C=10, gamma=2.0, k=450, c=1.0, max_rounds=rounds, tol=1e-5).fit(data.X, data.y)
        objectives.append(fitted.objective_)
    best = SMO(C=10, gamma=2.0, tol=1e-5).fit(data.X, data.y).objective_
    assert np.all(np.diff(objectives) < 0)  # LIBSVM's sign
    assert objectives[-1] == pytest.approx(best, rel=1e-6)


def test_few_violators_are_all_taken_whatever_the_seed():
    data = make("checkerboard", 3000, seed=0)
    models = [RandSVM(C=10, gamma=2.0, k=500, random_state=seed).fit(data.X, data.y) for seed in (1, 2)]
    assert_allclose(models[0].decision_function(data.X), models[1].decision_function(data.X), atol=5e-3)
    assert models[0].history_[0] != models[1].history_[0]


def test_the_number_of_threads_changes_nothing():
    data = make("twonorm", 40_000, seed=0)
    alone, two = (RandSVM(C=1, gamma=0.05, k=600, threads=n).fit(data.X, data.y) for n in (1, 2))
    assert alone.history_ == two.history_ and np.array_equal(alone.support_, two.support_)


def test_k_is_that_of_the_paper():
    assert support_limit(100_000, 0.2, 0.9, separable=False) == math.ceil(32 * math.log(4e5 / 0.9) / 0.04) == 10_404
    assert support_limit(1_000_000, 0.2, 0.9, separable=True) == 6_123
    assert support_limit(500, 0.0, 0.9, separable=False) == 500
    X, y = cloud(50)
    assert RandSVM().fit(X, y).k_ == support_limit(50, 0.2, 0.9, separable=False)
    assert RandSVM(k=7).fit(X, y).k_ == 7


def test_rows_longer_than_one_are_told_where_the_bound_needs_them_short():
    X, y = cloud(50)
    longest = np.linalg.norm(X, axis=1).max()
    with pytest.warns(
        UserWarning, match=rf"assumes rows of norm at most 1 in feature space; the longest has {longest:.4g}"
    ):
        fitted = RandSVM(kernel="linear").fit(X, y)
    assert fitted.largest_norm_ == pytest.approx(longest)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert RandSVM().fit(X, y).largest_norm_ == 1.0  # rbf: every row has length 1
        RandSVM(kernel="linear", k=40).fit(X, y)  # a k of one's own needs no bound
        RandSVM(kernel="linear").fit(X / longest, y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_liblinear_as_backend(form):
    X, y = cloud(2000, 5)
    C = 0.01  # LIBLINEAR's coordinate descent is slow for a large one
    fitted = RandSVM(C=C, kernel="linear", backend="liblinear", k=1500, c=0.7).fit(form(X), y)
    assert fitted.stop_reason_ == "no violators" and fitted.rounds_ > 1 and fitted.gap_ is None
    everything = Liblinear(C=C, loss="hinge", tol=1e-6).fit(X, y)
    assert_allclose(fitted.decision_function(form(X)), everything.decision_function(X), atol=1e-2)
    w, b = fitted.coef_[0], fitted.intercept_[0]
    primal = (w @ w + b * b) / 2 + C * np.maximum(0, 1 - y * (X @ w + b)).sum()
    assert fitted.duality_gap_ == pytest.approx(primal + fitted.objective_, abs=1e-9)
    assert fitted.converged_ and 0 <= fitted.duality_gap_ <= 1e-4 * primal
    assert primal == pytest.approx(-everything.objective_, rel=1e-4)


def test_a_rare_class_is_in_every_sample():
    X, y = cloud(3000)
    y[:] = 1.0
    y[1234], X[1234] = -1.0, -5.0
    for settings in ({}, {"kernel": "linear", "backend": "liblinear"}):
        fitted = RandSVM(C=10, k=20, c=1.0, **settings).fit(X, y)
        assert fitted.predict(X[1234:1235]).tolist() == [-1.0]


def test_weights_need_the_backend_that_takes_them():
    X, y = cloud(300)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, 300)
    fitted = RandSVM(C=1, gamma=0.3, k=220, c=0.9, tol=1e-5).fit(X, y, sample_weight=weights)
    assert fitted.rounds_ > 1
    gap, duality_gap = certificate(fitted, X, y, 1, weights)
    assert gap <= 1e-5 and fitted.duality_gap_ == pytest.approx(duality_gap, abs=1e-7)
    oracle = SVC(C=1, gamma=0.3, tol=1e-6).fit(X, y, sample_weight=weights)
    assert_allclose(fitted.decision_function(X), oracle.decision_function(X), atol=1e-3)
    for backend, kernel in (("libsvm", "rbf"), ("liblinear", "linear")):
        with pytest.raises(InputError, match=f"RandSVM with backend '{backend}' cannot take sample_weight: official"):
            RandSVM(backend=backend, kernel=kernel, k=10).fit(X, y, sample_weight=weights)


def test_backends_by_name():
    X, y = cloud(50)
    with pytest.raises(InputError, match="backend must be one of smo, libsvm, liblinear, got 'libsv'"):
        RandSVM(backend="libsv").fit(X, y)
    with pytest.raises(InputError, match="backend 'liblinear' is for kernel 'linear', got kernel 'rbf'"):
        RandSVM(backend="liblinear").fit(X, y)
