"""RSVM finds the optimum of its problem, as general-purpose optimisers and LIBLINEAR see it."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime, minimize

from svmreduce import memory
from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.errors import InputError
from svmreduce.model import load_model
from svmreduce.solvers.liblinear import Liblinear
from svmreduce.solvers.rsvm import RSVM, SmoothHinge, SquaredHinge, _Curvature
from tests.solvers.oracles import cloud


def problem(fitted, X, y, C, loss, weights=1.0):
    """The objective of RSVM over (u, b), written down once more, and the point the solver found."""
    K = kernel_matrix(fitted.model_.kernel, X, fitted.support_vectors_)

    def objective(theta):
        gap = 1 - y * (K @ theta[:-1] + theta[-1])
        if loss == "smooth":
            part, slope = np.log1p(np.exp(5 * gap)) / 5, 1 / (1 + np.exp(-5 * gap))
        else:
            part, slope = np.maximum(gap, 0), 1.0
        pull = -2 * C * weights * y * part * slope
        return theta @ theta / 2 + C * np.sum(weights * part**2), theta + np.append(K.T @ pull, pull.sum())

    return objective, np.append(fitted.dual_coef_[0], fitted.intercept_[0])


@pytest.mark.parametrize("loss", ["squared_hinge", "smooth"])
@pytest.mark.parametrize("rows", [None, 40])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_a_general_optimiser_finds_nothing_better(loss, rows, C):
    X, y = cloud()
    y = 2 * y - 1
    fitted = RSVM(C=C, gamma=0.3, loss=loss, rows=rows, tol=1e-9).fit(X, y)
    assert len(fitted.support_) == (rows or len(y))
    objective, found = problem(fitted, X, y, C, loss)
    best = minimize(objective, np.zeros_like(found), jac=True, method="BFGS", options={"gtol": 1e-6, "maxiter": 5000})
    value, gradient = objective(found)
    assert value == pytest.approx(-fitted.objective_, rel=1e-10)
    assert value <= best.fun * (1 + 1e-10)
    assert np.linalg.norm(gradient) < 1e-5
    np.testing.assert_allclose(found, best.x, atol=1e-4)


def test_weights_are_factors_on_the_loss():
    X, y = cloud()
    y = 2 * y - 1
    weights = np.random.default_rng(1).uniform(0.1, 5, len(y))
    fitted = RSVM(gamma=0.3, tol=1e-9).fit(X, y, sample_weight=weights)
    objective, found = problem(fitted, X, y, 1.0, "squared_hinge", weights)
    assert np.linalg.norm(objective(found)[1]) < 1e-5


def test_it_is_liblinear_on_the_rectangular_kernel():
    X, y = cloud(300)
    fitted = RSVM(C=2.0, gamma=0.3, rows=50, tol=1e-9).fit(X, y)
    K = kernel_matrix(fitted.model_.kernel, X, fitted.support_vectors_)
    reference = Liblinear(C=2.0, dual=False, tol=1e-6).fit(K, y)
    np.testing.assert_allclose(fitted.decision_function(X), reference.decision_function(K), atol=1e-4)


@pytest.mark.parametrize("loss", [SquaredHinge(5.0), SmoothHinge(5.0), SmoothHinge(0.5)], ids=["hinge", "s5", "s05"])
def test_slopes_are_derivatives(loss):
    v = np.linspace(-3, 3, 40)  # zero, the kink, is not among them
    slope, bend = loss.slopes(v)
    np.testing.assert_allclose(slope, [approx_fprime([x], lambda a: loss.value(a)[0])[0] for x in v], atol=1e-5)
    np.testing.assert_allclose(bend, [approx_fprime([x], lambda a: loss.slopes(a)[0][0])[0] for x in v], atol=1e-5)


def test_the_smooth_loss_tends_to_the_squared_hinge():
    X, y = cloud()
    hinge = RSVM(gamma=0.3, tol=1e-8).fit(X, y).decision_function(X)
    far, near = (
        np.abs(RSVM(gamma=0.3, tol=1e-8, loss="smooth", smoothing=s).fit(X, y).decision_function(X) - hinge).max()
        for s in (5.0, 500.0)
    )
    assert near < 1e-3 < far


def test_the_hessian_of_changes_is_the_hessian_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(9000, 7))
    Z = np.column_stack([K, np.ones(9000)])
    one, three = _Curvature(K, 1), _Curvature(K, 3)
    for share in (1.0, 0.5, 0.45, 0.05, 0.0):  # few changes, many, and a new start
        d = rng.uniform(0, 3, 9000) * (rng.random(9000) < share)
        H = one.update(d).copy()
        np.testing.assert_allclose(H, np.eye(8) + Z.T @ (d[:, None] * Z), atol=1e-8)
        assert np.array_equal(three.update(d), H)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_landmarks_are_distinct_rows_of_every_class_in_proportion(form):
    X, y = cloud(400, classes=3)
    y[y == 2] = np.where(np.arange(np.sum(y == 2)) < 5, 2, 1)  # five rows of the last class
    fitted = RSVM(rows=80, gamma=0.3).fit(form(X), y)
    counts = np.bincount(y[fitted.support_])
    assert counts[2] == 1 and counts.sum() == pytest.approx(80, abs=2)
    assert counts[0] / counts[1] == pytest.approx(np.sum(y == 0) / np.sum(y == 1), rel=0.1)
    assert not np.array_equal(fitted.support_, RSVM(rows=80, gamma=0.3, random_state=1).fit(form(X), y).support_)
    twice = RSVM(rows=1000, gamma=0.3).fit(form(np.vstack([X, X])), np.concatenate([y, y]))
    assert len(twice.support_) == 400


def test_share_and_its_least_count():
    X, y = cloud(1000)
    assert len(RSVM(share=0.01).fit(X, y).support_) == 200
    assert len(RSVM(share=0.3).fit(X, y).support_) == pytest.approx(300, abs=1)


def test_a_pair_of_classes_is_the_problem_of_their_rows():
    X, y = cloud(200, classes=3)
    fitted = RSVM(gamma=0.3, tol=1e-9).fit(X, y)
    pairs = fitted.model_.decision_function(X)
    for column, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        own = (y == i) | (y == j)
        alone = RSVM(gamma=0.3, tol=1e-9).fit(X[own], y[own])
        np.testing.assert_allclose(pairs[:, column], -alone.decision_function(X), atol=1e-6)  # positive means i
    assert fitted.kernel_evals_ == 200 * 200


def test_stopping_early_is_told():
    X, y = cloud()
    with pytest.warns(match="RSVM stopped before it reached tol; raise max_iter"):
        fitted = RSVM(C=100, gamma=1.0, max_iter=1).fit(X, y)
    assert fitted.converged_ is False and fitted.n_iter_ == 1 and fitted.gap_ > 1e-3


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_kernel_values_of_any_size():
    X, y = cloud()
    fitted = RSVM(kernel="poly", degree=3, gamma=1.0, coef0=1.0).fit(1e3 * X, y)  # rounding leaves no definite Hessian
    assert fitted.converged_ and fitted.score(1e3 * X, y) > 0.8
    with pytest.raises(InputError, match="the kernel values are too large to be squared: scale the data"):
        RSVM(kernel="linear").fit(1e100 * X, y)
    with pytest.raises(InputError, match="the kernel values are not finite: scale the data"):
        RSVM(kernel="linear").fit(1e200 * X, y)


def test_a_model_without_coefficients_keeps_one_vector(tmp_path):
    fitted = RSVM().fit(np.ones((6, 2)), [0, 1] * 3)
    assert len(fitted.support_) == 1 and fitted.decision_function(np.ones((1, 2))) == 0
    fitted.model_.save(tmp_path / "m")
    assert load_model(tmp_path / "m").n_vectors == 1


def test_unknown_loss():
    with pytest.raises(InputError, match="loss must be one of squared_hinge, smooth, got 'smoth'"):
        RSVM(loss="smoth").fit(*cloud())


def test_what_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: SimpleNamespace(available=2**20))
    message = (
        r"^the kernel values of 1000 rows with 300 landmarks need 0.0 GB of memory, 0.0 GB are free: "
        "lower share or rows, or train on fewer rows$"
    )
    with pytest.raises(InputError, match=message):
        RSVM(rows=300).fit(*cloud(1000))
