"""Incremental SVM: exact solutions row by row, after G. Cauwenberghs and T. Poggio (2001)."""

from __future__ import annotations

import numpy as np

from svmreduce.core.kernel_values import FLOAT64_LARGEST, kernel_matrix, single_threaded_blas
from svmreduce.errors import InputError
from svmreduce.solvers._first_rows import FirstRows, rows_in_order
from svmreduce.solvers.base import SVMClassifier, seed_of
from svmreduce.types import DualSolution

MOST_ROWS = 5000  # all their kernel values are kept, in double
RIDGE = 1e-8  # of the mean k(x, x): equal rows, and kernels of low rank, would make the margin rows dependent
WELL_SOLVED = 1e-9  # error of an equation that is left alone
VERY_WELL_SOLVED, MOST_TRUST = 1e-12, 32  # below this the next check may wait twice as long; changes between checks
NEARLY_DEPENDENT = 1e-1  # share of k(x, x) that the margin leaves unexplained, below which every change is checked
REFRESH = 200  # changes of the margin set after which g is computed again
LATE = 32  # rank-one terms that wait to be added to the inverse at once


class Incremental(
    FirstRows,
    SVMClassifier,
    parameters="C kernel gamma coef0 degree tol first max_iter threads random_state class_weight",
):
    """C-SVC that learns one row at a time and is optimal for all rows seen so far, after each.

    The coefficient of a new row grows from zero; the rows on the margin give way so that their conditions keep
    holding, until the new row's condition holds as well or its coefficient is at C. Whenever another row reaches the
    margin or a bound on the way, it changes sides. ``n_iter_`` counts these changes. For small data: the time of a
    change is that of (rows) × (margin rows) products. Where most rows are on the margin, as in 68 columns of noise,
    1,000 rows take half a second, 2,000 rows two seconds and 5,000 rows about a minute; the limit of 5,000 rows is one
    of memory. Slow is only what is all ties: where k(x, z) is next to nothing for any two rows and C is 1/k(x, x), all
    rows change sides with every new one.

    Parameters
    ----------
    kernel : {kernels}
        The conditions follow a path only for positive semidefinite kernels.
    tol : float
        The violation of the optimality conditions that counts as none at the end; the method itself is exact.
    first : {"mahalanobis", "kernel_mahalanobis", "random", "file", "oracle"}
        The order of the rows: those of each class first that are furthest from its centre; any; that of the file; or
        those first that end up with the largest coefficients, which takes a second fit.
    max_iter : int
        Maximum number of changes per two-class problem; -1 for 1000 per row.
    """

    kernels = ("linear", "poly", "rbf")

    def _fit_binary(self, X, y, weights, kernel):
        n = len(y)
        if n > MOST_ROWS:
            raise InputError(
                f"the incremental SVM keeps all kernel values and takes up to {MOST_ROWS} rows, got {n}; "
                "reduce them first, or use smo, which finds the same optimum"
            )
        K = kernel_matrix(kernel, X, X, threads=self.threads)
        largest = max(K.max(), -K.min())
        if not largest <= FLOAT64_LARGEST:
            raise InputError(f"kernel values reach {largest:.0e}, too large to optimise: scale the data")
        most = 1000 * n if self.max_iter < 0 else self.max_iter

        def learn(order):
            machine = _Path(K, y, self.C * weights)
            with single_threaded_blas:
                for row in order:
                    machine.learn(row, most)
            return machine.result(self.tol, kernel_evals=n * n)

        return learn(rows_in_order(self.first, X, (y > 0).astype(np.int64), kernel,
                                   seed=seed_of(self.random_state), threads=self.threads,
                                   coefficients_from=lambda order: learn(order).beta))  # fmt: skip


