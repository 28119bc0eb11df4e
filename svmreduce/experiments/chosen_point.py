"""C and gamma for a benchmark, by cross-validation on as large a sample of the rows as the time allows."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

from svmreduce.errors import InputError
from svmreduce.rows import sample_of_groups
from svmreduce.search import SVMSearchCV
from svmreduce.types import Dataset, Split

FIRST_ROWS, STEP, FOLDS = 1000, 2, 3
_GROWTH = STEP**2.2  # of the time, from one sample to the next
_WHOLE = 0.6  # of the time: a sample whose whole grid takes no more is searched as a whole
# Steps of the grid below and above the choice. More rows want a greater gamma, which has its best at a smaller C; and a
# path to the largest C passes all others.
_AROUND = {"C": (99, 1), "gamma": (1, 2)}
_EPSILON = 0.1  # of a regression, in standard deviations of the labels


@dataclass(frozen=True)
class ChosenPoint:
    """Parameters, the score they had in cross-validation, and on how many rows."""

    params: dict
    metric: str
    score: float
    rows: int
    seconds: float
    at_edge: tuple[str, ...] = ()  # parameters that are the last of their grid

    def to_json(self) -> dict:
        return asdict(self)


def choose_point(
    train: Dataset, seconds: float, *, given: dict | None = None, metric: str | None = None, seed: int = 0,
    threads: int | None = None,
) -> ChosenPoint:  # fmt: skip
    """The whole grid on small samples, then what is around its choice on larger and larger ones.

    Parameters
    ----------
    seconds : about how long it may take; the first sample is always searched
    given : parameters that are not searched
    metric : what to choose by; accuracy, or mse for a regression
    """
    start, given = perf_counter(), given or {}
    axes = {"C": None, "gamma": None} | {key: [value] for key, value in given.items()}
    options = {"scoring": metric, "refit": False, "threads": threads}
    if train.task == "regression":
        options["epsilon"] = given.get("epsilon", _EPSILON * float(np.std(train.y)) or _EPSILON)
    rows, searched, found, is_whole = min(FIRST_ROWS, train.n_rows), 0, None, True
    while True:
        began = perf_counter()
        X, y = _sample(train, rows, seed)
        splitter = (KFold if train.task == "regression" else StratifiedKFold)(FOLDS, shuffle=True, random_state=seed)
        search = SVMSearchCV(**axes, **options, cv=splitter, budget=max(1.0, seconds))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # scores are what counts
            try:
                search.fit(X, y)
            except InputError:
                if found is None:
                    raise
        if found is not None and np.isnan(search.cells_.mean).any():  # its cells took longer than expected
            break
        found, searched, took = search, rows, perf_counter() - began
        best, score = _simplest(found) if rows < train.n_rows else (found.best_params_, found.best_score_)
        if is_whole:
            grids = {name: getattr(found, f"{name}_") for name in _AROUND if name not in given}
        if is_whole and took * _GROWTH > _WHOLE * seconds:  # a few rows of the rarer class may mislead a small sample
            is_whole = False
            took *= (1 + sum(_AROUND["gamma"])) / len(found.gamma_)
        if not is_whole:
            axes |= {name: _near(best[name], grid, *_AROUND[name]) for name, grid in grids.items()}
        if rows == train.n_rows or perf_counter() - start + took * _GROWTH > seconds:
            break
        rows = min(STEP * rows, train.n_rows)
    at_edge = tuple(
        name for name, grid in grids.items() if grid.size > 2 and not grid[0] * 1.01 < best[name] < grid[-1] * 0.99
    )
    best = {name: float(f"{value:.4g}") for name, value in best.items()}
    return ChosenPoint(best, found.scorer_, abs(score), searched, perf_counter() - start, at_edge)


def _sample(train: Dataset, rows: int, seed: int):
    """A random part with the classes' shares, without classes that are too rare for the folds."""
    if train.task == "regression":
        chosen = np.sort(np.random.default_rng(seed).choice(train.n_rows, rows, replace=False))
        return train.X[chosen], train.y[chosen]
    codes = np.unique(train.y, return_inverse=True)[1]
    parts = sample_of_groups(codes, min(1.0, rows / train.n_rows), np.random.RandomState(seed))
    chosen = [part for part in parts if len(part) >= FOLDS]
    if len(chosen) < 2:
        chosen = [np.flatnonzero(codes == code)[: max(FOLDS, rows // 2)] for code in np.unique(codes)]
        chosen = [part for part in chosen if len(part) >= FOLDS]
    if len(chosen) < 2:
        raise InputError(f"{train.name}: needs two classes with at least {FOLDS} rows each")
    chosen = np.sort(np.concatenate(chosen))
    return train.X[chosen], train.y[chosen]


def _simplest(found: SVMSearchCV) -> tuple[dict, float]:
    """The smallest C within one standard error of the best cell, and its score.

    On a sample many cells are equally good, with a smaller C for a greater gamma. More rows want a greater gamma, and
    a small C is quick.
    """
    cells = found.cells_
    mean, folds = cells.mean, cells.scores[cells.best()]
    error = folds.std(ddof=1) / math.sqrt(len(folds))
    c = int(np.argmax((mean >= folds.mean() - error).any(axis=(1, 2))))
    g, e = np.unravel_index(np.nanargmax(mean[c]), mean.shape[1:])
    return found.params_of(c, g, e), float(mean[c, g, e])


def _near(value: float, grid: np.ndarray, below: int, above: int) -> np.ndarray:
    """The part of the grid around a value, by steps below and above it."""
    place = int(np.argmin(np.abs(grid - value)))
    return grid[max(0, place - below) : place + above + 1]


def guess(split: Split) -> dict:
    """What the same answer for every row scores: the most frequent label, or the mean; learned on the training rows."""
    known, asked = split.train.y, split.test.y
    if split.train.task == "regression":
        return {"answer": f"{known.mean():.4g}", "score": float(np.sqrt(np.mean((asked - known.mean()) ** 2)))}
    labels, counts = np.unique(known, return_counts=True)
    most = labels[counts.argmax()]
    return {"answer": str(most) if isinstance(most, str) else f"{most:g}", "score": float(np.mean(asked == most))}
