"""SVMperf: the optimum with enough basis vectors, what fewer cost, pre-images, and the plain linear method."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.core.svmperf_basis import BasisSpace, _Points
from svmreduce.core.svmperf_search import search
from svmreduce.data.synthetic import make
from svmreduce.kernels import KernelSpec
from svmreduce.model import LinearModel
from svmreduce.solvers.liblinear import Liblinear
from svmreduce.solvers.svmperf import SVMperf

KERNELS = [{"gamma": 0.1}, {"kernel": "poly", "gamma": 0.2, "coef0": 1.0, "degree": 2}]


def cloud(rows=250, features=6, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    return rng.normal(size=(rows, features)) + np.eye(classes, features)[y], y


def primal(fitted, X, y, C, weights=1.0):
    """Objective of the model in its whole feature space, constant feature (of value 1) included."""
    coef, b = fitted.dual_coef_[0], fitted.intercept_[0]
    K = kernel_matrix(fitted.model_.kernel, fitted.support_vectors_, fitted.support_vectors_)
    slack = np.maximum(0, 1 - np.where(y == 1, 1, -1) * fitted.decision_function(X))
    return (coef @ K @ coef + b * b) / 2 + C * np.sum(weights * slack)


def optimum(kernel, X, y, C):
    """Of the same problem by LIBLINEAR, whose features are a factor of the kernel matrix."""
    K = kernel_matrix(kernel, X, X) + 1.0
    factor = np.linalg.cholesky(K + 1e-11 * np.trace(K) / len(y) * np.eye(len(y)))
    with np.errstate(all="ignore"):
        return -Liblinear(C=C, loss="hinge", tol=1e-7, bias=-1.0).fit(factor, y).objective_


@pytest.mark.filterwarnings("ignore:Liblinear stopped")
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", KERNELS)
def test_with_all_rows_as_basis_it_is_the_optimum_of_the_whole_problem(kernel, form):
    X, y = cloud()
    fitted = SVMperf(C=1, tol=1e-6, **kernel).fit(form(X), y)
    reached, best = primal(fitted, form(X), y, 1), optimum(fitted.model_.kernel, X, y, 1)
    assert fitted.converged_ and fitted.gap_ <= 1e-6
    # between bound and value, and the two within C·rows·tol of each other
    assert -fitted.objective_ <= best * (1 + 1e-5) and best <= reached * (1 + 1e-5)
    assert reached + fitted.objective_ <= len(y) * 1e-6 + 1e-9
    assert np.array_equal(X[fitted.support_], X[fitted.support_]) and len(fitted.support_) <= len(y)


def test_gap_and_bound_are_what_they_say_for_any_basis():
    X, y = cloud()
    for k in (3, 30):
        fitted = SVMperf(C=2, gamma=0.1, k=k, tol=1e-4).fit(X, y)
        assert fitted.model_.n_vectors == k and not hasattr(fitted, "support_")
        assert primal(fitted, X, y, 2) + fitted.objective_ == pytest.approx(2 * len(y) * fitted.gap_, rel=1e-3)
        assert fitted.gap_ <= 1e-4


def test_in_the_span_of_its_basis_nothing_is_better():
    X, y = cloud()
    fitted = SVMperf(C=1, gamma=0.1, k=8, tol=1e-6).fit(X, y)
    K = kernel_matrix(fitted.model_.kernel, fitted.support_vectors_, fitted.support_vectors_)
    factor = np.linalg.cholesky(K)
    features = np.linalg.solve(factor, kernel_matrix(fitted.model_.kernel, fitted.support_vectors_, X)).T
    plain = SVMperf(C=1, kernel="linear", tol=1e-6).fit(features, y)
    assert fitted.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    assert_allclose(fitted.decision_function(X), plain.decision_function(features), atol=1e-2)


@pytest.mark.parametrize("kernel", KERNELS)
def test_more_basis_vectors_are_better(kernel):
    X, y = cloud()
    objectives = [-SVMperf(C=2, k=k, tol=1e-5, **kernel).fit(X, y).objective_ for k in (2, 8, 25, 250)]
    assert np.all(np.diff(objectives) < 0)
    # a tenth of the rows is not far from all of them
    assert objectives[2] < 1.35 * objectives[3]


def test_pre_images_beat_rows():
    data = make("checkerboard", 2000, seed=0)

    class Rows(BasisSpace):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.invented = None

    kernel, pull = KernelSpec("rbf", 1.0), data.y / 2000
    options = {"single": False, "cache_mb": 100, "seed": 0, "threads": 1}
    bounds = [search(space(kernel, data.X, pull, 1.0, 24, **options), 20_000.0, 1e-3, 1000).bound
              for space in (BasisSpace, Rows)]  # fmt: skip
    assert bounds[0] < 0.97 * bounds[1]


def test_a_basis_vector_of_poly_is_a_row_and_of_rbf_need_not_be():
    X, y = cloud()
    chosen = SVMperf(k=10, **KERNELS[1]).fit(X, y)
    assert np.array_equal(X[chosen.support_], chosen.support_vectors_) and len(set(chosen.support_)) == 10
    invented = SVMperf(k=10, gamma=0.1).fit(X, y).support_vectors_
    nearest = np.min(np.square(invented[:, None] - X[None]).sum(axis=2), axis=1)
    assert np.mean(nearest > 1e-3) > 0.5


def test_the_coordinates_of_the_planes_follow_the_basis():
    X, y = cloud()
    kernel, sign = KernelSpec("rbf", 0.1), np.where(y == 1, 1.0, -1.0)
    space = BasisSpace(kernel, X, sign / len(y), 0.5, 6, single=False, cache_mb=10, seed=0, threads=1)
    found = search(space, 250.0, 1e-3, 200)
    K = kernel_matrix(kernel, space.vectors(), space.vectors())
    assert_allclose(space.T @ K @ space.T.T, np.eye(6), atol=1e-10)
    beta = space.coefficients(found.w[1:])
    assert found.w @ found.w == pytest.approx(beta @ K @ beta + found.w[0] ** 2)
    # one more plane, from its definition
    plane = space.plane(found.w)
    f = kernel_matrix(kernel, X, space.vectors()) @ beta + 0.5 * found.w[0]
    inside = sign * f < 1
    assert np.array_equal(plane.cut.astype(bool), inside)
    assert plane.weight == pytest.approx(inside.mean())
    assert plane.risk == pytest.approx(np.maximum(0, 1 - sign * f).mean())
    assert plane.weight - plane.pull @ found.w == pytest.approx(plane.risk)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_points_have_the_kernel_values_of_their_rows(form):
    X, _ = cloud(rows=60)
    kernel = KernelSpec("rbf", 0.1)
    points, b = _Points(kernel, form(X + 3.0), X[0]), X[:1] + 2.5
    assert_allclose(points.values(b), kernel_matrix(kernel, X + 3.0, b)[:, 0], atol=1e-10)
    assert_allclose(points.sum(np.arange(60.0)), np.arange(60.0) @ (X + 3.0))


def test_kernel_values_that_are_not_kept_are_computed_again():
    X, y = cloud(5000, seed=3)
    for form in (np.asarray, sparse.csr_matrix):
        for kernel in KERNELS:
            kept, anew = (SVMperf(k=12, cache_mb=mb, **kernel).fit(form(X), y) for mb in (100, 0.001))
            assert anew.kernel_evals_ > 5 * kept.kernel_evals_
            assert_allclose(anew.decision_function(form(X)), kept.decision_function(form(X)), atol=1e-3)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_the_linear_kernel_is_the_plain_method(form):
    X, y = cloud(400)
    fitted = SVMperf(C=0.1, kernel="linear", tol=1e-6).fit(form(X), y)
    assert isinstance(fitted.model_, LinearModel) and fitted.kernel_evals_ == 0
    oracle = Liblinear(C=0.1, loss="hinge", tol=1e-6).fit(X, y)
    assert fitted.objective_ == pytest.approx(oracle.objective_, rel=1e-5)
    assert_allclose(fitted.coef_, oracle.coef_, atol=2e-3)
    assert fitted.intercept_[0] == pytest.approx(oracle.intercept_[0], abs=2e-3)


def test_no_bias_no_intercept():
    X, y = cloud()
    for kernel in ("linear", "rbf"):
        for bias in (0.0, -1.0):
            assert SVMperf(kernel=kernel, k=20, bias=bias).fit(X, y).intercept_.tolist() == [0.0]
    larger = SVMperf(kernel="linear", bias=30.0, tol=1e-6).fit(X, y)  # nearly free of charge
    assert abs(larger.intercept_[0]) > abs(SVMperf(kernel="linear", tol=1e-6).fit(X, y).intercept_[0])


def test_many_classes_have_a_basis_for_each_pair(tmp_path):
    X, y = cloud(300, classes=4)
    fitted = SVMperf(C=5, gamma=0.2, k=15).fit(X, y)
    assert fitted.model_.n_support.tolist() == [45, 30, 15, 0] and fitted.dual_coef_.shape == (3, 90)
    pairs = fitted.model_.decision_function(X)
    rows = (y == 1) | (y == 3)
    alone = SVMperf(C=5, gamma=0.2, k=15).fit(X[rows], y[rows])
    assert_allclose(pairs[:, 4], -alone.decision_function(X), atol=0.3)  # the same pair, classes the other way round
    assert np.mean(np.sign(pairs[:, 4]) == -np.sign(alone.decision_function(X))) > 0.95


def test_planes_may_run_out():
    X, y = cloud()
    with pytest.warns(ConvergenceWarning, match="SVMperf stopped before it reached tol; raise max_iter"):
        fitted = SVMperf(k=20, max_iter=5).fit(X, y)
    assert fitted.n_iter_ == 5 and not fitted.converged_ and fitted.gap_ > 1e-3


def test_the_number_of_threads_changes_nothing():
    X, y = cloud(9000, seed=5)
    for mb in (100, 0.001):
        alone, two = (SVMperf(k=15, threads=n, cache_mb=mb).fit(X, y) for n in (1, 2))
        assert np.array_equal(alone.dual_coef_, two.dual_coef_)
        assert alone.kernel_evals_ == two.kernel_evals_


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("seed", range(3))
def test_rare_rows_enter_the_basis_though_samples_miss_them(kernel, seed):
    corners = np.array([[0, 0.0], [3, 0], [6, 0], [6, 6]])
    often = [4000, 4000, 30, 30]
    X, y = np.repeat(corners, often, axis=0), np.repeat([-1, 1, -1, 1], often)
    fitted = SVMperf(kernel=kernel, gamma=1.0, coef0=1.0, C=10, random_state=seed).fit(X, y)
    assert fitted.predict(corners).tolist() == [-1, 1, -1, 1]


def test_a_bound_that_rounding_has_made_is_no_certificate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + rng.normal(size=200) > 0
    with pytest.warns(ConvergenceWarning):
        SVMperf(C=1e24, gamma=0.2).fit(X, y)
