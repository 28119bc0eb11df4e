"""LP-SVR: support vector regression as a linear program, after P. Rivas."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from svmreduce.checks import COUNT, NOT_NEGATIVE
from svmreduce.core.threads import resolve_threads
from svmreduce.model import KernelModel
from svmreduce.solvers._first_rows import FirstRows, rows_in_order
from svmreduce.solvers._multiclass import one_versus_rest, support_of
from svmreduce.solvers._outcome import Outcome
from svmreduce.solvers.base import BaseSolver, SVMClassifier, SVMRegressor, seed_of
from svmreduce.solvers.lp_svr import tube_search

KINDS = "saturated", "exact", "sparse"  # of support vectors


class _LinearProgramme(
    FirstRows,
    BaseSolver,
    parameters="C epsilon kernel gamma coef0 degree tol first working_set candidates max_iter threads random_state",
):
    """What regression and classification share: where to start, and the search.

    Parameters
    ----------
    C : float
        Half the penalty of a unit outside the tube, as the paper prints it.
    tol : float
        Largest violation of the optimality conditions, in units of the target.
    working_set : int
        Rows of the first working set; as many come in at a time, or a quarter of those that are there.
    candidates : int
        Rows that may carry a coefficient: where there are more rows a random sample, and the first working set, which
        is chosen among all rows. Errors count on all rows.
    max_iter : int
        Maximum number of linear programs per problem; -1 leaves the limit to the solver.
    """

    stops_in_time = True

    epsilon: float = 0.1
    candidates: int = 20_000
    rules: ClassVar = {"epsilon": NOT_NEGATIVE, "candidates": COUNT}

    def _search(self, X, groups, kernel, target=None):
        """A function (X, y, weights, kernel) -> solution; all problems of a fit start from the same rows, but for the
        oracle, which knows those of each."""
        self.threads_ = resolve_threads(self.threads)
        self.history_ = []
        seed, n = seed_of(self.random_state), X.shape[0]
        pool = np.arange(n)
        if n > self.candidates:
            pool = np.random.default_rng(seed).choice(n, self.candidates, replace=False)

        def solve_from(order, X, y, weights, kernel):
            first = order[: self.working_set]
            return tube_search.solve(
                X, y, weights, kernel, C=self.C, epsilon=self.epsilon, tol=self.tol, max_iter=self.max_iter,
                first=first, candidates=np.union1d(pool, first), seed=seed, threads=self.threads_)  # fmt: skip

        def solve(*problem):
            order = rows_in_order(self.first, X, groups, kernel, target=target, seed=seed, threads=self.threads_,
                                  coefficients_from=lambda order: solve_from(order, *problem).beta)  # fmt: skip
            solution = solve_from(order, *problem)
            number = max((entry["problem"] for entry in self.history_), default=-1) + 1
            self.history_ += [{"problem": number, **entry} for entry in solution.history]
            self.curves_ = {f"{kind}_vectors": [entry[kind] for entry in self.history_ if entry["problem"] == 0]
                            for kind in KINDS}  # fmt: skip
            return solution

        return solve


class LPSVR(_LinearProgramme, SVMRegressor):
    """ε-regression with few vectors: the sum of |α| is kept small instead of a norm, by linear programs.

    Minimises Σ|α| + 2C Σ max(0, |d − f(x)| − ε) over f(x) = Σ α k(xᵢ, x) + b. The program is solved on a working set;
    rows that break the tube, and rows whose coefficient would lower the objective, come in, idle ones go, until the
    optimality conditions hold for all rows. The kernel need not be positive definite.

    ``history_`` has after each linear program how many rows were *saturated* (outside the tube), *exact* (on its edge)
    and *sparse* (with a coefficient). The paper's definition of saturated reads "inside", which is that of the rows
    that are not support vectors; the two are taken as interchanged. ``curves_`` has the same as lists, of the first
    class where there are several.

    Parameters
    ----------
    epsilon : float
        Errors up to here cost nothing.
    """

    def _solve(self, X, y, weights):
        kernel = self._kernel_spec(X)
        solution = self._search(X, np.zeros(len(y), np.int64), kernel, target=y)(X, y, weights, kernel)
        support = support_of(solution.beta)
        model = KernelModel(
            kernel, X[support], solution.beta[None, support], np.array([solution.intercept]), svm_type="epsilon_svr"
        )
        return Outcome(model, support, solution.objective, solution.n_iter, solution.kernel_evals, solution.gap,
                       solution.converged)  # fmt: skip


class LPSVC(_LinearProgramme, SVMClassifier):
    """Classification by LP-SVR: regression on −1 and +1, several classes one against the rest.

    See ``LPSVR``. The first working set has equally many rows of every class, ranked within the class.

    Parameters
    ----------
    epsilon : float
        A row is right when its value is within this of its target −1 or +1.
    """

    epsilon: float = 0.5

    def _solve(self, X, y, weights):
        kernel = self._kernel_spec(X)
        return one_versus_rest(self._search(X, y, kernel), X, y, weights, kernel, self.classes_)
