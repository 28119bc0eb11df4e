"""RandSVM: a small random sample, then only rows that the last answer gets wrong."""

from __future__ import annotations

import math
import sys
import warnings
from typing import ClassVar

import numpy as np

from svmreduce.checks import COUNT, NOT_NEGATIVE, POSITIVE, PROBABILITY, SWITCH, one_of
from svmreduce.core.jit import resolve_threads
from svmreduce.core.kernel_values import FLOAT32_TOL, single_threaded_blas, suitable_rows
from svmreduce.errors import InputError
from svmreduce.parameters import Parameters
from svmreduce.solvers._multiclass import linear_one_versus_rest, one_versus_one
from svmreduce.solvers.base import SVMClassifier, seed_of
from svmreduce.solvers.liblinear import Liblinear
from svmreduce.solvers.libsvm import Libsvm
from svmreduce.solvers.randsvm.rounds import INNER, OUT_OF_ROUNDS, SAMPLE_FULL, Rounds
from svmreduce.solvers.smo import SMO


class RandSVM(
    Parameters,
    SVMClassifier,
    parameters="C kernel gamma coef0 degree k epsilon delta separable c backend tol cache_mb max_rounds threads "
    "random_state verbose",
):
    """C-SVC on c·k rows at a time: the support vectors so far, and random rows that violate the margin.

    A first random sample is solved; rows outside it with y·f(x) < 1 are violators. A random choice of them
    joins the support vectors, the rest of the sample is forgotten, and so on, until there are no violators
    (then the answer is that of the whole problem, and ``gap_`` and ``duality_gap_`` prove it) or there are
    k support vectors. By the paper, k = 32·ln(4n/δ)/ε² support vectors, 16·ln(4n/δ)/ε² for separable
    classes, are likely to come near the best margin, if no row is longer than 1 in feature space.

    Rows are looked at in random order, and only until enough violators are found: that is the same random
    choice as one from all violators, and only the last round has to see every row.

    Parameters
    ----------
    k : int or None
        Stop at this many support vectors; None takes it from ``epsilon``, ``delta`` and ``separable``.
    epsilon : float
        Distortion of lengths that the bound allows; 0 sets no limit.
    delta : float
        Probability with which the bound may fail.
    separable : bool
        Whether the classes can be separated in feature space.
    c : float
        A sample has c·k rows. (The paper does not print its value.)
    backend : {"smo", "libsvm", "liblinear"}
        What solves a sample. ``liblinear`` is for the linear kernel: hinge loss, the intercept is penalised,
        and several classes are handled one against the rest.
    tol : float
        Largest violation of the optimality conditions on all rows, if it ends without violators.
    cache_mb : float
        Memory for the backend's kernel values.
    max_rounds : int
        Of each two-class problem.
    verbose : bool
        Report every round on standard error.

    Attributes
    ----------
    k_ : int
    rounds_ : int
        Samples solved.
    stop_reason_ : "no violators", "k support vectors", "sample full" (only with c < 1) or "max_rounds"
        With more than two classes, all reasons that occurred.
    history_ : list of dict
        For every round: rows, support_vectors, scanned (rows outside that were looked at), violators (how
        many of those).
    gap_ : float or None
        Largest violation of the optimality conditions on all rows. None unless it ended without violators,
        and with LIBLINEAR, which does not report its multipliers.
    duality_gap_ : float or None
        Primal objective on all rows minus dual objective, if it ended without violators.
    largest_norm_ : float
        Of all rows in feature space; the bound on k assumes at most 1.
    """

    _toy_rows = SMO._toy_rows
    _toy_settings = ({}, {"k": 50}, {"tol": 1e-5})  # solved at once, in rounds, and in double

    k: int | None = None
    epsilon: float = 0.2
    delta: float = 0.9
    separable: bool = False
    c: float = 2.0
    backend: str = "smo"
    max_rounds: int = 100
    rules: ClassVar = {
        "k": COUNT,
        "epsilon": NOT_NEGATIVE,
        "delta": PROBABILITY,
        "separable": SWITCH,
        "c": POSITIVE,
        "backend": one_of("smo", "libsvm", "liblinear"),
        "max_rounds": COUNT,
    }

    def _solve(self, X, y, weights):
        kernel = self._kernel_spec(X)
        backend = self._make_backend(kernel, weights)
        self.threads_ = resolve_threads(self.threads)
        self.k_ = self.k or support_limit(len(y), self.epsilon, self.delta, self.separable)
        rows = suitable_rows(kernel, X, single=self.tol >= FLOAT32_TOL)
        self.largest_norm_ = math.sqrt(np.abs(rows.diagonal()).max())
        if self.k is None and self.largest_norm_ > 1 + 1e-6:
            warnings.warn(
                f"the bound that k = {self.k_} comes from assumes rows of norm at most 1 in feature space; the "
                f"longest has {self.largest_norm_:.4g}: scale the rows, or set k",
                stacklevel=3,
            )
        problems = []

        def fit_binary(X, y, weights, kernel):
            rounds = Rounds(backend, X, y, weights, kernel, k=self.k_, size=math.ceil(self.c * self.k_),
                            max_rounds=self.max_rounds, tol=self.tol, dtype=rows.dtype, threads=self.threads_,
                            seed=seed_of(self.random_state), tell=self._tell if self.verbose else None)  # fmt: skip
            problems.append(rounds)
            return rounds.run()

        with single_threaded_blas:
            if self.backend == "liblinear":
                outcome = linear_one_versus_rest(fit_binary, X, y, weights, kernel, self.classes_,
                                                 "L2R_L1LOSS_SVC_DUAL", backend.bias)  # fmt: skip
            else:
                outcome = one_versus_one(fit_binary, X, y, weights, kernel, self.classes_)
        self._note(problems)
        return outcome

    def _make_backend(self, kernel, weights):
        tol = INNER * self.tol
        if self.backend == "liblinear":
            if kernel.name != "linear":
                raise InputError(f"backend 'liblinear' is for kernel 'linear', got kernel {kernel.name!r}")
            backend = Liblinear(C=self.C, loss="hinge", tol=tol, random_state=seed_of(self.random_state))
        else:
            solver = SMO if self.backend == "smo" else Libsvm
            backend = solver(C=self.C, kernel=kernel.name, gamma=kernel.gamma, coef0=kernel.coef0,
                             degree=kernel.degree, tol=tol, cache_mb=self.cache_mb, threads=self.threads)  # fmt: skip
        if not backend.accepts_weights and not np.all(weights == 1):
            raise InputError(
                f"RandSVM with backend {self.backend!r} cannot take sample_weight: {backend.weights_reason}"
            )
        return backend

    def _note(self, problems):
        self.history_ = [entry for rounds in problems for entry in rounds.history]
        self.rounds_ = len(self.history_)
        self.stop_reason_ = ", ".join(sorted({rounds.stop_reason for rounds in problems}))
        gaps = [rounds.duality_gap for rounds in problems]
        self.duality_gap_ = None if None in gaps else sum(gaps)

    def _tell(self, line: str):
        print(f"RandSVM: {line}", file=sys.stderr, flush=True)

    def _advice(self, out_of_time) -> str:
        if SAMPLE_FULL in self.stop_reason_:
            return "there is no room for violators next to the support vectors: raise c"
        return "raise max_rounds" if OUT_OF_ROUNDS in self.stop_reason_ else super()._advice(out_of_time)


def support_limit(n: int, epsilon: float, delta: float, separable: bool) -> int:
    """k of the paper's bound (natural logarithm); n where it sets no limit."""
    if epsilon == 0:
        return n
    return math.ceil((16 if separable else 32) * math.log(4 * n / delta) / epsilon**2)
