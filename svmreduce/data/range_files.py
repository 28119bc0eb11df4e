"""Scaling as LIBSVM's svm-scale does it, and its range files, both ways.

A range file holds the target interval and the smallest and largest value of every column, as seen in training rows::

    y                     only if labels were scaled, too
    0 1                   where labels go
    -3 17                 what they were
    x
    -1 1
    1 0.5 7.25            column, smallest, largest
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from svmreduce.core.parse import NUMBER
from svmreduce.data.files import read_bytes, write_whole
from svmreduce.data.libsvm_text import lacks_labels, parse_libsvm, to_csr
from svmreduce.errors import InputError
from svmreduce.memory import check_columns

_VALUES_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class Interval:
    """Values from ``least`` to ``most`` go linearly to ``lower`` … ``upper``; the ends exactly."""

    lower: float
    upper: float
    least: np.ndarray | float
    most: np.ndarray | float

    def apply(self, values: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = self.lower + (self.upper - self.lower) * (values - self.least) / (self.most - self.least)
        return np.where(values == self.least, self.lower, np.where(values == self.most, self.upper, scaled))


@dataclass(frozen=True)
class Ranges:
    """What a range file says; a column whose ends are equal is constant, and is left out of scaled rows."""

    columns: Interval
    labels: Interval | None = None

    def save(self, path) -> None:
        with write_whole(path) as stream:
            stream.write("".join(f"{line}\n" for line in self._lines()).encode())

    def _lines(self) -> Iterator[str]:
        columns, labels = self.columns, self.labels
        if labels is not None:
            yield from ("y", f"{labels.lower:.17g} {labels.upper:.17g}", f"{labels.least:.17g} {labels.most:.17g}")
        yield from ("x", f"{columns.lower:.17g} {columns.upper:.17g}")
        for number in np.flatnonzero(columns.least != columns.most):
            yield f"{number + 1} {columns.least[number]:.17g} {columns.most[number]:.17g}"

    def scaled_lines(self, X: sparse.csr_matrix, y: np.ndarray | None) -> Iterator[str]:
        """Scaled rows as svm-scale prints them: zeros are left out, values have six digits."""
        targets = y if self.labels is None or y is None else self.labels.apply(y)
        starts = [""] * X.shape[0] if targets is None else [f"{target:.17g} " for target in targets.tolist()]
        width = len(self.columns.least)
        kept = np.flatnonzero(self.columns.least != self.columns.most)
        numbers = (kept + 1).tolist()
        size = max(1, _VALUES_AT_ONCE // max(1, width))
        for start in range(0, X.shape[0], size):
            part = sparse.csr_matrix(X[start : start + size])
            part.resize(part.shape[0], width)
            rows = self.columns.apply(part.toarray())[:, kept]
            for first, row in zip(starts[start : start + size], rows.tolist(), strict=True):
                pairs = "".join(f"{i}:{value:g} " for i, value in zip(numbers, row, strict=True) if value != 0)
                yield f"{first}{pairs}\n"


def read_rows(path) -> tuple[sparse.csr_matrix, np.ndarray | None]:
    """Rows of a LIBSVM file, and its labels if it has any."""
    data = read_bytes(path)
    return to_csr(parse_libsvm(data, str(path), labels=not lacks_labels(data)), None)


def learn_ranges(
    X: sparse.csr_matrix, y: np.ndarray, lower: float, upper: float, labels: tuple[float, float] | None = None
) -> Ranges:
    """The ranges of these rows; ``labels`` is the interval that labels are to go to, if any."""
    least, most = (getattr(X, side)(axis=0).toarray().ravel() for side in ("min", "max"))
    return Ranges(Interval(lower, upper, least, most), labels and Interval(*labels, float(y.min()), float(y.max())))


def read_ranges(path) -> Ranges:
    """A range file, of svm-scale or of ours; columns that it does not name are constant."""
    try:
        lines = read_bytes(path).decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a range file: it is not text") from None
    found = [(number, line.split()) for number, line in enumerate(lines, start=1) if line.strip()]
    labels = None
    if found and found[0][1] == ["y"]:
        labels = Interval(*_numbers(path, found[1:2], 2), *_numbers(path, found[2:3], 2))
        if labels.least == labels.most:
            raise InputError(f"{path}: all labels were {labels.least:g}, which is no range to scale others by")
        found = found[3:]
    if not found or found[0][1] != ["x"]:
        raise InputError(f"{path}: not a range file: no line 'x'; make one with: svmreduce scale -s {path} DATA")
    lower, upper = _numbers(path, found[1:2], 2)
    entries = np.array([_numbers(path, [entry], 3) for entry in found[2:]]).reshape(-1, 3)
    if np.any((entries[:, 0] < 1) | (entries[:, 0] != np.rint(entries[:, 0])) | (entries[:, 0] >= 2**31)):
        raise InputError(f"{path}: columns are whole numbers from 1 on; make the file anew")
    numbers, counts = np.unique(entries[:, 0], return_counts=True)
    if np.any(counts > 1):
        raise InputError(f"{path}: column {numbers[counts.argmax()]:g} has more than one range; make the file anew")
    width = int(entries[:, 0].max(initial=0))
    check_columns(width, path)
    least, most = np.zeros((2, width))
    places = entries[:, 0].astype(np.intp) - 1
    least[places], most[places] = entries[:, 1], entries[:, 2]
    return Ranges(Interval(lower, upper, least, most), labels)


def _numbers(path, line: list, count: int) -> list[float]:
    number, words = line[0] if line else ("end", [])
    values = [float(word) for word in words if NUMBER.fullmatch(word.encode())]
    if len(values) != count or len(words) != count or not np.isfinite(values).all():
        raise InputError(f"{path}:{number}: needs {count} finite numbers, got {' '.join(words)[:60]!r}")
    return values


def unknown_columns(ranges: Ranges, X: sparse.csr_matrix) -> list[int]:
    """Columns (from 1 on) with values in these rows that the ranges do not know, or know as constant."""
    known = np.flatnonzero(ranges.columns.least != ranges.columns.most)
    return (np.setdiff1d(X.indices[X.data != 0], known) + 1).tolist()
