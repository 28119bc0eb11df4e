"""What every solver and reducer promises, as checks that any package can run on its own methods.

``check_solver(MySolver)`` and ``check_reducer(MyReducer(share=0.2))`` raise an AssertionError that names the method,
the promise and what was seen instead. A single check is a function of ``solver_checks(method)`` or
``reducer_checks(method)``, for test tools that show them one by one. Nothing here needs a test tool.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from svmreduce.testing.classifier_promises import OF_CLASSIFIERS
from svmreduce.testing.made_of import Check, cloud, instance
from svmreduce.testing.reducer_promises import (
    OF_REDUCERS,
    check_kept_rows_are_given_rows,
    check_made_rows_are_like_given_rows,
)
from svmreduce.testing.solver_promises import (
    OF_SOLVERS,
    check_an_unknown_kernel_names_the_nearest,
    check_the_model_file_predicts_the_same,
)
from svmreduce.testing.weight_promises import (
    OF_WEIGHTS,
    check_every_class_needs_a_weight,
    check_weights_are_refused_with_a_reason,
)

__all__ = ["check_reducer", "check_solver", "cloud", "reducer_checks", "run_check", "solver_checks"]


def check_solver(solver: Any, *, within: float = 0.0, skip: Iterable[str] = ()) -> None:
    """Check all that a solver promises.

    Parameters
    ----------
    solver : class or instance
    within : how far decision values of two fits with the same optimum may differ, if more than usual
    skip : names of checks that it is known not to pass
    """
    _run(solver, solver_checks(solver), within, skip)


def check_reducer(reducer: Any, *, skip: Iterable[str] = ()) -> None:
    """Check all that a reducer promises; see ``check_solver``."""
    _run(reducer, reducer_checks(reducer), 0.0, skip)


def solver_checks(solver: Any) -> list[Check]:
    """The checks that apply to this solver."""
    made = instance(solver)
    checks = [*OF_SOLVERS]
    checks += OF_CLASSIFIERS if is_classifier(made) else []
    checks += OF_WEIGHTS if made.accepts_weights else [check_weights_are_refused_with_a_reason]
    if is_classifier(made) and made.accepts_weights:
        checks.append(check_every_class_needs_a_weight)
    if made.kernels:
        checks.append(check_the_model_file_predicts_the_same)
    if len(made.kernels) > 1:
        checks.append(check_an_unknown_kernel_names_the_nearest)
    return checks


def reducer_checks(reducer: Any) -> list[Check]:
    """The checks that apply to this reducer."""
    made = instance(reducer)
    own = check_kept_rows_are_given_rows if made.selects_rows else check_made_rows_are_like_given_rows
    return [own, *OF_REDUCERS]


def run_check(check: Check, method: Any, within: float = 0.0) -> None:
    """One check; what is wrong is reported with the names of method and check."""
    made = instance(method)
    title = f"{type(made).__name__}: {check.__name__.removeprefix('check_').replace('_', ' ')}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            check(made, within)
        except AssertionError as error:
            raise AssertionError(f"{title}: {error}") from None
        except Exception as error:
            raise AssertionError(f"{title}: {type(error).__name__}: {error}") from error


def _run(method: Any, checks: list[Check], within: float, skip: Iterable[str]) -> None:
    unknown = set(skip) - {check.__name__ for check in checks}
    if unknown:
        raise ValueError(f"skip names no check of this method: {', '.join(sorted(unknown))}")
    for check in checks:
        if check.__name__ not in skip:
            run_check(check, method, within)
