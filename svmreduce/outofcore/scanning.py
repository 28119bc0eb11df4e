"""The first pass over blocks: labels, scaling, the spread of columns, and a sample that says where to cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from sklearn.utils.extmath import row_norms

from svmreduce.core.tiles import RADIAL
from svmreduce.data.scaling import Scaler
from svmreduce.errors import InputError
from svmreduce.kernels import GAUSSIANS, KernelSpec
from svmreduce.outofcore.block_sample import BlockSample
from svmreduce.types import Matrix

_MANY_CLASSES = 1000
_SLACK = 1.1  # parts are made that much smaller than P, because a sample says where to cut


class Classes:
    """Labels as numbers 0, 1, … in the order in which they come, and how many rows have each."""

    def __init__(self, name: str):
        self.name, self.codes, self.counts = name, {}, []

    def codes_of(self, y: np.ndarray) -> np.ndarray:
        labels, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
        if labels.dtype.kind == "f" and not (labels == np.trunc(labels)).all():
            raise InputError(f"{self.name}: the labels are real numbers, not classes; name their column by --label")
        places = np.array([self.codes.setdefault(label, len(self.codes)) for label in labels.tolist()])
        if len(self.codes) > _MANY_CLASSES:
            raise InputError(f"{self.name}: more than {_MANY_CLASSES} different labels; name their column by --label")
        self.counts += [0] * (len(self.codes) - len(self.counts))
        for place, count in zip(places, counts.tolist(), strict=True):
            self.counts[place] += count
        return places[inverse.reshape(-1)]

    @property
    def labels(self) -> np.ndarray:
        return np.array(list(self.codes))


class Spread:
    """Mean and variance of every column, block by block."""

    def __init__(self):
        self._moments = StandardScaler(with_mean=False)

    def add(self, X: Matrix) -> None:
        self._moments.partial_fit(X)

    def gamma(self, word: str, scaler: Scaler | None, kernel: str) -> float:
        """What a word for gamma means for all rows, after scaling; equal to the in-memory value up to rounding."""
        mean, variance = self._moments.mean_, self._moments.var_
        if scaler is not None and not scaler.scales_rows:
            origin, unit = scaler.transform(np.vstack([np.zeros_like(mean), np.ones_like(mean)]))
            mean, variance = origin + (unit - origin) * mean, (unit - origin) ** 2 * variance
        if word == "auto-distance":
            squared = 2.0 * variance.sum()
            return 1.0 / ((2 if kernel in ("rbf", *GAUSSIANS) else 1) * squared) if squared else 1.0
        total = variance.mean() + mean.var()
        return 1.0 if total <= 1e-24 * mean.mean() ** 2 else float(1.0 / (len(mean) * total))


@dataclass
class Scan:
    """What one pass learned."""

    classes: Classes
    rows: int = 0
    bytes: int = 0
    scaler: Scaler | None = None
    spread: Spread | None = None
    sample: BlockSample | None = None
    firsts: dict[int, Matrix] = field(default_factory=dict)  # the first row of each class


class Reading:
    """Passes over the blocks, with the seconds that reading takes and a report of every block."""

    def __init__(self, blocks, report: Callable[[int], object] = lambda rows: None):
        self.blocks, self.report, self.seconds = blocks, report, 0.0

    def __iter__(self) -> Iterator[tuple[Matrix, np.ndarray]]:
        start = perf_counter()
        for X, y in self.blocks:
            self.seconds += perf_counter() - start
            yield X, y
            self.report(len(y))
            start = perf_counter()
        self.seconds += perf_counter() - start


def scan(reading: Reading, *, scale: str | None, spread: bool, sample: BlockSample | None) -> Scan:
    """Read all blocks once and learn what is asked for."""
    found = Scan(Classes(reading.blocks.name), sample=sample, spread=Spread() if spread else None)
    if scale not in (None, "none"):
        found.scaler = Scaler(scale)
    for X, y in reading:
        codes = found.classes.codes_of(y)
        found.rows += len(y)
        found.bytes += row_bytes(X) * len(y)
        if found.scaler is not None:
            found.scaler.partial_fit(X)
            X = found.scaler.transform(X) if found.scaler.scales_rows else X
        if found.spread is not None:
            found.spread.add(X)
        if found.sample is not None:
            found.sample.add(X, codes)
        for code in range(len(found.firsts), len(found.classes.codes)):
            place = int(np.argmax(codes == code))
            found.firsts[code] = X[place : place + 1].copy()
    if not found.rows:
        raise InputError(f"{reading.blocks.name}: has no rows; give a file with rows")
    return found


def row_bytes(X: Matrix) -> float:
    """Bytes that a row takes in a file of rows, its number included."""
    return 8.0 + (12.0 * X.nnz / max(1, X.shape[0]) + 8.0 if sparse.issparse(X) else 8.0 * X.shape[1])


def ordered(scan_: Scan, X: Matrix) -> Matrix:
    """Rows of the sample and first rows as the kernel will see them."""
    scaled = scan_.scaler is not None and not scan_.scaler.scales_rows  # else they are scaled already
    return scan_.scaler.transform(X) if scaled else X


def cut_points(found: Scan, kernel: KernelSpec, P: int) -> dict[str, dict]:
    """By label, for classes of more than P rows: the first row, and the distances from it at which to cut."""
    X, codes, _ = found.sample.rows_kept()
    X, edges = ordered(found, X), {}
    for (label, code), count in zip(found.classes.codes.items(), found.classes.counts, strict=True):
        if count <= P:
            continue
        first = ordered(found, found.firsts[code])
        parts = int(np.ceil(_SLACK * count / P))
        points = np.quantile(distances(kernel, X[codes == code], first), np.arange(1, parts) / parts)
        dense = first.toarray() if sparse.issparse(first) else first
        edges[repr(label)] = {"points": np.unique(points).tolist(), "first": dense[0].tolist()}
    return edges


def distances(kernel: KernelSpec, X: Matrix, first: Matrix) -> np.ndarray:
    """Squared kernel distances of rows from one row, or for kernels of the distance the distance itself.

    Both give the same order, but the latter tells also those rows apart whose kernel values are zero.
    """
    products = np.asarray((X @ first.T).todense() if sparse.issparse(X) else X @ first[0]).ravel()
    norms, own = row_norms(X, squared=True), float(row_norms(first, squared=True)[0])
    if kernel.code in RADIAL:
        return norms + own - 2.0 * products
    return kernel_of(kernel, norms) + kernel_of(kernel, np.array([own])) - 2.0 * kernel_of(kernel, products)


def kernel_of(kernel: KernelSpec, products: np.ndarray) -> np.ndarray:
    if kernel.name == "linear":
        return products
    inner = kernel.gamma * products + kernel.coef0
    return inner**kernel.degree if kernel.name == "poly" else np.tanh(inner)
