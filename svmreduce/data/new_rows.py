"""New rows for a model, piece by piece: the first piece decides how the columns of all are found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from svmreduce.data.columns import ColumnChoice, Table
from svmreduce.data.pieces import block_rows, has_all_columns
from svmreduce.data.preparation import Preparation, numbered_preparation
from svmreduce.errors import InputError
from svmreduce.types import Dataset, Matrix


class NewRows:
    """Brings pieces of one file into the columns that a model knows.

    Parameters
    ----------
    preparation : Preparation or None
        None for a model that knows nothing of its columns: those of a table are taken in their order.
    n_features : int
        Columns of the model.
    label : int or str, optional
        The label's column.
    no_label : bool
        Do not look for labels.
    """

    def __init__(
        self,
        preparation: Preparation | None,
        n_features: int,
        *,
        label: ColumnChoice | None = None,
        no_label: bool = False,
    ):
        self.preparation, self.n_features = preparation, n_features
        self.label, self.no_label = label, no_label
        self._names: list[str] | None = None
        self._is_labelled: bool | None = None

    def prepared(self, raw: Table | Dataset) -> Dataset:
        """The rows of the next piece, labels as the file has them."""
        if self._is_labelled is None:
            raw = self._first(raw)
        elif isinstance(raw, Table) and raw.names is None and self._names:
            raw = replace(raw, names=self._names)
        rows = self.preparation.new_rows(raw, label=self.label, no_label=self.no_label)
        is_labelled = rows.y is not None
        if is_labelled != (self._is_labelled if self._is_labelled is not None else is_labelled):
            raise InputError(f"{raw.name}: some of its rows have labels and some have none; complete them, or use "
                             "--no-label")  # fmt: skip
        self._is_labelled = is_labelled
        return rows

    def _first(self, raw: Table | Dataset) -> Table | Dataset:
        known = f"but the model was trained on {self.n_features}"
        if isinstance(raw, Dataset) and raw.n_features < self.n_features and has_all_columns(raw.name):
            raise InputError(f"{raw.name}: {raw.n_features} columns, {known}; give all of them")
        if self.preparation is None:
            if self.no_label and isinstance(raw, Table) and raw.n_columns > self.n_features:
                raise InputError(f"{raw.name}: {raw.n_columns} columns without a label, {known} and knows no names; "
                                 "leave out the others")  # fmt: skip
            self.preparation = numbered_preparation(raw, self.n_features)
            called_label = [name for name in getattr(raw, "names", None) or () if name.casefold() == "label"]
            if self.label is None and len(called_label) == 1:
                self.label = called_label[0]
        if isinstance(raw, Table) and self.preparation.schema is not None:
            raw = self.preparation.schema.with_header(raw)
            self._names = raw.names
        return raw


def cut(rows: Dataset) -> Iterator[tuple[Matrix, np.ndarray | None]]:
    """Rows in blocks of a size that the loops of a model like."""
    step = block_rows(rows.n_features)
    for start in range(0, rows.n_rows, step):
        part = slice(start, start + step)
        yield rows.X[part], None if rows.y is None else rows.y[part]
