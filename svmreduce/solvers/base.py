"""The template of every solver: the base validates, times and reports; a subclass only solves.

A new binary solver writes ``_fit_binary`` and its class facts. One that has its own multi-class form or
its own model writes ``_solve`` instead.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from time import perf_counter
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from svmreduce.checks import ALL_ZERO, check_parameters, checked_weights, class_weights
from svmreduce.core.jit import loading_seconds
from svmreduce.core.watch import watched
from svmreduce.errors import InputError
from svmreduce.kernels import LIBSVM_KERNELS, PRECOMPUTED, KernelMixture, KernelSpec, kernel_for, parse_kernel
from svmreduce.model import KernelModel, votes
from svmreduce.model.class_order import in_class_order, weights_per_feature
from svmreduce.rows import canonical_rows
from svmreduce.solvers._callbacks import TakesCallbacks, with_callbacks, without_callbacks
from svmreduce.solvers._multiclass import one_versus_one
from svmreduce.solvers._outcome import Outcome
from svmreduce.solvers.cross_validation import with_probabilities
from svmreduce.types import DualSolution, FitFacts, RowsLike

_WARM: set[type] = set()


class BaseSolver(TakesCallbacks, BaseEstimator):
    """What all solvers share; see ``SVMClassifier``, ``SVMRegressor`` and ``SVMOutlierDetector`` for the tasks.

    Class facts
    -----------
    kernels : the kernels it takes; none for a method that is not an SVM and has no model file
    mixes_kernels : whether it takes mixtures of them, such as ``rbf:1+poly:1``
    tasks : "classification", "regression" or "one_class"
    accepts_weights : whether ``fit`` takes ``sample_weight``
    weights_reason : why not, and which solver does
    stops_in_time : whether it can end early with what it has, as ``max_seconds`` asks
    """

    kernels: ClassVar[tuple[str, ...]] = LIBSVM_KERNELS
    mixes_kernels: ClassVar[bool] = False
    tasks: ClassVar[tuple[str, ...]] = ("classification",)
    accepts_weights: ClassVar[bool] = True
    weights_reason: ClassVar[str] = ""
    stops_in_time: ClassVar[bool] = False
    _toy_rows: ClassVar[int] = 20  # of warm_up
    _toy_settings: ClassVar[tuple[dict, ...]] = ({},)

    def _solve(self, X, y, weights) -> Outcome:
        """Subclass: train on checked rows; ``y`` holds class numbers 0…k-1 or regression targets."""
        raise TypeError(f"{type(self).__name__} does not say how to solve")

    def fit(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train. Stage times go to ``seconds_``: convert, reduce, solve, and certify where a solver has that.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            How many rows a row stands for. A zero weight is the same as leaving the row out.
        """
        if sample_weight is not None and not self.accepts_weights:
            raise InputError(f"{type(self).__name__} cannot take sample_weight: {self.weights_reason}")
        start, loading = perf_counter(), loading_seconds()
        self.seconds_ = {"convert": 0.0, "reduce": 0.0, "solve": 0.0}
        given = X, y, sample_weight
        with self._stage("convert"):
            X, y, weights, kept = self._validate(X, y, sample_weight)
        with watched(getattr(self, "max_seconds", None), getattr(self, "callback", None)) as watch:
            with_callbacks(self, lambda: self._store(self._solve(X, y, weights), X, kept), *given[:2])
        if learns_probabilities(self):
            with self._stage("calibrate"):
                self._calibrate(*given)
        loading = loading_seconds() - loading
        self.seconds_["solve"] = max(0.0, perf_counter() - start - loading - sum(self.seconds_.values()))
        self._warn_unless_converged(watch.stopped)
        return self

    def _warn_unless_converged(self, out_of_time: bool = False) -> None:
        if not self.converged_:
            warnings.warn(
                f"{type(self).__name__} stopped before it reached tol; {self._advice(out_of_time)}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _advice(self, out_of_time: bool) -> str:
        """What helps when it did not converge."""
        more = "raise max_iter, " if hasattr(self, "max_iter") else ""
        if out_of_time:
            more = "raise max_seconds, "
        return f"{more}scale the data or lower C"

    @contextmanager
    def _stage(self, name: str):
        """Count the time of this block under its own name instead of under ``solve``."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds_[name] = self.seconds_.get(name, 0.0) + perf_counter() - start

    def _validate(self, X, y, sample_weight):
        """Checked rows, targets and weights without zero-weight rows, and which rows those are."""
        check_parameters(self)
        X, y = validate_data(self, X, y, **ROWS)
        X = self._kernel_input(canonical_rows(X), is_training=True)
        y, weights = self._targets(y, checked_weights(sample_weight, X))
        kept = np.flatnonzero(weights > 0)
        if len(kept) < len(weights):
            X, y, weights = X[kept], y[kept], weights[kept]
        self._check_targets(y)
        return X, y, weights, kept

    def _kernel_input(self, X, is_training: bool):
        """The rows as the kernel takes them: those of a table of kernel values with their own number in front."""
        return numbered(X, is_training) if getattr(self, "kernel", None) == PRECOMPUTED else X

    def _targets(self, y, weights):
        """Task: what ``_solve`` gets as targets, and weights that may depend on them."""
        return y, weights

    def _check_targets(self, y) -> None:
        if len(y) == 0:
            raise InputError(ALL_ZERO)

    def _kernel_spec(self, X) -> KernelSpec | KernelMixture:
        if isinstance(self.kernel, str):
            parse_kernel(self.kernel, self.kernels, whose=type(self).__name__, mixes=self.mixes_kernels)
        return kernel_for(X, self.kernel, self.gamma, self.coef0, self.degree)

    def _store(self, outcome: Outcome, X, kept) -> None:
        model = self.model_ = outcome.model
        if isinstance(model, KernelModel):
            self._store_vectors(model, None if outcome.support is None else kept[outcome.support])
        elif hasattr(model, "weights"):
            self.coef_, self.intercept_ = model.weights, model.intercepts
        self.objective_, self.gap_ = outcome.objective, outcome.gap
        self.n_iter_, self.kernel_evals_ = outcome.n_iter, outcome.kernel_evals
        self.converged_ = bool(outcome.converged)

    def _store_vectors(self, model: KernelModel, rows) -> None:
        """The attributes of a kernel model; ``rows`` are its vectors' rows, None where they are none."""
        if rows is not None:
            self.support_ = rows
        self.support_vectors_, self.dual_coef_, self.intercept_ = model.vectors, model.coef, model.intercepts

    def _new_rows(self, X):
        """Checked rows and the thread count, as the model's methods take them."""
        check_is_fitted(self)
        X = self._kernel_input(canonical_rows(validate_data(self, X, reset=False, **ROWS)), is_training=False)
        return X, {"threads": getattr(self, "threads", None)}

    def fit_facts(self) -> FitFacts:
        """What happened in ``fit``: the one source for commands, records and callers."""
        check_is_fitted(self)
        return FitFacts(
            iterations=self.n_iter_,
            kernel_evals=self.kernel_evals_,
            objective=self.objective_,
            gap=self.gap_,
            vectors=getattr(self.model_, "n_vectors", None),
            converged=self.converged_,
            threads=getattr(self, "threads_", None),
            sampled_to=getattr(self, "tol_", None) if getattr(self, "selection", None) == "sampled" else None,
            seconds=self.seconds_,
            rounds={name: getattr(self, f"{name}_") for name in ROUNDS if hasattr(self, f"{name}_")},
            curves=getattr(self, "curves_", {}),
        )

    def predict(self, X: RowsLike) -> np.ndarray:
        X, options = self._new_rows(X)
        return self.model_.predict(X, **options)

    @classmethod
    def warm_up(cls) -> None:
        """Compile everything a fit and a prediction need on a toy problem, once, off the clock."""
        if cls in _WARM:
            return
        X = np.random.default_rng(0).random((cls._toy_rows, 2))
        y = np.floor(4 * X).sum(axis=1) % 2  # a checkerboard: both classes, many support vectors
        for rows in (X, sparse.csr_matrix(X)):
            for settings in cls._toy_settings:
                cls(**settings).fit(rows, y).predict(rows)
        _WARM.add(cls)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(kernel := getattr(self, "kernel", None), str) and kernel == PRECOMPUTED
        return tags


class SVMClassifier(ClassifierMixin, BaseSolver):
    """A solver of class labels. Several classes are handled one against one unless ``_solve`` differs."""

    _no_probability: ClassVar[object] = False

    def _fit_binary(self, X, y, weights, kernel: KernelSpec) -> DualSolution:
        """Subclass: solve for targets ±1 with weights > 0."""
        raise TypeError(f"{type(self).__name__} does not say how to solve a two-class problem")

    def _solve(self, X, y, weights) -> Outcome:
        return self._solve_with(self._kernel_spec(X), X, y, weights)

    def _solve_with(self, kernel: KernelSpec, X, y, weights) -> Outcome:
        return one_versus_one(self._fit_binary, X, y, weights, kernel, self.classes_)

    def _targets(self, y, weights):
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        codes = np.searchsorted(self.classes_, y)  # a third of the time of return_inverse
        if self.accepts_weights and getattr(self, "class_weight", None) is not None:
            weights = weights * self.class_factors(y)[codes]
        return codes, weights

    def _check_targets(self, y):
        super()._check_targets(y)
        present = np.count_nonzero(np.bincount(y))
        if present < 2 or present < len(self.classes_):
            missing = "" if present == len(self.classes_) else " with a weight above zero"
            raise InputError(
                f"training needs rows of at least two classes, and of every class{missing}; "
                f"got {present} class{'es' if present != 1 else ''}"
            )

    def class_factors(self, y: ArrayLike) -> np.ndarray:
        """The factor on C of every class, in the order of ``classes_``, for these labels."""
        given = getattr(self, "class_weight", None)
        if isinstance(given, dict):
            given = class_weights(given, self.classes_)
        return compute_class_weight(given, classes=self.classes_, y=y)

    def _store_vectors(self, model, rows):
        """As scikit-learn's SVC has them: classes ascending, and ``coef_`` for a linear kernel."""
        order = in_class_order(model)
        super()._store_vectors(model, None if rows is None else rows[order.vectors])
        self.support_vectors_ = model.vectors[order.vectors]
        self.dual_coef_, self.intercept_, self.n_support_ = order.dual_coef, order.intercepts, order.n_support
        if model.kernel.name == "linear":
            vars(self)["coef_"] = weights_per_feature(self.support_vectors_, order)  # read-only in SVC

    def _calibrate(self, X, y, sample_weight) -> None:
        """Learn probabilities; every fold has the kernel of the final fit."""
        X, y = validate_data(self, X, y, reset=False, **ROWS)
        kernel = PRECOMPUTED if self.model_.kernel.name == PRECOMPUTED else self.model_.kernel
        trial = without_callbacks(clone(self)).set_params(probability=self._no_probability, kernel=kernel)
        weights = None if sample_weight is None else checked_weights(sample_weight, X)
        self.model_ = with_probabilities(self.model_, trial, X, y, weights, seed_of(getattr(self, "random_state", 0)))

    @available_if(lambda self: learns_probabilities(self))
    def predict_proba(self, X) -> np.ndarray:
        """Probabilities of ``classes_``; the largest is always that of the predicted label."""
        X, options = self._new_rows(X)
        model = self.model_
        if model.sigmoids is None:
            raise NotFittedError("predict_proba is not available when fitted with probability=False: fit again")
        decisions = model.decision_function(X, **options)
        return model.probabilities(decisions, self._winners(decisions))[:, np.argsort(model.labels)]

    def _class_scores(self, decisions: np.ndarray) -> np.ndarray:
        return class_scores(decisions, len(self.model_.labels))

    def _winners(self, decisions: np.ndarray) -> np.ndarray | None:
        """Places of the predicted labels in those of the model; None where the model decides them."""
        return None

    @available_if(lambda self: learns_probabilities(self))
    def predict_log_proba(self, X) -> np.ndarray:
        return np.log(self.predict_proba(X))

    def decision_function(self, X: RowsLike) -> np.ndarray:
        """Above zero means ``classes_[1]``; with k > 2 classes one column per class, votes first.

        The columns are votes plus a share of the summed decision values below one half, as in
        scikit-learn. ``predict`` follows LIBSVM: votes only, ties to the earlier class.
        """
        X, options = self._new_rows(X)
        values = self.model_.decision_function(X, **options)
        model = self.model_
        if values.ndim == 1 or not model.pairwise:
            return values if values.ndim == 1 else values[:, np.argsort(model.labels)]
        if getattr(self, "decision_function_shape", "ovr") == "ovo":
            return values
        return self._class_scores(values)[:, np.argsort(model.labels)]


class SVMRegressor(RegressorMixin, BaseSolver):
    """A solver of real targets."""

    tasks = ("regression",)

    def _targets(self, y, weights):
        y = np.asarray(y, dtype=np.float64)
        return np.where(np.abs(y) < TINY, 0.0, y), weights


class SVMOutlierDetector(OutlierMixin, BaseSolver):
    """A solver that learns where most rows are; there are no labels."""

    tasks = ("one_class",)

    def fit(self, X: RowsLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Train; labels are not looked at."""
        return super().fit(X, np.ones(_num_samples(X)), sample_weight)

    def decision_function(self, X: RowsLike) -> np.ndarray:
        """Above zero means inside."""
        X, options = self._new_rows(X)
        return self.model_.decision_function(X, **options)

    def score_samples(self, X: RowsLike) -> np.ndarray:
        """Decision values without the offset."""
        return self.decision_function(X) + self.offset_

    @property
    def offset_(self) -> float:
        return -float(self.intercept_[0])


def learns_probabilities(solver: BaseEstimator) -> bool:
    """Whether ``probability`` is on; scikit-learn's default of a deprecated parameter is a word."""
    return getattr(solver, "probability", False) not in (False, "deprecated")


def numbered(K, is_training: bool) -> np.ndarray:
    """A table of kernel values with a first column: the numbers 1, 2, … of training rows, 0 for others."""
    if is_training and K.shape[0] != K.shape[1]:
        raise InputError(f"Precomputed matrix must be a square matrix. Input is a {K.shape[0]}x{K.shape[1]} matrix.")
    K = K.toarray() if sparse.issparse(K) else K
    return np.column_stack([np.arange(1, len(K) + 1) if is_training else np.zeros(len(K)), K])


def class_scores(decisions: np.ndarray, k: int) -> np.ndarray:
    """One score per class from pairwise decision values: its votes, then how clear they were."""
    sums = np.zeros((len(decisions), k))
    column = 0
    for i in range(k):
        for j in range(i + 1, k):
            sums[:, i] += decisions[:, column]
            sums[:, j] -= decisions[:, column]
            column += 1
    return votes(decisions, k) + sums / (3 * (np.abs(sums) + 1))


def seed_of(random_state) -> int:
    """A whole number from scikit-learn's three forms of ``random_state``."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


TINY = 1e-290  # targets below are zero: one over their spread would be infinite
ROUNDS = ("rounds", "stop_reason", "history", "duality_gap")
ROWS = {"accept_sparse": "csr", "dtype": np.float64, "order": "C", "accept_large_sparse": False}
