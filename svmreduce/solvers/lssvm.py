"""Least-squares SVM by conjugate gradients, after J. Suykens and J. Vandewalle."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpstrf

from svmreduce.core.kernel_values import KernelRows, kernel_matrix, single_threaded_blas, suitable_rows
from svmreduce.core.threads import resolve_threads
from svmreduce.errors import InputError
from svmreduce.parameters import Parameters
from svmreduce.solvers.base import SVMClassifier
from svmreduce.types import DualSolution

FEW = 8  # times √n rows guide the steps,
CACHE_SHARE = 0.5  # or as many as this part of the cache holds
MISSED = 0.1  # of the diagonal that they miss: most of it lies in few directions
AIM = 0.7  # times tol: float32 may be wrong by the rest
REFINED = 1e-4  # of an error: what float32 takes off at once
# All eigenvalues together beside the least ridge: up to here float32 is enough to guide, and for kernel values
SINGLE_GUIDE, SINGLE_VALUES = 1e6, 1e7
SMALLEST_PIVOT = {np.float32: 1e-6, np.float64: 1e-12}  # of the largest: below is rounding


class LSSVM(
    Parameters, SVMClassifier, parameters="C kernel gamma coef0 degree tol cache_mb max_iter threads class_weight"
):
    """SVM with squared errors on equalities: no quadratic program, but every row is a support vector.

    Minimises ½‖w‖² + C/2 Σ e² with y − f(x) = e, that is, solves (K + I/C)·α + b·1 = y with Σα = 0. Two systems with
    the same matrix are solved at once by conjugate gradients, for y and for 1; b follows from the two. A preconditioner
    built from a few random rows guides the steps: mostly tens of them, not hundreds. The kernel matrix is kept
    while it fits into ``cache_mb``, and computed again in every iteration beyond, half of it and in float32 unless C is
    too large for that; what that leaves wrong is computed in double and solved for again.

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
            (of_y, of_one), (left_y, left_one), steps = system.solve(y, self.tol, most)
        intercept = _intercept(of_one, y)
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
        diagonal = self.rows.diagonal()
        self.guess = _RoughInverse(X, kernel, diagonal, ridge, cache_mb, threads)
        self.kernel_evals = self.guess.kernel_evals
        if 8 * self.n**2 <= cache_mb * 2**20:
            self.K, self.rows = kernel_matrix(kernel, X, X, threads=threads), None
            self.kernel_evals += self.n**2
        elif diagonal.sum() <= SINGLE_VALUES * ridge.min():
            self.rough_rows = suitable_rows(kernel, X)

    def times(self, V, roughly: bool = False):
        """The product with each row of V; kernel values that are not kept may be ``roughly`` right, in float32."""
        if self.rows is None:
            return V @ self.K + V * self.ridge
        rows = self.rough_rows if roughly else self.rows
        self.kernel_evals += self.n * (self.n + 1) // 2
        return rows.products_with_all(V, self.threads) + V * self.ridge

    def solve(self, y, tol, max_iter):
        """The solutions for y and for 1, what they leave, and the steps: rough ones, checked in double."""
        right = np.stack([y, np.ones(self.n)])
        found, residual, steps, largest = np.zeros_like(right), right.copy(), 0, np.inf
        while True:
            before, largest = largest, _largest_error(found, residual, y)
            if largest > before / 2:  # float32 does not get any further
                self.rough_rows = self.rows
            if largest <= tol or steps >= max_iter:
                return found, residual, steps
            aim = max(AIM * tol, REFINED * largest)
            steps += max(1, self._conjugate_gradients(found, residual, y, aim, max_iter - steps))
            residual = right - self.times(found)

    def _conjugate_gradients(self, found, residual, y, tol, max_iter):
        """Improves what was found until an equation's error seems to be at most ``tol``; returns the steps."""
        guessed = self.guess.times(residual)
        direction = guessed.copy()
        size = np.einsum("ij,ij->i", residual, guessed)
        steps = 0
        while _largest_error(found, residual, y) > tol and steps < max_iter:
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
        return steps


def _intercept(of_one, y):
    """What makes Σα zero."""
    return float(of_one @ y / max(of_one.sum(), np.finfo(float).tiny))


def _largest_error(found, residual, y):
    """Of any equation, with the intercept that these solutions for y and for 1 have."""
    return float(np.abs(residual[0] - _intercept(found[1], y) * residual[1]).max())


class _RoughInverse:
    """The inverse of FᵀF + D, where FᵀF approximates K by a few random rows (Nyström's method).

    D is the ridge and a part of what FᵀF misses of K's diagonal: the ridge alone would say that there is nothing else.
    Kept is F·D^(−1/2).
    """

    def __init__(self, X, kernel, diagonal, ridge, cache_mb, threads):
        n = X.shape[0]
        dtype = np.float32 if diagonal.sum() <= SINGLE_GUIDE * ridge.min() else np.float64
        room = CACHE_SHARE * cache_mb * 2**20 / np.dtype(dtype).itemsize
        few = min(n, int(FEW * np.sqrt(n)), int(room / n) + 1)
        chosen = np.sort(np.random.default_rng(0).choice(n, few, replace=False))
        sample = kernel_matrix(kernel, X[chosen], X[chosen], threads=threads)
        root, order, rank, _ = dpstrf(sample, SMALLEST_PIVOT[dtype] * diagonal.max(), lower=1)
        columns = kernel_matrix(kernel, X, X[chosen[order[:rank] - 1]], dtype, threads)
        if not np.isfinite(sample.sum() + columns.sum()):
            raise InputError("the kernel values are not finite: scale the data")
        root = root[:rank, :rank].astype(dtype)
        self.F = solve_triangular(root, columns.T, lower=True, overwrite_b=True, check_finite=False)
        missed = np.maximum(diagonal - np.einsum("ij,ij->j", self.F, self.F), 0.0)
        self.scale = 1.0 / np.sqrt(ridge + MISSED * missed)
        self.F *= self.scale.astype(dtype)
        self.kernel_evals = few**2 + n * rank
        self.inner = cho_factor(np.eye(rank) + self.F @ self.F.T)

    def times(self, V):
        """The product with each row of V, by Woodbury's formula."""
        scaled = V * self.scale
        inner = cho_solve(self.inner, self.F @ scaled.T.astype(self.F.dtype))
        return (scaled - inner.T.astype(self.F.dtype) @ self.F) * self.scale
