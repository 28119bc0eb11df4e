import time

import numpy as np
import pytest
from scipy.stats import norm

from svmreduce.data import synthetic
from svmreduce.errors import InputError

MANY = 200_000


@pytest.mark.parametrize("name", synthetic.GENERATORS)
def test_same_seed_same_rows_other_seed_other_rows(name):
    one, two = synthetic.make(name, 500, 7), synthetic.make(name, 500, 7)
    other = synthetic.make(name, 500, [7, 1])
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.y, two.y)
    assert not np.array_equal(one.X, other.X)
    assert one.X.flags.c_contiguous
    assert one.X.dtype == one.y.dtype == np.float64
    assert np.isfinite(one.X).all() and np.isfinite(one.y).all()
    if one.task == "classification":
        assert set(one.classes) in ({-1, 1}, {1, 2, 3})


@pytest.mark.parametrize("name", ["twonorm", "ringnorm", "checkerboard"])
def test_a_million_rows_in_seconds(name):
    start = time.process_time()
    assert synthetic.make(name, 1_000_000).n_rows == 1_000_000
    assert time.process_time() - start < 10


def test_twonorm_has_its_means_and_its_bayes_error():
    made = synthetic.make("twonorm", MANY, 0)
    a = 2 / np.sqrt(20)
    for sign in (1, -1):
        cloud = made.X[made.y == sign]
        np.testing.assert_allclose(cloud.mean(axis=0), sign * a, atol=0.02)
        np.testing.assert_allclose(np.cov(cloud.T), np.eye(20), atol=0.03)
    error = np.mean(np.sign(made.X.sum(axis=1)) != made.y)  # the best rule there is
    assert error == pytest.approx(norm.cdf(-2), abs=0.002)  # 2.28 %


@pytest.mark.parametrize(("variant", "mean", "error"), [("paper", 1.0, None), ("breiman", 0.0, 0.013)])
def test_ringnorm_in_both_readings(variant, mean, error):
    made = synthetic.make("ringnorm", MANY, 0, variant=variant)
    a = 2 / np.sqrt(20)
    wide, narrow = made.X[made.y > 0], made.X[made.y < 0]
    np.testing.assert_allclose(wide.mean(axis=0), mean, atol=0.04)
    np.testing.assert_allclose(wide.var(axis=0), 4, atol=0.08)
    np.testing.assert_allclose(narrow.mean(axis=0), a, atol=0.02)
    np.testing.assert_allclose(narrow.var(axis=0), 1, atol=0.03)
    if error:  # Breiman gives 1.3 % for the best rule, which compares the two densities
        log_wide = -((made.X - mean) ** 2).sum(axis=1) / 8 - 20 * np.log(2)
        log_narrow = -((made.X - a) ** 2).sum(axis=1) / 2
        assert np.mean((log_wide > log_narrow) != (made.y > 0)) == pytest.approx(error, abs=0.002)


def test_checkerboard_is_exact_and_its_noise_is_counted():
    made = synthetic.make("checkerboard", MANY, 0)
    assert made.X.min() >= 0 and made.X.max() < 4
    same_parity = made.X[:, 0].astype(int) % 2 == made.X[:, 1].astype(int) % 2
    np.testing.assert_array_equal(made.y, np.where(same_parity, 1, -1))
    cells = np.bincount(made.X[:, 0].astype(int) * 4 + made.X[:, 1].astype(int), minlength=16)
    np.testing.assert_allclose(cells / MANY, 1 / 16, atol=0.003)
    noisy = synthetic.make("checkerboard", MANY, 0, noise=0.1)
    np.testing.assert_array_equal(noisy.X, made.X)
    assert np.mean(noisy.y != made.y) == pytest.approx(0.1, abs=0.005)


def test_two_spirals_are_mirror_arms_that_do_not_meet():
    made = synthetic.make("two_spirals", 4000, 0)
    radius, angle = np.hypot(*made.X.T), np.arctan2(made.X[:, 1] * made.y, made.X[:, 0] * made.y)
    assert radius.max() <= 1
    turned = 2 * np.pi * 3 * radius - angle  # the angle is the radius, up to whole turns
    np.testing.assert_allclose(np.cos(turned), 1, atol=1e-9)


