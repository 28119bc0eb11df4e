"""Kernel names, codes and the words for gamma."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from svmreduce.errors import InputError
from svmreduce.kernels import KERNEL_CODES, KernelSpec, mean_squared_distance, resolve_gamma


def test_codes_are_libsvms():
    from libsvm.svm import kernel_names

    for name, code in KERNEL_CODES.items():
        assert kernel_names[name.upper()] == code == KernelSpec(name).code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "rfb"}, "did you mean 'rbf'"),
        ({"gamma": 0.0}, "gamma must be a positive number"),
        ({"gamma": float("nan")}, "gamma must be a positive number"),
        ({"name": "poly", "coef0": float("inf")}, "coef0 must be a finite number"),
        ({"name": "poly", "degree": 1.5}, "degree must be a whole number"),
        ({"name": "poly", "degree": -1}, "degree must be a whole number"),
        ({"name": "poly", "degree": 101}, "degree must be a whole number from 0 to 100"),
    ],
)
def test_bad_numbers_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        KernelSpec(**arguments)


def test_linear_needs_no_gamma():
    assert KernelSpec("linear", gamma=0.0).code == 0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_gamma_words_mean_what_scikit_learn_means(form):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 6)) < 0.5, rng.normal(size=(40, 6)), 0)
    y = np.arange(40) % 2
    for word in ("scale", "auto"):
        assert resolve_gamma(word, form(X)) == pytest.approx(SVC(gamma=word).fit(X, y)._gamma)
    assert resolve_gamma(0.3, form(X)) == 0.3
    for constant in (0.0, 0.1):  # no variance at all, and no rounding error taken for one
        assert resolve_gamma("scale", form(np.full((3, 7), constant))) == 1.0
    with pytest.raises(InputError, match="'auto', 'auto-distance' or 'scale', got 'wide'"):
        resolve_gamma("wide", form(X))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_auto_distance_is_the_mean_squared_distance(form):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((5000, 3)) < 0.5, rng.normal(size=(5000, 3)), 0)
    pairs = ((X[:200, None] - X[None, :200]) ** 2).sum(axis=2)
    assert mean_squared_distance(form(X[:200])) == pytest.approx(pairs.mean())
    sigma2 = 2 * (np.square(X).sum(axis=1).mean() - np.square(X.mean(axis=0)).sum())
    assert resolve_gamma("auto-distance", form(X)) == pytest.approx(1 / (2 * sigma2))
    assert resolve_gamma("auto-distance", form(X), "poly") == pytest.approx(1 / sigma2)
    # far from the origin a difference of squares would cancel
    assert mean_squared_distance(form(X + 1e7)) == pytest.approx(sigma2, rel=1e-6)
    for constant in (0.0, 0.1):
        assert resolve_gamma("auto-distance", form(np.full((3, 7), constant)), "poly") == 1.0
