"""The measured figures of a printed row: from the summary, from reductions, or from the runs at one grid point."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from statistics import fmean

from svmreduce.experiments.method_results import find_rivals, over_known
from svmreduce.experiments.metrics import best_point
from svmreduce.experiments.panels import spread
from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import NOT_CONVERGED, Record
from svmreduce.papers import PrintedTable
from svmreduce.papers.layouts import Layout
from svmreduce.reports.render import counts as counted
from svmreduce.reports.reproduction.matching import MatchedData, Matching, plain

_GRID_NAMES = {"C": "C", "C_prime": "C", "g": "gamma", "degree": "degree"}  # the papers' names of what a grid is over


@dataclass(frozen=True)
class MeasuredRow:
    """What a run has for one printed row."""

    dataset: str = ""
    method: str = ""
    values: dict[str, float | None] = field(default_factory=dict)
    problem: str = ""  # why there is no value although it was tried
    caveats: tuple[str, ...] = ()  # what is not as in the paper
    grid_caveats: tuple[str, ...] = ()  # the same for means over the grid
    sides: dict[str, tuple[int, int]] = field(default_factory=dict)  # directions that no single number shows

    @property
    def is_tried(self) -> bool:
        return bool(self.values or self.problem)


NOT_FOUND = MeasuredRow()


class Measured:
    """The figures of a run, row by row of a printed table."""

    def __init__(self, run: Run, printed: PrintedTable, layout: Layout):
        self.run, self.printed, self.layout = run, printed, layout
        self.matching = Matching(run, printed, layout)
        self._of = {"summary": self._summary, "reductions": self._reduction, "runs": self._runs, "saved": self._saved}

    def found(self, row: dict) -> MeasuredRow:
        members = averaged_rows(self.printed, row)
        if members:
            return self._average(row, members)
        data = self.matching.data(row)
        return self._of[self.layout.source](row, data) if data else NOT_FOUND

    def _summary(self, row: dict, data: MatchedData) -> MeasuredRow:
        """The figures over the whole grid, as ``svmreduce report`` has them."""
        label = self.matching.method(data.title, row)
        if label is None:
            return NOT_FOUND
        own = self._summaries[data.title, label]
        if not own["done"]:
            return MeasuredRow(data.title, label, problem=self._reasons(data.title, label))
        values = {key: value for key, value in own.items() if isinstance(value, (int, float))}
        control = self._summaries.get((data.title, own["random_sample"]), {})
        values |= {f"random_{key}": control.get(key) for key in ("ets", "ots", "rmse", "mean_accuracy")}
        method = self.run.methods[data.title][label]
        point, _ = best_point(method)
        times = [cell.predict for place, cell in method.done.items() if place.point == point]
        values["best_predict_seconds"] = over_known(times)
        baseline = own["baseline"]
        problem = f"{baseline}: {counted(own['baseline_failed'])}" if own["baseline_failed"] else ""
        solver = self.run.methods[data.title].get(baseline, method).solver
        if plain(solver) != plain(self.layout.baseline) and own.get("ets_same_engine") is None:
            values |= {"ets": None, "ots": None}  # time ratios against another program than the paper's
            problem = problem or f"no times of {self.layout.baseline} in this run"
        return MeasuredRow(
            data.title, label, values, problem or "not defined in this run", data.caveats, self._grid(own, method)
        )

    def _grid(self, own: dict, method) -> tuple[str, ...]:
        """How the cells behind a figure differ from the paper's: points, missing ones, and fits that stopped early."""
        caveats = grid_caveats(self.printed, self.layout, [place.point for place in method.cells])
        if own["pairs"] < own["cells"]:
            caveats.append(f"{own['pairs']} of {own['cells']} cells have a result on both sides")
        base = self._summaries.get((own["dataset"], own["baseline"]), own)
        for one in {row["method"]: row for row in (own, base)}.values():
            if one["not_converged"]:
                who = "" if one is own else f" of {one['method']}"
                caveats.append(f"{one['not_converged']} of {one['cells']} cells{who} did not converge")
        return tuple(caveats)

    def _reduction(self, row: dict, data: MatchedData) -> MeasuredRow:
        records = self.matching.reductions_like(data.title, row)
        done = [record for record in records if record.is_finished]
        if not done:
            return MeasuredRow(data.title, problem=_told(records)) if records else NOT_FOUND
        shares = [100 * record.sizes["kept_rows"] / record.sizes["train_rows"] for record in done]
        seconds = [record.seconds.get("reduce") for record in done]
        values = {"kept_percent": fmean(shares), "seconds": over_known(seconds)}
        return MeasuredRow(data.title, done[0].method, values, caveats=data.caveats)

    def _runs(self, row: dict, data: MatchedData, ranked: bool = False) -> MeasuredRow:
        """Means over the folds, seeds and repeats at the point where the paper's baseline is most accurate."""
        label = self.matching.method(data.title, row, ranked)
        if label is None:
            return NOT_FOUND
        point = self._point(data.title, label, row)
        if point is None:
            return MeasuredRow(data.title, label, problem=self._reasons(data.title, label))
        fits = self._fits_at(data.title, label, point)
        values = self._facts(fits)
        control = find_rivals(self.run.methods[data.title][label], self.run.methods[data.title]).random_sample
        if control is not None:
            values["random_accuracy"] = self._facts(self._fits_at(data.title, control.label, point))["accuracy"]
        points = [fit.point for fit in self.run.fits_of[data.title][label]]
        caveats = grid_caveats(self.printed, self.layout, points)
        early = sum(fit.status == NOT_CONVERGED for fit in fits)
        caveats += [f"{early} of {len(fits)} fits did not converge"] if early else []
        base = self._baseline_label(data.title, row)
        base_seconds = self._facts(self._fits_at(data.title, base, point))["seconds"] if base else None
        if base_seconds and values["seconds"] and base != label:
            values["speedup"] = base_seconds / values["seconds"]
        return MeasuredRow(data.title, label, values, "not defined in this run", (*data.caveats, *caveats))

    def _saved(self, row: dict, data: MatchedData) -> MeasuredRow:
        """What a first working set by rank saves, in percent of the time and steps without it."""
        with_it, without = self._runs(row, data, ranked=True), self._runs(row, data)
        if not with_it.values or not without.values:
            return with_it if with_it.problem or not with_it.values else without
        values = dict(with_it.values)
        for saved, fact in (("time_saved", "seconds"), ("steps_saved", "steps")):
            before, now = without.values[fact], with_it.values[fact]
            values[saved] = 100 * (1 - now / before) if before and now is not None else None
        caveats = tuple(dict.fromkeys((*with_it.caveats, *without.caveats)))
        return MeasuredRow(with_it.dataset, with_it.method, values, with_it.problem, caveats)

    def _average(self, row: dict, members: list[dict]) -> MeasuredRow:
        """The mean of the measured rows that a printed average is over."""
        found = [other for other in map(self.found, members) if other.values]
        if not found:
            return NOT_FOUND
        keys = dict.fromkeys(key for other in found for key in other.values)
        values = {key: over_known([other.values.get(key) for other in found]) for key in keys}
        caveats = [caveat for other in found for caveat in other.caveats]
        if len(found) < len(members):
            caveats.insert(0, f"over {len(found)} of {len(members)} rows")
        return MeasuredRow("average", "", values, caveats=tuple(dict.fromkeys(caveats)))

    def _point(self, title: str, label: str, row: dict):
        own = self.run.methods[title][label]
        base = self._baseline_label(title, row)
        if base:
            point, _ = best_point(self.run.methods[title][base])
            if any(place.point == point for place in own.done):
                return point
        return best_point(own)[0]

    def _baseline_label(self, title: str, row: dict) -> str | None:
        layout = self.layout
        return self.matching.method(title, {**row, layout.method: layout.baseline}) if layout.baseline else None

    def _fits_at(self, title: str, label: str, point) -> list[Record]:
        wanted = dict(point)
        fits = self.run.fits_of[title][label]
        return [record for record in fits if record.is_finished and record.point == wanted]

    def _facts(self, fits: list[Record]) -> dict[str, float | None]:
        columns = {
            "accuracy": [fit.scores.get("accuracy") for fit in fits],
            "seconds": [self._training_seconds(fit) for fit in fits],
            "kept_rows": [fit.sizes.get("kept_rows") for fit in fits],
            "steps": [fit.counters.get("n_iter") for fit in fits],
        }
        means = {name: over_known(values) for name, values in columns.items()}
        return means | {f"{name}_std": _deviation(values) for name, values in columns.items()}

    def _training_seconds(self, fit: Record) -> float | None:
        """Reduction and training; a reduction without a recorded time leaves no figure."""
        parts = [fit.seconds.get("solve"), fit.seconds.get("reduce") or 0.0]
        if fit.reduction:
            parts.append(self._reduction_seconds.get(fit.reduction))
        return None if None in parts else sum(parts)

    def _reasons(self, title: str, label: str) -> str:
        return _told(self.run.fits_of[title][label])

    @cached_property
    def _reduction_seconds(self) -> dict[str, float | None]:
        return {record.id: record.seconds.get("reduce") for record in self.run.reductions}

    @cached_property
    def _summaries(self) -> dict[tuple[str, str], dict]:
        return {(row["dataset"], row["method"]): row for row in self.run.summary}


