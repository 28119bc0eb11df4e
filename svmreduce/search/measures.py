"""What a search may choose by."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn import metrics

from svmreduce.errors import InputError, nearest_name_error


class Score(NamedTuple):
    """A measure of predictions, and which way is better."""

    task: str
    measure: Callable[[np.ndarray, np.ndarray, np.ndarray], float]  # of truth, prediction and decision values
    sign: int = 1  # -1 where less is better


def _f1(truth, prediction, decisions) -> float:
    """Of the second of two classes; the mean over all of them where there are more."""
    if decisions.ndim > 1 or max(truth.max(), prediction.max()) > 1:
        return float(metrics.f1_score(truth, prediction, average="macro", zero_division=0.0))
    return float(metrics.f1_score(truth, prediction, zero_division=0.0))


def _auc(truth, prediction, decisions) -> float:
    if decisions.ndim > 1:
        raise InputError("auc is for two classes; choose by accuracy, balanced_accuracy or f1")
    if len(np.unique(truth)) < 2:
        raise InputError("auc needs validation rows of both classes in every fold; use fewer folds")
    return float(metrics.roc_auc_score(truth, decisions))


SCORES = {
    "accuracy": Score("classification", lambda truth, prediction, _: float(np.mean(truth == prediction))),
    "balanced_accuracy": Score(
        "classification",
        lambda truth, prediction, _: float(
            np.mean([np.mean(prediction[truth == code] == code) for code in np.unique(truth)])
        ),
    ),
    "f1": Score("classification", _f1),
    "auc": Score("classification", _auc),
    "mse": Score("regression", lambda truth, prediction, _: float(np.mean((truth - prediction) ** 2)), -1),
    "r2": Score("regression", lambda truth, prediction, _: float(metrics.r2_score(truth, prediction))),
}


def score_named(name: str | None, task: str) -> tuple[str, Score]:
    """The measure of this name, or the usual one of the task."""
    name = name or ("accuracy" if task == "classification" else "mse")
    if name not in SCORES:
        raise nearest_name_error("metric", name, SCORES)
    if SCORES[name].task != task:
        known = ", ".join(key for key, score in SCORES.items() if score.task == task)
        raise InputError(f"{name} does not measure {task}; choose one of {known}")
    return name, SCORES[name]
