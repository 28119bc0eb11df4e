"""What a solution is worth on all rows, in double where it matters."""

from __future__ import annotations

import numpy as np

from svmreduce.core.kernel_values import decision_function

NEAR = 0.1  # rows this close to the margin, or beyond it, decide


def kkt_gap(v, beta, lower, upper) -> float:
    """Largest violation of the optimality conditions, as LIBSVM's -e measures it; v = target − Kβ."""
    high = v[beta < upper].max(initial=-np.inf)
    low = v[beta > lower].min(initial=np.inf)
    return max(0.0, float(high - low)) if np.isfinite(high - low) else 0.0


def correct_near_margin(f, rows, y, intercept, exact) -> None:
    """Replace f of these rows by ``exact(rows)`` where float32 could have mistaken a row for one beyond the margin.

    Everywhere, if float32 turns out to be wrong by as much.
    """
    near = rows[y[rows] * (f[rows] + intercept) < 1 + NEAR]
    found = exact(near)
    error = np.abs(found - f[near]).max(initial=0.0)
    f[near] = found
    if error > NEAR / 2:
        f[rows] = exact(rows)


def certify(X, target, lower, upper, kernel, beta, intercept, dtype, threads) -> tuple[float, float]:
    """Largest violation on all rows, and the dual objective ½βᵀKβ − targetᵀβ, of a solution for targets ±1."""
    support = np.flatnonzero(beta)
    vectors, coef = X[support], beta[support, None]
    f = decision_function(kernel, X, vectors, coef, threads, dtype)[:, 0]
    if dtype == np.float32:
        exact = lambda rows: decision_function(kernel, X[rows], vectors, coef, threads)[:, 0]  # noqa: E731
        correct_near_margin(f, np.arange(len(f)), target, intercept, exact)
    return kkt_gap(target - f, beta, lower, upper), float(beta @ (0.5 * f - target))