def grid_caveats(printed: PrintedTable, layout: Layout, points: Iterable) -> list[str]:
    """What is not as in the paper's grid; a printed figure over a grid is that of its very points."""
    grid = printed.whole["settings"].get(layout.grid) or {}
    lists = {_GRID_NAMES[name]: values for name, values in grid.items() if name in _GRID_NAMES}
    found = {tuple(round(float(dict(point).get(name, math.nan)), 9) for name in lists) for point in points}
    wanted = {tuple(round(float(value), 9) for value in values) for values in product(*lists.values())}
    if not lists or found == wanted:
        return []
    if len(found & wanted) == len(found):
        return [f"{len(found)} of {len(wanted)} grid points"]
    return [f"{len(found)} grid points, of which {len(found & wanted)} are among the paper's {len(wanted)}"]


def averaged_rows(printed: PrintedTable, row: dict) -> list[dict]:
    """The rows that a printed average is over; none if the row is not an average."""
    if row.get("dataset") == "average_printed":
        same = [other for other in printed.rows if other["method"] == row["method"] and other is not row]
        return [other for other in same if other["status"] == "ok"]
    kind = str(row.get("kernel", "")).removeprefix("average_")
    if row.get("kind") == "average":
        return [other for other in printed.rows if (other["dataset"], other["kind"]) == (row["dataset"], kind)]
    return []


def _told(records: list[Record]) -> str:
    """``2 timeout: stopped after 10 s``."""
    reason = next((record.reason for record in records if record.reason), "")
    counts = counted(Counter(record.status for record in records))
    return f"{counts}: {reason}" if reason else counts


def _deviation(values: list) -> float | None:
    return spread([value for value in values if value is not None])
