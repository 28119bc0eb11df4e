"""A table as it was read, before anything is learned from it: numbers, the cells that are none, and names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from svmreduce.core.parse import NUMBER
from svmreduce.errors import DataNote, InputError
from svmreduce.label_keys import label_key, one_spelling

ColumnChoice = int | str
"""A name, a position from 0 (negative: from the end), or a text such as ``"0-4,7,age"``."""

MISSING = {"", "?", "na", "n/a", "#n/a", "nan", "-nan", "null", "<na>"}
_MISSING_NUMBERS = MISSING | {"none", "-", "."}
_SHOWN_NAMES = 20


@dataclass(frozen=True)
class WordCells:
    """The cells of one column that are not numbers: ``words[codes[k]]`` is in row ``rows[k]``."""

    rows: np.ndarray
    codes: np.ndarray
    words: list[str]

    def pick(self, chosen: Iterable[int]) -> np.ndarray:
        """The rows that have one of these words, given by their codes."""
        return self.rows[np.isin(self.codes, list(chosen))]

    def missing(self, *, in_numbers: bool) -> list[int]:
        """The codes of the words that stand for a missing value."""
        known = _MISSING_NUMBERS if in_numbers else MISSING
        return [code for code, word in enumerate(self.words) if word.casefold() in known]


@dataclass(frozen=True)
class Table:
    """Rows and columns of a file or a DataFrame.

    Parameters
    ----------
    name : str
        What messages call it.
    names : list of str, or None
        The header, if there is one.
    values : array of shape (n_rows, n_columns)
        NaN where a cell is not a number.
    words : dict of int to WordCells
        Those cells by column; columns of numbers only are not in it.
    place : function of row and column
        Where a cell is, for messages.
    notes : what was found out while it was read
    is_part : whether there may be more rows in other tables
    """

    name: str
    names: list[str] | None
    values: np.ndarray
    words: dict[int, WordCells]
    place: Callable[[int, int], str]
    notes: tuple[DataNote, ...] = field(default=())
    is_part: bool = False

    def __post_init__(self):
        if self.names:
            object.__setattr__(self, "names", [one_spelling(name) for name in self.names])

    @property
    def n_rows(self) -> int:
        return self.values.shape[0]

    @property
    def n_columns(self) -> int:
        return self.values.shape[1]

    def title(self, column: int) -> str:
        """A column as messages and schemas call it."""
        return self.names[column] if self.names else str(column)

    def take(self, rows: np.ndarray) -> Table:
        """Those rows, in that order."""
        words = {}
        for column, cells in self.words.items():
            codes = np.full(self.n_rows, -1)
            codes[cells.rows] = cells.codes
            found = np.flatnonzero(codes[rows] >= 0)
            words[column] = WordCells(found, codes[rows][found], cells.words)
        return replace(
            self, values=self.values[rows], words=words, place=lambda row, column: self.place(int(rows[row]), column)
        )

    def as_words(self, column: int) -> tuple[np.ndarray, list[str]]:
        """A column as codes and different words, numbers in their shortest spelling; -1 is a missing value."""
        codes, words = np.full(self.n_rows, -1), []
        is_number = ~np.isnan(self.values[:, column])
        if is_number.any():
            numbers, inverse = np.unique(self.values[is_number, column], return_inverse=True)
            codes[is_number], words = inverse, [label_key(number) for number in numbers]
        if column in self.words:
            cells = self.words[column]
            own = np.arange(len(cells.words)) + len(words)
            own[cells.missing(in_numbers=False)] = -1
            codes[cells.rows] = own[cells.codes]
            words = words + cells.words
        used = np.unique(codes[codes >= 0])
        place: dict[str, int] = {}
        shifted = np.full(len(words) + 1, -1)
        shifted[used] = [place.setdefault(words[code], len(place)) for code in used]  # some may be the same word
        return shifted[codes], list(place)

    def position(self, column: ColumnChoice) -> int:
        """One column by name or position, as a position from 0."""
        found = self.positions([column])
        if len(found) != 1:
            raise InputError(f"{self.name}: {column!r} means {len(found)} columns; give one")
        return found[0]

    def positions(self, chosen: Sequence[ColumnChoice]) -> list[int]:
        """Columns by names, positions, and texts with lists and ranges of them, in the order given."""
        found: list[int] = []
        for choice in chosen:
            is_list = isinstance(choice, str) and choice not in (self.names or ()) and "," in choice
            for word in choice.split(",") if is_list else [choice]:
                found += self._one_or_range(word.strip() if isinstance(word, str) else word)
        return list(dict.fromkeys(found))

    def _one_or_range(self, word: ColumnChoice) -> list[int]:
        single = self._single(word)
        if single is not None:
            return [single]
        for cut in (found.start() for found in re.finditer("[-:]", str(word)[1:])):
            first, last = (self._single(side) for side in (word[: cut + 1], word[cut + 2 :]))
            if first is not None and last is not None:
                if first > last:
                    raise InputError(f"{self.name}: the range {word!r} ends before it begins; swap its ends")
                return list(range(first, last + 1))
        if re.fullmatch(r"-?\d+", str(word)):
            raise InputError(f"{self.name}: no column {word} among {self.n_columns}; count from 0")
        if self.names is None:
            raise InputError(f"{self.name}: no header, so no column {word!r}; give a position")
        known = ", ".join(self.names[:_SHOWN_NAMES])
        raise InputError(f"{self.name}: no column {word!r}; the header names {known}")

    def _single(self, word: ColumnChoice) -> int | None:
        word = one_spelling(word) if isinstance(word, str) else word
        if isinstance(word, str) and self.names and word in self.names:
            if self.names.count(word) > 1:
                twice = " and ".join(str(k) for k, name in enumerate(self.names) if name == word)
                raise InputError(f"{self.name}: {word!r} names columns {twice}; give the position")
            return self.names.index(word)
        if isinstance(word, str) and not re.fullmatch(r"-?\d+", word):
            return None
        number = int(word)
        return number % self.n_columns if -self.n_columns <= number < self.n_columns else None


def table_of_array(X: np.ndarray, names: list[str]) -> Table:
    """Rows of numbers as a table; NaN is a missing value."""
    try:
        values = np.array(X, np.float64)
    except (TypeError, ValueError):
        raise InputError("rows must be numbers; give words in a DataFrame") from None
    gaps = {int(k): np.flatnonzero(np.isnan(values[:, k])) for k in np.flatnonzero(np.isnan(values).any(axis=0))}
    words = {k: WordCells(rows, np.zeros(len(rows), np.intp), [""]) for k, rows in gaps.items()}
    return Table("rows", names, values, words, lambda row, column: f"rows, row {row}, column {names[column]!r}")


def numbers_among(words: list[str]) -> np.ndarray:
    """The numbers that these words spell; NaN for words that are none."""
    return np.array([float(word) if NUMBER.fullmatch(word.encode()) else np.nan for word in words])


def table_of_frame(frame) -> Table:
    """A pandas DataFrame as a table; its numbers are numbers, everything else is words."""
    import pandas as pd

    values = np.full(frame.shape, np.nan)
    words: dict[int, WordCells] = {}
    for k in range(frame.shape[1]):
        column = frame.iloc[:, k]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            values[:, k] = column.to_numpy(np.float64, na_value=np.nan)
            rows = np.flatnonzero(np.isnan(values[:, k]))
            codes, found = np.zeros(len(rows), np.intp), [""]
        else:
            codes, unique = pd.factorize(column)
            found = [one_spelling(str(word)) for word in unique]
            found.append("")  # what factorize codes as -1
            values[:, k] = numbers_among(found)[codes]
            rows = np.flatnonzero(np.isnan(values[:, k]))
            codes = codes[rows] % len(found)
        if len(rows):
            words[k] = WordCells(rows, codes, found)
    names = [str(title).strip() for title in frame.columns]
    titles = frame.index

    def place(row: int, column: int) -> str:
        return f"DataFrame, row {titles[row]}, column {names[column]!r}"

    return Table("DataFrame", names, values, words, place)
