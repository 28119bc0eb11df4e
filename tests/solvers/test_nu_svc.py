"""ν-SVC against scikit-learn's, whose solver has both equality constraints."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from svmreduce import load_model
from svmreduce.errors import InputError
from svmreduce.solvers import SOLVERS
from svmreduce.solvers.nu_svc import NuSVC


def problem(seed):
    """Rows, labels, weights, and a ν that the weights of the classes allow."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(int(random.integers(60, 300)), int(random.integers(4, 9))))
    y = np.where(X[:, 0] + np.sin(3 * X[:, 1]) + random.normal(scale=0.5, size=len(X)) > 0, 1, -1)
    weights = random.uniform(0.5, 2.0, len(X))
    nu = random.uniform(0.5, 0.95) * 2 * min(weights[y > 0].sum(), weights[y < 0].sum()) / weights.sum()
    return X, y, weights, nu


@pytest.mark.parametrize("seed", range(30))
def test_objective_and_decisions_are_scikit_learns(seed):
    X, y, weights, nu = problem(seed)
    given = {"nu": nu, "kernel": "rbf", "gamma": [0.2, 1.0][seed % 2], "tol": 1e-6}
    form = sparse.csr_matrix if seed % 3 == 0 else np.asarray
    ours = NuSVC(**given).fit(form(X), y, sample_weight=weights)
    theirs = svm.NuSVC(**given).fit(form(X), y, sample_weight=weights)
    expected = theirs.decision_function(form(X))
    coef = theirs.dual_coef_.toarray()[0] if sparse.issparse(theirs.dual_coef_) else theirs.dual_coef_[0]
    objective = 0.5 * coef @ (expected[theirs.support_] - theirs.intercept_[0])
    assert ours.converged_ and ours.gap_ <= 1e-6
    # scikit-learn's tol is of the problem before it is scaled to a margin of one
    scale = max(1.0, np.abs(coef / weights[theirs.support_]).max())
    np.testing.assert_allclose(ours.decision_function(form(X)), expected, atol=2e-5 * scale)
    np.testing.assert_allclose(ours.objective_, objective, rtol=1e-5 * scale)


def test_several_classes_and_the_file_are_libsvms(tmp_path):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(150, 3)), np.repeat([3, 5, 8], 50)
    X[np.arange(150), y % 3] += 1.5
    ours = NuSVC(nu=0.43, gamma=0.5, tol=1e-6).fit(X, y)
    official = SOLVERS.get("libsvm_nu_svc")(nu=0.43, gamma=0.5, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), official.decision_function(X), atol=1e-4)
    ours.model_.save(tmp_path / "model")
    read = load_model(tmp_path / "model")
    assert "svm_type nu_svc" in (tmp_path / "model").read_text()
    assert np.array_equal(read.predict(X), ours.predict(X))


def test_a_nu_that_the_classes_do_not_allow_is_refused():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.repeat([0, 1], [30, 10])
    with pytest.raises(InputError, match=r"specified nu is infeasible: 0.6, and for these classes at most 0.5"):
        NuSVC(nu=0.6).fit(X, y)
    assert NuSVC(nu=0.5).fit(X, y).converged_  # all rows of the smaller class


def test_a_nu_without_a_margin_is_told():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 2)), random.integers(0, 2, 200)  # the hulls of the classes meet
    with pytest.warns(ConvergenceWarning, match="raise nu"):
        fitted = NuSVC(nu=0.1, kernel="linear").fit(X, y)
    assert not fitted.converged_ and np.isfinite(fitted.decision_function(X)).all()


def test_many_rows_begin_with_the_cost_of_a_sample():
    random = np.random.default_rng(0)
    X = random.normal(size=(4200, 3))
    y = np.where(X[:, 0] * X[:, 1] + random.normal(scale=0.3, size=4200) > 0, 1, -1)
    ours, theirs = (kind(nu=0.4, gamma=0.5).fit(X, y) for kind in (NuSVC, svm.NuSVC))
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.998


@pytest.mark.parametrize("seed", range(40))
def test_no_margin_is_left_at_the_largest_nu_of_few_rows(seed):
    random = np.random.default_rng(seed)
    n = int(random.choice([4, 6, 9]))
    X, y = np.round(random.normal(size=(n, 2))), np.arange(n) < max(1, n // 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = NuSVC(nu=2 * y.sum() / n, gamma=0.5, tol=1e-5).fit(X, y)
    assert np.isfinite(fitted.decision_function(X)).all()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_few_columns_on_any_scale_take_few_steps(scale):
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 20))
    y = np.where(X[:, 0] + random.normal(size=500) > 0, 1, -1)  # the hulls of the classes overlap
    fitted = NuSVC(nu=0.6, kernel="linear", tol=1e-5).fit(scale * X, y)
    theirs = svm.NuSVC(nu=0.6, kernel="linear", tol=1e-9).fit(X, y)
    assert fitted.converged_ and fitted.n_iter_ < 50_000
    np.testing.assert_allclose(fitted.decision_function(scale * X), theirs.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("nu", [0.1, 0.6])
def test_the_limit_of_steps_is_that_of_all_solves(nu):
    random = np.random.default_rng(0)
    X = 100 * random.normal(size=(400, 30))
    with pytest.warns(ConvergenceWarning):
        fitted = NuSVC(nu=nu, kernel="linear", max_iter=1000).fit(X, np.where(X[:, 0] > random.normal(size=400), 1, -1))
    assert 0 < fitted.n_iter_ <= 1000 and np.isfinite(fitted.decision_function(X)).all()


@pytest.mark.parametrize("nu", [0.4716, 0.369, 0.24802])
def test_a_rough_solve_may_be_wrong_about_the_side(nu):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    y = np.where(
        X[:, 0] + random.normal(size=200) > 0, 1, -1
    )  # C = 10, 80, 637: a rough Σα is above, the right one below
    fitted = NuSVC(nu=nu, gamma=0.5).fit(X, y)
    theirs = svm.NuSVC(nu=nu, gamma=0.5, tol=1e-9).fit(X, y)
    assert fitted.converged_
    np.testing.assert_allclose(fitted.decision_function(X), theirs.decision_function(X), atol=5e-3, rtol=5e-3)
