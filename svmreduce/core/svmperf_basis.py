"""The span of a few vectors in kernel space, which grows by the vector that promises most.

w is kept in orthonormal coordinates: the first belongs to the constant feature, the others are T·(kernel values with
the basis), T the inverse of the Cholesky factor of the basis's kernel matrix. A new basis vector b is to point along
the part of the last plane's pull that lies outside the span, r = a − Pa, because that is the steepest way down. For rbf
kernels it is any point of the input space: the fixed point of

    b ← (Σ s_i k(x_i, b) x_i) / (Σ s_i k(x_i, b)),      r = Σ s_i φ(x_i),

begun at the best of some rows. For other kernels it is that row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import lapack, solve_triangular

from svmreduce.core.cache_lines import in_lines
from svmreduce.core.cutting_plane import add_rows, cut_part, masked_sums, shape_of_panels, to_whole_panels
from svmreduce.core.kernel_values import KernelRows, kernel_matrix, suitable_rows
from svmreduce.core.svmperf_search import Plane
from svmreduce.core.threads import in_threads, resolve_threads
from svmreduce.core.tiles import RBF

PIECE = 4096  # rows of a sweep that go together, whatever the number of threads
BLOCK = 4096  # rows looked at together when a sample had none outside the span
BAND = 256  # rows of T that go together: about half of T is zero
TRIED = 59  # rows a new basis vector is chosen from: likely to hold one of the best twentieth
PULLING = 1000  # rows that stand for all of a cut in the search for a basis vector
FIXED_POINT_STEPS, SETTLED = 10, 1e-3  # the last step is the one that moves b by less than this share of itself
# What is nearer to the span than this, in squared length relative to k(b, b), is in it
INSIDE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-10}


class BasisSpace:
    """w in the span of at most ``most`` basis vectors and the constant feature.

    Parameters
    ----------
    kernel, X : the rows
    pull : array, y·weight of each row, weights adding up to one
    bias : float, value of the constant feature
    most : int, basis vectors; if there are no more rows than that, all rows are the basis at once
    single : whether kernel values may be float32
    cache_mb : float, memory for them; if it is too little they are computed again for each plane
    """

    def __init__(self, kernel, X, pull, bias, most, *, single, cache_mb, seed, threads=None):
        self.kernel, self.X, self.pull, self.bias = kernel, X, pull, bias
        self.n, self.most = X.shape[0], min(most, X.shape[0])
        self.threads = resolve_threads(threads)
        self.rng = np.random.default_rng(seed)
        self.rows = suitable_rows(kernel, X, single)
        self.inside = INSIDE[self.rows.dtype]
        self.kernel_evals = 0
        self.size, self.exhausted = 0, False
        self.chosen = np.empty(0, np.int64)  # the rows that are the basis, unless its vectors are invented
        self.invented = np.empty((0, X.shape[1])) if kernel.code == RBF and self.most < self.n else None
        sparse_rbf = self.invented is not None and sparse.issparse(X)
        self.points = _Points(kernel, X, None) if sparse_rbf else None  # faster with one dense point than ``rows``
        self.basis = None  # ready to be evaluated against the rows; only where K is not kept
        self.T = np.zeros((self.most, self.most))
        shape = shape_of_panels(self.n, self.most)
        fits = math.prod(shape) * self.rows.dtype.itemsize <= cache_mb * 2**20
        self.K = in_lines(shape, self.rows.dtype, np.zeros) if fits else None
        if self.most == self.n:
            self._take_all_rows()

    @property
    def dimension(self) -> int:
        return 1 + self.size

    @property
    def grows(self) -> bool:
        return self.size < self.most and not self.exhausted

    def vectors(self):
        return self.X[self.chosen] if self.invented is None else self.invented

    def coefficients(self, coordinates) -> np.ndarray:
        """Of the basis vectors in what has these coordinates."""
        return coordinates @ self.T[: self.size, : self.size]

    def plane(self, w) -> Plane:
        width = max(1, self.size) if self.K is None else self.K.shape[2]
        beta, offset = to_whole_panels(self.coefficients(w[1:]), width), self.bias * w[0]
        cut, evals = np.empty(self.n, np.int8), self.kernel_evals

        def sweep(piece):
            part = np.arange(piece * PIECE, min(self.n, (piece + 1) * PIECE))
            own = slice(part[0], part[-1] + 1)
            K, begin = (self.K, part[0]) if self.K is not None else (self.inner(part)[None], 0)
            total = np.zeros(beta.size)
            return total, *cut_part(K, begin, beta, offset, self.pull[own], cut[own], total)

        totals, weights, pulls, losses = zip(*in_threads(sweep, -(-self.n // PIECE), self.threads), strict=True)
        # threads that count at the same time lose some of it
        self.kernel_evals = evals if self.K is not None else evals + self.n * self.size
        a = np.concatenate([[self.bias * sum(pulls)], self.coordinates(np.sum(totals, axis=0)[: self.size])])
        return Plane(a, sum(weights), sum(losses), cut)

    def extend(self, plane: Plane, planes) -> np.ndarray | None:
        """Add the basis vector that suits this plane best; what every plane is in the new direction.

        None if nothing that was tried lies outside the span.
        """
        missing = _Missing(self, self._some(np.flatnonzero(plane.cut), PULLING))
        for tried in self._offers(plane):
            found = missing.best(self.prepared(self.X[tried]), self.inner(tried))
            if found:
                break
        else:
            self.exhausted = True
            return None
        row = tried[found.which]
        if self.invented is None:
            self.chosen = np.append(self.chosen, row)
            b = self.X[[row]]
        else:
            b, found = missing.fixed_point(self.X[[row]], found)
            self.invented = np.vstack([self.invented, b])
        return self._append(b, found, planes)

    def _offers(self, plane):
        """Some rows and, when all of them lie in the span, those of the cut, block by block."""
        yield self._some(np.arange(self.n), TRIED)
        cut = self.rng.permutation(np.flatnonzero(plane.cut))
        for start in range(0, cut.size, BLOCK):
            yield np.sort(cut[start : start + BLOCK])

    def _append(self, b, found, planes):
        m, height = self.size, np.sqrt(found.height)
        self.T[m, :m], self.T[m, m] = found.coordinates @ self.T[:m, :m] / -height, 1.0 / height
        self.size += 1
        column = self._column(b)
        if self.K is None:
            self.basis = self.prepared(self.vectors())
        else:
            panel, place = divmod(m, self.K.shape[2])
            self.K[panel, :, place] = column
        sums = masked_sums(planes.cuts, planes.places, self.pull * column)
        return (sums - planes.pulls[:, 1:] @ found.coordinates) / height

    def _column(self, b):
        """Kernel values of all rows with a new basis vector."""
        if self.points is None:
            return self.against(np.arange(self.n), self.prepared(b))[:, 0]
        self.kernel_evals += self.n
        return self.points.values(b).astype(self.rows.dtype)

    # ------------------------------------------------------------ kernel values and geometry

    def prepared(self, Z) -> KernelRows:
        """Vectors to be evaluated against the rows."""
        if sparse.issparse(self.X) and not sparse.issparse(Z):
            Z = sparse.csr_matrix(Z)
        return KernelRows(self.kernel, Z, self.rows.dtype, like=self.rows)

    def against(self, rows, new: KernelRows) -> np.ndarray:
        """Kernel values of these rows with these vectors."""
        K = np.empty((rows.size, new.n), self.rows.dtype)
        self.rows.block(rows, new, np.arange(new.n), K.reshape(-1), new.n, self.threads)
        self.kernel_evals += K.size
        return K

    def inner(self, rows) -> np.ndarray:
        """Kernel values of these rows with the basis."""
        if self.K is not None:
            used = -(-self.size // self.K.shape[2])
            return self.K[:used, rows].transpose(1, 0, 2).reshape(rows.size, -1)[:, : self.size]
        return self.against(rows, self.basis) if self.size else np.empty((rows.size, 0), self.rows.dtype)

    def inner_sum(self, rows, amounts) -> np.ndarray:
        """Of these amounts of the rows, with the basis."""
        if self.K is None:
            return amounts @ self.inner(rows).astype(np.float64)
        total = to_whole_panels(np.zeros(self.size), self.K.shape[2])
        add_rows(self.K, rows, amounts, total)
        return total[: self.size]

    def coordinates(self, inner) -> np.ndarray:
        """Of what has these kernel values with the basis (one column each, if there are several)."""
        bands = ((low, min(self.size, low + BAND)) for low in range(0, self.size, BAND))
        return np.concatenate([inner[:0], *(self.T[low:high, :high] @ inner[:high] for low, high in bands)])

    def _some(self, rows, most):
        return rows if rows.size <= most else np.sort(self.rng.choice(rows, most, replace=False))

    def _take_all_rows(self):
        """Every row that is not in the span of those before it, the one that sticks out most first."""
        every = kernel_matrix(self.kernel, self.X, self.X, threads=self.threads)
        self.kernel_evals += every.size
        scale = max(np.abs(every.diagonal()).max(), 1e-300)
        L, order, rank, _ = lapack.dpstrf(every, tol=self.inside * scale, lower=1)
        self.size, self.exhausted = rank, True
        self.chosen = order[:rank].astype(np.int64) - 1
        self.T[:rank, :rank] = solve_triangular(L[:rank, :rank], np.eye(rank), lower=True)
        if self.K is None:
            self.basis = self.prepared(self.vectors())
        else:
            for panel, low in enumerate(range(0, rank, self.K.shape[2])):
                those = self.chosen[low : low + self.K.shape[2]]
                self.K[panel, :, : those.size] = every[:, those]


@dataclass(frozen=True)
class Offer:
    """A vector that may join the basis: its coordinates in the span, the squared length of what sticks out of it,
    and how much of the missing pull that covers."""

    which: int
    coordinates: np.ndarray
    height: float
    gain: float


class _Missing:
    """What the rows of a cut pull outside the span: r = Σ s_i φ(x_i) − Σ γ_j φ(b_j)."""

    def __init__(self, space: BasisSpace, rows):
        self.space, self.rows, self.s = space, rows, space.pull[rows]
        self.inside = space.coordinates(space.inner_sum(rows, self.s))

    def best(self, new: KernelRows, inner) -> Offer | None:
        """The best of these vectors, given their kernel values with the basis; None if all are in the span."""
        l = self.space.coordinates(inner.T.astype(np.float64))
        diagonal = new.diagonal()
        height = diagonal - np.einsum("ij,ij->j", l, l)
        outside = height > self.space.inside * np.maximum(np.abs(diagonal), 1e-300)
        if not outside.any():
            return None
        along = self.s @ self.space.against(self.rows, new) - self.inside @ l
        gain = np.where(outside, along**2 / np.where(outside, height, 1.0), -1.0)
        which = int(np.argmax(gain))
        return Offer(which, l[:, which], float(height[which]), float(gain[which]))

    def fixed_point(self, b, start: Offer) -> tuple[np.ndarray, Offer]:
        """Move b to where r points most; it stays where it is if that gains nothing."""
        space = self.space
        b = first = b.toarray() if sparse.issparse(b) else b
        gamma = space.coefficients(self.inside)
        lengths = None if space.points is None else space.points.lengths[self.rows]
        own, basis = (_Points(space.kernel, space.X[self.rows], b[0], lengths),
                      _Points(space.kernel, space.invented, b[0]))  # fmt: skip
        for _ in range(FIXED_POINT_STEPS):
            pulls, counters = self.s * own.values(b), gamma * basis.values(b)
            total = pulls.sum() - counters.sum()
            if total == 0.0:
                return first, start
            moved = ((own.sum(pulls) - basis.sum(counters)) / total)[None, :]
            if not np.isfinite(moved).all():
                return first, start
            settled = np.abs(moved - b).max() <= SETTLED * np.abs(moved).max()
            b = moved
            if settled:
                break
        found = self.best(space.prepared(b), basis.values(b)[None, :])
        return (b, found) if found and found.gain > start.gain else (first, start)


class _Points:
    """Points and the rbf kernel with one more, in double. Dense ones are taken about ``origin``: squared distances lose
    digits far from it."""

    def __init__(self, kernel, Z, origin, lengths=None):
        self.gamma, self.origin = kernel.gamma, 0.0 if sparse.issparse(Z) else origin
        self.Z = Z if sparse.issparse(Z) else Z - origin
        self.transposed = self.Z.T
        self.lengths = _squared_lengths(self.Z) if lengths is None else lengths

    def values(self, b):
        b = b[0] - self.origin
        return np.exp(-self.gamma * np.maximum(self.lengths + b @ b - 2.0 * (self.Z @ b), 0.0))

    def sum(self, weights):
        return self.transposed @ weights + weights.sum() * self.origin


def _squared_lengths(Z):
    return np.asarray(Z.multiply(Z).sum(axis=1)).ravel() if sparse.issparse(Z) else np.einsum("ij,ij->i", Z, Z)
