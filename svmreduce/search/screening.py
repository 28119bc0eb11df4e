"""Fewer training rows for a first look at a grid; validation rows stay all."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock

import numpy as np

from svmreduce.errors import InputError, nearest_name_error
from svmreduce.reducers.derive_rs import DeriveRS
from svmreduce.search.problems import DualProblem

SHARE, LEAST = 0.1, 500  # of ``random``: one row in ten, but some hundred


class _Screen:
    """Calls with a kernel and a problem give the problem on fewer rows; counts what it kept."""

    keeps_few = False

    def __init__(self, X, seed, threads):
        self.X, self.seed, self.threads = X, seed, threads
        self.given = self.kept = 0
        self._lock = Lock()

    def __call__(self, kernel, problem: DualProblem) -> DualProblem:
        if np.unique(problem.rows).size < problem.rows.size:
            raise InputError("screening is only for classification, with every training row once")
        places, weights = self.choose(kernel, problem)
        with self._lock:
            self.given += problem.rows.size
            self.kept += places.size
        parts = {name: getattr(problem, name)[places] for name in ("rows", "target", "lower", "upper")}
        return replace(problem, **parts | {"lower": parts["lower"] * weights, "upper": parts["upper"] * weights})


class _Aesvm(_Screen):
    def choose(self, kernel, problem):
        reducer = DeriveRS(kernel=kernel, threads=self.threads)
        reduction = reducer.fit_reduce(self.X[problem.rows], problem.target)
        return reduction.indices, reduction.sample_weight


class _Random(_Screen):
    keeps_few = True

    def choose(self, kernel, problem):
        """The same share of both classes; each row stands for as many as were left out per row."""
        rng = np.random.default_rng(self.seed)
        share = min(1.0, max(SHARE, LEAST / problem.target.size))
        sides = [np.flatnonzero(problem.target == side) for side in (-1.0, 1.0)]
        places = np.sort(
            np.concatenate([rng.choice(side, max(1, round(share * side.size)), replace=False) for side in sides])
        )
        return places, np.full(places.size, problem.target.size / places.size)


SCREENS = {"aesvm": _Aesvm, "random": _Random}


def reducer_named(name: str, X, seed, threads) -> _Screen:
    if name not in SCREENS:
        raise nearest_name_error("screen", name, SCREENS)
    return SCREENS[name](X, seed, threads)
