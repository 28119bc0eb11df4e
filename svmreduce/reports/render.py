"""A table once, written for the terminal, for Markdown, for LaTeX and as CSV.

A :class:`Table` holds raw values; a :class:`Column` knows how people want to read them. CSV gets the raw values
under short names, the others get the readable form. A column without any value is left out.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from textwrap import fill

from svmreduce.printable import one_line, printable

_FORMULA = re.compile(r"[=+\-@\t\r]")  # a spreadsheet would compute what begins so
_SIGNED_NUMBER = re.compile(r"[+-][0-9.eE+-]+")


@dataclass(frozen=True)
class Column:
    """One column: the key of its values, the title people see, and how a value is written."""

    key: str
    title: str
    write: Callable[[object], str] = str
    is_text: bool = False
    is_key: bool = False  # says which row this is; repeated when a wide table is cut


@dataclass
class Table:
    """Rows of raw values under one title, with remarks below."""

    title: str
    columns: list[Column]
    rows: list[dict]
    notes: list[str] = field(default_factory=list)

    def used(self) -> list[Column]:
        return [column for column in self.columns if any(not is_empty(row.get(column.key)) for row in self.rows)]


def is_empty(value) -> bool:
    return value is None or value == "" or value == {} or (isinstance(value, float) and math.isnan(value))


# How people want to read a value


def significant(value, digits: int = 3) -> str:
    """Three significant digits, without an exponent where that stays short."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    size = math.floor(math.log10(abs(value)))
    if size < -3 or size > 7:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(0, digits - 1 - size)}f}"


def exact(value) -> str:
    """A whole number as such, another with the digits that tell close values apart."""
    return f"{value:d}" if isinstance(value, int) else f"{value:.6g}"


def percent(value) -> str:
    """A share of one, in percent with two decimals."""
    return f"{100 * value:.2f}"


def counts(value: dict) -> str:
    """``{"timeout": 2}`` as ``2 timeout``."""
    return ", ".join(f"{count} {name}" for name, count in value.items())


# The four renderings


def terminal(tables: list[Table], width: int | None = None) -> str:
    """Plain text; a table wider than ``width`` is cut into blocks of columns that repeat the keys."""
    from tabulate import tabulate

    texts = []
    for table in tables:
        lines = [f"== {one_line(table.title)}"]
        for columns in _blocks(table, width):
            cells = _cells(table, columns)
            if columns[0].is_text:
                cells = _without_repeats(cells)
            titles = [column.title.replace(" ", "\n") for column in columns]
            lines += [tabulate(cells, titles, colalign=_align(columns), disable_numparse=True), ""]
        notes = [fill(one_line(note), min(width or 120, 120), subsequent_indent="  ") for note in table.notes]
        texts.append("\n".join([*lines, *notes]).rstrip("\n"))
    return "\n\n".join(texts) + "\n"


def markdown(tables: list[Table]) -> str:
    from tabulate import tabulate

    texts = []
    for table in tables:
        columns, lines = table.used(), [f"## {_plain_markdown(table.title)}", ""]
        if columns:
            cells = [[_plain_markdown(text) for text in row] for row in _cells(table, columns)]
            titles = [_plain_markdown(column.title) for column in columns]
            style = {"tablefmt": "pipe", "colalign": _align(columns), "disable_numparse": True}
            lines += [tabulate(cells, titles, **style), ""]
        texts.append("\n".join([*lines, *(f"- {_plain_markdown(note)}" for note in table.notes)]).rstrip("\n"))
    return "\n\n".join(texts) + "\n"


def latex(tables: list[Table]) -> str:
    """Tables with rules of the booktabs package; the remarks follow as a list."""
    texts = [r"% needs \usepackage{booktabs}"]
    for table in tables:
        columns = table.used()
        if columns:
            title, *rows = [
                " & ".join(map(_plain_latex, cells)) + r" \\"
                for cells in [[column.title for column in columns], *_cells(table, columns)]
            ]
            sides = "".join("l" if column.is_text else "r" for column in columns)
            body = "\n".join([r"\toprule", title, r"\midrule", *rows, r"\bottomrule"])
            tabular = f"\\begin{{tabular}}{{{sides}}}\n{body}\n\\end{{tabular}}"
            caption = f"\\caption{{{_plain_latex(table.title)}}}"
            texts.append(f"\\begin{{table}}\n\\centering\n{caption}\n{tabular}\n\\end{{table}}")
        if table.notes:
            items = "\n".join(rf"\item {_plain_latex(note)}" for note in table.notes)
            texts.append(f"\\begin{{itemize}}\n{items}\n\\end{{itemize}}")
    return "\n\n".join(texts) + "\n"


def comma_separated(table: Table) -> str:
    """One table with raw values: full precision, empty where there is none."""
    stream, columns = io.StringIO(), table.used()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(column.key for column in columns)
    for row in table.rows:
        writer.writerow(_raw(row.get(column.key)) for column in columns)
    return stream.getvalue()


def _raw(value):
    if is_empty(value):
        return ""
    value = counts(value) if isinstance(value, dict) else value
    if not isinstance(value, str):
        return value
    value = printable(value)
    return f"'{value}" if _FORMULA.match(value) and not _SIGNED_NUMBER.fullmatch(value) else value


def _cells(table: Table, columns: list[Column]) -> list[list[str]]:
    return [
        ["" if is_empty(row.get(column.key)) else one_line(column.write(row[column.key])) for column in columns]
        for row in table.rows
    ]


def _align(columns: list[Column]) -> list[str]:
    return ["left" if column.is_text else "right" for column in columns]


def _without_repeats(cells: list[list[str]]) -> list[list[str]]:
    """The first column only where it changes, as printed tables have it."""
    return [
        ["" if number and cells[number - 1][0] == first else first, *rest]
        for number, (first, *rest) in enumerate(cells)
    ]


def _blocks(table: Table, width: int | None) -> list[list[Column]]:
    """The columns, cut so that each part is at most ``width`` wide and starts with the keys of the rows."""
    columns = table.used()
    if not columns or width is None:
        return [columns] if columns else []
    keys = [column for column in columns if column.is_key]
    wide = {}
    for column, *cells in zip(columns, *_cells(table, columns), strict=True):
        title = max(map(len, column.title.split())) + 2  # tabulate keeps titles that far apart
        wide[column] = 2 + max([title, *map(len, cells)])
    blocks = [list(keys)]
    for column in columns:
        if column.is_key:
            continue
        if len(blocks[-1]) > len(keys) and sum(wide[other] for other in [*blocks[-1], column]) - 2 > width:
            blocks.append(list(keys))
        blocks[-1].append(column)
    return blocks


def _plain_markdown(text: str) -> str:
    """Text that Markdown shows as it is, also inside a table."""
    return "".join(f"\\{letter}" if letter in "\\|*`<[" else letter for letter in one_line(text))


_LATEX = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "→": r"$\rightarrow$",
    "✓": r"$\surd$",
    "≈": r"$\approx$",
    "≠": r"$\neq$",
    "✗": r"$\times$",
    "∅": r"$\emptyset$",
    "±": r"$\pm$",
    "–": "--",
}


def _plain_latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_LATEX.get(letter, letter) for letter in one_line(text))
