"""What models of all kinds share: a text file, and labels from decision values."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import chain, combinations
from typing import ClassVar

import numpy as np

from svmreduce.model.text import ModelText, check_finite, read_model_text, write_text
from svmreduce.types import Matrix


class TextModel(ABC):
    """A model whose file has a header of known words, a line with a single word, then numbers.

    A subclass writes ``_pieces`` and ``_numbers``, and reads ``from_text``. ``pairwise`` says whether several classes
    have an output per pair, which votes, or one per class, of which the largest wins.
    """

    labels: np.ndarray | None
    notes: tuple[str, ...] = ()  # what a model file said that is not used here
    pairwise: bool
    _header: ClassVar[frozenset[str]]  # words that header lines may begin with
    _last_word: ClassVar[str]  # of the header

    @abstractmethod
    def _pieces(self) -> Iterator[str]:
        """The text of the file."""

    @abstractmethod
    def _numbers(self) -> list[np.ndarray]:
        """Everything in it that must be finite."""

    def save(self, path: str | os.PathLike, *, last_line: str = "") -> None:
        """Write the model's file; every number survives exactly."""
        check_finite(*self._numbers())
        write_text(path, chain(self._pieces(), [last_line]))

    @classmethod
    def text_of(cls, path: str | os.PathLike) -> ModelText:
        """A file of such a model, cut into its parts; ``from_text`` makes the model of it."""
        return read_model_text(path, cls._last_word, cls._header)

    def predict(self, X: Matrix, *, threads: int | None = None) -> np.ndarray:
        return self.decide(self.decision_function(X, threads=threads))

    def decide(self, decisions: np.ndarray) -> np.ndarray:
        """What the decision values mean: labels, ties to the earlier one; the values themselves without labels."""
        return decisions if self.labels is None else self.labels[self._winners(decisions)]

    def _winners(self, decisions: np.ndarray) -> np.ndarray:
        """Places of the predicted labels."""
        if decisions.ndim == 1:
            return np.where(decisions > 0, 0, 1)
        return (votes(decisions, len(self.labels)) if self.pairwise else decisions).argmax(axis=1)


def votes(decisions: np.ndarray, k: int) -> np.ndarray:
    """How many pairs each class wins, from decision values of shape (n, k(k-1)/2)."""
    counts = np.zeros((len(decisions), k), dtype=np.int64)
    for column, (i, j) in enumerate(combinations(range(k), 2)):
        first = decisions[:, column] > 0
        counts[:, i] += first
        counts[:, j] += ~first
    return counts
