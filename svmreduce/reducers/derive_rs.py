"""DeriveRS: the representative set of "Fast SVM Training Using Approximate Extreme Points"."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import ClassVar

import numpy as np
from tqdm import tqdm

from svmreduce.checks import COUNT, NOT_NEGATIVE, one_of, whole_number
from svmreduce.core.kernel_values import single_threaded_blas
from svmreduce.core.threads import in_threads, in_threads_as_they_come, resolve_threads
from svmreduce.errors import InputError
from svmreduce.kernels import kernel_for, parse_kernel
from svmreduce.parameters import Parameters
from svmreduce.reducers._partition import Partition, Room, distinct, halved, rows_precise_enough, together
from svmreduce.reducers.base import BaseReducer

LARGEST_V = 20_000  # two blocks of V × V kernel values per thread


class DeriveRS(Parameters, BaseReducer, parameters="kernel gamma coef0 degree epsilon P V first_level threads verbose"):
    """Keep the corners of small same-class cells.

    Each dropped row is close to a mixture of kept ones; a kept row's weight is 1 plus its share in the
    dropped rows, so the weights add up to the number of rows. Every class is cut into cells of V near
    neighbours, and a cell keeps the rows that are further than ε from the convex hull of what it has kept.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "kmod", "gaussian_diagonal", "gaussian_mahalanobis"}
    epsilon : float
        Largest squared feature-space distance left between a dropped row and its mixture; 0 drops only rows that
        are equal to a kept one.
    P : int
        Maximum number of rows of a first-level cell.
    V : int
        Rows of a second-level cell.
    first_level : {"fls2", "fls1"}
        Halve by distance, or cut by position in the file. Rows that stay on the disk are not halved: ``fls2`` cuts
        a class once, by quantiles of the distance from its first row.
    threads : int or None
        None takes every core this process may use; the result does not depend on it.
    verbose : bool
        Show a progress bar over cells.
    """

    # both levels cut something; kernel values in float32 and in double
    _toy_settings = ({"P": 30, "V": 10}, {"P": 30, "V": 10, "epsilon": 1e-6})

    epsilon: float = 1e-2
    P: int = 100_000
    V: int = 1000
    first_level: str = "fls2"
    rules: ClassVar = {
        "epsilon": NOT_NEGATIVE,
        "P": COUNT,
        "V": whole_number(least=1, most=LARGEST_V),
        "first_level": one_of("fls2", "fls1"),
    }

    def _reduce(self, X, y, weights):
        if isinstance(self.kernel, str):
            parse_kernel(self.kernel, whose="DeriveRS", mixes=False)
        self.kernel_ = kernel = kernel_for(X, self.kernel, self.gamma, self.coef0, self.degree)
        self.check_levels()
        start, y = perf_counter(), np.unique(y, return_inverse=True)[1]
        if self.epsilon == 0:
            indices, beta, _, _ = distinct(X, weights, y)
            seconds = {"first_level": 0.0, "second_level": 0.0, "derive": perf_counter() - start}
            return indices, beta, {"kept": len(indices), "cells": 0, "residual_max": 0.0, "seconds": seconds}
        threads = resolve_threads(self.threads)
        parts = self._first_level(kernel, X, [np.flatnonzero(y == code) for code in range(y.max() + 1)], threads)
        cells = sum(-(-len(part) // self.V) for part in parts)
        half_way = perf_counter()
        room = Room(min(self.V, max(map(len, parts))))

        def cells_of(number):
            part = parts[number]
            partition = Partition(kernel, X[part], weights[part], self.epsilon, room)
            for cell in partition.cells():
                yield partition, part, cell

        def corners_of(item):
            partition, part, cell = item
            found = partition.corners(cell)
            bar.update()
            return found._replace(kept=part[found.kept])

        with single_threaded_blas, _bar(cells, self.verbose) as bar:
            found = together(in_threads_as_they_come(cells_of, corners_of, len(parts), threads))
        # The two last levels overlap: each has the part of their common time that it kept the threads busy
        rest = perf_counter() - half_way
        share = sum(room.cutting) / (sum(room.cutting) + sum(room.deriving))
        levels = {"first_level": half_way - start, "second_level": share * rest, "derive": (1 - share) * rest}
        facts = {"kept": len(found.kept), "cells": cells, "residual_max": found.worst, "seconds": levels}
        return found.kept, found.beta, facts

    def check_levels(self) -> None:
        if self.P < self.V:
            raise InputError(
                f"P must be at least V: first-level cells are cut into second-level ones; got P={self.P}, V={self.V}"
            )

    def _first_level(self, kernel, X, classes: list[np.ndarray], threads: int) -> list[np.ndarray]:
        """The partitions: rows of one class, at most P in each."""
        P = self.P
        if self.first_level == "fls1" or max(map(len, classes)) <= P:
            return [rows[start : start + P] for rows in classes for start in range(0, len(rows), P)]
        ready, _ = rows_precise_enough(kernel, X, self.epsilon)
        of_classes = in_threads(lambda code: halved(ready, classes[code], P), len(classes), threads)
        return [part for parts in of_classes for part in parts]


def _bar(cells: int, verbose: bool) -> tqdm:
    return tqdm(total=cells, unit="cell", leave=False, disable=not (verbose and sys.stderr.isatty()))
