"""The problems of one fold: every pair of classes, or one regression, and what their solutions predict."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from svmreduce.checks import class_weights
from svmreduce.errors import InputError
from svmreduce.model import votes


@dataclass(frozen=True)
class DualProblem:
    """One dual problem; ``rows`` of all rows belong to its variables, bounds are those for C = 1."""

    rows: np.ndarray
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class ClassFold:
    """Pairs of the classes among the training rows, the later class positive where there are two as in SVC.

    Parameters
    ----------
    codes : class numbers of all rows
    train, test : row numbers
    class_weight : None, "balanced" or a dict by class number
    weights : of all rows, optional
    """

    def __init__(self, codes, train, test, class_weight=None, weights=None):
        self.codes, self.train, self.test = codes, np.sort(train), test
        self.present = np.unique(codes[self.train])
        if self.present.size < 2:
            raise InputError(
                "a fold has training rows of one class only: use fewer folds, or folds that keep the classes' shares"
            )
        share = compute_class_weight(class_weight, classes=self.present, y=codes[self.train])
        self.weight = np.zeros(codes.size)
        self.weight[self.train] = share[np.searchsorted(self.present, codes[self.train])]
        if weights is not None:
            self.weight[self.train] *= weights[self.train]

    def problems(self) -> list[DualProblem]:
        problems = []
        for i, j in combinations(self.present, 2):
            rows = self.train[(self.codes[self.train] == i) | (self.codes[self.train] == j)]
            # two classes: above zero is the second, as in scikit-learn; several: a vote for the first, as in LIBSVM
            positive = j if self.present.size == 2 else i
            target = np.where(self.codes[rows] == positive, 1.0, -1.0)
            box = self.weight[rows]
            problems.append(DualProblem(rows, target, np.where(target < 0, -box, 0.0), np.where(target > 0, box, 0.0)))
        return problems

    def predict(self, decisions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Class numbers, and decision values as scores take them, from values of shape (test rows, problems)."""
        if self.present.size == 2:
            return self.present[(decisions[:, 0] > 0).astype(int)], decisions[:, 0]
        return self.present[votes(decisions, self.present.size).argmax(axis=1)], decisions


def weight_by_code(class_weight, classes: np.ndarray):
    """Class weights as ``ClassFold`` takes them, from those by label."""
    if not isinstance(class_weight, dict):
        return class_weight
    weights = class_weights(class_weight, classes)
    return {code: weights.get(label, 1.0) for code, label in enumerate(classes.tolist())}


class RegressionFold:
    """ε-SVR: each training row has a variable that pulls up and one that pulls down."""

    def __init__(self, values, train, test, epsilon):
        self.values, self.train, self.test, self.epsilon = values, np.sort(train), test, epsilon
        self.codes = np.zeros(values.size, np.int64)  # no classes

    def problems(self) -> list[DualProblem]:
        y, zeros, ones = self.values[self.train], np.zeros(self.train.size), np.ones(self.train.size)
        return [
            DualProblem(
                np.concatenate([self.train, self.train]),
                np.concatenate([y - self.epsilon, y + self.epsilon]),
                np.concatenate([zeros, -ones]),
                np.concatenate([ones, zeros]),
            )
        ]

    def predict(self, decisions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return decisions[:, 0], decisions[:, 0]
