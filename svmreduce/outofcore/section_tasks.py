"""What is made of one section of rows: DeriveRS keeps some of them, divide and conquer trains an SVM.

A task is made from the content of the table, so that threads here and workers elsewhere have the same. It takes rows
and a number for each, and gives rows and arrays.
"""

from __future__ import annotations

import numpy as np

from svmreduce.kernels import KernelSpec
from svmreduce.reducers._partition import Room, derive
from svmreduce.solvers._cluster_svc import ClusterSVC
from svmreduce.solvers._outcome import Outcome
from svmreduce.types import Matrix

Result = tuple[Matrix, dict[str, np.ndarray]]
COUNTERS = ("objective", "n_iter", "kernel_evals", "gap", "converged")


class DeriveTask:
    """The corners of small cells; the numbers are places in the source."""

    def __init__(self, content: dict, kernel: KernelSpec):
        self.kernel, self.epsilon = kernel, content["epsilon"]
        self.room = Room(min(content["V"], max(stop - start for _, _, start, stop in content["sections"])))

    def __call__(self, X: Matrix, numbers: np.ndarray) -> Result:
        found = derive(self.kernel, X, np.ones(len(numbers)), self.epsilon, self.room)
        facts = np.array([found.worst, found.cells])
        return X[found.kept], {"numbers": numbers[found.kept], "beta": found.beta, "facts": facts}


class SolveTask:
    """The C-SVC of a cluster, on one thread; the numbers are classes in the order in which they came."""

    def __init__(self, content: dict, kernel: KernelSpec):
        self.kernel, self.svc = kernel, ClusterSVC(**content["svc"])
        self.factors = np.array(content["factors"])  # on C, by class
        self.places = np.argsort(np.argsort(np.array(content["labels"])))  # of the labels, once they are sorted

    def __call__(self, X: Matrix, numbers: np.ndarray) -> Result:
        y, weights = self.places[numbers], self.factors[numbers]
        outcome = self.svc.solve(X, y, weights, self.kernel, np.arange(len(self.places)))
        model = outcome.model
        facts = np.array([getattr(outcome, name) for name in COUNTERS], np.float64)
        return model.vectors, {"coef": model.coef, "intercepts": model.intercepts, "labels": model.labels,
                               "n_support": model.n_support, "facts": facts}  # fmt: skip


def outcome_of(model, facts: np.ndarray) -> Outcome:
    """What ``SolveTask`` has written as ``facts``, with the model that was made of the rest."""
    objective, n_iter, kernel_evals, gap, converged = facts.tolist()
    return Outcome(model, None, objective, int(n_iter), int(kernel_evals), gap, bool(converged))


TASKS = {"derive": DeriveTask, "solve": SolveTask}
