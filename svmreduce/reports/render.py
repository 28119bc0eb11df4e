"""A table once, written for the terminal, for Markdown, for LaTeX and as CSV.

A :class:`Table` holds raw values; a :class:`Column` knows how people want to read them. CSV gets the raw values
under short names, the others get the readable form. A column without any value is left out.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from textwrap import fill

from svmreduce.printable import one_line, printable

_FORMULA = re.compile(r"[=+\-@\t\r]")  # a spreadsheet would compute what begins so
PAGE_ROWS = 45  # of a LaTeX table on one page
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
    first: tuple[str, ...] = ()  # what to show where there is little room, most important first; keys are always shown
    mark: Callable[[dict, str], str] = lambda row, key: ""  # a sign after a number that needs a remark
    legend: dict[str, str] = field(default_factory=dict)  # what a column means, told if it is shown

    def used(self) -> list[Column]:
        return [column for column in self.columns if any(not is_empty(row.get(column.key)) for row in self.rows)]

    @property
    def remarks(self) -> list[str]:
        """The meaning of the columns that are there, then the notes."""
        meanings = [text for key, text in self.legend.items() if key in {column.key for column in self.used()}]
        return [*(["; ".join(meanings) + "."] if meanings else []), *self.notes]

    def chosen(self, keys: Iterable[str]) -> Table:
        """The same rows with these columns, in this order, after the keys of the rows."""
        by_key = {column.key: column for column in self.used()}
        wanted = [by_key[key] for key in keys if key in by_key and not by_key[key].is_key]
        return replace(self, columns=[column for column in by_key.values() if column.is_key] + wanted)

    def fitted(self, width: int | None) -> Table:
        """With the most important columns, as far as they fit into this many letters; all of them if none are named.

        Keys that are the same in all rows are left out then.
        """
        if not self.first:
            return self
        short = self.chosen(self.first)
        keys = [column for column in short.columns if column.is_key]
        told = [key for place, key in enumerate(keys) if place < 2 or len({row.get(key.key) for row in self.rows}) > 1]
        others = [column for column in short.columns if not column.is_key]
        if width is not None:
            room = width + 2 - sum(_wide(self, column) for column in told)
            fitting = []
            for column in others:
                room -= _wide(self, column)
                if room >= 0 or not fitting:
                    fitting.append(column)
                else:
                    room += _wide(self, column)
            others = fitting
        return replace(self, columns=told + others)


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
    import tabulate as library
    from tabulate import tabulate

    library.MIN_PADDING = 0  # titles need no more room than numbers
    texts = []
    for table in tables:
        lines = [f"== {one_line(table.title)}"]
        for columns in _blocks(table, width):
            cells = _cells(table, columns)
            if columns[0].is_text:
                cells = _without_repeats(cells)
            titles = ["\n".join(two_lines(column.title)) for column in columns]
            lines += [tabulate(cells, titles, colalign=_align(columns), disable_numparse=True), ""]
        notes = [fill(one_line(note), min(width or 120, 120), subsequent_indent="  ") for note in table.remarks]
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
        texts.append("\n".join([*lines, *(f"- {_plain_markdown(note)}" for note in table.remarks)]).rstrip("\n"))
    return "\n\n".join(texts) + "\n"


def latex(tables: list[Table]) -> str:
    """Tables with rules of the booktabs package, no wider and no higher than a page; the remarks follow as a list."""
    texts = [r"% needs \usepackage{booktabs, graphicx}"]
    for table in tables:
        columns = table.used()
        parts = [table.rows[start : start + PAGE_ROWS] for start in range(0, len(table.rows), PAGE_ROWS)]
        for number, rows in enumerate(parts if columns else []):
            more = f" ({number + 1} of {len(parts)})" if len(parts) > 1 else ""
            texts.append(_latex_table(replace(table, title=table.title + more, rows=rows), columns))
        if table.remarks:
            items = "\n".join(rf"\item {_plain_latex(note)}" for note in table.remarks)
            texts.append(f"\\begin{{itemize}}\n{items}\n\\end{{itemize}}")
    return "\n\n".join(texts) + "\n"


def _latex_table(table: Table, columns: list[Column]) -> str:
    """Titles on two lines; what is still too wide is made smaller."""
    heads = [[_plain_latex(line) for line in two_lines(column.title)] for column in columns]
    title = " & ".join(r"\shortstack{" + r" \\ ".join(lines) + "}" for lines in heads)
    rows = [" & ".join(map(_plain_latex, cells)) + r" \\" for cells in _cells(table, columns)]
    sides = "".join("l" if column.is_text else "r" for column in columns)
    body = "\n".join([r"\toprule", title + r" \\", r"\midrule", *rows, r"\bottomrule"])
    tabular = f"\\begin{{tabular}}{{{sides}}}\n{body}\n\\end{{tabular}}"
    fitted = f"\\resizebox{{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}}{{!}}{{%\n{tabular}}}"
    caption = f"\\caption{{{_plain_latex(table.title)}}}"
    style = "\\centering\\footnotesize\\setlength{\\tabcolsep}{4pt}"
    return f"\\begin{{table}}\n{style}\n{caption}\n{fitted}\n\\end{{table}}"


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
        [
            "" if is_empty(row.get(column.key)) else
            one_line(column.write(row[column.key])) + table.mark(row, column.key)
            for column in columns
        ]
        for row in table.rows
    ]  # fmt: skip


def two_lines(title: str) -> tuple[str, ...]:
    """A title cut where its longer line is shortest; one word stays one line."""
    words = one_line(title).split(" ")
    cuts = [(" ".join(words[:place]), " ".join(words[place:])) for place in range(1, len(words))]
    return min(cuts, key=lambda cut: max(map(len, cut)), default=(words[0],))


def _wide(table: Table, column: Column) -> int:
    """Letters that a column takes in a terminal, with the gap to the next."""
    title = max(map(len, two_lines(column.title)))
    return 2 + max([title, *(len(row[0]) for row in _cells(table, [column]))])


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
    wide = {column: _wide(table, column) for column in columns}
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
    "−": "$-$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "×": r"$\times$",
}


def _plain_latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_LATEX.get(letter, letter) for letter in one_line(text))
