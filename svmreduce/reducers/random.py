"""The control every reduction must beat: a random sample of the same size."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from svmreduce.errors import InputError
from svmreduce.reducers.base import BaseReducer


class RandomSample(BaseReducer):
    """Keep a random share of every class.

    Each class keeps the same share and at least one row. A kept row stands for (rows of its class /
    kept rows of its class) rows, so the weights add up to all rows. Rows that carry weights already keep their ratio.

    Parameters
    ----------
    share : float, default=0.1
        Part of the rows to keep.
    rows : int or None
        Rows to keep in all; overrides ``share``.
    weighted : bool, default=True
        False leaves every kept row its own weight, 1 if none was given, for solvers that take no weights.
    random_state : int, RandomState or None, default=0
    """

    tasks = ("classification", "regression")

    def __init__(self, share=0.1, rows=None, weighted=True, random_state=0):
        self.share = share
        self.rows = rows
        self.weighted = weighted
        self.random_state = random_state

    def _reduce(self, X, y, weights):
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
        indices, kept = [], []
        for stratum in range(strata.max() + 1):
            members = np.flatnonzero(strata == stratum)
            count = max(1, round(share * len(members)))
            chosen = np.sort(random.choice(members, count, replace=False))
            factor = weights[members].sum() / weights[chosen].sum() if self.weighted else 1.0
            indices.append(chosen)
            kept.append(weights[chosen] * factor)
        indices, kept = np.concatenate(indices), np.concatenate(kept)
        order = np.argsort(indices)  # as they stood in the file
        return indices[order], kept[order], {"kept": len(indices)}
