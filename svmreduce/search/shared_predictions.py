"""Predictions for rows held out, all folds and all C at once: ``train -v`` and ``--tune-C`` by way of the search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from svmreduce.checks import check_parameters
from svmreduce.core.watch import time_is_up
from svmreduce.kernels import KERNEL_CODES, PRECOMPUTED, KernelSpec
from svmreduce.rows import canonical_rows
from svmreduce.search.fold_paths import GridSearch
from svmreduce.search.problems import ClassFold, weight_by_code
from svmreduce.solvers.smo import SMO

Split = tuple[np.ndarray, np.ndarray]


def _can_share(solver, sample_weight) -> bool:
    """Whether folds of this solver differ in their rows only: its kernel is known before the rows are."""
    if type(solver) is not SMO or not isinstance(solver.kernel, str):
        return False
    plain = solver.kernel in KERNEL_CODES and solver.kernel != PRECOMPUTED
    fixed = solver.kernel == "linear" or not isinstance(solver.gamma, str)
    limited = solver.max_iter != -1 or solver.max_seconds is not None or solver.callback is not None
    return plain and fixed and not limited and (sample_weight is None or np.min(sample_weight) > 0)


def predictions(
    solver, X, y, sample_weight, splits: Sequence[Split], values: Sequence[float]
) -> list[list[np.ndarray]] | None:
    """For every split a list over C, ascending, of labels for its test rows.

    None where there is nothing to share: a solver other than SMO, a kernel that is learned from the rows of a fold, or
    one C and no room for the kernel matrix.

    Parameters
    ----------
    solver : unfitted; its C does not count
    X, y, sample_weight : all rows
    splits : row numbers for training and test
    values : of C
    """
    if not _can_share(solver, sample_weight):
        return None
    check_parameters(solver)
    X, y = canonical_rows(X), np.asarray(y)
    classes, codes = np.unique(y, return_inverse=True)
    weight = weight_by_code(solver.class_weight, classes)
    folds = [ClassFold(codes, train, test, weight, sample_weight) for train, test in splits]
    kernel = KernelSpec(solver.kernel, 1.0 if solver.kernel == "linear" else solver.gamma, solver.coef0, solver.degree)
    found: list[list[np.ndarray]] = [[] for _ in folds]
    numbers = {id(fold): number for number, fold in enumerate(folds)}

    def keep(fold, predicted, decisions) -> float:
        found[numbers[id(fold)]].append(classes[predicted])
        return 0.0

    grid = GridSearch(X, [kernel], np.sort(np.asarray(values, np.float64)), folds, keep, tol=solver.tol,
                      cache_mb=solver.cache_mb, threads=solver.threads)  # fmt: skip
    if not grid.shares_matrix and len(values) == 1:
        return None
    done = []

    def tell(*_) -> None:
        done.append(None)
        time_is_up(folds=len(done))

    grid.run(tell)
    return found
