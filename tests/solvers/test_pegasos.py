"""Pegasos: its steps by the book, its certificate, and the optimum that LIBLINEAR and a dual solver know."""

import numpy as np
import pytest
from scipy import sparse

from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.data.formats import load_dataset
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from svmreduce.solvers.liblinear import Liblinear
from svmreduce.solvers.pegasos import KernelPegasos, Pegasos, _dual_bound, _KernelWalk, _LinearWalk, descend
from tests.solvers.oracles import cloud, exact_kernel_svm

# LIBLINEAR stops its dual after 300 passes; what it has then is a lower bound to more digits than are compared
pytestmark = pytest.mark.filterwarnings("ignore:Liblinear stopped before")


def objective(fitted, X, y, C, weights=1.0):
    """½(||w||² + b²) + C·Σ weight·hinge, the offset being the weight of a constant feature of 1."""
    hinge = np.maximum(0, 1 - y * (X @ fitted.coef_[0] + fitted.intercept_[0]))
    return (np.sum(fitted.coef_**2) + fitted.intercept_[0] ** 2) / 2 + C * np.sum(weights * hinge)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_within_one_percent_of_liblinears_objective(form, C):
    X, y = cloud(2000)
    fitted = Pegasos(C=C, max_iter=5000).fit(form(X), y)
    best = -Liblinear(C=C, loss="hinge", tol=1e-4).fit(X, y).objective_
    reached = objective(fitted, X, 2 * y - 1, C)
    assert fitted.converged_ and -fitted.objective_ == pytest.approx(reached, rel=1e-9)
    assert best * (1 - 1e-6) <= reached <= 1.01 * best


