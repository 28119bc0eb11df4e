"""Grids of C, gamma and epsilon: as given, as LIBSVM's grid.py writes them, or suited to the data."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from svmreduce.errors import InputError
from svmreduce.kernels import mean_squared_distance

MOST_CELLS = 10_000
USUAL_C = tuple(10.0 ** (k / 2) for k in range(-2, 7))  # 0.1 … 1000
USUAL_STEPS = range(-3, 4)  # powers of 4 around one over the mean squared distance


def values_of(name: str, given: float | Iterable[float], *, zero: bool = False) -> np.ndarray:
    """Positive numbers (or zero, too), ascending, each once."""
    numbers = np.atleast_1d(np.asarray(given, dtype=np.float64)).ravel()
    if numbers.size == 0:
        raise InputError(f"{name}: no values are given; give at least one")
    wrong = numbers[~(np.isfinite(numbers) & ((numbers >= 0) if zero else (numbers > 0)))]
    if wrong.size:
        raise InputError(f"{name} must be {'numbers >= 0' if zero else 'positive numbers'}, got {wrong[0]:g}")
    return np.unique(numbers)


def parsed_list(name: str, text: str, *, zero: bool = False) -> np.ndarray:
    """``0.1,1,10``"""
    return values_of(name, [_number(name, word) for word in text.split(",") if word.strip()], zero=zero)


def parsed_powers(name: str, text: str) -> np.ndarray:
    """``begin,end,step`` of the exponent of 2, both ends included, as grid.py takes them."""
    words = text.split(",")
    if len(words) != 3:
        raise InputError(f"{name} takes begin,end,step, such as -5,15,2; got {text!r}")
    begin, end, step = (_number(name, word) for word in words)
    if not np.isfinite([begin, end, step]).all():
        raise InputError(f"{name} {text}: begin, end and step must be finite numbers, such as -5,15,2")
    if step == 0 or (end - begin) / step < 0:
        raise InputError(f"{name} {text}: no values; the step must lead from begin to end")
    count = np.floor((end - begin) / step + 1e-9) + 1
    if count > MOST_CELLS:
        raise InputError(f"{name} {text}: {count:.12g} values; take a larger step")
    powers = begin + step * np.arange(count)
    if np.abs(powers).max() > 300:
        raise InputError(f"{name} {text}: powers of 2 beyond 300 are not of use; take a smaller range")
    return values_of(name, 2.0**powers)


def _number(name: str, word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise InputError(f"{name}: not a number: {word.strip()!r}") from None


def usual_gammas(X) -> np.ndarray:
    """Powers of 4 around one over the mean squared distance between rows."""
    squared = mean_squared_distance(X)
    return (1.0 / squared if squared else 1.0) * 4.0 ** np.array(USUAL_STEPS)


def check_size(*axes: np.ndarray) -> None:
    cells = math.prod(axis.size for axis in axes)
    if cells > MOST_CELLS:
        raise InputError(f"the grid has {cells:,} cells; at most {MOST_CELLS:,} are searched: give fewer values")
