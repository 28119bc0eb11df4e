"""Arrays of NumPy: rows in a file whose name ends in ``X.npy``, labels in the same name with ``y.npy``."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from svmreduce.data.labels import task_of
from svmreduce.errors import InputError
from svmreduce.label_keys import one_spelling
from svmreduce.types import Dataset

NPY_MAGIC = b"\x93NUMPY"


class NpyPair:
    """Rows and labels as they are on disk, read in parts.

    Each part maps the files anew: pages of a map that stays would count as memory of this process.

    Parameters
    ----------
    path : path
        ``X.npy`` with ``y.npy`` next to it, or ``NAME_X.npy`` with ``NAME_y.npy``. Without the second file there are
        no labels.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        rows = self._mapped(self.path)
        if rows.ndim != 2 or rows.dtype.kind not in "biuf":
            raise InputError(f"{path}: an array of shape {rows.shape} and type {rows.dtype}; give two axes of numbers")
        self.n_rows, self.n_features = rows.shape
        if not self.n_rows:
            raise InputError(f"{path}: no rows; give an array with rows")
        name = self.path.name
        labels = self.path.with_name(name.removesuffix("X.npy") + "y.npy") if name.endswith("X.npy") else None
        self.labels_path = labels if labels and labels.is_file() else None
        self.files = [self.path, self.labels_path] if self.labels_path else [self.path]
        if self.labels_path and self._mapped(self.labels_path).shape not in ((self.n_rows,), (self.n_rows, 1)):
            shape = self._mapped(self.labels_path).shape
            raise InputError(f"{self.labels_path}: labels of shape {shape} for {self.n_rows} rows; give one per row")

    def check_labelled(self) -> None:
        if not self.labels_path:
            raise InputError(f"{self.path}: no labels; name the files X.npy and y.npy, or NAME_X.npy and NAME_y.npy")

    def part(self, start: int = 0, stop: int | None = None) -> Dataset:
        """These rows, all if not given; ``y`` is None without labels."""
        X = np.array(self._mapped(self.path)[start:stop], np.float64, order="C")
        if not np.isfinite(X).all():
            row, column = np.argwhere(~np.isfinite(X))[0]
            value = X[row, column]
            raise InputError(f"{self.path}: row {start + row}, column {column} (from 0): {value} is not finite; "
                             "give a number")  # fmt: skip
        if not self.labels_path:
            return Dataset(X, None, str(self.path))
        y = plain_labels(np.array(self._mapped(self.labels_path)[start:stop]).ravel(), self.labels_path, start)
        return Dataset(X, y, str(self.path), task_of(y))

    @staticmethod
    def _mapped(path: Path) -> np.ndarray:
        try:
            return np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            why = " ".join(str(error).split())[:120]
            raise InputError(f"{path}: not numbers or text that NumPy saved ({why}); write it again") from None


def plain_labels(y: np.ndarray, name: object, first_row: int = 0) -> np.ndarray:
    """Labels as float64 or as text."""
    if y.dtype.kind == "O" and all(isinstance(label, str) for label in y):
        y = y.astype(str)
    if y.dtype.kind not in "biufU":
        raise InputError(f"{name}: labels of type {y.dtype}; give numbers or text")
    if y.dtype.kind == "U":
        words, inverse = np.unique(y, return_inverse=True)
        return np.array([one_spelling(word) for word in words.tolist()])[inverse]
    y = y.astype(np.float64)
    if not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise InputError(f"{name}: row {first_row + row} (from 0): the label {y[row]} is not finite; give a number")
    return y
