"""Solvers that look at the data through a few landmark rows: all rows train, few rows carry the model."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from svmreduce.checks import COUNT, SHARE
from svmreduce.core.kernel_values import kernel_matrix, single_threaded_blas
from svmreduce.core.threads import resolve_threads
from svmreduce.errors import InputError
from svmreduce.memory import check_memory
from svmreduce.parameters import Parameters
from svmreduce.rows import row_keys, sample_of_groups
from svmreduce.solvers._multiclass import one_versus_one
from svmreduce.solvers.base import SVMClassifier, seed_of
from svmreduce.types import DualSolution

_LEAST = 200  # landmarks to take, whatever the share says: fewer save nothing


class LandmarkClassifier(Parameters, SVMClassifier):
    """A decision function f(x) = Σ c_j·k(r_j, x) + b over landmark rows r_j, drawn at random from every class.

    The kernel values between all rows and the landmarks are computed once; each pair of classes takes its
    own rows and landmarks of them.

    Parameters
    ----------
    share : float
        Part of the rows to take as landmarks; but at least 200, or all rows if there are fewer.
    rows : int or None
        Landmarks in all; overrides ``share``.
    """

    share: float = 0.01
    rows: int | None = None
    rules: ClassVar = {"share": SHARE, "rows": COUNT}

    _toy_rows = 1500  # enough for prediction in float32
    _bytes_per_value = 16  # of memory, for every row and landmark

    def _fit_landmarks(self, K, landmarks, y, weights) -> tuple[np.ndarray, float, dict]:
        """Subclass: coefficients of the landmarks, offset, and counters of ``DualSolution``.

        ``K[:, j]`` are the kernel values with row ``landmarks[j]`` of these rows; ``y`` holds ±1.
        """
        raise TypeError(f"{type(self).__name__} does not say how to solve")

    def _solve(self, X, y, weights):
        kernel = self._kernel_spec(X)
        self.threads_ = resolve_threads(self.threads)
        landmarks = self._choose(X, y)
        n, m = X.shape[0], len(landmarks)
        check_memory(
            n * m * self._bytes_per_value + 48 * m * m,
            f"the kernel values of {n} rows with {m} landmarks",
            "lower share or rows, or train on fewer rows",
        )
        K = self._kernel_values(kernel, X, landmarks)
        if not np.isfinite(K.sum()):
            raise InputError("the kernel values are not finite: scale the data")

        def fit_pair(rows, target, own, _):
            mine = np.flatnonzero(np.isin(landmarks, rows, assume_unique=True))
            part = K if len(rows) == n else K[np.ix_(rows, mine)]
            places = np.searchsorted(rows, landmarks[mine])
            coef, offset, counters = self._fit_landmarks(part, places, target, own)
            beta = np.zeros(len(rows))
            beta[places] = coef
            return DualSolution(beta, offset, kernel_evals=0, **counters)

        with single_threaded_blas:  # its own threads would spin where ours sleep
            # row numbers stand for the rows: a pair then knows which rows of K are its own
            found = one_versus_one(fit_pair, np.arange(n), y, weights, kernel, self.classes_)
        model = replace(found.model, vectors=X[found.support])
        return replace(found, model=model, kernel_evals=n * m)

    def _kernel_values(self, kernel, X, landmarks):
        return kernel_matrix(kernel, X, X[landmarks], threads=self.threads_)

    def _choose(self, X, y) -> np.ndarray:
        """Rows of every class in proportion, sorted; equal rows of a class only once."""
        n = X.shape[0]
        rows = max(_LEAST, round(self.share * n)) if self.rows is None else self.rows
        random = np.random.RandomState(seed_of(self.random_state))
        sample = np.sort(np.concatenate(sample_of_groups(y, min(rows, n) / n, random)))
        first = {}
        for place, kind in enumerate(zip(y[sample].tolist(), row_keys(X[sample]), strict=True)):
            first.setdefault(kind, place)
        return sample[list(first.values())]