def test_sinc_and_its_noises():
    clean = synthetic.make("sinc", 1000, 0)
    assert clean.task == "regression"
    np.testing.assert_allclose(clean.y, np.sin(clean.X[:, 0]) / clean.X[:, 0])
    additive = synthetic.make("sinc", MANY, 0, noise=0.3)
    x = additive.X[:, 0]
    assert np.std(additive.y - np.sin(x) / x) == pytest.approx(0.3, rel=0.02)
    multiplied = synthetic.make("sinc_times_pi", MANY, 0, noise=0.2)
    x = multiplied.X[:, 0]
    factor = multiplied.y / (np.pi * np.sin(x) / x)
    assert np.mean(factor) == pytest.approx(1, abs=0.005)
    assert np.std(factor) == pytest.approx(0.2, rel=0.02)


def test_synthetic_s_is_separable_and_ns_is_not():
    def nearest_mean_errors(name):
        made = synthetic.make(name, MANY, 0)
        means = np.array([made.X[made.y == c, 0].mean() for c in (1, 2, 3)])
        return np.mean(np.abs(made.X[:, :1] - means).argmin(axis=1) + 1 != made.y)

    assert nearest_mean_errors("synthetic_s") == 0
    assert 0.1 < nearest_mean_errors("synthetic_ns") < 0.2  # ⅔·2·Φ(−1.25) = 14 %


def test_copula_has_even_margins_that_depend_on_each_other():
    data = synthetic.make("copula", 40_000, seed=0, rho=0.5)
    joint, cloud = data.X[data.y > 0], data.X[data.y < 0]
    assert len(joint) == len(cloud) == 20_000
    for column in joint.T:
        np.testing.assert_allclose(np.quantile(column, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.015)
    assert np.corrcoef(norm.ppf(joint).T)[0, 1] == pytest.approx(0.5, abs=0.02)
    np.testing.assert_allclose(cloud.mean(axis=0), [1, 2], atol=0.03)
    np.testing.assert_allclose(np.cov(cloud.T), [[2, 0], [0, 0.5]], atol=0.05)
    with pytest.raises(InputError, match=r"^rho 1.5: need a correlation between -1 and 1$"):
        synthetic.make("copula", 10, rho=1.5)


def test_blobs_share_their_centres_over_seeds():
    train, test = (synthetic.make("blobs", 50_000, seed, classes=4, features=3) for seed in (0, 1))
    for c in (1, 2, 3, 4):
        np.testing.assert_allclose(train.X[train.y == c].mean(0), test.X[test.y == c].mean(0), atol=0.08)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: synthetic.make("twonrom", 5), "unknown generator 'twonrom': did you mean 'twonorm'"),
        (lambda: synthetic.make("checkerboard", 5, nose=0.1), "parameter of checkerboard 'nose'.*'noise'"),
        (lambda: synthetic.make("checkerboard", 5, noise=1.5), "between 0 and 1"),
        (lambda: synthetic.make("ringnorm", 5, variant="breimann"), "did you mean 'breiman'"),
        (lambda: synthetic.make("twonorm", 0), "at least 1"),
        (lambda: synthetic.make("blobs", 5, classes=1), "at least 2"),
        (lambda: synthetic.make("blobs", 5, classes=10**15), "GB of memory"),
        (lambda: synthetic.make("twonorm", 5, features=0), "features of twonorm: 0 .* at least 1"),
        (lambda: synthetic.make("twonorm", 5, features=10**15), "GB of memory"),
        (lambda: synthetic.make("checkerboard", 5, cells=0), "cells of checkerboard: 0 .* at least 1"),
        (lambda: synthetic.make("two_spirals", 5, noise=-0.5), "at least 0"),
        (lambda: synthetic.make("two_spirals", 5, turns=float("inf")), "that is finite"),
        (lambda: synthetic.make("checkerboard", 10**400), "GB of memory"),
    ],
)
def test_bad_requests_say_what_is_wrong(call, message):
    with pytest.raises(InputError, match=message):
        call()
