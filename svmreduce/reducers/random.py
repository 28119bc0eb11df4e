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


class RandomSample(Parameters, BaseReducer, parameters="share rows weighted random_state"):
    """Keep a random share of every class.

    Each class keeps the same share and at least one row. A kept row stands for (rows of its class /
    kept rows of its class) rows, so the weights add up to all rows.

    Parameters
    ----------
    share : float
        Part of the rows to keep.
    rows : int or None
        Rows to keep in all; overrides ``share``.
    weighted : bool
        False gives every kept row weight 1, for solvers that take no weights.
    """

    tasks = ("classification", "regression")

    share: float = 0.1
    rows: int | None = None
    weighted: bool = True
    rules: ClassVar = {"share": SHARE, "rows": COUNT, "weighted": SWITCH}

    def _reduce(self, X, y):
        n = len(y)
        if self.rows is not None and not 1 <= self.rows <= n:
            raise InputError(f"rows must be between 1 and the {n} rows there are, got {self.rows}")
        share = self.share if self.rows is None else self.rows / n
        if not 0 < share <= 1:
            raise InputError(f"share must be above 0 and at most 1, got {share}")
        if type_of_target(y).startswith("continuous"):
            strata = np.zeros(n, dtype=np.int64)
        else:
            strata = np.unique(y, return_inverse=True)[1]
        random = check_random_state(self.random_state)
        indices, weights = [], []
        for stratum in range(strata.max() + 1):
            members = np.flatnonzero(strata == stratum)
            count = max(1, round(share * len(members)))
            indices.append(np.sort(random.choice(members, count, replace=False)))
            weights.append(np.full(count, len(members) / count if self.weighted else 1.0))
        indices, weights = np.concatenate(indices), np.concatenate(weights)
        order = np.argsort(indices)  # as they stood in the file
        return indices[order], weights[order], {"kept": len(indices)}