class _Path:
    """The state: α, b, the margin values g = y·f − 1, which side each row is on, and the margin's inverse.

    Rows have places, those on the margin the first, so that all products are of blocks of one matrix; ``rows`` has the
    row of each place. With Q = y yᵀ∘K, margin places S have g = 0, so a change of one coefficient c moves (b, α_S) by
    ``move`` = −inverse·(y_c, Q_Sc), where ``inverse`` is that of the bordered matrix [[0, y_Sᵀ], [y_S, Q_SS]].
    """

    def __init__(self, K, y, box):
        n = y.size
        self.K, self.signs, self.boxes = K, y, box
        self.unit = max(1e-12, np.abs(K.diagonal()).mean())
        self.ridge = RIDGE * self.unit
        self.rows, self.Q = np.empty(n, np.int64), np.empty((n, n))
        self.y, self.box, self.alpha, self.g = np.empty((4, n))
        self.in_error = np.empty(n, bool)  # of places behind the margin: at the box, or on the way there; else at zero
        self.b, self.seen, self.margin = 0.0, 0, 0
        self.inverse = _Inverse(n + 1)
        self.changes = self.since_refresh = self.unchecked = 0
        self.trust, self.most_trust = 1, MOST_TRUST

    def learn(self, row: int, most: int):
        """Add one row; everything seen so far, and this row, is optimal afterwards."""
        c = self._enter(row)
        self.in_error[c] = self.g[c] < 0
        if self.g[c] >= 0:
            return
        while self.changes < most:
            self.changes += 1
            if self._grow(c) if self.margin else self._shift(c):
                return

    def _enter(self, row):
        c = self.seen
        self.seen += 1
        self.rows[c], self.y[c], self.box[c], self.alpha[c] = row, self.signs[row], self.boxes[row], 0.0
        self.Q[c, : c + 1] = self.K[row, self.rows[: c + 1]] * self.y[: c + 1] * self.y[c]
        self.Q[:c, c] = self.Q[c, :c]
        self.Q[c, c] += self.ridge
        self.g[c] = self.Q[c, :c] @ self.alpha[:c] + self.y[c] * self.b - 1
        self.move = None
        return c

    def _shift(self, c) -> bool:
        """With no row on the margin only b can move: towards c's side, until the first row is on the margin."""
        pace = self.y[: self.seen] * self.y[c]
        step, place = self._first_to_reach_margin(pace)
        self.b += step * self.y[c]
        self.g[: self.seen] += step * pace
        self._join_margin(place, 0.0)
        return place == c

    def _grow(self, c) -> bool:
        """Raise α_c until it, or another row, has to change sides; then change it."""
        m, others = self.margin, slice(self.margin, self.seen)
        self.move = self._answer(self._side(c), self.move)
        move = self.move[1:]
        pace = self.Q[others, :m] @ move + self.Q[c, others] + self.y[others] * self.move[0]
        to_margin, place = self._first_to_reach_margin(pace)
        to_box = self.box[c] - self.alpha[c]
        own = self.alpha[:m]
        with np.errstate(divide="ignore", invalid="ignore"):
            limit = np.where(move > 0, self.box[:m] - own, own) / np.abs(move)
        limit[move == 0] = np.inf
        leaver = int(np.argmin(limit))
        step = max(0.0, min(to_margin, to_box, limit[leaver]))
        self.alpha[c] += step
        own += step * move
        self.b += step * self.move[0]
        self.g[others] += step * pace
        if to_box <= min(to_margin, limit[leaver]):
            self.alpha[c] = self.box[c]
            return True
        if limit[leaver] < to_margin:
            self._leave_margin(leaver, at_box=move[leaver] > 0)
            return False
        self._join_margin(place, pace[place - m])
        return place == c

    def _first_to_reach_margin(self, pace):
        """The smallest step after which some g is zero, and whose: error rows and c from below, others from above."""
        m = self.margin
        places = np.flatnonzero(np.where(self.in_error[m : self.seen], pace, -pace) > 0)
        if places.size == 0:
            return np.inf, -1
        steps = -self.g[m + places] / pace[places]
        best = int(np.argmin(steps))
        return max(0.0, steps[best]), int(m + places[best])

    def _answer(self, side, move=None):
        """The change of (b, α_S) that makes good ``side``, anew or checked.

        The inverse is brought up to date change by change, which loses digits where margin rows are nearly
        dependent; what is lost shows in the equations, and is made good. Not every change is checked while none are.
        """
        if move is None:
            move = -(self.inverse @ side)
        self.unchecked += 1
        if self.unchecked < self.trust:
            return move
        for remedy in (None, self._invert, None):
            error = self._bordered_times(move) + side
            worst = np.abs(error).max() / max(1.0, self.unit)
            self.trust = min(2 * self.trust, self.most_trust) if worst <= VERY_WELL_SOLVED else 1
            if worst <= WELL_SOLVED:
                break
            if remedy:
                remedy()
            move -= self.inverse @ error
        self.unchecked = 0
        return move

    def _side(self, place):
        return np.concatenate([[self.y[place]], self.Q[place, : self.margin]])

    def _bordered_times(self, move):
        m = self.margin
        return np.concatenate([[self.y[:m] @ move[1:]], self.Q[:m, :m] @ move[1:] + self.y[:m] * move[0]])

    def _join_margin(self, place, pace):
        """``pace`` is that of the row's g, which says how the answer to c changes with the row on the margin."""
        m, is_c = self.margin, place == self.seen - 1
        self._swap(place, m)
        if m == 0:
            self._one_on_margin()
        else:
            side, own = self._side(m), self.Q[m, m]
            answer = self.move if is_c else self._answer(side)
            # Errors in the coefficients stay, if not seen at once, though those in the inverse are found later
            if own + side @ answer < NEARLY_DEPENDENT * own and self.most_trust > 1:
                self.trust = self.most_trust = 1
                answer = self._answer(side, answer)
            left = max(own + side @ answer, self.ridge)  # of the row, when the margin has explained what it can
            answer = np.append(answer, 1.0)
            self.inverse.append(answer, 1 / left)
            self.move = np.append(self.move, 0.0) - pace / left * answer
        self.g[m] = 0.0
        self.margin += 1
        self._refresh_now_and_then()

    def _leave_margin(self, place, at_box: bool):
        last = self.margin - 1
        self.alpha[place], self.g[place] = self.box[place] if at_box else 0.0, 0.0
        self.in_error[place] = at_box
        if last > 1:
            column = self.inverse.column(place + 1)
            self.move -= column * (self.move[place + 1] / column[place + 1])
            self.move[place + 1] = self.move[-1]
            self.move = self.move[:-1]
            self.inverse.remove(place + 1, column)
        self._swap(place, last)
        self.margin = last
        if last == 1:
            self._one_on_margin()
        self._refresh_now_and_then()

    def _one_on_margin(self):
        self.inverse.set(np.array([[-self.Q[0, 0], self.y[0]], [self.y[0], 0.0]]))
        self.move = None

    def _swap(self, i, j):
        if i == j:
            return
        for each in (self.rows, self.y, self.box, self.alpha, self.g, self.in_error):
            each[i], each[j] = each[j], each[i]
        seen = self.Q[: self.seen, : self.seen]
        seen[[i, j]] = seen[[j, i]]
        seen[:, [i, j]] = seen[:, [j, i]]

    def _invert(self):
        m = self.margin
        bordered = np.zeros((m + 1, m + 1))
        bordered[0, 1:] = bordered[1:, 0] = self.y[:m]
        bordered[1:, 1:] = self.Q[:m, :m]
        self.inverse.set(np.linalg.inv(bordered))

    def _refresh_now_and_then(self):
        """Rounding errors add up in g, too; compute it again before they matter."""
        self.since_refresh += 1
        if self.since_refresh < REFRESH:
            return
        self.since_refresh = 0
        self.g[: self.seen] = self._margin_values()
        self.g[: self.margin] = 0.0

    def _margin_values(self):
        seen = slice(self.seen)
        return self.Q[seen, seen] @ self.alpha[seen] + self.y[seen] * self.b - 1

    def result(self, tol: float, kernel_evals: int) -> DualSolution:
        seen = slice(self.seen)
        y, alpha = self.y[seen], self.alpha[seen]
        g = self._margin_values() - self.ridge * alpha
        too_low, too_high = np.where(alpha < self.box[seen], -g, 0.0), np.where(alpha > 0, g, 0.0)
        gap = float(np.max([0.0, too_low.max(), too_high.max()]))
        # g holds b, so the two sides of a pair may each be off: twice the larger bounds what LIBSVM measures
        objective = 0.5 * float(alpha @ (g - y * self.b - 1))
        beta = np.zeros(self.signs.size)
        beta[self.rows[seen]] = y * alpha
        return DualSolution(beta, float(self.b), objective, 2 * gap, self.changes, kernel_evals, 2 * gap <= tol)


