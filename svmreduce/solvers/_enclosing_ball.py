"""What the four solvers of the L2-SVM as an enclosing ball share."""

from __future__ import annotations

from typing import ClassVar

from svmreduce.checks import COUNT, POSITIVE, SWITCH, Rule, is_word, one_of, whole_number
from svmreduce.core import ball_search
from svmreduce.core.kernel_values import suitable_rows
from svmreduce.core.threads import resolve_threads
from svmreduce.kernels import KernelSpec
from svmreduce.parameters import Parameters
from svmreduce.solvers.base import SVMClassifier, seed_of
from svmreduce.types import DualSolution, Matrix


class EnclosingBallSVM(
    Parameters,
    SVMClassifier,
    parameters="C kernel gamma coef0 degree tol selection sample_size quiet_samples start_rows certify cache_mb "
    "max_iter threads random_state class_weight probability",
):
    """An L2-SVM: squared slacks, and the offset is a weight like the others.

    min ½(‖w‖² + b²) + C/2·Σ ξ_i²  with  y_i(w·φ(x_i) + b) ≥ 1 − ξ_i.  Its dual is the search for the centre α of the
    smallest ball around the rows of a feature space. The papers stop there, with f = Σ α_i y_i (k(x_i, ·) + 1), whose
    margin is R = αᵀQα. The models here are f/R: the margin is 1, as in every SVM, and labels are the same.
    ``objective_`` is the dual one of that scaling, −1/(2R).

    A subclass says by which ``_method`` of ``core.ball_search`` it moves the centre.

    Parameters
    ----------
    C : float
        Penalty of half a squared slack.
    kernel : {kernels}
        Any positive definite one. For kernels whose k(x, x) varies, the norm Δ² of a row in the stopping rule is that
        of the largest row; line searches use the row's own.
    tol : float or "auto"
        ε of the papers: in the end the ball, widened by 1 + ε, holds the rows. "auto" is what LibCVM, the program of
        the authors of CVM and BVM, takes unless told otherwise: (4·10⁻⁶/κ + 2/(15000·C)) / (2κ + 2/C), κ the largest
        k(x, x) + 1. With a Gaussian kernel 6·10⁻⁵ at C = 1/16, 2·10⁻⁵ at C = 1, 10⁻⁶ at C = 64.
    selection : {"sampled", "exact"}
        Where to look for rows outside the ball: in random samples, whose cost does not depend on the number of rows,
        or among all rows. Small problems become exact by themselves.
    sample_size : int
        Rows of a sample, half from each class.
    quiet_samples : int
        How many samples in a row must lie in the ball at the end: one is weak evidence.
    start_rows : int
        Random rows of the first ball.
    certify : bool
        State in ``gap_`` the ε that holds for all rows, in double, at the price of one pass over them. Without it
        ``gap_`` is None after sampled selection.
    max_iter : int
        Steps per two-class problem; -1 for max(10⁷, 100·rows).
    threads : int or None
        None takes every core this process may use; the steps themselves run on one.

    Attributes
    ----------
    steps_ : dict
        Steps ``toward`` a row, ``away`` from one and those of them that ``drop`` it, ``pair`` steps, and rows
        ``taken_in``.
    tol_ : float
        The ε asked for, of the last pair of classes.
    gap_ : float or None
        The ε reached, of the worst pair of classes; ``converged_`` says whether the stopping rule was met.
    """

    kernels = ("linear", "poly", "rbf")  # the sigmoid is not positive definite: there would be no ball
    _method: ClassVar[str]
    stops_in_time = True
    _toy_rows = 1200  # too many to be done in double, or to become exact at once
    _toy_settings = ({}, {"tol": 9e-7, "C": 1e-3})  # kernel values in float32 and in double

    tol: float | str = 1e-6
    selection: str = "sampled"
    sample_size: int = 59
    quiet_samples: int = 5
    start_rows: int = 20
    certify: bool = True
    rules: ClassVar = {
        "tol": Rule("a positive number or 'auto'", lambda value: is_word(value, "auto") or POSITIVE.is_right(value)),
        "selection": one_of("sampled", "exact"),
        "sample_size": whole_number(least=2),
        "quiet_samples": COUNT,
        "start_rows": COUNT,
        "certify": SWITCH,
    }

    @classmethod
    def warm_up(cls) -> None:
        super().warm_up()
        ball_search.compile_the_rest()

    def _solve(self, X, y, weights):
        self.steps_ = {}
        self.threads_ = resolve_threads(self.threads)
        return super()._solve(X, y, weights)

    def _fit_binary(self, X, y, weights, kernel):
        self.tol_ = libcvm_tolerance(self.C, kernel, X) if self.tol == "auto" else self.tol
        found = ball_search.solve(
            X, y, 1.0 / (self.C * weights), kernel, method=self._method, tol=self.tol_, exact=self.selection == "exact",
            sample_size=self.sample_size, quiet_samples=self.quiet_samples, start_rows=self.start_rows,
            certify=self.certify, cache_mb=self.cache_mb, max_iter=self.max_iter, seed=seed_of(self.random_state),
            threads=self.threads_,
        )  # fmt: skip
        for name, count in found.steps.items():
            self.steps_[name] = self.steps_.get(name, 0) + count
        beta = y * found.alpha / found.norm
        return DualSolution(beta, float(beta.sum()), -0.5 / found.norm, found.gap, found.n_iter, found.kernel_evals,
                            found.converged)  # fmt: skip


def libcvm_tolerance(C: float, kernel: KernelSpec, X: Matrix) -> float:
    """A bound on how far decision values are from their limits; the smaller C, the larger ε."""
    size = float(suitable_rows(kernel, X, single=True).diagonal().max()) + 1.0
    return (4e-6 / size + 2.0 / (15_000 * C)) / (2.0 * (size + 1.0 / C))
