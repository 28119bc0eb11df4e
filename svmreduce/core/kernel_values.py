"""Rows made ready for kernel evaluation, and what is computed from them.

Everything exists in float32 (twice as fast; the solvers' choice) and float64 (prediction).
"""

from __future__ import annotations

import math
import threading
from itertools import pairwise

import numpy as np
from scipy import sparse
from threadpoolctl import ThreadpoolController

from svmreduce.core import tile_loops, tiles
from svmreduce.core.row_parts import ReadyPart, RowPart, csr_rows, full_columns, split_columns, without_zeros
from svmreduce.core.threads import in_turns, resolve_threads
from svmreduce.core.tiles import DIFFERENCES, KMOD, LINEAR, MIXED, POLY, PRODUCT, RADIAL, SCATTER, TABLE
from svmreduce.errors import InputError

FEW_FEATURES = 64  # up to here differences cost little more than products
TILE = 512  # right rows in a tile
LEAST_TILE, MANY_TILES = 128, 32  # of half a matrix: tiles are narrower if there are few, so that threads end together
SUMS_BYTES = 1 << 26  # for the sums of half a matrix's tiles at a time
BAND = 256  # left rows of a mixture or a table at a time
MANY_COLUMNS = 1 << 16  # sparse columns are renumbered beyond this
SCATTER_TILE_BYTES = 1 << 22  # a sparse tile is densified: keep it near the cache
FLOAT32_TOL = 1e-4  # below this tolerance solvers take kernel values in double
FLOAT32_ROUNDING = 2e-4  # of the largest kernel value: where float32 is worse, no certificate means anything
FLOAT32_LARGEST, FLOAT64_LARGEST = 1e12, 1e25  # kernel values that leave room for sums and squares


