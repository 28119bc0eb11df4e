"""LP-SVR for many rows: solve on few, look at all, take the violators in, let the idle ones go.

A side of the tube of one row (the row is above it, or below) is an *edge*. An edge is in one of three places:

- in the linear program, as a variable of its own;
- left out: the row is taken to be on the right side of it, and costs nothing;
- summed: the row is taken to be beyond it. Such a row costs 2C for every unit that it is further away, so all of them
  together are one variable of the program for each side, however many there are.

The program's value is a lower bound as long as the two guesses are only guesses; edges for which they turn out wrong
become variables. Coefficients work the same way round: only some rows may carry one, and a row whose price
|Σ λⱼ k(xⱼ, xᵢ)| exceeds 1 would lower the objective, so it comes in. When no guess is wrong and no price too high, the
solution is that of the whole problem. Nothing has more than (rows of the program) × (coefficients) values.

With very many rows a random sample is solved first, each of its rows standing for many, then larger ones: the guesses
are then right but for rows near the edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmreduce.core.kernel_values import KernelRows, single_threaded_blas
from svmreduce.core.threads import resolve_threads
from svmreduce.core.watch import time_is_up
from svmreduce.errors import InputError
from svmreduce.solvers.lp_svr.tube_edges import SIDES, Edges, contest
from svmreduce.solvers.lp_svr.tube_program import BASIC, LOWER, UPPER, Basis, solve_program
from svmreduce.types import DualSolution

GROWTH = 8  # from one sample to the next
SAMPLE_TOL = 5  # times the tolerance is good enough for a sample
LEAST_ROOM, ROOM = 4000, 20  # edges that the program may hold: ROOM·√rows, but at least this many
NEW_COLUMNS = 50  # coefficients that may come in at a time, or as many as are in use; no more than begin
PRICE_FROM = 0.05  # costly prices can wait while more than this share of the objective is not yet in the program
IDLE_PRICE = 0.999  # a coefficient of zero leaves below this price
LARGEST_KERNEL = 1e10
SMALLEST_UNIT, LARGEST_UNIT = 1e-3, 1e3  # of targets that are taken as they are
FLOAT32_TOL, FLOAT32_ROWS = 1e-4, 20_000  # prices over many rows are summed from float32 kernel values


@dataclass(frozen=True)
class TubeSolution(DualSolution):
    """A solution, and after each linear program how many rows were of which kind."""

    history: tuple[dict, ...] = ()


def solve(X, target, weights, kernel, *, C, epsilon, tol, first, candidates, max_iter=-1, seed=0, threads=None):
    """Minimise Σ|αᵢ| + 2C Σ wⱼ max(0, |dⱼ − f(xⱼ)| − ε) over f(x) = Σ αᵢ k(xᵢ, x) + b.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n, d)
    target, weights : arrays of shape (n,)
    kernel : KernelSpec
    tol : float
        Largest violation that is left: of the tube by a row, in units of the target (of its standard deviation, where
        that is below 0.001 or above 1000), and of the price 1.
    first : row numbers of the first working set, all of them candidates
    candidates : row numbers
        The rows that may carry a coefficient, and the first sample.
    max_iter : int
        Maximum number of linear programs; -1 for 10,000.
    """
    # The problem is the same in any unit of the target and from any zero, but the linear program's tolerances are not
    middle, spread = float(np.median(target)), float(np.std(target))
    unit = 1.0 if spread == 0 or SMALLEST_UNIT <= spread <= LARGEST_UNIT else spread
    zero = middle if unit != 1.0 or abs(middle) > LARGEST_UNIT else 0.0
    search = _Search(X, (target - zero) / unit, weights, kernel, C, epsilon / unit, candidates, seed,
                     resolve_threads(threads))  # fmt: skip
    with single_threaded_blas:
        search.run(first, tol, 10_000 if max_iter < 0 else max_iter)
    return search.result(unit, zero)


class _Search:
    """The state of one solve."""

    def __init__(self, X, target, weights, kernel, C, epsilon, candidates, seed, threads):
        self.d, self.weights, self.threads = target, weights, threads
        self.C, self.epsilon = C, epsilon
        self.n = X.shape[0]
        self.rng = np.random.default_rng(seed)
        self.rows, self.rows32 = KernelRows(kernel, X, np.float64), None
        largest = np.abs(self.rows.diagonal()).max()
        if not largest <= LARGEST_KERNEL:
            raise InputError(f"kernel values reach {largest:.0e}, too large for a linear program: scale the data")
        self.X, self.kernel = X, kernel
        self.candidates = candidates
        self.is_candidate_in = np.zeros(self.n, bool)
        self.columns, self.column_status = np.empty(0, np.int64), np.empty(0, np.int8)
        self.column_left = np.zeros(self.n, bool)
        self.alpha, self.b, self.objective = np.empty(0), 0.0, np.inf
        self.lam = np.zeros(self.n)
        self.price, self.priced_lam = np.zeros(candidates.size), np.zeros(self.n)
        self.n_iter = self.kernel_evals = 0
        self.converged, self.gap = False, np.inf
        self.history = []

    # ------------------------------------------------------------ the loop

    def run(self, first, tol, max_iter):
        self.batch = first.size
        for sample in self._samples():
            self._enter(sample, first, SAMPLE_TOL * tol)
            stage_tol = tol if sample.size == self.n else SAMPLE_TOL * tol
            while self.n_iter < max_iter:
                if not self._solve_program(tol):
                    if self.n_iter == 1:
                        self._take_a_constant()
                    return
                wrong = self._look(stage_tol)
                new_columns = self._high_prices(stage_tol, any(rows.size for rows, _ in wrong.values()))
                self._note(stage_tol)
                if new_columns is not None and self.worst <= stage_tol:
                    self.converged = sample.size == self.n
                    break
                if time_is_up(rounds=self.n_iter, gap=self.gap):
                    return
                self._exchange(wrong, new_columns, stage_tol)

    def _take_a_constant(self):
        """Where there is no time for a first program."""
        if not time_is_up():
            raise InputError("HiGHS could not solve the first linear program: scale the data, or lower C")
        self.b = float(np.median(self.d))
        self._evaluate()
        self.gap = float(np.abs(self.residual).max())

    def _samples(self):
        """Nested random samples that grow to all rows; the candidates are the first."""
        others = np.ones(self.n, bool)
        others[self.candidates] = False
        order = np.concatenate([self.candidates, self.rng.permutation(np.flatnonzero(others))])
        sizes = [self.candidates.size]
        while sizes[-1] * GROWTH < self.n:
            sizes.append(sizes[-1] * GROWTH)
        if sizes[-1] < self.n:
            sizes.append(self.n)
        return [np.sort(order[:size]) for size in sizes]

    def _enter(self, sample, first, known_to):
        """Go on to a larger sample: guess every edge by the function found so far, but for those it comes near.

        Rows beyond an edge by no more than the function is ``known_to`` are not beyond it.
        """
        self.sample, self.found = sample, None
        share = self.weights[sample].sum() / self.weights.sum()
        self.cost = 2 * self.C * self.weights / share  # each row of a sample stands for several
        self.room = max(LEAST_ROOM, int(ROOM * np.sqrt(sample.size)))
        self.edges = Edges(self.n)
        self.basis_of_sums = np.full(2, LOWER, np.int8)
        self.summed = {side: np.zeros(self.n, bool) for side in SIDES}
        if self.columns.size == 0:
            self._admit(first)
            for side in SIDES:
                self.edges.add(first, side)
            self.basis, self.best = None, np.inf
            return
        used = self.alpha != 0
        self.columns, self.alpha = self.columns[used], self.alpha[used]
        self.is_candidate_in[:] = False
        self.is_candidate_in[self.columns] = True
        self.column_left[:] = False
        self.column_status = np.full(self.columns.size, BASIC, np.int8)
        self._evaluate()
        self.best = self.objective
        beyond = np.stack([side * self.residual - self.epsilon for side in SIDES])
        close = np.zeros(beyond.size, bool)
        close[np.argsort(np.abs(beyond), axis=None, kind="stable")[: self.room]] = True
        close = close.reshape(beyond.shape)
        for side, distance, is_close in zip(SIDES, beyond, close, strict=True):
            self.summed[side][sample[(distance > known_to) & ~is_close]] = True
            self.edges.add(sample[is_close], side)
        self.basis = None

    # ------------------------------------------------------------ the linear program

    def _solve_program(self, tol) -> bool:
        edges, columns = self.edges, self.columns
        m, e = columns.size, edges.rows.size
        block = np.empty(m * e)
        self.rows.block(columns, self.rows, edges.rows, block, e, self.threads)
        self.kernel_evals += block.size
        matrix = np.empty((m + 1, e + 2))
        matrix[:m, :e] = block.reshape(m, e) * edges.sides
        matrix[m, :e] = edges.sides
        gain, upper = np.zeros(e + 2), np.zeros(e + 2)
        gain[:e] = edges.sides * self.d[edges.rows] - self.epsilon
        upper[:e] = self.cost[edges.rows]
        for place, side in enumerate(SIDES, start=e):
            matrix[:, place], gain[place], upper[place] = self._sum_of_side(side)
        basis = self.basis and Basis(np.append(edges.status, self.basis_of_sums),
                                     np.append(self.column_status, self.basis.rows[-1]))  # fmt: skip
        answer = solve_program(matrix, gain, upper, basis, tol)
        self.n_iter += 1
        if not answer.is_optimal:
            return False
        self.basis = answer.basis
        edges.status, self.basis_of_sums = answer.basis.variables[:e], answer.basis.variables[e:]
        self.column_status = answer.basis.rows[:m]
        self.alpha, self.b, self.lower_bound = answer.duals[:m], answer.duals[m], answer.objective
        self.alpha[self.column_status == BASIC] = 0.0
        self.edge_values = answer.values[:e]
        self.lam = np.bincount(edges.rows, edges.sides * self.edge_values, minlength=self.n)
        for value, side in zip(answer.values[e:], SIDES, strict=True):
            rows = np.flatnonzero(self.summed[side])
            if rows.size:  # what the sum has of its bound, every row in it has of its own
                self.lam[rows] += side * value * self.cost[rows] / self.cost[rows].sum()
        return True

    def _sum_of_side(self, side):
        """All summed rows of a side as one variable, scaled as if it were one row of their total cost."""
        rows, m = np.flatnonzero(self.summed[side]), self.columns.size
        column = np.zeros(m + 1)
        if rows.size == 0:
            return column, 0.0, 0.0
        cost = self.cost[rows]
        share = cost / cost.sum()
        out = np.zeros((1, m))
        self.rows.add_products(self.columns, self.rows, rows, share[None], out, self.threads)
        self.kernel_evals += rows.size * m
        column[:m], column[m] = side * out[0], side
        return column, share @ (side * self.d[rows] - self.epsilon), cost.sum()

    # ------------------------------------------------------------ looking at all rows

    def _evaluate(self):
        """The residual d − f of every row of the sample."""
        used = np.flatnonzero(self.alpha)
        out = np.zeros((1, self.sample.size))
        if used.size:
            self.rows.add_products(
                self.sample, self.rows, self.columns[used], self.alpha[None, used], out, self.threads
            )
            self.kernel_evals += self.sample.size * used.size
        self.residual = self.d[self.sample] - out[0] - self.b
        loss = np.maximum(np.abs(self.residual) - self.epsilon, 0.0)
        self.objective = np.abs(self.alpha).sum() + self.cost[self.sample] @ loss

    def _look(self, tol) -> dict:
        """For each side the rows for which the guess was wrong, and by how much."""
        self._evaluate()
        wrong, self.worst = {}, 0.0
        for side in SIDES:
            beyond = side * self.residual - self.epsilon
            by = np.where(self.summed[side][self.sample], -beyond, beyond)
            by[self.edges.inside[side][self.sample]] = 0.0
            self.worst = max(self.worst, by.max())
            found = np.flatnonzero(by > tol)
            wrong[side] = self.sample[found], by[found]
        return wrong

    def _high_prices(self, tol, some_are_wrong: bool):
        """Candidates that would lower the objective; None if it is too early to ask."""
        change = self.lam - self.priced_lam
        moved = np.flatnonzero(change)
        rows, is_costly = self.rows, moved.size > FLOAT32_ROWS
        if is_costly and some_are_wrong and self.objective - self.lower_bound > PRICE_FROM * self.objective:
            return None
        if is_costly and tol >= FLOAT32_TOL:
            self.rows32 = self.rows32 or KernelRows(self.kernel, self.X, np.float32)
            rows = self.rows32
        out = np.zeros((1, self.candidates.size))
        rows.add_products(self.candidates, rows, moved, change[None, moved], out, self.threads)
        self.kernel_evals += self.candidates.size * moved.size
        self.price += out[0]
        self.priced_lam = self.lam.copy()
        excess = np.abs(self.price) - 1
        excess[self.is_candidate_in[self.candidates]] = 0.0
        self.worst = max(self.worst, excess.max())
        found = np.flatnonzero(excess > tol)
        return self.candidates[
            found[contest(self.rng, excess[found], max(min(NEW_COLUMNS, self.batch), np.count_nonzero(self.alpha)))]
        ]

    def _note(self, tol):
        size = np.abs(self.residual)
        self.gap = self.worst
        if self.found is None or self.objective <= self.found[3]:
            self.found = self.columns, self.alpha, self.b, self.objective, self.gap
        self.history.append({
            "rows": self.sample.size,
            "saturated": int((size > self.epsilon + tol).sum()),
            "exact": int((np.abs(size - self.epsilon) <= tol).sum()),
            "sparse": int(np.count_nonzero(self.alpha)),
            "objective": float(self.objective),
        })  # fmt: skip

    # ------------------------------------------------------------ who comes and who goes

    def _exchange(self, wrong, new_columns, tol):
        if self.objective < self.best:  # else the program knows too little: it may only grow
            self.best = self.objective
            self._drop_idle_edges(tol)
        room = max(self.batch, self.edges.rows.size // 4)
        in_all = sum(rows.size for rows, _ in wrong.values())
        for side, (rows, by) in wrong.items():
            rows = rows[contest(self.rng, by, -(-room * rows.size // max(in_all, 1)))]
            self.summed[side][rows] = False
            self.edges.add(rows, side)
        if new_columns is not None:
            self._drop_idle_columns()
            self._admit(new_columns)

    def _drop_idle_edges(self, tol):
        """Edges that do not bind leave; when the program is full, those far beyond their edge are summed."""
        edges = self.edges
        residual = np.empty(self.n)
        residual[self.sample] = self.residual
        beyond = edges.sides * residual[edges.rows] - self.epsilon
        may_go = (edges.status != BASIC) & ~edges.stays
        gone = may_go & (beyond < tol) & (edges.status == LOWER)
        excess = np.count_nonzero(~gone) - self.room
        if excess > 0:
            far = np.flatnonzero(may_go & (beyond > tol) & (edges.status == UPPER))
            far = far[np.argsort(-beyond[far])[: excess + self.room // 4]]
            for side in SIDES:
                self.summed[side][edges.rows[far[edges.sides[far] == side]]] = True
            gone[far] = True
        edges.drop(gone)

    def _drop_idle_columns(self):
        price = np.zeros(self.n)
        price[self.candidates] = np.abs(self.price)
        gone = (self.column_status == BASIC) & (price[self.columns] < IDLE_PRICE) & ~self.column_left[self.columns]
        self.is_candidate_in[self.columns[gone]] = False
        self.column_left[self.columns[gone]] = True
        self.columns, self.column_status, self.alpha = (
            each[~gone] for each in (self.columns, self.column_status, self.alpha)
        )

    def _admit(self, columns):
        self.is_candidate_in[columns] = True
        self.columns = np.concatenate([self.columns, columns])
        self.column_status = np.concatenate([self.column_status, np.full(columns.size, BASIC, np.int8)])
        self.alpha = np.concatenate([self.alpha, np.zeros(columns.size)])

    def result(self, unit, zero) -> TubeSolution:
        """In the target's own unit; the best function seen, if the last program failed."""
        columns, alpha, b, objective, gap = self.columns, self.alpha, self.b, self.objective, self.gap
        if not self.converged and self.found:
            columns, alpha, b, objective, gap = self.found
        beta = np.zeros(self.n)
        beta[columns] = unit * alpha
        history = tuple(entry | {"objective": unit * entry["objective"]} for entry in self.history)
        return TubeSolution(beta, float(unit * b + zero), float(unit * objective), float(gap), self.n_iter,
                            self.kernel_evals, self.converged, history)  # fmt: skip
