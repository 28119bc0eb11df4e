"""Every row seen by a model that was not trained on it: cross-validated predictions, and sigmoids of probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from svmreduce.checks import class_weights
from svmreduce.core.watch import share_of_time, time_is_up
from svmreduce.errors import InputError
from svmreduce.model import KernelModel
from svmreduce.model.probabilities import fit_sigmoid
from svmreduce.types import Matrix

PLATT_FOLDS = 5
RowsOfFold = Callable[[np.ndarray, np.ndarray], tuple[Matrix, Matrix]]


def held_out(
    estimator, X, y, sample_weight, folds: int, seed: int, rows_of: RowsOfFold | None = None
) -> Iterator[tuple[np.ndarray, Matrix, object]]:
    """For every fold its row numbers, its rows, and the estimator fitted to all others; classes keep their shares."""
    parts = fold_parts(estimator, y, folds, seed)
    if rows_of is None:
        is_table = get_tags(estimator).input_tags.pairwise  # of kernel values: columns are rows, too
        rows_of = partial(_slices, X, is_table)
    for number, (train, test) in enumerate(parts):
        weights = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
        with warnings.catch_warnings(), share_of_time(folds - number):
            warnings.simplefilter("ignore", ConvergenceWarning)
            of_train, of_test = rows_of(train, test)
            fitted = clone(estimator).fit(of_train, y[train], **weights)
        time_is_up(folds=number + 1)
        yield test, of_test, fitted


def fold_parts(estimator, y, folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Row numbers for training and test of every fold."""
    from sklearn.model_selection import KFold, StratifiedKFold  # half a second, for those who need it

    splitter = (StratifiedKFold if is_classifier(estimator) else KFold)(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a class with fewer rows than folds
        return list(splitter.split(np.zeros(len(y)), y))


def _slices(X, is_table: bool, train, test) -> tuple[Matrix, Matrix]:
    return (X[train][:, train], X[test][:, train]) if is_table else (X[train], X[test])


def cross_validate(
    estimator,
    X,
    y,
    sample_weight=None,
    *,
    folds: int = 5,
    seed: int = 0,
    rows_of: RowsOfFold | None = None,
    at_once: Callable | None = None,
    each: Callable | None = None,
) -> np.ndarray:
    """A prediction for every row by a model that was trained on the other folds.

    ``rows_of(train, test)`` gives the rows of a fold, if they are not just those of ``X``. ``at_once(parts)`` gives the
    predictions of all folds, for a solver that need not be fitted to one after the other, or None. ``each`` is told of
    every other estimator once it is fitted.
    """
    y = np.asarray(y)
    if not 2 <= folds <= len(y):
        raise InputError(f"{folds} folds of {len(y)} rows: give a number from 2 to the number of rows")
    counts = np.sort(np.unique(y, return_counts=True)[1]) if is_classifier(estimator) else np.array([folds, folds])
    if counts[-1] < folds:
        raise InputError(f"{folds} folds, but no class has so many rows: give fewer folds")
    if len(counts) < 2 or counts[-2] < 2:
        raise InputError("folds need two classes of at least two rows each, so that every part has both")
    predicted = np.empty_like(y)
    if at_once is not None:
        parts = fold_parts(estimator, y, folds, seed)
        found = at_once(parts)
        if found is not None:
            for (_, test), labels in zip(parts, found, strict=True):
                predicted[test] = labels
            return predicted
    for test, rows, fitted in held_out(estimator, X, y, sample_weight, folds, seed, rows_of):
        predicted[test] = fitted.predict(rows)
        if each is not None:
            each(fitted)
    return predicted


def with_probabilities(model: KernelModel, estimator, X, y, sample_weight, seed: int) -> KernelModel:
    """The model with a sigmoid for every pair of classes, fitted to decision values of rows held out (five folds).

    Parameters
    ----------
    model : what the estimator became on all rows
    estimator : unfitted, and without probabilities of its own
    sample_weight : how much a row counts in the fit and in the sigmoids; class weights count in both as well, so that
        probabilities are about the classes as they were weighted, which is what labels are about
    """
    if not (isinstance(model, KernelModel) and model.pairwise):
        raise InputError("probabilities need a model with support vectors; this one has none")
    fewest = np.unique(y, return_counts=True)[1].min()
    if fewest < 2:
        raise InputError("probabilities need at least two rows of every class, to hold one out")
    k, places = len(model.labels), np.searchsorted(np.sort(model.labels), y)
    place_of = np.argsort(np.argsort(model.labels))  # of a label of the model, among sorted classes
    values = np.empty((len(y), k * (k - 1) // 2))
    for test, rows, fitted in held_out(estimator, X, y, sample_weight, int(min(PLATT_FOLDS, fewest)), seed):
        rows, options = getattr(fitted, "solver_", fitted)._new_rows(rows)
        values[test] = _in_pairs_of(model, fitted.model_, rows, options)
    weights = _weights(estimator, y, sample_weight)
    sigmoids = np.empty((2, values.shape[1]))
    for column, (i, j) in enumerate(combinations(range(k), 2)):
        rows = np.flatnonzero((places == place_of[i]) | (places == place_of[j]))
        sigmoids[:, column] = fit_sigmoid(values[rows, column], places[rows] == place_of[i], weights[rows])
    return replace(model, sigmoids=sigmoids)


def _in_pairs_of(model: KernelModel, other: KernelModel, X, options: dict) -> np.ndarray:
    """Decision values of another model for the pairs of this one: the same classes, maybe in another order."""
    values = other.decision_function(X, **options).reshape(X.shape[0], -1)
    at = {label: place for place, label in enumerate(other.labels.tolist())}
    column_of = {pair: column for column, pair in enumerate(combinations(range(len(at)), 2))}
    columns, signs = [], []
    for first, second in combinations(model.labels.tolist(), 2):
        i, j = at[first], at[second]
        columns.append(column_of[min(i, j), max(i, j)])
        signs.append(1.0 if i < j else -1.0)
    return values[:, columns] * signs


def _weights(estimator, y, sample_weight) -> np.ndarray:
    from sklearn.utils.class_weight import compute_sample_weight

    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    given = getattr(estimator, "class_weight", None)
    if isinstance(given, dict):
        given = class_weights(given, np.unique(y))
    return weights if given is None else weights * compute_sample_weight(given, y)
