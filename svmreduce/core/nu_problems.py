"""ν-SVC and ν-SVR as the C-SVC and the ε-SVR that have the wanted sum of coefficients.

Both have a second equality constraint, which the engine does not know. Its multiplier is the margin of the ν-SVC, 1/C,
and the width ε of the ν-SVR's tube. The sum falls as C or ε grows: a few solves, each from the solution of the one
before, close in on it from both sides. Then the mixture of the last two that has the right sum is a solution, which
the optimality conditions of the ν-SVM itself say, in double precision.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from svmreduce.core.kernel_values import decision_function, kernel_matrix
from svmreduce.core.svm_problems import SAMPLE, SAMPLE_TOL, c_svc, epsilon_svr
from svmreduce.types import DualSolution

STRIDE, SHORT_STRIDE = 8.0, 2.0  # from one try to the next while both are on the same side; beside a good guess
APART = 0.1  # tries that are further apart are not worth a look at their mixture
IDLE = 1e-3  # if a stride takes away less than this of what is too much, nothing will
FINER = 0.2  # times tol: what the solves are made to, since a mixture is a little worse than they are
ROUGH = 0.1  # what those are made to that only ask on which side the wanted sum is
FEW = 200  # rows that say how far images of rows are apart
DUST = 1e-9  # of a bound: a coefficient as near to it is at the bound, or rounding would place the margin
MOST_SOLVES = 60


def nu_svc(X, y, box, nu, kernel, *, tol=1e-3, **options) -> DualSolution:
    """min ½ βᵀKβ, 0 ≤ y·β ≤ box, Σ y·β = nu·Σbox, Σβ = 0, then scaled to a margin of one, as LIBSVM does it.

    Where ``nu`` is so small that the hulls of the classes meet, there is no margin: then the answer is that of the
    smallest ``nu`` that was tried and has one, and it has not converged.
    """

    def solve(C, last, is_rough, **rest):
        start, own = None if last is None else last.beta * C, max(FINER * tol, ROUGH if is_rough else 0.0)
        found = c_svc(X, y, C * box, kernel, tol=own, start=start, **options | rest)
        return replace(found, beta=np.where(np.abs(found.beta) == C * box, y * box, found.beta / C))

    def judge(beta):
        values = _products(kernel, X, beta, options)
        may_fall, may_rise = y * beta > DUST * box, y * beta < (1 - DUST) * box
        high, wrong_high = _level(values, (y > 0) & may_fall, (y > 0) & may_rise)
        low, wrong_low = _level(values, (y < 0) & may_rise, (y < 0) & may_fall)
        margin = (high - low) / 2
        return _Verdict(max(wrong_high, wrong_low) / margin if margin > 0 else np.inf, values, high, low)

    search = _Search(solve, judge, nu * box.sum(), tol, options.get("max_iter", -1))
    most = box.size / box.sum() / tol  # LIBSVM's tol is of the problem before it is scaled: a margin below it is none
    first = box.size / box.sum() / _apart(X, kernel, options)
    beta, verdict = search.run(_cost_of_sample(X, y, box, nu, kernel, options), first, most=most)
    margin = 0.0 if verdict is None else (verdict.high - verdict.low) / 2
    if margin <= 0.0:
        return replace(search.answer(np.inf), beta=search.at * search.tries[-1].beta)
    return replace(
        search.answer(verdict.gap),
        beta=beta / margin,
        intercept=-(verdict.high + verdict.low) / 2 / margin,
        objective=0.5 * float(beta @ verdict.values) / margin**2,
    )


def nu_svr(X, y, box, nu, kernel, *, tol=1e-3, **options) -> DualSolution:
    """min ½ βᵀKβ − yᵀβ, |β| ≤ box, Σβ = 0, Σ|β| ≤ nu·Σbox."""

    def solve(epsilon, last, _, **rest):
        start = None if last is None else last.beta
        return epsilon_svr(X, y, box, epsilon, kernel, tol=FINER * tol, start=start, **options | rest)

    def judge(beta):
        values = y - _products(kernel, X, beta, options)
        dust = DUST * box
        high, wrong_high = _level(values, beta < box - dust, beta > dust)
        low, wrong_low = _level(values, beta < -dust, beta > dust - box)
        return _Verdict(max(wrong_high, wrong_low), values, high, low)

    search = _Search(solve, judge, nu * box.sum(), tol, options.get("max_iter", -1))
    width = _width_of_sample(X, y, box, nu, kernel, options)
    beta, verdict = search.run(width, 0.1 * float(np.std(y)) or 1.0, least=tol)
    if verdict is None:
        return search.answer(search.tries[-1].gap)
    return replace(
        search.answer(verdict.gap),
        beta=beta,
        intercept=(verdict.high + verdict.low) / 2,
        objective=-0.5 * float(beta @ (y + verdict.values)),
    )


class _Try(NamedTuple):
    at: float
    excess: float
    beta: np.ndarray


class _Verdict(NamedTuple):
    """How far β is from optimal; what rows give without the intercept, and the levels between which they switch."""

    gap: float
    values: np.ndarray
    high: float
    low: float


class _Search:
    """Solves until Σ|β| is right: a bracket, then regula falsi in its Illinois form.

    Parameters
    ----------
    solve : callable (parameter, last DualSolution or None, whether a rough one will do, max_iter) -> DualSolution
        Its Σ|β| falls as the parameter grows.
    judge : callable (β with the wanted sum) -> _Verdict
    wanted, tol : float
    max_iter : int
        Of all solves together; -1 for the engine's limit for each.
    """

    def __init__(self, solve, judge, wanted: float, tol: float, max_iter: int):
        self.solve, self.judge, self.wanted, self.tol, self.max_iter = solve, judge, wanted, tol, max_iter
        self.tries: list[DualSolution] = []
        self.at = 0.0  # the parameter of the last try

    def run(self, guess: float | None, first: float, least=0.0, most=np.inf) -> tuple[np.ndarray, _Verdict | None]:
        """β and its verdict, None where no parameter has the wanted sum.

        It begins with a good guess, or where there is none with ``first``. Below ``least`` comes zero.
        """
        stride = SHORT_STRIDE if guess else STRIDE
        low = high = begun = self._try(guess or first)
        idle = 0
        while high.excess > 0 and not self._is_over() and idle < 2 and high.at < most:
            low, high = high, self._try(high.at * stride, is_rough=True)
            idle = idle + 1 if high.excess > (1 - IDLE) * low.excess else 0
            if high.excess <= 0:
                low, high = low if low is begun else self._try(low.at), self._try(high.at)
        while low.excess < 0 and low.at > 0 and not self._is_over():  # also where a rough try was wrong about it
            high, low = low, self._try(low.at / stride if low.at / stride > least else 0.0)
        if low.excess < 0 or high.excess > 0:
            return self.tries[-1].beta, None
        return self._between(low, high)

    def _between(self, low: _Try, high: _Try) -> tuple[np.ndarray, _Verdict]:
        left, right, side = low.excess, high.excess, 0
        while True:
            width = high.at - low.at
            if width <= APART * high.at or width <= self.tol or self._is_over():
                beta = _mixture(low, high)
                verdict = self.judge(beta)
                if verdict.gap <= self.tol or self._is_over() or width <= np.finfo(np.float64).eps * high.at:
                    return beta, verdict
            tried = self._try(low.at + width * np.clip(left / (left - right), 1e-3, 1 - 1e-3))
            if tried.excess >= 0:
                low, left, right = tried, tried.excess, right / 2 if side > 0 else right
            else:
                high, left, right = tried, left / 2 if side < 0 else left, tried.excess
            side = np.sign(tried.excess)

    def _try(self, at: float, is_rough=False) -> _Try:
        left = -1 if self.max_iter < 0 else max(0, self.max_iter - sum(tried.n_iter for tried in self.tries))
        found = self.solve(at, self.tries[-1] if self.tries else None, is_rough, max_iter=left)
        self.tries.append(found)
        self.at = at
        excess = float(np.abs(found.beta).sum()) - self.wanted
        return _Try(at, 0.0 if abs(excess) <= DUST * self.wanted else excess, found.beta)

    def _is_over(self) -> bool:
        return not self.tries[-1].converged or len(self.tries) >= MOST_SOLVES

    def answer(self, gap: float) -> DualSolution:
        """The last try with the counters of all; they converged if this gap is small enough."""
        return replace(
            self.tries[-1],
            gap=gap,
            n_iter=sum(tried.n_iter for tried in self.tries),
            kernel_evals=sum(tried.kernel_evals for tried in self.tries),
            converged=bool(gap <= self.tol),
        )


def _mixture(low: _Try, high: _Try) -> np.ndarray:
    """Of the two, what has no excess; coefficients at a bound in both stay there."""
    share = low.excess / (low.excess - high.excess) if low.excess else 0.0
    return np.where(low.beta == high.beta, low.beta, low.beta + share * (high.beta - low.beta))


def _level(values, below, above) -> tuple[float, float]:
    """Where the values of rows that are below meet those above, and by how much they overlap."""
    top, bottom = values[below].max(initial=-np.inf), values[above].min(initial=np.inf)
    if (below & above).any():
        return float(values[below & above].mean()), max(0.0, float(top - bottom))
    ends = [float(end) for end in (top, bottom) if np.isfinite(end)]
    return sum(ends) / max(1, len(ends)), max(0.0, float(top - bottom)) if len(ends) == 2 else 0.0


def _products(kernel, X, beta, options) -> np.ndarray:
    support = np.flatnonzero(beta)
    return decision_function(kernel, X[:], X[support], beta[support, None], options.get("threads"))[:, 0]


def _apart(X, kernel, options) -> float:
    """Half the mean squared distance of the images of two rows: f grows with C times that, so C begins at one over it.

    From a larger C on, rows of large numbers in few columns would take millions of steps on the way back.
    """
    part = np.random.default_rng(options.get("seed", 0)).permutation(X.shape[0])[:FEW]
    values = kernel_matrix(kernel, X[part], X[part], threads=options.get("threads"))
    found = float(values.diagonal().mean() - values.mean())
    return found if found > np.finfo(np.float32).tiny else 1.0


def _sample(n: int, options) -> np.ndarray | None:
    if n <= 2 * SAMPLE:
        return None
    return np.sort(np.random.default_rng(options.get("seed", 0)).choice(n, SAMPLE, replace=False))


def _cost_of_sample(X, y, box, nu, kernel, options) -> float | None:
    """C of a sample, of which a row stands for several; None for few rows."""
    part = _sample(X.shape[0], options)
    if part is None:
        return None
    own, sides = box[part], np.bincount(y[part] > 0, box[part], minlength=2)
    if not sides.all():
        return None
    found = nu_svc(X[part], y[part], own, min(nu, 1.9 * sides.min() / own.sum()), kernel, tol=SAMPLE_TOL, **options)
    return float(np.abs(found.beta / own).max() * own.sum() / box.sum()) if found.converged else None


def _width_of_sample(X, y, box, nu, kernel, options) -> float | None:
    """The width that leaves the wanted share of a sample outside; None for few rows."""
    part = _sample(X.shape[0], options)
    if part is None:
        return None
    found = nu_svr(X[part], y[part], box[part], nu, kernel, tol=SAMPLE_TOL * float(np.std(y)) or 1.0, **options)
    errors = np.abs(y[part] - _products(kernel, X[part], found.beta, options) - found.intercept)
    return float(np.quantile(errors, 1 - nu)) or None
