"""Which figures a run has, how to read them, and their files.

Every figure is drawn only when the records have something to show in it, one figure per data set.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from svmreduce.errors import InputError
from svmreduce.experiments.ordering import natural_key
from svmreduce.experiments.panels import Panel, in_order
from svmreduce.experiments.recorded_run import Run
from svmreduce.reports import drawing
from svmreduce.reports.drawing import Look
from svmreduce.reports.reproduction.paper_comparison import PaperComparison
from svmreduce.reports.run import curves, figures
from svmreduce.reports.run.curves import Sweep
from svmreduce.reports.run.verdict import DatasetVerdict, verdicts

ALL_DATA = "all data sets"
_POINTS = "Large: each method at its best grid point; small: its other points. Hollow: a random sample of equal size."
_CAPTIONS = {
    "speed-up": (
        "Filled: against the baseline. Hollow: against the same engine on all rows, which is what the reduction itself "
        "gains. The reduction's time is included. Methods that lose more than two points are left out."
    ),
    "best accuracy": "Of each method at its best grid point, means over folds and seeds.",
    "classification speed-up": "Against the baseline, each method at its best grid point.",
    "accuracy and time": _POINTS,
    "accuracy and vectors": _POINTS,
    "front": (
        "Each method at its best point; nothing is both quicker and better than those on the line. Ring: the choice. "
        "Hollow: random samples."
    ),
    "growth": (
        "Means over the grid; whiskers: one standard deviation. n¹·⁸: the time grows with the 1.8th power of the rows, "
        "by a straight line through the logarithms."
    ),
    "sweep": "At the best grid points; whiskers: one standard deviation; dashed: a random sample of equal size.",
    "kept": "Share of the training rows that the reduction keeps, over the kernel width.",
    "course": "As the method recorded it while it ran.",
    "paper": "Green: reproduced; blue: same direction; yellow: other direction; orange: contradicted; hollow: none.",
}
# What is shown side by side for all data sets: kind of figure, fact, name of the axis, factor
_ACROSS = (
    ("best accuracy", "max_accuracy", "accuracy (%)", 100),
    ("classification speed-up", "cts", "times as fast", 1),
)
_SWEPT = {"accuracy": "accuracy by", "mse": "error by", "training": "training time by", "kept": "kept rows by"}


@dataclass(frozen=True)
class Drawing:
    """A figure with its place in the page: what kind it is, of which data set, and how to read it."""

    kind: str
    dataset: str  # empty: not among the figures by data set
    caption: str
    figure: Figure
    number: int = 1  # distinguishes what would have the same name

    @property
    def name(self) -> str:
        number = str(self.number) if self.number > 1 else ""
        return "-".join(filter(None, (_slug(self.kind), _slug(self.dataset), number)))


def drawings(run: Run, paper: PaperComparison | None = None) -> list[Drawing]:
    """All figures that the records support, and the printed figures against the measured ones."""
    labels = {record.method for record in run.records}
    looks = drawing.looks(in_order(labels, run.baseline), run.baseline)
    with matplotlib.rc_context(drawing.STYLE), drawing.any_script():
        made = list(_speedups(run, looks))
        made += _printed(paper) if paper else []
        made += _across(run, looks)
        found = {verdict.dataset: verdict for verdict in verdicts(run)}
        for panel in run.panels:
            made += _of_panel(panel, found[panel.dataset], looks)
        for sweep in curves.growing(run):
            made.append(Drawing("growth", sweep.dataset, _CAPTIONS["growth"], figures.growth(sweep, looks)))
        made += [_sweep(sweep, looks) for sweep in curves.swept(run) if sweep.curves]
        for dataset, name, found in curves.histories(run):
            figure = figures.history(dataset, name, found, looks)
            made.append(Drawing(f"course of {name.replace('_', ' ')}", dataset, _CAPTIONS["course"], figure))
    seen = Counter()
    for place, one in enumerate(made):
        seen[one.name] += 1
        made[place] = replace(one, number=seen[one.name])
    return made


def write(made: Iterable[Drawing], folder: str | Path, suffix: str = "svg") -> list[Path]:
    """Files named by what they show; the folder is created if necessary."""
    written = []
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for one in made:
            written.append(Path(folder) / f"{one.name}.{suffix}")
            drawing.save(one.figure, written[-1])
    except OSError as error:
        raise InputError(f"{folder}: figures cannot be written ({error.strerror}); check folder and space") from None
    return written


def _of_panel(panel: Panel, verdict: DatasetVerdict, looks: dict[str, Look]) -> Iterator[Drawing]:
    best = panel.best
    if len(best) < 2:
        return
    made = {"accuracy and time": figures.scatter(panel, looks, "training", "training (s)")}
    if sum(spot.vectors is not None for spot in best) > 1:
        made["accuracy and vectors"] = figures.scatter(panel, looks, "vectors", "support vectors")
    made["front"] = figures.front(verdict, looks)
    hidden = sum(map(verdict.is_poor, verdict.all))
    for kind, figure in made.items():
        more = f" Not shown: {hidden} that lose much." if kind == "front" and hidden else ""
        yield Drawing(kind, panel.dataset, _CAPTIONS[kind] + more, figure)


def _sweep(sweep: Sweep, looks: dict[str, Look]) -> Drawing:
    names = {curve.label for curve in sweep.curves} - looks.keys()
    looks = looks | drawing.looks(in_order(names, None), None)
    caption = _CAPTIONS["kept" if sweep.measure == "kept" else "sweep"]
    kind = f"{_SWEPT[sweep.measure]} {sweep.parameter}"
    return Drawing(kind, sweep.dataset, caption, figures.sweep(sweep, looks))


def _speedups(run: Run, looks: dict[str, Look]) -> Iterator[Drawing]:
    poor = {(verdict.dataset, one.label) for verdict in verdicts(run) for one in verdict.all if verdict.is_poor(one)}
    rows = [row for row in _rows_in_order(run) if row["ots"] and row["method"] != row["baseline"]]
    rows = [row for row in rows if (row["dataset"], row["method"]) not in poor]
    if rows:
        yield Drawing("speed-up", "", _CAPTIONS["speed-up"], figures.speedups(rows, looks))


def _across(run: Run, looks: dict[str, Look]) -> Iterator[Drawing]:
    """All methods on all data sets, where there are several of both."""
    rows = _rows_in_order(run)
    for kind, fact, axis, factor in _ACROSS:
        found = [row for row in rows if row[fact] and (fact != "cts" or row["method"] != row["baseline"])]
        if len({row["dataset"] for row in found}) > 1 and len({row["method"] for row in found}) > 1:
            title = f"{kind.capitalize()}, {ALL_DATA}"
            figure = figures.across(title, found, fact, axis, looks, factor)
            yield Drawing(kind, ALL_DATA, _CAPTIONS[kind], figure)


def _rows_in_order(run: Run) -> list[dict]:
    """The figures of every method but the controls, by data set and name."""
    rows = [row for row in run.summary if row["method"] not in run.controls]
    return sorted(rows, key=lambda row: (natural_key(row["dataset"]), natural_key(row["method"])))


def _printed(paper: PaperComparison) -> Iterator[Drawing]:
    """Printed against measured, one figure per column that both have numbers in."""
    for column in paper.columns:
        cells = [row.cells[column.field] for row in paper.rows]
        cells = [cell for cell in cells if None not in (cell.printed, cell.measured)]
        if len(cells) > 1 and not column.is_seconds:
            yield Drawing(f"printed {column.title}", "", _CAPTIONS["paper"], figures.diagonal(column, cells))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
