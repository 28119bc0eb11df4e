"""What every solver and reducer promises, as checks that any package can run on its own methods.

``check_solver(MySolver)`` and ``check_reducer(MyReducer(share=0.2))`` raise an AssertionError that names the method,
the promise and what was seen instead. A single check is a function of ``solver_checks(method)`` or
``reducer_checks(method)``, for test tools that show them one by one. Nothing here needs a test tool.
"""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from svmreduce.model import load_model
from svmreduce.registry import parameters_of
from svmreduce.types import Reduction

Check = Callable[[Any, float], None]
_TWO_LABELS = ([-1, 1], [0, 1], [5, -3], [1.0, 2.0], ["no", "yes"], [True, False])


def check_solver(solver: Any, *, within: float = 0.0, skip: Iterable[str] = ()) -> None:
    """Check all that a solver promises.

    Parameters
    ----------
    solver : class or instance
    within : how far decision values of two fits with the same optimum may differ, if more than usual
    skip : names of checks that it is known not to pass
    """
    _run(solver, solver_checks(solver), within, skip)


def check_reducer(reducer: Any, *, skip: Iterable[str] = ()) -> None:
    """Check all that a reducer promises; see ``check_solver``."""
    _run(reducer, reducer_checks(reducer), 0.0, skip)


def solver_checks(solver: Any) -> list[Check]:
    """The checks that apply to this solver."""
    made = _instance(solver)
    checks = [*_OF_SOLVERS]
    checks += _OF_CLASSIFIERS if is_classifier(made) else []
    checks += _OF_WEIGHTS if made.accepts_weights else [check_weights_are_refused_with_a_reason]
    if is_classifier(made) and made.accepts_weights:
        checks.append(check_every_class_needs_a_weight)
    if made.kernels:
        checks.append(check_the_model_file_predicts_the_same)
    if len(made.kernels) > 1:
        checks.append(check_an_unknown_kernel_names_the_nearest)
    return checks


def reducer_checks(reducer: Any) -> list[Check]:
    """The checks that apply to this reducer."""
    made = _instance(reducer)
    own = check_kept_rows_are_given_rows if made.selects_rows else check_made_rows_are_like_given_rows
    return [own, *_OF_REDUCERS]


def run_check(check: Check, method: Any, within: float = 0.0) -> None:
    """One check; what is wrong is reported with the names of method and check."""
    made = _instance(method)
    title = f"{type(made).__name__}: {check.__name__.removeprefix('check_').replace('_', ' ')}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            check(made, within)
        except AssertionError as error:
            raise AssertionError(f"{title}: {error}") from None
        except Exception as error:
            raise AssertionError(f"{title}: {type(error).__name__}: {error}") from error


def _run(method: Any, checks: list[Check], within: float, skip: Iterable[str]) -> None:
    unknown = set(skip) - {check.__name__ for check in checks}
    if unknown:
        raise ValueError(f"skip names no check of this method: {', '.join(sorted(unknown))}")
    for check in checks:
        if check.__name__ not in skip:
            run_check(check, method, within)


# What the checks are made of


def _instance(method: Any) -> Any:
    return method() if isinstance(method, type) else clone(method)


def _new(method: Any, **parameters) -> Any:
    return clone(method).set_params(**parameters)


def _has(method: Any, *names: str) -> bool:
    return all(name in parameters_of(type(method)) for name in names)


def _demand(fact: Any, otherwise: str) -> None:
    """``assert`` that python -O keeps."""
    if not fact:
        raise AssertionError(otherwise)


def _refused(call: Callable[[], object], pattern: str, what: str) -> None:
    try:
        call()
    except ValueError as error:
        _demand(re.search(pattern, str(error)), f"{what} is refused with {str(error)!r}, which lacks {pattern!r}")
        return
    raise AssertionError(f"{what} must raise an InputError or ValueError, and raises nothing")


def _near(one: np.ndarray, other: np.ndarray, atol: float, what: str) -> None:
    _demand(one.shape == other.shape, f"{what}: shapes {one.shape} and {other.shape}")
    far = np.abs(np.asarray(one, float) - np.asarray(other, float)).max(initial=0.0)
    _demand(far <= atol, f"{what}: values differ by up to {far:.3g}, allowed are {atol:g}")


