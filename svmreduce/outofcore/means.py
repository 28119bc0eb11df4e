"""What work out of core may use, and what a reduction gives."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from tqdm import tqdm

from svmreduce.checks import class_weights
from svmreduce.data.scaling import Scaler
from svmreduce.kernels import KernelSpec
from svmreduce.memory import free_bytes
from svmreduce.outofcore.scanning import Spread
from svmreduce.types import Reduction


@dataclass(frozen=True)
class Means:
    """What work out of core may use.

    Parameters
    ----------
    work : path, optional
        Folder for partitions and results, which is removed when all is done; a run that was killed goes on from it. By
        default a new one in the cache folder.
    memory : int, optional
        Bytes for what is kept of all rows, and for partitions in work; by default a third of what is free.
    engine : {"local", "dask"}
    scheduler : str, optional
        Address of a dask scheduler; by default a cluster on this machine.
    verbose : bool
        Show progress bars.
    """

    work: str | os.PathLike | None = None
    memory: int | None = None
    engine: str = "local"
    scheduler: str | None = None
    verbose: bool = False

    @property
    def memory_bytes(self) -> int:
        return free_bytes() // 3 if self.memory is None else self.memory

    def bar(self, title: str, rows: int | None) -> tqdm:
        shown = self.verbose and sys.stderr.isatty()
        return tqdm(desc=title, total=rows, unit="row", unit_scale=True, leave=False, disable=not shown)


@dataclass(frozen=True)
class BlockReduction:
    """The kept rows, and what was learned from all of them."""

    reduction: Reduction
    scaler: Scaler | None
    counts: dict  # rows by label
    kernel: KernelSpec | None = None
    spread: Spread | None = None

    @property
    def rows(self) -> int:
        return sum(self.counts.values())

    def gamma(self, word: str, kernel: str) -> float:
        """What a word for gamma means for all rows."""
        if self.kernel is not None:
            return self.kernel.gamma
        width = self.reduction.X.shape[1]
        return 1.0 / width if word == "auto" else self.spread.gamma(word, self.scaler, kernel)

    def class_factors(self, class_weight: str | dict) -> dict:
        return class_factors(class_weight, self.counts)


def class_factors(class_weight: str | dict | None, counts: dict) -> dict:
    """The factor on C of every class, as scikit-learn means it, from the rows by label."""
    if class_weight == "balanced":
        return {label: sum(counts.values()) / (len(counts) * count) for label, count in counts.items()}
    labels = np.array(list(counts))
    given = class_weights(class_weight, labels) if isinstance(class_weight, dict) else class_weight
    return dict(zip(counts, compute_class_weight(given, classes=labels, y=labels).tolist(), strict=True))
