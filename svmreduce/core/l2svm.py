"""The dual of the L2-SVM: a matrix Q of which blocks and rows are computed when they are needed.

With squared slacks, and the offset counted among the weights, the dual is  min αᵀQα  on the simplex, where
q_ij = y_i y_j (k_ij + 1) + δ_ij·ridge_i. A row of weight w has ridge 1/(C·w), which is what w equal rows with equal
shares of its α come to: w·(α/w)²/C.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.kernel_values import KernelRows, suitable_rows
from svmreduce.core.packed_rows import PackedRows
from svmreduce.core.tiles import DIFFERENCES, SCATTER

FEW = 4  # times fewer rows than columns: make tiles of the rows, where making a tile is work
PART = 8192  # rows made ready in double at a time
SHARE = 0.25  # of the kernel values that catching up takes: so many are paid before
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
def _sign_row(values, own, sign):
    """The same for one row, without the ridge."""
    one = values.dtype.type(1)
    for j in range(values.size):
        values[j] = own * sign[j] * (values[j] + one)


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

    def block(self, rows, _, columns, out, stride, threads=None, diagonal=None):
        """out[i*stride + j] = q of row i and column j, also beyond the diagonal."""
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

    def row(self, row, packed: PackedRows, start, out):
        """out[j - start] = q of this row and member j of ``packed``, for the members from ``start`` on."""
        members = packed.members[start:]
        packed.row(row, start, out)
        _sign_row(out[: members.size], self.sign[row], self.sign[members])
        out[: members.size][members == row] += self.dtype.type(self.ridge[row])
        self.values += members.size

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

    The earlier α is ``scale`` times ``base``, which is zero but for rows in view. Now and then all rows are brought up
    to date, if a step changes so few rows that this is cheaper than to begin with α = 0 at every question.
    """

    def __init__(self, hessian: Hessian):
        self.hessian = hessian
        self.base, self.g, self.scale = np.zeros(hessian.n), np.zeros(hessian.n), 1.0
        self.paid = self.asked = self.steps = 0  # kernel values and questions since then; steps made until then

    def of(self, rows, members, alpha, steps):
        """g of ``rows``, given the α of the members after so many steps, each of which changed one or two."""
        change = alpha - self.scale * self.base[members]
        changed = np.flatnonzero(np.abs(change) > UNCHANGED * alpha)
        self.paid, self.asked = self.paid + rows.size * changed.size, self.asked + 1
        n, per_question = self.hessian.n, 1 + (steps - self.steps) / self.asked
        is_cheaper = 2 * n * per_question <= rows.size * np.count_nonzero(alpha)
        if is_cheaper and self.paid >= SHARE * n * changed.size:
            self._catch_up(members, alpha, changed, change[changed])
            self.paid, self.asked, self.steps = 0, 0, steps
            changed = changed[:0]
        return self.scale * self.g[rows] + self.hessian.pull(rows, members[changed], change[changed])

    def _catch_up(self, members, alpha, changed, change):
        self.g = self.scale * self.g + self.hessian.pull(np.arange(self.hessian.n), members[changed], change)
        self.base[members], self.scale = alpha, 1.0


class RowCache:
    """Rows of Q over some ``members``, as many as the memory holds; those not used for longest make room.

    Row i (a place in ``members``) starts at ``values[begin[i]]``; begin[i] < 0 says that it is not there, or not whole
    since members were added. Rows have some ``slack`` at the end for those.
    """

    def __init__(self, hessian: Hessian, members, megabytes: float, least: int, slack: float = 0.0):
        n = members.size
        self.hessian, self.members, self.packed = hessian, members, None
        self.stride = int(n * (1 + slack))
        self.slots = int(min(self.stride, max(least, megabytes * 2**20 // (hessian.dtype.itemsize * self.stride))))
        self.values = np.empty(self.slots * self.stride, hessian.dtype)
        self.values[: self.stride] = 0  # looked at before any row is there
        self.begin, self.last_used = np.full(n, -1), np.zeros(n, np.int64)
        self.slot_of, self.length = np.full(n, -1), np.zeros(n, np.int64)  # where a row is, and how much of it
        self.owner = np.full(self.slots, -1)
        self.oldest, self.limit = np.empty(0, np.int64), 0  # slots to be used next, no row of which is younger

    def fetch(self, places, now: int):
        """Compute these rows, at most as many as there are slots. ``now`` is what ``last_used`` counts in."""
        self.last_used[places] = now
        fresh = places[self.slot_of[places] < 0]
        if fresh.size:
            self._make_room(fresh, self.slot_of[places])
        if fresh.size > 1:
            self.hessian.spread(self.members, self.members[fresh], self.values, self.slot_of[fresh] * self.stride)
            self.length[fresh] = self.members.size
        for place in places[self.length[places] < self.members.size]:
            start = self.length[place]
            rest = self.values[self.slot_of[place] * self.stride + start :]
            self.packed = self.packed or PackedRows(self.hessian.rows, self.members)
            self.hessian.row(self.members[place], self.packed, start, rest)
        self.length[places] = self.members.size
        self.begin[places] = self.slot_of[places] * self.stride

    def _make_room(self, fresh, held):
        """Slots for these rows; others lose theirs, but not those that are held."""
        self.oldest = self.oldest[(self._age(self.oldest) <= self.limit) & ~np.isin(self.oldest, held)]
        if self.oldest.size < fresh.size:
            free = np.setdiff1d(np.arange(self.slots), held)
            age, some = self._age(free), max(fresh.size, free.size // 8)  # at a time, which is cheaper
            self.oldest = free[np.argpartition(age, some - 1)[:some]]
            self.limit = self._age(self.oldest).max()
        slots, self.oldest = self.oldest[: fresh.size], self.oldest[fresh.size :]
        old = self.owner[slots]
        old = old[old >= 0]
        self.begin[old] = self.slot_of[old] = -1
        self.length[old] = 0
        self.owner[slots], self.slot_of[fresh] = fresh, slots

    def _age(self, slots):
        owner = self.owner[slots]
        return np.where(owner < 0, -1, self.last_used[owner])

    def grow(self, new) -> bool:
        """Add members, whose values are computed when a row is fetched; False when the rows have no room for them."""
        if self.members.size + new.size > self.stride:
            return False
        self.members = np.append(self.members, new)
        if self.packed:
            self.packed.add(new)
        self.begin = np.full(self.members.size, -1)
        self.last_used, self.slot_of, self.length = (
            np.append(old, np.full(new.size, value))
            for old, value in ((self.last_used, 0), (self.slot_of, -1), (self.length, 0))
        )
        return True
