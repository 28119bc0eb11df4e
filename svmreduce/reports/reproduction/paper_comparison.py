"""A printed table next to what was measured, in the paper's layout, and a verdict for every cell and row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from svmreduce import papers
from svmreduce.errors import InputError
from svmreduce.experiments.recorded_run import Run
from svmreduce.papers import PrintedTable
from svmreduce.papers.layouts import LAYOUTS, Layout, PrintedColumn
from svmreduce.registry import nearest_name_error
from svmreduce.reports.render import Column, Table
from svmreduce.reports.reproduction.measured import Measured, MeasuredRow
from svmreduce.reports.reproduction.verdicts import (
    CONTRADICTED,
    JUDGED,
    MARKS,
    NOT_COMPARABLE,
    NOT_MEASURED,
    NOT_PRINTED,
    JudgedCell,
    judged_cell,
    number,
)

_EXTRAS = {
    "ets_same_engine": ("ETS, same engine", 1, 2),
    "ots_same_engine": ("OTS, same engine", 1, 2),
    "random_ets": ("ETS, random sample", 1, 2),
    "random_ots": ("OTS, random sample", 1, 2),
    "random_rmse": ("RMSE, random sample (%)", 100, 2),
    "random_mean_accuracy": ("mean acc., random sample (%)", 100, 1),
    "random_accuracy": ("accuracy, random sample", 1, 3),
}


@dataclass
class ComparedRow:
    """A printed row: what names it, its cells by column, and the figures next to them."""

    names: dict
    found: MeasuredRow
    cells: dict[str, JudgedCell] = field(default_factory=dict)
    extras: dict[str, float | None] = field(default_factory=dict)
    verdict: str = NOT_MEASURED
    why: str = ""


@dataclass
class PaperComparison:
    """A whole printed table with its measured counterpart."""

    printed: PrintedTable
    layout: Layout
    columns: list[PrintedColumn]  # those that do not depend on the machine first
    rows: list[ComparedRow]

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(cell.verdict for row in self.rows for cell in row.cells.values())
        return {verdict: found[verdict] for verdict in MARKS if found[verdict]}

    @property
    def names(self) -> list[str]:
        return list(self.rows[0].names)


def compare_with_paper(run: Run, name: str) -> PaperComparison:
    """The printed table ``name``, such as ``aesvm:table4``, next to the figures of a run."""
    printed = papers.find(name)
    known = LAYOUTS.get(printed.paper, {})
    if printed.name not in known:
        raise nearest_name_error(f"table of {printed.paper} with measured figures", printed.name, known)
    layout = known[printed.name]
    measured = _source(run, printed, layout)
    founds = [measured.found(row) for row in printed.rows]
    columns = sorted(layout.columns, key=lambda column: not printed.is_hardware_free(column.field))
    rows = [_row(printed, layout, columns, place, founds) for place in range(len(printed.rows))]
    return PaperComparison(printed, layout, columns, rows)


def _source(run: Run, printed: PrintedTable, layout: Layout):
    """Where the measured rows come from: the records, or tests over them."""
    if layout.source != "tests":
        return Measured(run, printed, layout)
    from svmreduce.reports.reproduction.rank_tests import RankTests  # loads scipy.stats, which no other table needs

    return RankTests(run, printed)


def table_of_run(run: Run) -> str | None:
    """The table that the run's config names as its paper, if it is one that can be shown."""
    try:
        return known_table(run.config.get("paper"))
    except InputError:  # a config that cannot be read
        return None


def known_table(name: str | None) -> str | None:
    """The name again, if it is that of a table with a layout; figures have no printed numbers."""
    paper, _, table = str(name or "").partition(":")
    try:
        return name if table in LAYOUTS.get(paper, {}) and papers.find(name) else None
    except InputError:  # a paper whose tables are not included
        return None


