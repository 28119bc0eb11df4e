"""Rules for the values of parameters: which words there are, and how a method's rules are found.

A method states the rules of its own parameters in the class attribute ``rules``, name by name. They add to those of its
parents. The words that mean the same everywhere (C, gamma, …) have their rules here; a class may give another rule
for one of them, or None for no rule. Constructors only store, so a wrong value is reported at ``fit`` or
``fit_reduce``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import cache
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight

from svmreduce.errors import InputError
from svmreduce.kernels import GAMMA_WORDS, GAMMAS, LARGEST_DEGREE, KernelMixture, KernelSpec
from svmreduce.label_keys import label_key
from svmreduce.printable import listed
from svmreduce.types import Matrix

ALL_ZERO = "every sample_weight is zero: there is nothing to train on"


class Rule(NamedTuple):
    """What a value must be, in words for the error message, and whether it is."""

    what: str
    is_right: Callable[[object], bool]


def is_number(value: object) -> bool:
    """A finite number, and not a boolean."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the largest double
        return False


def is_whole(value: object, least: int, most: float = math.inf) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and least <= value <= most


def is_word(value: object, *words: str) -> bool:
    return isinstance(value, str) and value in words


def whole_number(least: int, most: int | None = None) -> Rule:
    words = f">= {least}" if most is None else f"from {least} to {most}"
    return Rule(f"a whole number {words}", lambda value: is_whole(value, least, math.inf if most is None else most))


def one_of(*words: str) -> Rule:
    return Rule(f"one of {', '.join(words)}", lambda value: is_word(value, *words))


POSITIVE = Rule("a positive number", lambda value: is_number(value) and value > 0)
NOT_NEGATIVE = Rule("a number >= 0", lambda value: is_number(value) and value >= 0)
FINITE = Rule("a finite number", is_number)
PROBABILITY = Rule("above 0 and below 1", lambda value: is_number(value) and 0 < value < 1)
SHARE = Rule("above 0 and at most 1", lambda value: is_number(value) and 0 < value <= 1)
SWITCH = Rule("true or false", lambda value: isinstance(value, (bool, np.bool_)))
COUNT = whole_number(least=1)
SEED = whole_number(least=0, most=2**32 - 1)

SHARED: dict[str, Rule] = {
    "C": POSITIVE,
    "kernel": Rule(
        "the name of a kernel, such as 'rbf'", lambda value: isinstance(value, (str, KernelSpec, KernelMixture))
    ),
    "gamma": Rule(
        f"a positive number, {GAMMA_WORDS}", lambda value: is_word(value, *GAMMAS) or POSITIVE.is_right(value)
    ),
    "coef0": FINITE,
    "degree": whole_number(least=0, most=LARGEST_DEGREE),
    "tol": POSITIVE,
    "cache_mb": POSITIVE,
    "max_iter": Rule("a whole number >= 1, or -1", lambda value: value == -1 or is_whole(value, 1)),
    "threads": COUNT,
    "class_weight": Rule("'balanced' or a dict", lambda value: value == "balanced" or isinstance(value, dict)),
    "probability": SWITCH,
    "verbose": SWITCH,
    "random_state": Rule(
        SEED.what, lambda value: value is None or isinstance(value, np.random.RandomState) or SEED.is_right(value)
    ),
}


def rules_of(method: type) -> dict[str, Rule | None]:
    """The shared rules, then those of its parents, then its own."""
    rules = dict(SHARED)
    for base in reversed(method.__mro__):
        rules |= vars(base).get("rules", {})
    return rules


@cache
def _defaults_of(method: type) -> dict[str, object]:
    return {name: one.default for name, one in inspect.signature(method.__init__).parameters.items()}


def check_parameters(estimator: BaseEstimator) -> None:
    """Raise an InputError for the first parameter whose value is of a wrong kind or out of range.

    None is fine where it is the constructor's own default. Then comes ``check_values`` of a class that has it.
    """
    rules, defaults = rules_of(type(estimator)), _defaults_of(type(estimator))
    for name, default in defaults.items():
        rule, value = rules.get(name), getattr(estimator, name, None)
        if rule is None or (value is None and default is None):
            continue
        if not rule.is_right(value):
            raise InputError(f"{name} must be {rule.what}, got {value!r}")
    if hasattr(estimator, "check_values"):
        estimator.check_values()


def checked_weights(sample_weight: ArrayLike | None, X: Matrix) -> np.ndarray:
    """One weight ≥ 0 per row, not all of them zero; ones when none are given."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    if not np.asarray(sample_weight).any():
        raise InputError(ALL_ZERO)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if weights.min() < 0:
        raise InputError(f"sample_weight must not be negative, got {weights.min():g}")
    return weights


def class_weights(given: dict, classes: np.ndarray) -> dict:
    """Weights by the labels as the data has them; a file of settings may spell 1.0 as 1 or '1'."""
    by_key = {label_key(label): label for label in classes.tolist()}
    for label, weight in given.items():
        if label_key(label) not in by_key:
            raise InputError(f"class_weight names {label!r}, but the classes are {listed(classes)}")
        if not (is_number(weight) and weight > 0):
            raise InputError(f"class_weight of {label!r} must be a positive number, got {weight!r}")
    return {by_key[label_key(label)]: float(weight) for label, weight in given.items()}
