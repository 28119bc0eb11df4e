"""Tables of numbers, piece by piece, as rows and labels: which columns they are, and what they may not hold."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np

from svmreduce.data.column_kinds import warn_of_names
from svmreduce.data.columns import Table
from svmreduce.data.labels import labels_of
from svmreduce.data.preparation import Choices
from svmreduce.data.schema_learning import check_names, label_place
from svmreduce.data.table_schema import FeatureColumn, TableSchema
from svmreduce.errors import InputError
from svmreduce.label_keys import label_key

_LARGEST = sys.float_info.max


def schema_of_numbers(table: Table, choices: Choices) -> TableSchema:
    """All columns that are chosen, as numbers of any size."""
    dropped = set(table.positions(choices.drop))
    label = label_place(table, choices.label, dropped)
    chosen = table.positions(choices.columns) if choices.columns else range(table.n_columns)
    wanted = [k for k in chosen if k != label and k not in dropped]
    if not wanted:
        raise InputError(f"{table.name}: no column is left to learn from; a label and features are needed")
    check_names(table, [*wanted, label])
    columns = [FeatureColumn(table.title(k), k, None, None, -_LARGEST, _LARGEST) for k in wanted]
    left_out = [table.title(k) for k in range(table.n_columns) if k not in {*wanted, label}]
    return TableSchema(columns, table.n_columns, label, table.names and table.title(label), left_out)


def warn_of_row_names(first: Table, columns: list[int]) -> None:
    for k in columns:
        if k not in first.words:
            warn_of_names(first, k)


def parts_of_tables(tables: Callable, columns: list[int], label: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    are_words = None
    for table in tables():
        X, y = _numbers(table, columns), labels_of(table, label)
        are_words = y.dtype.kind == "U" if are_words is None else are_words
        if are_words and y.dtype.kind != "U":
            y = np.array([label_key(value) for value in y.tolist()])
        elif not are_words and y.dtype.kind == "U":
            row = int(table.words[label].rows[0])
            what = f"the label {y[row]!r} comes after labels that are numbers"
            raise InputError(f"{table.place(row, label)}: {what}; write all alike")
        yield X, y


def _numbers(table: Table, columns: list[int]) -> np.ndarray:
    """These columns; a gap, a word or a value that is not finite is an error."""
    for k in columns:
        if k in table.words:
            cells = table.words[k]
            word = cells.words[cells.codes[0]][:40]
            what = f"{word!r} is not a number" if word else "missing value"
            raise InputError(f"{table.place(int(cells.rows[0]), k)}: {what}; blocks have numbers without gaps: "
                             f"leave the column out by --drop {table.title(k)}, or write numbers")  # fmt: skip
    X = np.take(table.values, columns, axis=1)
    if not np.isfinite(X).all():
        row, column = map(int, np.argwhere(~np.isfinite(X))[0])
        place = table.place(row, columns[column])
        raise InputError(f"{place}: {X[row, column]} is not finite; give a number")
    return X
