"""From records to cells: what one method did at one grid point, on one fold, with one seed.

A cell is what metrics average and pair. Repeats of a fit make one cell (times by their median, which one disturbed
run does not move; scores and sizes by their mean), and a reduction shared by many cells stays one object, so that
its time can be counted once. A cell that failed is a cell, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, median
from typing import NamedTuple

from svmreduce.experiments.records import (
    FINISHED,
    NOT_CONVERGED,
    OK,
    RANDOM,
    REDUCTION,
    SELECTION,
    Record,
    controlled_label,
)

Point = tuple[tuple[str, Hashable], ...]
"""A grid point as sorted (name, value) pairs, so that 1 and 1.0 are the same."""

FAIR = 0.1  # a random sample is a control of a reduction that keeps as many rows, up to this share of them
_PROBLEM = ("C", "kernel", "gamma", "coef0", "degree", "epsilon")  # of a solver: what it minimises


class Place(NamedTuple):
    """Where two methods meet: the same grid point on the same training rows."""

    point: Point
    split: tuple[int, int]  # fold, seed


@dataclass(frozen=True)
class SharedReduction:
    """One reduction, however many fits use it and however often it was repeated; seconds are None if not recorded."""

    identity: Hashable
    seconds: float | None


@dataclass(frozen=True)
class GridCell:
    """The merged repeats of one fit; facts are None where no repeat knows them."""

    status: str  # the status of a failed repeat only if no repeat is usable
    failed_repeats: tuple[str, ...]
    solve: float | None = None
    reduce: float | None = None  # spent by the solver itself; a reduction made beforehand is in ``reduction``
    predict: float | None = None
    accuracy: float | None = None
    auc: float | None = None
    mse: float | None = None
    vectors: float | None = None
    kept_share: float | None = None
    primal: float | None = None  # of the SVM over all training rows
    test_rows: float | None = None
    wrong: str | None = None  # which test rows, as `worker` packs them; of the first repeat
    reduction: SharedReduction | None = None

    @property
    def is_done(self) -> bool:
        return self.status in FINISHED

    @property
    def reducing(self) -> float:
        """Seconds of the reduction, whoever made it."""
        return (self.reduction.seconds or 0.0 if self.reduction else 0.0) + (self.reduce or 0.0)

    @property
    def training(self) -> float:
        return self.reducing + self.solve


@dataclass(frozen=True)
class MethodResults:
    """One row of a table: a method on a data set, with its cells in the order of their records."""

    label: str
    task: str
    solver: str
    reducer: str | None
    settings: Hashable  # the solver's parameters that the grid does not vary
    baseline: str | None
    cells: dict[Place, GridCell]
    chosen: dict[tuple[int, int], Point] = field(default_factory=dict)  # by cross-validation, for each fold and seed

    @cached_property
    def done(self) -> dict[Place, GridCell]:
        return {place: cell for place, cell in self.cells.items() if cell.is_done}

    def shares_engine(self, other: MethodResults) -> bool:
        return (self.solver, self.settings) == (other.solver, other.settings)

    def shares_problem(self, other: MethodResults) -> bool:
        """Whether both mean the same objective at the same grid point, as far as they say."""
        mine, theirs = ({key: value for key, value in one.settings if key in _PROBLEM} for one in (self, other))
        return mine == theirs


@dataclass(frozen=True)
class MethodComparison:
    """A method on a data set, and what it is compared with; ``splits`` are all folds and seeds of the data set."""

    own: MethodResults
    baseline: MethodResults | None  # of the paper or the config
    same_engine: MethodResults | None  # the same solver on all rows
    random_sample: MethodResults | None  # the same solver on a random sample
    splits: frozenset[tuple[int, int]]


def find_rivals(own: MethodResults, methods: dict[str, MethodResults]) -> MethodComparison:
    """Find what ``own`` is compared with among the methods of its data set."""
    engine = [method for method in methods.values() if own.reducer is not None and method.shares_engine(own)]
    samples = [method for method in engine if method.reducer == RANDOM and own.reducer != RANDOM]
    samples = [sample for sample in samples if controlled_label(sample.label) == own.label] or [
        sample for sample in samples if abs(_kept(sample) - _kept(own)) <= FAIR * _kept(own)
    ]
    return MethodComparison(
        own=own,
        baseline=methods.get(own.baseline),
        same_engine=next((method for method in engine if method.reducer is None), None),
        # Of several the fair one is the nearest to what the reduction keeps.
        random_sample=min(samples, key=lambda sample: abs(_kept(sample) - _kept(own)), default=None),
        splits=frozenset(place.split for method in methods.values() for place in method.cells),
    )


def _kept(method: MethodResults) -> float:
    return over_known(cell.kept_share for cell in method.done.values()) or 0.0


def collect(records: Iterable[Record]) -> dict[str, dict[str, MethodResults]]:
    """Methods by data set and label, in the order in which the records name them first."""
    records = list(records)
    reductions = _shared_reductions(record for record in records if record.kind == REDUCTION)
    fits: dict[str, dict[str, dict[Place, list[Record]]]] = {}
    chosen: dict[tuple[str, str], dict[tuple[int, int], Point]] = defaultdict(dict)
    for record in records:
        if record.kind == SELECTION and record.is_finished:
            point = _frozen(record.point | (record.counters.get("chosen") or {}))
            chosen[record.dataset, record.method][record.fold, record.seed] = point
        if record.is_fit:
            place = Place(_frozen(record.point), (record.fold, record.seed))
            by_method = fits.setdefault(record.dataset, {}).setdefault(record.method, {})
            by_method.setdefault(place, []).append(record)
    return {
        dataset: {
            label: _method(label, places, reductions, chosen[dataset, label]) for label, places in methods.items()
        }
        for dataset, methods in fits.items()
    }


def _method(
    label: str, places: dict[Place, list[Record]], reductions: dict[str, SharedReduction], chosen: dict
) -> MethodResults:
    first = next(iter(places.values()))[0]
    varied = {*first.point, "random_state", "threads"}  # of the run, not of the method
    fixed = {name: value for name, value in first.solver_params.items() if name not in varied}
    return MethodResults(
        label=label,
        task=first.task,
        solver=first.solver,
        reducer=first.reducer,
        settings=_frozen(fixed),
        baseline=first.baseline,
        cells={place: _cell(repeats, reductions) for place, repeats in places.items()},
        chosen=chosen,
    )


def _cell(repeats: list[Record], reductions: dict[str, SharedReduction]) -> GridCell:
    finished = [record for record in repeats if record.is_finished]
    failures = tuple(record.status for record in repeats if not record.is_finished)
    if not finished:
        return GridCell(failures[0], failures)
    used = finished[0].reduction
    seconds, scores, sizes = ([getattr(record, name) for record in finished] for name in ("seconds", "scores", "sizes"))
    return GridCell(
        status=OK if all(record.is_ok for record in finished) else NOT_CONVERGED,
        failed_repeats=failures,
        solve=_merged(seconds, "solve", median),
        reduce=_merged(seconds, "reduce", median),
        predict=_merged(seconds, "predict", median),
        accuracy=_merged(scores, "accuracy", fmean),
        auc=_merged(scores, "auc", fmean),
        mse=_merged(scores, "mse", fmean),
        vectors=_merged(sizes, "vectors", fmean),
        kept_share=over_known(record.kept_share for record in finished),
        primal=_merged([record.counters for record in finished], "primal", fmean),
        test_rows=_merged(sizes, "test_rows", fmean),
        wrong=finished[0].counters.get("wrong"),
        reduction=None if used is None else reductions.get(used, SharedReduction(used, None)),
    )


def _shared_reductions(records: Iterable[Record]) -> dict[str, SharedReduction]:
    """Record id -> the reduction it is a repeat of."""
    ids, seconds = {}, defaultdict(list)
    for record in records:
        settings = _frozen(record.reducer_params), _frozen(record.point)
        place = record.dataset, record.fold, record.seed
        identity = *place, record.reducer, record.size_of, *settings
        ids[record.id] = identity
        if record.is_finished:
            seconds[identity].append(record.seconds.get("reduce"))
    return {id_: SharedReduction(identity, over_known(seconds[identity], median)) for id_, identity in ids.items()}


def _merged(sections: list[dict], name: str, merge: Callable) -> float | None:
    return over_known((section.get(name) for section in sections), merge)


def over_known(values: Iterable[float | None], merge: Callable = fmean) -> float | None:
    """Their mean, or another number for all of them, without those that are not known; None if none is."""
    known = [value for value in values if value is not None]
    return merge(known) if known else None


def _frozen(value):
    """A hashable copy of parsed JSON; the order of names does not matter."""
    if isinstance(value, dict):
        return tuple((name, _frozen(value[name])) for name in sorted(value))
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
