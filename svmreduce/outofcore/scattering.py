"""The second pass over blocks: every row goes to the file of its class and its distance from the first row, or to that
of its nearest centre."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy import sparse

from svmreduce.core.kernel_values import single_threaded_blas
from svmreduce.data.scaling import Scaler
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from svmreduce.model.cluster_model import nearest_centres
from svmreduce.outofcore.row_files import RowFiles
from svmreduce.outofcore.scanning import Classes, Reading, distances, row_bytes
from svmreduce.types import Matrix


class Parts(Protocol):
    """Which file a row belongs to."""

    names: list[str]  # of the files
    codes: list[int]  # a number for each file
    mixes_classes: bool  # then a row is written with its class, else with its number in the source

    def learn(self, labels: list) -> None: ...
    def places(self, X: Matrix, codes: np.ndarray) -> np.ndarray: ...


class DistanceParts:
    """The files of all classes, one after the other, each for some distances from the first row of its class."""

    mixes_classes = False

    def __init__(self, plan: dict, is_sparse: bool):
        self.kernel = KernelSpec(**plan["kernel"])
        self.edges, self.is_sparse = plan["edges"] or {}, is_sparse
        self.names: list[str] = []
        self.codes: list[int] = []  # the class of each file
        self._cuts: list[tuple] = []  # by class: distances at which it is cut, its first row, the place of its files

    def learn(self, labels: list) -> None:
        """Files for the classes that are new."""
        for code, label in list(enumerate(labels))[len(self._cuts) :]:
            known = self.edges.get(repr(label), {"points": []})
            first = np.array([known["first"]]) if known["points"] else None
            if self.is_sparse and first is not None:
                first = sparse.csr_matrix(first)
            self._cuts.append((known["points"], first, len(self.names)))
            files = range(len(known["points"]) + 1)
            self.names += [f"{code}-{part}" for part in files]
            self.codes += [code for _ in files]

    def places(self, X: Matrix, codes: np.ndarray) -> np.ndarray:
        """The file of every row."""
        places = np.empty(len(codes), np.int32)
        for code, (points, first, offset) in enumerate(self._cuts):
            own = np.flatnonzero(codes == code)
            places[own] = offset
            if points and len(own):
                far = np.searchsorted(points, distances(self.kernel, X[own], first), side="right")
                places[own] += far.astype(places.dtype)
        return places


class ClusterParts:
    """A file for every centre."""

    mixes_classes = True

    def __init__(self, centres: np.ndarray, threads: int):
        self.centres, self.threads = centres, threads
        self.codes = list(range(len(centres)))
        self.names = [str(code) for code in self.codes]

    def learn(self, labels: list) -> None:
        """The files are the same for all classes."""

    def places(self, X: Matrix, codes: np.ndarray) -> np.ndarray:
        return nearest_centres(X, self.centres, self.threads)


def scatter(
    reading: Reading, plan: dict, files: RowFiles, parts: Parts, check_space: Callable[[float], object]
) -> dict:
    """Write all rows; labels, how many rows each has, and (code, name, rows) of every file."""
    blocks, classes, at = reading.blocks, Classes(reading.blocks.name), 0
    scaler = plan["scaler"] and Scaler.from_json(plan["scaler"])
    with single_threaded_blas:
        for X, y in reading:
            if not at:
                check_space(plan["bytes"] or (blocks.n_rows or len(y)) * row_bytes(X))
            codes = classes.codes_of(y)
            X = X if scaler is None else scaler.transform(X)
            parts.learn(list(classes.codes))
            few = len(parts.names) < 1 << 15
            places = parts.places(X, codes).astype(np.int16 if few else np.int32)  # small integers are sorted fastest
            order = np.argsort(places, kind="stable")
            edges = np.searchsorted(places[order], np.arange(len(parts.names) + 1))
            files.append(X[order], codes[order] if parts.mixes_classes else at + order, parts.names, edges)
            at += len(y)
        files.flush()
    if not at:
        raise InputError(f"{blocks.name}: has no rows; give a file with rows")
    if plan["rows"] not in (None, at):
        raise InputError(
            f"{blocks.name}: had {plan['rows']} rows in the first pass and {at} in the second; give the same"
        )
    rows = [files.rows.get(name, 0) for name in parts.names]
    written = list(zip(parts.codes, parts.names, rows, strict=True))
    return {"labels": list(classes.codes), "counts": classes.counts, "written": written}
