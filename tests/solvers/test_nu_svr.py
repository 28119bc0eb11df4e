"""ν-SVR against scikit-learn's, whose solver has both equality constraints."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm

from svmreduce import load_model
from svmreduce.solvers import SOLVERS
from svmreduce.solvers.nu_svr import NuSVR

SETTINGS = ({"kernel": "rbf", "gamma": 0.3}, {"kernel": "rbf", "gamma": 1.0}, {"kernel": "rbf", "gamma": 0.1})


def problem(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(int(random.integers(60, 300)), int(random.integers(2, 9))))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + random.normal(scale=random.choice([0.1, 0.5]), size=len(X))
    return X, y, random.uniform(0.5, 2.0, len(X)), random.uniform(0.05, 0.95)


def objective(coef, values, y):
    return 0.5 * coef @ values - coef @ y


@pytest.mark.parametrize("seed", range(30))
def test_objective_and_predictions_are_scikit_learns(seed):
    X, y, weights, nu = problem(seed)
    given = {"nu": nu, "C": [0.5, 2.0][seed % 2], "tol": 1e-6, **SETTINGS[seed % 3]}
    form = sparse.csr_matrix if seed % 5 == 0 else np.asarray
    ours = NuSVR(**given).fit(form(X), y, sample_weight=weights)
    theirs = svm.NuSVR(**given).fit(form(X), y, sample_weight=weights)
    expected = theirs.predict(form(X))
    coef = theirs.dual_coef_.toarray()[0] if sparse.issparse(theirs.dual_coef_) else theirs.dual_coef_[0]
    best = objective(coef, expected[theirs.support_] - theirs.intercept_[0], y[theirs.support_])
    np.testing.assert_allclose(ours.objective_, best, rtol=1e-7)
    np.testing.assert_allclose(ours.predict(form(X)), expected, atol=2e-4)
    assert np.abs(ours.dual_coef_).sum() <= nu * given["C"] * weights.sum() * (1 + 1e-8)


def test_a_linear_kernel_whose_sum_of_coefficients_jumps():
    X, y, weights, _ = problem(1)
    given = {"nu": 0.85, "kernel": "linear"}
    ours, theirs = (kind(**given).fit(X, y, sample_weight=weights) for kind in (NuSVR, svm.NuSVR))
    assert ours.converged_
    np.testing.assert_allclose(np.abs(ours.dual_coef_).sum(), 0.85 * weights.sum())
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=5e-3)


def test_a_tube_of_no_width():
    X = np.linspace(-1, 1, 21)[:, None]
    y = np.where(np.arange(21) % 2, 1.0, -1.0)  # no smooth function is near these
    ours, theirs = (kind(nu=1.0, C=0.1, gamma=0.1).fit(X, y) for kind in (NuSVR, svm.NuSVR))
    assert ours.converged_
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=2e-3)


def test_equal_targets_are_predicted():
    fitted = NuSVR().fit(np.arange(12.0).reshape(6, 2), np.full(6, 3.0))
    assert fitted.converged_ and fitted.predict([[0.0, 0.0]])[0] == pytest.approx(3.0)


def test_the_file_is_libsvms(tmp_path):
    X, y, _, _ = problem(3)
    ours = NuSVR(nu=0.3, gamma=0.3, tol=1e-6).fit(X, y)
    official = SOLVERS.get("libsvm_nu_svr")(nu=0.3, gamma=0.3, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), official.predict(X), atol=1e-4)
    ours.model_.save(tmp_path / "model")
    assert "svm_type nu_svr" in (tmp_path / "model").read_text()
    np.testing.assert_allclose(load_model(tmp_path / "model").predict(X), ours.predict(X), rtol=1e-12)
