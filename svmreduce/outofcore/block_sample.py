"""A random sample of every class from rows that pass by once, in memory for the sample only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmreduce.errors import InputError
from svmreduce.rows import stacked
from svmreduce.types import Matrix

_SIGMAS = 7.0  # a row that is let go would have been needed in one of 10¹¹ runs


class BlockSample:
    """Every row draws a number; of each class the rows with the smallest numbers stay.

    How many that will be is known at the end only: a share of the class, or of ``rows`` in all the class's part. Until
    then rows stay whose number is near enough to what the rows seen so far would allow. The result depends on the
    order of the rows, not on the size of the blocks.

    Parameters
    ----------
    share : float, optional
    rows : int or function, optional
        Instead of a share; all rows if there are fewer. A function gives it from the number of all rows, and must grow
        more slowly than that.
    seed : int
    most_bytes : float
        More is an error, which gives the ``advice``.
    """

    def __init__(
        self,
        *,
        share: float = 1.0,
        rows: int | Callable[[int], int] | None = None,
        seed=0,
        most_bytes: float = np.inf,
        advice: str = "keep fewer rows",
    ):
        self.share, self.rows, self.most_bytes, self.advice = share, rows, most_bytes, advice
        self._rng = np.random.default_rng(seed)
        self._parts: list[tuple] = []  # (X, codes, drawn, numbers)
        self._held = self._bound = self.seen = 0
        self.counts = np.zeros(0, np.int64)

    def add(self, X: Matrix, codes: np.ndarray) -> None:
        """The next rows, with their classes 0, 1, …"""
        numbers = np.arange(self.seen, self.seen + len(codes))
        self.seen += len(codes)
        here = np.bincount(codes)
        self.counts = np.pad(self.counts, (0, max(0, len(here) - len(self.counts))))
        self.counts[: len(here)] += here
        self._keep(X, codes, self._rng.random(len(codes)), numbers)
        if self._held > max(self._bound, 2 * len(codes)):
            self._sift()
            self._bound = 2 * self._held
        if self._bytes() > self.most_bytes:
            raise InputError(f"a random sample of {self._held} rows needs more than --memory allows: "
                             f"{self.advice}, or give more by --memory")  # fmt: skip

    def _keep(self, X, codes, drawn, numbers) -> None:
        near = np.flatnonzero(drawn <= self._limits()[codes])
        self._parts.append((X[near], codes[near], drawn[near], numbers[near]))
        self._held += len(near)

    def _sift(self) -> None:
        parts, self._parts, self._held = self._parts, [], 0
        for part in parts:
            self._keep(*part)

    def _bytes(self) -> int:
        return sum(X.data.nbytes for X, *_ in self._parts)

    def _share_now(self) -> float:
        if self.rows is None:
            return self.share
        return min(1.0, (self.rows(self.seen) if callable(self.rows) else self.rows) / self.seen)

    def _limits(self) -> np.ndarray:
        share, counts = self._share_now(), np.maximum(self.counts, 1)
        return share + _SIGMAS * np.sqrt((share + _SIGMAS / counts) / counts)

    def rows_kept(self) -> tuple[Matrix, np.ndarray, np.ndarray]:
        """The sample in file order: rows, classes, row numbers."""
        X = stacked([part[0] for part in self._parts])
        codes, drawn, numbers = (np.concatenate([part[k] for part in self._parts]) for k in (1, 2, 3))
        wanted = np.maximum(1, np.round(self._share_now() * self.counts)).astype(np.int64)
        chosen = []
        for code, count in enumerate(wanted):
            own = np.flatnonzero(codes == code)
            chosen.append(own[np.argsort(drawn[own], kind="stable")[:count]])
        rows = np.sort(np.concatenate(chosen))
        return X[rows], codes[rows], numbers[rows]
