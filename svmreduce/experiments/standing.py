"""Where the methods of a data set stand: score, seconds and loss of each at its best point, and who is on the front.

A method takes part with the grid point where its score is best, among the points where every fold and seed finished
and converged. What it loses against the exact solution is paired: the same folds and seeds, and where the records say
which test rows were wrong, the same test rows. A method that did not converge, or did not finish everywhere, has a mark
and is not on the front, because its figures would be over other cells than those of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from svmreduce.experiments.method_results import GridCell, MethodResults, Place, Point, find_rivals, over_known
from svmreduce.experiments.ordering import point_key
from svmreduce.experiments.paired import Difference, paired_difference, score_of
from svmreduce.experiments.records import NOT_CONVERGED, RANDOM, controlled_label

TOO_SHORT = 0.01
"""Seconds below which a time is mostly noise. Two times below it are equal: they count as this many seconds."""
LEVEL = {"classification": 0.001, "regression": 0.01}
"""A loss up to this is none: a tenth of a point of accuracy, a hundredth of the RMSE."""
EXACT = (
    "smo", "libsvm", "decomposition", "incremental", "svr", "libsvm_svr", "decomposition_svr", "sklearn.svm:SVC",
    "sklearn.svm:SVR",
)  # fmt: skip
"""Solvers of the whole problem to a tolerance: on all rows, they are what a reduction is compared with."""


@dataclass(frozen=True, eq=False)
class Standing:
    """A method on a data set, at its best point: means over folds and seeds."""

    method: MethodResults
    point: Point
    score: float  # accuracy, or RMSE
    seconds: float  # of one fit, the reduction included
    reduce_seconds: float
    predict_seconds: float | None
    kept_share: float | None
    vectors: float | None
    cells: dict[Place, GridCell]
    marks: tuple[str, ...] = ()  # why its figures do not decide; empty if they do

    @property
    def label(self) -> str:
        return self.method.label

    @property
    def is_control(self) -> bool:
        return controlled_label(self.label) is not None and self.method.reducer == RANDOM

    @property
    def is_exact(self) -> bool:
        return self.method.reducer is None and self.method.solver in EXACT

    @property
    def counts(self) -> bool:
        """Whether it takes part in the front and in the verdict."""
        return not self.marks

    @property
    def timed(self) -> float:
        """Seconds to compare by: what is too short to be measured counts as just that short."""
        return max(self.seconds, TOO_SHORT)

    @property
    def goodness(self) -> float:
        return -self.score if self.method.task == "regression" else self.score


@dataclass(frozen=True)
class AgainstControl:
    """A reduction against the same solver on a random sample of as many rows, over all cells that both have."""

    method: str
    control: str
    gain: Difference  # positive: the reduction is better
    seconds: float
    control_seconds: float

    @property
    def outcome(self) -> str:
        if self.gain.half is None:
            return "unknown"
        return "better" if self.gain.low > 0 else "worse" if self.gain.high < 0 else "no better"


class Standings:
    """All methods of one data set."""

    def __init__(self, methods: dict[str, MethodResults]):
        self.methods = methods
        self.splits = {place.split for method in methods.values() for place in method.cells}
        self.task = "regression" if any(m.task == "regression" for m in methods.values()) else "classification"
        found = [_standing(method, self.splits) for method in methods.values()]
        self.all = sorted((one for one in found if one), key=lambda one: (one.timed, -one.goodness, one.seconds))
        self.by_label = {one.label: one for one in self.all}

    @cached_property
    def front(self) -> list[Standing]:
        """Those that no other beats in both score and seconds, the quickest first."""
        found: list[Standing] = []
        for one in self.all:
            if one.counts and (not found or one.goodness > found[-1].goodness):
                found.append(one)
        return found

    @cached_property
    def baseline(self) -> Standing | None:
        return self.by_label.get(next((method.baseline for method in self.methods.values()), None))

    @cached_property
    def reference(self) -> Standing | None:
        """The exact solution: of the baseline if it is exact, else the best exact one; without any, the best of all."""
        counting = [one for one in self.all if one.counts]
        exact = [one for one in counting if one.is_exact]
        if self.baseline in exact:
            return self.baseline
        return max(exact or counting, key=lambda one: one.goodness, default=None)

    def loss(self, one: Standing) -> Difference | None:
        """What it loses against the reference."""
        return None if self.reference is None else self.difference(one, self.reference)

    def difference(self, one: Standing, other: Standing) -> Difference | None:
        """What one loses against another, each at its best point, on the folds and seeds that both have."""
        theirs = {place.split: cell for place, cell in other.cells.items()}
        shared = [(cell, theirs[place.split], place) for place, cell in one.cells.items() if place.split in theirs]
        return paired_difference(shared, self.task)

    def speedup(self, one: Standing, other: Standing | None) -> float | None:
        """How many times as fast; a lower bound where a time is too short to be measured."""
        return other.timed / one.timed if other else None

    def same_engine(self, one: Standing) -> Standing | None:
        """The same solver on all rows, for a method that reduces."""
        rival = find_rivals(one.method, self.methods).same_engine
        return self.by_label.get(rival.label) if rival else None

    @cached_property
    def against_controls(self) -> list[AgainstControl]:
        found = []
        for own in self.methods.values():
            sample = find_rivals(own, self.methods).random_sample
            if sample is None or not {own.label, sample.label} <= self.by_label.keys():
                continue
            both = own.done.keys() & sample.done.keys()
            places = [place for place in own.done if place in both and _is_fair(own, sample, place)]
            gain = paired_difference([(sample.done[place], own.done[place], place) for place in places], self.task)
            if gain:
                times = (fmean(method.done[place].training for place in places) for method in (own, sample))
                found.append(AgainstControl(own.label, sample.label, gain, *times))
        return found


def _is_fair(own: MethodResults, sample: MethodResults, place: Place) -> bool:
    cells = own.done[place], sample.done[place]
    return all(cell.solve is not None and cell.status != NOT_CONVERGED for cell in cells)


def _standing(method: MethodResults, splits: set) -> Standing | None:
    """None if nothing of the method has a score and a time."""
    fact = "mse" if method.task == "regression" else "accuracy"
    at: dict[Point, dict[Place, GridCell]] = {}
    for place, cell in method.done.items():
        if getattr(cell, fact) is not None and cell.solve is not None:
            at.setdefault(place.point, {})[place] = cell
    if not at:
        return None
    whole = {point: cells for point, cells in at.items() if len(cells) == len(splits)}
    sound = {point: cells for point, cells in whole.items() if all(c.status != NOT_CONVERGED for c in cells.values())}
    marks = () if sound else ("did not converge",) if whole else (_unfinished(at, splits),)
    most = max(map(len, at.values()))
    usable = sound or whole or {point: cells for point, cells in at.items() if len(cells) == most}
    sign = -1 if fact == "mse" else 1
    scores = {
        point: fmean(score_of(cell) for cell in usable[point].values()) for point in sorted(usable, key=point_key)
    }
    best = max(scores, key=lambda point: sign * scores[point])
    cells = usable[best].values()
    return Standing(
        method=method,
        point=best,
        score=scores[best],
        seconds=fmean(cell.training for cell in cells),
        reduce_seconds=fmean(cell.reducing for cell in cells),
        predict_seconds=over_known(cell.predict for cell in cells),
        kept_share=over_known(cell.kept_share for cell in cells),
        vectors=over_known(cell.vectors for cell in cells),
        cells=usable[best],
        marks=marks,
    )


def _unfinished(at: dict[Point, dict], splits: set) -> str:
    return f"finished only {max(map(len, at.values()))} of {len(splits)} folds and seeds"
