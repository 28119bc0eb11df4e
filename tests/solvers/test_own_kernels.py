"""Kernels that LIBSVM does not have, trained by the own engine: the optimum of the same kernel matrix."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from svmreduce.aesvm import AESVC
from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from svmreduce.model import load_model
from svmreduce.norms import NORMS, learn_norm
from svmreduce.reducers.derive_rs import DeriveRS
from svmreduce.solvers.libsvm import Libsvm
from svmreduce.solvers.smo import SMO
from tests.reducers.test_derive_rs import distance_to_hull

KERNELS = (
    "kmod",
    "kmod(coef0=2)",
    "gaussian",
    "gaussian_diagonal",
    "gaussian_mahalanobis",
    "rbf:1+poly(degree=2,coef0=1,gamma=0.1):3",
    "gaussian_mahalanobis:5+linear:5",
)


def _problem(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1, 5, 0.2]
    X[rng.random(X.shape) < 0.2] = 0
    return X, (X @ [1, 0.2, 5] + 0.5 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_optimum_is_that_of_the_kernel_matrix(kernel, form):
    X, y = _problem()
    solver = SMO(kernel=kernel, gamma=0.1, C=2.0, tol=1e-6).fit(form(X), y)
    spec = solver.model_.kernel
    oracle = SVC(kernel="precomputed", C=2.0, tol=1e-8).fit(kernel_matrix(spec, X, X), y)
    new = _problem(50, 1)[0]
    expected = oracle.decision_function(kernel_matrix(spec, new, X))
    np.testing.assert_allclose(solver.decision_function(form(new)), expected, atol=1e-4)
    assert np.array_equal(solver.support_vectors_ if form is np.asarray else X[solver.support_], X[solver.support_])


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_saved_model_predicts_raw_rows(tmp_path, kernel):
    X, y = _problem()
    solver = SMO(kernel=kernel, gamma=0.1).fit(X, y)
    solver.model_.save(tmp_path / "m")
    assert np.array_equal(load_model(tmp_path / "m").decision_function(X), solver.decision_function(X))


def test_three_classes_and_a_norm_that_matters():
    """Only a column of little spread tells the classes apart: norms of the spread see it, rbf does not."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 3)) * [30, 30, 1e-2] + 0.1 * y[:, None] * [0, 0, 1]
    for kernel in ("gaussian_diagonal", "gaussian_mahalanobis"):
        assert SMO(kernel=kernel, C=10).fit(X, y).score(X, y) > 0.95
    assert SMO(kernel="rbf", C=10).fit(X, y).score(X, y) < 0.8


@pytest.mark.parametrize("norm", NORMS)
def test_a_representative_set_in_a_norm_covers_the_rows_in_that_norm(norm):
    X, y = _problem(60)
    kept = DeriveRS(kernel=f"gaussian_{norm}", gamma=0.01, epsilon=0.02).fit_reduce(X, y)
    K = kernel_matrix(KernelSpec("rbf", 0.01), *[learn_norm(norm, X).mapped(X)] * 2)
    for label in (0, 1):
        own = kept.indices[y[kept.indices] == label]
        for x in np.setdiff1d(np.flatnonzero(y == label), own):
            assert distance_to_hull(K[np.ix_(own, own)], K[x, own], K[x, x]) <= 0.02 * 1.001
    assert len(kept.indices) < 50
    assert AESVC(kernel=f"gaussian_{norm}", gamma=0.1).fit(X, y).converged_


def test_who_cannot_take_them_says_so():
    X, y = _problem(60)
    for solver, kernel, message in (
        (Libsvm, "kmod", "unknown kernel of Libsvm 'kmod'"),
        (Libsvm, "rbf+poly", r"Libsvm takes one kernel, not a mixture such as 'rbf\+poly'"),
        (AESVC, "rbf+poly", "DeriveRS takes one kernel, not a mixture"),
    ):
        with pytest.raises(InputError, match=message):
            solver(kernel=kernel).fit(X, y)
    with pytest.raises(InputError, match="DeriveRS takes one kernel, not a mixture"):
        DeriveRS(kernel="rbf+poly").fit_reduce(X, y)
