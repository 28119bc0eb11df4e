"""LASVM: one look at each row, and always an almost optimal SVM of the rows worth keeping.

Each turn brings in one new row with its best partner (PROCESS), then repairs the worst pair among the
rows kept (REPROCESS). FINISHING repairs until none is left. The rows are those of the problem

    min ½ βᵀKβ − targetᵀβ,   Σβ = 0,   lower ≤ β ≤ upper.

Turns are made in chunks: the kernel values of the chunk's candidates against the expansion, and against each
other, are computed in one block before its turns. Each turn still sees exactly the β of the turn before.

Two things differ from the paper: REPROCESS takes the partner that gains most to second order, not the one
that violates most, and rows that are of no more use leave between chunks, not after every turn.
"""

from __future__ import annotations

import numpy as np

from svmreduce.core import lasvm_steps
from svmreduce.core.kernel_values import FLOAT32_TOL, single_threaded_blas, suitable_rows
from svmreduce.core.lasvm_steps import INSERTED, NOTHING, SIZE, STAGE, STEPS, TURN
from svmreduce.core.threads import resolve_threads
from svmreduce.core.watch import time_is_up

SELECTIONS = {"random": lasvm_steps.RANDOM, "gradient": lasvm_steps.GRADIENT, "active": lasvm_steps.ACTIVE}
SEEDS = 5  # rows of each class to begin with
CHUNK = 256  # candidates whose kernel values are computed together
TURNS_OF_CHOICE = 8  # turns of a chunk if each chooses among many candidates
STEPS_AT_ONCE = 10_000  # of FINISHING, between two looks at the clock
SAFETY = 0.9  # FINISHING aims a little below the tolerance: kernel values are rounded
LEAST_SLOTS = 64  # kernel rows that are always kept, however little memory there is


