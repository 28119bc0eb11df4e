"""Rows of a fold, prepared by what its training rows teach: no figure knows rows that it is measured on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from svmreduce.data.columns import Table
from svmreduce.data.preparation import Choices, Preparation
from svmreduce.errors import DataNote, DataWarning
from svmreduce.types import Dataset, Matrix


def fold_rows(raw: Table | Dataset, choices: Choices, known: Preparation) -> Callable[..., tuple[Matrix, Matrix]]:
    """A function of row numbers for training and test, which gives the rows of both.

    Categories, what fills gaps, and scaling are learned anew in each fold. Only which columns there are, and which of
    them hold words, is taken from ``known``, which was learned from all rows: a fold may lack the one word of a column.
    """
    choices = replace(choices, positive=None)
    if known.schema is not None:
        used = known.schema.columns
        words = tuple(column.position for column in used if column.categories is not None)
        choices = replace(choices, label=known.schema.label, drop=(), categories=words,
                          columns=tuple(column.position for column in used))  # fmt: skip

    def rows(train: np.ndarray, test: np.ndarray) -> tuple[Matrix, Matrix]:
        with warnings.catch_warnings():
            for kind in (DataNote, DataWarning):  # they were shown for all rows
                warnings.simplefilter("ignore", kind)
            learned, preparation = Preparation.learn(raw.take(train), choices)
            return learned.X, preparation.same_columns(raw.take(test))

    return rows
