"""The C-SVC of one cluster of rows: the same whether the rows are in memory or come from a disk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmreduce.core.svm_problems import c_svc
from svmreduce.solvers._multiclass import one_versus_one
from svmreduce.solvers._outcome import Outcome
from svmreduce.types import DualSolution


@dataclass(frozen=True)
class ClusterSVC:
    """What decides the C-SVC of a cluster, besides its rows and the kernel."""

    C: float
    tol: float
    cache_mb: float
    max_iter: int
    seed: int
    threads: int = 1

    def solve(self, X, y, weights, kernel, classes) -> Outcome:
        """All pairs of ``classes``, of which the cluster may have some only; ``y`` are places in them."""
        return one_versus_one(self.pair, X, y, weights, kernel, classes)

    def pair(self, X, y, weights, kernel) -> DualSolution:
        """Two classes of one cluster, which may have rows of one or none of them."""
        if (y == y[:1]).all():
            return DualSolution(np.zeros(y.size), float(y[:1].sum()), 0.0, 0.0, 0, 0)
        return self.engine(X, y, weights, kernel)

    def engine(self, X, y, weights, kernel, start=None) -> DualSolution:
        options = {"tol": self.tol, "cache_mb": self.cache_mb, "max_iter": self.max_iter, "seed": self.seed}
        return c_svc(X, y, self.C * weights, kernel, start=start, threads=self.threads, **options)
