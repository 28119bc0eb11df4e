"""How good predictions are: the figures that ``svmreduce predict`` prints, equal to scikit-learn's.

They are written out here because importing scikit-learn's would take longer than most predictions.
"""

from __future__ import annotations

import numpy as np

from svmreduce.label_keys import label_key


def regression_scores(y: np.ndarray, predicted: np.ndarray) -> dict:
    """Mean squared error, mean absolute error, and R² (not a number where all targets are equal)."""
    errors, spread = y - predicted, np.square(y - np.mean(y)).sum()
    squares = np.square(errors)
    r2 = 1 - squares.sum() / spread if spread > 0 else float("nan")
    return {"mse": float(squares.mean()), "mae": float(np.abs(errors).mean()), "r2": float(r2)}


def classification_scores(
    y: np.ndarray,
    predicted: np.ndarray,
    *,
    classes: np.ndarray,
    decisions: np.ndarray | None = None,
    positive: str | None = None,
    counts: np.ndarray | None = None,
) -> dict:
    """Accuracy and its kin.

    Parameters
    ----------
    y, predicted : arrays of labels
    classes : array
        The labels of the model; its two-class decision values are positive for the first.
    decisions : array of shape (n,), optional
        For AUC, which is of two classes only.
    positive : str, optional
        The class that F1 and AUC of two classes are about; by default the last in sorted order.
    counts : array of int, optional
        How many rows have each pair of ``y`` and ``predicted``; one each if not given.

    Returns
    -------
    dict
        ``accuracy``, ``balanced_accuracy`` (mean share of hits over the classes in ``y``), ``f1`` (of the positive
        class; of more than two classes the mean over all), ``positive``, ``auc``, ``labels`` and ``confusion``: one
        row per true label, one column per predicted one.
    """
    labels, codes = np.unique(np.concatenate([classes, y, predicted]), return_inverse=True)
    true, guess = codes[len(classes) : len(classes) + len(y)], codes[len(classes) + len(y) :]
    k = len(labels)
    counts = np.ones(len(y), np.int64) if counts is None else counts
    confusion = np.zeros(k * k, np.int64)
    np.add.at(confusion, true * k + guess, counts)
    confusion = confusion.reshape(k, k)
    hits, of_label, as_label = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    f1 = 2 * hits / np.maximum(of_label + as_label, 1)
    keys = [label_key(label) for label in labels]
    place = auc = None
    if len(classes) == 2:
        place = keys.index(positive) if positive in keys else int(np.max(codes[:2]))
        if decisions is not None:
            scores = decisions if codes[0] == place else -decisions
            auc = area_under_curve(true == place, scores)
    in_use = (of_label + as_label) > 0
    return {
        "accuracy": float(hits.sum() / confusion.sum()),
        "balanced_accuracy": float(np.mean(hits[of_label > 0] / of_label[of_label > 0])),
        "f1": float(f1[in_use].mean() if place is None else f1[place]),
        "positive": None if place is None else keys[place],
        "auc": auc,
        "labels": keys,
        "confusion": confusion.tolist(),
    }


def area_under_curve(is_positive: np.ndarray, scores: np.ndarray) -> float | None:
    """The chance that a positive row has a higher score than another one, ties as one half; None for one class."""
    n = int(is_positive.sum())
    others = len(is_positive) - n
    if not n or not others or not np.isfinite(scores).all():
        return None
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]  # ties share their mean rank
    return float((ranks[is_positive].sum() - n * (n + 1) / 2) / (n * others))
