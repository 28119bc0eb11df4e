"""C and gamma for a benchmark, by cross-validation on as large a sample of the rows as the time allows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from time import perf_counter

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from svmreduce.errors import InputError
from svmreduce.rows import sample_of_groups
from svmreduce.search import SVMSearchCV
from svmreduce.types import Dataset, Split

FIRST_ROWS, STEP, FOLDS = 1000, 2, 3
_GROWTH = STEP**2.2  # of the time, from one sample to the next
_WHOLE = 0.3  # of the time: a sample whose whole grid takes no more is searched as a whole
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
    """The whole grid on small samples, then the neighbours of its best cell on larger and larger ones.

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
    rows, grids, is_whole = min(FIRST_ROWS, train.n_rows), {}, True
    while True:
        began = perf_counter()
        X, y = _sample(train, rows, seed)
        splitter = (KFold if train.task == "regression" else StratifiedKFold)(FOLDS, shuffle=True, random_state=seed)
        found = SVMSearchCV(**axes, **options, cv=splitter, budget=max(1.0, seconds)).fit(X, y)
        took = perf_counter() - began
        best = found.best_params_
        if is_whole:
            grids = {name: getattr(found, f"{name}_") for name in best if name not in given}
        if is_whole and took * _GROWTH > _WHOLE * seconds:  # a few rows of the rarer class may mislead a small sample
            is_whole = False
            took *= 9 / found.cells_.wanted.size
        if not is_whole:
            axes = {name: _neighbours(getattr(found, f"{name}_"), best.get(name, 1.0), grids.get(name))
                    for name in axes}  # fmt: skip
        if rows == train.n_rows or perf_counter() - start + took * _GROWTH > seconds:
            break
        rows = min(STEP * rows, train.n_rows)
    at_edge = tuple(
        name for name, grid in grids.items() if grid.size > 2 and not grid[0] * 1.01 < best[name] < grid[-1] * 0.99
    )
    best = {name: float(f"{value:.4g}") for name, value in best.items()}
    return ChosenPoint(best, found.scorer_, abs(found.best_score_), rows, perf_counter() - start, at_edge)


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


def _neighbours(axis: np.ndarray, value: float, grid: np.ndarray | None) -> list[float]:
    """The value, and those before and after it inside of the first grid; a value that was given stays alone."""
    if grid is None or axis.size < 2:
        return [value]
    factor = axis[-1] / axis[-2]
    slack = 1 + 1e-9
    return [near for near in (value / factor, value, value * factor) if grid[0] / slack <= near <= grid[-1] * slack]


def guess(split: Split) -> dict:
    """What the same answer for every row scores: the most frequent label, or the mean; learned on the training rows."""
    known, asked = split.train.y, split.test.y
    if split.train.task == "regression":
        return {"answer": f"{known.mean():.4g}", "score": float(np.sqrt(np.mean((asked - known.mean()) ** 2)))}
    labels, counts = np.unique(known, return_counts=True)
    most = labels[counts.argmax()]
    return {"answer": str(most) if isinstance(most, str) else f"{most:g}", "score": float(np.mean(asked == most))}