class _SingleThreadedBlas:
    """Our own threads call BLAS, so it must not start more of its own.

    There is one limit for the whole process, and callers may overlap: the first one sets it, the last one
    restores the old value. Long work holds it throughout: setting it again wakes BLAS's own threads, which
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

    For kernels of the distance dense columns are centred first (distances do not change), which is what keeps the
    product form's cancellation harmless in float32. Rows are multiplied by the power of two nearest to √gamma, which
    loses no digit, so that neither very small nor very large data leave the range of float32. A kernel with a norm of
    its own sees the rows through it.

    Parameters
    ----------
    kernel : KernelSpec
    X : ndarray or csr_matrix of shape (n, d)
    dtype : float32 or float64
    like : KernelRows, optional
        Rows these are to be evaluated against: same centre, same way to fill tiles.
    split : bool
        Whether the columns of sparse rows that are mostly not zero may be held dense, where that saves digits.
    """

    def __init__(self, kernel, X, dtype=np.float32, like: KernelRows | None = None, split: bool = False):
        self.kernel = kernel
        X = kernel.mapped(X)
        self.n, self.d = X.shape
        self.dtype = np.dtype(dtype)
        self.centre = self.full = None
        stretch = 1.0 if kernel.code == LINEAR else 2.0 ** round(math.log2(kernel.gamma) / 2.0)
        self.gamma = float(kernel.gamma) / stretch / stretch  # of the rows so multiplied
        if sparse.issparse(X):
            self.full = like.full if like is not None else full_columns(kernel, X) if split else None
            self.mode, dense = SCATTER, np.empty((0, 0), self.dtype)
            if self.full is not None:
                part, X = split_columns(X, self.full)
                self.mode, (dense, self.dense_norm) = MIXED, self._dense(part, stretch, like)
            indptr = X.indptr.astype(np.int64, copy=False)
            values = X.data * stretch
            with np.errstate(over="ignore"):  # ``rounding`` reports it
                data = np.ascontiguousarray(values, self.dtype)
                norm = tiles.squared_norms(values, indptr).astype(self.dtype)
            self.columns, indices = _few_columns(X, None if like is None else like.columns)
            self.width = X.shape[1] if self.columns is None else len(self.columns) + 1
            entries = X.nnz / max(1, self.n)
            features = min(self.d, 32 * entries)  # that a tile is likely to use
            width = SCATTER_TILE_BYTES / (self.dtype.itemsize * max(1.0, features))
            self.tile = int(min(TILE, max(64, width // 64 * 64)))
        else:
            self.mode = DIFFERENCES if kernel.code in RADIAL and self.d <= FEW_FEATURES else PRODUCT
            dense, norm = self._dense(X, stretch, like)
            data, indices, indptr = np.empty(0, self.dtype), np.empty(0, np.int32), np.empty(0, np.int64)
            self.tile, entries = TILE, 0
        self.entries = entries + dense.shape[1]  # multiplications for one value
        self.panel = tiles.panel_width(self.mode, self.dtype.itemsize)
        self.arrays = (dense, data, indices, indptr, norm)

    def _dense(self, X, stretch, like):
        """Dense columns, about their means if the kernel is one of distances, and the squared lengths."""
        radial = self.kernel.code in RADIAL
        self.centre = np.zeros(X.shape[1]) if not radial else (X.mean(axis=0) if like is None else like.centre)
        dense, norm = np.empty(X.shape, self.dtype), np.empty(self.n, self.dtype)
        tiles.centred(np.ascontiguousarray(X, np.float64), self.centre, stretch, dense, norm)
        return dense, norm

    def parameters(self):
        return self.mode, self.kernel.code, self.gamma, float(self.kernel.coef0), int(self.kernel.degree)

    def rounding(self) -> float:
        """About how far rounding may move a squared distance between mixtures of these rows; infinite on overflow."""
        k = self.kernel
        size = self.gamma * np.float64(self.arrays[4].max(initial=0.0))
        reach = size + abs(k.coef0)
        with np.errstate(over="ignore"):
            if k.code in RADIAL:  # a difference of coordinates, or of squared lengths; times the steepest slope
                slope = 1.0 + k.coef0 if k.code == KMOD else 1.0
                numbers = 1.0 + slope * (np.sqrt(size) if self.mode == DIFFERENCES else size)
                if self.mode == MIXED:
                    numbers += slope * np.sqrt(self.gamma * np.float64(self.dense_norm.max(initial=0.0)))
            elif k.code == POLY:
                numbers = max(1, k.degree) * reach**k.degree
            else:
                numbers = size if k.code == LINEAR else 1.0 + reach
        return 2.0 * float(np.finfo(self.dtype).eps) * float(numbers)

    def _slot(self):
        return np.full(self.width if self.mode >= SCATTER else 0, -1, np.int32)

    def diagonal(self):
        """k(x, x) of every row, in double."""
        return tiles.diagonal(*self.parameters()[1:], self.arrays[4])

    def block(self, rows, right, columns, out, stride, threads=1, diagonal=None):
        """out[i*stride + j] = k(row i, column j) for these rows of self and columns of ``right``.

        Where column i + ``diagonal`` is row i, values beyond it may be left out: those before it are the same.
        """
        if diagonal is None:
            diagonal = columns.size

        def loop(turns):
            tile_loops.block_part(*self.parameters(), self.arrays, rows, right.arrays, columns, self.tile, self.panel,
                                  self._slot(), turns, out, stride, diagonal)  # fmt: skip

        self._in_turns(loop, rows.size, columns.size, threads)

    def add_products(self, rows, right, columns, coef, out, threads=1):
        """out[k, i] += Σ_j k(row i, column j)·coef[k, j]."""

        def loop(turns):
            tile_loops.product_part(*self.parameters(), self.arrays, rows, right.arrays, columns, coef, self.tile,
                                    self.panel, self._slot(), turns, out)  # fmt: skip

        self._in_turns(loop, rows.size, columns.size, threads)

    def products_with_all(self, coef, threads=1):
        """K·coef of all rows, or that of every row of ``coef``, from half of K. Sums of tiles are added in order."""
        tile = max(LEAST_TILE, min(self.tile, self.n // MANY_TILES // LEAST_TILE * LEAST_TILE))
        each, total, stages = np.atleast_2d(coef), np.zeros(coef.shape), math.ceil(self.n / tile)
        together = max(1, SUMS_BYTES // max(1, total.nbytes))
        for first in range(0, stages, together):
            out = np.zeros((min(together, stages - first), *each.shape))

            def loop(turns, first=first, out=out):
                tile_loops.symmetric_part(*self.parameters(), self.arrays, each, tile, self.panel, self._slot(), turns,
                                          first, out)  # fmt: skip

            in_turns(loop, each.size * self.n // 2, threads)
            for part in out:
                total += part.reshape(coef.shape)
        return total

    def _in_turns(self, loop, rows, columns, threads):
        """Tiles are the same whatever the number of threads, and so is the order of sums: the same rounding."""
        parts = tile_loops.parts_of(rows)
        if parts:
            in_turns(loop, rows * columns, min(threads, parts), parts)


class MixedRows:
    """The same for a weighted sum of kernels: every part has rows of its own, values are added up."""

    def __init__(self, mixture, X, dtype=np.float32, like: MixedRows | None = None):
        likes = [None] * len(mixture.parts) if like is None else like.parts
        self.weights = mixture.weights
        self.parts = [KernelRows(part, X, dtype, other) for part, other in zip(mixture.parts, likes, strict=True)]
        self.n, self.dtype = self.parts[0].n, self.parts[0].dtype
        self.arrays = tuple(array for part in self.parts for array in part.arrays)
        self.entries = sum(part.entries for part in self.parts)

    def diagonal(self):
        return sum(weight * part.diagonal() for weight, part in zip(self.weights, self.parts, strict=True))

    def rounding(self) -> float:
        return sum(weight * part.rounding() for weight, part in zip(self.weights, self.parts, strict=True))

    def block(self, rows, right, columns, out, stride, threads=1, diagonal=None):
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

    def products_with_all(self, coef, threads=1):
        return sum(part.products_with_all(weight * coef, threads)
                   for weight, part in zip(self.weights, self.parts, strict=True))  # fmt: skip


class TableRows:
    """Kernel values that were computed elsewhere: each row holds its own number (from 1 on), then all its values.

    The value of a row x with a row z is entry number(z) of x, so that of z only the number is needed.
    """

    def __init__(self, kernel, X, dtype=np.float32, like: TableRows | None = None):
        self.n, self.dtype = X.shape[0], np.dtype(dtype)
        self.values = X
        self.numbers = X[:, 0].astype(np.int64)
        self.arrays, self.entries = (), 0

    def diagonal(self):
        return self.values[np.arange(self.n), self.numbers]

    def rounding(self) -> float:
        return 2.0 * float(np.finfo(self.dtype).eps) * float(np.abs(self.diagonal()).max(initial=0.0))

    def _bands(self, rows, right, columns):
        places = right.numbers[columns]
        if places.size and not (places.min() >= 1 and places.max() < self.values.shape[1]):
            raise InputError(f"rows have {self.values.shape[1] - 1} kernel values, but value {places.max()} is needed: "
                             "give each row its values with all training rows")  # fmt: skip
        for low in range(0, rows.size, BAND):
            yield low, self.values[np.ix_(rows[low : low + BAND], places)]

    def block(self, rows, right, columns, out, stride, threads=1, diagonal=None):
        for low, band in self._bands(rows, right, columns):
            for i, values in enumerate(band):
                out[(low + i) * stride : (low + i) * stride + columns.size] = values

    def add_products(self, rows, right, columns, coef, out, threads=1):
        for low, band in self._bands(rows, right, columns):
            out[:, low : low + band.shape[0]] += coef @ band.T

    def products_with_all(self, coef, threads=1):
        every, out = np.arange(self.n), np.zeros(coef.shape)
        self.add_products(every, self, every, np.atleast_2d(coef), np.atleast_2d(out), threads)
        return out


def kernel_rows(kernel, X, dtype=np.float32, like=None, split=False) -> KernelRows | MixedRows | TableRows:
    """Rows made ready for a kernel, a mixture of kernels, or a table of kernel values."""
    X = X[:] if isinstance(X, RowPart) else X
    if kernel.is_mixture or kernel.code == TABLE:
        return (MixedRows if kernel.is_mixture else TableRows)(kernel, X, dtype, like)
    return KernelRows(kernel, X, dtype, like, split)


def suitable_rows(kernel, X, single=True, split=False) -> KernelRows | MixedRows | TableRows | ReadyPart:
    """Rows in float32 if it is wanted and holds the kernel values well enough, else in double."""
    if isinstance(X, RowPart):
        ready = X.whole.ready(single, lambda whole: suitable_rows(kernel, whole, single, split))
        return ReadyPart(ready, X.rows)
    rows = kernel_rows(kernel, X, np.float32 if single else np.float64, split=split)
    largest = np.abs(rows.diagonal()).max()
    if single and not (largest <= FLOAT32_LARGEST and rows.rounding() <= FLOAT32_ROUNDING * largest):
        return suitable_rows(kernel, X, single=False, split=split)
    if not largest <= FLOAT64_LARGEST:
        raise InputError(f"kernel values reach {largest:.0e}, too large to optimise: scale the data or lower gamma")
    return rows


def _pair(kernel, X, Z, dtype):
    Z = without_zeros(kernel, Z)
    if sparse.issparse(X) != sparse.issparse(Z):
        X, Z = csr_rows(X), csr_rows(Z)
    right = kernel_rows(kernel, Z, dtype, split=True)
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
    return decision_shares(kernel, X, vectors, coef, [0, vectors.shape[0]], threads, dtype)[0]


def decision_shares(kernel, X, vectors, coef, ends, threads=None, dtype=np.float64):
    """The same, one array for the vectors from ``ends[0]`` to ``ends[1]``, one for those up to ``ends[2]``, …"""
    left, right = _pair(kernel, X, vectors, dtype)
    coef = np.ascontiguousarray(np.asarray(coef, np.float64).T)
    rows, shares = np.arange(left.n), []
    for begin, end in pairwise(ends):
        out = np.zeros((coef.shape[0], left.n))
        own = np.ascontiguousarray(coef[:, begin:end])
        left.add_products(rows, right, np.arange(begin, end), own, out, resolve_threads(threads))
        shares.append(out.T)
    return shares
