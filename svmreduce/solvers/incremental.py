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
REFRESH = 200  # changes of the margin set after which everything is computed again
UNSEEN, RESERVE, MARGIN, ERROR = range(4)


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
    1,000 rows take seconds and 2,000 rows most of a minute; the limit of 5,000 rows is one of memory.

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
        if not np.abs(K).max() <= FLOAT64_LARGEST:
            raise InputError(f"kernel values reach {np.abs(K).max():.0e}, too large to optimise: scale the data")
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

    With Q = y yᵀ∘K, margin rows S have g = 0, so a change of one coefficient c moves (b, α_S) by
    −inverse·(y_c, Q_Sc), where ``inverse`` is that of the bordered matrix [[0, y_Sᵀ], [y_S, Q_SS]].
    """

    def __init__(self, K, y, box):
        self.y, self.box = y, box
        self.Q = K * y * y[:, None]
        self.ridge = RIDGE * max(1e-12, np.abs(K.diagonal()).mean())
        self.Q[np.diag_indices_from(self.Q)] += self.ridge
        self.alpha, self.b = np.zeros(y.size), 0.0
        self.g = np.zeros(y.size)
        self.kind = np.full(y.size, UNSEEN, np.int8)
        self.margin = np.empty(0, np.int64)
        self.bordered = self.inverse = np.zeros((1, 1))
        self.changes = self.since_refresh = 0

    def learn(self, c: int, most: int):
        """Add one row; everything seen so far, and this row, is optimal afterwards."""
        self.g[c] = self.Q[c] @ self.alpha + self.y[c] * self.b - 1
        self.kind[c] = RESERVE
        if self.g[c] >= 0:
            return
        self.kind[c] = UNSEEN  # on its way
        while self.kind[c] == UNSEEN and self.changes < most:
            self.changes += 1
            if self.margin.size:
                self._grow(c)
            else:
                self._shift(c)

    def _shift(self, c):
        """With no row on the margin only b can move: towards c's side, until the first row is on the margin."""
        pace = self.y * self.y[c]
        pace[self.kind == UNSEEN] = 0.0
        pace[c] = 1.0
        step, row = self._first_to_reach_margin(pace, c)
        self.b += step * self.y[c]
        self.g += step * pace
        self._join_margin(row)

    def _grow(self, c):
        """Raise α_c until it, or another row, has to change sides; then change it."""
        move = self._response(c)
        pace = self.Q[c] + move[1:] @ self.Q[self.margin] + self.y * move[0]  # Q is symmetric
        pace[self.margin] = 0.0
        to_margin, row = self._first_to_reach_margin(pace, c)
        to_box = self.box[c] - self.alpha[c]
        own = self.alpha[self.margin]
        with np.errstate(divide="ignore", invalid="ignore"):
            limit = np.where(move[1:] > 0, self.box[self.margin] - own, own) / np.abs(move[1:])
        limit[move[1:] == 0] = np.inf
        leaver = int(np.argmin(limit))
        step = max(0.0, min(to_margin, to_box, limit[leaver]))
        self.alpha[c] += step
        self.alpha[self.margin] += step * move[1:]
        self.b += step * move[0]
        self.g += step * pace
        if to_box <= min(to_margin, limit[leaver]):
            self.alpha[c], self.kind[c] = self.box[c], ERROR
        elif limit[leaver] < to_margin:
            self._leave_margin(leaver, at_box=move[1 + leaver] > 0)
        else:
            self._join_margin(row)

    def _first_to_reach_margin(self, pace, c):
        """The smallest step after which some g is zero, and whose: error rows and c from below, others from above."""
        rising = (self.kind == ERROR) & (pace > 0)
        rising[c] = pace[c] > 0
        falling = (self.kind == RESERVE) & (pace < 0)
        rows = np.flatnonzero(rising | falling)
        if rows.size == 0:
            return np.inf, -1
        steps = -self.g[rows] / pace[rows]
        best = int(np.argmin(steps))
        return max(0.0, steps[best]), int(rows[best])

    def _response(self, row):
        """How (b, α_S) answer a unit of this row's coefficient.

        The inverse is brought up to date change by change, which loses digits where margin rows are nearly
        dependent; what is lost shows in the equations, and is made good.
        """
        side = np.concatenate([[self.y[row]], self.Q[self.margin, row]])
        move = -self.inverse @ side
        for remedy in (None, self._invert, None):
            error = self.bordered @ move + side
            if np.abs(error).max() <= WELL_SOLVED:
                break
            if remedy:
                remedy()
            move -= self.inverse @ error
        return move

    def _join_margin(self, row):
        self.kind[row], self.g[row] = MARGIN, 0.0
        side = np.concatenate([[self.y[row]], self.Q[self.margin, row]])
        bordered = np.block([[self.bordered, side[:, None]], [side[None], self.Q[row, row]]])
        if self.margin.size == 0:
            inverse = np.array([[-self.Q[row, row], self.y[row]], [self.y[row], 0.0]])
        else:
            move = np.append(self._response(row), 1.0)
            inverse = np.outer(move, move) / max(self.Q[row, row] + side @ move[:-1], self.ridge)
            inverse[:-1, :-1] += self.inverse
        self.margin, self.bordered, self.inverse = np.append(self.margin, row), bordered, inverse
        self._refresh_now_and_then()

    def _leave_margin(self, place, at_box: bool):
        row, k = self.margin[place], place + 1
        self.alpha[row] = self.box[row] if at_box else 0.0
        self.kind[row] = ERROR if at_box else RESERVE
        self.margin = np.delete(self.margin, place)
        self.bordered = np.delete(np.delete(self.bordered, k, axis=0), k, axis=1)
        if self.margin.size > 1:
            column = self.inverse[:, k]
            inverse = self.inverse - np.outer(column, column) / column[k]
            self.inverse = np.delete(np.delete(inverse, k, axis=0), k, axis=1)
        elif self.margin.size == 1:
            self._invert()
        self._refresh_now_and_then()

    def _invert(self):
        self.inverse = np.linalg.inv(self.bordered)

    def _refresh_now_and_then(self):
        """Rounding errors add up in g, too; compute it again before they matter."""
        self.since_refresh += 1
        if self.since_refresh < REFRESH or self.margin.size == 0:
            return
        self.since_refresh = 0
        self._invert()
        self.g = self.Q @ self.alpha + self.y * self.b - 1
        self.g[self.margin] = 0.0

    def result(self, tol: float, kernel_evals: int) -> DualSolution:
        g = self.Q @ self.alpha - self.ridge * self.alpha + self.y * self.b - 1
        too_low, too_high = np.where(self.alpha < self.box, -g, 0.0), np.where(self.alpha > 0, g, 0.0)
        gap = float(np.max([0.0, too_low.max(), too_high.max()]))
        # g holds b, so the two sides of a pair may each be off: twice the larger bounds what LIBSVM measures
        objective = 0.5 * float(self.alpha @ (g - self.y * self.b - 1))
        return DualSolution(self.y * self.alpha, float(self.b), objective, 2 * gap, self.changes, kernel_evals,
                            2 * gap <= tol)  # fmt: skip
