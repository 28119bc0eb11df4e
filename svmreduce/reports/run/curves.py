"""Curves for the figures: training time over rows, scores over a parameter, what a method recorded while it ran."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean

from svmreduce.experiments.ordering import natural_key
from svmreduce.experiments.panels import Panel, Spot, spread
from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import RANDOM, control_label


@dataclass(frozen=True)
class Curve:
    """One line of a figure: x, y and the spread of y where there is one."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class Sweep:
    """Curves over one parameter or over the size of the data."""

    dataset: str
    parameter: str
    measure: str  # "accuracy", "mse", "training" or "kept"
    curves: list[Curve]


def growing(run: Run) -> list[Sweep]:
    """Training time over rows, for data sets that differ in their size: a1a … a9a, checkerboard:1000 …"""
    rows = run.train_rows
    families: dict[str, list[Panel]] = {}
    for panel in run.panels:
        if panel.dataset in rows:
            families.setdefault(_family(panel.dataset), []).append(panel)
    sweeps = []
    for family, members in families.items():
        members.sort(key=lambda panel: rows[panel.dataset])
        labels = dict.fromkeys(label for panel in members for label in panel.spots)
        curves = [
            _curve(
                label, [(rows[p.dataset], [s.training for s in p.spots[label]]) for p in members if label in p.spots]
            )
            for label in labels
        ]
        curves = [curve for curve in curves if len(set(curve.x)) >= 3]
        if curves:
            title = f"{members[0].dataset} … {members[-1].dataset}" if "#" in family else family
            sweeps.append(Sweep(title, "rows", "training", curves))
    return sweeps


def slope(curve: Curve) -> float:
    """The power of x that y grows with: the slope of the straight line through the logarithms."""
    x, y = [math.log(value) for value in curve.x], [math.log(max(value, 1e-9)) for value in curve.y]
    mean_x, mean_y = fmean(x), fmean(y)
    along = math.fsum((a - mean_x) ** 2 for a in x)
    return math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / along


def swept(run: Run) -> Iterator[Sweep]:
    """Accuracy and time over a parameter with at least three values: of a method, or the only one of the grid."""
    parameters = _parameters(run)
    for panel in run.panels:
        score = "mse" if panel.is_regression else "accuracy"
        for name, groups in _varied(panel, parameters[panel.dataset], run.controls).items():
            for measure, value in ((score, _score(panel)), ("training", lambda spot: spot.training)):
                curves = [_curve_of(label, members, panel, value) for label, members in groups.items()]
                yield Sweep(panel.dataset, name, measure, curves)
        for name in _single_grid_parameter(panel):
            for measure, value in ((score, _score(panel)), ("training", lambda spot: spot.training)):
                curves = [
                    _curve(
                        label, [(dict(spot.point)[name], [value(spot)]) for spot in spots if name in dict(spot.point)]
                    )
                    for label, spots in panel.spots.items()
                ]
                yield Sweep(panel.dataset, name, measure, [curve for curve in curves if len(curve.x) >= 3])
    yield from _kept(run)


def histories(run: Run) -> Iterator[tuple[str, str, list[Curve]]]:
    """What a method recorded while it ran: every counter that is a list of numbers, or of (step, number) pairs."""
    found: dict[tuple[str, str], dict[str, Curve]] = {}
    for record in run.fits:
        for name, values in record.counters.items():
            if isinstance(values, list) and len(values) >= 3:
                pairs = [pair if isinstance(pair, list) else (step, pair) for step, pair in enumerate(values, 1)]
                pairs = [(step, value) for step, value in pairs if isinstance(value, (int, float))]
                if pairs:
                    curve = Curve(record.method, *zip(*pairs, strict=True))
                    found.setdefault((record.dataset, name), {}).setdefault(record.method, curve)
    for (dataset, name), curves in found.items():
        yield dataset, name, list(curves.values())


def _score(panel: Panel) -> Callable[[Spot], float]:
    return (lambda spot: spot.error) if panel.is_regression else (lambda spot: 1 - spot.error)


def _curve(label: str, samples: Iterable[tuple[float, list[float]]]) -> Curve:
    """Means and spreads of the samples at each x, in the order of x."""
    at: dict[float, list[float]] = {}
    for x, values in samples:
        at.setdefault(x, []).extend(values)
    xs = sorted(at)
    return Curve(label, tuple(xs), tuple(fmean(at[x]) for x in xs), tuple(spread(at[x]) for x in xs))


