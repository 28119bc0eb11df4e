"""Least-squares SVM by conjugate gradients, after J. Suykens and J. Vandewalle."""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import resolve_threads
from svmreduce.core.kernels import KernelRows, kernel_matrix, single_threaded_blas
from svmreduce.solvers.base import SVMClassifier
from svmreduce.types import DualSolution


class LSSVM(SVMClassifier):
    """SVM with squared errors on equalities: no quadratic program, but every row is a support vector.

    Minimises ½‖w‖² + C/2 Σ e² with y − f(x) = e, that is, solves (K + I/C)·α + b·1 = y with Σα = 0. Two systems with
    the same matrix are solved at once by conjugate gradients, for y and for 1; b follows from the two. The kernel
    matrix is kept while it fits into ``cache_mb``, and computed anew in every iteration beyond.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the squared errors (the papers' γ).
    kernel : {"linear", "poly", "rbf"}, default="rbf"
        Conjugate gradients need a positive semidefinite kernel.
    gamma : float or {"scale", "auto"}, default="scale"
    coef0 : float, default=0.0
    degree : int, default=3
    tol : float, default=1e-3
        Largest error of any equation that is left.
    cache_mb : float, default=1024
    max_iter : int, default=-1
        Most iterations per two-class problem; -1 for ten per row.
    threads : int or None
    """

    kernels = ("linear", "poly", "rbf")

    def __init__(
        self,
        C=1.0,
        kernel="rbf",
        gamma="scale",
        coef0=0.0,
        degree=3,
        tol=1e-3,
        cache_mb=1024,
        max_iter=-1,
        threads=None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.tol = tol
        self.cache_mb = cache_mb
        self.max_iter = max_iter
        self.threads = threads

    def _fit_binary(self, X, y, weights, kernel):
        self.threads_ = resolve_threads(self.threads)
        system = _System(X, kernel, 1 / (self.C * weights), self.cache_mb, self.threads_)
        most = 10 * len(y) + 10 if self.max_iter < 0 else self.max_iter
        with single_threaded_blas:
            # an error of b adds to that of an equation, so aim below
            (of_y, of_one), steps = system.solve(np.stack([y, np.ones(len(y))]), self.tol / 4, most)
            intercept = float(of_one @ y / of_one.sum())
            alpha = of_y - intercept * of_one
            image = system.times(alpha[None])[0]
        gap = float(np.abs(y - intercept - image).max())
        objective = 0.5 * float(alpha @ image)
        return DualSolution(alpha, intercept, objective, gap, steps, system.kernel_evals, gap <= self.tol)


class _System:
    """The matrix K + diag(ridge), as its products with vectors."""

    def __init__(self, X, kernel, ridge, cache_mb, threads):
        self.n, self.ridge, self.threads = X.shape[0], ridge, threads
        self.K = self.rows = None
        if 8 * self.n**2 <= cache_mb * 2**20:
            self.K = kernel_matrix(kernel, X, X, threads=threads)
            self.diagonal = self.K.diagonal() + ridge
        else:
            self.rows = KernelRows(kernel, X, np.float64)
            self.diagonal = self.rows.diagonal() + ridge
        self.kernel_evals = self.n**2 if self.rows is None else 0

    def times(self, V):
        """The product with each row of V."""
        if self.rows is None:
            return V @ self.K + V * self.ridge
        out = np.zeros_like(V)
        everyone = np.arange(self.n)
        self.rows.add_products(everyone, self.rows, everyone, np.ascontiguousarray(V), out, self.threads)
        self.kernel_evals += self.n**2
        return out + V * self.ridge

    def solve(self, right, tol, max_iter):
        """Conjugate gradients for each right-hand side, with the diagonal taken out, until all errors are below tol."""
        found = np.zeros_like(right)
        residual = right.copy()
        scaled = residual / self.diagonal
        direction = scaled.copy()
        size = np.einsum("ij,ij->i", residual, scaled)
        steps = 0
        while np.abs(residual).max() > tol and steps < max_iter:
            image = self.times(direction)
            curvature = np.einsum("ij,ij->i", direction, image)
            step = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)[:, None]
            found += step * direction
            residual -= step * image
            scaled = residual / self.diagonal
            before, size = size, np.einsum("ij,ij->i", residual, scaled)
            direction = scaled + np.divide(size, before, out=np.zeros_like(size), where=before > 0)[:, None] * direction
            steps += 1
        return found, steps
