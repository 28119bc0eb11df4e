"""RandSVM over blocks: a sample from the first pass, and one more pass for the violators of every round.

Nothing is written to the disk. Memory holds the sample, the violators that will join it, and a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from svmreduce.core.kernel_values import suitable_rows
from svmreduce.core.optimality import NEAR, correct_near_margin, kkt_gap
from svmreduce.data.pieces import ROWS, block_rows, in_blocks
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from svmreduce.outofcore.block_sample import BlockSample
from svmreduce.outofcore.block_work import FirstPass
from svmreduce.outofcore.scanning import Reading, Scan, ordered
from svmreduce.rows import stacked
from svmreduce.solvers._sample_rounds import INNER, Rounds
from svmreduce.solvers.base import seed_of
from svmreduce.types import Matrix

SAMPLE_SHARE = 4  # of the memory, a quarter: the next sample is made beside this one


class Sampled(NamedTuple):
    """The problem that ``RandSVM`` is to solve by rounds, and what was learned from all rows."""

    X: Matrix
    y: np.ndarray  # targets ±1
    numbers: np.ndarray  # of these rows
    kernel: KernelSpec
    classes: np.ndarray
    found: Scan


class RandomRounds(FirstPass):
    """RandSVM: the first pass is that of other work; there are no tasks and no work folder."""

    def sampled(self) -> Sampled:
        """The first pass: labels, scaling, gamma, and a random sample."""
        if self.means.engine != "local":
            raise InputError("RandSVM looks for violators on the threads of one machine: leave out --engine dask")
        seed = [seed_of(self.method.random_state), 1]  # the rounds draw other numbers
        sample = BlockSample(rows=self.method.sample_size, seed=seed,
                             most_bytes=self.means.memory_bytes // SAMPLE_SHARE, advice="lower k or c")  # fmt: skip
        found, kernel, _ = self._learned(sample)
        labels, classes = found.classes.labels, np.sort(found.classes.labels)
        if len(labels) != 2:
            raise InputError(f"{self.blocks.name}: RandSVM takes rows of two classes from the disk, got {len(labels)}; "
                             "for several use dcsvm or aesvm, or give more by --memory")  # fmt: skip
        X, codes, numbers = sample.rows_kept()
        y = np.where(labels[codes] == classes[1], 1.0, -1.0)
        return Sampled(ordered(found, X), y, numbers, kernel, classes, found)

    def rows(self, sampled: Sampled) -> Iterator[tuple[Matrix, np.ndarray, int]]:
        """One more pass: rows as the kernel sees them, targets, and the number of the first of them.

        They come in blocks of one size whatever that of the source, so that rounding is always the same.
        """
        scaler, (low, high), at = sampled.found.scaler, sampled.classes, 0
        size = ROWS if self.blocks.is_sparse else block_rows(self.blocks.n_features, ROWS)
        with self.means.bar("looking for violators", sampled.found.rows) as bar:
            reading = Reading(self.blocks, bar.update)
            for X, y in in_blocks(reading, size):
                if not ((y == low) | (y == high)).all():
                    raise InputError(f"{self.blocks.name}: other labels than in the first pass; give the same rows")
                yield X if scaler is None else scaler.transform(X), np.where(y == high, 1.0, -1.0), at
                at += len(y)
                self._took("read", reading.seconds)
                reading.seconds = 0.0
        if at != sampled.found.rows:
            raise InputError(
                f"{self.blocks.name}: {at} rows, {sampled.found.rows} in the first pass; give the same rows"
            )


class BlockRounds(Rounds):
    """The rounds, with only the present sample in ``X``, ``y`` and ``weights``; ``numbers`` are those of its rows."""

    def __init__(self, backend, work: RandomRounds, sampled: Sampled, *, size, **settings):
        X, y, self.numbers, kernel, *_ = sampled
        super().__init__(backend, X, y, np.ones(len(y)), kernel, size=size, **settings)
        self.size = min(size, sampled.found.rows)
        self.work, self.sampled = work, sampled

    def _first_sample(self):
        return np.arange(self.n)

    def _next_sample(self, support, violators):
        """Hold these rows instead of the last sample, in the order of the source."""
        X, y, numbers, _ = self.chosen
        self.X, self.y = stacked([self.X, X]), np.concatenate([self.y, y])
        self.numbers = np.concatenate([self.numbers, numbers])
        rows = self._with_both_classes(np.concatenate([support, np.arange(self.n, self.n + violators.size)]))
        rows = rows[np.argsort(self.numbers[rows])]
        self.X, self.y, self.numbers, self.n = self.X[rows], self.y[rows], self.numbers[rows], rows.size
        self.weights = np.ones(self.n)
        self.box = self.backend.C * self.weights
        return np.arange(self.n)

    def _violators(self, need):
        """A random choice from one pass: every violator draws a number, and those with the smallest stay. The order of
        the rows may mean something, so that a pass ends early only if it is asked whether there are any."""
        self.chosen = [self.X[:0], self.y[:0], self.numbers[:0], np.empty(0)]
        self.loss, self.extremes, seen, scanned = 0.0, [-np.inf, np.inf], 0, 0
        for X, y, at in self.work.rows(self.sampled) if self.n < self.sampled.found.rows else ():
            numbers = np.setdiff1d(np.arange(at, at + len(y)), self.numbers, assume_unique=True)
            if not numbers.size:
                continue
            X, y = X[numbers - at], y[numbers - at]
            f = self._values(X, y)
            losses = 1.0 - y * (f + self.intercept)
            beyond = np.flatnonzero(losses > INNER * self.tol)
            seen, scanned = seen + beyond.size, scanned + numbers.size
            if seen and not need:
                return numbers[beyond[:1]], seen, scanned
            self._choose([X[beyond], y[beyond], numbers[beyond], self.rng.random(beyond.size)], need)
            self.loss += self.backend.C * float(np.maximum(0.0, losses).sum())
            self.extremes = [(y - f)[y > 0].max(initial=self.extremes[0]), (y - f)[y < 0].min(initial=self.extremes[1])]
        return self.chosen[2], seen, scanned

    def _choose(self, new: list, need: int) -> None:
        """Keep of the rows so far and the new ones those that drew the smallest numbers."""
        pairs = zip(self.chosen, new, strict=True)
        both = [stacked(pair) if pair[0].ndim == 2 else np.concatenate(pair) for pair in pairs]
        stay = np.sort(np.argsort(both[-1], kind="stable")[:need])
        self.chosen = [part[stay] for part in both]

    def _values(self, X, y):
        """Decision values without intercept, in double where float32 could mistake a row for a violator or hide one."""
        if self.normal is not None:
            return self._decide_all(X)
        dtype = suitable_rows(self.kernel, X, single=self.dtype == np.float32).dtype
        f = self._decide_all(X, dtype)
        if dtype == np.float32:
            unsure = np.flatnonzero(y * (f + self.intercept) > 1 - NEAR)
            correct_near_margin(f, unsure, y, self.intercept, lambda rows: self._decide_all(X[rows]))
        return f

    def _certify(self):
        """As in memory; of the rows outside the sample the last pass has kept what is needed."""
        self.f = np.empty(self.n)
        super()._certify()
        if self.duality_gap is not None:
            self.duality_gap += self.loss
        if self.gap is not None:
            C, positive = self.backend.C, np.append(self.y, [1.0, -1.0]) > 0
            self.gap = kkt_gap(np.append(self.y - self.f, self.extremes), np.append(self.beta, [0.0, 0.0]),
                               np.where(positive, 0.0, -C), np.where(positive, C, 0.0))  # fmt: skip
