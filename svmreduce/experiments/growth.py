"""How the cost of a method grows with the rows, learned from its runs on fewer rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from svmreduce.experiments.records import Record

USUAL = 1.7  # exponent where a single size is known
LINEAR = frozenset({"liblinear", "nystroem", "rfeatsvm1", "rfeatsvm2", "rsvm", "pegasos", "dcsvm", "dcsvr"})
"""Solvers whose time is in proportion to the rows: of a linear model, or of clusters of a fixed size."""
STEEPEST, STEEPEST_LINEAR = 2.5, 1.15  # a few small sizes may look steeper than the way goes on
_CLEAR = 0.02  # seconds: below it, overhead hides the growth


class Cost(NamedTuple):
    """What one reduction with its fit took, without loading."""

    rows: int
    train: float
    predict: float
    test_rows: int
    cpu: float | None = None  # processor seconds of training, which other work on the machine hardly changes

    @property
    def total(self) -> float:
        return self.train + self.predict


def cost_of(records: list[Record]) -> Cost | None:
    """The cost of a fit and what came before it; None unless all of it finished."""
    fit = next((record for record in records if record.is_fit), None)
    if fit is None or not all(record.is_finished for record in records):
        return None
    total = math.fsum(record.seconds["total"] - record.seconds.get("load", 0.0) for record in records)
    predict = fit.seconds.get("predict") or 0.0
    cpu = math.fsum(record.cpu_seconds.get(stage) or 0.0 for record in records for stage in ("reduce", "fit", "solve"))
    return Cost(fit.sizes["train_rows"], max(1e-6, total - predict), predict, fit.sizes["test_rows"], cpu or None)


@dataclass
class Growth:
    """A power of the rows through the last two sizes: seconds ~ rowsᵉˣᵖᵒⁿᵉⁿᵗ."""

    is_linear: bool = False
    costs: list[Cost] = field(default_factory=list)

    def add(self, cost: Cost) -> None:
        self.costs = sorted([*self.costs, cost])

    @property
    def last(self) -> Cost | None:
        return self.costs[-1] if self.costs else None

    @property
    def is_known(self) -> bool:
        """Whether two sizes say how it grows."""
        return len(self.costs) > 1

    @property
    def exponent(self) -> float:
        """Of processor seconds, at least 1. Times of milliseconds say nothing about it."""
        times = [(cost.rows, cost.cpu or cost.train) for cost in self.costs]
        clear = [(rows, took) for rows, took in times if took >= _CLEAR]
        usual, steepest = (1.0, STEEPEST_LINEAR) if self.is_linear else (USUAL, STEEPEST)
        if len(clear) < 2:
            return usual if clear else 1.0
        (few, short), (many, long) = clear[-2:]
        return min(steepest, max(1.0, math.log(long / short) / math.log(many / few))) if many > few else usual

    def train_seconds(self, rows: int) -> float | None:
        last = self.last
        return None if last is None else last.train * (rows / last.rows) ** self.exponent

    def seconds(self, rows: int, test_rows: int) -> float | None:
        """Of training and prediction; a model has support vectors in proportion to its rows."""
        last = self.last
        if last is None:
            return None
        per_test_row = last.predict / max(1, last.test_rows)
        return self.train_seconds(rows) + per_test_row * test_rows * max(1.0, rows / last.rows)

    def rows_within(self, seconds: float) -> int:
        """How many rows can be trained on in this time."""
        last = self.last
        return int(last.rows * (seconds / last.train) ** (1 / self.exponent)) if last and seconds > 0 else 0
