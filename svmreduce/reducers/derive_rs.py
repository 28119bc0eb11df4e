"""DeriveRS: the representative set of "Fast SVM Training Using Approximate Extreme Points"."""

from __future__ import annotations

import sys
import threading
from time import perf_counter
from typing import ClassVar

import numpy as np
from sklearn.utils.extmath import row_norms
from tqdm import tqdm

from svmreduce.checks import COUNT, NOT_NEGATIVE, one_of, whole_number
from svmreduce.core.extreme_points import derive_cell
from svmreduce.core.jit import in_threads, in_threads_as_they_come, resolve_threads
from svmreduce.core.kernel_values import KernelRows, single_threaded_blas
from svmreduce.core.neighbour_cells import cut_cell, halve
from svmreduce.core.tiles import SCATTER
from svmreduce.errors import InputError
from svmreduce.kernels import kernel_for, parse_kernel
from svmreduce.parameters import Parameters
from svmreduce.reducers.base import BaseReducer
from svmreduce.rows import row_keys

LARGEST_V = 20_000  # two blocks of V × V kernel values per thread
FINE_ROUNDING, COARSEST_ROUNDING = 0.02, 0.5  # as shares of ε: float32 is good enough; even double is not


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
        Halve by distance, or cut by position in the file.
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
        if self.P < self.V:
            raise InputError(
                f"P must be at least V: first-level cells are cut into second-level ones; got P={self.P}, V={self.V}"
            )
        start, y = perf_counter(), np.unique(y, return_inverse=True)[1]
        if self.epsilon == 0:
            return _distinct(X, y, weights)
        rows, limit = _rows_precise_enough(kernel, X, self.epsilon)
        threads = resolve_threads(self.threads)
        cutter = _Cutter(X, rows, self.V)
        of_classes = in_threads(
            lambda code: cutter.first_level(np.flatnonzero(y == code), self.P, self.first_level), y.max() + 1, threads
        )
        parts = [part for parts in of_classes for part in parts]
        cells = sum(-(-len(part) // self.V) for part in parts)
        half_way = perf_counter()
        with single_threaded_blas, _bar(cells, self.verbose) as bar:
            corners = _Corners(rows, weights, limit, min(self.V, max(map(len, parts))), bar)
            answers = in_threads_as_they_come(
                lambda part: cutter.second_level(parts[part]), corners, len(parts), threads
            )
        indices = np.concatenate([kept for kept, _, _ in answers])
        beta = np.concatenate([share for _, share, _ in answers])
        residual = max(worst for _, _, worst in answers)
        order = np.argsort(indices)  # as they stood in the file
        # The two last levels overlap: each has the part of their common time that it kept the threads busy
        rest = perf_counter() - half_way
        share = sum(cutter.busy) / (sum(cutter.busy) + sum(corners.busy))
        levels = {"first_level": half_way - start, "second_level": share * rest, "derive": (1 - share) * rest}
        facts = {"kept": len(indices), "cells": cells, "residual_max": residual, "seconds": levels}
        return indices[order], beta[order], facts


def _rows_precise_enough(kernel, X, epsilon):
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


def _distinct(X, y, weights):
    """ε = 0: one row of each kind stays, however near others are."""
    start = perf_counter()
    first = {}
    place = np.array([first.setdefault(kind, len(first)) for kind in zip(y.tolist(), row_keys(X), strict=True)])
    indices = np.unique(place, return_index=True)[1]
    beta = np.bincount(place, weights)
    seconds = {"first_level": 0.0, "second_level": 0.0, "derive": perf_counter() - start}
    return indices, beta, {"kept": len(indices), "cells": 0, "residual_max": 0.0, "seconds": seconds}


class _Cutter:
    """The two levels of segregation of one class at a time."""

    def __init__(self, X, rows: KernelRows, V: int):
        self.arguments = rows.parameters(), rows.arrays, rows.diagonal()
        self.features = rows.width if rows.mode == SCATTER else 0
        self.dtype = rows.dtype
        self.V = V
        self.norms = row_norms(X, squared=True)  # of the rows as given, before any centring
        # A number that different rows do not share: cells sorted by it do not depend on the file's order
        self.keys = X @ np.random.default_rng(0).normal(size=X.shape[1])
        self.busy = []

    def _room(self):
        return np.zeros(self.features, self.dtype)

    def first_level(self, members, P, how):
        if how == "fls1":
            return [members[start : start + P] for start in range(0, len(members), P)]
        done, todo = [], [members]
        while todo:
            part = todo.pop()
            if len(part) <= P:
                done.append(part)
            else:
                todo += halve(*self.arguments, self._room(), part)
        return done

    def second_level(self, members):
        """The cells of these rows, one after the other; ``members`` is used up."""
        centre = members[np.argmax(self.norms[members])]
        room, distance = self._room(), np.empty(len(members))
        while len(members):
            start = perf_counter()
            cell = members
            if len(members) > self.V:
                cell = np.empty(self.V, np.int64)
                centre = cut_cell(*self.arguments, room, members, centre, distance[: len(members)], cell)
            members = members[: len(members) - len(cell)]
            cell = cell[np.argsort(self.keys[cell], kind="stable")]
            self.busy.append(perf_counter() - start)
            yield cell


def _bar(cells: int, verbose: bool) -> tqdm:
    return tqdm(total=cells, unit="cell", leave=False, disable=not (verbose and sys.stderr.isatty()))


class _Corners:
    """DeriveAE on one cell at a time: (rows kept, their weights, largest squared distance left)."""

    def __init__(self, rows: KernelRows, weights, limit: float, largest: int, bar: tqdm):
        self.rows, self.weights, self.limit, self.largest, self.bar = rows, weights, limit, largest, bar
        self.own = threading.local()
        self.busy = []

    def __call__(self, cell):
        start = perf_counter()
        n = len(cell)
        if not hasattr(self.own, "blocks"):
            room = self.largest**2
            self.own.blocks = np.empty(room, self.rows.dtype), np.empty(room, self.rows.dtype)
        K, S = self.own.blocks
        self.rows.block(cell, self.rows, cell, K, n)
        kept, beta = np.empty(n, np.int64), np.empty(n)
        count, worst = derive_cell(K, n, self.weights[cell], self.limit, S, kept, beta)
        self.bar.update()
        self.busy.append(perf_counter() - start)
        return cell[kept[:count]], beta[:count], worst
