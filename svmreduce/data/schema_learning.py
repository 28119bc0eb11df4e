"""What training learns about the columns of a table: which to use, what they hold, and what fills a gap."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence

import numpy as np

from svmreduce.data.column_kinds import EMPTY, WORDS, kind_of, numbers_of, warn_of_names, warn_of_quantities
from svmreduce.data.columns import ColumnChoice, Table
from svmreduce.data.table_schema import FeatureColumn, TableSchema, counted, missing_values
from svmreduce.errors import DataWarning, InputError, note
from svmreduce.printable import listed

IMPUTATIONS = ("mean", "median", "most_frequent")
_LABEL_NAMES = {"label", "class", "target", "y", "outcome"}
_YES_OR_NO = {"yes", "no", "true", "false"}


def learn_schema(
    tables: Sequence[Table],
    *,
    label: ColumnChoice | None = None,
    drop: Sequence[ColumnChoice] = (),
    columns: Sequence[ColumnChoice] | None = None,
    categories: Sequence[ColumnChoice] = (),
    impute: str | None = None,
    codes: bool = False,
    no_label: bool = False,
) -> TableSchema:
    """The schema of tables with the same columns; a category that only one of them has is in it, too."""
    first = tables[0]
    if first.n_columns < 2 and not no_label:
        raise InputError(f"{first.name}:1:1: only one column; a label and features are needed, between "
                         "commas, semicolons, tabs, bars or blanks")  # fmt: skip
    dropped = set(first.positions(drop))
    place = None if no_label else label_place(first, label, dropped)
    chosen = first.positions(columns) if columns else range(first.n_columns)
    wanted = [k for k in chosen if k != place and k not in dropped]
    check_names(first, wanted if no_label else [*wanted, place])
    as_words = set(first.positions(categories))
    kinds = {k: _kind_as_words(tables, k) if k in as_words else _common_kind(tables, k) for k in wanted}
    empty = [first.title(k) for k in wanted if kinds[k] == EMPTY]
    if empty:
        note(f"{first.name}: {counted('column', empty)} empty and left out: {listed(empty)}")
    learned, gaps = [], {}
    for k in (k for k in wanted if kinds[k] != EMPTY):
        column, rows = (_learn_words if kinds[k] == WORDS else _learn_numbers)(tables, k, impute)
        learned.append(column)
        gaps |= {k: rows} if len(rows) else {}
    if gaps and impute is None:
        named = f"--impute {'|'.join(IMPUTATIONS)}"
        raise missing_values(first, gaps, f"use {named}, leave columns out by --drop, or fill them in")
    if not learned:
        raise InputError(f"{first.name}: no column is left to learn from; check --columns and --drop")
    if no_label:
        _warn_of_labels(first.name, [column.name for column in learned])
    used = {column.position for column in learned} | {place}
    left_out = [first.title(k) for k in range(first.n_columns) if k not in used]
    name = first.names and ("" if no_label else first.title(place))
    return TableSchema(learned, first.n_columns, place, name, left_out, codes)


def _common_kind(tables: Sequence[Table], k: int) -> str:
    kind = kind_of(tables[0], k)
    for other in tables[1:]:
        if other.n_columns != tables[0].n_columns or kind_of(other, k) != kind:
            raise InputError(f"{other.name}: column {k} is not of the kind that {tables[0].name} has there ({kind}); "
                             "read them separately")  # fmt: skip
    return kind


def _kind_as_words(tables: Sequence[Table], k: int) -> str:
    return WORDS if any(table.as_words(k)[1] for table in tables) else EMPTY


def label_place(table: Table, label: ColumnChoice | None, dropped: set[int]) -> int:
    """The column that was named, or else the one called ``label``, or else the last that is not dropped."""
    if label is not None:
        place = table.position(label)
        dropped.discard(place)
        return place
    kept = [k for k in range(table.n_columns) if k not in dropped]
    if not kept:
        raise InputError(f"{table.name}: --drop leaves no column; keep the label and a feature")
    called_label = [k for k in kept if table.title(k).casefold() == "label"]
    if len(called_label) == 1:
        return called_label[0]
    named = [name for name in table.names or () if name.casefold() in _LABEL_NAMES]
    if named and table.title(kept[-1]) not in named:
        warnings.warn(
            f"{table.name}: the last column, {table.title(kept[-1])!r}, is taken for the label; if it is {named[0]!r}, "
            f"use --label {named[0]}",
            DataWarning,
            stacklevel=2,
        )
    elif not named and not _is_yes_or_no(table, kept[-1]):
        others = [table.title(k) for k in kept[:-1] if _is_yes_or_no(table, k)]
        if others:
            note(f"{table.name}: the last column, {table.title(kept[-1])!r}, is taken for the label; if it is one of "
                 f"the columns of yes and no, give its name by --label: {listed(others)}")  # fmt: skip
    return kept[-1]


def _warn_of_labels(name: str, used: list[str]) -> None:
    """Without labels every column is learned from, whatever its name."""
    named = [title for title in used if title.casefold() in _LABEL_NAMES]
    if named:
        warnings.warn(f"{name}: column {named[0]!r} is learned from, because of --no-label; if it is a label, "
                      f"leave it out by --drop {named[0]}", DataWarning, stacklevel=3)  # fmt: skip


def _is_yes_or_no(table: Table, column: int) -> bool:
    cells = table.words.get(column)
    return cells is not None and {word.casefold().rstrip(".") for word in cells.words} <= _YES_OR_NO


def check_names(table: Table, used: list[int]) -> None:
    for title, count in Counter(table.title(k) for k in used).items():
        if count > 1:
            twice = " and ".join(str(k) for k in sorted(used) if table.title(k) == title)
            raise InputError(
                f"{table.name}: the header names {title!r} twice (columns {twice}, counted from 0); rename one, or "
                "leave it out by --drop and its position"
            )


def _learn_numbers(tables: Sequence[Table], k: int, impute: str | None) -> tuple[FeatureColumn, np.ndarray]:
    values, gaps = numbers_of(tables[0], k)
    for other in tables[1:]:
        numbers_of(other, k)
    known = np.delete(values, gaps) if len(gaps) else values
    fill = None
    if impute:
        fill = {"mean": np.mean, "median": np.median, "most_frequent": _most_frequent}[impute](known)
    warn_of_names(tables[0], k)
    return FeatureColumn(tables[0].title(k), k, None, fill if fill is None else float(fill),
                         float(known.min()), float(known.max())), gaps  # fmt: skip


def _learn_words(tables: Sequence[Table], k: int, impute: str | None) -> tuple[FeatureColumn, np.ndarray]:
    found = [table.as_words(k) for table in tables]
    codes, words = found[0]
    fill = None
    if impute:
        most = np.bincount(codes[codes >= 0], minlength=len(words))
        fill = min(word for word, count in zip(words, most, strict=True) if count == most.max())
    categories = sorted({word for _, own in found for word in own})
    warn_of_quantities(tables[0], k, categories)
    return FeatureColumn(tables[0].title(k), k, categories, fill), np.flatnonzero(codes < 0)


def _most_frequent(values: np.ndarray) -> float:
    """The smallest of the most frequent values, as scikit-learn's imputer has it."""
    found, counts = np.unique(values, return_counts=True)
    return found[counts.argmax()]
