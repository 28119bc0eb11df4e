"""What the solvers on our SMO engine share: its options, time limits, and going on from the last solution."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np

from svmreduce.checks import POSITIVE, SWITCH, Rule
from svmreduce.core.threads import resolve_threads
from svmreduce.kernels import KERNELS, PRECOMPUTED
from svmreduce.parameters import Parameters
from svmreduce.solvers._clusters import neighbourhoods
from svmreduce.solvers.base import seed_of


class Engine(Parameters):
    """Parent of ``SMO``, ``SVR`` and ``OneClass``.

    Parameters
    ----------
    kernel : str
        linear, poly, rbf, sigmoid, kmod, gaussian (the same as rbf), gaussian_diagonal, gaussian_mahalanobis (norms
        learned from the training rows), or an average of them: ``rbf:5+poly(degree=2):5``. With precomputed, rows hold
        their kernel values with all training rows.
    tol : float
        Largest violation of the optimality conditions, as LIBSVM's -e.
    max_iter : int
        Steps per problem of the engine, such as that of two classes; -1 leaves the limit to the engine.
    warm_start : bool
        Go on from the solution of the last ``fit``: after C or weights changed, or after rows were added behind those
        of the last time. The answer is the same, up to ``tol``.
    max_seconds : float or None
        End after the round in which this time is up, with the best model so far; ``gap_`` says how good it is. What
        every model needs is never cut short: kernel values of all rows with those that it begins with, and at the end
        of the vectors with each other, some seconds each for 100,000 rows.
    callback : callable or None
        Called once per round with a dict: seconds, rounds, steps, rows looked at, and gap among them; where a search
        begins with parts of the rows, also when a part is done, on any of the threads. The fit ends if it returns True.
    """

    kernels = (*KERNELS, PRECOMPUTED)
    mixes_kernels = True
    stops_in_time = True
    _toy_rows = 2500  # more than a first working set, so that every compiled function is met
    _toy_settings = ({}, {"tol": 1e-5})  # kernel values in float32 and in double

    warm_start: bool = False
    max_seconds: float | None = None
    callback: object = None
    rules: ClassVar = {
        "warm_start": SWITCH,
        "max_seconds": POSITIVE,
        "callback": Rule("a function", callable),
    }

    def _engine_tol(self, rows: int) -> float:
        return self.tol

    def _engine_options(self, X) -> dict:
        self.threads_ = resolve_threads(self.threads)
        return {
            "tol": self._engine_tol(X.shape[0]),
            "cache_mb": self.cache_mb,
            "max_iter": self.max_iter,
            "seed": self._seed,
            "threads": self.threads_,
            "divide": partial(neighbourhoods, seed=self._seed, threads=self.threads_),
        }

    def _validate(self, X, y, sample_weight):
        X, y, weights, kept = super()._validate(X, y, sample_weight)
        self._continued = kept if getattr(self, "warm_start", False) else None
        # once: problems that are solved side by side would race for it; the same for None, since the optimum is one
        self._seed = seed_of(0 if self.random_state is None else self.random_state)
        return X, y, weights, kept

    def _store(self, outcome, X, kept):
        super()._store(outcome, X, kept)
        if self._continued is not None:
            self._last = self.C, kept[outcome.support], outcome.model.coef

    def _start(self, sums: int) -> np.ndarray | None:
        """Coefficients of the last solution times the ratio of the Cs, for the rows of this fit; None to begin anew."""
        C, rows, coef = getattr(self, "_last", (None, None, ()))
        if self._continued is None or len(coef) != sums:
            return None
        last = np.zeros((sums, max(rows.max(), self._continued.max()) + 1))
        last[:, rows] = coef * (self.C / C)
        return last[:, self._continued]
