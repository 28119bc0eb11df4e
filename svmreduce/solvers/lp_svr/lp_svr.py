"""LP-SVR: support vector regression as a linear program, after P. Rivas."""

from __future__ import annotations

import numpy as np

from svmreduce.core.jit import resolve_threads
from svmreduce.model import KernelModel
from svmreduce.solvers._first_rows import rows_in_order
from svmreduce.solvers._multiclass import one_versus_rest, support_of
from svmreduce.solvers._outcome import Outcome
from svmreduce.solvers.base import BaseSolver, SVMClassifier, SVMRegressor, seed_of
from svmreduce.solvers.lp_svr import tube_search

KINDS = "saturated", "exact", "sparse"  # of support vectors


class _LinearProgramme(BaseSolver):
    """What regression and classification share: where to start, and the search."""

    def __init__(
        self,
        C=1.0,
        epsilon=0.1,
        kernel="rbf",
        gamma="scale",
        coef0=0.0,
        degree=3,
        tol=1e-3,
        first="mahalanobis",
        working_set=200,
        candidates=20_000,
        max_iter=-1,
        threads=None,
        random_state=0,
    ):
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.tol = tol
        self.first = first
        self.working_set = working_set
        self.candidates = candidates
        self.max_iter = max_iter
        self.threads = threads
        self.random_state = random_state

    def _search(self, X, groups, kernel, target=None):
        """A function (X, y, weights, kernel) -> solution; all problems of a fit start from the same rows."""
        self.threads_ = resolve_threads(self.threads)
        self.history_ = []
        seed, n = seed_of(self.random_state), X.shape[0]
        pool = np.arange(n)
        if n > self.candidates:
            pool = np.sort(np.random.default_rng(seed).choice(n, self.candidates, replace=False))
        present = np.unique(groups[pool], return_inverse=True)[1]
        order = rows_in_order(self.first, X[pool], present, kernel, seed=seed, threads=self.threads_,
                              target=None if target is None else target[pool])  # fmt: skip
        first = pool[order[: self.working_set]]

        def solve(X, y, weights, kernel):
            solution = tube_search.solve(
                X, y, weights, kernel, C=self.C, epsilon=self.epsilon, tol=self.tol, first=first, candidates=pool,
                max_iter=self.max_iter, seed=seed, threads=self.threads_)  # fmt: skip
            problem = max((entry["problem"] for entry in self.history_), default=-1) + 1
            self.history_ += [{"problem": problem, **entry} for entry in solution.history]
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
    that are no support vectors; the two are taken as interchanged. ``curves_`` has the same as lists, of the first
    class where there are several.

    Parameters
    ----------
    C : float, default=1.0
        Half the price of a unit outside the tube, as the paper prints it.
    epsilon : float, default=0.1
        Errors up to here cost nothing.
    kernel : {"linear", "poly", "rbf", "sigmoid"}, default="rbf"
    gamma : float or {"scale", "auto", "auto-distance"}, default="scale"
    coef0 : float, default=0.0
    degree : int, default=3
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the target.
    first : {"mahalanobis", "kernel_mahalanobis", "random"}, default="mahalanobis"
        How the first working set is chosen: the rows that are furthest from the centre of the joint cloud of inputs
        and target, in the input space or in that of the kernel, or any.
    working_set : int, default=200
        Rows of the first working set; as many come in at a time, or a quarter of those that are there.
    candidates : int, default=20000
        Rows that may carry a coefficient: a random sample where there are more rows. Errors count on all rows.
    max_iter : int, default=-1
        Most linear programs per problem; -1 leaves the limit to the solver.
    threads : int or None
    random_state : int, RandomState or None, default=0
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
    C : float, default=1.0
    epsilon : float, default=0.5
        A row is right when its value is within this of its target −1 or +1.
    kernel : {"linear", "poly", "rbf", "sigmoid"}, default="rbf"
    gamma : float or {"scale", "auto", "auto-distance"}, default="scale"
    coef0 : float, default=0.0
    degree : int, default=3
    tol : float, default=1e-3
    first : {"mahalanobis", "kernel_mahalanobis", "random"}, default="mahalanobis"
    working_set : int, default=200
    candidates : int, default=20000
    max_iter : int, default=-1
    threads : int or None
    random_state : int, RandomState or None, default=0
    """

    def __init__(
        self,
        C=1.0,
        epsilon=0.5,
        kernel="rbf",
        gamma="scale",
        coef0=0.0,
        degree=3,
        tol=1e-3,
        first="mahalanobis",
        working_set=200,
        candidates=20_000,
        max_iter=-1,
        threads=None,
        random_state=0,
    ):
        super().__init__(C, epsilon, kernel, gamma, coef0, degree, tol, first, working_set, candidates, max_iter,
                         threads, random_state)  # fmt: skip

    def _solve(self, X, y, weights):
        kernel = self._kernel_spec(X)
        return one_versus_rest(self._search(X, y, kernel), X, y, weights, kernel, self.classes_)
