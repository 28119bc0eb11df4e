"""ε-SVR and one-class SVM on the engine: scikit-learn's optimum, duality, and what a start may be."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVR, OneClassSVM

from svmreduce.core import svm_problems
from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.kernels import KernelSpec


def _problem(seed):
    """Rows dense or sparse, targets of any size, weights, and a kernel."""
    rng = np.random.default_rng(seed)
    n, d, size = int(rng.integers(20, 300)), int(rng.integers(1, 20)), 10.0 ** rng.uniform(-2, 3)
    X = 2.0 + rng.normal(size=(n, d))  # off the origin: there, a linear one-class SVM would be degenerate
    if seed % 2:
        X *= rng.random(X.shape) < 0.5
    y = size * (np.sin(X[:, 0]) + X @ rng.normal(size=d) / d + 0.3 * rng.normal(size=n))
    kernel = [KernelSpec("rbf", 1 / d), KernelSpec("poly", 1 / d, 1.0, 2), KernelSpec("linear")][seed // 2 % 3]
    return X, y, size, rng.uniform(0.01, 3.0, n), kernel, rng


def _options(kernel):
    return {"kernel": kernel.name, "gamma": kernel.gamma, "coef0": kernel.coef0, "degree": kernel.degree}


def _coefficients(oracle, n):
    beta = np.zeros(n)
    beta[oracle.support_] = oracle.dual_coef_[0]
    return beta


@pytest.mark.parametrize("seed", range(12))
def test_epsilon_svr_has_the_optimum_of_scikit_learn(seed):
    X, y, size, weight, kernel, rng = _problem(seed)
    C, epsilon, tol = size * 10.0 ** rng.uniform(-2, 0.5), size * rng.choice([0.0, 0.01, 0.1, 0.5]), 1e-6 * size
    rows = sparse.csr_matrix(X) if seed % 2 else X
    found = svm_problems.epsilon_svr(rows, y, C * weight, epsilon, kernel, tol=tol)
    oracle = SVR(C=C, epsilon=epsilon, tol=tol, **_options(kernel)).fit(X, y, weight)
    K = kernel_matrix(kernel, X, X)
    beta, other = found.beta, _coefficients(oracle, len(y))
    dual = 0.5 * beta @ K @ beta - y @ beta + epsilon * np.abs(beta).sum()
    assert found.converged and found.objective == pytest.approx(dual, rel=1e-9)
    assert dual == pytest.approx(0.5 * other @ K @ other - y @ other + epsilon * np.abs(other).sum(), rel=1e-6)
    assert np.all(np.abs(beta) <= C * weight) and abs(beta.sum()) <= 1e-10 * np.abs(beta).sum()
    f = K @ beta + found.intercept
    primal = 0.5 * beta @ K @ beta + C * weight @ np.maximum(0, np.abs(y - f) - epsilon)
    assert primal == pytest.approx(-dual, rel=2e-5)


@pytest.mark.parametrize("seed", range(12))
def test_one_class_has_the_optimum_of_scikit_learn(seed):
    X, _, _, weight, kernel, rng = _problem(seed)
    nu = rng.uniform(0.05, 0.9)
    found = svm_problems.one_class(sparse.csr_matrix(X) if seed % 2 else X, weight, nu, kernel, tol=1e-6)
    oracle = OneClassSVM(nu=nu, tol=1e-6, **_options(kernel)).fit(X, sample_weight=weight)
    K, beta, other = kernel_matrix(kernel, X, X), found.beta, _coefficients(oracle, len(X))
    assert found.converged and found.objective == pytest.approx(0.5 * beta @ K @ beta, rel=1e-9)
    assert found.objective == pytest.approx(0.5 * other @ K @ other, rel=1e-6)
    assert beta.min() >= 0 and np.all(beta <= weight) and beta.sum() == pytest.approx(nu * weight.sum(), rel=1e-12)
    np.testing.assert_allclose(K @ beta + found.intercept, oracle.decision_function(X), atol=1e-5 * K.max())


def test_many_rows_meet_the_tolerance_in_float32():
    """More rows than the first sample; the conditions are those of the textbook, from kernel values in double."""
    rng = np.random.default_rng(0)
    X = rng.random((9000, 2))
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=9000)
    kernel, C, epsilon = KernelSpec("rbf", 5.0), 2.0, 0.1
    found = svm_problems.epsilon_svr(X, y, np.full(9000, C), epsilon, kernel)
    used = np.flatnonzero(found.beta)
    v = y - kernel_matrix(kernel, X, X[used]) @ found.beta[used]
    up = (v - np.where(found.beta >= 0, epsilon, -epsilon))[found.beta < C]
    down = (v - np.where(found.beta > 0, epsilon, -epsilon))[found.beta > -C]
    assert found.converged and up.max() - down.min() <= 1.01e-3
    found = svm_problems.one_class(X, np.ones(9000), 0.05, kernel)
    used = np.flatnonzero(found.beta)
    f = kernel_matrix(kernel, X, X[used]) @ found.beta[used]
    assert found.converged and f[found.beta > 0].max() - f[found.beta < 1].min() <= 1.01e-3
    assert np.mean(f + found.intercept < 0) == pytest.approx(0.05, abs=0.002)


def test_a_tube_around_all_targets_and_an_infinite_C():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.5, 3.0])
    flat = svm_problems.epsilon_svr(X, y, np.ones(3), 5.0, KernelSpec("linear"))
    assert not flat.beta.any() and flat.intercept == 2.0 and flat.objective == 0.0
    exact = svm_problems.epsilon_svr(X, y, np.full(3, np.inf), 0.0, KernelSpec("rbf", 3.0), tol=1e-8)
    K = kernel_matrix(KernelSpec("rbf", 3.0), X, X)
    np.testing.assert_allclose(K @ exact.beta + exact.intercept, y, atol=1e-7)
