"""Kernel names, codes and the words for gamma."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from svmreduce.errors import InputError
from svmreduce.kernels import (
    KERNEL_CODES,
    LIBSVM_KERNELS,
    KernelMixture,
    KernelPart,
    KernelSpec,
    kernel_for,
    mean_squared_distance,
    parse_kernel,
    resolve_gamma,
)


def test_codes_are_libsvms():
    from libsvm.svm import kernel_names

    for name in LIBSVM_KERNELS:
        assert kernel_names[name.upper()] == KERNEL_CODES[name] == KernelSpec(name).code
    assert KERNEL_CODES["kmod"] not in list(kernel_names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "rfb"}, "did you mean 'rbf'"),
        ({"gamma": 0.0}, "gamma must be a positive number"),
        ({"gamma": float("nan")}, "gamma must be a positive number"),
        ({"name": "poly", "coef0": float("inf")}, "coef0 must be a finite number"),
        ({"name": "kmod", "coef0": -0.1}, "coef0 must be a number >= 0 for kmod, got -0.1"),
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
    assert resolve_gamma("auto-distance", form(X), "gaussian_diagonal") == pytest.approx(1 / (2 * sigma2))
    with pytest.raises(InputError, match="not one number for the mixture 'rbf:1\\+poly:1': give a number"):
        resolve_gamma("auto-distance", form(X), "rbf:1+poly:1")
    # far from the origin a difference of squares would cancel
    assert mean_squared_distance(form(X + 1e7)) == pytest.approx(sigma2, rel=1e-6)
    for constant in (0.0, 0.1):
        assert resolve_gamma("auto-distance", form(np.full((3, 7), constant)), "poly") == 1.0


def test_a_mixture_by_name():
    assert parse_kernel("rbf") == [KernelPart("rbf")]
    assert parse_kernel("gaussian_mahalanobis:5 + rbf(gamma=1e+1):5") == [
        KernelPart("gaussian_mahalanobis", {}, 5),
        KernelPart("rbf", {"gamma": 10.0}, 5),
    ]
    X = np.random.default_rng(0).normal(size=(30, 3))
    mixture = kernel_for(X, "rbf(gamma=scale):1+poly(degree=2,coef0=1):3", gamma=0.25)
    assert mixture == KernelMixture(
        (KernelSpec("rbf", resolve_gamma("scale", X)), KernelSpec("poly", 0.25, 1.0, 2)), (0.25, 0.75)
    )
    assert kernel_for(X, "linear+sigmoid").weights == (0.5, 0.5)
    assert kernel_for(X, "gaussian:7", gamma=0.3) == KernelSpec("rbf", 0.3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rfb", "unknown kernel 'rfb': did you mean 'rbf'?"),
        ("rbf:5+ply:5", "unknown kernel 'ply': did you mean 'poly'?"),
        ("rbf:0", "kernel 'rbf:0': cannot read 'rbf:0'; a mixture is written rbf:5+poly(degree=2):5"),
        ("rbf:five", "cannot read 'rbf:five'"),
        ("rbf:5+", "unknown kernel ''"),
        ("rbf:5+poly", "kernel 'rbf:5+poly': give all its kernels a count, or none"),
        ("rbf(gama=1)", "unknown number of kernel 'rbf' 'gama': did you mean 'gamma'?"),
        ("rbf(gamma=wide)", "kernel 'rbf(gamma=wide)': gamma must be a number, got 'wide'"),
        ("rbf(gamma=-1)", "gamma must be a positive number, got -1.0"),
        ("gaussian_diagonal(gamma=0)", "gamma must be a positive number, got 0.0"),
        ("kmod(coef0=-1)", "coef0 must be a number >= 0 for kmod"),
        ("poly(degree=1.5)", "degree must be a whole number"),
    ],
)
def test_names_that_cannot_be_read(text, message):
    with pytest.raises(InputError) as error:
        parse_kernel(text)
    assert message in str(error.value)


def test_who_takes_no_mixture_says_who_does():
    with pytest.raises(
        InputError, match=r"libsvm takes one kernel, not a mixture such as 'rbf\+poly'; the solver 'smo'"
    ):
        parse_kernel("rbf+poly", LIBSVM_KERNELS, whose="libsvm", mixes=False)
    with pytest.raises(InputError, match="unknown kernel of libsvm 'kmod'"):
        parse_kernel("kmod", LIBSVM_KERNELS, whose="libsvm")
