"""What classifiers promise about labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmreduce.testing.made_of import Check, cloud, demand, forms, has, is_finite, near, new, refused, values_of

_TWO_LABELS = ([-1, 1], [0, 1], [5, -3], [1.0, 2.0], ["no", "yes"], [True, False])


def check_any_two_labels(solver: Any, within: float) -> None:
    X, y = cloud()
    for labels in map(np.array, _TWO_LABELS):
        fitted = new(solver).fit(X, labels[y])
        demand(fitted.classes_.tolist() == sorted(labels.tolist()), f"classes_ of {labels} are {fitted.classes_}")
        predicted = fitted.predict(X)
        demand(predicted.dtype == labels.dtype, f"labels of {labels.dtype} are predicted as {predicted.dtype}")
        by_sign = fitted.classes_[(fitted.decision_function(X) > 0).astype(int)]
        demand(np.array_equal(predicted, by_sign), "a decision value above zero must mean classes_[1]")
        _is_accurate(predicted, labels[y], 0.9)


def _is_accurate(predicted: np.ndarray, y: np.ndarray, least: float) -> None:
    share = np.mean(predicted == y)
    demand(share > least, f"only {share:.0%} of the training rows are right, for classes that lie apart")


def check_the_order_of_rows_does_not_name_the_classes(solver: Any, within: float) -> None:
    X, y = cloud()
    order = np.argsort(-y, kind="stable")
    forward, backward = (new(solver).fit(X[rows], y[rows]) for rows in (np.arange(len(y)), order))
    near(values_of(forward, X), values_of(backward, X), max(5e-2, within), "rows in another order")


def check_many_classes(solver: Any, within: float) -> None:
    X, y = cloud(150, 6, 5)
    words = np.array(["e", "d", "c", "b", "a"])[y]
    fitted = new(solver).fit(X, words)
    scores = fitted.decision_function(X)
    demand(scores.shape == (150, 5), f"decision values of 150 rows and 5 classes have shape {scores.shape}")
    _is_accurate(fitted.classes_[scores.argmax(axis=1)], words, 0.85)
    _is_accurate(fitted.predict(X), words, 0.85)


def check_one_row_per_class(solver: Any, within: float) -> None:
    parameters = {"C": 100} if has(solver, "C") else {}
    for classes in (2, 3):
        for rows in forms(np.eye(3)[:classes]):
            predicted = new(solver, **parameters).fit(rows, range(classes)).predict(rows)
            demand(predicted.tolist() == list(range(classes)), f"{classes} rows of {classes} classes: {predicted}")


def check_equal_rows_of_both_classes(solver: Any, within: float) -> None:
    fitted = new(solver).fit(np.ones((6, 2)), [0, 1] * 3)
    is_finite(fitted.decision_function(np.ones((1, 2))), "six equal rows")


def check_contradictions_among_other_rows(solver: Any, within: float) -> None:
    X, y = cloud(60)
    twice, labels = np.vstack([X, X[:6]]), np.concatenate([y, 1 - y[:6]])
    for rows in forms(twice):
        fitted = new(solver).fit(rows, labels)
        is_finite(fitted.decision_function(rows), "six rows with both labels")
        _is_accurate(fitted.predict(rows)[6:60], y[6:], 0.9)


def check_one_class_is_refused(solver: Any, within: float) -> None:
    refused(lambda: new(solver).fit(np.eye(3), [1, 1, 1]), "class", "training on one class")


def check_fractions_are_not_classes(solver: Any, within: float) -> None:
    refused(lambda: new(solver).fit(np.eye(3), [0.1, 0.2, 0.3]), "continuous", "a fraction as a label")


OF_CLASSIFIERS: list[Check] = [
    check_any_two_labels,
    check_the_order_of_rows_does_not_name_the_classes,
    check_many_classes,
    check_one_row_per_class,
    check_equal_rows_of_both_classes,
    check_contradictions_among_other_rows,
    check_one_class_is_refused,
    check_fractions_are_not_classes,
]
