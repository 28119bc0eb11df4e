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

If the first working set shows a local kernel (``parts.py``), the search begins anew with the joint solution of parts of
near rows.

Kernel values are float32. When everything seems solved, v is computed afresh in double for the rows that
could change the verdict; if rounding has spoilt it, the solver continues from the corrected values, and
in the end in double. So the gap it reports is a double-precision one.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core import parts
from svmreduce.core.block_solver import optimise_block_in_time
from svmreduce.core.dual_point import DualPoint, gap_of, middle
from svmreduce.core.kernel_values import FLOAT32_TOL, kernel_rows, single_threaded_blas, suitable_rows
from svmreduce.core.row_passes import changes, mark_first
from svmreduce.core.threads import resolve_threads
from svmreduce.core.tiles import RADIAL
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
    divide=None,
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
    divide : callable, optional
        Returns the rows of X in parts, each of which has rows that are near each other; asked if the kernel is local,
        and there is no ``max_iter``.
    """
    if max_iter >= 0:  # for all steps together, which parts do not know
        divide = None
    else:
        max_iter = max(10_000_000, 100 * X.shape[0])
    with single_threaded_blas:
        search = _Search(X, target, lower, upper, kernel, tol, cache_mb, max_iter, seed, resolve_threads(threads),
                         first, start, kink, unit, factor, divide)  # fmt: skip
        search.run()
        return search.result()


class _Search(DualPoint):
    """The state of one solve."""

    def __init__(self, X, target, lower, upper, kernel, tol, cache_mb, max_iter, seed, threads, first,
                 start, kink, unit, factor, divide):  # fmt: skip
        super().__init__(X, target, lower, upper, kernel, kink, threads)
        self.tol, self.cache_mb, self.max_iter = tol, cache_mb, max_iter
        self.rng, self.seed = np.random.default_rng(seed), seed
        self.first, self.start, self.factor = first, start, factor
        may_divide = start is None and self.n >= parts.LEAST_ROWS and parts.suit(kernel)
        self.divide = divide if may_divide else None
        self._measure_in(unit)
        self.far_beta, self.far_v, self.all_known = self.beta.copy(), self.v.copy(), True
        # Free rows of the working set fix the intercept. While it has none, any value in a bracket will do
        # for it, and the near rows decide.
        self.bracket = -np.inf, np.inf
        self.worst = None  # the worst pair among the near rows
        self.n_iter = self.repairs = self.rounds = 0
        self.near, self.near_rows = np.zeros(self.n, bool), np.empty(0, np.int64)
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

    def run(self, certify=True):
        new = self._first_rows() if self.start is None else self._rows_of_start()
        stage_tol = self.tol if self.near_rows.size == self.n else max(self.tol, self.rough)
        idle_rounds = 0
        while self.n_iter < self.max_iter and idle_rounds < MOST_IDLE_ROUNDS:
            steps_before = self.n_iter
            self._optimise_with(new, SAFETY * stage_tol)
            idle_rounds = idle_rounds + 1 if self.n_iter == steps_before else 0
            gap = gap_of(*self.worst[:2])
            self.rounds += 1
            rows = self.near_rows.size
            if time_is_up(rounds=self.rounds, steps=self.n_iter, rows=rows, gap=float(gap) / self.factor):
                break
            divided = self._parts() if self.rounds == 1 else ()
            if len(divided) > 1:
                new = self._rows_of_parts(divided, float(gap) / self.factor)
                if time_is_up():
                    break
                continue
            if self.n_iter >= self.step_limit < self.max_iter:
                self._go_on_in_double()
                self.worst = self.worst_pair(self.near_rows)
            elif gap <= stage_tol:
                gap = self._update_far()
                if gap <= self.tol:
                    if not certify or self._certified():
                        return
                    gap = self.gap()
                if gap <= 5 * stage_tol:
                    stage_tol = self.tol
                if self.all_known:
                    self._call_near(self.violation() > -self.far, self.work.members)
                self.worst = self.worst_pair(self.near_rows)
            new = self._next_rows(stage_tol)
        self._update_far()

    def _call_near(self, mask, more=None):
        """The rows of the mask and those named are the near ones."""
        if more is not None:
            mask[more] = True
        self.near, self.near_rows = mask, np.flatnonzero(mask)

    def _first_rows(self):
        order = self.rng.permutation(self.n)
        sample, size = order[: max(FIRST_SAMPLE, self.n // 8)], min(self.batch, self.work.capacity)
        marks = np.zeros(self.n, bool)
        if self.first is not None:
            marks[self.first] = True
            self._call_near(marks, sample)
            return self.first[:size]
        # as many that can go up as that can go down, where there are: classes may be unequal
        up, down, half = np.count_nonzero(self.upper), np.count_nonzero(self.lower), size // 2
        mark_first(order, self.upper, max(half, size - down), marks)
        mark_first(order, self.lower, max(half, size - up), marks)
        new = np.flatnonzero(marks if self.n > size else self.upper > self.lower)
        self._call_near(marks, sample)
        return new

    def _rows_of_start(self):
        """Take β from where the caller has it; the rows at the margin and the violators are the working set."""
        self.beta = np.array(self.start, dtype=np.float64)
        support = np.flatnonzero(self.beta)
        self.subtract_products(np.arange(self.n), support, self.beta[support])
        self._know_all_rows()
        self.intercept = middle(*self.worst_pair()[:2])
        if self.unit is None:
            self._measure_in(float(self.v.std()) or 1.0)
        else:  # near the solution: all rows at the margin at once
            self.batch = self.work.capacity
        self._call_near(self.violation() > -self.far)
        self.worst = self.worst_pair(self.near_rows)
        return self._next_rows(self.rough)

    def _parts(self):
        """Parts of near rows, if they are worth it."""
        members = self.work.members
        local = self.divide and parts.is_local(self.beta[members], self.lower[members], self.upper[members])
        return self.divide(self.X) if local else ()

    def _rows_of_parts(self, divided, gap):
        """Begin anew with what parts of the rows know. Σβ = 0 in each of them."""

        def solve_part(rows):
            target, lower, upper = self.target[rows], self.lower[rows], self.upper[rows]
            if not (upper.any() and lower.any()):  # of one class
                return 0.0, 0, 0
            part = _Search(self.X[rows], target, lower, upper, self.kernel, parts.TOL * self.tol,
                           self.cache_mb / parts.AT_ONCE, self.max_iter, self.seed, self.threads, None, None,
                           self.kink, self.unit, self.factor, None)  # fmt: skip
            part.run(certify=False)
            part.round_to_bounds()
            return part.beta, part.n_iter, part.kernel_evals

        facts = {"rounds": self.rounds, "gap": gap}
        self.start, steps, values = parts.joint_solution(divided, self.n, solve_part, self.threads, facts)
        self.n_iter, self.kernel_evals = self.n_iter + steps, self.kernel_evals + values
        self.step_limit, self.max_iter = self.step_limit + steps, self.max_iter + steps
        self.work.keep(np.zeros(self.work.size, bool))
        self.v = self.target.astype(np.float64)
        return self._rows_of_start()

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
        moved = np.flatnonzero(change != 0)  # of numbers flatnonzero takes four times as long
        self.subtract_products(self._near_others(), members[moved], change[moved])
        self.worst = self.worst_pair(self.near_rows)
        self.intercept = self._in_bracket(middle(*self.worst[:2]))

    def _in_bracket(self, value: float) -> float:
        return min(max(value, self.bracket[0]), self.bracket[1])

    def _near_others(self):
        """The near rows that are not members of the working set."""
        others = self.near.copy()
        others[self.work.members] = False
        return self.near_rows[others[self.near_rows]]

    def _know_all_rows(self):
        """All rows' v is that of β. From here on the far rows keep it, and the near rows know how it changes."""
        self.far_beta[:], self.far_v[:], self.all_known = self.beta, self.v, True

    def _update_far(self, all_rows=False) -> float:
        """Bring the far rows' v up to date, or of those that could violate, if they are few: these become near.

        Returns the gap of all rows.
        """
        count = changes(self.beta, self.far_beta, *self.room)
        moved, change = (array[:count].copy() for array in self.room)
        limit = -np.inf if all_rows or not count else -self._reach(moved, change) - 2 * WRONG * self.tol
        left = far = np.flatnonzero(~self.near)
        pair = None if far.size else self.worst_pair()
        while left.size:
            unsafe = self.violation(left) > limit
            if 2 * (far.size - left.size + np.count_nonzero(unsafe)) > far.size:
                unsafe[:] = True
            these, left = left[unsafe], left[~unsafe]
            self.subtract_products(these, moved, change)
            self.near[these] = True
            pair = self.worst_pair()
            self.intercept = self._in_bracket(middle(*pair[:2]))
            if not these.size:
                break
        self._call_near(self.near)
        self.all_known = self.near_rows.size == self.n
        if self.all_known:
            self._know_all_rows()
        return gap_of(*pair[:2])

    def _reach(self, moved, change) -> float:
        """The length of Σ change·φ(x): no v has moved by more, for kernels with k(x, x) = 1."""
        if self.kernel.is_mixture or self.kernel.code not in RADIAL:
            return np.inf
        error = self.rows.rounding() * np.abs(change).sum() ** 2
        return np.sqrt(max(0.0, change @ (self.far_v[moved] - self.v[moved])) + error)

    def _next_rows(self, stage_tol):
        """The worst violators outside the working set; rows of no more use leave to make room."""
        members, others, capacity = self.work.members, self._near_others(), self.work.capacity
        violation, own_violation = self.violation(others), self.violation(members)
        # The worst pair must meet in the working set: that is what makes every round a step forward
        for row in self.worst[2:]:
            violation[others == row] = own_violation[members == row] = np.inf
        # an empty working set (precision was just raised) wants the rows at the margin back as well
        wanted = violation > (0.4 * stage_tol if members.size else -0.1 * self.far)
        new, violation = others[wanted], violation[wanted]
        # half of a full working set stays: swapping all of it would undo the last round
        most = min(max(self.batch, members.size), capacity // 2 if members.size else capacity)
        if most < new.size:
            new = new[np.argpartition(-violation, most)[:most]]
        stay = own_violation > -IDLE * self.far
        if 4 * np.sum(~stay) <= members.size and members.size + new.size <= capacity:
            return new  # moving rows is not free: a few idle ones may stay
        excess = np.count_nonzero(stay) + new.size - capacity
        if excess > 0:
            useful = np.flatnonzero(stay)
            stay[useful[np.argsort(own_violation[useful], kind="stable")[:excess]]] = False
        self.work.keep(stay, self.threads)
        return new

    # ------------------------------------------------------------ optimality

    def _certified(self):
        """Compute v in double where it could change the verdict, and the objective; true if the tolerance holds."""
        if self.rows.dtype == np.float64:
            return True
        decides = self.violation() > -2 * WRONG * self.tol
        check = np.flatnonzero(decides | (self.beta != 0))
        rounded = self.v[decides]
        self.v[check] = self.exact_v(check)
        self.near[check] = True
        if self.gap() <= self.tol:
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
        self.v = self.exact_v(np.arange(self.n))
        self._know_all_rows()

    def _know_support(self, support):
        """v in double where β is not zero: float32 sums of large β leave the objective wrong in the fifth digit."""
        if not self.knows_objective and (self.rows.dtype == np.float32 or not self.all_known):
            evals = self.kernel_evals
            self.v[support] = self.exact_v(support)
            self.kernel_evals = evals  # the counter is of the search; this only reports what it found

    def result(self) -> DualSolution:
        self.round_to_bounds(self.start)
        support = np.flatnonzero(self.beta)
        if not support.size:  # whatever rounding left of those that went back to zero
            self.v = self.target.astype(np.float64)
        free = (self.lower < self.beta) & (self.beta < self.upper)
        if self.kink > 0.0:
            free &= self.beta != 0
        if not free.any():  # the rows next to the margin decide, however far they are
            self._update_far(all_rows=True)
        self._know_support(support)
        levels = self.v[free] - self.kink * np.sign(self.beta[free])
        intercept = np.mean(levels) if levels.size else middle(*self.worst_pair()[:2])
        beta = self.beta[support]
        objective = -0.5 * float(beta @ (self.target[support] + self.v[support])) + self.kink * np.abs(beta).sum()
        gap = self.gap()
        return DualSolution(self.beta, float(intercept), objective, gap, self.n_iter, self.kernel_evals,
                         bool(gap <= self.tol))  # fmt: skip
