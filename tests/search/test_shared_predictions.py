"""Folds that share their kernel values say what folds say that are fitted one after the other."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons

from svmreduce.search.shared_predictions import predictions
from svmreduce.solvers.cross_validation import cross_validate, fold_parts
from svmreduce.solvers.smo import SMO
from svmreduce.solvers.tuning import tune_C

MOONS = make_moons(300, noise=0.35, random_state=0)
DIGITS = tuple(part[:300] for part in load_digits(return_X_y=True))
WEIGHTS = np.where(np.arange(300) % 3, 1.0, 2.5)


@pytest.mark.parametrize(
    ("rows", "weights", "settings"),
    [
        (MOONS, None, {"gamma": 2.0, "C": 10.0}),
        (MOONS, WEIGHTS, {"gamma": 0.5, "class_weight": {1: 4.0}}),
        (MOONS, WEIGHTS, {"kernel": "linear", "class_weight": "balanced"}),
        (DIGITS, None, {"gamma": 0.001, "C": 5.0}),
        (DIGITS, None, {"kernel": "poly", "gamma": 0.01, "degree": 2, "coef0": 1.0}),
    ],
)
def test_every_fold_has_the_same_answers(rows, weights, settings):
    X, y = rows
    y = np.array([f"class {label}" for label in y]) if "class_weight" not in settings else y
    solver = SMO(**settings)
    parts = fold_parts(solver, y, 5, 0)
    shared = predictions(solver, X, y, weights, parts, [solver.C])
    alone = cross_validate(solver, X, y, weights, folds=5)
    for (_, test), (labels,) in zip(parts, shared, strict=True):
        assert np.sum(labels != alone[test]) <= 1
    assert np.mean(alone == y) > 0.8


def test_all_C_at_once_find_what_one_by_one_finds():
    X, y = MOONS
    solver, values, told = SMO(gamma="scale"), [0.2, 3.0, 100.0], []
    alone = tune_C(solver, X, y, WEIGHTS, values=values)
    shared = tune_C(solver, X, y, WEIGHTS, values=values, at_once=predictions, progress=lambda *one: told.append(one))
    assert list(shared.accuracies.values()) == pytest.approx(list(alone.accuracies.values()), abs=0.03)
    assert [(C, seconds) for C, _, seconds in told] == [(C, None) for C in values]


def test_what_a_fold_must_learn_or_may_not_finish_is_not_shared():
    X, y = MOONS
    parts = fold_parts(SMO(), y, 5, 0)
    for settings in ({}, {"gamma": 1.0, "max_seconds": 5.0}, {"gamma": 1.0, "cache_mb": 1}, {"kernel": "gaussian"}):
        assert predictions(SMO(**settings), X, y, None, parts, [1.0]) is None
    assert predictions(SMO(gamma=1.0), X, y, np.arange(300.0), parts, [1.0]) is None  # a row that does not count
