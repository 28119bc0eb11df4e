"""Parameters of solvers and reducers: one rule per name, the same wherever the name appears.

Constructors only store, so a wrong value is told at ``fit`` or ``fit_reduce``, by the name it was given.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from numbers import Integral, Real

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from svmreduce.errors import InputError
from svmreduce.kernels import GAMMA_WORDS, GAMMAS, LARGEST_DEGREE, KernelMixture, KernelSpec
from svmreduce.solvers import SOLVERS

ALL_ZERO = "every sample_weight is zero: there is nothing to train on"


def _is_number(value) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the largest double
        return False


def _is_whole(value, least: int, most: float = math.inf) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and least <= value <= most


def _is_seed(value) -> bool:
    return value is None or isinstance(value, np.random.RandomState) or _is_whole(value, 0, 2**32 - 1)


_POSITIVE = "a positive number", lambda value: _is_number(value) and value > 0
_NOT_NEGATIVE = "a number >= 0", lambda value: _is_number(value) and value >= 0
_FINITE = "a finite number", _is_number
_SWITCH = "true or false", lambda value: isinstance(value, (bool, np.bool_))
_COUNT = "a whole number >= 1", lambda value: _is_whole(value, 1)


def _one_of(*words: str):
    return f"one of {', '.join(words)}", lambda value: isinstance(value, str) and value in words


_RULES: dict[str, tuple[str, Callable[[object], bool]]] = {
    "C": _POSITIVE,
    "tol": _POSITIVE,
    "cache_mb": _POSITIVE,
    "gamma": (
        f"a positive number, {GAMMA_WORDS}",
        lambda value: value in GAMMAS if isinstance(value, str) else _POSITIVE[1](value),
    ),
    "coef0": _FINITE,
    "degree": (f"a whole number from 0 to {LARGEST_DEGREE}", lambda value: _is_whole(value, 0, LARGEST_DEGREE)),
    "kernel": (
        "the name of a kernel, such as 'rbf'",
        lambda value: isinstance(value, (str, KernelSpec, KernelMixture)),
    ),
    "bias": _FINITE,
    "epsilon": _NOT_NEGATIVE,
    "delta": ("above 0 and below 1", lambda value: _is_number(value) and 0 < value < 1),
    "k": _COUNT,
    "c": _POSITIVE,
    "max_rounds": _COUNT,
    "epochs": _COUNT,
    "candidates": _COUNT,
    "proportion": (
        "above 0 and at most 1, or 'auto'",
        lambda value: value == "auto" if isinstance(value, str) else _is_number(value) and 0 < value <= 1,
    ),
    "gelling_slope": _FINITE,
    "gelling_step": ("above 0 and at most 0.1", lambda value: _is_number(value) and 0 < value <= 0.1),
    "n_weak": ("a whole number >= 2", lambda value: _is_whole(value, 2)),
    "weak": ("the name of a solver, such as 'smo'", lambda value: value in SOLVERS.names() or ":" in str(value)),
    "weak_params": ("a dict", lambda value: isinstance(value, dict)),
    "audit": _SWITCH,
    "share": ("above 0 and at most 1", lambda value: _is_number(value) and 0 < value <= 1),
    "rows": _COUNT,
    "E": _COUNT,
    "P": _COUNT,
    "V": _COUNT,
    "working_set": _COUNT,
    "components": _COUNT,
    "bins": _COUNT,
    "units": _COUNT,
    "leaf_rows": _COUNT,
    "first": _one_of("random", "mahalanobis", "kernel_mahalanobis"),
    "space": _one_of("input", "kernel"),
    "covariance": _one_of("auto", "sample", "ledoit_wolf", "low_rank"),
    "smoothing": _POSITIVE,
    "threads": _COUNT,
    "sample_size": ("a whole number >= 2", lambda value: _is_whole(value, 2)),
    "quiet_samples": _COUNT,
    "start_rows": _COUNT,
    "max_iter": ("a whole number >= 1, or -1", lambda value: value == -1 or _is_whole(value, 1)),
    "certify": _SWITCH,
    "shrinking": _SWITCH,
    "dual": _SWITCH,
    "weighted": _SWITCH,
    "separable": _SWITCH,
    "finishing": _SWITCH,
    "verbose": _SWITCH,
    "class_weight": ("'balanced' or a dict", lambda value: value == "balanced" or isinstance(value, dict)),
    "random_state": (f"a whole number from 0 to {2**32 - 1}", _is_seed),
}


def check_parameters(estimator) -> None:
    """Raise an InputError for the first parameter whose value is of a wrong kind or out of range.

    None is fine where it is the constructor's own default.
    """
    defaults = inspect.signature(type(estimator).__init__).parameters
    for name, value in estimator.get_params(deep=False).items():
        if name not in _RULES or (value is None and defaults[name].default is None):
            continue
        what, is_right = _RULES[name]
        if not is_right(value):
            raise InputError(f"{name} must be {what}, got {value!r}")


def checked_weights(sample_weight, X) -> np.ndarray:
    """One weight ≥ 0 per row, not all of them zero; ones when none are given."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    if not np.asarray(sample_weight).any():
        raise InputError(ALL_ZERO)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if weights.min() < 0:
        raise InputError(f"sample_weight must not be negative, got {weights.min():g}")
    return weights
