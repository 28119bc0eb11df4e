"""What training learns about the columns of a table, and how any other table is brought into the same form.

Columns are found by name, or by position where there is no header. Numbers stay numbers; each category becomes a
column of 0 and 1, and a category that training did not see is 0 in all of them.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from svmreduce.data.column_kinds import numbers_of
from svmreduce.data.columns import ColumnChoice, Table
from svmreduce.errors import DataWarning, InputError, note
from svmreduce.memory import check_memory
from svmreduce.printable import listed

_ROWS_AT_ONCE = 2048
_BOOLEANS = ("true", "false")  # pandas writes True, databases true, spreadsheets TRUE


@dataclass(frozen=True)
class FeatureColumn:
    """One column: its name and position in training, its categories (None for numbers), what fills a gap."""

    name: str
    position: int
    categories: list[str] | None = None
    fill: float | str | None = None
    low: float = 0.0
    high: float = 0.0

    @property
    def width(self) -> int:
        return 1 if self.categories is None else len(self.categories)


@dataclass(frozen=True)
class TableSchema:
    """The columns that a model was trained on.

    Parameters
    ----------
    columns : list of FeatureColumn
    n_columns : int
        Of the training table, label and columns left out included.
    label : int or None
        Position of the label; None for training without labels.
    label_name : str or None
        Its name, empty without labels; None for a table without a header.
    left_out : list of str
        Columns that training had and did not use.
    codes : bool
        Categories as one column of 0, 1, 2, … instead of one column each.
    """

    columns: list[FeatureColumn]
    n_columns: int
    label: int | None
    label_name: str | None = None
    left_out: list[str] = field(default_factory=list)
    codes: bool = False

    @property
    def width(self) -> int:
        return len(self.columns) if self.codes else sum(column.width for column in self.columns)

    @property
    def positions(self) -> list[int]:
        """Of the columns, in the training table."""
        return [column.position for column in self.columns]

    @property
    def number_columns(self) -> np.ndarray:
        """Which of the columns that ``encode`` makes hold numbers."""
        return np.flatnonzero([column.categories is None for column in self.columns for _ in range(column.width)])

    def to_json(self) -> dict:
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict) -> TableSchema:
        columns = [FeatureColumn(**column) for column in content["columns"]]
        return cls(**{**content, "columns": columns})

    def locate(self, table: Table, label: ColumnChoice | None = None) -> tuple[list[int], int | None]:
        """Where this table has the columns of the schema, and its label (None if it has none)."""
        if table.names and self.label_name is not None:
            return self._by_name(table, label)
        if bool(table.names) != (self.label_name is not None):
            which = "has no header" if table.names is None else "has a header, the training table had none"
            note(f"{table.name}: {which}; its columns are taken by position")
        wanted, place = self._expected(table, label is not None), None
        if table.n_columns == len(wanted) + 1:
            own = len(wanted) if self.label is None else sum(k < self.label for k in wanted)
            place = own if label is None else table.position(label)
        at = dict(zip(wanted, (k for k in range(table.n_columns) if k != place), strict=True))
        return [at[column.position] for column in self.columns], place

    def _expected(self, table: Table, has_label: bool) -> list[int]:
        """The columns of training but the label that a table of this width has: all, or only those that are used."""
        everything = [k for k in range(self.n_columns) if k != self.label]
        used = sorted(column.position for column in self.columns)
        found = [wanted for wanted in (everything, used) for labelled in (True, has_label)
                 if table.n_columns == len(wanted) + labelled]  # fmt: skip
        unused = f"column {listed(self.left_out)}, which training did not use,"
        if not found:
            without = f"; {unused} may be missing" if self.left_out else ""
            with_label = " with the label" * (self.label is not None)
            raise InputError(
                f"{table.name}: {table.n_columns} columns, but the model was trained on {self.n_columns}{with_label}; "
                f"give the same columns in the same order, with the label or without it{without}"
            )
        if found[0] != found[-1]:
            note(f"{table.name}: {table.n_columns} columns are taken for those of training without the label; if "
                 f"{unused} is missing instead, give the label's position by --label")  # fmt: skip
        return found[0]

    def _by_name(self, table: Table, label: ColumnChoice | None) -> tuple[list[int], int | None]:
        names, have = [column.name for column in self.columns], Counter(table.names)
        missing = [name for name in names if name not in have]
        if missing:
            raise InputError(
                f"{table.name}: {counted('column', missing)} missing that the model was trained on: "
                f"{listed(missing)}; the header names {listed(table.names)}"
            )
        place = None
        if label is None and self.label is None:  # a label that training did not have or did not use
            called_label = [k for k, name in enumerate(table.names) if name.casefold() == "label" and name not in names]
            place = called_label[0] if len(called_label) == 1 else None
        elif label is not None or self.label_name in have:
            place = table.position(self.label_name if label is None else label)
        at = {name: k for k, name in enumerate(table.names) if have[name] == 1}
        return [at[name] if name in at else table.position(name) for name in names], place

    def with_header(self, table: Table) -> Table:
        """The table; if its first row consists of names of columns, that row becomes the header."""
        if table.names or self.label_name is None or not table.n_rows:
            return table
        first = table.take(np.array([0]))
        cells = [first.as_words(k)[1] for k in range(table.n_columns)]
        names = [words[0] for words in cells if words]
        if len(set(names)) < table.n_columns or not set(names) <= self._known:
            return table
        if table.n_rows == 1:
            raise InputError(f"{table.name}: no data rows after the header; give a table with rows")
        note(f"{table.name}: line 1 is taken for a header: it consists of names of the model's columns")
        return replace(table.take(np.arange(1, table.n_rows)), names=names)

    @property
    def _known(self) -> set[str]:
        """The names of all columns that training had."""
        return {column.name for column in self.columns} | {self.label_name, *self.left_out}

    def extra(self, table: Table) -> list[str]:
        """Columns of the table that the model does not use and training did not have."""
        if not table.names or self.label_name is None:
            return []
        return [name for name in table.names if name not in self._known]

    def encode(self, table: Table, positions: Sequence[int]) -> np.ndarray:
        """The rows as numbers."""
        widest = max((column.width for column in self.columns), default=0)
        check_memory(16.0 * table.n_rows * self.width, f"{table.name}: {self.width} columns, {widest} of them for the "
                     "categories of one,", "drop that column, or give it as numbers")  # fmt: skip
        X = np.zeros((table.n_rows, self.width))
        start, unknown, filled = 0, {}, {}
        for column, position in zip(self.columns, positions, strict=True):
            if column.categories is None:
                start += 1
                continue
            codes, n_gaps, count = self._category_codes(table, position, column)
            unknown |= {column.name: count} if count else {}
            filled |= {column.name: n_gaps} if n_gaps else {}
            if self.codes:
                X[:, start] = codes
                start += 1
            else:
                known = np.flatnonzero(codes >= 0)
                X[known, start + codes[known]] = 1.0
                start += column.width
        filled |= self._fill_numbers(table, positions, X)
        if filled:
            note(f"{table.name}: missing values are filled (--impute)", filled, table.n_rows, self)
        if unknown:
            text = f"{table.name}: categories that training did not see are encoded as zeros; rows by column"
            warnings.warn(DataWarning(text, unknown, table.n_rows, self), stacklevel=2)
        return X

    def _category_codes(self, table: Table, position: int, column: FeatureColumn) -> tuple[np.ndarray, int, int]:
        """Codes by the categories of the schema, -1 for others; how many gaps are filled, how many rows have others."""
        codes, words = table.as_words(position)
        code_of = {word: code for code, word in enumerate(column.categories)}
        gaps = np.flatnonzero(codes < 0)
        if len(gaps) and column.fill is None:
            raise missing_values(table, {position: gaps}, "train with --impute, or fill them in")
        any_case = {word.casefold(): code for word, code in code_of.items() if word.casefold() in _BOOLEANS}
        if len(any_case) == len(column.categories):  # columns of booleans in other formats than text are 0 and 1
            any_case |= {"1": any_case.get("true", -1), "0": any_case.get("false", -1)}
        known = [code_of.get(word, any_case.get(word.casefold(), -1)) for word in words]
        translated = np.array([*known, code_of.get(column.fill, -1)])
        return translated[codes], len(gaps), int((translated[codes] < 0).sum())

    def _fill_numbers(self, table: Table, positions: Sequence[int], X: np.ndarray) -> dict[str, int]:
        """Write the columns of numbers into X; the filled gaps by column."""
        ends = np.cumsum([1 if self.codes else column.width for column in self.columns])
        everything = zip((ends - 1).tolist(), positions, self.columns, strict=True)
        places = [(k, position, column) for k, position, column in everything if column.categories is None]
        plain = [(k, position) for k, position, _ in places if position not in table.words]
        to, source = [k for k, _ in plain], [position for _, position in plain]
        for row in range(0, len(X), _ROWS_AT_ONCE):  # few enough to stay in the processor's cache
            rows = slice(row, row + _ROWS_AT_ONCE)
            X[rows, to] = table.values[rows, source]
        far, filled = [], {}
        for k, position, column in places:
            values, gaps = numbers_of(table, position)
            if position in table.words:
                X[:, k] = values
            if len(gaps):
                if column.fill is None:
                    raise missing_values(table, {position: gaps}, "train with --impute, or fill them in")
                X[gaps, k] = column.fill
                filled[column.name] = len(gaps)
            if not self.codes and _is_far(X[:, k], column):
                far.append(f"{column.name} ({column.low:g} to {column.high:g} in training)")
        if far:
            warnings.warn(
                f"{table.name}: most values are far outside what training saw, as with swapped columns or other units: "
                f"{listed(far)}",
                DataWarning,
                stacklevel=2,
            )
        return filled


def _is_far(values: np.ndarray, column: FeatureColumn) -> bool:
    """Whether most values are further outside the range of training than that range is wide."""
    room = (column.high - column.low) or abs(column.high) or 1.0
    return bool(len(values)) and np.mean((values < column.low - room) | (values > column.high + room)) > 0.5


def missing_values(table: Table, gaps: dict[int, np.ndarray], remedy: str) -> InputError:
    column, rows = min(gaps.items(), key=lambda item: (item[1][0], item[0]))
    counts = listed((f"{table.title(k)} ({len(found)})" for k, found in gaps.items()))
    place, here = table.place(int(rows[0]), column), " in this block of rows" * table.is_part
    return InputError(
        f"{place}: missing value in column {table.title(column)}; missing values by column{here}: {counts}; {remedy}"
    )


def counted(word: str, entries: Sequence) -> str:
    return f"1 {word} is" if len(entries) == 1 else f"{len(entries)} {word}s are"
