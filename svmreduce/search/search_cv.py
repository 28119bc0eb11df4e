"""The search as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic, perf_counter
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, check_cv
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from svmreduce.checks import POSITIVE
from svmreduce.errors import InputError
from svmreduce.kernels import KERNEL_CODES, PRECOMPUTED, KernelSpec
from svmreduce.rows import canonical_rows
from svmreduce.search.cells import Cells
from svmreduce.search.fold_paths import GridSearch, with_gamma
from svmreduce.search.grid import USUAL_C, check_size, usual_gammas, values_of
from svmreduce.search.journal import Journal
from svmreduce.search.measures import score_named
from svmreduce.search.problems import ClassFold, RegressionFold, weight_by_code
from svmreduce.search.screening import reducer_named
from svmreduce.solvers.base import ROWS
from svmreduce.solvers.libsvm import LibsvmSVR
from svmreduce.solvers.smo import SMO
from svmreduce.types import RowsLike


class SVMSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Choose C and gamma of an SVM by cross-validation, exactly, with everything shared that can be.

    The same answers as ``GridSearchCV(SVC(), {"C": …, "gamma": …})`` up to ``tol``, much faster: kernel values are
    computed once per gamma for all C, folds and validation rows, and each solution starts from that of the next smaller
    C. With ``epsilon`` it searches an ε-SVR.

    Parameters
    ----------
    C : numbers, optional
        0.1 … 1000 if not given.
    gamma : numbers, optional
        Seven powers of 4 around one over the mean squared distance of the rows if not given.
    epsilon : number or numbers, optional
        Makes it a regression: errors up to here cost nothing.
    kernel : {"rbf", "linear", "poly", "sigmoid", "kmod"}
    coef0, degree : as in ``SMO``
    class_weight : None, "balanced" or dict
    scoring : {"accuracy", "balanced_accuracy", "f1", "auc", "mse", "r2"}, optional
        Accuracy, or mse for a regression. Scores of mse are negative in ``cv_results_``: greater is better.
    cv : int, splitter or iterable of (train, test)
        As in scikit-learn: a whole number means stratified folds in file order.
    repeats : int
        More than one: that many times ``cv`` shuffled folds.
    refit : bool
        Train on all rows with the best cell.
    tol : float
        Largest violation of the optimality conditions, as LIBSVM's -e.
    cache_mb : float
        Memory for kernel values. Where the matrix of all rows does not fit, a slower way is taken.
    threads : int, optional
    random_state : int
        Of shuffled folds, and of ``screen="random"``.
    screen : {None, "aesvm", "random"}
        Search on fewer rows first, then only the best cells on all rows.
    budget : float, optional
        Seconds after which no further fit begins; cells that are not finished have the score nan.

    Attributes
    ----------
    cv_results_ : dict of arrays, as in scikit-learn, with mean_vectors, max_gap and iterations
    best_params_, best_score_, best_index_, best_estimator_, n_splits_, refit_time_, scorer_
    """

    _required_parameters: ClassVar[list] = []

    def __init__(
        self,
        C: Iterable[float] | None = None,
        gamma: Iterable[float] | None = None,
        epsilon: float | Iterable[float] | None = None,
        kernel: str = "rbf",
        coef0: float = 0.0,
        degree: int = 3,
        class_weight: str | dict | None = None,
        scoring: str | None = None,
        cv: object = 5,
        repeats: int = 1,
        refit: bool = True,
        tol: float = 1e-3,
        cache_mb: float = 2048,
        threads: int | None = None,
        random_state: int = 0,
        screen: str | None = None,
        budget: float | None = None,
    ):
        self.C = C
        self.gamma = gamma
        self.epsilon = epsilon
        self.kernel = kernel
        self.coef0 = coef0
        self.degree = degree
        self.class_weight = class_weight
        self.scoring = scoring
        self.cv = cv
        self.repeats = repeats
        self.refit = refit
        self.tol = tol
        self.cache_mb = cache_mb
        self.threads = threads
        self.random_state = random_state
        self.screen = screen
        self.budget = budget

    tasks = ("classification", "regression")

    @classmethod
    def warm_up(cls) -> None:
        """Compile everything that a search needs on a toy problem, off the clock."""
        X = np.random.default_rng(0).random((40, 2))
        cls(C=[1, 10], gamma=[1.0], cv=2, refit=False, threads=1).fit(X, np.arange(40) % 2)

    # ------------------------------------------------------------ fit

    def fit(
        self,
        X: RowsLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        journal: Journal | None = None,
        report: Callable | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> SVMSearchCV:
        """Search, and train with the best.

        Parameters
        ----------
        X, y : training rows
        groups : for a ``cv`` that takes them
        journal : Journal, optional
            Keeps what is done, and knows what was done before.
        report : callable, optional
            Called with (paths done, paths in all, best cell so far) after each gamma and fold; while it screens, with
            the keyword stage, too.
        stop : callable, optional
            Asked before each of them; true ends the search with what is done.
        """
        start = perf_counter()
        deadline = None if self.budget is None else monotonic() + self.budget
        self._stop = stop
        X, y, targets = self._rows(X, y)
        self._axes(X)
        splits = list(self._splitter(y).split(X, y, groups))
        self.n_splits_ = len(splits)
        name, score = score_named(self.scoring, self.task())
        self.scorer_ = name
        self.cells_ = Cells(len(self.C_), len(self.gamma_), len(self.epsilon_), len(splits))
        self.kernel_evals_, self.screened_ = 0, None
        if self.screen is not None:
            self._screen(X, targets, splits, score, report, deadline)
        begun = perf_counter()
        self._search(X, targets, splits, score, journal, report, deadline)
        if self.screened_ is not None and not (journal and journal.known):  # else the rest took less than it takes
            rate = (perf_counter() - begun) / (self.screened_["cells"] * len(splits))
            self.screened_["seconds_saved"] = self.screened_["exact_fits_saved"] * rate - self.screened_["seconds"]
        self._stop = None
        self.cv_results_, self.best_index_ = self.cells_.results(self.params_of)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.search_time_ = perf_counter() - start
        if not self.converged_:
            warnings.warn("some fits of the search stopped before they reached tol; scale the data or leave out the "
                          "largest C", ConvergenceWarning, stacklevel=2)  # fmt: skip
        if self.refit:
            start = perf_counter()
            self.best_estimator_ = self.estimator_for(self.best_params_).fit(X, y)
            self.refit_time_ = perf_counter() - start
        return self

    def task(self) -> str:
        """What it searches: classification, or regression where ``epsilon`` is given."""
        return "classification" if self.epsilon is None else "regression"

    def _rows(self, X, y):
        """Checked rows and labels, and class numbers or values."""
        X, y = validate_data(self, X, y, **ROWS, y_numeric=self.epsilon is not None)
        X = canonical_rows(X)
        if self.epsilon is not None:
            return X, np.asarray(y, np.float64), np.asarray(y, np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError("a search needs rows of at least two classes; got 1 class")
        return X, y, codes

    def _axes(self, X) -> None:
        known = [name for name in KERNEL_CODES if name != PRECOMPUTED]
        if self.kernel not in known:
            raise InputError(f"a search takes one of the kernels {', '.join(known)}; got {self.kernel!r}")
        for name in ("tol", "cache_mb"):
            if not POSITIVE.is_right(getattr(self, name)):
                raise InputError(f"{name} must be {POSITIVE.what}, got {getattr(self, name)!r}")
        self.C_ = values_of("C", USUAL_C if self.C is None else self.C)
        if self.kernel == "linear":
            self.gamma_ = np.ones(1)
        else:
            self.gamma_ = values_of("gamma", usual_gammas(X) if self.gamma is None else self.gamma)
        self.epsilon_ = np.zeros(1) if self.epsilon is None else values_of("epsilon", self.epsilon, zero=True)
        check_size(self.C_, self.gamma_, self.epsilon_)

    def _splitter(self, y):
        if self.repeats > 1:
            kind = RepeatedStratifiedKFold if self.epsilon is None else RepeatedKFold
            return kind(n_splits=int(self.cv), n_repeats=self.repeats, random_state=self.random_state)
        return check_cv(self.cv, y, classifier=self.epsilon is None)

    def _folds(self, targets, splits, epsilon) -> list:
        if self.epsilon is not None:
            return [RegressionFold(targets, train, test, epsilon) for train, test in splits]
        weight = weight_by_code(self.class_weight, self.classes_)
        return [ClassFold(targets, train, test, weight) for train, test in splits]

    def _search(self, X, targets, splits, score, journal, report, deadline, reduce=None) -> None:
        """Fill the wanted cells; journal and report see every path."""
        cells, wanted = self.cells_, self.cells_.wanted
        kernel = KernelSpec(self.kernel, 1.0, self.coef0, self.degree)
        paths = int(wanted.any(axis=0).sum()) * len(splits)
        done_paths = 0

        def measure(fold, prediction, decisions):
            return score.sign * score.measure(targets[fold.test], prediction, decisions)

        for e, epsilon in enumerate(self.epsilon_):
            folds = self._folds(targets, splits, epsilon)
            # gammas that want the same C are searched together
            for chosen in np.unique(wanted[:, :, e].T, axis=0):
                gammas = np.flatnonzero((chosen == wanted[:, :, e].T).all(axis=1))
                if not chosen.any():
                    continue
                C = self.C_[chosen]
                kernels = [with_gamma(kernel, self.gamma_[g]) for g in gammas]
                grid = GridSearch(X, kernels, C, folds, measure, tol=self.tol,
                                  cache_mb=self.cache_mb, threads=self.threads, reduce=reduce)  # fmt: skip

                def keep(place, f, result, known=False, gammas=gammas, e=e, epsilon=epsilon, C=C, chosen=chosen):
                    nonlocal done_paths
                    g = gammas[place]
                    cells.put(chosen, g, e, f, result)
                    self.kernel_evals_ += result.kernel_evals
                    done_paths += 1
                    if journal is not None and not known:
                        journal.append(self.gamma_[g], epsilon, f, C, result)
                    if report is not None:
                        report(done_paths, paths, self._best_so_far())

                done = set()
                for place, g in enumerate(gammas):
                    for f in range(len(splits)):
                        known = journal.find(self.gamma_[g], epsilon, f, C) if journal is not None else None
                        if known is not None:
                            keep(place, f, known, known=True)
                            done.add((place, f))
                grid.run(keep, done, deadline, self._stop)
        self.converged_ = bool((cells.gaps <= self.tol).all())

    def _screen(self, X, targets, splits, score, report, deadline) -> None:
        """Find out which cells deserve all rows: the best of a search on fewer rows."""
        start, cells = perf_counter(), self.cells_
        reduce = reducer_named(self.screen, X, self.random_state, self.threads)
        told = report and partial(report, stage="screening: ")
        self._search(X, targets, splits, score, None, told, deadline, reduce)
        cells.want_best(self.SCREENED_CELLS)
        left_out = int((~cells.wanted).sum())
        self.screened_ = {"by": self.screen, "rows_kept": reduce.kept / max(1, reduce.given),
                          "seconds": perf_counter() - start, "cells": int(cells.wanted.sum()),
                          "exact_fits_saved": left_out * len(splits)}  # fmt: skip

    SCREENED_CELLS: ClassVar[int] = 8

    # ------------------------------------------------------------ results

    def _best_so_far(self) -> dict | None:
        best = self.cells_.best()
        if best is None:
            return None
        return self.params_of(*best) | {"score": float(self.cells_.scores[best].mean())}

    def params_of(self, c: int, g: int, e: int) -> dict:
        """The parameters of a cell, by its places on the axes of C, gamma and epsilon."""
        params = {"C": float(self.C_[c])}
        if self.kernel != "linear":
            params["gamma"] = float(self.gamma_[g])
        return params | ({} if self.epsilon is None else {"epsilon": float(self.epsilon_[e])})

    def estimator_for(self, params: dict) -> BaseEstimator:
        """An unfitted estimator of one cell."""
        shared = {"kernel": self.kernel, "coef0": self.coef0, "degree": self.degree, "tol": self.tol,
                  "threads": self.threads, **params}  # fmt: skip
        return SMO(class_weight=self.class_weight, **shared) if self.epsilon is None else LibsvmSVR(**shared)

    # ------------------------------------------------------------ the best estimator

    def _best(self):
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def predict(self, X: RowsLike) -> np.ndarray:
        return self._best().predict(X)

    @available_if(lambda self: self.epsilon is None)
    def decision_function(self, X: RowsLike) -> np.ndarray:
        return self._best().decision_function(X)

    def score(self, X: RowsLike, y: ArrayLike) -> float:
        """The search's own measure of the best estimator on these rows."""
        name, score = score_named(self.scoring, self.task())
        y = np.asarray(y)
        if name == "f1" and len(self.classes_) == 2:
            y, prediction = y == self.classes_[1], self.predict(X) == self.classes_[1]
        else:
            prediction = self.predict(X)
        decisions = self.decision_function(X) if self.epsilon is None else prediction
        return score.sign * score.measure(y, prediction, decisions)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if self.epsilon is None else "regressor"
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags
