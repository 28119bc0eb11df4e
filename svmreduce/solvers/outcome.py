"""What a solver hands back to its base class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmreduce.model import KernelModel
from svmreduce.model_linear import LinearModel


@dataclass(frozen=True)
class BinarySolution:
    """One two-class problem solved: f(x) = Σ beta_i k(x_i, x) + intercept, beta over all given rows."""

    beta: np.ndarray
    intercept: float
    objective: float | None = None
    n_iter: int | None = None
    kernel_evals: int | None = None
    gap: float | None = None
    converged: bool = True


@dataclass(frozen=True)
class Outcome:
    """A finished fit: the model, the rows it kept, and the counters (None where a backend is silent)."""

    model: KernelModel | LinearModel
    support: np.ndarray | None = None
    objective: float | None = None
    n_iter: int | None = None
    kernel_evals: int | None = None
    gap: float | None = None
    converged: bool = True
