"""The rounds of RandSVM on one two-class problem: solve a sample, look for violators, and the proof at the end."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from svmreduce.core.kernel_values import decision_function
from svmreduce.core.optimality import correct_near_margin, kkt_gap
from svmreduce.model import LinearModel
from svmreduce.types import DualSolution, LinearSolution

BLOCK = 16_384  # rows of a scan between two looks at how many violators were found
# The backend's share of tol, and the violators': a pair of rows may be off by both, and some is for rounding
INNER = 0.45
NO_VIOLATORS, REACHED_K, SAMPLE_FULL, OUT_OF_ROUNDS = "no violators", "k support vectors", "sample full", "max_rounds"


class Rounds:
    """RandSVM's loop.

    Parameters
    ----------
    backend : SMO, Libsvm or Liblinear, ready to fit a sample
    X, y, weights, kernel : the problem, targets ±1
    k : stop at this many support vectors
    size : rows of a sample
    dtype : of the kernel values in a scan; whatever decides is done in double
    tell : callable(str) or None
    """

    def __init__(self, backend, X, y, weights, kernel, *, k, size, max_rounds, tol, dtype, threads, seed, tell=None):
        self.backend, self.X, self.y, self.weights, self.kernel = backend, X, y, weights, kernel
        self.n, self.k, self.size = len(y), k, min(size, len(y))
        self.max_rounds, self.tol, self.dtype, self.threads, self.tell = max_rounds, tol, dtype, threads, tell
        self.rng = np.random.default_rng(seed)
        self.box = backend.C * weights
        self.normal = None  # the weights of the features, if it is a linear problem
        # the last scan of all rows outside its sample: which rows, with which β, and their decision values
        self.scanned = self.scan_beta = self.f = None
        self.history, self.stop_reason = [], None
        self.n_iter = self.kernel_evals = 0
        self.gap = self.duality_gap = None

    def run(self) -> DualSolution | LinearSolution:
        self.sample = self._first_sample()
        while self.stop_reason is None:
            support = self._solve_sample()
            room = self.size - support.size
            goes_on = support.size < self.k and len(self.history) + 1 < self.max_rounds
            violators, seen, scanned = self._violators(max(0, room) if goes_on else 0)
            self._record(support, seen, scanned)
            self.stop_reason = self._reason(support, violators, room)
            if self.stop_reason is None:
                self.sample = self._next_sample(support, violators)
        if self.stop_reason == NO_VIOLATORS:
            self._certify()
        return self._result()

    def _reason(self, support, violators, room):
        if violators.size == 0:
            return NO_VIOLATORS
        if support.size >= self.k:
            return REACHED_K
        if room <= 0:
            return SAMPLE_FULL
        return OUT_OF_ROUNDS if len(self.history) == self.max_rounds else None

    def _first_sample(self):
        return self._with_both_classes(self.rng.permutation(self.n)[: self.size])

    def _next_sample(self, support, violators):
        return self._with_both_classes(np.concatenate([support, violators]))

    def _with_both_classes(self, rows):
        """The rows in order; if a class is missing, its first row is added, because no backend works without it."""
        for sign in (-1.0, 1.0):
            if not np.any(self.y[rows] == sign):
                rows = np.append(rows, np.argmax(self.y == sign))
        return np.sort(rows)

    def _record(self, support, violators, scanned):
        self.history.append({"rows": self.sample.size, "support_vectors": support.size, "scanned": scanned,
                             "violators": violators})  # fmt: skip
        if self.tell:
            self.tell(f"round {len(self.history)}: {self.sample.size} rows, {support.size} support vectors, "
                      f"{violators} violators among {scanned} other rows")  # fmt: skip

    # ------------------------------------------------------------ one round

    def _solve_sample(self) -> np.ndarray:
        """Fit the backend; the sample's support vectors."""
        rows = self.sample
        weights = self.weights[rows] if self.backend.accepts_weights else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # only the last one counts, and we report it
            fitted = self.backend.fit(self.X[rows], self.y[rows], sample_weight=weights)
        self.n_iter += fitted.n_iter_ or 0
        model = fitted.model_
        self.intercept = float(model.intercepts[0])
        if isinstance(model, LinearModel):
            self.normal, self.beta = model.weights[0], None
            # no multipliers: the rows on the margin or beyond are the support vectors
            return rows[self.y[rows] * (self._decide(rows) + self.intercept) <= 1 + self.tol]
        self.kernel_evals += fitted.kernel_evals_ or 0
        support = rows[fitted.support_]
        self.beta = np.zeros(self.n)
        self.beta[support] = fitted.dual_coef_[0]
        if self.kernel.name == "linear":
            self.normal = np.asarray(model.coef @ model.vectors)[0]
        return support

    def _violators(self, need: int) -> tuple[np.ndarray, int, int]:
        """A random choice of ``need`` violators outside the sample, or all there are; how many were seen, among
        how many rows. None are needed to know whether there are any: then one is looked for."""
        need = max(1, need)
        outside = np.ones(self.n, bool)
        outside[self.sample] = False
        others = self.rng.permutation(np.flatnonzero(outside))
        f = np.empty(self.n)
        found = []
        for start in range(0, others.size, BLOCK):
            part = others[start : start + BLOCK]
            f[part] = self._decide_from_last_scan(part)
            found.append(part[self._violates(part, f)])
            seen = sum(map(len, found))
            if seen >= need:
                return np.concatenate(found)[:need], seen, start + part.size
        if self.dtype == np.float32 and self.normal is None:
            correct_near_margin(f, others, self.y, self.intercept, self._decide)
        self.scanned, self.scan_beta, self.f = outside, self.beta, f
        found = others[self._violates(others, f)]
        return found, found.size, others.size

    def _violates(self, rows, f):
        return self.y[rows] * (f[rows] + self.intercept) < 1 - INNER * self.tol

    def _decide_from_last_scan(self, rows):
        """Decision values without intercept. Rows that the last full scan saw only need what changed since."""
        if self.normal is not None or self.scan_beta is None:
            return self._decide(rows, self.dtype)
        change = self.beta - self.scan_beta
        if np.count_nonzero(change) >= np.count_nonzero(self.beta):
            return self._decide(rows, self.dtype)
        seen = self.scanned[rows]
        f = self.f[rows]
        f[seen] += self._expand(self.X[rows[seen]], change, self.dtype)
        f[~seen] = self._expand(self.X[rows[~seen]], self.beta, self.dtype)
        return f

    def _decide(self, rows, dtype=np.float64):
        return self._decide_all(self.X[rows], dtype)

    def _decide_all(self, X, dtype=np.float64):
        """Decision values without intercept; linear ones are one product, however many support vectors."""
        return self._expand(X, self.beta, dtype) if self.normal is None else X @ self.normal

    def _expand(self, X, beta, dtype):
        """Σ_j k(row, x_j)·β_j."""
        columns = np.flatnonzero(beta)
        self.kernel_evals += X.shape[0] * columns.size
        coef = beta[columns, None]
        return decision_function(self.kernel, X, self.X[columns], coef, self.threads, dtype)[:, 0]

    # ------------------------------------------------------------ the end

    def _certify(self):
        """What the last round has proved, on all rows: rows outside the sample have no multiplier and no loss."""
        f = self.f
        f[self.sample] = self._decide(self.sample)
        loss = float(self.box @ np.maximum(0.0, 1.0 - self.y * (f + self.intercept)))
        if self.beta is None:
            dual = self.backend.objective_
            norm = float(self.normal @ self.normal + self.intercept**2)
            self.duality_gap = None if dual is None else norm / 2 + loss + dual
            return
        norm = float(self.beta @ f)
        self.duality_gap = norm + loss - float(self.beta @ self.y)
        lower, upper = np.where(self.y > 0, 0.0, -self.box), np.where(self.y > 0, self.box, 0.0)
        self.gap = kkt_gap(self.y - f, self.beta, lower, upper)

    def _result(self):
        facts = {
            "intercept": self.intercept,
            "objective": self.backend.objective_,
            "gap": self.gap,
            "n_iter": self.n_iter,
            "kernel_evals": None if self.backend.kernel_evals_ is None else self.kernel_evals,
            "converged": self.backend.converged_ and self.stop_reason in (NO_VIOLATORS, REACHED_K),
        }
        if self.beta is None:
            return LinearSolution(self.normal, **facts)
        return DualSolution(self.beta, **facts)
