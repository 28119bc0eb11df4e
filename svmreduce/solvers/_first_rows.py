"""Which rows a solver sees first: the working set it starts from, or the order in which it learns."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from svmreduce.reducers.mahalanobis import Cloud, rank_in_group, squared_distances


def rows_in_order(first: str, X, groups, kernel, *, target=None, seed=0, threads=None) -> np.ndarray:
    """All rows, those to begin with first: in turn one of each group, by rank within the group.

    So the first B rows hold B/groups of each group (the paper's v), with every way to rank them; what a ranking
    brings is then not mixed up with what equal shares of the classes bring.

    Parameters
    ----------
    first : {"random", "mahalanobis", "kernel_mahalanobis"}
        No ranking; by distance from the group's centre in the input space, or in the kernel's feature space.
    groups : array of shape (n,)
        Class numbers 0, 1, …; one group for regression.
    target : array of shape (n,) or None
        Regression: ranked as one more column.
    """
    random = check_random_state(seed)
    distance = np.zeros(groups.size)
    if first != "random":
        kernel = kernel if first == "kernel_mahalanobis" else None
        distance = squared_distances(Cloud(X, kernel, target, random=random, threads=threads), groups)
    rank = rank_in_group(distance, groups, random)
    return np.lexsort((groups, rank))
