"""Weighted SMO for large problems: solve on few rows, look at all, take the violators in.

Solves  min ½ βᵀKβ − targetᵀβ + kink·Σ|β|,  Σβ = 0, lower ≤ β ≤ upper.  For a C-SVC β = y·α, target = y, kink = 0, and
a row of weight w has 0 ≤ y·β ≤ C·w. For an ε-SVR target = y, kink = ε and |β| ≤ C·w. For a one-class SVM target = 0,
0 ≤ β ≤ w, and Σβ is that of the start.

Three rings of rows, each cheaper per row than the next smaller one:

- the *working set*: all kernel values among its rows are in memory, and pair steps run on it;
- the *near* rows: after each round on the working set their v = target − Kβ is brought up to date
  (rows × changed β kernel values, computed in tiles and thrown away), and violators join the working set;
- the *far* rows: confidently at a bound. Their v is only brought up to date when the near rows are
  solved; those that then violate become near. At the start most rows are far: the first solution is
  that of a random sample. With a kernel of distances no v moves by more than the length of Σ Δβ·φ(x), which the
  near rows' v tell: rows that are further than this from the margin need no kernel values.

Kernel values are float32. When everything seems solved, v is computed afresh in double for the rows that
could change the verdict; if rounding has spoilt it, the solver continues from the corrected values, and
in the end in double. So the gap it reports is a double-precision one.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core.block_solver import optimise_block_in_time
from svmreduce.core.kernel_values import FLOAT32_TOL, kernel_rows, single_threaded_blas, suitable_rows
from svmreduce.core.threads import resolve_threads
from svmreduce.core.tiles import RADIAL
from svmreduce.core.violations import subtract, violations, worst_pair
from svmreduce.core.watch import time_is_up
from svmreduce.core.working_set import WorkingSet
from svmreduce.types import DualSolution

FIRST_WORKING_SET = 2048
FIRST_OF_LONG_ROWS, LONG = 512, 100  # where a kernel value takes more multiplications than this, more rounds cost less
FIRST_SAMPLE = 8192  # near rows at the start, or one row in eight
ROUGH = 0.1  # tolerance until the far rows have been seen
FAR = 0.5  # rows this far on the right side of the margin are far
IDLE = 0.5  # of that: members of the working set are of no more use
FLOAT32_STEPS = 20  # pair steps per row that float32 gets
SAFETY = 0.9  # aim a little below the tolerance
MOST_IDLE_ROUNDS = 10  # in a row without a step: rounding leaves nothing to gain, and the loop would not end
WRONG = 10  # times the tolerance: more than this rounding must not spoil, or rows that were not looked at could matter
REPAIRS = 3  # corrections from double before the solver goes on in double


def solve(
    X,
    target,
    lower,
    upper,
    kernel,
    *,
    tol=1e-3,
    cache_mb=1024,
    max_iter=-1,
    seed=0,
    threads=None,
    first=None,
    start=None,
    kink=0.0,
    unit=1.0,
    factor=1.0,
):
    """Minimise ½ βᵀKβ − targetᵀβ + kink·Σ|β| with Σβ = 0 and lower ≤ β ≤ upper.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n, d)
    target, lower, upper : float arrays of shape (n,), with lower ≤ 0 ≤ upper
    kernel : KernelSpec or KernelMixture
    tol : float
        Largest violation of the optimality conditions that is left (LIBSVM's -e).
    cache_mb : float
        Memory for kernel values and the solver's own copy of the rows.
    max_iter : int
        Maximum number of pair steps; -1 for LIBSVM's limit, max(10⁷, 100·n).
    seed : int
        Chooses the first sample; the solution is the same up to ``tol``.
    threads : int, optional
        All available cores by default.
    first : row numbers, optional
        The first working set, and its size as that of a first batch; random rows by default.
    start : array of shape (n,), optional
        A feasible β near the solution, such as that of a smaller C times the ratio; zeros by default. Its sum is kept.
    kink : float
        Of float32 exactly: pair steps know it in single precision.
    unit : float
        What is a large difference between two rows' v: 1 for targets ±1. None for their deviation at a start that is a
        guess.
    factor : float
        What the caller multiplied targets and bounds with; gaps are reported to callbacks without it.
    """
    if max_iter < 0:
        max_iter = max(10_000_000, 100 * X.shape[0])
    with single_threaded_blas:
        search = _Search(X, target, lower, upper, kernel, tol, cache_mb, max_iter, seed, resolve_threads(threads),
                         first, start, kink, unit, factor)  # fmt: skip
        search.run()
        return search.result()


class _Search:
    """The state of one solve."""

    def __init__(self, X, target, lower, upper, kernel, tol, cache_mb, max_iter, seed, threads, first,
                 start, kink, unit, factor):  # fmt: skip
        self.X, self.kernel, self.tol, self.cache_mb = X, kernel, tol, cache_mb
        self.target, self.lower, self.upper = target, lower, upper
        self.max_iter, self.threads = max_iter, threads
        self.rng = np.random.default_rng(seed)
        self.first = first
        self.n = X.shape[0]
        self.start, self.kink, self.factor = start, kink, factor
        self._measure_in(unit)
        self.beta = np.zeros(self.n)
        self.v = target.astype(np.float64)
        self._know_all_rows()
        # Free rows of the working set fix the intercept. While it has none, any value in a bracket will do
        # for it, and the near rows decide.
        self.intercept, self.bracket = 0.0, (-np.inf, np.inf)
        self.worst = None  # the worst pair among the near rows
        self.n_iter = self.kernel_evals = self.repairs = self.rounds = 0
        self.near, self.every = np.zeros(self.n, bool), np.ones(self.n, bool)
        self.knows_objective = False  # whether v is double where β is not zero
        self._use(suitable_rows(kernel, X, single=tol >= FLOAT32_TOL, split=True))
        self.batch = FIRST_WORKING_SET if self.rows.entries <= LONG else FIRST_OF_LONG_ROWS
        if first is not None:
            self.batch = first.size

    def _measure_in(self, unit):
        self.unit = unit
        if unit is None:  # not known before the start is
            return
        self.rough, self.far = ROUGH * unit, FAR * unit
        if self.kink > 0.0:  # a row with β = 0 is at most the kink away from the wrong side
            self.far = min(self.far, max(FAR * self.kink, self.tol))

    def _use(self, rows):
        self.rows = rows
        # if float32 makes no progress, go on in double
        self.step_limit = min(
            self.max_iter, FLOAT32_STEPS * self.n + 200_000 if rows.dtype == np.float32 else self.max_iter
        )
        copy_mb = sum(array.nbytes for array in self.rows.arrays) / 2**20
        self.work = WorkingSet(self.rows, max(self.cache_mb - copy_mb, self.cache_mb / 2))

    # ------------------------------------------------------------ the loop

    def run(self):
        new = self._first_rows() if self.start is None else self._rows_of_start()
        stage_tol = self.tol if self.near.all() else max(self.tol, self.rough)
        idle_rounds = 0
        while self.n_iter < self.max_iter and idle_rounds < MOST_IDLE_ROUNDS:
            steps_before = self.n_iter
            self._optimise_with(new, SAFETY * stage_tol)
            idle_rounds = idle_rounds + 1 if self.n_iter == steps_before else 0
            gap = _gap_of(*self.worst[:2])
            self.rounds += 1
            rows = int(np.count_nonzero(self.near))
            if time_is_up(rounds=self.rounds, steps=self.n_iter, rows=rows, gap=float(gap) / self.factor):
                break
            if self.n_iter >= self.step_limit < self.max_iter:
                self._go_on_in_double()
                self.worst = self._worst_pair(self.near)
            elif gap <= stage_tol:
                self._update_far()
                if self._gap() <= self.tol and self._certified():
                    return
                if self._gap() <= 5 * stage_tol:
                    stage_tol = self.tol
                if self.all_known:
                    self.near = self._violation() > -self.far
                    self.near[self.work.members] = True
                self.worst = self._worst_pair(self.near)
            new = self._next_rows(stage_tol)
        self._update_far()

    def _first_rows(self):
        order = self.rng.permutation(self.n)
        self.near[order[: max(FIRST_SAMPLE, self.n // 8)]] = True
        size = min(self.batch, self.work.capacity)
        if self.first is not None:
            self.near[self.first] = True
            return self.first[:size]
        # as many that can go up as that can go down, where there are: classes may be unequal
        up, down = order[self.upper[order] > 0], order[self.lower[order] < 0]
        half = size // 2
        take_up = max(half, size - down.size)
        marks = np.zeros(self.n, bool)
        marks[up[:take_up]] = marks[down[: max(half, size - up.size)]] = True
        self.near |= marks
        return np.flatnonzero(marks if self.n > size else self.upper > self.lower)

    def _rows_of_start(self):
        """Take β from where the caller has it; the rows at the margin and the violators are the working set."""
        self.beta = np.array(self.start, dtype=np.float64)
        self._subtract_products(np.arange(self.n), np.arange(self.n), self.beta)
        self._know_all_rows()
        self.intercept = _middle(*self._worst_pair()[:2])
        if self.unit is None:
            self._measure_in(float(self.v.std()) or 1.0)
        else:  # near the solution: all rows at the margin at once
            self.batch = self.work.capacity
        self.near = self._violation() > -self.far
        self.worst = self._worst_pair(self.near)
        return self._next_rows(self.rough)

    def _optimise_with(self, new, tol):
        """Pair steps on the working set with these rows added; then the near rows' v."""
        work = self.work
        self.kernel_evals += work.admit(new, self.threads)
        members = work.members
        beta, v = self.beta[members], self.v[members]
        steps, high, low = optimise_block_in_time(work.K, work.stride, work.diagonal, beta, v, self.lower[members],
                                                  self.upper[members], tol, self.step_limit - self.n_iter,
                                                  self.kink, self.threads)  # fmt: skip
        self.n_iter += steps
        self.bracket = (high, low) if high < low else ((high + low) / 2,) * 2
        change = beta - self.beta[members]
        self.beta[members], self.v[members] = beta, v
        others = self.near.copy()
        others[members] = False
        self._subtract_products(np.flatnonzero(others), members, change)
        self.worst = self._worst_pair(self.near)
        self.intercept = self._in_bracket(_middle(*self.worst[:2]))

    def _in_bracket(self, value: float) -> float:
        return min(max(value, self.bracket[0]), self.bracket[1])

    def _know_all_rows(self):
        """All rows' v is that of β. From here on the far rows keep it, and the near rows know how it changes."""
        self.far_beta, self.far_v, self.all_known = self.beta.copy(), self.v.copy(), True

    def _update_far(self, all_rows=False):
        """Bring the far rows' v up to date, or of those that could violate, if they are few: these become near."""
        far, change = ~self.near, self.beta - self.far_beta
        limit = -np.inf if all_rows or not change.any() else -self._reach(change) - 2 * WRONG * self.tol
        unsafe = far
        while unsafe.any():
            unsafe = ~self.near & (self._violation() > limit)
            if 2 * np.count_nonzero(unsafe | (far & self.near)) > np.count_nonzero(far):
                unsafe = ~self.near
            self._subtract_products(np.flatnonzero(unsafe), np.arange(self.n), change)
            self.near |= unsafe
            self.intercept = self._in_bracket(_middle(*self._worst_pair()[:2]))
        self.all_known = bool(self.near.all())
        if self.all_known:
            self._know_all_rows()

    def _reach(self, change) -> float:
        """The length of Σ change·φ(x): no v has moved by more, for kernels with k(x, x) = 1."""
        if self.kernel.is_mixture or self.kernel.code not in RADIAL:
            return np.inf
        error = self.rows.rounding() * np.abs(change).sum() ** 2
        return np.sqrt(max(0.0, change @ (self.far_v - self.v)) + error)

    def _subtract_products(self, rows, columns, change):
        """v[rows] -= K[rows, columns]·change."""
        moved = np.flatnonzero(change != 0)  # of numbers flatnonzero takes four times as long
        if rows.size and moved.size:
            out = np.zeros((1, rows.size))
            self.rows.add_products(rows, self.rows, columns[moved], change[None, moved], out, self.threads)
            subtract(self.v, rows, out[0])
            self.kernel_evals += rows.size * moved.size

    def _next_rows(self, stage_tol):
        """The worst violators outside the working set; rows of no more use leave to make room."""
        violation = self._violation()
        # The worst pair must meet in the working set: that is what makes every round a step forward
        violation[list(self.worst[2:])] = np.inf
        members = self.work.members
        # an empty working set (precision was just raised) wants the rows at the margin back as well
        candidate = self.near & (violation > (0.4 * stage_tol if members.size else -0.1 * self.far))
        candidate[members] = False
        new = np.flatnonzero(candidate)
        capacity = self.work.capacity
        # half of a full working set stays: swapping all of it would undo the last round
        most = capacity // 2 if members.size else capacity
        wanted = min(new.size, max(self.batch, members.size), most)
        if wanted < new.size:
            new = new[np.argpartition(-violation[new], wanted)[:wanted]]
        useful = violation[members] > -IDLE * self.far
        if 4 * np.sum(~useful) > members.size or members.size + new.size > capacity:
            self.work.keep(useful, self.threads)  # moving rows is not free: a few idle ones may stay
            members = self.work.members
        excess = self.work.size + new.size - capacity
        if excess > 0:
            order = np.argsort(violation[members], kind="stable")
            keep = np.ones(members.size, bool)
            keep[order[:excess]] = False
            self.work.keep(keep, self.threads)
        return new

    # ------------------------------------------------------------ optimality

    def _violation(self):
        """How far each row is on the wrong side, given the intercept; negative on the right side."""
        return violations(self.v, self.beta, self.lower, self.upper, self.kink, self.intercept)

    def _worst_pair(self, among=None):
        """The largest v that may go up, the smallest that may go down, and their rows; of all rows by default."""
        return worst_pair(self.v, self.beta, self.lower, self.upper, self.kink, self.every if among is None else among)

    def _gap(self):
        return _gap_of(*self._worst_pair()[:2])

    def _certified(self):
        """Compute v in double where it could change the verdict, and the objective; true if the tolerance holds."""
        if self.rows.dtype == np.float64:
            return True
        decides = self._violation() > -2 * WRONG * self.tol
        check = np.flatnonzero(decides | (self.beta != 0))
        rounded = self.v[decides]
        self.v[check] = self._exact_v(check)
        self.near[check] = True
        if self._gap() <= self.tol:
            self.knows_objective = True
            return True
        self.repairs += 1
        if self.repairs > REPAIRS or np.abs(rounded - self.v[decides]).max(initial=0.0) > WRONG * self.tol:
            self._go_on_in_double()
        self._update_far(all_rows=True)
        return False

    def _go_on_in_double(self):
        self.work = None  # free the old block before the new one
        self._use(kernel_rows(self.kernel, self.X, np.float64, split=True))
        self.v = self._exact_v(np.arange(self.n))
        self._know_all_rows()

    def _exact_v(self, which):
        support = np.flatnonzero(self.beta)
        if not support.size:
            return self.target[which]
        right, coef = kernel_rows(self.kernel, self.X[support], np.float64, split=True), self.beta[support]
        f = np.zeros(self.n)
        f[support] = right.products_with_all(coef, self.threads)
        others = which[self.beta[which] == 0]
        for start in range(0, others.size, FIRST_SAMPLE):  # in parts: no double copy of all rows
            part = others[start : start + FIRST_SAMPLE]
            left, out = kernel_rows(self.kernel, self.X[part], np.float64, like=right), np.zeros((1, part.size))
            left.add_products(np.arange(part.size), right, np.arange(support.size), coef[None], out, self.threads)
            f[part] = out[0]
        self.kernel_evals += support.size * (support.size + 1) // 2 + others.size * support.size
        return self.target[which] - f[which]

    def _round_to_bounds(self):
        """Sums of bounds are not exact: a row that takes up the rest is not free, or the intercept would be its own."""
        largest = max(np.abs(self.beta).max(), 0.0 if self.start is None else np.abs(self.start).max())
        width = np.minimum(self.upper - self.lower, largest)  # C may be infinite
        dust = self.n * np.finfo(np.float64).eps * width
        self.beta = np.where(self.upper - self.beta <= dust, self.upper, self.beta)
        self.beta = np.where(self.beta - self.lower <= dust, self.lower, self.beta)
        if self.kink > 0.0:
            self.beta = np.where(np.abs(self.beta) <= dust, 0.0, self.beta)

    def _v_of_support(self):
        """v in double where β is not zero: float32 sums of large β leave the objective wrong in the fifth digit."""
        v, evals = self.v, self.kernel_evals
        if not self.knows_objective and (self.rows.dtype == np.float32 or not self.all_known):
            v, support = v.copy(), np.flatnonzero(self.beta)
            v[support] = self._exact_v(support)
        self.kernel_evals = evals  # the counter is of the search; this only reports what it found
        return v

    def result(self) -> DualSolution:
        self._round_to_bounds()
        if not self.beta.any():  # whatever rounding left of those that went back to zero
            self.v = self.target.astype(np.float64)
        free = (self.lower < self.beta) & (self.beta < self.upper)
        if self.kink > 0.0:
            free &= self.beta != 0
        if not free.any():  # the rows next to the margin decide, however far they are
            self._update_far(all_rows=True)
            intercept = _middle(*self._worst_pair()[:2])
        else:
            intercept = np.mean(self.v[free] - self.kink * np.sign(self.beta[free]))
        objective = -0.5 * float(self.beta @ (self.target + self._v_of_support())) + self.kink * np.abs(self.beta).sum()
        gap = self._gap()
        return DualSolution(self.beta, float(intercept), objective, gap, self.n_iter, self.kernel_evals,
                         bool(gap <= self.tol))  # fmt: skip


def _gap_of(high: float, low: float) -> float:
    return np.inf if np.isnan(high - low) else max(0.0, high - low)


def _middle(high: float, low: float) -> float:
    """Half-way between two extremes, of which one or both may not exist."""
    finite = [value for value in (high, low) if np.isfinite(value)]
    return sum(finite) / len(finite) if finite else 0.0
