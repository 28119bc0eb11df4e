"""Judged numbers and verdicts as cells of an HTML table."""

from __future__ import annotations

from svmreduce.reports.markup import Markup, plain_cell, slug, tag
from svmreduce.reports.render import Column
from svmreduce.reports.reproduction.verdicts import JudgedCell


def cell(column: Column, value, mark: str = "", class_: str = "") -> Markup:
    """Printed, measured and the mark of a judged number; a verdict in its colour; all else as in any table."""
    if isinstance(value, JudgedCell):
        return _judged(value)
    if column.key == "verdict":
        return tag("td", tag("span", value, class_=f"verdict {slug(value)}"), class_="text")
    return plain_cell(column, value, mark, class_)


def _judged(cell: JudgedCell) -> Markup:
    """The reason is shown when the pointer is on the cell, and again in the last column."""
    if cell.measured is None:  # most cells of a large table; nothing to point at
        return tag("td", f"{cell.text(cell.printed)} → –", class_="printed") if cell.printed is not None else tag("td")
    hint = ": ".join(filter(None, (cell.verdict, cell.reason)))
    parts = [
        tag("span", f"{cell.text(cell.printed)} → ", class_="printed"),
        tag("span", cell.text(cell.measured), class_="measured"),
        tag("span", cell.mark, class_="mark"),
    ]
    return tag("td", *parts, class_=slug(cell.verdict), title=hint, data_value=cell.measured)
