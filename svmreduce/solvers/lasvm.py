"""LASVM: online kernel SVM, one row after the other."""

from __future__ import annotations

from itertools import combinations
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _num_samples, validate_data

from svmreduce.checks import COUNT, SWITCH, one_of
from svmreduce.core.lasvm_search import SELECTIONS, OnlineSearch
from svmreduce.core.optimality import certify
from svmreduce.core.threads import resolve_threads
from svmreduce.core.watch import time_is_up
from svmreduce.errors import InputError
from svmreduce.model.class_order import in_class_order
from svmreduce.parameters import Parameters
from svmreduce.rows import stacked
from svmreduce.solvers._multiclass import one_versus_one
from svmreduce.solvers.base import ROWS, SVMClassifier, seed_of
from svmreduce.types import DualSolution, RowsLike


class LASVM(
    Parameters,
    SVMClassifier,
    parameters="C kernel gamma coef0 degree epochs selection candidates finishing tol cache_mb max_iter threads "
    "random_state class_weight",
):
    """C-SVC that looks at the rows one by one and keeps only those that matter.

    A new row that violates the margin takes a step with its best partner among the rows kept (PROCESS), then
    the worst pair of those takes one (REPROCESS), and rows of no more use are dropped. After the last pass,
    FINISHING solves the problem of the rows kept. One pass comes close to the SVM of all rows; ``gap_`` says
    how close, and more passes go on until no row violates. ``partial_fit`` goes on with further rows.

    Parameters
    ----------
    epochs : int
        Passes over the rows; fewer, if one has found nothing to do.
    selection : {"random", "gradient", "active"}
        Which row comes next: any that was not seen in this pass, or, of some random candidates, the one that is
        most wrong, or the one nearest to the decision boundary. The last needs no label, and passes by rows far on
        the wrong side: it does not lead to the SVM of all rows, but to a sparser one.
    candidates : int
        For "gradient" and "active".
    finishing : bool
        Whether to solve the problem of the rows kept at the end.
    tol : float
        The paper's τ: pairs of rows that violate the optimality conditions by less are left alone.
    max_iter : int
        Steps of FINISHING; -1 for LIBSVM's limit, max(10⁷, 100·rows).
    """

    stops_in_time = True
    _toy_settings = ({}, {"tol": 1e-5, "epochs": 2})

    epochs: int = 1
    selection: str = "random"
    candidates: int = 50
    finishing: bool = True
    rules: ClassVar = {
        "epochs": COUNT,
        "selection": one_of(*SELECTIONS),
        "candidates": COUNT,
        "finishing": SWITCH,
    }

    def fit(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        self._past = None
        super().fit(X, y, sample_weight)
        self._rows_seen = _num_samples(X)
        return self

    def partial_fit(
        self, X: RowsLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Continue with these rows: ``epochs`` passes over them, starting from what was learned before.

        Of earlier rows only the support vectors are still known. ``support_`` counts all rows since ``fit`` or
        the first call; ``gap_`` is about the rows of this call and the support vectors before it.

        Parameters
        ----------
        X, y, sample_weight : as for ``fit``
        classes : array, optional
            Every class there will be. The first rows must show each of them.
        """
        if not hasattr(self, "model_"):
            self._check_classes(y, classes)
            return self.fit(X, y, sample_weight)
        if self.class_weight == "balanced":
            raise InputError("class_weight='balanced' needs all rows at once: give partial_fit a dict of weights")
        X, y, weights = self._new_batch(X, y, sample_weight)
        self._past = past = self.model_
        labels = np.repeat(past.labels, past.n_support)
        rows = np.empty_like(self.support_)
        rows[in_class_order(past).vectors] = self.support_
        numbers = np.concatenate([rows, self._rows_seen + np.arange(len(y))])
        super().fit(stacked([past.vectors, X]), np.concatenate([labels, y]),
                    np.concatenate([self._support_weights, weights]))  # fmt: skip
        self.support_ = numbers[self.support_]
        self._rows_seen += len(y)
        return self

    def _check_classes(self, y, classes):
        if classes is not None and set(np.unique(classes)) != set(np.unique(y)):
            raise InputError(f"the first rows must show every class; classes are {list(classes)}, the rows have "
                             f"{np.unique(y).tolist()}")  # fmt: skip

    def _new_batch(self, X, y, sample_weight):
        X, y = validate_data(self, X, y, reset=False, **ROWS)
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise InputError(f"label {unknown[0]!r} is new; partial_fit knows {self.classes_.tolist()}")
        return X, y, np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)

    def _kernel_spec(self, X):
        return super()._kernel_spec(X) if self._past is None else self._past.kernel

    def _solve_with(self, kernel, X, y, weights):
        pairs = combinations(range(len(self.classes_)), 2)  # in the order of one_versus_one

        def fit_binary(part, target, own, kernel):
            return self._fit_from(self._start(*next(pairs), len(target)), part, target, own, kernel)

        outcome = one_versus_one(fit_binary, X, y, weights, kernel, self.classes_)
        own = self.class_factors(self.classes_[y])[y[outcome.support]]  # comes on top again in the next call
        self._support_weights = weights[outcome.support] / own
        return outcome

    def _start(self, i, j, rows):
        """β of a pair of classes before this call; the support vectors of that time come first."""
        beta = np.zeros(rows)
        if self._past is not None:
            ends = np.concatenate([[0], np.cumsum(self._past.n_support)])
            own = [self._past.coef[j - 1, ends[i] : ends[i + 1]], self._past.coef[i, ends[j] : ends[j + 1]]]
            beta[: len(own[0]) + len(own[1])] = np.concatenate(own)
        return beta

    def _fit_from(self, beta, X, y, weights, kernel):
        self.threads_ = resolve_threads(self.threads)
        box = self.C * weights
        lower, upper = np.where(y > 0, 0.0, -box), np.where(y > 0, box, 0.0)
        if np.any((beta < lower) | (beta > upper)):
            raise InputError("C is smaller than when these support vectors were learned: set it back, or use fit")
        search = OnlineSearch(X, y, lower, upper, kernel, tol=self.tol, cache_mb=self.cache_mb,
                              seed=seed_of(self.random_state), threads=self.threads_, beta=beta)  # fmt: skip
        for _ in range(self.epochs):
            before = search.inserted
            search.pass_over(self.selection, self.candidates)
            if (search.inserted == before and search.gap <= self.tol) or time_is_up():
                break
        if self.finishing:
            search.finish(self.max_iter if self.max_iter > 0 else max(10_000_000, 100 * len(y)))
        beta, intercept = search.result()
        with self._stage("certify"):
            gap, objective = certify(X, y, lower, upper, kernel, beta, intercept, search.rows.dtype, self.threads_)
        converged = not self.finishing or search.gap <= self.tol
        return DualSolution(beta, intercept, objective, gap, search.steps, search.kernel_evals, converged)
