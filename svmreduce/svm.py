"""scikit-learn's kernel SVMs, with their names, parameters and defaults, trained by our SMO engine."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import deprecated
from sklearn.utils.validation import check_is_fitted

from svmreduce.checks import SHARED, SWITCH, Rule, is_word
from svmreduce.errors import InputError, TooLarge
from svmreduce.kernels import PRECOMPUTED, KernelSpec
from svmreduce.solvers import nu_svc, nu_svr, svr
from svmreduce.solvers._engine import Engine
from svmreduce.solvers.base import class_scores, numbered
from svmreduce.solvers.one_class import OneClass
from svmreduce.solvers.smo import SMO
from svmreduce.types import Matrix

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]

_FEW_ROWS, _SMALL_TOL = 1000, 9e-5  # below the tolerance at which the engine computes in single precision


class _Familiar(Engine):
    """What the classes share: scikit-learn's parameters that our solvers lack or name otherwise, and its attributes.

    Parameters
    ----------
    kernel : {kernels} or callable
        A function of two sets of rows gives the table of their kernel values. Where a kernel is indefinite
        (``sigmoid``, ``poly`` with a negative ``coef0``) the solution need not be that of scikit-learn.
    shrinking : bool
        Has no effect: the engine always leaves out rows that seem to stay at a bound.
    cache_size : float
        Memory for kernel values, in MB.
    """

    shrinking: bool = True
    cache_size: float = 200
    random_state: object = None
    threads = max_seconds = callback = None
    warm_start = False
    _more_advice = ""
    rules: ClassVar = {
        "C": Rule("a positive number", lambda value: value == np.inf or SHARED["C"].is_right(value)),
        "kernel": Rule(
            "the name of a kernel or a function", lambda value: callable(value) or SHARED["kernel"].is_right(value)
        ),
        "cache_size": SHARED["cache_mb"],
        "shrinking": SWITCH,
        "verbose": None,
    }

    def fit(self, X, y=None, sample_weight=None):
        """Train; a row of weight zero or below is left out.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Factor on C per row.
        """
        if sample_weight is not None:
            sample_weight = self._without_negative(sample_weight, y)
        try:
            return super().fit(X, y, sample_weight)
        except TooLarge as error:
            raise InputError(f"The dual coefficients or intercepts are not finite: {error}") from None

    def _without_negative(self, sample_weight, y) -> np.ndarray:
        """Weights below zero as zero; something must be left."""
        weights = np.asarray(sample_weight, np.float64)
        if not np.any(weights > 0):
            raise InputError("Invalid input - all samples have zero or negative weights.")
        return np.maximum(weights, 0.0)

    def _warn_unless_converged(self, out_of_time=False):
        """In scikit-learn's words, which others may look for."""
        if not self.converged_:
            limit = f"max_iter={self.max_iter}" + (": the engine's own limit" if self.max_iter < 0 else "")
            warnings.warn(
                f"Solver terminated early ({limit}).  Consider pre-processing your data with "
                f"StandardScaler or MinMaxScaler.{self._more_advice}",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _engine_tol(self, rows):
        """Few rows are solved in double and a little further: it costs nothing, and more digits are right."""
        return min(self.tol, _SMALL_TOL) if rows <= _FEW_ROWS else self.tol

    @property
    def coef_(self) -> Matrix:
        """Weights per feature of a linear kernel; read-only, because predictions do not use it."""
        if "coef_" not in vars(self):
            raise AttributeError("coef_ exists only after fit with kernel='linear'")
        coef = vars(self)["coef_"]
        (coef.data if sparse.issparse(coef) else coef).flags.writeable = False
        return coef

    @property
    def _gamma(self) -> float:
        return self.model_.kernel.gamma

    @property
    def cache_mb(self) -> float:
        return self.cache_size

    @property
    def class_weight_(self) -> np.ndarray:
        """Factor on C of each class, where there are classes."""
        return getattr(self, "_class_factors", np.empty(0))

    @property
    def shape_fit_(self) -> tuple[int, int]:
        return self._shape_fit

    @property
    def fit_status_(self) -> int:
        """0 if the tolerance was reached, else 1."""
        return int(not self.converged_)

    def _store_vectors(self, model, rows):
        super()._store_vectors(model, rows)
        if model.labels is None:
            if not model.coef.any():  # a vector of coefficient zero, which only its file needs
                self.support_, self.support_vectors_, self.dual_coef_ = rows[:0], model.vectors[:0], model.coef[:, :0]
            self.n_support_ = np.array([len(self.support_)], np.int32)
            if model.kernel.name == "linear":
                coef = sparse.csr_matrix(model.coef) if sparse.issparse(model.vectors) else model.coef
                vars(self)["coef_"] = coef @ model.vectors
        if self._sparse:
            self.dual_coef_ = sparse.csr_matrix(self.dual_coef_)

    def _kernel_spec(self, X):
        return self._spec

    def _validate(self, X, y, sample_weight):
        self._sparse = sparse.issparse(X)
        self._shape_fit = X.shape if hasattr(X, "shape") else (len(X),)
        if callable(self.kernel):
            self._rows = X
            X = self._table(X)
        return super()._validate(X, y, sample_weight)

    def _new_rows(self, X):
        check_is_fitted(self)
        return super()._new_rows(self._table(X) if callable(self.kernel) else X)

    def _table(self, X) -> np.ndarray:
        """Kernel values of any objects with those of training, from the function that the caller gave."""
        values = self.kernel(X, self._rows)
        values = np.asarray(values.toarray() if sparse.issparse(values) else values, np.float64)
        expected = len(X) if not hasattr(X, "shape") else X.shape[0], self._shape_fit[0]
        if values.shape != expected:
            raise InputError(f"the kernel function must give a table of shape {expected}, and gave {values.shape}")
        return values

    def _kernel_input(self, X, is_training):
        if sparse.issparse(X) and isinstance(self.kernel, str) and self.kernel == PRECOMPUTED:
            raise TypeError("Sparse precomputed kernels are not supported; give a dense table")
        if sparse.issparse(X) and not self._sparse:
            name = type(self).__name__
            raise InputError(
                f"{name} was trained on dense rows and takes no sparse ones; train on sparse rows, or use {_OWN[name]}"
            )
        if is_training:  # gamma is that of all rows, also of those that a weight of zero leaves out
            self._spec = KernelSpec(PRECOMPUTED) if callable(self.kernel) else super()._kernel_spec(X)
        return numbered(X, is_training) if callable(self.kernel) else super()._kernel_input(X, is_training)


class _FamiliarClassifier(_Familiar):
    """What ``SVC`` and ``NuSVC`` share.

    Parameters
    ----------
    break_ties : bool
        More than two classes: equal votes are decided by the decision values, not by the order of classes.
    probability : bool
        As in scikit-learn, which drops it in version 1.11; ``SMO`` keeps it.
    """

    break_ties: bool = False
    probability: bool | str = "deprecated"
    rules: ClassVar = {
        "break_ties": SWITCH,
        "probability": Rule(SWITCH.what, lambda value: is_word(value, "deprecated") or SWITCH.is_right(value)),
    }
    _no_probability = "deprecated"
    _one_class_left = "Invalid input - all samples with positive weights belong to the same class."

    def fit(self, X, y, sample_weight=None):
        if not is_word(self.probability, "deprecated"):
            warnings.warn(
                "The `probability` parameter was deprecated in scikit-learn 1.9 and will be removed in 1.11: use "
                "`svmreduce.SMO(probability=True)`, or scikit-learn's `CalibratedClassifierCV`",
                FutureWarning,
                stacklevel=2,
            )
        super().fit(X, y, sample_weight)
        return self

    def _store(self, outcome, X, kept):
        super()._store(outcome, X, kept)
        self.n_iter_ = np.array(outcome.steps, np.int32)

    def fit_facts(self):
        return replace(super().fit_facts(), iterations=int(self.n_iter_.sum()))

    @deprecated("Attribute `probA_` was deprecated in scikit-learn 1.9 and will be removed in 1.11.")
    @property
    def probA_(self) -> np.ndarray:
        return np.empty(0) if self.model_.sigmoids is None else self.model_.sigmoids[0]

    @deprecated("Attribute `probB_` was deprecated in scikit-learn 1.9 and will be removed in 1.11.")
    @property
    def probB_(self) -> np.ndarray:
        return np.empty(0) if self.model_.sigmoids is None else self.model_.sigmoids[1]

    def _targets(self, y, weights):
        answer = super()._targets(y, weights)
        self._class_factors = self.class_factors(y)
        return answer

    def _calibrate(self, X, y, sample_weight):
        super()._calibrate(self._table(X) if callable(self.kernel) else X, y, sample_weight)

    def predict(self, X) -> np.ndarray:
        """Labels; with ``break_ties``, those of the largest decision values."""
        if not self.break_ties or len(getattr(self, "classes_", ())) <= 2:
            return super().predict(X)
        if self.decision_function_shape == "ovo":
            raise InputError("break_ties must be False when decision_function_shape is 'ovo'")
        return self.classes_[self.decision_function(X).argmax(axis=1)]

    def _winners(self, decisions):
        if not self.break_ties or decisions.ndim == 1:
            return None
        order = np.argsort(self.model_.labels)
        return order[self._class_scores(decisions)[:, order].argmax(axis=1)]

    def _class_scores(self, decisions):
        """As scikit-learn's: where ``predict`` counts a value of zero for the second class, they do for the first."""
        return class_scores(np.where(decisions == 0.0, np.finfo(np.float64).tiny, decisions), len(self.model_.labels))

    def _without_negative(self, sample_weight, y):
        weights = super()._without_negative(sample_weight, y)
        if weights.shape == np.shape(y) and np.unique(np.asarray(y)[weights > 0]).size == 1 < np.unique(y).size:
            raise InputError(self._one_class_left)
        return weights


class SVC(
    _FamiliarClassifier,
    SMO,
    parameters="C kernel degree gamma coef0 shrinking probability tol cache_size class_weight verbose max_iter "
    "decision_function_shape break_ties random_state",
):
    """C-SVC for code that was written for ``sklearn.svm.SVC``: change the import, keep the rest.

    The optimum is the same, so are the attributes. Probabilities never contradict ``predict``.
    """


class NuSVC(
    _FamiliarClassifier,
    nu_svc.NuSVC,
    parameters="nu kernel degree gamma coef0 shrinking probability tol cache_size class_weight verbose max_iter "
    "decision_function_shape break_ties random_state",
):
    """ν-SVC for code that was written for ``sklearn.svm.NuSVC``: change the import, keep the rest.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        Has no effect on the solution, as in scikit-learn; ``fit`` warns. Give ``sample_weight``.
    """

    _more_advice = "  A larger nu may help: a small one may leave no margin."
    _one_class_left = "specified nu is infeasible: all samples with positive weights belong to the same class"

    def _targets(self, y, weights):
        if self.class_weight is not None:
            warnings.warn("class_weight has no effect in a ν-SVC: give sample_weight", UserWarning, stacklevel=2)
        return super()._targets(y, weights)[0], weights


class SVR(
    _Familiar,
    svr.SVR,
    parameters="kernel degree gamma coef0 tol C epsilon shrinking cache_size verbose max_iter",
):
    """ε-SVR for code that was written for ``sklearn.svm.SVR``: change the import, keep the rest."""

    random_state = 0


class NuSVR(
    _Familiar,
    nu_svr.NuSVR,
    parameters="nu C kernel degree gamma coef0 shrinking tol cache_size verbose max_iter",
):
    """ν-SVR for code that was written for ``sklearn.svm.NuSVR``: change the import, keep the rest."""

    random_state = 0

    def _engine_tol(self, rows):
        return self.tol  # digits are not free here: with a linear kernel the sum of coefficients jumps


class OneClassSVM(
    _Familiar,
    OneClass,
    parameters="kernel degree gamma coef0 tol nu shrinking cache_size verbose max_iter",
):
    """One-class SVM for code that was written for ``sklearn.svm.OneClassSVM``: change the import, keep the rest."""

    random_state = 0

    @property
    def offset_(self) -> np.ndarray:
        """What ``score_samples`` has more than ``decision_function``."""
        return -self.intercept_


_OWN = {
    "SVC": "SMO",
    "NuSVC": "svmreduce.NuSVC",
    "SVR": "svmreduce.SVR",
    "NuSVR": "svmreduce.NuSVR",
    "OneClassSVM": "OneClass",
}
