"""Class probabilities from decision values: Platt's sigmoid per pair of classes, joined, and never against the label.

The probability that a row of the classes i and j is of class i is 1/(1 + exp(A·f + B)), f the pair's decision value.
More than two classes: of the probabilities p_i that Wu, Lin and Weng (2004, second method) derive from all pairs, the
exact ones, where LIBSVM iterates until they change little.

A label is decided by signs and votes, and a sigmoid need not cross one half where a decision value changes sign. Where
the estimate would name another class than the label, the label's probability and those above it are set to their mean
(which changes as little as possible), and the label gets a millionth more. So argmax is the label on every row.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

_SMALLEST = 1e-7  # no pair is surer than this, as in LIBSVM
_LEAD = 1e-6  # what the label's probability is above an equal one
_NEWTON_STEPS = 100
_FLAT = 1e-5  # gradient at which the sigmoid is found, as in LIBSVM
_ROWS_AT_ONCE = 4096


def fit_sigmoid(values: np.ndarray, is_first: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """A and B of the sigmoid that fits these decision values best, by Newton's method (Lin, Lin and Weng 2007).

    Parameters
    ----------
    values : decision values of rows that were not trained on
    is_first : whether a row is of the class that positive values stand for
    weights : how much each row counts
    """
    weights = weights * (len(weights) / weights.sum())
    first, second = weights[is_first].sum(), weights[~is_first].sum()
    target = np.where(is_first, (first + 1) / (first + 2), 1 / (second + 2))
    design = np.column_stack([values, np.ones_like(values)])

    def loss(parameters):
        z = design @ parameters
        return weights @ (target * np.logaddexp(0, z) + (1 - target) * np.logaddexp(0, -z))

    found = np.array([0.0, np.log((second + 1) / (first + 1))])
    now = loss(found)
    for _ in range(_NEWTON_STEPS):
        p = _sigmoid(design @ found)
        gradient = design.T @ (weights * (target - p))
        if np.abs(gradient).max() < _FLAT:
            break
        curvature = (design * (weights * p * (1 - p))[:, None]).T @ design + 1e-12 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        slope, share = gradient @ step, 1.0
        while (then := loss(found - share * step)) > now - 1e-4 * share * slope and share > 1e-10:
            share /= 2
        if share <= 1e-10:
            break
        found, now = found - share * step, then
    return float(found[0]), float(found[1])


def class_probabilities(decisions: np.ndarray, sigmoids: np.ndarray, winners: np.ndarray, k: int) -> np.ndarray:
    """Probabilities of k classes, shape (n, k), largest for the winner.

    Parameters
    ----------
    decisions : (n,) for two classes, else (n, k(k-1)/2), in the order of pairs (0,1), (0,2), …
    sigmoids : (2, pairs), A and B
    winners : (n,), the place of each row's label
    """
    pairs = decisions.reshape(len(winners), k * (k - 1) // 2)
    firsts = np.clip(_sigmoid(sigmoids[0] * pairs + sigmoids[1]), _SMALLEST, 1 - _SMALLEST)
    if k == 2:
        joined = np.column_stack([firsts, 1 - firsts])
    else:
        parts = range(0, len(firsts), _ROWS_AT_ONCE)
        joined = np.concatenate(
            [_couple(firsts[start : start + _ROWS_AT_ONCE], k) for start in parts] or [np.empty((0, k))]
        )
    _agree(joined, winners)
    return joined


def _sigmoid(z: np.ndarray) -> np.ndarray:
    """1/(1 + exp(z)) without overflow."""
    small = np.exp(-np.abs(z))
    return np.where(z >= 0, small, 1.0) / (1 + small)


def _couple(firsts: np.ndarray, k: int) -> np.ndarray:
    """The p that minimises Σ over pairs of (r_ji·p_i − r_ij·p_j)², Σp = 1: one linear system per row."""
    n = len(firsts)
    system = np.zeros((n, k + 1, k + 1))
    for column, (i, j) in enumerate(combinations(range(k), 2)):
        r_ij, r_ji = firsts[:, column], 1 - firsts[:, column]
        system[:, i, i] += r_ji**2
        system[:, j, j] += r_ij**2
        system[:, i, j] = system[:, j, i] = -r_ji * r_ij
    system[:, :k, k] = system[:, k, :k] = 1.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :k, 0], 0.0)
    return p / p.sum(axis=1, keepdims=True)


def _agree(p: np.ndarray, winners: np.ndarray) -> None:
    """Make the winner's probability the largest, in place; every row's sum stays."""
    others = p.copy()
    others[np.arange(len(p)), winners] = -np.inf
    rows = np.flatnonzero(p[np.arange(len(p)), winners] <= others.max(axis=1))
    if not rows.size:
        return
    ranked = -np.sort(-others[rows], axis=1)[:, :-1]
    own = p[rows, winners[rows]]
    means = (own[:, None] + np.cumsum(ranked, axis=1)) / np.arange(2, p.shape[1] + 1)
    following = np.column_stack([ranked[:, 1:], np.full(len(rows), -np.inf)])
    level = means[np.arange(len(rows)), np.argmax(means >= following, axis=1)]
    above = others[rows] >= level[:, None]
    p[rows] = np.where(above, level[:, None] - _LEAD, p[rows])
    p[rows, winners[rows]] = level + _LEAD * above.sum(axis=1)
