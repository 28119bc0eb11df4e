"""What every reducer promises."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from scipy import sparse

from svmreduce.testing.made_of import Check, demand, near, new, refused
from svmreduce.testing.solver_promises import check_the_constructor_only_stores, check_warm_up_can_be_repeated
from svmreduce.types import Reduction


def _three_classes() -> tuple[np.ndarray, np.ndarray]:
    """Of very different size."""
    return np.random.default_rng(0).normal(size=(300, 3)), np.repeat(["a", "b", "c"], [200, 97, 3])


def _check_reduction(reducer, kept: Reduction, y, weights) -> None:
    rows = kept.n_rows
    demand(len(kept.y) == len(kept.sample_weight) == rows, "rows, labels and weights differ in number")
    demand(0 < rows < len(y), f"{rows} rows are left of {len(y)}")
    demand(set(kept.y.tolist()) <= set(y.tolist()), "a label is not among the given ones")
    if reducer.keeps_every_class:
        demand(set(kept.y) == set(y), "a class got lost: set keeps_every_class to False if that may happen")
    if reducer.gives_weights:
        total, expected = kept.sample_weight.sum(), weights.sum()
        demand(np.isclose(total, expected), f"the weights add up to {total:g}, those of all rows to {expected:g}")
    elif kept.indices is not None:
        own = np.array_equal(kept.sample_weight, weights[kept.indices])
        demand(own, "it changes weights: set gives_weights to True, or leave them as they are")


def check_kept_rows_are_given_rows(reducer: Any, within: float) -> None:
    X, y = _three_classes()
    for weights in (np.ones(300), np.random.default_rng(1).integers(1, 4, 300).astype(float)):
        kept = new(reducer).fit_reduce(X, y, weights)
        same = np.array_equal(kept.X, X[kept.indices]) and np.array_equal(kept.y, y[kept.indices])
        demand(same, "rows and labels are not those of indices")
        _check_reduction(reducer, kept, y, weights)


def check_made_rows_are_like_given_rows(reducer: Any, within: float) -> None:
    X, y = _three_classes()
    for weights in (np.ones(300), np.random.default_rng(1).integers(1, 4, 300).astype(float)):
        made = new(reducer).fit_reduce(X, y, weights)
        demand(made.indices is None, "indices must be None where selects_rows is False")
        _check_reduction(reducer, made, y, weights)


def check_same_seed_same_rows_and_sparse_equals_dense(reducer: Any, within: float) -> None:
    X, y = _three_classes()
    first, second = (new(reducer).fit_reduce(X, y) for _ in range(2))
    demand(np.array_equal(first.X, second.X), "two reductions with the same parameters differ")
    thin = new(reducer).fit_reduce(sparse.csr_matrix(X), y)
    rows = thin.X.toarray() if sparse.issparse(thin.X) else thin.X
    near(rows, first.X, 1e-9, "reductions of dense and sparse rows")


def check_a_zero_weight_is_a_row_left_out(reducer: Any, within: float) -> None:
    X, y = _three_classes()
    weights = np.where(np.arange(300) % 3 == 1, 0.0, 1.0)
    some = np.flatnonzero(weights)
    whole, part = new(reducer).fit_reduce(X, y, weights), new(reducer).fit_reduce(X[some], y[some])
    demand(np.array_equal(whole.X, part.X), "rows of weight 0 change what is kept")
    if whole.indices is not None:
        demand(np.array_equal(whole.indices, some[part.indices]), "indices do not count all given rows")


def check_wrong_rows_are_refused(reducer: Any, within: float) -> None:
    X, y = _three_classes()
    refused(lambda: new(reducer).fit_reduce(np.where(X > 2, np.nan, X), y), "NaN", "a row with NaN")
    refused(lambda: new(reducer).fit_reduce(X, y, np.zeros(300)), "zero", "a weight of zero for every row")


def check_counters_can_be_recorded(reducer: Any, within: float) -> None:
    info = new(reducer).fit_reduce(*_three_classes()).info
    demand(isinstance(info, dict), f"info is {type(info).__name__}, not a dict")
    try:
        json.dumps(info)
    except TypeError as error:
        raise AssertionError(f"JSON cannot hold info: {error}") from None
    demand(isinstance(info.get("seconds", {}), dict), "info['seconds'] must be a dict of seconds by stage")


OF_REDUCERS: list[Check] = [
    check_the_constructor_only_stores,
    check_same_seed_same_rows_and_sparse_equals_dense,
    check_a_zero_weight_is_a_row_left_out,
    check_wrong_rows_are_refused,
    check_counters_can_be_recorded,
    check_warm_up_can_be_repeated,
]
