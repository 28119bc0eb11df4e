"""Tables of one data set, read together: what the catalogue's cards need."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from svmreduce.data.columns import ColumnChoice
from svmreduce.data.files import Source
from svmreduce.data.labels import labels_of
from svmreduce.data.schema_learning import learn_schema
from svmreduce.data.table_text import TextFormat, read_text_table
from svmreduce.errors import InputError


def read_table(path: str | os.PathLike, **options) -> tuple[np.ndarray, np.ndarray]:
    """One table as a dense matrix and its labels; options as in :func:`read_tables`."""
    return read_tables([path], **options)[0]


def read_tables(
    paths: Sequence[str | os.PathLike],
    *,
    label: ColumnChoice = -1,
    separator: str | None = None,
    header: bool | None = None,
    categorical: str = "onehot",
    drop: Sequence[ColumnChoice] = (),
    strip_label: str = "",
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Read several tables of one kind, such as training and test rows, into the same columns.

    A category that only one of them has gets its code or column in all.

    Parameters
    ----------
    paths : sequence of path
        Plain or compressed. Blank lines do not count, nor lines that begin with ``#`` and have another number of
        fields than the table.
    label : int or str
        The label's column, by position from 0 (negative: from the end) or by its name in the header.
    separator, header
        As in :class:`~svmreduce.data.table_text.TextFormat`.
    categorical : {"onehot", "codes"}
        One 0/1 column per category, or one column of 0, 1, 2, …; categories in sorted order.
    drop : sequence of int or str
        Columns to leave out.
    strip_label : str
        Characters to take off the end of word labels (KDD99 ends them with a full stop).

    Returns
    -------
    list of (X, y)
        y is float64 or strings.
    """
    if categorical not in ("onehot", "codes"):
        raise InputError(f"categorical={categorical!r} is unknown; use 'onehot' or 'codes'")
    form = TextFormat(separator, header)
    tables = [read_text_table(Source(path), form) for path in paths]
    schema = learn_schema(tables, label=label, drop=drop, codes=categorical == "codes")
    positions = [column.position for column in schema.columns]
    return [(schema.encode(table, positions), labels_of(table, schema.label, strip_label)) for table in tables]