def _values(fitted: Any, X) -> np.ndarray:
    """Decision values of a classifier, predictions of a regressor; of the model itself, which has no votes in them."""
    if hasattr(fitted, "model_"):
        return fitted.model_.decision_function(X)
    return fitted.decision_function(X) if is_classifier(fitted) else fitted.predict(X)


def cloud(rows: int = 80, features: int = 4, classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Classes that lie apart, with some overlap."""
    y = np.arange(rows) % classes
    X = np.random.default_rng(seed).normal(size=(rows, features)) + 2.5 * np.eye(classes, features)[y]
    return X, y


def _forms(X: np.ndarray) -> tuple:
    return X, sparse.csr_matrix(X)


def _is_finite(values: np.ndarray, what: str) -> None:
    _demand(np.isfinite(values).all(), f"{what}: {int((~np.isfinite(values)).sum())} values are not finite")


# Every solver


def check_the_constructor_only_stores(solver: Any, within: float) -> None:
    for name in parameters_of(type(solver)):
        kept = _new(solver, **{name: 7.5})
        _demand(kept.get_params(deep=False)[name] == 7.5, f"{name}=7.5 became {kept.get_params(deep=False)[name]!r}")
        fitted = [key for key in vars(kept) if key.endswith("_") and not key.startswith("_")]
        _demand(not fitted, f"{', '.join(fitted)} is there before fit")


def check_fitted_attributes(solver: Any, within: float) -> None:
    X, y = cloud()
    fitted = _new(solver)
    _demand(fitted.fit(X, y) is fitted, "fit must return the solver itself")
    facts = fitted.fit_facts()
    _demand(fitted.n_features_in_ == 4, f"n_features_in_ is {fitted.n_features_in_} for 4 columns")
    _demand(facts.converged is True, "it did not converge on 80 rows with its default parameters")
    _demand(facts.iterations is None or facts.iterations > 0, f"iterations are {facts.iterations}")
    _demand(all(seconds >= 0 for seconds in facts.seconds.values()), f"negative times: {facts.seconds}")
    _demand(fitted.predict(X).shape == y.shape, f"predict returned shape {fitted.predict(X).shape} for 80 rows")
    if getattr(fitted, "support_", None) is not None:
        same = np.array_equal(X[fitted.support_], fitted.support_vectors_)
        _demand(same, "the rows of support_ are not support_vectors_")
        _demand(fitted.dual_coef_.shape[1] == len(fitted.support_), "dual_coef_ has not one column per vector")


def check_sparse_equals_dense(solver: Any, within: float) -> None:
    X, y = cloud()
    X[np.abs(X) < 0.5] = 0
    dense, thin = (_values(_new(solver).fit(rows, y), rows) for rows in _forms(X))
    _near(dense, thin, 2e-2, "fits of dense and sparse rows")


def check_unsorted_and_repeated_sparse_entries_mean_their_sum(solver: Any, within: float) -> None:
    X, y = cloud(20)
    data, columns = np.tile(X / 2, 2), np.tile(np.arange(4)[::-1], (20, 2))
    messy = sparse.csr_matrix((data[:, ::-1].ravel(), columns.ravel(), np.arange(0, 161, 8)), shape=X.shape)
    before = messy.data.copy()
    _near(_new(solver).fit(messy, y).predict(messy), _new(solver).fit(X, y).predict(X), 1e-2, "the same rows")
    _demand(np.array_equal(messy.data, before), "fit changed the given rows")


def check_same_seed_same_model(solver: Any, within: float) -> None:
    X, y = cloud(300, seed=2)
    seeds = (7, np.random.RandomState(7)) if _has(solver, "random_state") else ()
    for parameters in ({}, *({"random_state": seed} for seed in seeds)):
        first, second = (_values(_new(solver, **clone(parameters, safe=False)).fit(X, y), X) for _ in range(2))
        _demand(np.array_equal(first, second), f"two fits with {parameters or 'the same parameters'} differ")
    if seeds:
        _is_finite(_values(_new(solver, random_state=None).fit(X, y), X), "random_state=None")


def check_float32_rows(solver: Any, within: float) -> None:
    X, y = cloud()
    X = X.astype(np.float32)
    single, double = (_new(solver).fit(rows, y).predict(rows) for rows in (X, X.astype(np.float64)))
    _demand(np.array_equal(single, double), "predictions differ from those of the same rows in float64")


def check_wrong_numbers_are_refused(solver: Any, within: float) -> None:
    for name in ("C", "tol"):
        for value in (0, -1, float("nan"), float("inf")) if _has(solver, name) else ():
            _refused(lambda n=name, v=value: _new(solver, **{n: v}).fit(*cloud()), name, f"{name}={value}")


def check_rows_must_be_finite(solver: Any, within: float) -> None:
    for damage in (np.nan, np.inf):
        X, y = cloud()
        X[3, 1] = damage
        _refused(lambda X=X, y=y: _new(solver).fit(X, y), "NaN|infinity", f"a row with {damage}")


def check_more_features_than_rows(solver: Any, within: float) -> None:
    X, y = cloud(10, 60)
    for rows in _forms(X):
        _is_finite(_values(_new(solver).fit(rows, y), rows), "10 rows of 60 features")


def check_nothing_but_zeros(solver: Any, within: float) -> None:
    X, y = np.zeros((8, 3)), np.arange(8) % 2
    for rows in _forms(X):
        values = _values(_new(solver).fit(rows, y), rows)
        _is_finite(values, "rows of zeros")
        _demand(np.ptp(values) == 0, "equal rows have different values")


def check_constant_columns_zero_rows_and_duplicates(solver: Any, within: float) -> None:
    X, y = cloud(40)
    X[:, 1], X[5:8] = 3.0, 0.0
    X, y = np.vstack([X, X[:10]]), np.concatenate([y, y[:10]])
    for rows in _forms(X):
        _is_finite(_values(_new(solver).fit(rows, y), rows), "degenerate rows")


def check_warm_up_can_be_repeated(solver: Any, within: float) -> None:
    for _ in range(2):
        type(solver).warm_up()


# Solvers with kernels


def check_the_model_file_predicts_the_same(solver: Any, within: float) -> None:
    X, y = cloud(classes=3)
    fitted = _new(solver).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        fitted.model_.save(Path(folder) / "model")
        again = load_model(Path(folder) / "model").predict(X)
    _near(again, fitted.predict(X), 1e-12 * np.abs(again).max(), "predictions by the model file and by the solver")


def check_an_unknown_kernel_names_the_nearest(solver: Any, within: float) -> None:
    near = type(solver).kernels[0]
    wrong = f"{near}s"
    _refused(lambda: _new(solver, kernel=wrong).fit(*cloud()), f"'{wrong}': did you mean '{near}'", f"kernel={wrong}")


# Classifiers


def check_any_two_labels(solver: Any, within: float) -> None:
    X, y = cloud()
    for labels in map(np.array, _TWO_LABELS):
        fitted = _new(solver).fit(X, labels[y])
        _demand(fitted.classes_.tolist() == sorted(labels.tolist()), f"classes_ of {labels} are {fitted.classes_}")
        predicted = fitted.predict(X)
        _demand(predicted.dtype == labels.dtype, f"labels of {labels.dtype} are predicted as {predicted.dtype}")
        by_sign = fitted.classes_[(fitted.decision_function(X) > 0).astype(int)]
        _demand(np.array_equal(predicted, by_sign), "a decision value above zero must mean classes_[1]")
        _is_accurate(predicted, labels[y], 0.9)


def _is_accurate(predicted: np.ndarray, y: np.ndarray, least: float) -> None:
    share = np.mean(predicted == y)
    _demand(share > least, f"only {share:.0%} of the training rows are right, for classes that lie apart")


def check_the_order_of_rows_does_not_name_the_classes(solver: Any, within: float) -> None:
    X, y = cloud()
    order = np.argsort(-y, kind="stable")
    forward, backward = (_new(solver).fit(X[rows], y[rows]) for rows in (np.arange(len(y)), order))
    _near(_values(forward, X), _values(backward, X), max(5e-2, within), "rows in another order")


def check_many_classes(solver: Any, within: float) -> None:
    X, y = cloud(150, 6, 5)
    words = np.array(["e", "d", "c", "b", "a"])[y]
    fitted = _new(solver).fit(X, words)
    scores = fitted.decision_function(X)
    _demand(scores.shape == (150, 5), f"decision values of 150 rows and 5 classes have shape {scores.shape}")
    _is_accurate(fitted.classes_[scores.argmax(axis=1)], words, 0.85)
    _is_accurate(fitted.predict(X), words, 0.85)


def check_one_row_per_class(solver: Any, within: float) -> None:
    parameters = {"C": 100} if _has(solver, "C") else {}
    for classes in (2, 3):
        for rows in _forms(np.eye(3)[:classes]):
            predicted = _new(solver, **parameters).fit(rows, range(classes)).predict(rows)
            _demand(predicted.tolist() == list(range(classes)), f"{classes} rows of {classes} classes: {predicted}")


def check_equal_rows_of_both_classes(solver: Any, within: float) -> None:
    fitted = _new(solver).fit(np.ones((6, 2)), [0, 1] * 3)
    _is_finite(fitted.decision_function(np.ones((1, 2))), "six equal rows")


def check_contradictions_among_other_rows(solver: Any, within: float) -> None:
    X, y = cloud(60)
    twice, labels = np.vstack([X, X[:6]]), np.concatenate([y, 1 - y[:6]])
    for rows in _forms(twice):
        fitted = _new(solver).fit(rows, labels)
        _is_finite(fitted.decision_function(rows), "six rows with both labels")
        _is_accurate(fitted.predict(rows)[6:60], y[6:], 0.9)


def check_one_class_is_refused(solver: Any, within: float) -> None:
    _refused(lambda: _new(solver).fit(np.eye(3), [1, 1, 1]), "class", "training on one class")


def check_fractions_are_not_classes(solver: Any, within: float) -> None:
    _refused(lambda: _new(solver).fit(np.eye(3), [0.1, 0.2, 0.3]), "continuous", "a fraction as a label")


# Weights


def check_weights_are_refused_with_a_reason(solver: Any, within: float) -> None:
    X, y = cloud()
    _demand(solver.weights_reason, "weights_reason is empty: say why it takes no weights")
    weights = np.ones(len(y))
    _refused(lambda: _new(solver).fit(X, y, sample_weight=weights), re.escape(solver.weights_reason), "sample_weight")


def check_whole_weights_equal_repeated_rows(solver: Any, within: float) -> None:
    """A zero weight equals no row."""
    for classes, least, atol in ((2, 0, 1e-3), (3, 1, 1e-2)):
        X, y = cloud(30 * classes, classes=classes, seed=3)
        times = np.random.default_rng(0).integers(least, 4, len(y))
        exact = {name: value for name, value in {"C": 0.7, "tol": 1e-6}.items() if _has(solver, name)}
        weighted = _new(solver, **exact).fit(X, y, sample_weight=times)
        kernel = getattr(getattr(weighted, "model_", None), "kernel", None)  # a word for gamma means other rows now
        same = {"gamma": kernel.gamma} if _has(solver, "gamma") and kernel is not None else {}
        repeated = _new(solver, **exact, **same).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        _near(_values(weighted, X), _values(repeated, X), max(atol, within), "weights and repetitions")
        one, other = (fitted.fit_facts().objective for fitted in (weighted, repeated))
        if one is not None and classes == 2:
            _near(np.array(one), np.array(other), abs(other) * max(1e-5, within) / 10, "objectives")
        if getattr(weighted, "support_", None) is not None:
            _demand(np.all(times[weighted.support_] > 0), "a row of weight 0 is a support vector")


def check_wrong_weights_are_refused(solver: Any, within: float) -> None:
    X, y = cloud()
    for weights, reason, what in (
        ([-1.0] + [1.0] * 79, "negative", "a negative weight"),
        ([0.0] * 80, "zero", "a weight of zero for every row"),
        ([np.nan] * 80, "NaN", "NaN as a weight"),
        ([1.0] * 79, "sample_weight.shape|inconsistent", "79 weights for 80 rows"),
    ):
        _refused(lambda weights=weights: _new(solver).fit(X, y, sample_weight=weights), reason, what)


def check_every_class_needs_a_weight(solver: Any, within: float) -> None:
    _refused(lambda: _new(solver).fit(*cloud(), sample_weight=[0.0, 1.0] * 40), "class", "a class of weight zero")


# Reducers


def _three_classes() -> tuple[np.ndarray, np.ndarray]:
    """Of very different size."""
    return np.random.default_rng(0).normal(size=(300, 3)), np.repeat(["a", "b", "c"], [200, 97, 3])


def _check_reduction(reducer, kept: Reduction, y, weights) -> None:
    rows = kept.n_rows
    _demand(len(kept.y) == len(kept.sample_weight) == rows, "rows, labels and weights differ in number")
    _demand(0 < rows < len(y), f"{rows} rows are left of {len(y)}")
    _demand(set(kept.y.tolist()) <= set(y.tolist()), "a label is not among the given ones")
    if reducer.keeps_every_class:
        _demand(set(kept.y) == set(y), "a class got lost: set keeps_every_class to False if that may happen")
    if reducer.gives_weights:
        total, expected = kept.sample_weight.sum(), weights.sum()
        _demand(np.isclose(total, expected), f"the weights add up to {total:g}, those of all rows to {expected:g}")
    elif kept.indices is not None:
        own = np.array_equal(kept.sample_weight, weights[kept.indices])
        _demand(own, "it changes weights: set gives_weights to True, or leave them as they are")


def check_kept_rows_are_given_rows(reducer: Any, within: float) -> None:
    X, y = _three_classes()
    for weights in (np.ones(300), np.random.default_rng(1).integers(1, 4, 300).astype(float)):
        kept = _new(reducer).fit_reduce(X, y, weights)
        same = np.array_equal(kept.X, X[kept.indices]) and np.array_equal(kept.y, y[kept.indices])
        _demand(same, "rows and labels are not those of indices")
        _check_reduction(reducer, kept, y, weights)


def check_made_rows_are_like_given_rows(reducer: Any, within: float) -> None:
    X, y = _three_classes()
    for weights in (np.ones(300), np.random.default_rng(1).integers(1, 4, 300).astype(float)):
        made = _new(reducer).fit_reduce(X, y, weights)
        _demand(made.indices is None, "indices must be None where selects_rows is False")
        _check_reduction(reducer, made, y, weights)


def check_same_seed_same_rows_and_sparse_equals_dense(reducer: Any, within: float) -> None:
    X, y = _three_classes()
    first, second = (_new(reducer).fit_reduce(X, y) for _ in range(2))
    _demand(np.array_equal(first.X, second.X), "two reductions with the same parameters differ")
    thin = _new(reducer).fit_reduce(sparse.csr_matrix(X), y)
    rows = thin.X.toarray() if sparse.issparse(thin.X) else thin.X
    _near(rows, first.X, 1e-9, "reductions of dense and sparse rows")


def check_a_zero_weight_is_a_row_left_out(reducer: Any, within: float) -> None:
    X, y = _three_classes()
    weights = np.where(np.arange(300) % 3 == 1, 0.0, 1.0)
    some = np.flatnonzero(weights)
    whole, part = _new(reducer).fit_reduce(X, y, weights), _new(reducer).fit_reduce(X[some], y[some])
    _demand(np.array_equal(whole.X, part.X), "rows of weight 0 change what is kept")
    if whole.indices is not None:
        _demand(np.array_equal(whole.indices, some[part.indices]), "indices do not count all given rows")


def check_wrong_rows_are_refused(reducer: Any, within: float) -> None:
    X, y = _three_classes()
    _refused(lambda: _new(reducer).fit_reduce(np.where(X > 2, np.nan, X), y), "NaN", "a row with NaN")
    _refused(lambda: _new(reducer).fit_reduce(X, y, np.zeros(300)), "zero", "a weight of zero for every row")


def check_counters_can_be_recorded(reducer: Any, within: float) -> None:
    info = _new(reducer).fit_reduce(*_three_classes()).info
    _demand(isinstance(info, dict), f"info is {type(info).__name__}, not a dict")
    try:
        json.dumps(info)
    except TypeError as error:
        raise AssertionError(f"JSON cannot hold info: {error}") from None
    _demand(isinstance(info.get("seconds", {}), dict), "info['seconds'] must be a dict of seconds by stage")


_OF_SOLVERS: list[Check] = [
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
_OF_CLASSIFIERS: list[Check] = [
    check_any_two_labels,
    check_the_order_of_rows_does_not_name_the_classes,
    check_many_classes,
    check_one_row_per_class,
    check_equal_rows_of_both_classes,
    check_contradictions_among_other_rows,
    check_one_class_is_refused,
    check_fractions_are_not_classes,
]
_OF_WEIGHTS: list[Check] = [check_whole_weights_equal_repeated_rows, check_wrong_weights_are_refused]
_OF_REDUCERS: list[Check] = [
    check_the_constructor_only_stores,
    check_same_seed_same_rows_and_sparse_equals_dense,
    check_a_zero_weight_is_a_row_left_out,
    check_wrong_rows_are_refused,
    check_counters_can_be_recorded,
    check_warm_up_can_be_repeated,
]
