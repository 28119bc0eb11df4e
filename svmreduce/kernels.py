"""Kernels by name, with the parameter names and meanings of LIBSVM, and mixtures of them.

``rbf`` is a kernel, ``rbf(gamma=0.5):5+poly(degree=2):5`` a mixture: kernels joined by ``+``, each with its own
numbers in brackets where needed, and a count. The count is how much a kernel weighs in an average kernel, and
how many of a bundle of SVMs use it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy import sparse

from svmreduce.errors import InputError, TooLarge, nearest_name_error
from svmreduce.norms import NORMS, InputNorm, learn_norm
from svmreduce.types import Matrix

# The integer is what crosses into core (and, up to 4, LIBSVM's -t): only integers and floats keep numba's disk cache
# alive, function arguments do not.
PRECOMPUTED = "precomputed"
KERNEL_CODES = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3, PRECOMPUTED: 4, "kmod": 5}
LIBSVM_KERNELS = ("linear", "poly", "rbf", "sigmoid")
GAUSSIANS = {"gaussian": None} | {f"gaussian_{norm}": norm for norm in NORMS}  # rbf kernels, each with its norm
KERNELS = (*(name for name in KERNEL_CODES if name != PRECOMPUTED), *GAUSSIANS)  # that evaluate rows
GAMMAS = ("auto", "auto-distance", "scale")  # what gamma may be besides a number
GAMMA_WORDS = "'auto', 'auto-distance' or 'scale'"
LARGEST_DEGREE = 100  # a power is that many multiplications


@dataclass(frozen=True)
class KernelSpec:
    """A kernel k(x, z) with its numbers.

    linear   x·z
    poly     (gamma·x·z + coef0)^degree
    rbf      exp(-gamma·||x-z||²)
    sigmoid  tanh(gamma·x·z + coef0)
    precomputed   a value of the table that the rows are: x holds all its kernel values, z its own number (first column)
    kmod     (exp(coef0/(1 + gamma·||x-z||²)) - 1) / (exp(coef0) - 1), and 1/(1 + gamma·||x-z||²) for coef0 = 0

    ``sigmoid``, and ``poly`` with a negative coef0, may be indefinite: then the dual problem has several stationary
    points, and two programs that both converge may end in different ones.

    ``kmod`` is KMOD in its original form, a·(exp(γ/(||x-z||² + σ²)) - 1) with a such that k(x, x) = 1, for
    gamma = 1/σ² and coef0 = γ/σ². (Printed with an exponent -1 behind the bracket, as in the bootstrap paper, it
    would grow with the distance.)
    """

    name: str = "rbf"
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    norm: InputNorm | None = None  # of a norm other than the Euclidean one
    is_mixture: ClassVar[bool] = False

    def __post_init__(self):
        if self.name not in KERNEL_CODES:
            raise nearest_name_error("kernel", self.name, KERNEL_CODES)
        if self.name != "linear" and not (np.isfinite(self.gamma) and self.gamma > 0):
            raise InputError(f"gamma must be a positive number, got {self.gamma}")
        if not np.isfinite(self.coef0):
            raise InputError(f"coef0 must be a finite number, got {self.coef0}")
        if self.name == "kmod" and self.coef0 < 0:
            raise InputError(f"coef0 must be a number >= 0 for kmod, got {self.coef0}")
        if self.degree != int(self.degree) or not 0 <= self.degree <= LARGEST_DEGREE:
            raise InputError(f"degree must be a whole number from 0 to {LARGEST_DEGREE}, got {self.degree}")

    @property
    def code(self) -> int:
        return KERNEL_CODES[self.name]

    def numbers(self) -> dict:
        """Its name and the numbers that matter for it."""
        matter = {
            "linear": (),
            PRECOMPUTED: (),
            "rbf": ("gamma",),
            "kmod": ("gamma", "coef0"),
            "sigmoid": ("gamma", "coef0"),
        }
        names = matter.get(self.name, ("gamma", "coef0", "degree"))
        kernel = self.name if self.norm is None else f"gaussian_{self.norm.name}"
        return {"kernel": kernel, **{name: getattr(self, name) for name in names}}

    def in_words(self) -> str:
        """rbf, gamma 0.5"""
        (_, name), *numbers = self.numbers().items()
        return ", ".join([name, *(f"{number} {value!r}" for number, value in numbers)])

    def mapped(self, X: Matrix) -> Matrix:
        """The rows as the kernel's norm sees them."""
        return X if self.norm is None else self.norm.mapped(X)


@dataclass(frozen=True)
class KernelMixture:
    """The average of several kernels: Σ weight·k(x, z), the weights adding up to 1."""

    parts: tuple[KernelSpec, ...]
    weights: tuple[float, ...]
    is_mixture: ClassVar[bool] = True
    name: ClassVar[str] = "mixture"


@dataclass(frozen=True)
class KernelPart:
    """One kernel of a kernel's name, before any rows were seen."""

    name: str
    numbers: dict = field(default_factory=dict)
    count: int | None = None

    @property
    def is_learned(self) -> bool:
        """Whether rows decide what it is: by their norm, or by a word for its own gamma."""
        return bool(GAUSSIANS.get(self.name)) or isinstance(self.numbers.get("gamma"), str)

    def spec(self, X: Matrix, gamma: float | str, coef0: float, degree: int) -> KernelSpec:
        """The kernel with its own numbers, else the given ones; a norm or a word for gamma is learned from X."""
        given = {"gamma": gamma, "coef0": coef0, "degree": degree} | self.numbers
        given["gamma"] = 1.0 if self.name in ("linear", PRECOMPUTED) else resolve_gamma(given["gamma"], X, self.name)
        if self.name not in GAUSSIANS:
            return KernelSpec(self.name, **given)
        norm = GAUSSIANS[self.name]
        return KernelSpec("rbf", given["gamma"], norm=norm and learn_norm(norm, X))


