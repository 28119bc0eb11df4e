"""scikit-learn's own checks on every registered solver; known exceptions stand here with their reasons."""

import re

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from svmreduce.solvers import SOLVERS

_WEIGHT_CHECKS = (
    "check_sample_weights_pandas_series",
    "check_sample_weights_not_an_array",
    "check_sample_weights_list",
    "check_all_zero_sample_weights_error",
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
)
_ONE_LABEL = "check_classifiers_one_label_sample_weights"  # passes where the refusal has the word it looks for
_EQUIVALENCE = [f"check_sample_weight_equivalence_on_{form}_data" for form in ("dense", "sparse")]

# Sparse rows in a dozen forms, a network trained on each: fewer passes will do, as will fewer steps of the slowest
_SHORTER = {"network": {"max_iter": 50}, "network_regressor": {"max_iter": 100}, "fw": {"max_iter": 5000}}

# The reason, and what the error says: with any other words the check has failed.
_UP_TO_TOL = (
    "weights equal repeated rows up to tol, not to 1e-7; svmreduce.testing checks it at a small tol",
    "fitting with `sample_weight` is not equivalent to fitting with removed or repeated data",
)
_INFEASIBLE = ("its rows have few of one class: too few for nu = 0.5", "specified nu is infeasible")
_BY_CHANCE = ("weights of 1000 and 0.0001 are beyond its tolerance, 5 % of the objective", "")


def refused(solver) -> list[str]:
    """The checks that must end with the solver's refusal of weights."""
    if solver.accepts_weights:
        return []
    told = re.search(r"\bclass(es)?\b", solver.weights_reason)
    return [*_WEIGHT_CHECKS, *_EQUIVALENCE] + ([] if told else [_ONE_LABEL])


def expected_failures(solver) -> dict[str, tuple[str, str]]:
    known = {}
    if type(solver).__name__ in ("NuSVC", "LibsvmNuSVC"):
        known = dict.fromkeys(_EQUIVALENCE, _INFEASIBLE)
    elif solver.accepts_weights:
        known = dict.fromkeys(_EQUIVALENCE, _UP_TO_TOL)
    if type(solver).__name__ == "Pegasos":
        known["check_class_weight_classifiers"] = _BY_CHANCE
    return known


def words_of(error) -> str:
    """Its own and those of the errors it came from."""
    return f"{error} {words_of(error.__cause__ or error.__context__)}" if error else ""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([SOLVERS.get(name)(**_SHORTER.get(name, {})) for name in SOLVERS.where])
def test_scikit_learns_checks(estimator, check):
    name = check.func.__name__
    reason, words = expected_failures(estimator).get(name, ("", None))
    if words is None and name in refused(estimator):
        with pytest.raises((ValueError, AssertionError)) as caught:
            check(estimator)
        assert f"{type(estimator).__name__} cannot take sample_weight: " in words_of(caught.value)
        return
    try:
        check(estimator)
    except (ValueError, AssertionError) as error:
        if words is None or words not in words_of(error):
            raise
    else:
        return
    raise pytest.xfail.Exception(reason, pytrace=False)  # a mark would have every traceback written, for 30 s
