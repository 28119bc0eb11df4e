"""Every method at its grid points, as plain numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, stdev

from svmreduce.experiments.method_results import GridCell, MethodResults, Point, over_known
from svmreduce.experiments.metrics import best_point
from svmreduce.experiments.ordering import natural_key
from svmreduce.experiments.records import controlled_label


@dataclass(frozen=True)
class Spot:
    """A method at one grid point: means over folds and seeds, and how far these differ."""

    method: str
    point: Point
    error: float  # share of errors, or the mean squared error
    error_spread: float | None
    reduce: float  # seconds of one fit
    solve: float
    predict: float
    vectors: float | None
    is_best: bool

    @property
    def training(self) -> float:
        return self.reduce + self.solve

    @property
    def total(self) -> float:
        return self.training + self.predict


@dataclass(frozen=True)
class Panel:
    """All methods on one data set, the baseline first, every control after its method."""

    dataset: str
    is_regression: bool
    spots: dict[str, list[Spot]]

    @property
    def best(self) -> list[Spot]:
        return [spot for spots in self.spots.values() for spot in spots if spot.is_best]


def make_panels(datasets: dict[str, dict[str, MethodResults]]) -> list[Panel]:
    """One panel per data set with at least one result."""
    made = []
    for dataset, methods in datasets.items():
        baseline = next((method.baseline for method in methods.values()), None)
        spots = {label: _spots(methods[label]) for label in in_order(methods, baseline)}
        spots = {label: found for label, found in spots.items() if found}
        if spots:
            made.append(Panel(dataset, any(m.task == "regression" for m in methods.values()), spots))
    return sorted(made, key=lambda panel: natural_key(panel.dataset))


def in_order(labels: Iterable[str], baseline: str | None) -> list[str]:
    """The baseline first, the others by name, a control right after what it controls."""

    def place(label: str) -> tuple:
        method = controlled_label(label)
        return label != baseline, natural_key(label if method is None else method), method is not None

    return sorted(labels, key=place)


def _spots(method: MethodResults) -> list[Spot]:
    fact = "mse" if method.task == "regression" else "accuracy"
    at: dict[Point, list[GridCell]] = {}
    for place, cell in method.done.items():
        if getattr(cell, fact) is not None and cell.solve is not None:
            at.setdefault(place.point, []).append(cell)
    best, _ = best_point(method)
    return [_spot(method.label, point, cells, fact, point == best) for point, cells in at.items()]


def _spot(label: str, point: Point, cells: list[GridCell], fact: str, is_best: bool) -> Spot:
    errors = [cell.mse if fact == "mse" else 1 - cell.accuracy for cell in cells]
    return Spot(
        label,
        point,
        fmean(errors),
        spread(errors),
        fmean(cell.reducing for cell in cells),
        fmean(cell.solve for cell in cells),
        fmean(cell.predict or 0.0 for cell in cells),
        over_known(cell.vectors for cell in cells),
        is_best,
    )


def spread(values: list[float]) -> float | None:
    return stdev(values) if len(values) > 1 else None
