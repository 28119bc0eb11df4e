"""Everything between a file and the rows that a solver sees, learned from training rows and kept with the model.

A table is brought into columns of numbers by its schema; rows of LIBSVM text and images have numbered columns
already. Then both are scaled. A :class:`Preparation` is written into the model's file, so that prediction treats new
rows as training treated its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from svmreduce.data.columns import ColumnChoice, Table, table_of_array, table_of_frame
from svmreduce.data.labels import has_labels, labels_of, matched_labels, one_class_first, task_of
from svmreduce.data.schema_learning import IMPUTATIONS, learn_schema
from svmreduce.data.table_schema import FeatureColumn, TableSchema
from svmreduce.errors import InputError, nearest_name_error, note
from svmreduce.label_keys import label_key
from svmreduce.printable import listed
from svmreduce.rows import best_layout, finite_rows, widened
from svmreduce.types import Dataset, Matrix

if TYPE_CHECKING:
    from svmreduce.data.scaling import Scaler

VERSION = 1


@dataclass(frozen=True)
class Choices:
    """What a user may say about the rows of a file; the same words on the command line and in YAML files.

    Parameters
    ----------
    label : int or str, optional
        The label's column; by default the last that is not dropped.
    drop, columns, categories : tuple of int or str
        Columns to leave out, to learn from, and to read as words though they hold numbers.
    positive : str, optional
        The class of interest. With more than two classes: the one that is set against all others.
    impute : {"mean", "median", "most_frequent"}, optional
        What fills a missing number; a missing word becomes the most frequent one.
    scale : str, optional
        A name in ``SCALERS``.
    header : bool, optional
        Whether the first line names the columns.
    no_label : bool
        There are no labels, or they are not to be looked at; for one-class SVMs.
    """

    label: ColumnChoice | None = None
    drop: tuple[ColumnChoice, ...] = ()
    columns: tuple[ColumnChoice, ...] = ()
    categories: tuple[ColumnChoice, ...] = ()
    positive: str | None = None
    impute: str | None = None
    scale: str | None = None
    header: bool | None = None
    no_label: bool = False

    def __post_init__(self):
        if self.impute is not None and self.impute not in IMPUTATIONS:
            raise nearest_name_error("imputation", str(self.impute), IMPUTATIONS)
        if self.scale is not None:
            _scaler_class()(self.scale)

    def check_numbered(self, name: str) -> None:
        """Raise an error for a choice that only tables allow."""
        for key in ("label", "drop", "columns", "categories", "impute", "header"):
            if getattr(self, key) not in (None, ()):
                where = (
                    "the labels are first in every line of a LIBSVM file, or in a separate file next to IDX images"
                    if key == "label"
                    else "a LIBSVM or IDX file has numbered columns without gaps"
                )
                raise InputError(f"{name}: {where}; --{key} is for tables")


@dataclass(frozen=True)
class Preparation:
    """How training rows were made, to be repeated on any others.

    Parameters
    ----------
    width : int
        Columns of the result.
    schema : TableSchema or None
        None for rows whose columns are numbered.
    scaler : Scaler or None
    positive : str or None
        The class of interest, as text.
    others : list of str
        The classes that training set against it as one.
    """

    width: int
    schema: TableSchema | None = None
    scaler: Scaler | None = None
    positive: str | None = None
    others: list[str] = field(default_factory=list)

    @classmethod
    def learn(
        cls, raw: Table | Dataset, choices: Choices | None = None, task: str | None = None
    ) -> tuple[Dataset, Preparation]:
        """Learn from training rows columns, categories, what fills gaps, and the scaling; give the rows as well."""
        choices, schema = choices or Choices(), None
        if choices.no_label and (choices.label, choices.positive) != (None, None):
            raise InputError("--no-label excludes --label and --positive; to leave a column out use --drop")
        if isinstance(raw, Table):
            keys = ("label", "drop", "columns", "categories", "impute", "no_label")
            schema = learn_schema([raw], **{key: getattr(choices, key) for key in keys})
            X = schema.encode(raw, schema.positions)
            y = None if schema.label is None else labels_of(raw, schema.label)
            data = Dataset(X, y, raw.name, "classification" if y is None else task_of(y), is_table=True)
        else:
            choices.check_numbered(raw.name)
            if raw.y is None and not choices.no_label:
                raise InputError(f"{raw.name}: no labels to learn from; put them first in every line, or into a second "
                                 "file, y.npy for X.npy; only one-class SVMs do without (--no-label)")  # fmt: skip
            data = replace(raw, y=None) if choices.no_label else raw
        made = cls(data.n_features, schema, None, None if choices.positive is None else label_key(choices.positive))
        if choices.scale not in (None, "none"):
            made = made._with_scaler(choices.scale, data.X)
        if made.positive is not None:
            y, others = one_class_first(data.y, made.positive, data.name)
            made, data = replace(made, others=others), replace(data, y=y, task="classification")
        return replace(data, X=made._finished(data.X), task=task or data.task), made

    @property
    def titles(self) -> list[str] | None:
        """The columns of the result as people call them; None for numbered ones."""
        if self.schema is None:
            return None
        return [
            column.name if category is None else f"{column.name}={category}"
            for column in self.schema.columns
            for category in column.categories or [None]
        ]

    @property
    def is_trivial(self) -> bool:
        """Whether rows of numbered columns stay as they are, so that nothing needs to be remembered."""
        return self.schema is None and self.scaler is None and self.positive is None

    def new(
        self,
        raw: Table | Dataset,
        labels: np.ndarray | None,
        *,
        label: ColumnChoice | None = None,
        no_label: bool = False,
    ) -> Dataset:
        """New rows, with labels in the words of a model that knows ``labels``; ``y`` is None if they have none."""
        rows = self.new_rows(raw, label=label, no_label=no_label)
        return rows if rows.y is None else replace(rows, y=self.matched(rows.y, labels, raw.name))

    def matched(
        self, y: np.ndarray, labels: np.ndarray | None, name: str, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Labels of a file in the words of a model that knows ``labels``; see :func:`matched_labels`."""
        rest = next((label for label in labels.tolist() if label != self.positive), None) if self.others else None
        return matched_labels(y, labels, name, dict.fromkeys(self.others, rest), counts)

    def new_rows(self, raw: Table | Dataset, *, label: ColumnChoice | None = None, no_label: bool = False) -> Dataset:
        """New rows, with labels as they are in the file; ``y`` is None if they have none."""
        y = None
        if isinstance(raw, Table):
            raw = self.schema.with_header(raw)
            X, place = self._rows_of_table(raw, label)
            if place is not None and not no_label and has_labels(raw, place):
                y = labels_of(raw, place)
            raw = Dataset(X, y, raw.name, is_table=True)
        else:
            if self.schema is not None:
                names = ", ".join(column.name for column in self.schema.columns[:8])
                raise InputError(f"{raw.name}: is not a table, but the model was trained on one; give a table with the "
                                 f"columns {names} …")  # fmt: skip
            if label is not None:
                Choices(label=label).check_numbered(raw.name)
            raw = replace(raw, X=self._numbered(raw.X, raw.name), y=None if no_label else raw.y)
        return replace(raw, X=self._finished(raw.X))

    def same_columns(self, raw: Table | Dataset) -> Matrix:
        """Other rows of the file that was learned from."""
        return self._finished(raw.X if self.schema is None else self.schema.encode(raw, self.schema.positions))

    def rows(self, X) -> Matrix:
        """New rows from a DataFrame, an array or a sparse matrix, as the training file had them."""
        if self.schema is None:
            return self._finished(self._numbered(finite_rows(X).astype(np.float64, copy=False), "rows"))
        if hasattr(X, "iloc"):
            return self._finished(self._rows_of_table(table_of_frame(X), None)[0])
        X, columns = X.toarray() if sparse.issparse(X) else np.asarray(X), self.schema.columns
        has_words = any(column.categories is not None for column in columns)
        if has_words or X.ndim != 2 or X.shape[1] != len(columns):
            raise InputError(f"the model was trained on a table: give a DataFrame with its {len(columns)} columns")
        table = table_of_array(X, [column.name for column in columns])
        return self._finished(self.schema.encode(table, range(len(columns))))

    def _rows_of_table(self, table: Table, label: ColumnChoice | None) -> tuple[np.ndarray, int | None]:
        positions, place = self.schema.locate(table, label)
        extra = [name for name in self.schema.extra(table) if place is None or name != table.names[place]]
        if extra:
            note(f"{table.name}: columns that training did not have are not used: {listed(extra)}")
        return self.schema.encode(table, positions), place

    def _numbered(self, X: Matrix, name: str) -> Matrix:
        """Rows of numbered columns in the width that a scaler knows; columns that are not there are zeros."""
        beyond = X.shape[1] - self.width
        if beyond > 0:
            use = "" if self.scaler is None else ", which are not used"
            note(f"{name}: has {beyond} more columns than the {self.width} of training{use}; check that both files "
                 "number them alike")  # fmt: skip
        return X if self.scaler is None else widened(X[:, : self.width], self.width)

    def _with_scaler(self, name: str, X: Matrix) -> Preparation:
        made = replace(self, scaler=_scaler_class()(name))
        columns = X[:, made._scaled_columns]
        if not columns.shape[1]:  # categories only
            return self
        made.scaler.fit(columns)
        return made

    @property
    def _scaled_columns(self) -> slice | np.ndarray:
        """What a scaler sees: in tables the columns of numbers, because a 0 of a category must stay 0."""
        everything = self.schema is None or self.scaler.scales_rows
        return slice(None) if everything else self.schema.number_columns

    def _finished(self, X: Matrix) -> Matrix:
        if self.scaler is None or not X.shape[0]:
            return best_layout(X)
        if isinstance(self._scaled_columns, slice):
            return best_layout(self.scaler.transform(X))
        X[:, self._scaled_columns] = self.scaler.transform(X[:, self._scaled_columns])
        return best_layout(X)

    def to_json(self) -> dict:
        scaler, schema = (part and part.to_json() for part in (self.scaler, self.schema))
        names = {"positive": self.positive, "others": self.others}
        return {"version": VERSION, "width": self.width, "schema": schema, "scaler": scaler, **names}

    @classmethod
    def from_json(cls, content: Mapping) -> Preparation:
        """The opposite of ``to_json``; content that cannot be one is a ValueError, KeyError or TypeError."""
        if content["version"] != VERSION:
            raise ValueError(f"it is of version {content['version']!r}, this program reads {VERSION}")
        scaler, schema = content["scaler"], content["schema"]
        if scaler is not None:
            scaler = _scaler_class().from_json(scaler)
        schema = schema and TableSchema.from_json(schema)
        return cls(int(content["width"]), schema, scaler, content["positive"], content["others"])


def numbered_preparation(raw: Table | Dataset, n_features: int) -> Preparation:
    """For a model that knows nothing of its columns: those of a table are taken in their order."""
    if not isinstance(raw, Table):
        return Preparation(n_features)
    if raw.names is None:
        note(f"{raw.name}: the model does not know the names of columns; they are taken in their order")
    columns = [FeatureColumn(str(k), k, None, None, -np.inf, np.inf) for k in range(n_features)]
    return Preparation(n_features, TableSchema(columns, n_features + 1, n_features))


def _scaler_class() -> type[Scaler]:
    from svmreduce.data.scaling import Scaler  # imports scikit-learn, which rows without scaling do not need

    return Scaler
