"""Least-squares SVM by conjugate gradients, after J. Suykens and J. Vandewalle."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from svmreduce.core.kernel_values import KernelRows, kernel_matrix, single_threaded_blas, suitable_rows
from svmreduce.core.threads import resolve_threads
from svmreduce.errors import InputError
from svmreduce.parameters import Parameters
from svmreduce.solvers.base import SVMClassifier
from svmreduce.types import DualSolution

FEW = 4  # times √n rows guide the steps,
CACHE_SHARE = 0.5  # or as many as this part of the cache holds
REFINED = 1e-3  # of an error: what float32 takes off at once
SMALLEST_VALUE = 1e-12  # of the largest eigenvalue: below is rounding


class LSSVM(
    Parameters, SVMClassifier, parameters="C kernel gamma coef0 degree tol cache_mb max_iter threads class_weight"
):
    """SVM with squared errors on equalities: no quadratic program, but every row is a support vector.

    Minimises ½‖w‖² + C/2 Σ e² with y − f(x) = e, that is, solves (K + I/C)·α + b·1 = y with Σα = 0. Two systems with
    the same matrix are solved at once by conjugate gradients, for y and for 1; b follows from the two. A preconditioner
    built from a few random rows guides the steps: mostly tens of them, not hundreds. The kernel matrix is kept
    while it fits into ``cache_mb``, and computed again in every iteration beyond, in float32; what that leaves wrong is
    computed in double and solved for again.

    Parameters
    ----------
    C : float
        Weight of the squared errors (the papers' γ).
    kernel : {kernels}
        Conjugate gradients need a positive semidefinite kernel.
    tol : float
        Largest error of any equation that is left.
    max_iter : int
        Maximum number of iterations per two-class problem; -1 for ten per row.
    """

    kernels = ("linear", "poly", "rbf")

    def _fit_binary(self, X, y, weights, kernel):
        self.threads_ = resolve_threads(self.threads)
        ridge = 1 / (self.C * weights)
        most = 10 * len(y) + 10 if self.max_iter < 0 else self.max_iter
        with single_threaded_blas:
            system = _System(X, kernel, ridge, self.cache_mb, self.threads_)
            # an error of b adds to that of an equation, so aim below
            right = np.stack([y, np.ones(len(y))])
            (of_y, of_one), (left_y, left_one), steps = system.solve(right, self.tol / 4, most)
            intercept = float(of_one @ y / of_one.sum())
            alpha = of_y - intercept * of_one
            image = y - left_y - intercept * (1.0 - left_one)  # the matrix times alpha
        gap = float(np.abs(y - intercept - image).max())
        objective = 0.5 * float(alpha @ image)
        return DualSolution(alpha, intercept, objective, gap, steps, system.kernel_evals, gap <= self.tol)


class _System:
    """The matrix K + diag(ridge), as its products with vectors."""

    def __init__(self, X, kernel, ridge, cache_mb, threads):
        self.n, self.ridge, self.threads = X.shape[0], ridge, threads
        self.K, self.rows = None, KernelRows(kernel, X, np.float64)
        self.rough_rows = self.rows
        self.guess = _RoughInverse(X, kernel, self.rows.diagonal(), ridge, cache_mb, threads)
        self.kernel_evals = self.guess.kernel_evals
        if 8 * self.n**2 <= cache_mb * 2**20:
            self.K, self.rows = kernel_matrix(kernel, X, X, threads=threads), None
            self.kernel_evals += self.n**2
        else:
            self.rough_rows = suitable_rows(kernel, X)

    def times(self, V, roughly: bool = False):
        """The product with each row of V; kernel values that are not kept may be ``roughly`` right, in float32."""
        if self.rows is None:
            return V @ self.K + V * self.ridge
        rows = self.rough_rows if roughly else self.rows
        self.kernel_evals += self.n * (self.n + 1) // 2
        return rows.products_with_all(V, self.threads) + V * self.ridge

    def solve(self, right, tol, max_iter):
        """The solution for each right-hand side, what it leaves of it, and the steps: rough ones, checked in double."""
        found, residual, steps, aim, largest = np.zeros_like(right), right, 0, tol, np.inf
        while True:
            correction, more = self._conjugate_gradients(residual, aim, max_iter - steps)
            found, steps = found + correction, steps + max(1, more)
            residual = right - self.times(found)
            before, largest = largest, np.abs(residual).max()
            if largest > before / 2:  # float32 does not get any further
                self.rough_rows = self.rows
            if largest <= tol or steps >= max_iter:
                return found, residual, steps
            aim = max(tol / 2, REFINED * largest)

    def _conjugate_gradients(self, right, tol, max_iter):
        found = np.zeros_like(right)
        residual = right.copy()
        guessed = self.guess.times(residual)
        direction = guessed.copy()
        size = np.einsum("ij,ij->i", residual, guessed)
        steps = 0
        while np.abs(residual).max() > tol and steps < max_iter:
            image = self.times(direction, roughly=True)
            curvature = np.einsum("ij,ij->i", direction, image)
            step = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)[:, None]
            found += step * direction
            residual -= step * image
            guessed = self.guess.times(residual)
            before, size = size, np.einsum("ij,ij->i", residual, guessed)
            turn = np.divide(size, before, out=np.zeros_like(size), where=before > 0)[:, None]
            direction = guessed + turn * direction
            steps += 1
        return found, steps


class _RoughInverse:
    """The inverse of FᵀF + D, where FᵀF approximates K by a few random rows (Nyström's method).

    D is the ridge and what FᵀF misses of K's diagonal: the ridge alone would say that there is nothing else.
    """

    def __init__(self, X, kernel, diagonal, ridge, cache_mb, threads):
        n = X.shape[0]
        few = min(n, int(FEW * np.sqrt(n)), int(CACHE_SHARE * cache_mb * 2**20 / (8 * n)) + 1)
        chosen = np.sort(np.random.default_rng(0).choice(n, few, replace=False))
        columns = kernel_matrix(kernel, X, X[chosen], threads=threads)
        if not np.isfinite(columns.sum()):
            raise InputError("the kernel values are not finite: scale the data")
        values, vectors = eigh(columns[chosen])
        known = values > SMALLEST_VALUE * values[-1]
        self.F = (vectors[:, known] / np.sqrt(values[known])).T @ columns.T
        self.D = ridge + np.maximum(diagonal - np.einsum("ij,ij->j", self.F, self.F), 0.0)
        self.kernel_evals = n * few
        self.inner = cho_factor(np.eye(len(self.F)) + (self.F / self.D) @ self.F.T)

    def times(self, V):
        """The product with each row of V, by Woodbury's formula."""
        scaled = V / self.D
        return scaled - cho_solve(self.inner, self.F @ scaled.T).T @ self.F / self.D
