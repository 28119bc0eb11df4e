"""Groups of rows as clouds of points: how far each row is from the centre of its group.

The squared Mahalanobis distance D(x) = (x − μ)ᵀ Σ⁻¹ (x − μ) asks how unlikely a row is within its own group, whatever
the units and the correlations of the columns.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.utils import check_random_state

from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.errors import InputError

DENSE_WIDTH = 2000  # columns up to which a covariance matrix is built
ROWS_PER_COLUMN = 2  # fewer rows than this for each column: the sample covariance says little, and is shrunk
SHRINKAGE_ROWS = 4000  # from which the strength of the shrinkage is estimated
LOW_RANK = 100  # directions kept where there are too many columns for a covariance matrix
BLOCK_VALUES = 1 << 22  # of dense values at a time
NO_VARIANCE = 1e-12  # eigenvalues of a correlation matrix below this are rounding


def rank_in_group(distance, groups, random) -> np.ndarray:
    """0 for the furthest row of each group, 1 for the next, …; equal distances in random order."""
    order = np.lexsort((random.permutation(distance.size), -distance, groups))
    starts = np.cumsum(np.bincount(groups)) - np.bincount(groups)
    rank = np.empty(distance.size, np.int64)
    rank[order] = np.arange(distance.size) - starts[groups[order]]
    return rank


class Cloud:
    """Rows as points: input columns or Nyström features, and the target as one more column where it is given.

    Points are made dense block by block, so that neither many features nor many rows need much memory.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    kernel : KernelSpec or None
        None for the input space.
    target : array of shape (n,) or None
    components : int
        Maximum number of Nyström features.
    random : RandomState
    """

    def __init__(self, X, kernel=None, target=None, components=100, random=None, threads=None):
        self.X, self.kernel, self.threads = X, kernel, threads
        self.extra = None if target is None else _in_units_of(X, target)[:, None]
        self.features = X.shape[1]
        if kernel is not None:
            chosen = np.sort(check_random_state(random).permutation(X.shape[0])[:components])
            self.landmarks = X[chosen]
            values, vectors = linalg.eigh(kernel_matrix(kernel, self.landmarks, self.landmarks, threads=threads))
            kept = values > 1e-10 * values[-1]  # a kernel need not be positive definite, and rows may be alike
            self.map = vectors[:, kept] / np.sqrt(values[kept])
            self.features = self.map.shape[1]
        self.width = self.features + (self.extra is not None)

    def blocks(self, rows):
        """Dense points of these rows, some at a time."""
        step = max(1, BLOCK_VALUES // max(1, self.width))
        for start in range(0, rows.size, step):
            part = rows[start : start + step]
            points = self.X[part]
            if self.kernel is not None:
                points = kernel_matrix(self.kernel, points, self.landmarks, threads=self.threads) @ self.map
            elif sparse.issparse(points):
                points = points.toarray()
            yield points if self.extra is None else np.hstack([points, self.extra[part]])

    def matrix(self, rows):
        """All points of these rows in one sparse matrix; of the input space only."""
        points = sparse.csr_matrix(self.X[rows])
        return points if self.extra is None else sparse.csr_matrix(sparse.hstack([points, self.extra[rows]]))


def _in_units_of(X, target):
    """The target with the spread of an ordinary column, so that a shrunk covariance treats it as one."""
    spread = np.sqrt(max(0.0, (X.multiply(X).mean() if sparse.issparse(X) else np.square(X).mean()) - X.mean() ** 2))
    own = target.std()
    return target * (spread / own) if spread > 0 and own > 0 else target


def squared_distances(cloud: Cloud, groups: np.ndarray, covariance: str = "auto") -> np.ndarray:
    """Squared Mahalanobis distance of every row from the centre of its group.

    Directions without any variance do not count: all rows of the group agree there. A group of one row has
    distance 0.
    """
    distance = np.zeros(groups.size)
    for group in range(groups.max() + 1):
        rows = np.flatnonzero(groups == group)
        if rows.size < 2 or cloud.width == 0:  # no width: all kernel values are zero
            continue
        how = covariance
        if how == "auto":
            enough = rows.size >= ROWS_PER_COLUMN * cloud.width
            how = "low_rank" if cloud.width > DENSE_WIDTH else "sample" if enough else "ledoit_wolf"
        if how == "low_rank" and cloud.kernel is None:
            distance[rows] = _low_rank_distances(cloud.matrix(rows))
        else:
            distance[rows] = _full_rank_distances(cloud, rows, how == "ledoit_wolf")
    return distance


def _full_rank_distances(cloud: Cloud, rows, shrink: bool) -> np.ndarray:
    if cloud.width > 5 * DENSE_WIDTH:
        raise InputError(f"a covariance matrix of {cloud.width} columns is too large; set covariance to low_rank")
    mean = sum(block.sum(axis=0) for block in cloud.blocks(rows)) / rows.size
    scatter = np.zeros((cloud.width, cloud.width))
    for block in cloud.blocks(rows):
        block = block - mean
        scatter += block.T @ block
    scatter /= rows.size - 1
    # As a correlation matrix: columns in very different units would spoil the eigenvalues, and the shrinkage
    deviation = np.sqrt(scatter.diagonal())
    deviation[deviation <= NO_VARIANCE * np.abs(mean)] = np.inf
    correlation = scatter / deviation / deviation[:, None]
    if shrink:
        step = -(-rows.size // SHRINKAGE_ROWS)
        some = np.vstack(list(cloud.blocks(rows[::step])))
        shrinkage = ledoit_wolf_shrinkage((some - mean) / deviation, assume_centered=True)
        correlation *= 1 - shrinkage
        correlation[np.diag_indices(cloud.width)] += shrinkage * np.isfinite(deviation)
    values, vectors = linalg.eigh(correlation)
    kept = values > NO_VARIANCE * max(1.0, values[-1])
    whiten = vectors[:, kept] / np.sqrt(values[kept]) / deviation[:, None]
    return np.concatenate([np.square((block - mean) @ whiten).sum(axis=1) for block in cloud.blocks(rows)])


def _low_rank_distances(points: sparse.csr_matrix) -> np.ndarray:
    """The leading directions with their own variances, all others with the mean of what is left.

    The rows stay sparse: the mean is subtracted inside the products.
    """
    n, width = points.shape
    mean = np.asarray(points.mean(axis=0)).ravel()
    centred = LinearOperator(
        (n, width),
        matvec=lambda v: points @ v.ravel() - mean @ v.ravel(),
        rmatvec=lambda u: points.T @ u.ravel() - mean * u.sum(),
        dtype=np.float64,
    )
    norms = np.asarray(points.multiply(points).sum(axis=1)).ravel() - 2 * (points @ mean) + mean @ mean
    norms = np.maximum(norms, 0.0)
    if not norms.sum() > 0:
        return np.zeros(n)
    rank = min(LOW_RANK, n - 1, width - 1)
    if rank == 0:
        return (n - 1) * norms / norms.sum()
    # (not a vector of ones: that is what centring takes away)
    left, lengths, _ = svds(centred, k=rank, v0=np.random.default_rng(0).normal(size=min(n, width)))
    kept = lengths > 1e-9 * max(lengths.max(), np.finfo(float).tiny)
    left, lengths = left[:, kept], lengths[kept]
    distance = (n - 1) * np.square(left).sum(axis=1)
    rest = np.maximum(norms - np.square(left * lengths).sum(axis=1), 0.0)
    directions = min(n - 1, width) - lengths.size
    if directions > 0 and rest.sum() > 1e-12 * norms.sum():
        distance += (n - 1) * directions * rest / rest.sum()
    return distance
