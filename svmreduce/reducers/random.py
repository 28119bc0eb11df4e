"""The control every reduction must beat: a random sample of the same size."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from svmreduce.checks import COUNT, SHARE, SWITCH
from svmreduce.errors import InputError
from svmreduce.parameters import Parameters
from svmreduce.reducers.base import BaseReducer
from svmreduce.rows import sample_of_groups


class RandomSample(Parameters, BaseReducer, parameters="share rows weighted random_state"):
    """Keep a random share of every class.

    Each class keeps the same share and at least one row. A kept row stands for (rows of its class /
    kept rows of its class) rows, so the weights add up to all rows. Weights that rows have already keep their ratio.

    Parameters
    ----------
    share : float
        Part of the rows to keep.
    rows : int or None
        Rows to keep in all; overrides ``share``.
    weighted : bool
        False leaves every kept row its own weight, 1 if none was given, for solvers that take no weights.
    """

    tasks = ("classification", "regression")

    share: float = 0.1
    rows: int | None = None
    weighted: bool = True
    rules: ClassVar = {"share": SHARE, "rows": COUNT, "weighted": SWITCH}

    def _reduce(self, X, y, weights):
        n = len(y)
        if self.rows is not None and self.rows > n:
            raise InputError(f"rows must be between 1 and the {n} rows there are, got {self.rows}")
        share = self.share if self.rows is None else self.rows / n
        if type_of_target(y).startswith("continuous"):
            strata = np.zeros(n, dtype=np.int64)
        else:
            strata = np.unique(y, return_inverse=True)[1]
        chosen = sample_of_groups(strata, share, check_random_state(self.random_state))
        indices = np.sort(np.concatenate(chosen))
        kept = weights[indices]
        if self.weighted:
            kept = kept * (np.bincount(strata, weights) / np.bincount(strata[indices], kept))[strata[indices]]
        return indices, kept, {"kept": len(indices)}
