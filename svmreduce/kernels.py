"""Kernels by name, with the parameter names and meanings of LIBSVM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from svmreduce.errors import InputError
from svmreduce.registry import nearest_name_error

# The integer is what crosses into core (and LIBSVM's -t): only integers and floats keep numba's
# disk cache alive, function arguments do not.
KERNEL_CODES = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3}
GAMMAS = ("auto", "auto-distance", "scale")  # what gamma may be besides a number
GAMMA_WORDS = "'auto', 'auto-distance' or 'scale'"
LARGEST_DEGREE = 100  # a power is that many multiplications


@dataclass(frozen=True)
class KernelSpec:
    """A kernel k(x, z) with its numbers.

    linear   x·z
    poly     (gamma·x·z + coef0)^degree
    rbf      exp(-gamma·||x-z||²)
    sigmoid  tanh(gamma·x·z + coef0)
    """

    name: str = "rbf"
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3

    def __post_init__(self):
        if self.name not in KERNEL_CODES:
            raise nearest_name_error("kernel", self.name, KERNEL_CODES)
        if self.name != "linear" and not (np.isfinite(self.gamma) and self.gamma > 0):
            raise InputError(f"gamma must be a positive number, got {self.gamma}")
        if not np.isfinite(self.coef0):
            raise InputError(f"coef0 must be a finite number, got {self.coef0}")
        if self.degree != int(self.degree) or not 0 <= self.degree <= LARGEST_DEGREE:
            raise InputError(f"degree must be a whole number from 0 to {LARGEST_DEGREE}, got {self.degree}")

    @property
    def code(self) -> int:
        return KERNEL_CODES[self.name]


def resolve_gamma(gamma: float | str, X, kernel: str = "rbf") -> float:
    """A number as given, or a word.

    auto = 1/features and scale = 1/(features·variance) are scikit-learn's. auto-distance takes for σ² the mean squared
    distance between the rows: 1/(2σ²) for rbf, which is then exp(-||x-z||²/(2σ²)), and 1/σ² for other kernels.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma == "scale":
        values = X.data if sparse.issparse(X) else X
        mean, cells = X.mean(), X.shape[0] * X.shape[1]
        # in two passes: a difference of squares would cancel
        variance = (np.square(values - mean).sum() + (cells - values.size) * mean**2) / cells
        is_constant = variance <= 1e-24 * mean**2  # what rounding leaves
        return 1.0 if is_constant else 1.0 / (X.shape[1] * variance)
    if gamma == "auto-distance":
        squared = mean_squared_distance(X)
        return 1.0 / ((2 if kernel == "rbf" else 1) * squared) if squared else 1.0
    raise InputError(f"gamma must be a positive number, {GAMMA_WORDS}, got {gamma!r}")


def mean_squared_distance(X) -> float:
    """Mean of ||x-z||² over all pairs of rows: twice the sum of the columns' variances."""
    n = X.shape[0]
    mean = np.asarray(X.mean(axis=0)).ravel()
    if sparse.issparse(X):
        # in two passes: zeros that are not stored differ from the mean, too
        stored = np.bincount(X.indices, minlength=mean.size)
        squares = np.square(X.data - mean[X.indices]).sum() + ((n - stored) * mean**2).sum()
    else:
        squares = sum(np.square(X[start : start + 4096] - mean).sum() for start in range(0, n, 4096))
    is_constant = squares <= 1e-24 * n * (mean @ mean)
    return 0.0 if is_constant else 2.0 * float(squares) / n
