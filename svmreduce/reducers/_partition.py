"""What DeriveRS makes of one partition: rows of one class, whose result depends on nothing but these rows.

Whoever has a partition gets the same kept rows and weights, bit for bit: DeriveRS in memory, threads that read
partitions from a disk, workers of a cluster. So rows are centred, and float32 or double is chosen, by partition.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.utils.extmath import row_norms

from svmreduce.core.extreme_points import derive_cell
from svmreduce.core.kernel_values import KernelRows, single_threaded_blas
from svmreduce.core.neighbour_cells import cut_cell, halve
from svmreduce.core.tiles import SCATTER
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from svmreduce.rows import row_keys
from svmreduce.types import Matrix

FINE_ROUNDING, COARSEST_ROUNDING = 0.02, 0.5  # as shares of ε: float32 is good enough; even double is not


class Derived(NamedTuple):
    """Places of the kept rows, what each stands for, the largest squared distance left, and the number of cells."""

    kept: np.ndarray
    beta: np.ndarray
    worst: float
    cells: int


class Room:
    """Two blocks of V × V kernel values for every thread and precision, and the seconds that threads were busy."""

    def __init__(self, V: int):
        self.V = V
        self._own = threading.local()
        self.cutting: list[float] = []
        self.deriving: list[float] = []

    def blocks(self, dtype: np.dtype) -> np.ndarray:
        known = vars(self._own)
        if dtype.name not in known:
            known[dtype.name] = np.empty((2, self.V**2), dtype)
        return known[dtype.name]


class Partition:
    """Rows of one class, cut into cells of near neighbours; every cell keeps its corners."""

    def __init__(self, kernel: KernelSpec, X: Matrix, weights: np.ndarray, epsilon: float, room: Room):
        start = perf_counter()
        self.weights, self.room = weights, room
        self.rows, self.limit = rows_precise_enough(kernel, X, epsilon)
        self.first = int(np.argmax(row_norms(X, squared=True)))  # of the rows as given, before any centring
        # A number that different rows do not share: cells sorted by it do not depend on the file's order
        self.keys = X @ np.random.default_rng(0).normal(size=X.shape[1])
        room.cutting.append(perf_counter() - start)

    def cells(self) -> Iterator[np.ndarray]:
        """Places of rows: the V nearest to the row of the largest norm, then those nearest to the next one beyond …"""
        V, members, centre = self.room.V, np.arange(self.rows.n), self.first
        arguments, zeros, distance = (*for_distances(self.rows),), _zeros(self.rows), np.empty(self.rows.n)
        while len(members):
            start = perf_counter()
            cell = members
            if len(members) > V:
                cell = np.empty(V, np.int64)
                centre = cut_cell(*arguments, zeros, members, centre, distance[: len(members)], cell)
            members = members[: len(members) - len(cell)]
            cell = cell[np.argsort(self.keys[cell], kind="stable")]
            self.room.cutting.append(perf_counter() - start)
            yield cell

    def corners(self, cell: np.ndarray) -> Derived:
        """DeriveAE on one cell."""
        start = perf_counter()
        n = len(cell)
        K, S = self.room.blocks(self.rows.dtype)
        self.rows.block(cell, self.rows, cell, K, n)
        kept, beta = np.empty(n, np.int64), np.empty(n)
        count, worst = derive_cell(K, n, self.weights[cell], self.limit, S, kept, beta)
        self.room.deriving.append(perf_counter() - start)
        return Derived(cell[kept[:count]], beta[:count], worst, 1)


def derive(kernel: KernelSpec, X: Matrix, weights: np.ndarray, epsilon: float, room: Room) -> Derived:
    """A whole partition on the calling thread; kept rows in the order in which they were given."""
    if epsilon == 0:
        return distinct(X, weights)
    partition = Partition(kernel, X, weights, epsilon, room)
    with single_threaded_blas:
        return together([partition.corners(cell) for cell in partition.cells()])


def together(answers: list[Derived]) -> Derived:
    """Several answers as one, kept rows in the order of their places."""
    kept = np.concatenate([answer.kept for answer in answers])
    beta = np.concatenate([answer.beta for answer in answers])
    order = np.argsort(kept)
    return Derived(
        kept[order], beta[order], max(answer.worst for answer in answers), sum(answer.cells for answer in answers)
    )


def distinct(X: Matrix, weights: np.ndarray, y: np.ndarray | None = None) -> Derived:
    """ε = 0: one row of each kind stays, however near others are."""
    first: dict = {}
    labels = np.zeros(X.shape[0], np.int64) if y is None else y
    place = np.array([first.setdefault(kind, len(first)) for kind in zip(labels.tolist(), row_keys(X), strict=True)])
    return Derived(np.unique(place, return_index=True)[1], np.bincount(place, weights), 0.0, 0)


def halved(rows: KernelRows, members: np.ndarray, P: int) -> list[np.ndarray]:
    """FLS2: parts of at most P of these rows, halved by their distance from the first row of a part."""
    arguments, done, todo = for_distances(rows), [], [members]
    while todo:
        part = todo.pop()
        if len(part) <= P:
            done.append(part)
        else:
            todo += halve(*arguments, _zeros(rows), part)
    return done


def for_distances(rows: KernelRows) -> tuple:
    return rows.parameters(), rows.arrays, rows.diagonal()


def _zeros(rows: KernelRows) -> np.ndarray:
    """An entry for each feature of sparse rows, as the loops need it."""
    return np.zeros(rows.width if rows.mode == SCATTER else 0, rows.dtype)


def rows_precise_enough(kernel: KernelSpec, X: Matrix, epsilon: float) -> tuple[KernelRows, float]:
    """The rows in float32 if it can tell distances of ε apart, else in double; and ε less what rounding may hide."""
    rows = KernelRows(kernel, X, np.float32)
    if rows.rounding() > FINE_ROUNDING * epsilon:
        rows = KernelRows(kernel, X, np.float64)
    rounding = rows.rounding()
    if not np.isfinite(rounding):
        raise InputError(f"values of the {kernel.name} kernel are too large for double precision: scale the data")
    if epsilon < rounding / COARSEST_ROUNDING:
        raise InputError(
            f"for data of this size double precision cannot tell squared {kernel.name} distances below {rounding:.0e} "
            f"from 0: scale the data, or give a larger epsilon than {epsilon:g}"
        )
    return rows, epsilon - rounding
