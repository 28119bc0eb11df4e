"""What a search knows of its cells: C × gamma × epsilon, with figures for every fold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import rankdata

from svmreduce.errors import InputError
from svmreduce.search.fold_paths import PathResult

Cell = tuple[int, int, int]
"""Places on the axes of C, gamma and epsilon."""


class Cells:
    """Scores (greater is better), support vectors, gaps and steps; a cell without all its folds has no mean.

    Attributes
    ----------
    wanted : bool array over the cells
        Which are searched on all rows; the others were left out by screening.
    """

    def __init__(self, *sizes: int):
        self.shape = sizes  # of the three axes, and how many folds
        self.wanted = np.ones(sizes[:3], bool)
        self.clear()

    def clear(self) -> None:
        self.scores, self.vectors = np.full(self.shape, np.nan), np.full(self.shape, np.nan)
        self.gaps, self.steps = np.zeros(self.shape), np.zeros(self.shape, np.int64)

    def put(self, on_path: np.ndarray, g: int, e: int, fold: int, result: PathResult) -> None:
        """Keep a path; ``on_path`` says which values of C it has."""
        place = on_path, g, e, fold
        self.scores[place], self.vectors[place] = result.scores, result.vectors
        self.gaps[place], self.steps[place] = result.gaps, result.steps

    @property
    def mean(self) -> np.ndarray:
        return self.scores.mean(axis=3)

    def best(self) -> Cell | None:
        """Of equal ones the smallest C, then the smallest gamma; None if no cell is finished."""
        mean = self.mean
        return None if np.isnan(mean).all() else np.unravel_index(np.nanargmax(mean), mean.shape)

    def want_best(self, count: int) -> None:
        """Leave out all others, and forget what is known: it was found on fewer rows."""
        mean = self.mean
        order = np.argsort(-np.where(np.isnan(mean), -np.inf, mean), axis=None, kind="stable")
        self.wanted = np.zeros(mean.shape, bool)
        self.wanted[np.unravel_index(order[:count], mean.shape)] = True
        self.clear()

    def results(self, params_of: Callable[..., dict]) -> tuple[dict, int]:
        """``cv_results_`` as scikit-learn has it, and the place of the best cell in it."""
        best = self.best()
        if best is None:
            raise InputError("no cell was finished: give more time or a smaller grid")
        params = [params_of(*cell) for cell in np.ndindex(self.wanted.shape)]
        scores = self.scores.reshape(len(params), -1)
        mean = scores.mean(axis=1)
        filled = np.where(np.isnan(mean), np.nanmin(mean) - 1, mean)
        table = {
            "params": params,
            **{f"param_{key}": np.ma.array([one[key] for one in params]) for key in params[0]},
            **{f"split{fold}_test_score": scores[:, fold] for fold in range(scores.shape[1])},
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": rankdata(-filled, method="min").astype(np.int32),
            "mean_vectors": self.vectors.mean(axis=3).ravel(),
            "max_gap": self.gaps.max(axis=3).ravel(),
            "iterations": self.steps.sum(axis=3).ravel(),
        }
        return table, int(np.ravel_multi_index(best, self.wanted.shape))
