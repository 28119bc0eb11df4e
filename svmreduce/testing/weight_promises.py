"""What solvers promise about weights of rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from svmreduce.testing.made_of import Check, cloud, demand, has, near, new, refused, values_of


def check_weights_are_refused_with_a_reason(solver: Any, within: float) -> None:
    X, y = cloud()
    demand(solver.weights_reason, "weights_reason is empty: say why it takes no weights")
    weights = np.ones(len(y))
    refused(lambda: new(solver).fit(X, y, sample_weight=weights), re.escape(solver.weights_reason), "sample_weight")


def check_whole_weights_equal_repeated_rows(solver: Any, within: float) -> None:
    """A zero weight equals no row."""
    for classes, least, atol in ((2, 0, 1e-3), (3, 1, 1e-2)):
        X, y = cloud(30 * classes, classes=classes, seed=3)
        times = np.random.default_rng(0).integers(least, 4, len(y))
        exact = {name: value for name, value in {"C": 0.7, "tol": 1e-6}.items() if has(solver, name)}
        weighted = new(solver, **exact).fit(X, y, sample_weight=times)
        kernel = getattr(getattr(weighted, "model_", None), "kernel", None)  # a word for gamma means other rows now
        same = {"gamma": kernel.gamma} if has(solver, "gamma") and kernel is not None else {}
        repeated = new(solver, **exact, **same).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        near(values_of(weighted, X), values_of(repeated, X), max(atol, within), "weights and repetitions")
        one, other = (fitted.fit_facts().objective for fitted in (weighted, repeated))
        if one is not None and classes == 2:
            near(np.array(one), np.array(other), abs(other) * max(1e-5, within) / 10, "objectives")
        if getattr(weighted, "support_", None) is not None:
            demand(np.all(times[weighted.support_] > 0), "a row of weight 0 is a support vector")


def check_wrong_weights_are_refused(solver: Any, within: float) -> None:
    X, y = cloud()
    for weights, reason, what in (
        ([-1.0] + [1.0] * 79, "negative", "a negative weight"),
        ([0.0] * 80, "zero", "a weight of zero for every row"),
        ([np.nan] * 80, "NaN", "NaN as a weight"),
        ([1.0] * 79, "sample_weight.shape|inconsistent", "79 weights for 80 rows"),
    ):
        refused(lambda weights=weights: new(solver).fit(X, y, sample_weight=weights), reason, what)


def check_every_class_needs_a_weight(solver: Any, within: float) -> None:
    refused(lambda: new(solver).fit(*cloud(), sample_weight=[0.0, 1.0] * 40), "class", "a class of weight zero")


OF_WEIGHTS: list[Check] = [check_whole_weights_equal_repeated_rows, check_wrong_weights_are_refused]
