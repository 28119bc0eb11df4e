"""LS-SVM against its linear system; the tree and the network against scikit-learn itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.tree import DecisionTreeRegressor

from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.data.synthetic import make
from svmreduce.solvers import lssvm
from svmreduce.solvers.lssvm import LSSVM
from svmreduce.solvers.sklearn_baselines import NetworkClassifier, NetworkRegressor, TreeRegressor


def cloud(rows=200, features=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    return rng.normal(size=(rows, features)) + 1.5 * np.eye(classes, features)[y], y


def solved(K, y, ridge):
    """α and b of (K + diag(ridge))·α + b = y, Σα = 0."""
    n = len(y)
    one = np.ones((n, 1))
    system = np.block([[K + np.diag(ridge), one], [one.T, np.zeros((1, 1))]])
    found = np.linalg.solve(system, np.append(y, 0.0))
    return found[:n], found[n]


@pytest.mark.parametrize("cache_mb", [100, 0.01])  # the kernel matrix kept, and computed anew
@pytest.mark.parametrize(
    "kernel", [{"gamma": 0.3}, {"kernel": "linear"}, {"kernel": "poly", "gamma": 0.2, "degree": 2}]
)
def test_the_linear_system_is_solved(kernel, cache_mb):
    X, y = cloud()
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    for rows in (X, sparse.csr_matrix(X)):
        fitted = LSSVM(C=2, tol=1e-8, cache_mb=cache_mb, **kernel).fit(rows, y, sample_weight=weights)
        K = kernel_matrix(fitted.model_.kernel, X, X)
        alpha, b = solved(K, np.where(y == 1, 1.0, -1.0), 1 / (2 * weights))
        assert fitted.converged_ and fitted.gap_ <= 1e-8
        assert_allclose(fitted.decision_function(rows), K @ alpha + b, atol=1e-6)
        errors = np.where(y == 1, 1.0, -1.0) - K @ alpha - b
        expected = alpha @ K @ alpha / 2 + (weights * errors**2).sum()  # ½‖w‖² + C/2 Σ w·e²
        assert fitted.objective_ == pytest.approx(expected, rel=1e-6)


def test_every_row_is_a_support_vector_and_the_gap_is_the_largest_error():
    X, y = cloud()
    fitted = LSSVM(C=1, gamma=0.3, tol=1e-2).fit(X, y)
    assert len(fitted.support_) == len(y)
    alpha = np.empty(len(y))
    alpha[fitted.support_] = fitted.dual_coef_[0]
    sign = np.where(y == 1, 1.0, -1.0)
    assert fitted.gap_ == pytest.approx(np.abs(sign - fitted.decision_function(X) - alpha).max(), abs=1e-9)
    assert 0 < fitted.gap_ <= 1e-2
    with pytest.warns(UserWarning, match="LSSVM stopped before it reached tol; raise max_iter"):
        assert LSSVM(C=1e4, gamma=0.3, tol=1e-6, max_iter=2).fit(X, y).n_iter_ == 2


def test_a_few_rows_guide_the_steps():
    """By itself the matrix, of condition 10⁶, would take 300."""
    data = make("checkerboard", 1500, seed=0)
    fitted = LSSVM(C=1e3, gamma=0.5, tol=1e-4).fit(data.X, data.y)
    assert fitted.converged_ and fitted.n_iter_ < 50


def test_where_single_precision_is_not_enough_kernel_values_are_double():
    """In float32 the conjugate gradients would go on to their limit, 8,010 steps."""
    data = make("checkerboard", 800, seed=0)
    fitted = LSSVM(C=1e6, gamma=0.5, cache_mb=1).fit(data.X, data.y)
    assert fitted.converged_ and fitted.gap_ <= 1e-3 and fitted.n_iter_ < 1000


def test_a_guide_in_single_precision_is_as_good(monkeypatch):
    X, y = cloud(900, 6)
    single = LSSVM(C=100.0, gamma=0.3).fit(X, y)
    monkeypatch.setattr(lssvm, "SINGLE_GUIDE", 0.0)
    double = LSSVM(C=100.0, gamma=0.3).fit(X, y)
    assert double.converged_ and abs(double.n_iter_ - single.n_iter_) <= 1
    assert_allclose(single.decision_function(X), double.decision_function(X), atol=0.02)


@pytest.mark.parametrize(("C", "spread"), [(1e10, 0), (1e6, 6), (1e-6, 6)])
def test_large_C_and_very_unequal_weights(C, spread):
    X, y = cloud(400, 5)
    weights = 10.0 ** np.random.default_rng(1).uniform(-spread, spread, len(y))
    fitted = LSSVM(C=C, gamma=0.5).fit(X, y, sample_weight=weights)
    assert fitted.converged_ and fitted.n_iter_ < 300
    alpha, b = solved(kernel_matrix(fitted.model_.kernel, X, X), np.where(y == 1, 1.0, -1.0), 1 / (C * weights))
    expected = kernel_matrix(fitted.model_.kernel, X, X) @ alpha + b
    assert_allclose(fitted.decision_function(X), expected, atol=0.02 * np.abs(expected).max())


def test_the_tree_is_that_of_scikit_learn():
    data = make("sinc_times_pi", 400, seed=0)
    fitted = TreeRegressor(leaf_rows=7, random_state=3).fit(data.X, data.y)
    oracle = DecisionTreeRegressor(min_samples_leaf=7, random_state=3).fit(data.X, data.y)
    assert np.array_equal(fitted.predict(data.X), oracle.predict(data.X))
    assert fitted.n_iter_ == oracle.get_n_leaves() - 1  # each split makes one leaf more


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("classes", [2, 3])
def test_the_network_is_that_of_scikit_learn(classes):
    X, y = cloud(classes=classes)
    labels = np.array(["a", "b", "c"])[y]
    fitted = NetworkClassifier(units=5, max_iter=60).fit(X, labels)
    oracle = MLPClassifier(hidden_layer_sizes=(5,), max_iter=60, random_state=0).fit(X, labels)
    assert np.array_equal(fitted.predict(X), oracle.predict(X))
    chances = oracle.predict_proba(X)
    expected = np.log(chances[:, 1] / chances[:, 0]) if classes == 2 else chances
    assert_allclose(fitted.decision_function(X), expected, atol=1e-9)
    assert fitted.n_iter_ == 60 and not fitted.converged_
    target = X[:, 0] + X[:, 1]
    regression = NetworkRegressor(units=5, max_iter=60).fit(X, target)
    oracle = MLPRegressor(hidden_layer_sizes=(5,), max_iter=60, random_state=0).fit(X, target)
    assert np.array_equal(regression.predict(X), oracle.predict(X))


@pytest.mark.parametrize("tol", [1e-3, 1e-9])
def test_kernel_values_that_are_not_kept_are_as_good(tol):
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    kept, computed = (LSSVM(C=100.0, gamma=0.5, tol=tol, cache_mb=cache).fit(X, y) for cache in (100, 0.1))
    assert computed.converged_ and computed.gap_ <= tol and computed.kernel_evals_ > 10 * kept.kernel_evals_
    np.testing.assert_allclose(computed.decision_function(X), kept.decision_function(X), atol=20 * tol)
