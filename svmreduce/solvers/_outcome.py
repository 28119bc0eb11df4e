"""What a solver hands back to its base class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmreduce.model import ClusterModel, FourierModel, KernelModel, LinearModel


@dataclass(frozen=True)
class Outcome:
    """A finished fit: the model, which rows its vectors are (None if they are not rows), and the counters (None where a
    backend does not report them)."""

    model: KernelModel | LinearModel | FourierModel | ClusterModel
    support: np.ndarray | None = None
    objective: float | None = None
    n_iter: int | None = None
    kernel_evals: int | None = None
    gap: float | None = None
    converged: bool = True
    steps: tuple[int | None, ...] = ()  # of each problem, where there are several
