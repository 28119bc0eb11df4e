"""Class probabilities: right where the truth is known, and never against the label."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import _sigmoid_calibration
from sklearn.datasets import load_iris

from svmreduce import AESVC, CVM, SMO, Libsvm
from svmreduce.errors import InputError
from svmreduce.model import load_model
from svmreduce.model.probabilities import class_probabilities, fit_sigmoid


def test_the_sigmoid_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    values = rng.normal(size=300)
    is_first = rng.random(300) < 1 / (1 + np.exp(-2 * values - 0.5))
    expected = _sigmoid_calibration(values, is_first.astype(int))
    np.testing.assert_allclose(fit_sigmoid(values, is_first, np.ones(300)), expected, rtol=1e-3)


def test_weights_count_as_repetitions():
    rng = np.random.default_rng(1)
    values, times = rng.normal(size=80), rng.integers(1, 4, 80)
    is_first = values + rng.normal(size=80) > 0
    repeated = fit_sigmoid(np.repeat(values, times), np.repeat(is_first, times), np.ones(times.sum()))
    weighted = fit_sigmoid(values, is_first, times * (times.sum() / 80) / times.mean())
    np.testing.assert_allclose(weighted, repeated, rtol=0.1, atol=0.05)  # the prior counts rows


def test_coupling_gives_back_probabilities_that_agree():
    """Where pairs come from one distribution, p_i/(p_i + p_j), that distribution is the answer."""
    p = np.array([0.5, 0.3, 0.2])
    pairs = np.array([[p[i] / (p[i] + p[j]) for i, j in ((0, 1), (0, 2), (1, 2))]])
    decisions = -np.log(1 / pairs - 1)
    found = class_probabilities(decisions, np.array([[-1.0] * 3, [0.0] * 3]), np.array([0]), 3)
    np.testing.assert_allclose(found[0], p, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_the_winner_always_has_the_largest_share(k, seed):
    rng = np.random.default_rng(seed)
    decisions = rng.normal(scale=3, size=(30, k * (k - 1) // 2))
    winners = rng.integers(0, k, 30)  # worse than any vote
    p = class_probabilities(decisions, rng.normal(size=(2, decisions.shape[1])), winners, k)
    assert (np.array_equal(p.argmax(axis=1), winners) and (p > 0).all()) or (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)
    assert np.array_equal(p.argmax(axis=1), winners)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("solver", [SMO, Libsvm, CVM, AESVC])
def test_argmax_is_the_label_on_every_row(solver, classes, tmp_path):
    X, y = load_iris(return_X_y=True)
    X = X[:, 1:3] + np.random.default_rng(0).normal(scale=0.3, size=(150, 2))
    keep = y < classes
    X, y = X[keep], np.array(["c", "a", "b"])[y[keep]]
    fitted = solver(probability=True).fit(X, y)
    grid = np.random.default_rng(1).uniform(X.min(axis=0) - 1, X.max(axis=0) + 1, size=(2000, 2))
    p = fitted.predict_proba(grid)
    assert np.array_equal(fitted.classes_[p.argmax(axis=1)], fitted.predict(grid))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.array_equal(fitted.predict_proba(grid), solver(probability=True).fit(X, y).predict_proba(grid))
    fitted.model_.save(tmp_path / "m")
    model = load_model(tmp_path / "m")
    again = model.probabilities(model.decision_function(grid))[:, np.argsort(model.labels)]
    np.testing.assert_allclose(again, p, atol=1e-9)


def test_probabilities_follow_the_class_weights():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 1))
    y = (X[:, 0] + rng.normal(size=600) > 2).astype(int)  # few ones
    plain = SMO(probability=True, kernel="linear").fit(X, y).predict_proba(X)[:, 1].mean()
    balanced = SMO(probability=True, kernel="linear", class_weight="balanced").fit(X, y).predict_proba(X)[:, 1].mean()
    assert plain == pytest.approx(y.mean(), abs=0.04) and balanced > 2 * plain


def test_without_them():
    X, y = load_iris(return_X_y=True)
    assert not hasattr(SMO(), "predict_proba")
    fitted = SMO().fit(X, y)
    with pytest.raises(InputError, match="train it with probability=True"):
        fitted.model_.probabilities(fitted.model_.decision_function(X))
    with pytest.raises(InputError, match="at least two rows of every class"):
        SMO(probability=True).fit(X[:51], y[:51])
