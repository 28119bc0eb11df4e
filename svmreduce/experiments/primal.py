"""How good a solution is as a solution: the SVM's primal objective over all training rows.

Accuracy on test rows is coarse: two models may tie although one is far from the optimum. The primal objective tells
them apart: ½‖w‖² + C·Σ max(0, 1 − y·f(x)) over *all* training rows, also for a model that was trained on few of them.
For ε-SVR the loss is max(0, |y − f(x)| − ε). Divided by the exact solution's, it is 1 or more.

Blank for more than two classes, for class weights, for models that are not a sum of kernels (linear models, random
features, trees, networks), and for methods that minimise something else: squared losses (fw, mfw, cvm, bvm, lssvm,
rsvm, nystroem), linear programs (lp_svr, lp_svc) and ν-SVMs. Blank also beyond 10,000 support vectors.
"""

from __future__ import annotations

import numpy as np

from svmreduce.model import KernelModel
from svmreduce.model.objective import squared_norms, tube_loss

HINGE = ("aesvm", "smo", "libsvm", "decomposition", "incremental", "randsvm", "lasvm", "svmperf", "kernel_pegasos")
TUBE = ("svr", "libsvm_svr", "decomposition_svr")
MOST_VALUES = 100_000_000
"""Kernel values to compute at most, about a second. Beyond, the loss is that of a random part of the rows."""
_FEWEST = 1000  # rows; fewer would be no estimate


def primal_objective(solver, name: str, X, y) -> dict[str, float]:
    """``primal`` and ``primal_rows``, the rows that it is over; empty where the method has no such thing.

    Parameters
    ----------
    solver : fitted estimator
    name : of the method
    X, y : all training rows
    """
    model = getattr(solver, "model_", None)
    if name not in HINGE + TUBE or not isinstance(model, KernelModel) or getattr(solver, "class_weight", None):
        return {}
    if (model.labels is not None and len(model.labels) != 2) or model.n_vectors**2 > MOST_VALUES:
        return {}
    rows = min(len(y), max(_FEWEST, MOST_VALUES // max(1, model.n_vectors)))
    all_rows = len(y)
    if rows < all_rows:  # the same rows for every method with as many vectors: their ratio has little noise
        chosen = np.sort(np.random.default_rng(0).choice(all_rows, rows, replace=False))
        X, y = X[chosen], y[chosen]
    threads = getattr(solver, "threads", None)
    values = model.decision_function(X, threads=threads)
    if name in TUBE:
        losses = tube_loss(y, values, solver.epsilon)
    else:
        losses = np.maximum(0.0, 1.0 - np.where(y == model.labels[0], values, -values))
    square = squared_norms(model, threads)[0]
    return {"primal": square / 2 + solver.C * float(losses.mean()) * all_rows, "primal_rows": rows}
