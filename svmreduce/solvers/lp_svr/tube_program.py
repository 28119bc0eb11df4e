"""The linear program of the LP-SVR on few rows and few coefficients, by a dense simplex method, else by HiGHS.

The primal asks for f(x) = Σ αᵢ k(xᵢ, x) + b with  min Σ|αᵢ| + 2C Σ wⱼ ξⱼ,  |dⱼ − f(xⱼ)| ≤ ε + ξⱼ,  ξ ≥ 0.  What is
solved is its dual, which is much smaller: no slacks, and one row per coefficient instead of two per data row,

    max Σ λⱼₛ (s·dⱼ − ε),   −1 ≤ Σ s·λⱼₛ k(xᵢ, xⱼ) ≤ 1 for every i,   Σ s·λⱼₛ = 0,   0 ≤ λⱼₛ ≤ 2C wⱼ,

where s = ±1 is a side of the tube: the row is above it or below it. α and b are the dual values of the rows.

The paper's equalities (1) have one slack u for both sides of the tube. Added up they say u = ε + ξ, and then
f(xⱼ) = dⱼ for every row: no tube at all. It must be one slack per side, as in every SVR, and so it is here.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from svmreduce.core.dense_program import best_vertex
from svmreduce.core.watch import time_is_up

LOWER, BASIC, UPPER = (int(getattr(highspy.HighsBasisStatus, name)) for name in ("kLower", "kBasic", "kUpper"))
_STATUS = {int(status): status for status in highspy.HighsBasisStatus.__members__.values()}
_FINEST, _USUAL = 1e-10, 1e-7  # HiGHS's own tolerances


@dataclass(frozen=True)
class Basis:
    """The state of the simplex method: a status for each variable and each row of the program."""

    variables: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class Answer:
    """An optimal λ, the dual values (α, then b), and the basis from which to go on."""

    values: np.ndarray
    duals: np.ndarray
    basis: Basis
    objective: float
    is_optimal: bool


def solve_program(matrix, gain, upper, basis: Basis | None, tol: float) -> Answer:
    """max gain·λ, 0 ≤ λ ≤ upper, −1 ≤ matrix·λ ≤ 1, but = 0 in the last row.

    Starts from ``basis`` if there is one. Not optimal if there is no time, or if HiGHS fails as well.
    """
    rows, variables = matrix.shape
    bound = np.ones(rows)
    bound[-1] = 0.0
    tol = min(_USUAL, max(_FINEST, tol / 10))
    start = ()
    if basis is not None:
        status = np.concatenate([basis.variables, basis.rows])
        start = status == BASIC, status == UPPER
    found = best_vertex(matrix, gain, upper, bound, tol, *start)
    if found is None:
        if time_is_up():
            return Answer(np.zeros(variables), np.zeros(rows), basis, np.inf, is_optimal=False)
        return _by_highs(matrix, gain, upper, bound, basis, tol)
    status = np.where(found.is_basic, BASIC, np.where(found.is_above, UPPER, LOWER)).astype(np.int8)
    reached = Basis(status[:variables], status[variables:])
    return Answer(found.values, found.prices, reached, float(gain @ found.values), is_optimal=True)


def _by_highs(matrix, gain, upper, bound, basis: Basis | None, tol: float) -> Answer:
    """From ``basis`` if there is one; when rounding has spoilt that, from scratch."""
    model = highspy.Highs()
    model.silent()
    # The matrix is dense: presolve costs more than it saves, and so do exact edge weights (1 is Devex), which a basis
    # from elsewhere does not bring along
    for name, value in (("presolve", "off"), ("threads", 1), ("solver", "simplex"),
                        ("simplex_dual_edge_weight_strategy", 1), ("small_matrix_value", 1e-12),
                        ("primal_feasibility_tolerance", tol), ("dual_feasibility_tolerance", tol)):  # fmt: skip
        model.setOptionValue(name, value)
    rows, variables = matrix.shape
    model.passModel(
        variables, rows, matrix.size, int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMinimize), 0.0,
        -gain, np.zeros(variables), upper, -bound, bound,
        np.arange(0, matrix.size + 1, rows, dtype=np.int32), np.tile(np.arange(rows, dtype=np.int32), variables),
        np.ascontiguousarray(matrix.T).ravel(), np.zeros(variables, np.int32),
    )  # fmt: skip
    if basis is not None:
        start = highspy.HighsBasis()
        start.valid = start.alien = True  # alien: HiGHS repairs what is not a basis
        start.col_status = [_STATUS[status] for status in basis.variables.tolist()]
        start.row_status = [_STATUS[status] for status in basis.rows.tolist()]
        model.setBasis(start)
    model.run()
    if basis is not None and model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        model.clearSolver()
        model.run()
    found, reached = model.getSolution(), model.getBasis()
    return Answer(
        np.array(found.col_value),
        -np.array(found.row_dual),
        Basis(_codes(reached.col_status), _codes(reached.row_status)),
        -model.getObjectiveValue(),
        model.getModelStatus() == highspy.HighsModelStatus.kOptimal,
    )


def _codes(statuses) -> np.ndarray:
    return np.array([int(status) for status in statuses], np.int8)
