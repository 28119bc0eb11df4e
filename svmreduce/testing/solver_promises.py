"""What every solver promises, and every one with kernels."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from svmreduce.model import load_model
from svmreduce.registry import parameters_of
from svmreduce.testing.made_of import Check, cloud, demand, forms, has, is_finite, near, new, refused, values_of


def check_the_constructor_only_stores(solver: Any, within: float) -> None:
    for name in parameters_of(type(solver)):
        kept = new(solver, **{name: 7.5})
        demand(kept.get_params(deep=False)[name] == 7.5, f"{name}=7.5 became {kept.get_params(deep=False)[name]!r}")
        fitted = [key for key in vars(kept) if key.endswith("_") and not key.startswith("_")]
        demand(not fitted, f"{', '.join(fitted)} is there before fit")


def check_fitted_attributes(solver: Any, within: float) -> None:
    X, y = cloud()
    fitted = new(solver)
    demand(fitted.fit(X, y) is fitted, "fit must return the solver itself")
    facts = fitted.fit_facts()
    demand(fitted.n_features_in_ == 4, f"n_features_in_ is {fitted.n_features_in_} for 4 columns")
    demand(facts.converged is True, "it did not converge on 80 rows with its default parameters")
    demand(facts.iterations is None or facts.iterations > 0, f"iterations are {facts.iterations}")
    demand(all(seconds >= 0 for seconds in facts.seconds.values()), f"negative times: {facts.seconds}")
    demand(fitted.predict(X).shape == y.shape, f"predict returned shape {fitted.predict(X).shape} for 80 rows")
    if getattr(fitted, "support_", None) is not None:
        same = np.array_equal(X[fitted.support_], fitted.support_vectors_)
        demand(same, "the rows of support_ are not support_vectors_")
        demand(fitted.dual_coef_.shape[1] == len(fitted.support_), "dual_coef_ has not one column per vector")


def check_sparse_equals_dense(solver: Any, within: float) -> None:
    X, y = cloud()
    X[np.abs(X) < 0.5] = 0
    dense, thin = (values_of(new(solver).fit(rows, y), rows) for rows in forms(X))
    near(dense, thin, 2e-2, "fits of dense and sparse rows")


def check_unsorted_and_repeated_sparse_entries_mean_their_sum(solver: Any, within: float) -> None:
    X, y = cloud(20)
    data, columns = np.tile(X / 2, 2), np.tile(np.arange(4)[::-1], (20, 2))
    messy = sparse.csr_matrix((data[:, ::-1].ravel(), columns.ravel(), np.arange(0, 161, 8)), shape=X.shape)
    before = messy.data.copy()
    near(new(solver).fit(messy, y).predict(messy), new(solver).fit(X, y).predict(X), 1e-2, "the same rows")
    demand(np.array_equal(messy.data, before), "fit changed the given rows")


def check_same_seed_same_model(solver: Any, within: float) -> None:
    X, y = cloud(300, seed=2)
    seeds = (7, np.random.RandomState(7)) if has(solver, "random_state") else ()
    for parameters in ({}, *({"random_state": seed} for seed in seeds)):
        first, second = (values_of(new(solver, **clone(parameters, safe=False)).fit(X, y), X) for _ in range(2))
        demand(np.array_equal(first, second), f"two fits with {parameters or 'the same parameters'} differ")
    if seeds:
        is_finite(values_of(new(solver, random_state=None).fit(X, y), X), "random_state=None")


def check_float32_rows(solver: Any, within: float) -> None:
    X, y = cloud()
    X = X.astype(np.float32)
    single, double = (new(solver).fit(rows, y).predict(rows) for rows in (X, X.astype(np.float64)))
    demand(np.array_equal(single, double), "predictions differ from those of the same rows in float64")


def check_wrong_numbers_are_refused(solver: Any, within: float) -> None:
    for name in ("C", "tol"):
        for value in (0, -1, float("nan"), float("inf")) if has(solver, name) else ():
            refused(lambda n=name, v=value: new(solver, **{n: v}).fit(*cloud()), name, f"{name}={value}")


def check_rows_must_be_finite(solver: Any, within: float) -> None:
    for damage in (np.nan, np.inf):
        X, y = cloud()
        X[3, 1] = damage
        refused(lambda X=X, y=y: new(solver).fit(X, y), "NaN|infinity", f"a row with {damage}")


def check_more_features_than_rows(solver: Any, within: float) -> None:
    X, y = cloud(10, 60)
    for rows in forms(X):
        is_finite(values_of(new(solver).fit(rows, y), rows), "10 rows of 60 features")


def check_nothing_but_zeros(solver: Any, within: float) -> None:
    X, y = np.zeros((8, 3)), np.arange(8) % 2
    for rows in forms(X):
        values = values_of(new(solver).fit(rows, y), rows)
        is_finite(values, "rows of zeros")
        demand(np.ptp(values) == 0, "equal rows have different values")


def check_constant_columns_zero_rows_and_duplicates(solver: Any, within: float) -> None:
    X, y = cloud(40)
    X[:, 1], X[5:8] = 3.0, 0.0
    X, y = np.vstack([X, X[:10]]), np.concatenate([y, y[:10]])
    for rows in forms(X):
        is_finite(values_of(new(solver).fit(rows, y), rows), "degenerate rows")


def check_warm_up_can_be_repeated(solver: Any, within: float) -> None:
    for _ in range(2):
        type(solver).warm_up()


def check_the_model_file_predicts_the_same(solver: Any, within: float) -> None:
    X, y = cloud(classes=3)
    fitted = new(solver).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        fitted.model_.save(Path(folder) / "model")
        again = load_model(Path(folder) / "model").predict(X)
    near(again, fitted.predict(X), 1e-12 * np.abs(again).max(), "predictions by the model file and by the solver")


def check_an_unknown_kernel_names_the_nearest(solver: Any, within: float) -> None:
    near = type(solver).kernels[0]
    wrong = f"{near}s"
    refused(lambda: new(solver, kernel=wrong).fit(*cloud()), f"'{wrong}': did you mean '{near}'", f"kernel={wrong}")


OF_SOLVERS: list[Check] = [
    check_the_constructor_only_stores,
    check_fitted_attributes,
    check_sparse_equals_dense,
    check_unsorted_and_repeated_sparse_entries_mean_their_sum,
    check_same_seed_same_model,
    check_float32_rows,
    check_wrong_numbers_are_refused,
    check_rows_must_be_finite,
    check_more_features_than_rows,
    check_nothing_but_zeros,
    check_constant_columns_zero_rows_and_duplicates,
    check_warm_up_can_be_repeated,
]
