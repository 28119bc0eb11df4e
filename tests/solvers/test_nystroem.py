"""Nyström features: exact on their landmarks, and with all rows the exact kernel SVM."""

import numpy as np
import pytest
from scipy import linalg

from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from svmreduce.solvers.nystroem import Nystroem, inverse_root
from tests.solvers.oracles import cloud, exact_kernel_svm


# LIBLINEAR leaves its dual after 300 passes, which at a large C is before the hinge's optimum
@pytest.mark.parametrize(
    ("loss", "C"), [("squared_hinge", 0.2), ("squared_hinge", 5.0), ("hinge", 0.2), ("hinge", 0.5)]
)
def test_all_rows_as_landmarks_give_the_exact_kernel_svm(loss, C):
    X, y = cloud()
    fitted = Nystroem(C=C, gamma=0.3, loss=loss, tol=1e-6).fit(X, y)
    values, _ = exact_kernel_svm(X, 2.0 * y - 1, 0.3, C, loss)
    np.testing.assert_allclose(fitted.decision_function(X), values, atol=1e-4)
    assert fitted.converged_ and len(fitted.support_) == len(y)


def test_few_landmarks_come_near():
    X, y = cloud(400)
    values, _ = exact_kernel_svm(X, 2.0 * y - 1, 0.1, 1.0, "squared_hinge")
    errors = [
        np.abs(Nystroem(gamma=0.1, rows=rows, tol=1e-4).fit(X, y).decision_function(X) - values).mean()
        for rows in (10, 50, 200)
    ]
    assert errors[0] > 2 * errors[1] > 8 * errors[2]


@pytest.mark.parametrize("rank", [30, 12])
def test_the_inverse_root(rank):
    A = np.random.default_rng(0).normal(size=(30, rank))
    K = A @ A.T
    M = inverse_root(K.copy())
    assert M.shape == (30, rank)
    np.testing.assert_allclose(M @ M.T, linalg.pinv(K, rtol=1e-9), atol=1e-6 * np.abs(M @ M.T).max())


def test_features_reproduce_the_kernel_of_the_landmarks():
    X, _ = cloud(300)
    K = kernel_matrix(KernelSpec("rbf", 0.5), X, X[:60])
    features = K @ inverse_root(K[:60].copy())
    np.testing.assert_allclose(features[:60] @ features.T, K.T, atol=1e-7)


@pytest.mark.parametrize(("kernel", "coef0"), [("linear", 0.0), ("poly", 1.0), ("sigmoid", -0.5)])
def test_kernels_of_low_rank_and_of_no_definite_sign(kernel, coef0):
    X, y = cloud(300)
    fitted = Nystroem(kernel=kernel, gamma=0.3, coef0=coef0, degree=2).fit(X, y)
    assert np.isfinite(fitted.decision_function(X)).all() and fitted.score(X, y) > 0.6


def test_unknown_loss():
    with pytest.raises(InputError, match="loss must be one of squared_hinge, hinge, got 'hing'"):
        Nystroem(loss="hing").fit(*cloud())
