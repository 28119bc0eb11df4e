"""What the four solvers of the L2-SVM as an enclosing ball share."""

from __future__ import annotations

from typing import ClassVar

from svmreduce.core import ball_search
from svmreduce.core.jit import resolve_threads
from svmreduce.errors import InputError
from svmreduce.solvers.base import SVMClassifier, seed_of
from svmreduce.types import DualSolution


class EnclosingBallSVM(SVMClassifier):
    """An L2-SVM: squared slacks, and the offset is a weight like the others.

    min ½(‖w‖² + b²) + C/2·Σ ξ_i²  with  y_i(w·φ(x_i) + b) ≥ 1 − ξ_i.  Its dual is the search for the centre α of the
    smallest ball around the rows of a feature space. The papers stop there, with f = Σ α_i y_i (k(x_i, ·) + 1), whose
    margin is R = αᵀQα. The models here are f/R: the margin is 1, as in every SVM, and labels are the same.
    ``objective_`` is the dual one of that scaling, −1/(2R).

    A subclass says by which ``_method`` of ``core.ball_search`` it moves the centre.
    """

    kernels = ("linear", "poly", "rbf")  # the sigmoid is not positive definite: there would be no ball
    _method: ClassVar[str]
    _toy_rows = 1200  # more than are done in double, and than turn exact at once
    _toy_settings = ({}, {"tol": 9e-7, "C": 1e-3})  # kernel values in float32 and in double

    def __init__(
        self,
        C=1.0,
        kernel="rbf",
        gamma="scale",
        coef0=0.0,
        degree=3,
        tol=1e-6,
        selection="sampled",
        sample_size=59,
        quiet_samples=5,
        start_rows=20,
        certify=True,
        cache_mb=1024,
        max_iter=-1,
        threads=None,
        random_state=0,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.tol = tol
        self.selection = selection
        self.sample_size = sample_size
        self.quiet_samples = quiet_samples
        self.start_rows = start_rows
        self.certify = certify
        self.cache_mb = cache_mb
        self.max_iter = max_iter
        self.threads = threads
        self.random_state = random_state

    @classmethod
    def warm_up(cls):
        super().warm_up()
        ball_search.compile_the_rest()

    def _solve(self, X, y, weights):
        if self.selection not in ("sampled", "exact"):
            raise InputError(f"selection must be 'sampled' or 'exact', got {self.selection!r}")
        self.steps_ = {}
        self.threads_ = resolve_threads(self.threads)
        return super()._solve(X, y, weights)

    def _fit_binary(self, X, y, weights, kernel):
        found = ball_search.solve(
            X, y, 1.0 / (self.C * weights), kernel, method=self._method, tol=self.tol, exact=self.selection == "exact",
            sample_size=self.sample_size, quiet_samples=self.quiet_samples, start_rows=self.start_rows,
            certify=self.certify, cache_mb=self.cache_mb, max_iter=self.max_iter, seed=seed_of(self.random_state),
            threads=self.threads_,
        )  # fmt: skip
        for name, count in found.steps.items():
            self.steps_[name] = self.steps_.get(name, 0) + count
        beta = y * found.alpha / found.norm
        return DualSolution(beta, float(beta.sum()), -0.5 / found.norm, found.gap, found.n_iter, found.kernel_evals,
                            found.converged)  # fmt: skip
