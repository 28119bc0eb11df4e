"""Scores against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from svmreduce.scores import area_under_curve, classification_scores, regression_scores


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_classification(k, seed):
    random = np.random.default_rng(seed)
    classes = random.permutation(np.array(["a", "b", "c", "d"])[:k])
    y = random.choice(classes, 30)
    decisions = random.normal(size=30).round(1)  # with ties
    predicted = np.where(decisions > 0, classes[0], classes[1]) if k == 2 else random.choice(classes, 30)
    found = classification_scores(y, predicted, classes=classes, decisions=decisions if k == 2 else None)
    labels = sorted(classes)
    assert found["labels"] == labels
    assert found["confusion"] == metrics.confusion_matrix(y, predicted, labels=labels).tolist()
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(y, predicted))
    recalls = metrics.recall_score(y, predicted, labels=sorted(set(y)), average=None)
    assert found["balanced_accuracy"] == pytest.approx(np.mean(recalls))
    if k > 2:
        assert found["f1"] == pytest.approx(metrics.f1_score(y, predicted, average="macro"))
        assert found["auc"] is None and found["positive"] is None
        return
    assert found["positive"] == "b"
    assert found["f1"] == pytest.approx(metrics.f1_score(y, predicted, pos_label="b", zero_division=0))
    if len(set(y)) == 2:
        values = decisions if classes[0] == "b" else -decisions
        assert found["auc"] == pytest.approx(metrics.roc_auc_score(y == "b", values))
    other = classification_scores(y, predicted, classes=classes, decisions=decisions, positive="a")
    assert other["f1"] == pytest.approx(metrics.f1_score(y, predicted, pos_label="a", zero_division=0))


def test_regression():
    random = np.random.default_rng(0)
    y, predicted = random.normal(size=(2, 20))
    found = regression_scores(y, predicted)
    assert found["mse"] == pytest.approx(metrics.mean_squared_error(y, predicted))
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(y, predicted))
    assert found["r2"] == pytest.approx(metrics.r2_score(y, predicted))
    assert np.isnan(regression_scores(np.ones(3), np.arange(3.0))["r2"])


def test_no_area_without_both_classes():
    assert area_under_curve(np.array([True, True]), np.array([1.0, 2.0])) is None
    assert area_under_curve(np.array([True, False]), np.array([1.0, np.nan])) is None
