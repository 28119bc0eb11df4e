"""Norms learned from the spread of the rows: distances are measured in standard deviations instead of units.

(x − z) A (x − z)ᵀ is the squared Euclidean length of (x − z)·factor for A = factor·factorᵀ, so a Gaussian kernel with
such a norm is the rbf kernel of rows that went through a linear map, and needs no extra code where kernels are
evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from svmreduce.types import Matrix

NORMS = ("diagonal", "mahalanobis")
LARGEST_SAMPLE = 20_000  # rows that a covariance is learned from
CONSTANT = 1e-12  # of the largest variance: a column below it does not vary


@dataclass(frozen=True, eq=False)
class InputNorm:
    """A norm by its factor: shape (d,) for a diagonal one, else (d, columns that vary)."""

    name: str
    factor: np.ndarray

    def mapped(self, X: Matrix) -> Matrix:
        """Rows whose Euclidean distances are the distances in this norm; columns it does not know do not count."""
        width = len(self.factor)
        if X.shape[1] > width:
            X = X[:, :width]
        factor = self.factor[: X.shape[1]]  # columns that are not there are zeros
        if factor.ndim == 2:
            return np.ascontiguousarray(X @ factor)
        if sparse.issparse(X):
            return sparse.csr_matrix((X.data * factor[X.indices], X.indices, X.indptr), shape=X.shape)
        return X * factor


def learn_norm(name: str, X: Matrix) -> InputNorm:
    """The norm of these rows, scaled so that their mean squared distance stays what it is in the Euclidean norm.

    So gamma means the same in every norm. A diagonal norm divides each column by its standard deviation, and leaves
    columns out that do not vary. A Mahalanobis norm also takes the correlations out. They are shrunk as Ledoit and
    Wolf do it, so that they have an inverse however few the rows or dependent the columns; the units of the columns
    do not matter.
    """
    if X.shape[0] > LARGEST_SAMPLE:
        X = X[np.sort(np.random.default_rng(0).choice(X.shape[0], LARGEST_SAMPLE, replace=False))]
    variance = _variances(X)
    varies = variance > CONSTANT * variance.max()
    if not varies.any():  # all rows are equal
        return InputNorm(name, np.ones(len(variance)))
    factor = np.where(varies, 1.0 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
    scale = np.sqrt(variance.sum() / varies.sum())
    if name == "diagonal":
        return InputNorm(name, scale * factor)
    from sklearn.covariance import ledoit_wolf

    standard = (X.toarray() if sparse.issparse(X) else X)[:, varies] * factor[varies]
    values, vectors = np.linalg.eigh(np.atleast_2d(ledoit_wolf(standard)[0]))
    whitening = np.zeros((len(factor), varies.sum()))
    whitening[varies] = factor[varies, None] * vectors / np.sqrt(np.maximum(values, CONSTANT * values.max()))
    return InputNorm(name, scale * whitening)


def _variances(X) -> np.ndarray:
    if not sparse.issparse(X):
        return X.var(axis=0)
    mean = np.asarray(X.mean(axis=0)).ravel()
    centred = np.square(X.data - mean[X.indices])
    stored = np.bincount(X.indices, centred, X.shape[1])
    zeros = X.shape[0] - np.bincount(X.indices, minlength=X.shape[1])
    return (stored + zeros * mean**2) / X.shape[0]
