"""RandSVM: a small random sample, then only rows that the last answer gets wrong."""

from __future__ import annotations

import math
import sys
import warnings
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from svmreduce.checks import COUNT, NOT_NEGATIVE, POSITIVE, PROBABILITY, SWITCH, check_parameters, one_of
from svmreduce.core.kernel_values import FLOAT32_TOL, single_threaded_blas, suitable_rows
from svmreduce.core.threads import resolve_threads
from svmreduce.errors import InputError
from svmreduce.kernels import parse_kernel
from svmreduce.parameters import Parameters
from svmreduce.solvers._from_blocks import FromBlocks
from svmreduce.solvers._multiclass import linear_one_versus_rest, one_versus_one
from svmreduce.solvers._sample_rounds import INNER, OUT_OF_ROUNDS, SAMPLE_FULL, Rounds
from svmreduce.solvers.base import SVMClassifier, seed_of
from svmreduce.solvers.liblinear import Liblinear
from svmreduce.solvers.libsvm import Libsvm
from svmreduce.solvers.smo import SMO

if TYPE_CHECKING:
    from svmreduce.data.blocks import Blocks


class RandSVM(
    FromBlocks,
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
    choice as one from all violators, and only the last round has to see every row. Rows that
    do not fit into memory are looked at in the order of the file: see ``fit_blocks``.

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
        Of all rows in feature space, after ``fit_blocks`` of those of the first sample; the bound on k assumes at
        most 1.
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
        self._forget_blocks()
        dtype, problems = self._look_at(X, kernel, len(y)), []

        def fit_binary(X, y, weights, kernel):
            problems.append(Rounds(backend, X, y, weights, kernel, dtype=dtype, **self._settings()))
            return problems[-1].run()

        with single_threaded_blas:
            outcome = self._joined(fit_binary, X, y, weights, kernel, backend)
        self._note(problems)
        return outcome

    def fit_blocks(self, blocks: Blocks, *, scale: str | None = None, **means: Any) -> Self:
        """Train on rows of two classes that need not fit into memory.

        A first pass draws a random sample, in which every class has its share. Every round is one more pass over all
        rows: violators must be a random choice of all there are, whatever the order of the file. A round costs support
        vectors × rows kernel values. The pass ends early only in the last round, where it is enough to know whether
        there are violators. Memory holds the sample, the next one, and a block. The result is the same for any number
        of threads and size of blocks. Nothing is written to the disk: a run that was killed starts again.
        ``seconds_`` counts the first pass as ``reduce``, and has ``read``.

        Parameters
        ----------
        blocks : Blocks
            From ``open_blocks``, ``Blocks.of_arrays`` or ``Blocks.of_iterator``.
        scale : str, optional
            A name in ``SCALERS``: learned from all rows, and applied to rows that are predicted, too.
        **means
            Memory: see :class:`svmreduce.outofcore.Means`. There is no work folder, and no engine but "local".
        """
        from svmreduce.outofcore.block_rounds import BlockRounds, RandomRounds
        from svmreduce.outofcore.means import Means

        check_parameters(self)
        if isinstance(self.kernel, str):
            parse_kernel(self.kernel, self.kernels, whose=type(self).__name__, mixes=self.mixes_kernels)
        work, start = RandomRounds(self, blocks, scale, Means(**means)), perf_counter()
        first = work.sampled()
        backend = self._make_backend(first.kernel, np.ones(1))
        if hasattr(backend, "cache_mb"):
            backend.set_params(cache_mb=min(self.cache_mb, max(1.0, work.means.memory_bytes / 2**21)))
        dtype = self._look_at(first.X, first.kernel, first.found.rows)
        rounds = BlockRounds(backend, work, first, dtype=dtype, **self._settings())
        with single_threaded_blas:
            found = rounds.run()
        self._remember_blocks(blocks, first.classes, first.found.scaler, first.found.rows)
        outcome = self._joined(lambda *_: found, rounds.X, rounds.y > 0, rounds.weights, first.kernel, backend)
        self._note([rounds])
        self._store(outcome, None, rounds.numbers)
        scan, read = work.seconds["scan"], work.seconds["read"]
        self.seconds_ = {"convert": 0.0, "reduce": scan, "solve": perf_counter() - start - scan - read, "read": read}
        self._warn_unless_converged()
        return self

    def sample_size(self, n: int) -> int:
        """c·k, for so many rows."""
        return math.ceil(self.c * self._limit(n))

    def _limit(self, n: int) -> int:
        return self.k or support_limit(n, self.epsilon, self.delta, self.separable)

    def _look_at(self, X, kernel, n: int) -> type:
        """Fix what n rows of which these are some decide; the dtype of kernel values."""
        self.threads_, self.k_ = resolve_threads(self.threads), self._limit(n)
        rows = suitable_rows(kernel, X, single=self.tol >= FLOAT32_TOL)
        self.largest_norm_ = math.sqrt(np.abs(rows.diagonal()).max())
        if self.k is None and self.largest_norm_ > 1 + 1e-6:
            warnings.warn(
                f"the bound that k = {self.k_} comes from assumes rows of norm at most 1 in feature space; the "
                f"longest has {self.largest_norm_:.4g}: scale the rows, or set k",
                stacklevel=4,
            )
        return rows.dtype

    def _settings(self) -> dict:
        """Of the rounds."""
        return {"k": self.k_, "size": math.ceil(self.c * self.k_), "max_rounds": self.max_rounds, "tol": self.tol,
                "threads": self.threads_, "seed": seed_of(self.random_state),
                "tell": self._tell if self.verbose else None}  # fmt: skip

    def _joined(self, fit_binary, *problem_and_backend):
        """The two-class problems as one model."""
        *problem, backend = problem_and_backend
        if self.backend != "liblinear":
            return one_versus_one(fit_binary, *problem, self.classes_)
        return linear_one_versus_rest(fit_binary, *problem, self.classes_, "L2R_L1LOSS_SVC_DUAL", backend.bias)

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
