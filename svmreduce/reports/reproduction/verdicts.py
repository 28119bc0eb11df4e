"""The verdict for every cell of a printed table.

- *reproduced*: within the tolerance of its column,
- *same direction*: not that close, but with the same meaning (a gain stays a gain, a loss a loss, a trend a trend),
- *contradicted*: it says something else,
- *other direction*: it says something else, but about other data, fewer rows or a smaller grid,
- *not comparable*: another machine's seconds, a run that did not finish, other data where a figure has no direction.

On other data or fewer rows a figure can share the direction or not, but neither reproduce nor contradict the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

from svmreduce.papers import PrintedTable
from svmreduce.papers.layouts import Layout, PrintedColumn
from svmreduce.reports.render import significant
from svmreduce.reports.reproduction.measured import MeasuredRow

REPRODUCED, SAME_DIRECTION, OTHER_DIRECTION = "reproduced", "same direction", "other direction"
CONTRADICTED, NOT_COMPARABLE = "contradicted", "not comparable"
NOT_MEASURED, NOT_PRINTED = "not measured", "not printed"
JUDGED = (REPRODUCED, SAME_DIRECTION, OTHER_DIRECTION, CONTRADICTED)  # from best to worst
MARKS = {REPRODUCED: "✓", SAME_DIRECTION: "≈", OTHER_DIRECTION: "≠", CONTRADICTED: "✗", NOT_COMPARABLE: "∅"}
MARKS |= {NOT_MEASURED: "", NOT_PRINTED: ""}
FAR = 10  # tolerances: a level this far off is contradicted, whatever its distance from the baseline
_BLANK = {
    "not_completed": "the paper's run did not finish",
    "did_not_finish_in_a_day": "the paper's run did not finish in a day",
    "not_applicable": "not applicable in the paper",
    "not_reported": "not reported in the paper",
}


@dataclass(frozen=True)
class JudgedCell:
    """One printed number next to the measured one."""

    printed: float | None
    measured: float | None
    verdict: str
    reason: str = ""
    digits: int = 1
    judged: float | None = None  # what the verdict is about, where that is another figure than the one shown

    @property
    def mark(self) -> str:
        return MARKS[self.verdict]

    def __str__(self) -> str:
        return f"{self.text(self.printed)} → {self.text(self.measured)} {self.mark}".rstrip()

    def text(self, value: float | None) -> str:
        return "–" if value is None else number(value, self.digits)


def judge(
    column: PrintedColumn,
    printed: float | None,
    measured: float | None,
    sides: tuple[int, int] | None = None,
    caveat: str = "",
) -> tuple[str, str]:
    """Verdict and reason for one number.

    Parameters
    ----------
    sides : the directions of the printed and the measured figure, None where it has none
    caveat : what is not as in the paper
    """
    if printed is None:
        return NOT_PRINTED, ""
    if measured is None:
        return NOT_MEASURED, ""
    if column.is_seconds:
        return NOT_COMPARABLE, "another machine"
    if column.tolerance.covers(printed, measured):
        return (SAME_DIRECTION if caveat else REPRODUCED), caveat
    if not caveat:
        is_far = column.direction == "baseline" and abs(measured - printed) > FAR * column.tolerance.allowed(printed)
        agrees = sides is not None and sides[0] == sides[1] and not is_far
        return (SAME_DIRECTION if agrees else CONTRADICTED), ""
    if sides is None:
        return NOT_COMPARABLE, caveat
    return (SAME_DIRECTION if sides[0] == sides[1] else OTHER_DIRECTION), caveat


def number(value: float, digits: int) -> str:
    """Fixed digits as printed; large or tiny numbers by significant digits."""
    small = value and abs(value) < 0.5 * 10**-digits
    return significant(value) if small or abs(value) >= 10_000 else f"{value:.{digits}f}"


def judged_cell(
    printed: PrintedTable, layout: Layout, column: PrintedColumn, place: int, founds: list[MeasuredRow]
) -> JudgedCell:
    row, found = printed.rows[place], founds[place]
    value = printed_value(printed, layout, column, row)
    shown = _value(column, found)
    caveats = [*found.caveats, *(found.grid_caveats if column.over_grid else ())]
    if value is None:
        why = "unreadable in print" if row.get("garbled") else _BLANK.get(row.get("status"), "")
        return JudgedCell(None, shown, NOT_PRINTED, why, column.digits)
    if shown is None and found.is_tried:
        return JudgedCell(value, None, NOT_COMPARABLE, found.problem, column.digits)
    judged = found.values.get(column.same_engine) if column.same_engine else None
    measured = shown if judged is None else judged
    sides = _sides(printed, layout, column, place, founds, value, measured)
    verdict, reason = judge(column, value, measured, sides, "; ".join(caveats))
    return JudgedCell(value, shown, verdict, reason, column.digits, judged)


def printed_value(printed: PrintedTable, layout: Layout, column: PrintedColumn, row: dict) -> float | None:
    """The printed number; two columns follow from others: ratios and savings of printed seconds."""
    if column.measure == "speedup":
        base = _row_of(printed.rows, row, **{layout.method: layout.baseline})
        field = next(name for name in ("seconds_mean", "seconds") if name in row)
        is_other = base is not None and base is not row and base[field] and row[field]
        return base[field] / row[field] if is_other else None
    if column.measure == "time_saved":
        before = _row_of(printed.other("table2").rows, row)
        return 100 * (1 - row["seconds"] / before["seconds"]) if row["seconds"] and before["seconds"] else None
    return row.get(column.field)


def _row_of(rows: list[dict], like: dict, **other) -> dict | None:
    """The row with the same data set, size and method, but for what is given."""
    wanted = {key: like.get(key) for key in ("dataset", "n_train", "method", "solver", "algorithm")} | other
    return next((row for row in rows if all(row.get(key) == value for key, value in wanted.items())), None)


def _value(column: PrintedColumn, found: MeasuredRow) -> float | None:
    value = found.values.get(column.measure)
    return None if value is None else column.factor * value


def _sides(
    printed: PrintedTable,
    layout: Layout,
    column: PrintedColumn,
    place: int,
    founds: list[MeasuredRow],
    value: float,
    measured,
) -> tuple[int, int] | None:
    """The directions of the printed and the measured figure."""
    if measured is None:
        return None
    if column.measure in founds[place].sides:
        return founds[place].sides[column.measure]
    if column.direction == "side":
        return _side(value, column.neutral, column.level), _side(measured, column.neutral, column.level)
    row = printed.rows[place]
    if column.direction == "baseline":
        others = [_place(printed, _row_of(printed.rows, row, **{layout.method: layout.baseline}))]
    elif column.direction == "trend":
        others = _neighbours(printed, layout, place)
    else:
        return None
    for other in others:
        if other is None or other == place:
            continue
        pair = printed.rows[other].get(column.field), _value(column, founds[other])
        if None not in pair:
            return _side(value, pair[0], column.level), _side(measured, pair[1], column.level)
    return None


def _side(value: float, neutral: float, level: float) -> int:
    difference = value - neutral
    return 0 if abs(difference) <= level * (1 + 1e-9) else (1 if difference > 0 else -1)


def _place(printed: PrintedTable, row: dict | None) -> int | None:
    return next((place for place, other in enumerate(printed.rows) if other is row), None)


def _neighbours(printed: PrintedTable, layout: Layout, place: int) -> list[int]:
    """Rows that differ only in the parameter of the trend, the nearest smaller one first."""
    row, along = printed.rows[place], layout.trend
    names = [key for key in ("dataset", layout.method, *layout.keys) if key and key != along]
    block = [
        number for number, other in enumerate(printed.rows) if all(other.get(key) == row.get(key) for key in names)
    ]
    smaller = [number for number in block if printed.rows[number][along] < row[along]]
    larger = [number for number in block if printed.rows[number][along] > row[along]]
    by_value = {"key": lambda number: printed.rows[number][along]}
    return [*sorted(smaller, reverse=True, **by_value), *sorted(larger, **by_value)]
