"""From records to cells: what one method did at one grid point, on one fold, with one seed.

A cell is what metrics average and pair. Repeats of a fit make one cell (times by their median, which one disturbed
run does not move; scores and sizes by their mean), and a reduction shared by many cells stays one object, so that
its time can be counted once. A cell that failed is a cell, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import NamedTuple

USABLE = ("ok", "not_converged")
"""Statuses with times and scores; a model that stopped early is worse, not absent."""

Point = tuple[tuple[str, Hashable], ...]
"""A grid point as sorted (name, value) pairs, so that 1 and 1.0 are the same."""


class Place(NamedTuple):
    """Where two methods meet: the same grid point on the same training rows."""

    point: Point
    split: tuple[int, int]  # fold, seed


@dataclass(frozen=True)
class SharedReduction:
    """One reduction, however many fits use it and however often it was repeated; seconds None: not on record."""

    identity: Hashable
    seconds: float | None


@dataclass(frozen=True)
class Cell:
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
    reduction: SharedReduction | None = None

    @property
    def is_done(self) -> bool:
        return self.status in USABLE


@dataclass(frozen=True)
class Method:
    """One row of a table: a method on a data set, with its cells in the order of their records."""

    label: str
    task: str
    solver: str
    reducer: str | None
    settings: Hashable  # the solver's parameters that the grid does not vary
    baseline: str | None
    cells: dict[Place, Cell]

    @cached_property
    def done(self) -> dict[Place, Cell]:
        return {place: cell for place, cell in self.cells.items() if cell.is_done}

    def shares_engine(self, other: Method) -> bool:
        return (self.solver, self.settings) == (other.solver, other.settings)


@dataclass(frozen=True)
class Comparison:
    """A method on a data set, and what it is set against; ``splits`` are all folds and seeds of the data set."""

    own: Method
    baseline: Method | None  # of the paper or the config
    same_engine: Method | None  # the same solver on all rows
    random_sample: Method | None  # the same solver on a random sample
    splits: frozenset[tuple[int, int]]


def compare(own: Method, methods: dict[str, Method], baseline: str | None) -> Comparison:
    """Find what ``own`` is set against among the methods of its data set."""
    engine = [method for method in methods.values() if own.reducer is not None and method.shares_engine(own)]
    samples = [method for method in engine if method.reducer == "random" and own.reducer != "random"]
    return Comparison(
        own=own,
        baseline=methods.get(baseline),
        same_engine=next((method for method in engine if method.reducer is None), None),
        # Of several sample sizes the fair one is the nearest to what the reduction keeps.
        random_sample=min(samples, key=lambda sample: abs(_kept(sample) - _kept(own)), default=None),
        splits=frozenset(place.split for method in methods.values() for place in method.cells),
    )


def _kept(method: Method) -> float:
    return _over_known((cell.kept_share for cell in method.done.values()), fmean) or 0.0


def collect(records: Iterable[dict]) -> dict[str, dict[str, Method]]:
    """Methods by data set and label, in the order in which the records name them first."""
    records = list(records)
    reductions = _shared_reductions(record for record in records if record["kind"] == "reduction")
    fits: dict[str, dict[str, dict[Place, list[dict]]]] = {}
    for record in records:
        if record["kind"] == "fit":
            place = Place(_frozen(record["point"] or {}), (record["fold"], record["seed"]))
            by_method = fits.setdefault(record["dataset"], {}).setdefault(record["method"], {})
            by_method.setdefault(place, []).append(record)
    return {
        dataset: {label: _method(label, places, reductions) for label, places in methods.items()}
        for dataset, methods in fits.items()
    }


def _method(label: str, places: dict[Place, list[dict]], reductions: dict[str, SharedReduction]) -> Method:
    first = next(iter(places.values()))[0]
    varied = first["point"] or {}
    varied = {*varied, "random_state", "threads"}  # of the run, not of the method
    fixed = {name: value for name, value in (first["solver_params"] or {}).items() if name not in varied}
    return Method(
        label=label,
        task=first["task"],
        solver=first["solver"],
        reducer=first["reducer"],
        settings=_frozen(fixed),
        baseline=first["baseline"],
        cells={place: _cell(repeats, reductions) for place, repeats in places.items()},
    )


def _cell(repeats: list[dict], reductions: dict[str, SharedReduction]) -> Cell:
    usable = [record for record in repeats if record["status"] in USABLE]
    failures = tuple(record["status"] for record in repeats if record["status"] not in USABLE)
    if not usable:
        return Cell(failures[0], failures)
    used = usable[0]["reduction"]
    kept = [_kept_share(record) for record in usable]
    return Cell(
        status="ok" if all(record["status"] == "ok" for record in usable) else "not_converged",
        failed_repeats=failures,
        solve=_merged(usable, "seconds", "solve", median),
        reduce=_merged(usable, "seconds", "reduce", median),
        predict=_merged(usable, "seconds", "predict", median),
        accuracy=_merged(usable, "scores", "accuracy", fmean),
        auc=_merged(usable, "scores", "auc", fmean),
        mse=_merged(usable, "scores", "mse", fmean),
        vectors=_merged(usable, "sizes", "vectors", fmean),
        kept_share=_over_known(kept, fmean),
        reduction=None if used is None else reductions.get(used, SharedReduction(used, None)),
    )


def _shared_reductions(records: Iterable[dict]) -> dict[str, SharedReduction]:
    """Record id -> the reduction it is a repeat of."""
    ids, seconds = {}, defaultdict(list)
    for record in records:
        settings = _frozen(record["reducer_params"] or {}), _frozen(record["point"] or {})
        place = record["dataset"], record["fold"], record["seed"]
        identity = *place, record["reducer"], record.get("size_of"), *settings
        ids[record["id"]] = identity
        if record["status"] in USABLE:
            seconds[identity].append(_fact(record, "seconds", "reduce"))
    return {id_: SharedReduction(identity, _over_known(seconds[identity], median)) for id_, identity in ids.items()}


def _fact(record: dict, section: str, name: str) -> float | None:
    return (record[section] or {}).get(name)


def _merged(records: list[dict], section: str, name: str, merge: Callable) -> float | None:
    return _over_known([_fact(record, section, name) for record in records], merge)


def _over_known(values: Iterable[float | None], merge: Callable) -> float | None:
    known = [value for value in values if value is not None]
    return merge(known) if known else None


def _kept_share(record: dict) -> float | None:
    kept, rows = _fact(record, "sizes", "kept_rows"), _fact(record, "sizes", "train_rows")
    return None if kept is None or not rows else kept / rows


def _frozen(value):
    """A hashable copy of parsed JSON; the order of names does not matter."""
    if isinstance(value, dict):
        return tuple((name, _frozen(value[name])) for name in sorted(value))
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
