"""The figures of :mod:`svmreduce.scores` for predictions that come in blocks and are not kept.

Labels are counted as the file has them. Only at the end, when all are known, are they matched with those of the model:
whether 0 stands for −1 cannot be seen in one block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from svmreduce.label_keys import label_key
from svmreduce.scores import area_under_curve, classification_scores

_AUC_BYTES = 48  # per row, while ranks are computed
Match = Callable[[np.ndarray, np.ndarray], np.ndarray]


class RunningClassification:
    """Counts of true and predicted labels, and decision values for AUC while they fit.

    Parameters
    ----------
    classes : array
        The labels of the model.
    match : function
        Gives different labels of the file and their counts in the words of the model.
    positive : str or None
        The class that F1 and AUC are about.
    memory : int
        Bytes that AUC may take; beyond, it is left out.
    """

    def __init__(self, classes: np.ndarray, match: Match, positive: str | None = None, memory: int = 1 << 30):
        self.classes, self.match, self.positive = classes, match, positive
        self.most_kept = memory // _AUC_BYTES
        self.left_out = False  # AUC, because of memory
        self._pairs: Counter = Counter()
        self._codes: dict = {}
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []
        self._rows = 0

    def add(self, y: np.ndarray, predicted: np.ndarray, decisions: np.ndarray | None = None) -> None:
        labels, inverse = np.unique(y, return_inverse=True)
        guesses, guess_inverse = np.unique(predicted, return_inverse=True)
        counts = np.bincount(inverse * len(guesses) + guess_inverse, minlength=len(labels) * len(guesses))
        for k in np.flatnonzero(counts):
            label, guess = divmod(int(k), len(guesses))
            self._pairs[labels[label].item(), guesses[guess].item()] += int(counts[k])
        self._rows += len(y)
        self.left_out |= decisions is not None and self._rows > self.most_kept
        if self.left_out:
            self._kept = []
        elif decisions is not None:
            codes = [self._codes.setdefault(label, len(self._codes)) for label in labels.tolist()]
            self._kept.append((np.array(codes, np.int32)[inverse], decisions))

    def result(self) -> dict:
        """What :func:`~svmreduce.scores.classification_scores` gives for all rows."""
        raw = list(dict.fromkeys(label for label, _ in self._pairs))
        of_label: Counter = Counter()
        for (label, _), count in self._pairs.items():
            of_label[label] += count
        words = self.match(np.array(raw), np.array([of_label[label] for label in raw]))
        word_of = dict(zip(raw, words.tolist(), strict=True))
        found = classification_scores(
            np.array([word_of[label] for label, _ in self._pairs]),
            np.array([guess for _, guess in self._pairs]),
            classes=self.classes,
            positive=self.positive,
            counts=np.array(list(self._pairs.values())),
        )
        if self._kept and found["positive"] is not None:
            is_positive = np.array([label_key(word_of[label]) == found["positive"] for label in self._codes])
            codes, decisions = (np.concatenate(arrays) for arrays in zip(*self._kept, strict=True))
            is_first = label_key(self.classes[0]) == found["positive"]
            found["auc"] = area_under_curve(is_positive[codes], decisions if is_first else -decisions)
        return found


class RunningRegression:
    """Mean squared and absolute error and R², block by block."""

    def __init__(self):
        self.rows, self.squares, self.absolute, self.mean, self.spread = 0, 0.0, 0.0, 0.0, 0.0

    def add(self, y: np.ndarray, predicted: np.ndarray) -> None:
        errors, mean, before = y - predicted, float(np.mean(y)), self.rows
        self.rows += len(y)
        self.squares += float(np.square(errors).sum())
        self.absolute += float(np.abs(errors).sum())
        # Spreads about two means add up to that about the common one with this correction (Chan, Golub, LeVeque).
        self.spread += float(np.square(y - mean).sum()) + (mean - self.mean) ** 2 * before * len(y) / self.rows
        self.mean += (mean - self.mean) * len(y) / self.rows

    def result(self) -> dict:
        r2 = 1 - self.squares / self.spread if self.spread > 0 else float("nan")
        return {"mse": self.squares / self.rows, "mae": self.absolute / self.rows, "r2": r2}
