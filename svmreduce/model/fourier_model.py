"""Models on random Fourier features: a map, then a linear rule; with their own text format.

LIBSVM's file holds support vectors and a kernel, LIBLINEAR's one weight per column of the data: neither can
hold such a model. The file here looks like theirs, and ``load_model`` recognises it by its first word::

    feature_type fourier
    nr_class 2
    label 1 -1
    nr_feature 22                    columns of the data
    nr_random 1000                   random features, E
    decision one_vs_rest             or one_vs_one
    intercept -0.25                  one per output
    F
    phase weight… frequency…         E lines: one weight per output, one frequency per column

Random feature j of a row x is √(2/E)·cos(frequency_j·x + phase_j).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmreduce.core.cosines import cosines
from svmreduce.core.kernel_values import single_threaded_blas
from svmreduce.core.threads import in_threads, resolve_threads
from svmreduce.model.base import TextModel
from svmreduce.model.text import ModelText, header_labels
from svmreduce.rows import finite_rows

_DECISIONS = {"one_vs_rest": False, "one_vs_one": True}
_BLOCK = 1 << 18  # feature values made at a time, near the cache


@dataclass(frozen=True, eq=False)
class FourierMap:
    """E random cosines whose products stand for an rbf kernel: z(x)·z(x') ≈ exp(-gamma·||x-x'||²).

    The error of one product falls as 1/√E (Rahimi and Recht 2007, Algorithm 1).

    Parameters
    ----------
    frequencies : array of shape (n_features, E)
    phases : array of shape (E,)
    """

    frequencies: np.ndarray
    phases: np.ndarray

    @classmethod
    def draw(cls, n_features: int, E: int, gamma: float, seed: int) -> FourierMap:
        """Frequencies from the kernel's Fourier transform, a normal law of variance 2·gamma; phases uniform."""
        random = np.random.default_rng(seed)
        frequencies = random.normal(scale=np.sqrt(2 * gamma), size=(n_features, E))
        return cls(frequencies, random.uniform(0, 2 * np.pi, E))

    @property
    def E(self) -> int:
        return len(self.phases)

    def transform(self, X, threads: int | None = None) -> np.ndarray:
        """The features of all rows, shape (n, E)."""
        out = np.empty((X.shape[0], self.E))

        def keep(low, high, features):
            out[low:high] = features

        self.each_block(X, keep, threads)
        return out

    def each_block(self, X, use, threads: int | None = None) -> None:
        """``use(low, high, features)`` for blocks of rows; columns beyond those of the map are not looked at."""
        width = min(X.shape[1], self.frequencies.shape[0])
        if width < X.shape[1]:
            X = X[:, :width]
        frequencies, scale = self.frequencies[:width], np.sqrt(2 / self.E)
        rows = max(64, _BLOCK // self.E)

        def work(block):
            part = X[block * rows : (block + 1) * rows]
            features = part @ frequencies
            cosines(features, self.phases, scale)
            use(block * rows, block * rows + len(features), features)

        with single_threaded_blas:
            in_threads(work, -(-X.shape[0] // rows), resolve_threads(threads))


@dataclass(frozen=True, eq=False)
class FourierModel(TextModel):
    """A linear rule on random Fourier features.

    Parameters
    ----------
    map : FourierMap
    weights : array of shape (n_outputs, E)
    intercepts : array of shape (n_outputs,)
    labels : array of shape (k,)
        Two classes share one output, positive for ``labels[0]``.
    pairwise : bool
        With more classes: an output for every pair, which vote, or one per class, of which the largest wins.
    """

    map: FourierMap
    weights: np.ndarray
    intercepts: np.ndarray
    labels: np.ndarray
    pairwise: bool = False
    task = "classification"
    file_format = "svmreduce's own format: random features have none in LIBSVM"
    _header = frozenset({"feature_type", "nr_class", "label", "nr_feature", "nr_random", "decision", "intercept"})
    _last_word = "F"

    @property
    def n_features(self) -> int:
        return self.map.frequencies.shape[0]

    def decision_function(self, X, *, threads: int | None = None) -> np.ndarray:
        """Decision values (n,), or (n, outputs) for more than two classes; the features are made on the way."""
        X = finite_rows(X)
        values = np.empty((X.shape[0], len(self.intercepts)))
        weights = self.weights.T

        def use(low, high, features):
            values[low:high] = features @ weights + self.intercepts

        self.map.each_block(X, use, threads)
        return values[:, 0] if values.shape[1] == 1 else values

    def _numbers(self):
        return [self.weights, self.intercepts, self.map.frequencies]

    def _pieces(self):
        numbers, trailer = header_labels(self.labels)
        decision = next(name for name, pairwise in _DECISIONS.items() if pairwise == self.pairwise)
        yield f"feature_type fourier\nnr_class {len(self.labels)}\nlabel {' '.join(map(str, numbers))}\n"
        yield f"nr_feature {self.n_features}\nnr_random {self.map.E}\ndecision {decision}\n"
        yield f"intercept {' '.join(map(repr, self.intercepts.tolist()))}\nF\n"
        for phase, weights, frequencies in zip(
            self.map.phases.tolist(), self.weights.T, self.map.frequencies.T, strict=True
        ):
            yield " ".join(map(repr, [phase, *weights.tolist(), *frequencies.tolist()])) + "\n"
        yield trailer

    @classmethod
    def from_text(cls, text: ModelText) -> FourierModel:
        if text.word("feature_type") != "fourier":
            raise text.fail(text.lines["feature_type"], "unknown feature_type: known is fourier")
        decision = text.word("decision")
        if decision not in _DECISIONS:
            raise text.fail(text.lines["decision"], f"unknown decision {decision!r}: known are {', '.join(_DECISIONS)}")
        k, features, E = text.count("nr_class", 2), text.count("nr_feature", 1), text.count("nr_random", 1)
        labels, pairwise = text.labels(k), _DECISIONS[decision]
        outputs = 1 if k == 2 else k * (k - 1) // 2 if pairwise else k
        intercepts = np.array(text.numbers("intercept", float, outputs))
        table = text.table(E, 1 + outputs + features, "random features")
        fourier = FourierMap(np.ascontiguousarray(table[:, 1 + outputs :].T), table[:, 0].copy())
        return cls(fourier, np.ascontiguousarray(table[:, 1 : 1 + outputs].T), intercepts, labels, pairwise)
