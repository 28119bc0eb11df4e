"""A bundle of weak SVMs, each trained on a small bootstrap sample, that all classify every row.

Training and classification are the whole cost of bootstrap cleaning, and both are independent work: one SVM to train,
or one block of rows to classify by one SVM, is one job for a thread. Every SVM draws from its own seed, so the
answers do not depend on the number of threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from svmreduce.core.threads import in_threads, in_threads_as_they_come
from svmreduce.errors import InputError
from svmreduce.kernels import GAUSSIANS, KernelPart, parse_kernel, resolve_gamma
from svmreduce.norms import learn_norm
from svmreduce.registry import build_method, parameters_of
from svmreduce.solvers import SOLVERS

BLOCK = 16_384  # rows classified at a time
LEAST_SAMPLE = 10  # rows
MOST_DRAWS = 100  # samples that one SVM may try


_ONE_CLASS = "all rows were of one class"


@dataclass(frozen=True)
class Sample:
    """Row numbers drawn with replacement, and how many samples before were of no use."""

    rows: np.ndarray
    failed_draws: int


@dataclass(frozen=True)
class WeakSVM:
    """One trained member of the bundle."""

    solver: object
    X: object  # all rows as its norm sees them
    sample: Sample


class WeakSVMs:
    """How to make the members of a bundle for one training set.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    codes : class numbers 0…k-1
    weak : name of a solver
    settings : its parameters, ``kernel`` being that of the whole bundle, which may be a mixture
    n_weak : members
    seed : of all samples
    threads : jobs at a time
    """

    def __init__(self, X, codes, *, weak: str, settings: dict, n_weak: int, seed: int, threads: int):
        self.X, self.codes, self.weak, self.seed, self.threads = X, codes, weak, seed, threads
        self.n = X.shape[0]
        self.solver_class = SOLVERS.get(weak)
        if "classification" not in self.solver_class.tasks:
            raise InputError(f"weak must be a classifier, and {weak} is not; take 'smo' or 'libsvm'")
        parts = _members(settings["kernel"], n_weak)
        self._views = {None: X} | {
            norm: learn_norm(norm, X).mapped(X) for norm in {GAUSSIANS.get(part.name) for part in parts} - {None}
        }
        self.members = [(self._settings(part, settings), GAUSSIANS.get(part.name)) for part in parts]
        for own, _ in self.members:  # so that a wrong one is reported before anything is trained
            build_method(weak, self.solver_class, own)

    def _settings(self, part: KernelPart, settings: dict) -> dict:
        """Constructor arguments: a Gaussian kernel of another norm is an rbf kernel on other rows."""
        name = "rbf" if part.name in GAUSSIANS else part.name
        parse_kernel(name, self.solver_class.kernels, whose=self.weak)
        own = settings | part.numbers | {"kernel": name, "threads": 1}
        own["gamma"] = resolve_gamma(own["gamma"], self.X, name)
        known = parameters_of(self.solver_class)
        shared = ("kernel", "gamma", "coef0", "degree", "threads")  # a linear solver has none of them
        return {key: value for key, value in own.items() if key in known or key not in shared}

    def draw(self, proportion: float, members: int | None = None) -> list[Sample]:
        """A bootstrap sample for each of the first ``members`` SVMs (all by default).

        A sample of a larger proportion begins with that of a smaller one.
        """
        size = min(self.n, max(LEAST_SAMPLE, round(proportion * self.n)))
        return [self._draw(number, size, 0) for number in range(len(self.members) if members is None else members)]

    def _draw(self, number: int, size: int, draws: int, why: object = _ONE_CLASS) -> Sample:
        """The next sample with rows of two classes; any other is drawn again, and counted."""
        for draw in range(draws, MOST_DRAWS):
            rows = np.random.default_rng([self.seed, number, draw]).integers(self.n, size=size)
            codes = self.codes[rows]
            if (codes != codes[0]).any():
                return Sample(rows, draw)
            why = _ONE_CLASS
        raise InputError(
            f"weak SVM {number + 1} could be trained on none of {MOST_DRAWS} samples of {size} rows, lastly because "
            f"{why}; raise proportion"
        )

    def train(self, samples: list[Sample]) -> list[WeakSVM]:
        """One SVM for each sample; a sample on which training fails is also drawn again and counted."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # counted instead
            return in_threads(lambda number: self._train_one(number, samples[number]), len(samples), self.threads)

    def _train_one(self, number: int, sample: Sample) -> WeakSVM:
        settings, norm = self.members[number]
        X = self._views[norm]
        while True:
            solver = build_method(self.weak, self.solver_class, settings)
            if "random_state" in solver.get_params(deep=False):
                solver.set_params(random_state=(self.seed + number) % 2**32)
            try:
                solver.fit(X[sample.rows], self.codes[sample.rows])
                return WeakSVM(solver, X, sample)
            except InputError as error:
                sample = self._draw(number, len(sample.rows), sample.failed_draws + 1, error)

    def train_and_classify(self, samples: list[Sample], is_wrong: Callable, tell=lambda: None):
        """The bundle, how many of it are wrong about each row, and the share of training.

        ``is_wrong(model, X, codes)`` judges rows.

        A trained SVM may classify while others are still in training, so that no thread waits; the share is that of
        the time that both kept the threads busy.
        """
        bundle = [None] * len(samples)
        wrong = np.empty((len(samples), self.n), bool)
        training, classifying = [], []

        def train(number):
            start = perf_counter()
            bundle[number] = self._train_one(number, samples[number])
            training.append(perf_counter() - start)
            tell()
            return [(number, slice(low, low + BLOCK)) for low in range(0, self.n, BLOCK)]

        def classify(job):
            start = perf_counter()
            number, rows = job
            member = bundle[number]
            wrong[job] = is_wrong(member.solver.model_, member.X[rows], self.codes[rows])  # already checked
            classifying.append(perf_counter() - start)
            tell()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            in_threads_as_they_come(train, classify, len(samples), self.threads)
        return bundle, wrong.sum(axis=0), sum(training) / (sum(training) + sum(classifying))

    def accuracy(self, proportion: float, members: int, rows: np.ndarray) -> float:
        """Mean accuracy of a few members on these rows, each on those that are not in its sample."""
        bundle = self.train(self.draw(proportion, members))

        def job(number):
            member = bundle[number]
            unseen = np.setdiff1d(rows, member.sample.rows)
            unseen = unseen if len(unseen) else rows
            return np.mean(member.solver.predict(member.X[unseen]) == self.codes[unseen])

        return float(np.mean(in_threads(job, len(bundle), self.threads)))


def _members(kernel: str, n_weak: int) -> list[KernelPart]:
    """One kernel for each member: in the proportion of the counts, else in equal shares, and by turns.

    (By turns, so that the first few members are a fair sample of all.)
    """
    parts = parse_kernel(kernel)
    if parts[0].count is None:
        counts = [len(share) for share in np.array_split(np.arange(n_weak), len(parts))]
    else:
        whole, rest = divmod(n_weak, sum(part.count for part in parts))
        counts = [0 if rest else whole * part.count for part in parts]
    if 0 in counts:
        raise InputError(f"n_weak must be such that kernel {kernel!r} can share it out, got {n_weak}")
    turns = [((place + 0.5) / count, part) for part, count in zip(parts, counts, strict=True) for place in range(count)]
    return [part for _, part in sorted(turns, key=lambda turn: turn[0])]
