"""What an SVM minimises, over any rows: ½‖w‖² + C·Σ loss, with the hinge loss or that of a tube.

Several classes are several problems of two, whose objectives add up: one per pair of classes, or one per class against
the rest, as the model decides.
"""

from __future__ import annotations

import math
import warnings
from itertools import combinations

import numpy as np

from svmreduce.kernels import PRECOMPUTED
from svmreduce.model.kernel_lines import kernel_header, kernel_line
from svmreduce.model.kernel_model import KernelModel
from svmreduce.model.linear_model import LinearModel


def squared_norms(model, threads: int | None = None) -> list[float] | None:
    """‖w‖² of each output; None for a model that is not one sum of kernels, or whose kernel is a table of values."""
    if isinstance(model, LinearModel):
        return np.square(model.weights).sum(axis=1).tolist()
    if not isinstance(model, KernelModel) or model.kernel.name == PRECOMPUTED or model.svm_type == "one_class":
        return None
    # wᵀw = Σ β·(f − b) over the vectors
    values = model.decision_function(model.vectors, threads=threads)
    if values.ndim == 1:
        return [float(model.coef[0] @ (values - model.intercepts[0]))]
    coef, values, ends = model.coef, values - model.intercepts, np.concatenate([[0], np.cumsum(model.n_support)])
    norms = []
    for pair, (i, j) in enumerate(combinations(range(len(model.labels)), 2)):
        first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        norms.append(float(coef[j - 1, first] @ values[first, pair] + coef[i, second] @ values[second, pair]))
    return norms


def space_of(model) -> str:
    """Models with the same text measure ‖w‖ in the same space, if their rows are prepared alike."""
    if isinstance(model, LinearModel):
        return "kernel_type linear\n"
    return kernel_header(model.kernel) + kernel_line(model.kernel)


class HingeLoss:
    """The hinge loss over blocks of rows, summed for both signs of every label until it is known which one it has."""

    def __init__(self):
        self._sums: dict = {}

    def add(self, y: np.ndarray, decisions: np.ndarray) -> None:
        values = decisions.reshape(len(y), -1)
        labels, inverse = np.unique(y, return_inverse=True)
        for code, label in enumerate(labels.tolist()):
            own = values[inverse == code]
            sums = np.array([np.maximum(0.0, 1.0 - own).sum(axis=0), np.maximum(0.0, 1.0 + own).sum(axis=0)])
            self._sums.setdefault(label, []).append(sums)

    def total(self, model, match) -> float | None:
        """Over all rows; ``match`` gives labels of the file in the words of the model. None if it does not know one."""
        raw = list(self._sums)
        own, outputs = model.labels.tolist(), next(iter(self._sums.values()))[0].shape[1]
        signs = _signs(len(own), outputs, model.pairwise)
        with warnings.catch_warnings(action="ignore"):  # whoever counts rows has said it
            words = match(np.array(raw)).tolist()
        if not set(words) <= set(own):
            return None
        terms = []
        for label, word in zip(raw, words, strict=True):
            sign = signs[own.index(word)]
            terms += [part for sums in self._sums[label] for part in (*sums[0][sign > 0], *sums[1][sign < 0])]
        return math.fsum(terms)


def _signs(k: int, outputs: int, pairwise: bool) -> np.ndarray:
    """For every class the sign that each output should have; 0 for a pair that it is not one of."""
    signs = np.zeros((k, outputs))
    if outputs == 1 or pairwise:
        for output, (i, j) in enumerate(combinations(range(k), 2)):
            signs[i, output], signs[j, output] = 1, -1
        return signs
    return 2.0 * np.eye(k) - 1.0


def tube_loss(y: np.ndarray, values: np.ndarray, epsilon: float) -> np.ndarray:
    """max(0, |y − f(x)| − ε) of every row."""
    return np.maximum(0.0, np.abs(y - values) - epsilon)
