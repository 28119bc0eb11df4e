"""L2-SVMs as enclosing balls: FW, MFW, the core vector machine and the ball vector machine in one search.

All look for the centre α of a ball around the rows (``simplex.py``, ``l2svm.py``), begin with the ball of a few random
rows, and take in rows that lie outside. They differ in how they move the centre of the rows in view.

*Sampled* selection never looks at all rows. When those in view lie in the ball, a few others are drawn, half from
each class, since a rare class would go unseen; what lies outside comes into view. The ball is widened by a factor
1 + ε, and ε shrinks from one half to the tolerance: no effort goes into the fine placement of a centre that is far
off. The search ends after several quiet samples in a row. What a sample costs is kept low by what is known of earlier
centres (``l2svm.LaggingGradient``).

*Exact* selection has all rows in view, for one row of Q per step. A sample is no cheaper than that once the sample
size times the active rows reaches the number of rows; if Q fits into memory, the search then becomes exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from svmreduce.core.block_solver import optimise_block_in_time
from svmreduce.core.kernel_values import single_threaded_blas
from svmreduce.core.l2svm import Hessian, LaggingGradient, RowCache
from svmreduce.core.packed_rows import PackedRows
from svmreduce.core.pair_steps import BARRED, pair_steps_of_rows
from svmreduce.core.simplex import BALL, FRANK_WOLFE, INSIDE, LIMIT, MIN_BALL, MODIFIED, NORM, SCALE, SLACK, ball_steps
from svmreduce.core.threads import resolve_threads
from svmreduce.core.watch import time_is_up
from svmreduce.core.working_set import WorkingSet
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec

PAIRS = 3  # the core vector machine: pair steps, until the centre of the rows in view is right
RULES = {"fw": FRANK_WOLFE, "mfw": MODIFIED, "bvm": BALL, "cvm": PAIRS}
FIRST_EPSILON = 0.5
FIRST_STEPS = 10_000  # most pair steps of the start
FLOAT32_TOL = 1e-6  # below this tolerance Q is double from the start,
FLOAT32_ROWS = 1000  # and for up to this many rows, where it costs nothing
BATCH = 16  # rows of Q computed at once: together they cost little more than one
FEW = 4  # rows that come into view one by one: no tile of them is worth making
STEPS_AT_ONCE = 10_000  # between two looks at the clock
SAFETY = 0.9  # aim a little below the tolerance


@dataclass(frozen=True)
class BallSolution:
    """A centre α on the simplex, R = αᵀQα, and how it was found.

    ``gap`` is the ε for which the ball, widened by 1 + ε, holds every row; None when only samples were looked at.
    """

    alpha: np.ndarray
    norm: float
    gap: float | None
    n_iter: int
    kernel_evals: int
    converged: bool
    steps: dict[str, int]


def solve(X, y, ridge, kernel, *, method, tol=1e-6, exact=False, sample_size=59, quiet_samples=5, start_rows=20,
          certify=True, cache_mb=1024, max_iter=-1, seed=0, threads=None) -> BallSolution:  # fmt: skip
    """Minimise αᵀQα on the simplex, q_ij = y_i y_j (k_ij + 1) + δ_ij·ridge_i.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n, d)
    y : array of ±1
    ridge : array of shape (n,), above zero
    kernel : KernelSpec, positive definite
    method : {"fw", "mfw", "cvm", "bvm"}
    tol : float
        ε of the widened ball.
    exact : bool
        Look at all rows at every step, not at samples.
    sample_size, quiet_samples : int
        Rows of a sample, and how many samples in a row must lie in the ball at the end.
    start_rows : int
        Random rows of the first ball; the ball vector machine begins with one.
    certify : bool
        Compute the gap over all rows, in double.
    cache_mb : float
        Memory for values of Q.
    max_iter : int
        Maximum number of steps; -1 for max(10⁷, 100·n).
    seed, threads : int
    """
    n = X.shape[0]
    single = tol >= FLOAT32_TOL and n > FLOAT32_ROWS
    Q = Hessian(X, y, ridge, kernel, np.float32 if single else np.float64, resolve_threads(threads))
    search = _Search(Q, RULES[method], tol, exact, min(sample_size, n), quiet_samples, cache_mb,
                     max_iter if max_iter >= 0 else max(10_000_000, 100 * n), seed)  # fmt: skip
    with single_threaded_blas:
        search.start(1 if method == "bvm" else min(start_rows, n))
        search.run()
        solution = search.solution(certify)
        if search.is_misled_by_rounding(solution):
            search.go_on_in_double()
            solution = search.solution(certify)
    if not solution.norm > 0:
        raise InputError(f"the {kernel.name} kernel is not positive definite on these rows: change its parameters")
    return solution


def compile_the_rest():
    """Compile what a toy problem may not meet: rows that leave the block, few sparse rows against more support rows."""
    for dtype in (np.float32, np.float64):
        Q = Hessian(np.eye(2), np.array([1.0, -1.0]), np.ones(2), KernelSpec("linear"), dtype, 1)
        work = WorkingSet(Q, 1.0)
        work.admit(np.arange(2), 1)
        work.keep(np.array([True, False]))
        Q = Hessian(sparse.csr_matrix(np.eye(2)), Q.y, np.ones(2), KernelSpec("linear"), dtype, 1)
        Q.pull(np.arange(1), np.arange(2), np.ones(2))


def epsilons(tol: float):
    """One half, a quarter, … and the tolerance."""
    epsilon = FIRST_EPSILON
    while epsilon > tol:
        yield epsilon
        epsilon /= 2
    yield tol


class _Search:
    """The state of one solve: the rows in view (``members``), their α and g.

    Their values of Q are in a square block, ``work``. When that outgrows the memory, or when all rows are in view,
    rows of Q are kept in a ``cache`` instead.
    """

    def __init__(self, Q: Hessian, rule, tol, exact, sample_size, quiet_samples, cache_mb, max_iter, seed):
        self.Q, self.rule, self.tol, self.exact = Q, rule, tol, exact
        self.sample_size, self.quiet_samples, self.max_iter = sample_size, quiet_samples, max_iter
        self.cache_mb = cache_mb
        self.rng = np.random.default_rng(seed)
        self.classes = np.flatnonzero(Q.y > 0), np.flatnonzero(Q.y < 0)
        self.numbers, self.counters = np.array([0.0, 0.0, 1.0]), np.zeros(3, np.int64)
        self.pair_steps = self.taken_in = 0
        self.converged = False
        self.elsewhere = LaggingGradient(Q)  # g of rows out of view, for samples

    @property
    def n_iter(self) -> int:
        return int(self.counters[:2].sum()) + self.pair_steps

    def start(self, rows):
        """The ball of a few random rows."""
        self._view(np.sort(self.rng.choice(self.Q.n, rows, replace=False)), np.full(rows, 1.0 / rows))
        self._settle_pairs(self.tol, FIRST_STEPS)
        self.pair_steps = 0  # the start does not count as iterations
        if self.rule == BALL:
            self.numbers[SLACK] = self.Q.size

    def _view(self, members, alpha):
        """Only these rows are in view."""
        self.members, self.alpha = members, alpha
        self.in_view = np.zeros(self.Q.n, bool)
        self.in_view[members] = True
        self.cache = None
        self.work = WorkingSet(self.Q, self.cache_mb)
        self.work.admit(members, self.Q.threads)
        self.packed = PackedRows(self.Q.rows, members)
        block = self.work.K[: members.size * self.work.stride].reshape(members.size, -1)
        self.g = block[:, : members.size].astype(np.float64) @ alpha
        self.numbers[NORM] = self.alpha @ self.g

    # ------------------------------------------------------------ the loop

    def run(self):
        if self.exact:
            self._turn_exact()
        for epsilon in epsilons(self.tol):
            quiet = 0
            while quiet < (self.quiet_samples if epsilon == self.tol and not self.exact else 1):
                if self._settle(epsilon) == LIMIT:
                    return
                if time_is_up(steps=self.n_iter, rows=self.members.size, gap=epsilon):
                    return
                if not self.exact and self._exact_is_cheaper():
                    self._turn_exact()
                new, g = self._outside(epsilon)
                quiet = 0 if new.size else quiet + 1
                if new.size:
                    self._take_in(new, g, epsilon)
        self.converged = True

    def _exact_is_cheaper(self) -> bool:
        fits = self.work is not None and self.work.capacity == self.Q.n
        return fits and self.sample_size * np.count_nonzero(self.alpha) >= self.Q.n

    def _turn_exact(self):
        """All rows are available. For the core vector machine those outside of the core stay out of view."""
        self.exact, self.alpha, self.members = True, self.dense_alpha(), np.arange(self.Q.n)
        self.g = self.Q.gradient(self.alpha)
        self.numbers[NORM] = self.alpha @ self.g
        if self.rule != PAIRS:
            return self._use_cache()
        self.work = None  # free the old values before the new ones
        self.work = WorkingSet(self.Q, self.cache_mb)
        if self.work.capacity < self.Q.n:
            needed = np.ceil(self.Q.n**2 * self.Q.dtype.itemsize / 2**20)
            raise InputError(
                f"exact selection of core vectors keeps all kernel values of its {self.Q.n} rows, {needed:.0f} MB: "
                "raise cache_mb, or select from samples"
            )
        self.work.admit(self.members, self.Q.threads)

    def _use_cache(self, slack=0.0):
        self.work = self.packed = self.cache = None
        self.cache = RowCache(self.Q, self.members, self.cache_mb, 2 * BATCH, slack)

    def dense_alpha(self):
        alpha = np.zeros(self.Q.n)
        alpha[self.members] = self.alpha
        return alpha

    def _edge(self, epsilon) -> float:
        """g of a row on the surface of the widened ball: what has less lies outside."""
        R, size = self.numbers[NORM], self.Q.size
        r2 = size if self.rule == BALL else max(size - R, MIN_BALL * size)
        return 0.5 * (size + R + self.numbers[SLACK] - (1 + epsilon) ** 2 * r2)

    # ------------------------------------------------------------ moving the centre

    def _settle(self, epsilon):
        """Move the centre until all rows in view lie in the widened ball; else say why not."""
        if self.rule == PAIRS:
            return self._settle_pairs(epsilon, self.max_iter - self.n_iter)
        n, work, cache = self.members.size, self.work, self.cache
        if cache is None:
            diagonal = work.diagonal.astype(np.float64)
            rows = work.K, work.stride * np.arange(n), np.empty(n, np.int64)
        else:
            diagonal = self.Q.diagonal[self.members]
            rows = cache.values, cache.begin, cache.last_used
        barred = np.where(self.alpha > 0, 0, BARRED).astype(np.float32)
        status, limit = 0, (1 + SAFETY * epsilon) ** 2
        while status >= 0 or (status == LIMIT and self.n_iter < self.max_iter and not time_is_up()):
            most = min(STEPS_AT_ONCE, self.max_iter - self.n_iter)
            status = ball_steps(self.rule, self.Q.size, limit, *rows, diagonal, self.alpha, self.g, barred,
                                self.numbers, self.counters, most)  # fmt: skip
            if status >= 0:
                self._fetch(status, barred)
        self.alpha *= self.numbers[SCALE]
        self.elsewhere.scale *= self.numbers[SCALE]
        self.numbers[SCALE] = 1.0
        return status

    def _fetch(self, wanted, barred):
        """Rows of Q: the one that is missing, and those most likely to be next."""
        gain = self.numbers[NORM] - self.g
        if self.rule == MODIFIED:
            gain = np.where(barred == 0, np.abs(gain), gain)
        gain[self.cache.begin >= 0] = -np.inf
        gain[wanted] = np.inf
        batch = min(BATCH, gain.size)
        likely = np.argpartition(-gain, batch - 1)[:batch]
        self.cache.fetch(likely[gain[likely] > 0], self.n_iter)

    def _settle_pairs(self, epsilon, most):
        """The best centre of the rows in view, up to what the widened ball forgives."""
        r2 = max(self.Q.size - self.numbers[NORM], MIN_BALL * self.Q.size)
        tol = SAFETY * 0.5 * ((1 + epsilon) ** 2 - 1) * r2
        made, gap = (self._pairs_of_cached_rows if self.work is None else self._pairs_of_block)(tol, most)
        self.numbers[NORM] = self.alpha @ self.g
        self.pair_steps += made
        return INSIDE if gap <= tol else LIMIT

    def _pairs_of_block(self, tol, most):
        work, n = self.work, self.members.size
        upper = np.where(self.in_view[self.members], 2.0, 0.0)  # what is out of view stays at zero
        v = -self.g
        made, high, low = optimise_block_in_time(work.K, work.stride, work.diagonal, self.alpha, v, np.zeros(n), upper,
                                                 tol, most)  # fmt: skip
        self.g = -v
        return made, high - low

    def _pairs_of_cached_rows(self, tol, most):
        """The same with rows of Q that are computed when they are needed."""
        cache, alpha, n = self.cache, self.alpha, self.members.size
        lower, upper, no_up = np.zeros(n), np.full(n, 2.0), np.zeros(n, np.float32)
        no_low = np.where(alpha > 0, 0, BARRED).astype(np.float32)
        diagonal = self.Q.diagonal[self.members].astype(self.Q.dtype)
        found, v = np.array([-1.0, -1.0, 0.0, 0.0]), -self.g
        made, missing = 0, 0
        while missing >= 0:
            now = self.n_iter + made
            steps, missing = pair_steps_of_rows(
                cache.values, cache.begin, cache.last_used, now, diagonal, alpha, v, lower, upper, no_up, no_low, tol,
                min(STEPS_AT_ONCE, most - made), found,
            )  # fmt: skip
            made += steps
            high, low = found[2:]
            if missing >= 0:
                cache.fetch(np.array([missing]), now + steps)
            elif high - low > tol and made < most and not time_is_up():
                missing = 0
        self.g = -v
        return made, high - low

    # ------------------------------------------------------------ rows out of view

    def _outside(self, epsilon):
        """Rows that lie outside the widened ball, and their g; of the core vector machine, the farthest."""
        if not self.exact:
            rows, g = self._sample()
        elif self.rule == PAIRS:
            rows = np.flatnonzero(~self.in_view)
            g = self.g[rows]
        else:
            return np.empty(0, np.int64), np.empty(0)
        out = np.flatnonzero(g < self._edge(epsilon))
        if self.rule == PAIRS and out.size:
            out = out[[np.argmin(g[out])]]
        return rows[out], g[out]

    def _sample(self):
        half = self.sample_size // 2
        drawn = [own[self.rng.integers(0, own.size, size)]
                 for own, size in zip(self.classes, (half, self.sample_size - half), strict=True)]  # fmt: skip
        rows = np.unique(np.concatenate(drawn))
        rows = rows[~self.in_view[rows]]
        return rows, self.elsewhere.of(rows, self.members, self.alpha, self.n_iter)

    def _take_in(self, new, g, epsilon):
        """Rows come into view, idle ones may go."""
        self.in_view[new] = True
        self.taken_in += new.size
        if self.exact:
            return
        idle = (self.alpha == 0) & (self.g > self._edge(epsilon)) & (self.elsewhere.base[self.members] == 0)
        is_full = self.work is not None and self.work.size + new.size > self.work.capacity
        if 4 * idle.sum() > idle.size or (is_full and idle.any()):
            self.in_view[self.members[idle]] = False
            if self.work is None:
                order, self.cache = np.flatnonzero(~idle), None
            else:
                order = self.work.keep(~idle)
                self.packed.take(order)
            self.members, self.alpha, self.g = self.members[order], self.alpha[order], self.g[order]
        self.members = np.append(self.members, new)
        self.alpha, self.g = np.append(self.alpha, np.zeros(new.size)), np.append(self.g, g)
        if self.work is not None and self.members.size <= self.work.capacity:
            self._admit(new)
        elif self.cache is None or not self.cache.grow(new):
            self._use_cache(slack=0.25)

    def _admit(self, new):
        """Into the block."""
        if new.size > FEW:
            self.packed.add(new)
            self.work.admit(new, self.Q.threads)
            return
        for row in new:
            self.packed.add(np.array([row]))
            values = np.empty(self.packed.members.size, self.Q.dtype)
            self.Q.row(row, self.packed, 0, values)
            self.work.admit(np.array([row]), 1, values)

    # ------------------------------------------------------------ the end

    def solution(self, certify) -> BallSolution:
        alpha, R, size = self.dense_alpha(), self.numbers[NORM], self.Q.size
        low = self.g.min() if self.exact else None
        if certify:
            R, low = self.Q.certificate(alpha, self.g if self.exact else self.Q.gradient(alpha))
        gap = None
        if low is not None:
            gap = float(np.sqrt(max(1.0, (size + R - 2 * low) / (size - R))) - 1) if size > R else np.inf
        # Samples have their own stopping rule; the gap is that of the smallest ball, not of one of fixed radius
        converged = gap <= self.tol if self.exact and self.rule != BALL else self.converged
        toward, away, drop = self.counters.tolist()
        steps = {"toward": toward, "away": away, "drop": drop, "pair": self.pair_steps, "taken_in": self.taken_in}
        return BallSolution(alpha, float(R), gap, self.n_iter, self.Q.values, converged, steps)

    def is_misled_by_rounding(self, solution) -> bool:
        return self.converged and not solution.converged and self.Q.dtype == np.float32

    def go_on_in_double(self):
        """The same centre, other values of Q: float32 did not see that a row lies outside."""
        old = self.Q
        Q = Hessian(old.X, old.y, old.ridge, old.kernel, np.float64, old.threads)
        Q.values = old.values
        if self.rule != PAIRS or WorkingSet(Q, self.cache_mb).capacity == Q.n:
            self.Q = Q
            self.run()