def _row(
    printed: PrintedTable, layout: Layout, columns: list[PrintedColumn], place: int, founds: list[MeasuredRow]
) -> ComparedRow:
    row, found = printed.rows[place], founds[place]
    keys = [key for key in ("dataset", layout.method, *layout.keys) if key in printed.content["columns"]]
    made = ComparedRow({key: row.get(key) for key in keys}, found)
    for column in columns:
        made.cells[column.field] = judged_cell(printed, layout, column, place, founds)
    made.extras = {key: found.values.get(key) for key in layout.extras}
    free = [cell for field, cell in made.cells.items() if printed.is_hardware_free(field)]
    wrong = [cell for cell in made.cells.values() if cell.verdict == CONTRADICTED]
    has_verdict = any(cell.verdict in JUDGED for cell in free)
    made.verdict = _worst([*free, *wrong] if has_verdict else made.cells.values())
    reasons = [cell.reason for cell in made.cells.values() if cell.reason and cell.reason != "another machine"]
    made.why = "; ".join(dict.fromkeys(text for reason in reasons for text in reason.split("; ")))
    return made


def _worst(cells: Iterable[JudgedCell]) -> str:
    """The verdict of a row: that of its worst cell, else why there is none."""
    found = {cell.verdict for cell in cells}
    order = (*reversed(JUDGED), NOT_COMPARABLE, NOT_MEASURED, NOT_PRINTED)
    return next(verdict for verdict in order if verdict in found)


# Tables


def wide_table(found: PaperComparison) -> Table:
    """The paper's layout: one row per printed row, ``printed → measured`` and a mark in each cell."""
    columns = [Column(name, name.replace("_", " "), _name, is_text=True, is_key=True) for name in found.names]
    columns.append(Column("verdict", "verdict", is_text=True))
    columns += [Column(column.field, column.title) for column in found.columns]
    columns += [Column(key, title, _writer(factor, digits)) for key, (title, factor, digits) in _EXTRAS.items()]
    columns.append(Column("why", "why", is_text=True))
    rows = [{**row.names, **row.cells, **row.extras, "verdict": row.verdict, "why": row.why} for row in found.rows]
    return Table(f"{found.printed.title}: printed → measured", columns, rows, notes(found))


def notes(found: PaperComparison) -> list[str]:
    """What the marks mean, how near is near enough, and what the verdicts add up to."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in found.counts.items())
    limits = [f"{column.title} {column.tolerance}" for column in found.columns if not column.is_seconds]
    lines = [
        f"{found.printed.caption}. Cells: {counts}.",
        "✓ reproduced, within the tolerance; ≈ same direction; ✗ contradicted; ≠ other direction, but on other data, "
        "fewer rows or a smaller grid; ∅ not comparable. A row has the verdict of the worst of its cells that "
        "do not depend on the machine; a contradicted cell always counts.",
        f"Tolerances: {'; '.join(limits)}.",
    ]
    if any(column.same_engine for column in found.columns):
        lines.append(
            "ETS and OTS are shown against the baseline and judged against the same engine on all rows, where the run "
            "has it: in the paper, method and baseline share their engine."
        )
    free = [column.title for column in found.columns if found.printed.is_hardware_free(column.field)]
    if free:
        lines.append(f"Independent of the machine: {', '.join(free)}.")
    return lines


def long_table(found: PaperComparison) -> Table:
    """One row per printed cell, raw values: for CSV and JSON."""
    fixed = ("figure", "printed", "measured", "judged", "verdict", "reason", "hardware_free", "data", "label")
    columns = [Column(name, name, _name, is_text=True) for name in (*found.names, *fixed, *found.layout.extras)]
    rows = [
        {
            **row.names,
            "figure": column.field,
            **{key: value for key, value in asdict(row.cells[column.field]).items() if key != "digits"},
            "hardware_free": found.printed.is_hardware_free(column.field),
            "data": row.found.dataset,
            "label": row.found.method,
            **row.extras,
        }
        for row in found.rows
        for column in found.columns
    ]
    return Table(found.printed.title, columns, rows)


def _name(value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _writer(factor: float, digits: int):
    return lambda value: number(factor * value, digits)
