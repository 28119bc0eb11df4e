"""What the checks are made of: rows, fits, and demands in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier

from svmreduce.registry import parameters_of

Check = Callable[[Any, float], None]


def instance(method: Any) -> Any:
    return method() if isinstance(method, type) else clone(method)


def new(method: Any, **parameters) -> Any:
    return clone(method).set_params(**parameters)


def has(method: Any, *names: str) -> bool:
    return all(name in parameters_of(type(method)) for name in names)


def demand(fact: Any, otherwise: str) -> None:
    """``assert`` that python -O keeps."""
    if not fact:
        raise AssertionError(otherwise)


def refused(call: Callable[[], object], pattern: str, what: str) -> None:
    try:
        call()
    except ValueError as error:
        demand(re.search(pattern, str(error)), f"{what} is refused with {str(error)!r}, which lacks {pattern!r}")
        return
    raise AssertionError(f"{what} must raise an InputError or ValueError, and raises nothing")


def near(one: np.ndarray, other: np.ndarray, atol: float, what: str) -> None:
    demand(one.shape == other.shape, f"{what}: shapes {one.shape} and {other.shape}")
    far = np.abs(np.asarray(one, float) - np.asarray(other, float)).max(initial=0.0)
    demand(far <= atol, f"{what}: values differ by up to {far:.3g}, allowed are {atol:g}")


def values_of(fitted: Any, X) -> np.ndarray:
    """Decision values of a classifier, predictions of a regressor; of the model itself, which has no votes in them."""
    if hasattr(fitted, "model_"):
        return fitted.model_.decision_function(X)
    return fitted.decision_function(X) if is_classifier(fitted) else fitted.predict(X)


def cloud(rows: int = 80, features: int = 4, classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Classes that lie apart, with some overlap."""
    y = np.arange(rows) % classes
    X = np.random.default_rng(seed).normal(size=(rows, features)) + 2.5 * np.eye(classes, features)[y]
    return X, y


def forms(X: np.ndarray) -> tuple:
    return X, sparse.csr_matrix(X)


def is_finite(values: np.ndarray, what: str) -> None:
    demand(np.isfinite(values).all(), f"{what}: {int((~np.isfinite(values)).sum())} values are not finite")
