"""Rows made ready for kernel evaluation, and what is computed from them.

Everything exists in float32 (twice as fast; the solvers' choice) and float64 (prediction).
"""

from __future__ import annotations

import math
import threading
from contextlib import nullcontext

import numpy as np
from scipy import sparse
from threadpoolctl import ThreadpoolController

from svmreduce.core import tiles
from svmreduce.core.jit import in_threads, resolve_threads
from svmreduce.core.tiles import DIFFERENCES, LEFT, PRODUCT, RADIAL, SCATTER
from svmreduce.errors import InputError

FEW_FEATURES = 16  # up to here differences beat a BLAS call
TILE = 512  # right rows in a tile
BAND = 256  # left rows of a mixture at a time
MANY_COLUMNS = 1 << 16  # sparse columns are renumbered beyond this
SCATTER_TILE_BYTES = 1 << 22  # a sparse tile is densified: keep it near the cache
FLOAT32_TOL = 1e-4  # below this tolerance solvers take kernel values in double
FLOAT32_LARGEST, FLOAT64_LARGEST = 1e12, 1e25  # kernel values that leave room for sums and squares


class _SingleThreadedBlas:
    """Our own threads call BLAS, so it must not start more of its own.

    The limit is one for the whole process and callers may overlap: the first in sets it, the last out
    puts back what was there. Long work holds it throughout: setting it anew wakes BLAS's own threads, which
    then spin for a while on the cores we need.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._inside = 0
        self._controller = self._limit = None

    def __enter__(self):
        with self._lock:
            if self._inside == 0:
                self._controller = self._controller or ThreadpoolController()
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_):
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


single_threaded_blas = _SingleThreadedBlas()


def _few_columns(X, known):
    """Column numbers that need little room: as they are, or renumbered when there are very many.

    Columns that are not ``known`` (the other matrix has nothing there) share one number beyond the rest.
    """
    if known is None and X.shape[1] <= MANY_COLUMNS:
        return None, X.indices.astype(np.int32, copy=False)
    columns = np.unique(X.indices) if known is None else known
    place = np.searchsorted(columns, X.indices)
    found = columns[np.minimum(place, len(columns) - 1)] == X.indices if len(columns) else np.zeros(X.nnz, bool)
    return columns, np.where(found, place, len(columns)).astype(np.int32)


class KernelRows:
    """Rows made ready for kernel evaluation in one precision.

    For kernels of the distance dense rows are centred first (distances do not change), which is what keeps the
    product form's cancellation harmless in float32. A kernel with a norm of its own sees the rows through it.

    Parameters
    ----------
    kernel : KernelSpec
    X : ndarray or csr_matrix of shape (n, d)
    dtype : float32 or float64
    like : KernelRows, optional
        Rows these are to be evaluated against: same centre, same way to fill tiles.
    """

    def __init__(self, kernel, X, dtype=np.float32, like: KernelRows | None = None):
        self.kernel = kernel
        X = kernel.mapped(X)
        self.n, self.d = X.shape
        self.dtype = np.dtype(dtype)
        self.centre = None
        if sparse.issparse(X):
            self.mode = SCATTER
            data = np.ascontiguousarray(X.data, self.dtype)
            indptr = X.indptr.astype(np.int64, copy=False)
            self.columns, indices = _few_columns(X, None if like is None else like.columns)
            self.width = X.shape[1] if self.columns is None else len(self.columns) + 1
            dense = np.empty((0, 0), self.dtype)
            norm = tiles.squared_norms(X.data, indptr).astype(self.dtype)
            mean_entries = X.nnz / max(1, self.n)
            width = SCATTER_TILE_BYTES / (self.dtype.itemsize * max(1.0, min(self.d, 32 * mean_entries)))
            self.tile = int(min(TILE, max(64, width // 64 * 64)))
        else:
            radial = kernel.code in RADIAL
            self.mode = DIFFERENCES if radial and self.d <= FEW_FEATURES else PRODUCT
            self.centre = np.zeros(self.d) if not radial else (X.mean(axis=0) if like is None else like.centre)
            dense = np.empty((self.n, self.d), self.dtype)
            norm = np.empty(self.n, self.dtype)
            for i0 in range(0, self.n, 4096):
                part = X[i0 : i0 + 4096] - self.centre
                dense[i0 : i0 + 4096] = part
                norm[i0 : i0 + 4096] = np.einsum("ij,ij->i", part, part)
            data, indices, indptr = np.empty(0, self.dtype), np.empty(0, np.int32), np.empty(0, np.int64)
            self.tile = TILE
        self.arrays = (dense, data, indices, indptr, norm)

    def parameters(self):
        k = self.kernel
        return self.mode, k.code, float(k.gamma), float(k.coef0), int(k.degree)

    def _slot(self):
        return np.full(self.width if self.mode == SCATTER else 0, -1, np.int32)

    def diagonal(self):
        """k(x, x) of every row, in double."""
        k = self.kernel
        return tiles.diagonal(k.code, float(k.gamma), float(k.coef0), int(k.degree), self.arrays[4])

    def block(self, rows, right, columns, out, stride, threads=1):
        """out[i*stride + j] = k(row i, column j) for these rows of self and columns of ``right``."""

        def work(low, high):
            tiles.block_part(*self.parameters(), self.arrays, rows[low:high], right.arrays, columns,
                             self.tile, self._slot(), out[low * stride :], stride)  # fmt: skip

        self._over_left_tiles(work, rows.size, threads)

    def add_products(self, rows, right, columns, coef, out, threads=1):
        """out[k, i] += Σ_j k(row i, column j)·coef[k, j]."""

        def work(low, high):
            tiles.product_part(*self.parameters(), self.arrays, rows[low:high], right.arrays, columns,
                          coef, self.tile, self._slot(), out[:, low:high])  # fmt: skip

        self._over_left_tiles(work, rows.size, threads)

    def _over_left_tiles(self, work, rows, threads):
        """Share whole tiles among threads: the same tiles whatever the count, so the same rounding."""
        tiles_in_all = math.ceil(rows / LEFT)
        pieces = 1 if threads == 1 else min(4 * threads, tiles_in_all)  # a few each, to even out unequal speed
        edges = [min(rows, tiles_in_all * p // pieces * LEFT) for p in range(pieces + 1)] if rows else [0]
        with single_threaded_blas if self.mode == PRODUCT else nullcontext():
            in_threads(lambda p: work(edges[p], edges[p + 1]), len(edges) - 1, threads)


class MixedRows:
    """The same for a weighted sum of kernels: every part has rows of its own, values are added up."""

    def __init__(self, mixture, X, dtype=np.float32, like: MixedRows | None = None):
        likes = [None] * len(mixture.parts) if like is None else like.parts
        self.weights = mixture.weights
        self.parts = [KernelRows(part, X, dtype, other) for part, other in zip(mixture.parts, likes, strict=True)]
        self.n, self.dtype = self.parts[0].n, self.parts[0].dtype
        self.arrays = tuple(array for part in self.parts for array in part.arrays)

    def diagonal(self):
        return sum(weight * part.diagonal() for weight, part in zip(self.weights, self.parts, strict=True))

    def block(self, rows, right, columns, out, stride, threads=1):
        for low in range(0, rows.size, BAND):
            band = rows[low : low + BAND]
            total, room = np.zeros((2, band.size, columns.size), self.dtype)
            for weight, own, other in zip(self.weights, self.parts, right.parts, strict=True):
                own.block(band, other, columns, room.reshape(-1), columns.size, threads)
                room *= self.dtype.type(weight)
                total += room
            for i in range(band.size):
                begin = (low + i) * stride
                out[begin : begin + columns.size] = total[i]

    def add_products(self, rows, right, columns, coef, out, threads=1):
        for weight, own, other in zip(self.weights, self.parts, right.parts, strict=True):
            own.add_products(rows, other, columns, weight * coef, out, threads)


def kernel_rows(kernel, X, dtype=np.float32, like=None) -> KernelRows | MixedRows:
    """Rows made ready for a kernel or a mixture of kernels."""
    return (MixedRows if kernel.is_mixture else KernelRows)(kernel, X, dtype, like)


def largest_diagonal(kernel, X) -> float:
    """The largest |k(x, x)|; no kernel value of a positive definite kernel is larger."""
    if kernel.is_mixture:
        parts = zip(kernel.weights, kernel.parts, strict=True)
        return sum(weight * largest_diagonal(part, X) for weight, part in parts)
    X = kernel.mapped(X)
    if sparse.issparse(X):
        norms = tiles.squared_norms(X.data, X.indptr.astype(np.int64, copy=False))
    else:
        norms = np.einsum("ij,ij->i", X, X)
    values = tiles.diagonal(kernel.code, float(kernel.gamma), float(kernel.coef0), int(kernel.degree), norms)
    return float(np.abs(values).max())


def suitable_dtype(kernel, X, tol: float):
    """float32 where it can hold the kernel values well enough for this tolerance, else float64."""
    largest = largest_diagonal(kernel, X)
    if not largest <= FLOAT64_LARGEST:
        raise InputError(f"kernel values reach {largest:.0e}, too large to optimise: scale the data or lower gamma")
    return np.float32 if tol >= FLOAT32_TOL and largest <= FLOAT32_LARGEST else np.float64


def _pair(kernel, X, Z, dtype):
    if sparse.issparse(X) != sparse.issparse(Z):
        X, Z = sparse.csr_matrix(X), sparse.csr_matrix(Z)
    right = kernel_rows(kernel, Z, dtype)
    return kernel_rows(kernel, X, dtype, like=right), right


def kernel_matrix(kernel, X, Z, dtype=np.float64, threads=None):
    """All kernel values between the rows of X and those of Z."""
    left, right = _pair(kernel, X, Z, dtype)
    out = np.empty((left.n, right.n), dtype)
    left.block(np.arange(left.n), right, np.arange(right.n), out.reshape(-1), right.n, resolve_threads(threads))
    return out


def decision_function(kernel, X, vectors, coef, threads=None, dtype=np.float64):
    """Σ_j k(x, v_j)·coef[j, k] for every row of X: shape (rows, outputs), without intercepts.

    ``dtype`` is that of the kernel values; sums are double.
    """
    left, right = _pair(kernel, X, vectors, dtype)
    coef = np.ascontiguousarray(np.asarray(coef, np.float64).T)
    out = np.zeros((coef.shape[0], left.n))
    left.add_products(np.arange(left.n), right, np.arange(right.n), coef, out, resolve_threads(threads))
    return out.T
