"""The few shapes of data that travel through the whole package."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

RowsLike: TypeAlias = ArrayLike | sparse.spmatrix | sparse.sparray
"""What a caller may give as rows; lists and any sparse format are converted."""

Matrix: TypeAlias = np.ndarray | sparse.csr_matrix
"""Rows are samples: C-contiguous float64, or CSR with float64 values and sorted indices."""


@dataclass(frozen=True)
class Dataset:
    """Rows with targets, and where they came from."""

    X: Matrix
    y: np.ndarray
    name: str = ""
    task: str = "classification"  # or "regression"
    sha256: str | None = None
    is_table: bool = False  # every row has every column; LIBSVM text may leave the last ones out

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def classes(self) -> np.ndarray:
        return np.unique(self.y)

    def take(self, rows: np.ndarray) -> Dataset:
        """Those rows, in that order."""
        return replace(self, X=self.X[rows], y=self.y[rows])


@dataclass(frozen=True)
class Split:
    """Training and test rows of one fold; nothing may be learned from the test part."""

    train: Dataset
    test: Dataset
    fold: int = 0


@dataclass(frozen=True)
class Reduction:
    """Fewer rows that stand for many: row k stands for ``sample_weight[k]`` rows.

    Weights add up to all rows, or are those that the rows had before where a reducer gives none. ``indices`` says
    which of the given rows were kept; it is None for rows that were made, such as centroids.
    """

    X: Matrix
    y: np.ndarray
    sample_weight: np.ndarray
    indices: np.ndarray | None = None
    info: dict = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @property
    def weights_if_any(self) -> np.ndarray | None:
        """None when every row stands for itself alone, so that solvers without weights can train on them."""
        return None if (self.sample_weight == 1).all() else self.sample_weight


@dataclass(frozen=True)
class FitFacts:
    """What happened in a fit; None where a method does not say."""

    iterations: int | None = None
    kernel_evals: int | None = None
    objective: float | None = None
    gap: float | None = None
    vectors: int | None = None
    converged: bool = True
    threads: int | None = None
    kept: int | None = None  # rows left by a reduction inside the fit
    sampled_to: float | None = None  # the tolerance met on samples only; ``gap`` is over all rows
    seconds: dict[str, float] = field(default_factory=dict)  # by stage: convert, reduce, solve, …
    rounds: dict = field(default_factory=dict)  # what a solver that works in rounds counted
    curves: dict = field(default_factory=dict)  # numbers per round, as lists


@dataclass(frozen=True)
class DualSolution:
    """One two-class problem solved: f(x) = Σ beta_i k(x_i, x) + intercept, with beta over all given rows.

    Counters are None where a solver does not know them.
    """

    beta: np.ndarray
    intercept: float
    objective: float | None = None  # dual, LIBSVM's sign: ½βᵀKβ − yᵀβ
    gap: float | None = None  # largest violation of the optimality conditions, as LIBSVM's -e measures it
    n_iter: int | None = None
    kernel_evals: int | None = None
    converged: bool = True


@dataclass(frozen=True)
class LinearSolution:
    """One two-class problem solved by a weight per feature: f(x) = normal·x + intercept; the rest as above."""

    normal: np.ndarray
    intercept: float
    objective: float | None = None
    gap: float | None = None
    n_iter: int | None = None
    kernel_evals: int | None = None
    converged: bool = True
