"""scikit-learn's own checks on every registered solver; known exceptions stand here with their reasons."""

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
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_classifiers_one_label_sample_weights",
)
_REFUSES_WEIGHTS = dict.fromkeys(_WEIGHT_CHECKS, "refuses weights, with a reason")
_UP_TO_TOL = {
    f"check_sample_weight_equivalence_on_{form}_data": "weights equal repeated rows up to tol, not to 1e-7; "
    "svmreduce.testing checks it at a small tol"
    for form in ("dense", "sparse")
}

# Sparse rows in a dozen forms, a network trained on each: fewer passes will do, as will fewer steps of the slowest
_SHORTER = {"network": {"max_iter": 50}, "network_regressor": {"max_iter": 100}, "fw": {"max_iter": 5000}}


_BY_CHANCE = {
    "check_class_weight_classifiers": "weights of 1000 and 0.0001 are beyond its tolerance, 5 % of the objective"
}


def expected_failures(solver) -> dict[str, str]:
    own = _BY_CHANCE if type(solver).__name__ == "Pegasos" else {}
    return own | (_UP_TO_TOL if solver.accepts_weights else _REFUSES_WEIGHTS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [SOLVERS.get(name)(**_SHORTER.get(name, {})) for name in SOLVERS.where], expected_failed_checks=expected_failures
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
