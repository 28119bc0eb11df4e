"""Bootstrap cleaning: the first stages of "Training data reduction to speed up SVM training"."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from tqdm import tqdm

from svmreduce.checks import FINITE, SHARE, SWITCH, Rule, is_word, one_of, whole_number
from svmreduce.core.kernel_values import single_threaded_blas
from svmreduce.core.threads import resolve_threads
from svmreduce.errors import InputError
from svmreduce.kernels import parse_kernel
from svmreduce.parameters import Parameters
from svmreduce.reducers.base import BaseReducer
from svmreduce.reducers.bootstrap.gelling import curve_text, gelling_point
from svmreduce.reducers.bootstrap.informative import (
    BALANCES,
    DROPS,
    SELECTIONS,
    VOTES,
    candidates_of,
    entropy_of_errors,
    equal_classes,
)
from svmreduce.reducers.bootstrap.weak_svms import BLOCK, LEAST_SAMPLE, WeakSVMs
from svmreduce.registry import build_method, parameters_of
from svmreduce.solvers import SOLVERS
from svmreduce.solvers.base import seed_of

GELLING_MEMBERS = 5  # weak SVMs whose mean accuracy is a point of the curve: one alone is too noisy for a slope
GELLING_ROWS = 10_000  # rows that they are judged on
GELLING_CAP = 0.1


class BootstrapCleaning(
    Parameters,
    BaseReducer,
    parameters="n_weak proportion votes margin drop select share balance weak kernel gamma coef0 degree C weak_params "
    "gelling_slope gelling_step audit threads verbose random_state",
):
    """Keep the rows that weak SVMs disagree about.

    Small bootstrap samples train a bundle of weak SVMs, and each judges all rows. A row that all of them get right
    lies far from the border and is dropped. Of the others those with the most entropy of the answers are kept. Binary
    in the paper; with more classes the same counts are used.

    "Right" means outside the margin of the weak SVM (``votes="margin"``), as in the paper's Equation 1. Votes by the
    predicted class alone keep almost only rows of the rare class. The weak SVMs should have the C of the final solver;
    the train command, experiments and ``ReducedSolver`` see to that unless this C is set.

    Kept rows are ordinary rows of weight 1: they mark the border and represent no others.

    Parameters
    ----------
    n_weak : int
        Weak SVMs, the paper's N.
    proportion : float or "auto"
        Size of a bootstrap sample as a part of all rows, the paper's P (at least 10 rows). "auto" raises it until
        the accuracy hardly gains any more, the gelling point, and to 0.1 at most.
    votes : {"margin", "sign"}
        A weak SVM is wrong about a row inside its margin (y·f < ``margin``), or about one it gives another class.
    margin : float
        1 is that of the paper; a smaller one lets fewer rows count as hard.
    drop : {"right", "right_and_wrong"}
        Drop rows that all weak SVMs get right (the paper's abstract), or also those that all get wrong (its Section
        3.2).
    select : {"msfe", "mefs"}
        The fewest rows that hold ``share`` of the entropy, or the ``share`` of the rows left by cleaning that have
        the most entropy.
    share : float
        Of the entropy (msfe) or of the rows (mefs).
    balance : {"none", "equal"}
        "equal" keeps as many rows in all, in equal parts of each class. Not in the paper.
    weak : str
        The solver of the weak SVMs, by name.
    kernel : str
        Kernel of the weak SVMs; in a mixture such as ``gaussian_mahalanobis:5+rbf:5`` every SVM has one of them.
    C : float
        Of the weak SVMs; by default that of the final solver where one follows.
    weak_params : dict or None
        Other parameters of the weak solver, such as {"tol": 0.01}.
    gelling_slope : float
        What one more unit of proportion must bring in accuracy, the paper's α, for which it gives no number.
    gelling_step : float
        The paper's β.
    audit : bool
        Train the weak solver on all rows, too, and count in ``info["support"]`` how many weak SVMs are wrong about its
        support vectors: what cleaning costs. As long as the training that the reduction is meant to save.
    threads : int or None
        None takes every core this process may use; the result does not depend on it.

    Attributes
    ----------
    errors_ : array of shape (n,)
        How many weak SVMs are wrong about a row, the paper's k.
    entropy_ : array of shape (n,)
    proportion_ : float
    curve_ : list of (proportion, accuracy), or None
        How the gelling point was found.
    weak_svms_ : list of fitted solvers
    """

    gives_weights = False
    keeps_every_class = False

    n_weak: int = 10
    proportion: float | str = 0.05
    votes: str = "margin"
    margin: float = 1.0
    drop: str = "right"
    select: str = "msfe"
    share: float = 0.6
    balance: str = "none"
    weak: str = "smo"
    weak_params: dict | None = None
    gelling_slope: float = 0.15
    gelling_step: float = 0.01
    audit: bool = False
    rules: ClassVar = {
        "n_weak": whole_number(least=2),
        "proportion": Rule(SHARE.what + ", or 'auto'", lambda value: is_word(value, "auto") or SHARE.is_right(value)),
        "votes": one_of(*VOTES),
        "margin": FINITE,
        "drop": one_of(*DROPS),
        "select": one_of(*SELECTIONS),
        "share": SHARE,
        "balance": one_of(*BALANCES),
        "weak": Rule("the name of a solver, such as 'smo'", lambda value: value in SOLVERS or ":" in str(value)),
        "weak_params": Rule("a dict", lambda value: isinstance(value, dict)),
        "gelling_slope": FINITE,
        "gelling_step": Rule("above 0 and at most 0.1", lambda value: SHARE.is_right(value) and value <= 0.1),
        "audit": SWITCH,
    }

    @classmethod
    def warm_up(cls) -> None:
        SOLVERS.get("smo").warm_up()  # all kernel models predict with its compiled code

    def _reduce(self, X, y, weights):
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise InputError("cleaning needs rows of at least two classes, got 1 class")
        self._seconds = {}
        weak_params = _by_codes(self.weak_params or {}, classes)
        auditor = self._auditor(weak_params) if self.audit else None
        seed = seed_of(self.random_state)
        with single_threaded_blas:
            bundle = self._classify(X, codes, weak_params, seed)
        with self._stage("select"):
            candidates = candidates_of(self.errors_, self.n_weak, self.drop)
            kept = self._select(codes, candidates, self.share, seed)
        facts = self._facts(bundle, candidates, kept)
        if self.audit:
            facts["support"] = self._where_support_vectors_went(auditor, X, codes)
        self._check_classes(classes, codes, kept, facts)
        return kept, weights[kept], facts | {"seconds": self._seconds}

    def select_rows(self, y: ArrayLike, share: float) -> np.ndarray:
        """Which rows another ``share`` keeps, by the answers of the weak SVMs that are already trained."""
        codes, candidates = np.unique(y, return_inverse=True)[1], candidates_of(self.errors_, self.n_weak, self.drop)
        return self._select(codes, candidates, share, seed_of(self.random_state))

    def _select(self, codes, candidates, share: float, seed: int) -> np.ndarray:
        random = _stream(seed, self.n_weak)
        kept = SELECTIONS[self.select](self.entropy_, candidates, share, random)
        return equal_classes(kept, codes, self.entropy_, candidates, random) if self.balance == "equal" else kept

    @contextmanager
    def _stage(self, name: str):
        start = perf_counter()
        yield
        self._seconds[name] = self._seconds.get(name, 0.0) + perf_counter() - start

    def _classify(self, X, codes, weak_params, seed) -> list:
        """Train the bundle, let it classify every row, and keep what it found as attributes."""
        with self._stage("sample"):  # norms are learned here, too
            settings = {name: getattr(self, name) for name in ("kernel", "gamma", "coef0", "degree", "C")}
            svms = WeakSVMs(X, codes, weak=self.weak, settings=settings | weak_params,
                            n_weak=self.n_weak, seed=seed, threads=resolve_threads(self.threads))  # fmt: skip
        self.proportion_, self.curve_ = self.proportion, None
        if self.proportion == "auto":
            with self._stage("gelling"):
                self._find_gelling_point(svms, seed)
        with self._stage("sample"):
            samples = svms.draw(self.proportion_)
        blocks = -(-len(codes) // BLOCK)
        with self._bar(self.n_weak * (1 + blocks)) as bar:
            start = perf_counter()
            judge = partial(VOTES[self.votes], margin=self.margin)
            bundle, self.errors_, training = svms.train_and_classify(samples, judge, tell=bar.update)
            wall = perf_counter() - start
            self._seconds |= {"train": training * wall, "classify": (1.0 - training) * wall}
        with self._stage("select"):
            self.entropy_ = entropy_of_errors(self.errors_, self.n_weak)
        self.weak_svms_ = [member.solver for member in bundle]
        return bundle

    def _find_gelling_point(self, svms: WeakSVMs, seed: int) -> None:
        random = _stream(seed, self.n_weak + 1)
        rows = np.sort(random.choice(svms.n, min(svms.n, GELLING_ROWS), replace=False))
        members = min(self.n_weak, GELLING_MEMBERS)
        self.proportion_, self.curve_ = gelling_point(
            lambda proportion: svms.accuracy(proportion, members, rows),
            slope=self.gelling_slope, step=self.gelling_step, cap=GELLING_CAP, least=LEAST_SAMPLE / svms.n,
        )  # fmt: skip
        if self.verbose:
            print(f"gelling point {100 * self.proportion_:g} % ({curve_text(self.curve_)})", file=sys.stderr)

    def _bar(self, jobs: int) -> tqdm:
        return tqdm(total=jobs, unit="job", leave=False, disable=not (self.verbose and sys.stderr.isatty()))

    def _facts(self, bundle, candidates, kept) -> dict:
        """Counters for records; the arrays themselves are attributes."""
        by_errors = np.bincount(self.errors_, minlength=self.n_weak + 1)
        facts = {
            "kept": len(kept),
            "candidates": int(candidates.sum()),
            "right_by_all": int(by_errors[0]),
            "wrong_by_all": int(by_errors[-1]),
            "wrong_per_svm": float(self.errors_.sum() / self.n_weak),
            "rows_by_errors": by_errors.tolist(),
            "entropy": float(self.entropy_[candidates].sum()),
            "entropy_kept": float(self.entropy_[kept].sum()),
            "proportion": self.proportion_,
            "sample_rows": len(bundle[0].sample.rows),
            "redrawn": sum(member.sample.failed_draws for member in bundle),
            "not_converged": sum(not member.solver.converged_ for member in bundle),
        }
        return facts if self.curve_ is None else facts | {"curve": self.curve_}

    def in_words(self, facts: dict) -> Iterator[tuple[str, object]]:
        for name, value in super().in_words(facts):
            yield ("gelling curve", curve_text(facts["curve"])) if name == "curve" else (name, value)
        if "support" in facts:
            counts = ", ".join(map(str, facts["support"]["by_errors"]))
            right, wrong = (facts["support"][f"{answer}_by_all_share"] for answer in ("right", "wrong"))
            yield "support vectors", f"by weak SVMs in error: {counts}; {right:.1%} right by all, {wrong:.1%} wrong"

    def _auditor(self, weak_params):
        """The SVM for all rows; one that cannot be built is reported before any work."""
        solver_class = SOLVERS.get(self.weak)
        whose = f"{self.weak}, which is to audit,"
        parse_kernel(self.kernel, solver_class.kernels, whose=whose, mixes=solver_class.mixes_kernels)
        settings = {name: getattr(self, name) for name in ("kernel", "gamma", "coef0", "degree", "C", "threads")}
        settings = {name: value for name, value in settings.items() if name in parameters_of(solver_class)}
        return build_method(self.weak, solver_class, settings | weak_params)

    def _where_support_vectors_went(self, solver, X, codes) -> dict:
        """Support vectors of an SVM on all rows, by the number of weak SVMs that misclassify them."""
        with self._stage("audit"):
            solver.fit(X, codes)
        if not hasattr(solver, "support_"):
            raise InputError(f"audit counts support vectors, and {self.weak} has none")
        by_errors = np.bincount(self.errors_[solver.support_], minlength=self.n_weak + 1)
        return {
            "by_errors": by_errors.tolist(),
            "right_by_all_share": float(by_errors[0] / by_errors.sum()),
            "wrong_by_all_share": float(by_errors[-1] / by_errors.sum()),
        }

    def _check_classes(self, classes, codes, kept, facts) -> None:
        """A class that was lost must not go unnoticed."""
        left = classes[np.unique(codes[kept])]
        if len(left) == 0:
            raise InputError(
                f"the {self.n_weak} weak SVMs agree about every row, which leaves none to train on: raise n_weak, C or "
                "gamma, or lower proportion"
            )
        if len(left) == 1:
            raise InputError(
                f"the {len(kept)} rows kept are all of class {left[0]}, which no classifier can be trained on: raise "
                "share, n_weak or C, or change proportion"
            )
        lost = np.setdiff1d(classes, left)
        facts["lost_classes"] = lost.tolist()
        if len(lost):
            warnings.warn(
                f"no row of class {', '.join(map(str, lost))} is kept: the weak SVMs agree about all of them, or "
                "others are more informative; raise share, n_weak or proportion",
                UserWarning,
                stacklevel=4,
            )


def _by_codes(weak_params: dict, classes) -> dict:
    """The weak SVMs know class numbers only; what they must share is not theirs to set."""
    for name in ("random_state", "threads"):
        if name in weak_params:
            raise InputError(f"weak_params must not hold {name}: every weak SVM has its own; set {name} itself")
    weights = weak_params.get("class_weight")
    if not isinstance(weights, dict):
        return weak_params
    unknown = [label for label in weights if label not in classes]
    if unknown:
        labels = ", ".join(map(str, classes))
        raise InputError(f"weak_params: class_weight names {unknown[0]!r}, and the labels are {labels}")
    codes = {label: code for code, label in enumerate(classes.tolist())}
    return weak_params | {"class_weight": {codes[label]: weight for label, weight in weights.items()}}


def _stream(seed: int, number: int) -> np.random.Generator:
    """Random numbers of their own: the weak SVMs draw from the streams 0 to n_weak - 1."""
    return np.random.default_rng([seed, number])
