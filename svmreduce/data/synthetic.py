"""Synthetic problems with a known truth, at any size.

Every generator is one vectorised function of ``(rows, rng)`` and its own keyword parameters, which are
its schema: a parameter it does not have is an error that names the nearest one. The same seed gives the
same rows. Two-class labels are ±1, more classes 1, 2, 3, …
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import ndtr

from svmreduce.errors import InputError, nearest_name_error
from svmreduce.memory import check_memory
from svmreduce.types import Dataset

Rows = tuple[np.ndarray, np.ndarray]
_LEAST = {"features": 1, "cells": 1, "classes": 2, "noise": 0, "spread": 0, "box": 0, "reach": 0, "centers_seed": 0}
_LARGEST = 1e100  # beyond it, sums and squares overflow
BLOCK_ROWS = 131_072  # of rows that are made in blocks; another number would make other rows
_COPIES = 3  # of the rows, while they are made and written


def make(name: str, rows: int, seed=0, **params) -> Dataset:
    """``rows`` rows of the named problem.

    Parameters
    ----------
    name : str
        A key of ``GENERATORS``.
    rows : int
        Number of rows.
    seed : int or sequence of int, default=0
        Anything ``numpy.random.default_rng`` takes; ``[seed, 1]`` is a second, independent sample.
    **params
        The generator's own parameters, see :func:`parameters`.
    """
    check_request(name, rows, params)
    X, y = GENERATORS[name](int(rows), np.random.default_rng(seed), **params)
    return Dataset(X, y, name, "regression" if name in REGRESSION else "classification")


def make_blocks(name: str, rows: int, seed: int = 0, stream: int = 0, **params) -> Iterator[Rows]:
    """The named problem in blocks of ``BLOCK_ROWS``, each with a seed of its own, so in any number of rows.

    Up to one block the rows are those of :func:`make` (with ``[seed, 1]`` for stream 1); beyond, they are others.
    """
    for block, start in enumerate(range(0, rows, BLOCK_ROWS)):
        made = make(name, min(BLOCK_ROWS, rows - start), [seed, stream, block], **params)
        yield made.X, made.y


def check_request(name: str, rows: int, params: dict) -> None:
    """Reject what cannot be generated, before anything is."""
    if rows < 1:
        raise InputError(f"{rows} rows of {name}: need at least 1")
    known = parameters(name)
    for key, value in params.items():
        if key not in known:
            raise nearest_name_error(f"parameter of {name}", key, known)
        kind = type(known[key])
        if isinstance(value, bool) or not isinstance(value, (int, float) if kind is float else kind):
            raise InputError(f"{key} of {name}: {value!r} is out of range; need a value such as {known[key]!r}")
        least = _LEAST.get(key, -_LARGEST)
        if not (isinstance(value, str) or least <= value <= _LARGEST):
            bound = f"at least {least}" if key in _LEAST else "finite"
            raise InputError(f"{key} of {name}: {value} is out of range; need a number that is {bound}")
    shape = {"features": 2, "classes": 0, **known, **params}
    needed = _COPIES * 8 * (rows + shape["classes"]) * (shape["features"] + 1)
    check_memory(needed, f"{rows} rows of {name}", "make fewer")


def parameters(name: str) -> dict[str, object]:
    """A generator's parameters with their defaults."""
    if name not in GENERATORS:
        raise nearest_name_error("generator", name, GENERATORS)
    signature = inspect.signature(GENERATORS[name]).parameters.values()
    return {p.name: p.default for p in signature if p.kind is p.KEYWORD_ONLY}


def _signs(rows: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 2, rows) * 2.0 - 1.0


def twonorm(rows: int, rng: np.random.Generator, *, features: int = 20) -> Rows:
    """Two round clouds with means ±(a, …, a), a = 2/√features: 2.28 % Bayes error at any dimension."""
    y = _signs(rows, rng)
    X = rng.standard_normal((rows, features))
    X += (y * (2 / np.sqrt(features)))[:, None]
    return X, y


def ringnorm(rows: int, rng: np.random.Generator, *, features: int = 20, variant: str = "paper") -> Rows:
    """A wide cloud (+1, covariance 4·I) around a narrow one (−1, mean (a, …, a), a = 2/√features).

    The RandSVM paper prints mean 1 for the wide class (``variant="paper"``, read as (1, …, 1)); in
    Breiman's original it is 0 (``variant="breiman"``), the likely meaning of the misprint.
    """
    wide_means = {"paper": 1.0, "breiman": 0.0}
    if variant not in wide_means:
        raise nearest_name_error("variant of ringnorm", str(variant), wide_means)
    y = _signs(rows, rng)
    X = rng.standard_normal((rows, features))
    wide = y > 0
    X *= np.where(wide, 2.0, 1.0)[:, None]
    X += np.where(wide, wide_means[variant], 2 / np.sqrt(features))[:, None]
    return X, y


