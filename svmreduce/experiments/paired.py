"""Paired differences between two methods, with intervals: the same folds and seeds, and the same test rows."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np

from svmreduce.experiments.method_results import GridCell, Place

_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)  # 97.5 %, by degrees of freedom
_NORMAL = 1.96


@dataclass(frozen=True)
class Difference:
    """A paired difference, positive where the method is worse: in accuracy, or as a share of the other's RMSE."""

    middle: float
    half: float | None  # of the 95 % interval; None where one pair says nothing about the spread
    over: str  # what was paired: "5 folds", "3 seeds", "one training set"

    @property
    def high(self) -> float:
        return math.inf if self.half is None else self.middle + self.half

    @property
    def low(self) -> float:
        return -math.inf if self.half is None else self.middle - self.half


def paired_difference(pairs: list[tuple[GridCell, GridCell, Place]], task: str) -> Difference | None:
    """First minus second in what is lost, over pairs of cells with their places.

    Folds and seeds are what repeats; the interval over them is Student's. It is never narrower than what the test rows
    allow: two classifiers that differ on few rows of one test set may do so by chance.
    """
    pairs = [pair for pair in pairs if None not in map(_score_or_none, pair[:2])]
    if not pairs:
        return None
    lost: dict[tuple, list[float]] = {}
    for worse, better, place in pairs:
        a, b = score_of(worse), score_of(better)
        value = (a / b - 1 if b else 0.0) if task == "regression" else b - a
        lost.setdefault(place.split, []).append(value)
    by_split = [fmean(values) for values in lost.values()]
    half, over = mean_interval(by_split), _over(lost)
    if half == 0 and any(by_split):  # the same fit on the same rows, again and again, says nothing about the spread
        half = None
    by_rows = [variance for worse, better, _ in pairs if (variance := _row_variance(worse, better)) is not None]
    if by_rows:
        tests = len({fold for fold, _ in lost})  # seeds may share their test rows
        floor = _NORMAL * math.sqrt(fmean(by_rows) / tests)
        if half is None or floor > half:
            half = floor
    return Difference(fmean(by_split), half, over)


def mean_interval(values: list[float]) -> float | None:
    """Half of Student's 95 % interval around the mean; None for fewer than two values.

    Reports print in a moment, which loading scipy for this one quantile would double.
    """
    freedom = len(values) - 1
    if freedom < 1:
        return None
    quantile = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL + 2.5 / freedom
    return quantile * stdev(values) / math.sqrt(len(values))


def _over(splits: Collection[tuple[int, int]]) -> str:
    if len(splits) == 1:
        return "one training set"
    folds, seeds = ({split[part] for split in splits} for part in (0, 1))
    names = [name for name, known in (("folds", folds), ("seeds", seeds)) if len(known) > 1]
    return f"{len(splits)} {' and '.join(names)}"


def _row_variance(one: GridCell, other: GridCell) -> float | None:
    """Variance of the difference of two accuracies on the same test rows.

    Only the rows where the two disagree count (McNemar). Without the rows, they are at most all errors of both.
    """
    if one.accuracy is None or other.accuracy is None or not one.test_rows or one.test_rows != other.test_rows:
        return None
    rows = one.test_rows
    wrong = [_bits(cell.wrong, rows) for cell in (one, other)]
    if wrong[0] is not None and wrong[1] is not None:
        disagree = int(np.bitwise_count(wrong[0] ^ wrong[1]).sum())
    else:
        disagree = min(rows, rows * (2 - one.accuracy - other.accuracy))
    return max(0.0, disagree - rows * (one.accuracy - other.accuracy) ** 2) / rows**2


def _bits(packed: str | None, rows: float) -> np.ndarray | None:
    """Which of the test rows were wrong; None where a record does not say, or was damaged."""
    if not isinstance(packed, str):
        return None
    size = math.ceil(rows / 8)
    try:
        found = np.frombuffer(zlib.decompressobj().decompress(base64.b64decode(packed), size + 1), dtype=np.uint8)
    except (ValueError, zlib.error):
        return None
    return found if found.size == size else None


def score_of(cell: GridCell) -> float:
    return math.sqrt(cell.mse) if cell.accuracy is None else cell.accuracy


def _score_or_none(cell: GridCell) -> float | None:
    return None if cell.mse is None and cell.accuracy is None else score_of(cell)
