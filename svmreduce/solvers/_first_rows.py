"""Which rows a solver sees first: the working set it starts from, or the order in which it learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state

from svmreduce.checks import COUNT, one_of
from svmreduce.core.clouds import Cloud, rank_in_group, squared_distances
from svmreduce.parameters import Parameters

FIRST = "random", "file", "mahalanobis", "kernel_mahalanobis", "oracle"


class FirstRows(Parameters):
    """The parameters of a solver that starts from chosen rows.

    Parameters
    ----------
    first : {"mahalanobis", "kernel_mahalanobis", "random", "file", "oracle"}
        How the first working set is chosen: the rows of each class that are furthest from its centre, in the input
        space or in that of the kernel; any; or those that stand first. Regression ranks by the joint cloud of inputs
        and target. "oracle" solves from random rows before, and begins with those of the largest coefficients: no
        ranking can know more. It shows what a first working set can save, and costs a second fit.
    working_set : int
        Rows of the first working set; at most as many come in at a time, or as many as are there.
    """

    first: str = "mahalanobis"
    working_set: int = 200
    rules: ClassVar = {"first": one_of(*FIRST), "working_set": COUNT}


def rows_in_order(
    first: str, X, groups, kernel, *, coefficients_from: Callable | None = None, target=None, seed=0, threads=None
) -> np.ndarray:
    """All rows, those to begin with first: in turn one of each group, by rank within the group.

    So the first B rows hold B/groups of each group (the paper's v), with every way to rank them; what a ranking
    brings is then not mixed up with what equal shares of the classes bring.

    Parameters
    ----------
    first : one of ``FIRST``
        No ranking; by place; by distance from the group's centre in the input space, or in the kernel's feature space;
        by coefficient.
    coefficients_from : function of such an order
        Solves, starting from these rows, and returns the coefficients of all rows: for the oracle.
    groups : array of shape (n,)
        Class numbers 0, 1, …; one group for regression.
    target : array of shape (n,) or None
        Regression: ranked as one more column.
    """
    random = check_random_state(seed)
    distance = np.zeros(groups.size)
    if first == "file":
        distance = -np.arange(groups.size, dtype=float)
    elif first.endswith("mahalanobis"):
        kernel = kernel if first == "kernel_mahalanobis" else None
        distance = squared_distances(Cloud(X, kernel, target, random=random, threads=threads), groups)
    rank = rank_in_group(distance, groups, random)
    order = np.lexsort((groups, rank))
    if first == "oracle":
        order = order[np.argsort(-np.abs(coefficients_from(order)[order]), kind="stable")]
    return order
