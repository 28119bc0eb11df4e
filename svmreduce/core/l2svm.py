"""The dual of the L2-SVM: a matrix Q of which blocks and rows are computed when they are needed.

With squared slacks, and the offset counted among the weights, the dual is  min αᵀQα  on the simplex, where
q_ij = y_i y_j (k_ij + 1) + δ_ij·ridge_i. A row of weight w has ridge 1/(C·w), which is what w equal rows with equal
shares of its α come to: w·(α/w)²/C.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.kernel_values import KernelRows, suitable_rows
from svmreduce.core.tiles import DIFFERENCES, PRODUCT, SCATTER

FEW = 4  # times fewer rows than columns: make tiles of the rows, where making a tile is work
FEWEST = 2  # rows for which no tile is worth making
PART = 8192  # rows made ready in double at a time
UNCHANGED = 1e-10  # of a weight: what scaling it many times may do by rounding
ERROR_MARGIN = 20  # times the rounding error that was seen, to be sure of what was not


@njit()
def _sign_block(values, stride, rows, columns, sign, ridge):
    """Kernel values become values of Q, in place."""
    one = values.dtype.type(1)
    for i in range(rows.size):
        row = values[i * stride : i * stride + columns.size]
        own = sign[rows[i]]
        for j in range(columns.size):
            row[j] = own * sign[columns[j]] * (row[j] + one)
            if rows[i] == columns[j]:
                row[j] += values.dtype.type(ridge[rows[i]])


@njit()
def _sign_row(values, row, sign, ridge):
    """The same for one row and all columns."""
    own, one = sign[row], values.dtype.type(1)
    for j in range(values.size):
        values[j] = own * sign[j] * (values[j] + one)
    values[row] += ridge


@njit()
def weighted_columns(values, width, coef):
    """Σ_i coef[i]·values[i, :], in double."""
    sums = np.zeros(width)
    for i in range(coef.size):
        row, c = values[i * width : (i + 1) * width], coef[i]
        for j in range(width):
            sums[j] += c * np.float64(row[j])
    return sums


@njit()
def _spread_columns(block, n, begin, values):
    """Column j of the block goes to values[begin[j] :], a few rows of the block at a time."""
    for start in range(0, n, 64):
        for j in range(begin.size):
            for i in range(start, min(n, start + 64)):
                values[begin[j] + i] = block[i * begin.size + j]


class Hessian:
    """Q, block by block; in a ``WorkingSet`` it takes the part of the kernel rows.

    ``size`` is Δ², the squared norm of a row: the largest k(x, x), one for the offset, and the ridge of a row of mean
    weight. The smallest R is below it whatever the kernel and the weights, so that r² = Δ² − R ends above zero.
    """

    def __init__(self, X, y, ridge, kernel, dtype, threads):
        self.rows = suitable_rows(kernel, X, single=dtype == np.float32)
        diagonal = self.rows.diagonal()
        self.X, self.y, self.ridge, self.kernel, self.threads = X, y, ridge, kernel, threads
        self.n, self.dtype = self.rows.n, self.rows.dtype
        self.sign = y.astype(self.dtype)
        self.diagonal = diagonal + 1.0 + ridge
        self.size = diagonal.max() + 1.0 + 1.0 / np.mean(1.0 / ridge)
        self.values = 0  # kernel values computed so far

    def block(self, rows, _, columns, out, stride, threads=None):
        """out[i*stride + j] = q of row i and column j."""
        if self.rows.mode != DIFFERENCES and rows.size <= FEWEST:
            self.rows.block_of_few(rows, columns, out, stride)
            _sign_block(out, stride, rows, columns, self.sign, self.ridge)
            self.values += rows.size * columns.size
            return
        if self.rows.mode != DIFFERENCES and FEW * rows.size < columns.size:
            return self.spread(columns, rows, out, stride * np.arange(rows.size))
        self.rows.block(rows, self.rows, columns, out, stride, threads or self.threads)
        _sign_block(out, stride, rows, columns, self.sign, self.ridge)
        self.values += rows.size * columns.size

    def spread(self, rows, few, out, begin):
        """out[begin[j] + i] = q of row i and column j, for few columns: kernel tiles are made of those."""
        block = np.empty(rows.size * few.size, self.dtype)
        self.rows.block(rows, self.rows, few, block, few.size, self.threads)
        _sign_block(block, few.size, rows, few, self.sign, self.ridge)
        _spread_columns(block, rows.size, begin, out)
        self.values += rows.size * few.size

    def whole_rows(self, rows, out, begin):
        """out[begin[i] + j] = q of row i and row j, for all rows j."""
        self.rows.whole_rows(rows, out, begin)
        for row, start in zip(rows, begin, strict=True):
            _sign_row(out[start : start + self.n], row, self.sign, self.dtype.type(self.ridge[row]))
        self.values += rows.size * self.n

    def gradient(self, alpha):
        """g = Qα of all rows."""
        support = np.flatnonzero(alpha)
        return self.pull(np.arange(self.n), support, alpha[support]) + alpha * self.ridge

    def pull(self, rows, support, alpha):
        """What the α of these support rows adds to g of ``rows``, but for the ridge."""
        beta = alpha * self.y[support]
        self.values += rows.size * support.size
        if self.rows.mode == SCATTER and rows.size < support.size:  # a tile of few rows costs less to make
            block = np.empty(support.size * rows.size, self.dtype)
            self.rows.block(support, self.rows, rows, block, rows.size, self.threads)
            sums = weighted_columns(block, rows.size, beta)
        else:
            out = np.zeros((1, rows.size))
            self.rows.add_products(rows, self.rows, support, beta[None], out, self.threads)
            sums = out[0]
        return self.y[rows] * (sums + beta.sum())

    def exact_gradient(self, which, alpha):
        """g of these rows in double, in parts: no double copy of all rows is made."""
        support = np.flatnonzero(alpha)
        right = KernelRows(self.kernel, self.X[support], np.float64)
        beta = (alpha * self.y)[support]
        out = np.zeros((1, which.size))
        for start in range(0, which.size, PART):
            part = slice(start, start + PART)
            left = KernelRows(self.kernel, self.X[which[part]], np.float64, like=right)
            left.add_products(np.arange(left.n), right, np.arange(right.n), beta[None], out[:, part], self.threads)
        self.values += which.size * support.size
        return self.y[which] * (out[0] + beta.sum()) + (alpha * self.ridge)[which]

    def certificate(self, alpha, g):
        """R and the smallest g of all rows, both in double, from a g that is right up to rounding.

        R needs g of the support in double, and there the rounding error shows; with some margin it says which other
        rows could be the smallest. Only those are computed again.
        """
        support = np.flatnonzero(alpha)
        exact = self.exact_gradient(support, alpha)
        error = np.abs(g[support] - exact).max()
        doubtful = np.setdiff1d(np.flatnonzero(g <= g.min() + ERROR_MARGIN * error), support)
        low = self.exact_gradient(doubtful, alpha).min(initial=exact.min())
        return float(alpha[support] @ exact), float(low)


class LaggingGradient:
    """g of rows out of view, which have no α: that of an earlier α, and what has changed since.

    The earlier α is ``scale`` times ``base``, which is zero but for rows in view. When what was paid for changes would
    have brought all rows up to date, that is done: never more than twice the kernel values of the better choice.
    """

    def __init__(self, hessian: Hessian):
        self.hessian = hessian
        self.base, self.g, self.scale = np.zeros(hessian.n), np.zeros(hessian.n), 1.0
        self.paid = 0  # kernel values since then

    def of(self, rows, members, alpha):
        """g of ``rows``, given the α of the members."""
        change = alpha - self.scale * self.base[members]
        changed = np.flatnonzero(np.abs(change) > UNCHANGED * alpha)
        if 0 < self.hessian.n * changed.size <= self.paid:
            self._catch_up(members, alpha, changed, change[changed])
            changed = changed[:0]
        self.paid += rows.size * changed.size
        return self.scale * self.g[rows] + self.hessian.pull(rows, members[changed], change[changed])

    def _catch_up(self, members, alpha, changed, change):
        self.g = self.scale * self.g + self.hessian.pull(np.arange(self.hessian.n), members[changed], change)
        self.base[members] = alpha
        self.scale, self.paid = 1.0, 0


class RowCache:
    """Rows of Q over some ``members``, as many as the memory holds; those not used for longest make room.

    Row i (a place in ``members``) starts at ``values[begin[i]]``; begin[i] < 0 says that it is not there. Rows have
    some ``slack`` at the end, so that members can be added.
    """

    def __init__(self, hessian: Hessian, members, megabytes: float, least: int, slack: float = 0.0):
        n = members.size
        self.hessian, self.members = hessian, members
        self.stride = int(n * (1 + slack))
        self.slots = int(min(self.stride, max(least, megabytes * 2**20 // (hessian.dtype.itemsize * self.stride))))
        self.values = np.empty(self.slots * self.stride, hessian.dtype)
        self.values[:n] = 0  # looked at before any row is there
        self.begin, self.last_used = np.full(n, -1), np.zeros(n, np.int64)
        self.owner = np.full(self.slots, -1)

    def fetch(self, places, now: int):
        """Compute these rows, at most as many as there are slots. ``now`` is what ``last_used`` counts in."""
        age = np.where(self.owner < 0, -1, self.last_used[self.owner])
        slots = np.argpartition(age, places.size - 1)[: places.size]
        old = self.owner[slots]
        self.begin[old[old >= 0]] = -1
        self.owner[slots], self.begin[places], self.last_used[places] = places, slots * self.stride, now
        if self.members.size == self.hessian.n and (places.size == 1 or self.hessian.rows.mode == PRODUCT):
            return self.hessian.whole_rows(places, self.values, self.begin[places])
        self.hessian.spread(self.members, self.members[places], self.values, self.begin[places])

    def grow(self, new) -> bool:
        """Add members at the end of every row; False when the rows have no room for them."""
        n = self.members.size
        if n + new.size > self.stride:
            return False
        owners = self.members[np.maximum(self.owner, 0)]  # slots that are free get values that nobody reads
        self.hessian.block(owners, None, new, self.values[n:], self.stride)
        self.members = np.append(self.members, new)
        self.begin = np.append(self.begin, np.full(new.size, -1))
        self.last_used = np.append(self.last_used, np.zeros(new.size, np.int64))
        return True
