"""The members of the SVM family as problems of one engine, ``smo_engine``.

C-SVC, ε-SVR and one-class SVM have one equality constraint and differ in targets, boxes and the kink ε·|β|. What is
returned is in the units of the problem as it was given.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmreduce.core import smo_engine
from svmreduce.core.kernel_values import decision_function
from svmreduce.types import DualSolution

SAMPLE = 2048  # rows whose one-class SVM says where to begin with that of many
SAMPLE_TOL = 0.01


def c_svc(X, y, box, kernel, *, start=None, **options) -> DualSolution:
    """Targets ±1, 0 ≤ y·β ≤ box; the options are those of ``smo_engine.solve``, and any ``start`` will do."""
    lower, upper = np.minimum(y * box, 0.0), np.maximum(y * box, 0.0)
    return smo_engine.solve(X, y, lower, upper, kernel, start=_feasible(start, lower, upper), **options)


def epsilon_svr(X, y, box, epsilon, kernel, *, tol=1e-3, start=None, **options) -> DualSolution:
    """Real targets, |β| ≤ box, errors up to ``epsilon`` cost nothing.

    The engine gets it in units in which targets differ by about one and ε is a float32 number: the problem times any
    factor is the same problem.
    """
    spread = float(np.ptp(y)) or 1.0
    middle = float(y.min()) + spread / 2  # Σβ = 0: the problem does not see it, and digits are not lost to it
    epsilon = min(epsilon, spread)  # a wider tube has the same answer: all rows are in it
    size = spread * float(np.std(y / spread)) or 1.0
    kink = float(np.float32(epsilon / size))
    factor = kink / epsilon if kink > 0.0 else 1.0 / size
    limit = box * factor
    found = smo_engine.solve(
        X, (y - middle) * factor, -limit, limit, kernel, tol=tol * factor, kink=kink, factor=factor,
        start=_feasible(None if start is None else start * factor, -limit, limit), **options,
    )  # fmt: skip
    at_bound = np.abs(found.beta) == limit
    beta = np.where(at_bound, np.sign(found.beta) * box, found.beta / factor)
    return replace(found, beta=beta, intercept=found.intercept / factor + middle,
                   objective=found.objective / factor / factor, gap=found.gap / factor)  # fmt: skip


def one_class(X, box, nu, kernel, *, tol=1e-3, seed=0, threads=None, **options) -> DualSolution:
    """min ½ βᵀKβ with 0 ≤ β ≤ box and Σβ = nu·Σbox; f(x) + intercept is above zero where most rows are.

    The rows furthest from all others begin at their bounds: those that the one-class SVM of a sample puts there.
    """
    n = X.shape[0]
    order = np.arange(n)
    if n > 2 * SAMPLE:
        sample = np.sort(np.random.default_rng(seed).choice(n, SAMPLE, replace=False))
        part = one_class(X[sample], box[sample], nu, kernel, tol=max(tol, SAMPLE_TOL), threads=threads)
        support = np.flatnonzero(part.beta)
        f = decision_function(kernel, X, X[sample[support]], part.beta[support, None], threads, np.float32)[:, 0]
        order = np.argsort(f, kind="stable")
    start = np.empty(n)
    before = np.cumsum(box[order]) - box[order]
    start[order] = np.clip(nu * box.sum() - before, 0.0, box[order])
    return smo_engine.solve(X, np.zeros(n), np.zeros(n), box, kernel, tol=tol, seed=seed, threads=threads, start=start,
                            unit=None, **options)  # fmt: skip


def _feasible(start, lower, upper):
    """Within the bounds and with sum zero: of the side that is too heavy, the least coefficients go first."""
    if start is None:
        return None
    beta = np.clip(start, lower, upper)
    excess = beta.sum()
    side = np.flatnonzero(beta * excess > 0)
    side = side[np.argsort(np.abs(beta[side]), kind="stable")]
    own = np.abs(beta[side])
    beta[side] -= np.sign(excess) * np.clip(abs(excess) - (np.cumsum(own) - own), 0.0, own)
    return beta
