"""C by validation, for any classifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from svmreduce.data.splitting import holdout
from svmreduce.errors import InputError
from svmreduce.kernels import resolve_gamma
from svmreduce.types import Dataset

C_GRID = tuple(2.0**power for power in range(13))
VALIDATION_SHARE = 0.3


@dataclass(frozen=True)
class Tuning:
    """The best C, the smallest of equals, and the accuracy of each that was tried."""

    C: float
    accuracies: dict[float, float]


def tune_C(
    solver,
    X,
    y,
    sample_weight=None,
    *,
    values: Iterable[float] = C_GRID,
    share: float = VALIDATION_SHARE,
    seed: int = 0,
    progress: Callable[[float, float, float | None], object] | None = None,
    at_once: Callable | None = None,
) -> Tuning:
    """Try every C on one part of the rows, and see which classifies the other part best.

    The solver is not changed; afterwards ``solver.set_params(C=found.C).fit(X, y)`` trains on all rows. A word for
    gamma means what it means for all rows, so that the kernel is that of the final fit.

    Parameters
    ----------
    solver : a classifier with a parameter C
    X, y, sample_weight : the training rows; weights count in the accuracy, too
    values : what C may be, 2⁰ … 2¹² if not given
    share : the part that is held out; classes keep their shares
    seed : chooses it
    progress : called with C, accuracy and seconds (None if all C are fitted at once) after each fit
    at_once : called with the solver, rows, labels, weights, a list of (train, test) and the values; gives for each pair
        the predictions for every C, or None if this solver has to be fitted to one C after the other
    """
    if "classification" not in solver.tasks:
        raise InputError(f"{type(solver).__name__} does not classify: there is no accuracy to tune C by")
    if sample_weight is not None:
        counted = np.flatnonzero(np.asarray(sample_weight) > 0)
        X, y, sample_weight = X[counted], np.asarray(y)[counted], np.asarray(sample_weight)[counted]
    parts = holdout(Dataset(np.arange(len(y))[:, None], np.asarray(y)), share, seed)
    train, test = parts.train.X[:, 0], parts.test.X[:, 0]
    weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    trial = clone(solver)
    if isinstance(getattr(trial, "gamma", None), str) and getattr(trial, "kernel", "rbf") != "linear":
        trial.set_params(gamma=resolve_gamma(trial.gamma, X, getattr(trial, "kernel", "rbf")))
    accuracies, values = {}, sorted(values)
    found = at_once(trial, X, y, weights, [(train, test)], values) if at_once else None
    fits = _one_by_one(trial, X, y, weights, train, test, values) if found is None else found[0]
    start = perf_counter()
    for C, labels in zip(values, fits, strict=True):
        right = labels == y[test]
        accuracies[C] = float(np.average(right, weights=None if weights is None else weights[test]))
        if progress:
            progress(C, accuracies[C], perf_counter() - start if found is None else None)
        start = perf_counter()
    return Tuning(max(accuracies, key=accuracies.get), accuracies)


def _one_by_one(trial, X, y, weights, train, test, values) -> Iterator[np.ndarray]:
    for C in values:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a trial may end early; the final fit says so
            trial.set_params(C=C).fit(X[train], y[train], None if weights is None else weights[train])
        yield trial.predict(X[test])