class _Inverse:
    """A symmetric matrix, base + Σ scale·late lateᵀ, that grows and shrinks by a row and a column.

    To add a term to the base takes as long as to read and write all of it; so terms wait, and are added together.
    """

    def __init__(self, most: int):
        self.base, self.late, self.scale = np.empty((most, most)), np.empty((LATE, most)), np.empty(LATE)
        self.size = self.terms = 0

    def set(self, values):
        self.size, self.terms = len(values), 0
        self.base[: self.size, : self.size] = values

    def __matmul__(self, vector):
        late, scale = self._late()
        return self.base[: self.size, : self.size] @ vector + (scale * (late @ vector)) @ late

    def column(self, k):
        late, scale = self._late()
        return self.base[k, : self.size] + (scale * late[:, k]) @ late

    def append(self, vector, scale):
        """One more row and column of zeros, then scale·vector vectorᵀ."""
        last = self.size
        self.size += 1
        self.base[last, : self.size] = self.base[:last, last] = self.late[: self.terms, last] = 0.0
        self._add(vector, scale)

    def remove(self, k, column):
        """Take away the term that makes row k zero, then that row: the last takes its place."""
        self._add(column, -1 / column[k])
        last = self.size - 1
        self.base[k, : self.size] = self.base[last, : self.size]
        self.base[: self.size, k] = self.base[: self.size, last]
        self.base[k, k] = self.base[last, last]
        self.late[: self.terms, k] = self.late[: self.terms, last]
        self.size = last

    def _late(self):
        return self.late[: self.terms, : self.size], self.scale[: self.terms]

    def _add(self, vector, scale):
        self.late[self.terms, : self.size], self.scale[self.terms] = vector, scale
        self.terms += 1
        if self.terms == LATE:
            late, scales = self._late()
            for start in range(0, self.size, 256):  # so that the products stay in the cache
                part = slice(start, min(start + 256, self.size))
                self.base[part, : self.size] += (late[:, part].T * scales) @ late
            self.terms = 0
