"""Clusters of rows that are near each other, none of them much larger than the others."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import row_norms
from threadpoolctl import threadpool_limits

from svmreduce.core.row_parts import RowPart
from svmreduce.errors import InputError
from svmreduce.memory import check_memory
from svmreduce.model.cluster_model import nearest_centres
from svmreduce.types import Matrix

ROWS_PER_CLUSTER = 10_000
SAMPLE = 256  # rows per centre that k-means looks at
LARGEST, SMALLEST = 2.0, 0.1  # times the mean size: larger clusters are split, smaller ones join their neighbours
PARTS, PART_ROUNDS, PART_SAMPLE = 16, 5, 64  # of a division that need not be good, its rounds of k-means and their rows
ROUNDS = 4  # of splitting and joining; equal rows cannot be split


def cluster_centres(
    X: Matrix, count: int, seed: int, threads: int, largest: float = LARGEST
) -> tuple[np.ndarray, np.ndarray]:
    """About ``count`` centres, and the number of its nearest centre for every row; each centre has rows.

    k-means on a random sample, then every cluster that is too large for an equal share is replaced by clusters of its
    own rows, and one that is far too small is left to its neighbours. The answer does not depend on ``threads``.
    """
    check_memory(3 * 8.0 * count * X.shape[1], f"{count} centres of {X.shape[1]} columns", "lower n_clusters")
    with np.errstate(over="ignore"):
        if not np.isfinite(row_norms(X, squared=True)).all():
            raise InputError("numbers are too large for distances between rows: scale the data")
    rng = np.random.default_rng(seed)
    share = X.shape[0] / count
    centres = _means(X, np.arange(X.shape[0]), count, rng)
    for last in (*[False] * ROUNDS, True):
        cluster = nearest_centres(X, centres, threads)
        sizes = np.bincount(cluster, minlength=len(centres))
        large, small = sizes > largest * share, sizes < SMALLEST * share
        if last or not (large.any() or small.any()):
            break
        parts = [_means(X, np.flatnonzero(cluster == number), round(sizes[number] / share), rng)
                 for number in np.flatnonzero(large)]  # fmt: skip
        centres = np.vstack([centres[~(large | small)], *parts])
    used = np.flatnonzero(sizes)
    return centres[used], np.searchsorted(used, cluster)


def _means(X, rows, count: int, rng) -> np.ndarray:
    """Centres of ``count`` clusters of these rows, by k-means on a sample of them."""
    from sklearn.cluster import MiniBatchKMeans  # slow to import

    if rows.size > SAMPLE * count:
        rows = np.sort(rng.choice(rows, SAMPLE * count, replace=False))
    sample, shift = X[rows], 0.0
    if not sparse.issparse(X):
        shift = sample.mean(axis=0)  # distances stay, and lose no digits to what all rows have in common
        sample = sample - shift
    means = MiniBatchKMeans(min(count, rows.size), batch_size=4096, n_init=1, max_iter=20,
                            random_state=int(rng.integers(2**31)))  # fmt: skip
    # One thread: its sums would depend on the number of threads
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than centres
        return means.fit(sample).cluster_centers_ + shift


def neighbourhoods(X, seed: int, threads: int) -> list[np.ndarray]:
    """The rows in at most ``PARTS`` parts of near rows: some rounds of k-means on a small sample, then a pass over all.

    X is a matrix, or a part of a shared one. Rows too long for distances are all in one part.
    """
    X = X[:] if isinstance(X, RowPart) else X
    with np.errstate(over="ignore"):
        if not np.isfinite(row_norms(X, squared=True)).all():
            return [np.arange(X.shape[0])]
    rng = np.random.default_rng(seed)
    some = X[np.sort(rng.choice(X.shape[0], PARTS * PART_SAMPLE, replace=False))]
    centres = some[rng.choice(some.shape[0], PARTS, replace=False)]
    centres = centres.toarray() if sparse.issparse(some) else centres
    for _ in range(PART_ROUNDS):
        nearest = nearest_centres(some, centres, 1)
        centres = np.vstack([np.asarray(some[nearest == number].mean(axis=0)) for number in np.unique(nearest)])
    cluster = nearest_centres(X, centres, threads)
    return [np.flatnonzero(cluster == number) for number in np.unique(cluster)]
