"""Many classes from a two-class solver: one against one, or one against the rest, kept the way LIBSVM keeps them."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from svmreduce.core.threads import in_threads
from svmreduce.core.watch import is_watched, share_of_time
from svmreduce.kernels import PRECOMPUTED, KernelSpec
from svmreduce.model import KernelModel, LinearModel
from svmreduce.solvers._outcome import Outcome
from svmreduce.types import DualSolution, Matrix


def one_versus_one(
    fit_binary, X, y, weights, kernel: KernelSpec, classes, start=None, part_of=None, threads=1, rows_at_once=0
) -> Outcome:
    """Solve every pair of classes and join the answers in one model.

    Each pair sees only its own rows, so k classes cost far less than k(k-1)/2 full fits. Counters are
    summed over the pairs, the gap is the largest, and all pairs must converge.

    Parameters
    ----------
    fit_binary : callable (X, y, weights, kernel) -> DualSolution
    y : class numbers 0…k-1, positions in ``classes``
    start : array of shape (k-1, n), optional
        Coefficients to begin with, as those of the model but for all rows; ``fit_binary`` takes those of its rows.
    part_of : callable (rows) -> what ``fit_binary`` takes as X, optional; all rows come as a slice
    threads, rows_at_once : int
        Pairs of at most that many rows are solved side by side, unless there is a time limit to share.
    """
    k = len(classes)
    # With two classes the second comes first, so that a positive value means classes[1].
    order = [1, 0] if k == 2 else list(range(k))
    sizes = np.bincount(y, minlength=k)[order]
    pairs = list(combinations(range(k), 2))
    betas = np.zeros((k - 1, len(y)))
    if part_of is None:
        part_of = X.__getitem__ if k > 2 else lambda rows: X

    def solve(number):
        i, j = pairs[number]
        rows = slice(None) if k == 2 else np.flatnonzero((y == order[i]) | (y == order[j]))
        first = y[rows] == order[i]
        place = 0 if k == 2 else np.where(first, j - 1, i)
        begin = {} if start is None else {"start": start[place, rows]}
        solution = fit_binary(part_of(rows), 2.0 * first - 1.0, weights[rows], kernel, **begin)
        betas[place, rows] = solution.beta
        return solution

    small = [sizes[i] + sizes[j] <= rows_at_once and not is_watched() for i, j in pairs]
    solutions = dict.fromkeys(range(len(pairs)))
    large = [number for number in solutions if not small[number]]
    for done, number in enumerate(large):
        with share_of_time(len(large) - done):
            solutions[number] = solve(number)
    together = [number for number in solutions if small[number]]
    solutions.update(zip(together, in_threads(lambda job: solve(together[job]), len(together), threads), strict=True))
    solutions = list(solutions.values())
    used = np.flatnonzero(np.any(betas != 0, axis=0))
    if not used.size:  # a model and its file have at least one vector
        used = np.zeros(1, np.int64)
    kept = [used[y[used] == code] for code in order]
    support = np.concatenate(kept)
    model = KernelModel(
        kernel,
        vectors_of(X, support, kernel),
        np.ascontiguousarray(betas[:, support]),
        np.array([solution.intercept for solution in solutions], dtype=np.float64),
        classes[order],
        np.array([len(rows) for rows in kept]),
    )
    return Outcome(model, support, **joint_counters(solutions))


def one_versus_rest(fit_binary, X, y, weights, kernel: KernelSpec, classes) -> Outcome:
    """Solve every class against all others and join the answers in one model; two classes are one problem.

    The model's pair (i, j) has the value fᵢ − fⱼ, so that the class with the largest fᵢ wins all its pairs. For this
    the vectors of fᵢ are in the block of class i, whatever class they are of: a vector that several functions use
    is there several times. Counters are summed, the gap is the largest, and all problems must converge.

    Parameters
    ----------
    fit_binary : callable (X, y, weights, kernel) -> DualSolution
    y : class numbers 0…k-1, positions in ``classes``
    """
    k = len(classes)
    if k == 2:
        solutions = [fit_binary(X, np.where(y == 1, 1.0, -1.0), weights, kernel)]
        support = support_of(solutions[0].beta)
        ones = np.flatnonzero(y[support] == 1)
        support = np.concatenate([support[ones], np.delete(support, ones)])
        coef, intercepts = solutions[0].beta[None, support], [solutions[0].intercept]
        labels, counts = classes[[1, 0]], [ones.size, support.size - ones.size]
    else:
        solutions = []
        for code in range(k):
            with share_of_time(k - code):
                solutions.append(fit_binary(X, np.where(y == code, 1.0, -1.0), weights, kernel))
        blocks = [support_of(solution.beta) for solution in solutions]
        support, labels, counts = np.concatenate(blocks), classes, [block.size for block in blocks]
        coef = np.hstack([_in_all_pairs(solutions[code].beta[blocks[code]], code, k) for code in range(k)])
        offset = [solution.intercept for solution in solutions]
        intercepts = [offset[i] - offset[j] for i, j in combinations(range(k), 2)]
    model = KernelModel(kernel, X[support], np.ascontiguousarray(coef), np.array(intercepts, dtype=np.float64),
                        labels, np.array(counts))  # fmt: skip
    return Outcome(model, support, **joint_counters(solutions))


def _in_all_pairs(coef, code: int, k: int) -> np.ndarray:
    """k-1 rows: minus the coefficients in pairs with earlier classes, where this class is the second; else plus."""
    signs = np.where(np.arange(k - 1) < code, -1.0, 1.0)
    return signs[:, None] * coef


def one_sum(found: DualSolution, X, kernel: KernelSpec, svm_type: str) -> Outcome:
    """The solution of a regression or a one-class SVM as an outcome."""
    support = support_of(found.beta)
    model = KernelModel(kernel, vectors_of(X, support, kernel), found.beta[None, support], np.array([found.intercept]),
                        svm_type=svm_type)  # fmt: skip
    return Outcome(model, support, **joint_counters([found]))


def vectors_of(X, support: np.ndarray, kernel: KernelSpec) -> Matrix:
    """The rows that a model keeps; of a table of kernel values, their numbers."""
    return X[support, :1] if kernel.name == PRECOMPUTED else X[support]


def support_of(beta: np.ndarray) -> np.ndarray:
    """Rows with a coefficient. A constant function has none; it keeps one row of coefficient zero, since a model
    file needs a vector."""
    support = np.flatnonzero(beta)
    return support if support.size else np.zeros(1, np.int64)


def linear_one_versus_rest(fit_binary, X, y, weights, kernel: KernelSpec, classes, solver_type, bias) -> Outcome:
    """Solve every class against all others (two classes once) and join the answers in one linear model.

    Parameters
    ----------
    fit_binary : callable (X, y, weights, kernel) -> LinearSolution
    solver_type, bias : what the model file is to say, in LIBLINEAR's terms
    """
    two = len(classes) == 2
    solutions = [fit_binary(X, np.where(y == code, 1.0, -1.0), weights, kernel)
                 for code in ([1] if two else range(len(classes)))]  # fmt: skip
    model = LinearModel(
        np.array([solution.normal for solution in solutions]),
        np.array([solution.intercept for solution in solutions]),
        classes[[1, 0]] if two else classes,
        solver_type,
        bias,
    )
    return Outcome(model, **joint_counters(solutions))


def joint_counters(solutions) -> dict:
    """Counters of several two-class problems together: sums, the largest gap, and whether all converged."""
    gaps = [solution.gap for solution in solutions]
    return {
        "objective": _total(solution.objective for solution in solutions),
        "n_iter": _total(solution.n_iter for solution in solutions),
        "kernel_evals": _total(solution.kernel_evals for solution in solutions),
        "gap": None if None in gaps else max(gaps),
        "converged": all(solution.converged for solution in solutions),
        "steps": tuple(solution.n_iter for solution in solutions),
    }


def _total(values):
    """Their sum, or None when one of them is not known."""
    values = list(values)
    return None if None in values else sum(values)