class OnlineSearch:
    """The expansion and how it grows.

    Parameters
    ----------
    X, target, lower, upper, kernel : the problem; lower ≤ 0 ≤ upper
    tol : the paper's τ: pairs that violate by less are left alone
    cache_mb : memory for kernel rows of the expansion
    beta : where to start; None or zeros begin with a few rows of each class
    """

    def __init__(self, X, target, lower, upper, kernel, *, tol, cache_mb, seed, threads=None, beta=None):
        self.target, self.lower, self.upper, self.tol = target, lower, upper, tol
        self.n, self.threads = X.shape[0], resolve_threads(threads)
        self.rng = np.random.default_rng(seed)
        self.rows = suitable_rows(kernel, X, single=tol >= FLOAT32_TOL)
        self.most_values = int(cache_mb * 2**20 / self.rows.dtype.itemsize)
        self.kernel_evals = 0
        self.counters, self.extremes = np.zeros(lasvm_steps.COUNTERS, np.int64), np.zeros(2)
        self.members = np.empty(0, np.int64)
        self.inside = np.zeros(self.n, bool)
        self.stride = 0
        self.K = np.empty(0, self.rows.dtype)
        self.slot_of = self.owner = self.used = np.empty(0, np.int64)
        self.state = tuple(np.empty(0, kind) for kind in (*(np.float64,) * 4, *(np.float32,) * 2, self.rows.dtype))
        self.chunk_K = np.empty(0, self.rows.dtype)
        with single_threaded_blas:
            beta = np.zeros(self.n) if beta is None else beta
            self._begin(np.flatnonzero(beta) if beta.any() else self._seeds(), beta)

    @property
    def size(self) -> int:
        return int(self.counters[SIZE])

    @property
    def inserted(self) -> int:
        return int(self.counters[INSERTED])

    @property
    def steps(self) -> int:
        return int(self.counters[STEPS])

    @property
    def gap(self) -> float:
        """Largest violation among the rows of the expansion."""
        return max(0.0, float(self.extremes[0] - self.extremes[1]))

    # ------------------------------------------------------------ what a caller does

    def pass_over(self, selection="random", candidates=1):
        """As many turns as there are rows: every row once, or each turn the best of some random candidates."""
        with single_threaded_blas:
            if selection == "random":
                order = self.rng.permutation(self.n)
                for start in range(0, self.n, CHUNK):
                    part = order[start : start + CHUNK]
                    self._turns(part[~self.inside[part]], 1, selection)
                    self._repair(np.sum(self.inside[part]), self.tol)
                    if self._is_late(start + CHUNK):
                        return
                return
            for start in range(0, self.n, TURNS_OF_CHOICE):
                outside = np.flatnonzero(~self.inside)
                per_turn = max(1, min(candidates, outside.size // TURNS_OF_CHOICE))
                turns = min(TURNS_OF_CHOICE, self.n - start, outside.size // per_turn)
                self._turns(self.rng.choice(outside, turns * per_turn, replace=False), per_turn, selection)
                if self._is_late(start + TURNS_OF_CHOICE):
                    return

    def finish(self, max_steps: int):
        """REPROCESS until the expansion is solved to ``tol``."""
        with single_threaded_blas:
            last, tol = self.steps + max_steps, SAFETY * self.tol
            while self.gap > tol and self.steps < last and not time_is_up(steps=self.steps, gap=self.gap):
                self._repair(min(STEPS_AT_ONCE, last - self.steps), tol)
            self._drop_useless()

    def _is_late(self, rows_seen) -> bool:
        return time_is_up(rows=min(int(rows_seen), self.n), steps=self.steps, gap=self.gap)

    def result(self) -> tuple[np.ndarray, float]:
        """β of all rows, and the intercept."""
        beta, v, lower, upper = (array[: self.size] for array in self.state[:4])
        free = (beta > lower) & (beta < upper)
        every = np.zeros(self.n)
        every[self.members[: self.size]] = beta
        return every, float(v[free].mean() if free.any() else self.extremes.mean())

    # ------------------------------------------------------------ turns

    def _turns(self, candidates, per_turn, selection):
        if candidates.size == 0:
            return
        old, count = self.size, candidates.size
        self._make_room(old + count // per_turn)
        width = old + count
        if self.chunk_K.size < count * width:
            self.chunk_K = np.empty(count * width * 5 // 4, self.rows.dtype)
        chunk_K = self.chunk_K[: count * width]
        columns = np.concatenate([self.members[:old], candidates])
        self.rows.block(candidates, self.rows, columns, chunk_K, width, self.threads)
        self.kernel_evals += chunk_K.size
        origin = np.empty(count, np.int64)
        chunk = (chunk_K, self.target[candidates], self.lower[candidates], self.upper[candidates], origin)
        self.counters[TURN], self.counters[STAGE] = 0, lasvm_steps.CHOOSE

        def go():
            wanted = lasvm_steps.turns(self._store(), self.stride, self.state, chunk, per_turn, SELECTIONS[selection],
                                  self.tol, self.counters, self.extremes)  # fmt: skip
            self.members[old : self.size] = candidates[origin[: self.size - old]]
            return wanted

        self._with_rows_on_demand(go)
        self.inside[self.members[old : self.size]] = True
        self._drop_useless(least_share=0.25)

    def _repair(self, steps, tol):
        last = self.counters[STEPS] + steps
        self._with_rows_on_demand(
            lambda: lasvm_steps.reprocess_until(
                self._store(), self.stride, self.state, tol, last, self.counters, self.extremes
            )
        )

    def _with_rows_on_demand(self, go):
        """Call ``go`` until it wants no more rows; compute those it wants."""
        while (position := go()) != NOTHING:
            slot = lasvm_steps.take_slot(self._store(), position, self.counters)
            members = self.members[: self.size]
            out = self.K[slot * self.stride : slot * self.stride + self.size]
            self.rows.block(members[position : position + 1], self.rows, members, out, self.size, self.threads)
            self.kernel_evals += self.size

    def _store(self):
        return self.K, self.slot_of, self.owner, self.used

    # ------------------------------------------------------------ the expansion

    def _seeds(self):
        """A few rows of each class: those that can go up, and those that can go down."""
        order = self.rng.permutation(self.n)
        up, down = order[self.upper[order] > 0], order[self.lower[order] < 0]
        return np.unique(np.concatenate([up[:SEEDS], down[:SEEDS]]))

    def _begin(self, members, beta):
        size = members.size
        self._make_room(size)
        self.members[:size], self.inside[members], self.counters[SIZE] = members, True, size
        own_beta, v, lower, upper, _, _, diagonal = self.state
        own_beta[:size] = beta[members]
        lower[:size], upper[:size] = self.lower[members], self.upper[members]
        products = np.zeros((1, size))
        if beta.any():
            self.rows.add_products(members, self.rows, members, own_beta[None, :size].copy(), products, self.threads)
        v[:size] = self.target[members] - products[0]
        diagonal[:size] = self.rows.diagonal()[members]
        # the rows of the first members are kept, as far as there are slots
        kept = min(size, self.owner.size)
        self.rows.block(members[:kept], self.rows, members, self.K, self.stride, self.threads)
        self.kernel_evals += (kept + size * bool(beta.any())) * size
        self.slot_of[:kept] = self.owner[:kept] = self.used[:kept] = np.arange(kept)
        lasvm_steps.refresh_extremes(self.state, self.counters, self.extremes)

    def _make_room(self, wanted):
        """Space for this many members: longer rows, and as many slots as then fit into the memory given."""
        if wanted <= self.stride:
            return
        stride = min(wanted + wanted // 4 + CHUNK, self.n + CHUNK)
        slots = min(stride, max(LEAST_SLOTS, self.most_values // stride))
        kept = min(self.owner.size, slots)
        if self.K.size < slots * stride:
            # untouched memory costs nothing: all that may be used, so that values are hardly ever copied
            room = max(slots * stride, min(self.most_values, (self.n + CHUNK) ** 2))
            K, self.K = self.K, np.empty(room, self.rows.dtype)
            self.K[: kept * self.stride] = K[: kept * self.stride]
        lasvm_steps.lengthen_rows(self.K, kept, self.size, self.stride, stride)
        lost = self.owner[kept:]
        self.slot_of[lost[lost >= 0]] = -1
        self.owner, self.used = _resized(self.owner, slots, -1), _resized(self.used, slots, -1)
        self.slot_of, self.members = _resized(self.slot_of, stride, -1), _resized(self.members, stride, 0)
        self.state = tuple(_resized(array, stride, 0) for array in self.state)
        self.stride = stride

    def _drop_useless(self, least_share=0.0):
        """Members at zero that no pair would pick leave, if they are a fair share of all."""
        size = self.size
        beta, v, lower, upper = (array[:size] for array in self.state[:4])
        high, low = self.extremes
        useful = (beta != 0) | ((upper > 0) & (v > low)) | ((lower < 0) & (v < high))
        dropped = size - np.count_nonzero(useful)
        if dropped == 0 or dropped < least_share * size:
            return
        keep = np.flatnonzero(useful)
        self.inside[self.members[:size][~useful]] = False
        place = np.full(size + 1, -1)
        place[keep] = np.arange(keep.size)
        freed = place[self.owner] < 0  # the last place stands for owner -1: slots that nobody has
        self.owner[freed], self.used[freed] = -1, -1
        lasvm_steps.squeeze_columns(self.K, self.stride, self.owner, keep)
        self.owner = place[self.owner]
        for array in (self.members, self.slot_of, *self.state):
            array[: keep.size] = array[keep]
        self.counters[SIZE] = keep.size
        lasvm_steps.refresh_extremes(self.state, self.counters, self.extremes)


def _resized(array, size, filler):
    """The array cut or filled up to this size."""
    out = np.full(size, filler, array.dtype)
    count = min(size, array.size)
    out[:count] = array[:count]
    return out
