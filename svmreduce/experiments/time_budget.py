"""A budget of seconds, why a method was not run within it, and the rules by which it is spent."""

from __future__ import annotations

import math
from time import monotonic
from typing import NamedTuple

from svmreduce.experiments.records import Record
from svmreduce.printable import roughly

FIRST_ROWS, STEP = 1000, 4


class NotRun(NamedTuple):
    """Why a method was not run on all rows."""

    kind: str  # "beaten" on a part, too "slow", "budget" used up, or "failed"
    words: str
    seconds: float | None = None  # that it would take

    @classmethod
    def out_of_budget(cls, expected: float | None = None) -> NotRun:
        about = f"; it takes about {roughly(expected)}" if expected else ""
        return cls("budget", f"the budget was used up{about}", expected or None)

    @classmethod
    def failed(cls, records: list[Record], where: str = "") -> NotRun:
        bad = next((record for record in records if not record.is_finished), None)
        return cls("failed", f"{where}{bad.status}: {bad.reason}") if bad else cls.out_of_budget()


class Budget:
    """Seconds that the user waits, counted from the start of the command."""

    def __init__(self, seconds: float, started: float | None = None):
        self.seconds = seconds
        self._end = (monotonic() if started is None else started) + seconds

    @property
    def left(self) -> float:
        return self._end - monotonic()

    def put_off(self, seconds: float) -> None:
        """Let it end later."""
        self._end += seconds

    @property
    def used(self) -> float:
        return self.seconds - self.left


def ladder(rows: int) -> list[int]:
    """Parts of the rows to begin with, up to half of them; none if all rows are few."""
    parts = [FIRST_ROWS * STEP**step for step in range(20)] if rows >= STEP * FIRST_ROWS else []
    return [part for part in parts if 2 * part <= rows]


def goodness_of(fit: Record) -> float:
    return fit.scores["accuracy"] if "accuracy" in fit.scores else -fit.scores["mse"]


def round_down(rows: int) -> int:
    """Two digits are enough."""
    step = 10 ** max(0, len(str(rows)) - 2)
    return rows // step * step


def chance(one: float, other: float, test_rows: int) -> float:
    """By how much two scores may differ by the choice of the test rows alone."""
    if one < 0:  # mean squared errors
        return 0.05 * abs(one)
    return 2 * math.sqrt(max(0.0, 2 - one - other) / test_rows)


def beats(other: tuple, own: tuple, clearly: bool) -> bool:
    """Whether the other is as fast and better; clearly means by more than the test rows' chance."""
    margin = chance(own[0], other[0], own[2]) if clearly else 0.0
    is_better = other[0] > own[0] + margin or (not clearly and other[0] == own[0] and other[1] < own[1])
    return is_better and other[1] <= own[1]