def _curve_of(label: str, members: dict[float, str], panel: Panel, value: Callable[[Spot], float]) -> Curve:
    """A family of methods at its best points."""
    samples = [(x, [value(s) for s in panel.spots[name] if s.is_best]) for x, name in members.items()]
    return _curve(label, [(x, values) for x, values in samples if values])


def _parameters(run: Run) -> dict[str, dict[str, dict]]:
    """Data set -> label -> the parameters of solver and reducer that no grid varies."""
    found: dict[str, dict[str, dict]] = {}
    for dataset, methods in run.fits_of.items():
        for label, (first, *_) in methods.items():
            given = {f"solver {key}": value for key, value in first.solver_params.items()}
            given |= {f"reducer {key}": value for key, value in first.reducer_params.items()}
            own = {key: value for key, value in given.items() if key.split(" ", 1)[1] not in first.point}
            own |= {"solver": first.solver, "reducer": first.reducer}
            found.setdefault(dataset, {})[label] = own
    return found


def _varied(panel: Panel, parameters: dict[str, dict], controls: set[str]) -> dict[str, dict[str, dict[float, str]]]:
    """Parameter -> name of a family -> value -> label, where methods differ in that parameter alone."""
    found: dict[str, dict[str, dict[float, str]]] = {}
    labels = [label for label in panel.spots if label in parameters and label not in controls]
    for key in dict.fromkeys(key for label in labels for key in parameters[label]):
        groups: dict[str, dict[float, str]] = {}
        for label in labels:
            value = parameters[label].get(key)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                rest = str(sorted((name, str(given)) for name, given in parameters[label].items() if name != key))
                groups.setdefault(rest, {})[value] = label
        for members in groups.values():
            if len(members) >= 3:
                name = key.split(" ", 1)[-1]
                family = _shared_name(list(members.values()), name)
                found.setdefault(name, {})[family] = members
                samples = {x: control_label(label) for x, label in members.items()}
                samples = {x: label for x, label in samples.items() if label in panel.spots}
                if len(samples) >= 3:
                    found[name][control_label(family)] = samples
    return found


def _shared_name(labels: list[str], parameter: str) -> str:
    """``AESVM`` of ``AESVM1`` and ``AESVM2``, or of ``AESVM epsilon=0.1`` and ``AESVM epsilon=0.2``."""
    plain = {re.sub(rf"\s*\b{re.escape(parameter)}=\S+", "", label) for label in labels}
    if len(plain) > 1:
        plain = {re.sub(r"[\s\d.=-]+$", "", label) for label in plain}
    return plain.pop() if len(plain) == 1 else labels[0]


def _single_grid_parameter(panel: Panel) -> list[str]:
    values: dict[str, set] = {}
    for spots in panel.spots.values():
        for spot in spots:
            for name, value in spot.point:
                values.setdefault(name, set()).add(value)
    varied = [name for name, known in values.items() if len(known) > 1]
    return [
        name for name in varied if len(varied) == 1 and len(values[name]) >= 3 and all(map(_is_number, values[name]))
    ]


def _kept(run: Run) -> Iterator[Sweep]:
    """Share of the rows that each reduction keeps, over the kernel width."""
    samples: dict[str, dict[str, list]] = {}
    for record in run.reductions:
        width = record.point.get("gamma")
        share = record.kept_share
        if record.reducer != RANDOM and _is_number(width) and share is not None:
            samples.setdefault(record.dataset, {}).setdefault(record.method, []).append((width, [share]))
    for dataset, methods in samples.items():
        curves = [
            _curve(label, found) for label, found in sorted(methods.items(), key=lambda item: natural_key(item[0]))
        ]
        curves = [curve for curve in curves if len(curve.x) >= 3]
        if curves:
            yield Sweep(dataset, "gamma", "kept", curves)


def _is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _family(dataset: str) -> str:
    """``checkerboard`` of ``checkerboard:1000``, ``a#a`` of ``a1a``: the name without its numbers."""
    return re.sub(r"[:\s]*\d+(?:[.,]\d+)*k?", "#", dataset).rstrip("#") or dataset