@pytest.mark.parametrize("bias", [-1.0, 1.0, 3.0])
def test_the_gap_is_a_proof(bias):
    X, y = cloud(300)
    best = -Liblinear(loss="hinge", tol=1e-4, bias=bias).fit(X, y).objective_
    for passes in (1, 3, 10, 100):
        fitted = Pegasos(tol=1e-9, max_iter=passes, bias=bias)
        with pytest.warns(match="Pegasos stopped before it reached tol; raise max_iter"):
            fitted.fit(X, y)
        upper = -fitted.objective_
        assert fitted.n_iter_ == passes and fitted.converged_ is False
        assert upper * (1 - fitted.gap_) <= best * (1 + 1e-6) and best <= upper * (1 + 1e-6)
    assert fitted.gap_ < 0.1
    assert (fitted.intercept_[0] == 0) == (bias < 0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_steps_and_mean_by_the_book(form):
    """Pegasos as its paper writes it, w and every iterate kept, on the same rows in the same order."""
    X, y = cloud(40)
    y, weights = 2.0 * y - 1, np.random.default_rng(2).uniform(0.5, 2, 40)
    walk = _LinearWalk(form(X), y, weights, 0.7, 1.0)
    found = descend(walk, np.random.default_rng(5), 1e-9, 12)
    order, lam = np.random.default_rng(5), 1 / (0.7 * weights.sum())
    rows, gain = np.column_stack([X, np.ones(40)]), weights / weights.mean()
    w, iterates = np.zeros(6), []
    for _ in range(12):
        for i in order.permutation(40):
            t = len(iterates) + 1
            violates = y[i] * (w @ rows[i]) <= 1
            w = (1 - 1 / t) * w + violates * gain[i] * y[i] * rows[i] / (lam * t)
            iterates.append(w)
    steps = np.arange(1, 12 * 40 + 1)
    late = steps > 10 * 40  # the last look before was after pass 10
    expected = steps[late] @ np.array(iterates)[late] / steps[late].sum()
    np.testing.assert_allclose(found["mean"], expected, rtol=1e-9)
    np.testing.assert_allclose(found["mean"], (found["alpha"] * y) @ rows, rtol=1e-9)


def test_the_dual_bound_stays_in_the_box():
    alpha, box = np.array([0.5, 2.0, 0.0]), np.array([1.0, 1.0, 1.0])
    # at most half of alpha fits; the value along the ray is 2.5·s − s²·norm/2
    assert _dual_bound(alpha, box, norm=1.0) == pytest.approx(1.25 - 0.125)
    assert _dual_bound(alpha, box, norm=50.0) == pytest.approx(2.5**2 / 100)
    assert _dual_bound(0 * alpha, box, norm=0.0) == 0.0


@pytest.mark.parametrize("C", [0.2, 2.0])
def test_with_a_kernel_it_nears_the_exact_kernel_svm(C):
    X, y = cloud(200)
    fitted = KernelPegasos(C=C, gamma=0.3, tol=0.02, max_iter=2000).fit(X, y)
    values, best = exact_kernel_svm(X, 2.0 * y - 1, 0.3, C, "hinge")
    assert fitted.converged_ and best * (1 - 1e-6) <= -fitted.objective_ <= 1.01 * best
    np.testing.assert_allclose(fitted.decision_function(X), values, atol=0.15)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_decision_values_are_kept_up_to_date_over_blocks(form):
    X, y = cloud(2500)
    y, weights = 2.0 * y - 1, np.random.default_rng(0).uniform(0.5, 2, 2500)
    kernel = KernelSpec("rbf", 0.3)
    walk = _KernelWalk(form(X), y, weights, 1.0, 2.0, kernel, 2)
    random = np.random.default_rng(0)
    for turn in range(2):
        walk.run(random, turn * 2500)
    K = kernel_matrix(kernel, X, X) + 4
    assert np.count_nonzero(walk.visits[0]) > 100
    np.testing.assert_allclose(walk.sums, (walk.visits * y) @ K, rtol=1e-4, atol=1e-2 * np.abs(walk.sums).mean())
    # the steps are those of the linear walk in the kernel's space: same order, same violators
    U, visits, order = np.zeros(2500), np.zeros(2500), np.random.default_rng(0)
    gain = weights / weights.mean()
    for step, i in enumerate(np.concatenate([order.permutation(2500) for _ in range(2)])):
        if y[i] * U[i] <= walk.lam * step:
            U += gain[i] * y[i] * K[i]
            visits[i] += gain[i]
    assert np.mean(np.isclose(visits, walk.visits[0])) > 0.99  # a margin of one may fall on either side


def test_both_forms_solve_the_same_linear_problem():
    X, y = cloud(500)
    linear = Pegasos(C=0.5, tol=0.01, max_iter=3000).fit(X, y)
    kernel = KernelPegasos(C=0.5, kernel="linear", tol=0.01, max_iter=3000).fit(X, y)
    assert linear.objective_ == pytest.approx(kernel.objective_, rel=5e-3)
    np.testing.assert_allclose(linear.decision_function(X), kernel.decision_function(X), atol=0.1)


def test_weights_are_factors_on_the_loss():
    X, y = cloud(300)
    times = np.random.default_rng(0).integers(1, 5, 300)
    fitted = Pegasos(tol=0.01, max_iter=5000).fit(X, y, sample_weight=times)
    best = -Liblinear(loss="hinge", tol=1e-4).fit(np.repeat(X, times, axis=0), np.repeat(y, times)).objective_
    assert objective(fitted, X, 2 * y - 1, 1.0, times) == pytest.approx(-fitted.objective_, rel=1e-9)
    assert -fitted.objective_ == pytest.approx(best, rel=0.01)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("solver", [Pegasos(), KernelPegasos(kernel="linear")])
def test_values_beyond_all_measure_are_refused(solver):
    X, y = cloud()
    with pytest.raises(InputError, match="the objective is not finite: scale the data"):
        solver.fit(1e200 * X, y)


def test_a_kernel_that_is_not_definite_proves_nothing():
    X, y = cloud()
    fitted = KernelPegasos(kernel="sigmoid", gamma=1.0, coef0=-1.0, max_iter=20)
    with pytest.warns(match="stopped before it reached tol"):
        fitted.fit(X, y)
    assert fitted.gap_ > 0.05 and np.isfinite(fitted.decision_function(X)).all()


def test_every_class_against_the_rest():
    X, y = cloud(600, classes=3)
    fitted = Pegasos(tol=0.02, max_iter=3000).fit(X, y)
    alone = Pegasos(tol=0.02, max_iter=3000).fit(X, y == 2)
    assert fitted.coef_.shape == (3, 5)
    np.testing.assert_allclose(fitted.decision_function(X)[:, 2], alone.decision_function(X), atol=0.1)


@pytest.mark.real
def test_adult_within_one_percent_of_liblinears_objective(real_file):
    data = load_dataset(real_file("a1a"))
    fitted = Pegasos().fit(data.X, data.y)
    best = -Liblinear(loss="hinge", tol=1e-3).fit(data.X, data.y).objective_
    assert fitted.converged_ and best * (1 - 1e-4) <= objective(fitted, data.X, data.y, 1.0) <= 1.01 * best
