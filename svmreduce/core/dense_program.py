"""Linear programs of a few hundred to a few thousand rows in which nothing is sparse: one dense matrix, BLAS.

The program is  max gain·v,  0 ≤ v ≤ upper,  −bound ≤ matrix·v ≤ bound.  Every row is a variable, too, its *activity*,
so that every variable has two bounds, and flips make any basis dual feasible: there is no first phase. A basis takes as
many variables in as activities out; B is their part of the matrix, square.

The tableau of ``dual_simplex`` only finds the way. Where it ends, all numbers are computed again from the matrix and a
factorisation of B. If they are not optimal, a new tableau goes on from there; no answer is given but on their word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from svmreduce.core.dual_simplex import GOES_ON, STALLED, STEPS, dual_steps
from svmreduce.core.watch import time_is_up

TOGETHER = 32  # steps that go into the tableau at once
TABLEAUS = 50  # that may be made for one program
FINER = 0.01  # of the tolerance: so far the steps go
GIVE = 1e-9  # of the largest gain: what a d may be beyond zero for the sake of a large pivot; less with each tableau
EVEN = 1e-12  # of the largest gain: a d that is no reason to rest at one bound or at the other
NUDGE = 1e-6  # of the largest d: what is added at random when steps lead nowhere; less with each tableau
NOWHERE = 32  # such steps in a row
SINGULAR = 1e-12  # of the largest pivot of B: one that is rounding
DRIFT = 1e-6  # of the largest activity: by how much the tableau may be wrong about one
CERTAIN = 1e-9  # of the objective: the gap between primal and dual
ROUNDING = 2e-16
USUAL = 128.0  # numbers up to here, and down to its inverse, are taken as they are
MOST_STEPS = 30  # per row and variable


@dataclass(frozen=True)
class Vertex:
    """An optimal corner: values, prices of the rows; which variables, then which rows, are basic or at their upper
    bound."""

    values: np.ndarray
    prices: np.ndarray
    is_basic: np.ndarray
    is_above: np.ndarray


def best_vertex(matrix, gain, upper, bound, tol, is_basic=None, is_above=None) -> Vertex | None:
    """Where the program is largest; None if that was not found, or not within a time limit.

    Parameters
    ----------
    matrix : array of shape (rows, variables)
    gain, upper : arrays, a number for each variable
    bound : array, a number for each row; 0 makes it an equation
    tol : float
        By how much variables and rows may be beyond their bounds.
    is_basic, is_above : arrays of bool, optional
        Of the variables, then of the rows: a basis to begin with, else that of the rows; and which rest at their upper
        bounds, of those that gain nothing from either.
    """
    with np.errstate(all="ignore"):
        program = _Program(matrix, gain, upper, bound, tol)
        return program.solve(is_basic, is_above) if program.is_finite else None


class _Program:
    """The program in powers of two that bring its largest numbers near one, and where the search for its best is."""

    def __init__(self, matrix, gain, upper, bound, tol):
        self.m, self.n = matrix.shape
        self.row_unit, self.unit = _units(matrix)
        is_as_given = np.all(self.row_unit == 1.0) and np.all(self.unit == 1.0)
        self.A = matrix if is_as_given else matrix * self.row_unit[:, None] * self.unit
        self.gain = gain * self.unit
        self.gain_unit = _power_of_two(np.abs(self.gain).max(initial=0.0))
        self.gain = self.gain / self.gain_unit
        self.high = np.concatenate([upper / self.unit, bound * self.row_unit])
        self.low = np.concatenate([np.zeros(self.n), -bound * self.row_unit])
        least = min(1.0, upper.max(initial=0.0))  # where all are tiny, so is what they may be off
        may_be_off = np.concatenate([least / self.unit, np.where(bound > 0, bound, least) * self.row_unit])
        self.tol = tol * np.minimum(may_be_off, 1.0)
        self.is_finite = all(np.isfinite(part.sum()) for part in (self.A, self.gain, self.high, self.tol))
        self.rng = np.random.default_rng(0)
        self.counters = np.zeros(3, np.int64)

    def solve(self, is_basic=None, is_above=None) -> Vertex | None:
        if is_basic is None or np.count_nonzero(is_basic) != self.m:
            is_basic = np.arange(self.n + self.m) >= self.n
        self.values, begun = self.low if is_above is None else np.where(is_above, self.high, self.low), -1
        for tableau in range(TABLEAUS):
            if not self._place(is_basic):
                return None
            if self._is_optimal():
                return self._vertex()
            if self.counters[STEPS] == begun:  # the tableau has nothing to say either
                return None
            begun = self.counters[STEPS]
            if not self._walk(0.1**tableau):
                return None
            is_basic = np.zeros(self.n + self.m, bool)
            is_basic[self.basic] = True
        return None

    # ------------------------------------------------------------ from a basis to its corner

    def _place(self, is_basic) -> bool:
        """The prices of a basis and the corner that goes with them; false where there are no such numbers."""
        B = self._factorise(np.flatnonzero(is_basic[: self.n]), np.flatnonzero(~is_basic[self.n :]))
        n, tight, inside = self.n, self.tight, self.inside
        is_rest, is_loose = np.ones(n, bool), np.ones(self.m, bool)
        is_rest[inside], is_loose[tight] = False, False
        self.rest, self.loose = np.flatnonzero(is_rest), np.flatnonzero(is_loose)
        self.basic = np.concatenate([inside, n + self.loose])
        self.free = np.concatenate([n + tight, self.rest])
        self.prices = np.zeros(self.m)
        self.prices[tight] = self._solved(B, self.gain[inside], transposed=True)
        self.surplus = self.gain - self.prices @ self.A
        self.d = np.concatenate([self.prices[tight], self.surplus[self.rest]])
        nothing = EVEN + ROUNDING * np.abs(self.prices).sum()
        self.surplus[self.surplus < nothing] = 0.0
        was_above = self.values[self.free] > 0.5 * (self.low + self.high)[self.free]
        above = np.where(np.abs(self.d) > nothing, self.d > 0, was_above)
        self.at = np.where(above, self.high[self.free], self.low[self.free])
        v = np.zeros(n)
        v[self.rest] = self.at[tight.size :]
        v[inside] = self._solved(B, self.at[: tight.size] - (self.A @ v)[tight])
        self.values = np.concatenate([v, self.A @ v])
        self.is_above = np.zeros(n + self.m, bool)
        self.is_above[self.free] = above
        return bool(np.isfinite(self.values).all() and np.isfinite(self.d).all())

    def _factorise(self, inside, tight):
        """B, its factors in ``self``. Where it is singular, variables leave it, and the rows that are left over."""
        while True:
            B = self.A[np.ix_(tight, inside)]
            self.inside, self.tight = inside, tight
            if inside.size == 0:
                return B
            self.factor, self.order, _ = lapack.dgetrf(B)
            pivots = np.abs(np.diagonal(self.factor))
            is_none = ~(pivots > SINGULAR * pivots.max())
            if not is_none.any():
                return B
            rows = np.arange(tight.size)
            for place, other in enumerate(self.order):
                rows[place], rows[other] = rows[other], rows[place]
            inside, tight = inside[~is_none], np.sort(tight[rows[~is_none]])

    def _solved(self, B, right, *, transposed=False):
        """B⁻¹ right, with a second step for what rounding left of the first."""
        if right.size == 0:
            return right
        found, _ = lapack.dgetrs(self.factor, self.order, right, trans=int(transposed))
        left = right - (found @ B if transposed else B @ found)
        return found + lapack.dgetrs(self.factor, self.order, left, trans=int(transposed))[0]

    def _is_optimal(self) -> bool:
        """Primal feasible; and the dual objective, which bounds every corner's, is that of this one."""
        v, bound = self.values[: self.n], self.high[self.n :]
        self.rounding = ROUNDING * np.abs(v).sum()
        beyond = np.maximum(self.values - self.high, self.low - self.values)
        gap = np.abs(self.prices) @ bound + self.surplus @ self.high[: self.n] - self.gain @ v
        is_feasible = np.all(beyond <= np.maximum(self.tol, 32 * self.rounding))
        return bool(is_feasible and abs(gap) <= CERTAIN * (np.abs(self.gain) @ np.abs(v)))

    def _vertex(self) -> Vertex:
        is_basic = np.zeros(self.n + self.m, bool)
        is_basic[self.basic] = True
        values = np.clip(self.values[: self.n], 0.0, self.high[: self.n]) * self.unit
        return Vertex(values, self.prices * self.row_unit * self.gain_unit, is_basic, self.is_above)

    # ------------------------------------------------------------ from corner to corner

    def _tableau(self):
        """A row for each free variable, a column for each basic one."""
        A, k = self.A, self.inside.size
        T = np.empty((self.n, self.m))
        inverse = lapack.dgetri(self.factor, self.order)[0].T if k else np.empty((0, 0))
        far = A[np.ix_(self.loose, self.inside)].T
        T[:k, :k] = inverse
        np.matmul(inverse, far, out=T[:k, k:])
        np.matmul(A[np.ix_(self.tight, self.rest)].T, -inverse, out=T[k:, :k])
        np.matmul(T[k:, :k], far, out=T[k:, k:])
        T[k:, k:] += A[np.ix_(self.loose, self.rest)].T
        return T

    def _walk(self, fine) -> bool:
        """Steps until they end or all numbers are to be computed again; false where there is no time, or no end."""
        T = self._tableau()
        together = min(TOGETHER, max(4, self.m // 4))
        U, V = np.empty((together, self.m)), np.empty((together, self.n))
        x, margin = self.values[self.basic], np.maximum(FINER * self.tol, 4 * self.rounding)
        self.counters[STALLED], why = 0, GOES_ON
        while why == GOES_ON:
            if time_is_up() or self.counters[STEPS] > MOST_STEPS * (self.m + self.n):
                return False
            weight = 1.0 + np.einsum("ij,ij->j", T, T)
            made, why = dual_steps(T, U, V, x, self.at, self.d, self.low, self.high, margin, self.basic, self.free,
                                   weight, GIVE * fine, self.counters)  # fmt: skip
            if made:
                blas.dgemm(1.0, U[:made].T, V[:made].T, 1.0, T.T, trans_b=1, overwrite_c=1)
            if self.counters[STALLED] >= NOWHERE:
                away = np.where(self.at == self.high[self.free], 1.0, -1.0) * self.rng.uniform(0.5, 1.0, self.n)
                self.d += NUDGE * fine * np.abs(self.d).max() * away
                self.counters[STALLED] = 0
            if not self._follows(x):
                break
        self.values[self.basic], self.values[self.free] = x, self.at
        return True

    def _follows(self, x) -> bool:
        """Whether the activities are still those of the variables."""
        values = np.empty(self.n + self.m)
        values[self.basic], values[self.free] = x, self.at
        activity = self.A @ values[: self.n]
        return bool(np.abs(activity - values[self.n :]).max() <= DRIFT * max(1.0, np.abs(activity).max()))


def _units(matrix):
    """For rows and columns powers of two that bring their largest numbers near one."""
    size = np.abs(matrix)
    rows, columns = np.ones(matrix.shape[0]), np.ones(matrix.shape[1])
    largest = size.max(axis=1, initial=0.0), size.max(axis=0, initial=0.0)
    if all(np.all((part == 0) | ((part > 1 / USUAL) & (part < USUAL))) for part in largest):
        return rows, columns
    rows = _power_of_two(1.0 / np.sqrt(largest[0]))  # a kernel is as large in its row as in its column
    columns = _power_of_two(1.0 / (size * rows[:, None]).max(axis=0, initial=0.0))
    return rows * _power_of_two(1.0 / (size * columns * rows[:, None]).max(axis=1, initial=0.0)), columns


def _power_of_two(size):
    """The nearest; of what has no size, 1."""
    exponent = np.round(np.log2(size))
    return np.where(np.isfinite(exponent), np.exp2(exponent), 1.0)
