"""Rows far from the centre of their class, after "Accelerating the Training of an LP-SVR over Large Datasets".

The paper's hope: rows that are unlikely within their own class, by Mahalanobis distance, lie on the rim of the class
cloud, where support vectors are.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from svmreduce.checks import COUNT, SHARE, one_of
from svmreduce.core.clouds import Cloud, rank_in_group, squared_distances
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec, resolve_gamma
from svmreduce.parameters import Parameters
from svmreduce.reducers.base import BaseReducer


class Mahalanobis(
    Parameters,
    BaseReducer,
    parameters="share rows space kernel gamma coef0 degree components covariance bins threads random_state",
):
    """Keep the rows that are furthest from the centre of their class.

    Distances are Mahalanobis distances: the covariance of the class takes out units and correlations. All kept rows
    have weight 1. Regression has no classes: either the joint cloud of inputs and target is ranked, or each of
    ``bins`` quantile bins of the target is treated as a class.

    Parameters
    ----------
    share : float
        Part of every class to keep, at least one row.
    rows : int or None
        Rows to keep in all; overrides ``share``.
    space : {"input", "kernel"}
        Where distances are measured; the kernel's feature space is approximated by Nyström features.
    kernel : {"linear", "poly", "rbf", "sigmoid"}
    components : int
        Rows that the Nyström features are built on.
    covariance : {"auto", "sample", "ledoit_wolf", "low_rank"}
        ``sample`` is the paper's. ``auto`` takes it while a class has at least two rows per column, else the
        Ledoit-Wolf shrunk one, and beyond 2000 columns the leading 100 directions plus the mean variance of the rest.
    bins : int
        Regression: 1 ranks the joint cloud, more are the number of target quantiles.
    random_state : int, RandomState or None
        Chooses the Nyström rows, and between rows of equal distance.
    """

    tasks = ("classification", "regression")
    gives_weights = False

    share: float = 0.1
    rows: int | None = None
    space: str = "input"
    components: int = 100
    covariance: str = "auto"
    bins: int = 1
    rules: ClassVar = {
        "share": SHARE,
        "rows": COUNT,
        "components": COUNT,
        "bins": COUNT,
        "space": one_of("input", "kernel"),
        "covariance": one_of("auto", "sample", "ledoit_wolf", "low_rank"),
    }

    def _reduce(self, X, y, weights):
        n = len(y)
        if self.rows is not None and self.rows > n:
            raise InputError(f"rows must be between 1 and the {n} rows there are, got {self.rows}")
        share = self.share if self.rows is None else self.rows / n
        random = check_random_state(self.random_state)
        kernel = None
        if self.space == "kernel":
            kernel = KernelSpec(self.kernel, resolve_gamma(self.gamma, X), self.coef0, self.degree)
        if type_of_target(y).startswith("continuous"):
            groups, target = target_groups(np.asarray(y, np.float64), self.bins)
        else:
            groups, target = np.unique(y, return_inverse=True)[1], None
        cloud = Cloud(X, kernel, target, self.components, random, self.threads)
        distance = squared_distances(cloud, groups, self.covariance)
        rank = rank_in_group(distance, groups, random)
        sizes = np.bincount(groups)
        wanted = np.maximum(1, np.rint(share * sizes))
        kept = np.flatnonzero(rank < wanted[groups])
        return kept, weights[kept], {"kept": kept.size}


def target_groups(y, bins: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Regression rows as groups: one group with the target as one more column, or bins of the target."""
    if bins == 1:
        return np.zeros(y.size, np.int64), y
    edges = np.unique(np.quantile(y, np.linspace(0, 1, bins + 1)[1:-1]))
    return np.unique(np.searchsorted(edges, y, side="right"), return_inverse=True)[1], None