def kernel_for(
    X: Matrix,
    kernel: str | KernelSpec | KernelMixture,
    gamma: float | str = 1.0,
    coef0: float = 0.0,
    degree: int = 3,
) -> KernelSpec | KernelMixture:
    """The kernel or mixture of this name for these rows; a kernel that was learned from other rows as it is."""
    if not isinstance(kernel, str):
        return kernel
    parts = parse_kernel(kernel)
    specs = tuple(part.spec(X, gamma, coef0, degree) for part in parts)
    if len(specs) == 1:
        return specs[0]
    counts = [part.count or 1 for part in parts]
    return KernelMixture(specs, tuple(count / sum(counts) for count in counts))


_PART = re.compile(r"(\w*)(?:\(([^()]*)\))?(?::(\d+))?")
_BETWEEN = re.compile(r"\+(?![^(]*\))")  # a plus sign outside brackets


def parse_kernel(
    text: str, known: Iterable[str] = (*KERNELS, PRECOMPUTED), *, whose: str = "", mixes: bool = True
) -> list[KernelPart]:
    """The parts of a kernel's name; an unknown one is an error that names the nearest of ``known``."""
    words = _BETWEEN.split(text.replace(" ", ""))
    parts = [_parse_part(word, text, known, f"kernel of {whose}" if whose else "kernel") for word in words]
    if len(parts) > 1 and not mixes:
        raise InputError(f"{whose} takes one kernel, not a mixture such as {text!r}; the solver 'smo' takes mixtures")
    if len(parts) > 1 and PRECOMPUTED in {part.name for part in parts}:
        raise InputError(f"kernel {text!r}: a precomputed kernel is a table of values and cannot be mixed with others")
    if len({part.count is None for part in parts}) > 1:
        raise InputError(f"kernel {text!r}: give all its kernels a count, or none")
    return parts


def _parse_part(word: str, text: str, known, kind: str) -> KernelPart:
    found = _PART.fullmatch(word)
    if not found or found[3] == "0":
        raise InputError(f"kernel {text!r}: cannot read {word!r}; a mixture is written rbf:5+poly(degree=2):5")
    name, inside, count = found.groups()
    if name not in known:
        raise nearest_name_error(kind, name, known)
    numbers = {}
    for pair in filter(None, (inside or "").split(",")):
        key, _, value = pair.partition("=")
        if key not in ("gamma", "coef0", "degree"):
            raise nearest_name_error(f"number of kernel {name!r}", key, ("gamma", "coef0", "degree"))
        try:
            numbers[key] = value if value in GAMMAS and key == "gamma" else float(value)
        except ValueError:
            raise InputError(f"kernel {text!r}: {key} must be a number, got {value!r}") from None
    KernelPart("rbf" if name in GAUSSIANS else name, numbers).spec(np.ones((1, 1)), 1.0, 0.0, 3)  # checks the numbers
    numbers |= {"degree": int(numbers["degree"])} if "degree" in numbers else {}
    return KernelPart(name, numbers, int(count) if count else None)


def resolve_gamma(gamma: float | str, X: Matrix, kernel: str = "rbf") -> float:
    """A number as given, or a word.

    auto = 1/features and scale = 1/(features·variance) are scikit-learn's. auto-distance takes for σ² the mean squared
    distance between the rows: 1/(2σ²) for rbf, which is then exp(-||x-z||²/(2σ²)), and 1/σ² for other kernels. So it is
    not one number for a mixture.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma == "scale":
        values = X.data if sparse.issparse(X) else X
        cells = X.shape[0] * X.shape[1]
        # in two passes: a difference of squares would cancel
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.float64(X.mean())
            variance = (np.square(values - mean).sum() + (cells - values.size) * np.square(mean)) / cells
        if not np.isfinite(variance):
            raise TooLarge(
                "gamma='scale' needs the variance of the data, and the numbers are too large for it; scale them"
            )
        is_constant = variance <= 1e-24 * mean**2  # what rounding leaves
        return 1.0 if is_constant else float(1.0 / (X.shape[1] * variance))
    if gamma == "auto-distance":
        if "+" in kernel:
            raise InputError(f"gamma='auto-distance' is not one number for the mixture {kernel!r}: give a number")
        squared = mean_squared_distance(X)
        return 1.0 / ((2 if kernel in ("rbf", *GAUSSIANS) else 1) * squared) if squared else 1.0
    raise InputError(f"gamma must be a positive number, {GAMMA_WORDS}, got {gamma!r}")


def mean_squared_distance(X: Matrix) -> float:
    """Mean of ||x-z||² over all pairs of rows: twice the sum of the columns' variances."""
    n = X.shape[0]
    mean = np.asarray(X.mean(axis=0)).ravel()
    if sparse.issparse(X):
        # in two passes: zeros that are not stored differ from the mean, too
        stored = np.bincount(X.indices, minlength=mean.size)
        squares = np.square(X.data - mean[X.indices]).sum() + ((n - stored) * mean**2).sum()
    else:
        squares = sum(np.square(X[start : start + 4096] - mean).sum() for start in range(0, n, 4096))
    is_constant = squares <= 1e-24 * n * (mean @ mean)
    return 0.0 if is_constant else 2.0 * float(squares) / n