def checkerboard(rows: int, rng: np.random.Generator, *, cells: int = 4, noise: float = 0.0) -> Rows:
    """Uniform on [0, cells)²; negative where ⌊x₁⌋ and ⌊x₂⌋ differ in parity; a share ``noise`` flipped."""
    X = rng.uniform(0, cells, (rows, 2))
    board = np.floor(X)
    y = 1.0 - 2.0 * ((board[:, 0] + board[:, 1]) % 2)
    if noise:
        _check_share("noise", noise)
        y[rng.random(rows) < noise] *= -1
    return X, y


def two_spirals(rows: int, rng: np.random.Generator, *, turns: float = 3.0, noise: float = 0.0) -> Rows:
    """Two arms winding ``turns`` times around each other inside the unit disc, each the other's mirror.

    Points lie evenly along an arm (the square root undoes the crowding at the centre); ``noise`` is the
    standard deviation added to both coordinates.
    """
    y = _signs(rows, rng)
    radius = np.sqrt(rng.random(rows))
    angle = 2 * np.pi * turns * radius
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * (y * radius)[:, None]
    if noise:
        X += rng.normal(0, noise, X.shape)
    return X, y


def sinc(rows: int, rng: np.random.Generator, *, reach: float = 10.0, noise: float = 0.0) -> Rows:
    """d = sin(x)/x + noise, x uniform on [−reach, reach]."""
    X = rng.uniform(-reach, reach, (rows, 1))
    d = _sinc(X[:, 0])
    return X, d + rng.normal(0, noise, rows) if noise else d


def sinc_times_pi(rows: int, rng: np.random.Generator, *, reach: float = 10.0, noise: float = 0.2) -> Rows:
    """d = π·sin(x)/x·(1 + noise·ε), ε standard normal, x unevenly spaced (uniform at random).

    The LP-SVR paper says only "unevenly spaced" and "multiplicative white Gaussian noise": range and
    noise level are our choice, and its π is read as the number, though it may stand for the noise.
    """
    X = rng.uniform(-reach, reach, (rows, 1))
    return X, np.pi * _sinc(X[:, 0]) * (1 + noise * rng.standard_normal(rows))


def _sinc(x: np.ndarray) -> np.ndarray:
    return np.sinc(x / np.pi)  # numpy's sinc is sin(πx)/(πx)


def synthetic_s(rows: int, rng: np.random.Generator, *, separation: float = 12.0) -> Rows:
    """Three normal classes in a row, far apart: separable, but not one class from the rest by a line.

    The LP-SVR paper calls "Synthetic S" a non-linearly separable three-class problem with normally
    distributed classes in two dimensions and gives no more. Our reading: means (−s, 0), (0, 0), (s, 0),
    the middle class three times as long in the second coordinate. At s = 12 standard deviations the
    classes do not touch even in millions of rows.
    """
    y = rng.integers(1, 4, rows).astype(np.float64)
    X = rng.standard_normal((rows, 2))
    X[:, 0] += (y - 2) * separation
    X[y == 2, 1] *= 3
    return X, y


def synthetic_ns(rows: int, rng: np.random.Generator, *, separation: float = 2.5) -> Rows:
    """Synthetic S with the classes moved together until they overlap ("similar but non-separable")."""
    return synthetic_s(rows, rng, separation=separation)


def copula(rows: int, rng: np.random.Generator, *, rho: float = 0.8) -> Rows:
    """A normal cloud (−1: mean (1, 2), variances 2 and ½) next to a Gaussian copula (+1) with correlation ``rho``.

    The example of Figure 3 of the LP-SVR paper. It calls the problem separable, but a copula fills the unit square,
    where some of the normal rows lie.
    """
    if not -1 <= rho <= 1:
        raise InputError(f"rho {rho}: need a correlation between -1 and 1")
    y = np.arange(rows) % 2 * 2.0 - 1.0
    X = rng.standard_normal((rows, 2))
    joint = y > 0
    X[joint, 1] = rho * X[joint, 0] + np.sqrt(1 - rho**2) * X[joint, 1]
    X[joint] = ndtr(X[joint])
    X[~joint] = X[~joint] * np.sqrt([2.0, 0.5]) + [1.0, 2.0]
    return X, y


def blobs(
    rows: int,
    rng: np.random.Generator,
    *,
    classes: int = 2,
    features: int = 2,
    spread: float = 1.0,
    box: float = 10.0,
    centers_seed: int = 0,
) -> Rows:
    """Round clouds of standard deviation ``spread`` about centres drawn once in [−box, box].

    The centres have their own seed, so that a test sample (another seed) is of the same problem.
    """
    centers = np.random.default_rng(centers_seed).uniform(-box, box, (classes, features))
    which = rng.integers(0, classes, rows)
    X = rng.standard_normal((rows, features))
    X *= spread
    X += centers[which]
    return X, which * 2.0 - 1.0 if classes == 2 else which + 1.0


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise InputError(f"{name} {value}: need a share between 0 and 1")


GENERATORS: dict[str, Callable[..., Rows]] = {
    function.__name__: function
    for function in (
        twonorm,
        ringnorm,
        checkerboard,
        two_spirals,
        sinc,
        sinc_times_pi,
        synthetic_s,
        synthetic_ns,
        copula,
        blobs,
    )
}
REGRESSION = frozenset({"sinc", "sinc_times_pi"})
