"""The checks for other packages: all our methods pass them, and each finds the fault it is there for."""

import re

import numpy as np
import pytest

from svmreduce import SMO, BaseReducer, RandomSample
from svmreduce.reducers import REDUCERS
from svmreduce.solvers import SOLVERS
from svmreduce.testing import check_reducer, check_solver, reducer_checks, run_check, solver_checks

PARAMETERS = {
    # one pass is an approximation; passes until no row violates give the optimum, in which weights are repetitions
    "lasvm": {"epochs": 50},
    # the labels of these rows are random: all weak SVMs are wrong about every row of the rarer classes
    "bootstrap": {"balance": "equal"},
    # with one cluster they are the plain SVMs
    "dcsvm": {"n_clusters": 3},
    "dcsvr": {"n_clusters": 3},
    # a digit more costs ten times the steps; that the default tol is reached stands in test_contract
    "fw": {"tol": 1e-4},
    "network": {"tol": 1e-3},
    "network_regressor": {"tol": 1e-3},
}
# Two fits of these come near the same optimum, but their decision values differ by so much.
BY_CHANCE = {
    # steps of size 1/t on rows in random order: a digit more costs ten times the steps
    **dict.fromkeys(("pegasos", "kernel_pegasos"), 0.2),
    "fw": 1e-4,  # steps toward rows only: a digit more costs ten times the steps
    "bvm": 0.6,  # a ball of fixed radius has many centres, and which is found depends on the rows it began with
}
SKIPPED = {
    # LIBSVM's ν-SVC divides by the margin, which is zero there; the error says that the objective is not finite
    "libsvm_nu_svc": ("check_nothing_but_zeros", "check_equal_rows_of_both_classes"),
    # rows in another order, or repeated ones, are divided in another way; test_dcsvm has the weights inside a cluster
    "dcsvm": ("check_the_order_of_rows_does_not_name_the_classes", "check_whole_weights_equal_repeated_rows"),
    "dcsvr": ("check_whole_weights_equal_repeated_rows",),
}


def each(registry, checks_of):
    """Every built-in method with every check that applies to it."""
    named = set(registry.where) - {"one_class", "libsvm_one_class"}  # which have no labels
    methods = {name: registry.get(name)(**PARAMETERS.get(name, {})) for name in sorted(named)}
    return [
        pytest.param(name, method, check, id=f"{name}-{check.__name__.removeprefix('check_')}")
        for name, method in methods.items()
        for check in checks_of(method)
        if check.__name__ not in SKIPPED.get(name, ())
    ]


@pytest.mark.parametrize(("name", "method", "check"), each(SOLVERS, solver_checks))
def test_every_solver(name, method, check):
    run_check(check, method, BY_CHANCE.get(name, 0.0))


@pytest.mark.filterwarnings("ignore:no row of class")
@pytest.mark.parametrize(("name", "method", "check"), each(REDUCERS, reducer_checks))
def test_every_reducer(name, method, check):
    run_check(check, method)


class Forgetful(RandomSample):
    """Says that it gives weights, and does not."""

    def _reduce(self, X, y, weights):
        indices, _, info = super()._reduce(X, y, weights)
        return indices, np.ones(len(indices)), info


class Twice(RandomSample):
    def _reduce(self, X, y, weights):
        indices, kept, info = super()._reduce(X, y, weights)
        return np.repeat(indices, 2), np.repeat(kept / 2, 2), info


class Secretive(RandomSample):
    def _reduce(self, X, y, weights):
        indices, kept, _ = super()._reduce(X, y, weights)
        return indices, kept, {"mask": np.ones(3)}


class Wide(BaseReducer):
    """Makes rows of another width."""

    selects_rows = False

    def _reduce(self, X, y, weights):
        return np.ones((2, 7)), y[:2], np.full(2, weights.sum() / 2), {}


class Backwards(SMO):
    def decision_function(self, X):
        return -super().decision_function(X)


class Blind(SMO):
    """Takes weights and does not look at them."""

    def _fit_binary(self, X, y, weights, kernel):
        return super()._fit_binary(X, y, np.ones(len(y)), kernel)


class Moody(SMO):
    def predict(self, X):
        return np.random.default_rng().permutation(super().predict(X))


@pytest.mark.parametrize(
    ("check", "method", "said"),
    [
        (check_reducer, Forgetful, "Forgetful: kept rows are given rows: the weights add up to 31, those of all"),
        (check_reducer, Twice, "Twice: kept rows are given rows: InputError: Twice must return row numbers"),
        (check_reducer, Secretive, "Secretive: counters can be recorded: JSON cannot hold info"),
        (check_reducer, Wide, "Wide: made rows are like given rows: InputError: Wide made rows of 7 columns"),
        (check_solver, Backwards, "Backwards: any two labels: a decision value above zero must mean classes_[1]"),
        (check_solver, Blind, "Blind: whole weights equal repeated rows: weights and repetitions: values differ"),
        (check_solver, Moody, "Moody: "),
    ],
)  # fmt: skip
def test_a_fault_is_found_and_named(check, method, said):
    with pytest.raises(AssertionError, match=re.escape(said)):
        check(method)


def test_a_check_can_be_left_out_by_its_name():
    check_reducer(Secretive, skip=["check_counters_can_be_recorded"])
    with pytest.raises(ValueError, match="skip names no check of this method: check_nothing"):
        check_reducer(Secretive, skip=["check_nothing"])
