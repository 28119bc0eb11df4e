"""Any classifier or regressor with scikit-learn's conventions as a solver of experiments.

The estimator stays what it is. A subclass made here adds the class facts that a plan asks for and ``fit_facts``, with
None for everything that the estimator does not report.
"""

from __future__ import annotations

import inspect
import warnings
from contextlib import suppress
from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter

from svmreduce.checks import SHARED
from svmreduce.errors import InputError
from svmreduce.types import FitFacts

_TOY_ROWS = 64


class _AsSolver:
    """What an estimator lacks to be a solver."""

    kernels: ClassVar[tuple[str, ...]] = ()  # its kernels are its own business, and it has no model file
    mixes_kernels: ClassVar[bool] = False
    weights_reason: ClassVar[str] = "its fit has no sample_weight"
    rules: ClassVar = dict.fromkeys(SHARED)  # our rules for C, gamma, … are not those of others
    parameter_defaults: ClassVar[dict[str, Any]]
    _original: ClassVar[type]
    _is_warm: ClassVar[bool] = False

    def fit(self, X, y, **options):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            try:
                super().fit(X, y, **options)
            except (TypeError, ValueError) as error:
                if sparse.issparse(X) and "sparse" in str(error).lower():
                    name = type(self).__name__
                    raise InputError(f"{name} takes no sparse rows, which this data set has: leave it out") from error
                raise
        self.converged_ = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
        for warning in caught:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        return self

    def fit_facts(self) -> FitFacts:
        """What happened in ``fit``, as far as it says."""
        return facts_of(self)

    def check_values(self) -> None:
        """Values that scikit-learn refuses in ``fit`` are refused when a plan is made."""
        if hasattr(self, "_parameter_constraints"):
            try:
                self._validate_params()
            except ValueError as error:
                raise InputError(" ".join(str(error).split())) from None

    @classmethod
    def warm_up(cls) -> None:
        """A first fit off the clock, for what is imported or compiled in it."""
        if cls._is_warm:
            return
        X = np.random.default_rng(0).random((_TOY_ROWS, 2))
        with suppress(Exception), warnings.catch_warnings():  # toy rows may not suit it
            warnings.simplefilter("ignore")
            cls().fit(X, np.arange(_TOY_ROWS) % 2).predict(X)
        cls._is_warm = True

    def __reduce__(self):  # so that it can travel to the processes of n_jobs
        return _unfitted, (self._original,), self.__getstate__()


@cache
def as_solver(estimator: type) -> type:
    """The estimator with the class facts of a solver.

    Raises
    ------
    InputError
        if it cannot be a solver; the message says why, for whoever knows its name
    """
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise InputError("cannot train and predict: it has no fit and predict")
    facts = {
        "parameter_defaults": _defaults(estimator),
        "__module__": estimator.__module__,
        "__qualname__": estimator.__qualname__,
        "__doc__": inspect.getdoc(estimator) or estimator.__name__,
        "_original": estimator,
        "tasks": _tasks(estimator()),
        "accepts_weights": has_fit_parameter(estimator, "sample_weight"),
    }
    return type(estimator.__name__, (_AsSolver, estimator), facts)


def _defaults(estimator: type) -> dict[str, Any]:
    try:
        return estimator().get_params(deep=False)
    except Exception as error:  # whatever the code of others raises
        reason = " ".join(str(error).split())
        raise InputError(f"is neither a solver nor an estimator of scikit-learn's kind: {reason}") from None


def _tasks(made: object) -> tuple[str, ...]:
    try:
        tasks = ("classification",) * is_classifier(made) + ("regression",) * is_regressor(made)
    except AttributeError:  # of no tags
        tasks = ()
    if not tasks:
        raise InputError("is neither a classifier nor a regressor; subclass ClassifierMixin or RegressorMixin")
    return tasks


def _unfitted(estimator: type) -> object:
    made = as_solver(estimator)
    return made.__new__(made)


def facts_of(estimator: Any) -> FitFacts:
    """What happened in the fit of an estimator, as far as attributes with scikit-learn's names say."""
    steps = getattr(estimator, "n_iter_", None)
    vectors = getattr(estimator, "support_vectors_", None)
    threads = getattr(estimator, "n_jobs", None)
    return FitFacts(
        iterations=None if steps is None else int(np.sum(steps)),
        vectors=None if vectors is None else vectors.shape[0],
        converged=getattr(estimator, "converged_", True),
        threads=threads if threads and threads > 0 else None,
    )
