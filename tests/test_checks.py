"""Parameters of a wrong kind or out of range are told by name, for every method that has them."""

from typing import ClassVar

import numpy as np
import pytest

from svmreduce.checks import SHARE, check_parameters, class_weights, one_of, whole_number
from svmreduce.errors import InputError
from svmreduce.reducers import REDUCERS
from svmreduce.reducers.base import BaseReducer
from svmreduce.registry import parameters_of
from svmreduce.solvers import SOLVERS

METHODS = [registry.get(name) for registry in (SOLVERS, REDUCERS) for name in registry.where]
NOT_NUMBERS = ("abc", True, float("nan"), float("inf"), 10**400, [1.0])
NOT_WHOLE = (*NOT_NUMBERS[:-2], 1.5, -2)
NOT_SWITCHES = ("abc", 1, None)
BAD = {
    **dict.fromkeys(("C", "c", "cache_mb", "gamma", "smoothing"), (*NOT_NUMBERS, None, 0, -5)),
    **dict.fromkeys(("bias", "coef0"), (*NOT_NUMBERS, None)),
    **dict.fromkeys(
        ("shrinking", "dual", "weighted", "verbose", "audit", "separable", "finishing", "certify", "probability"),
        NOT_SWITCHES,
    ),
    **dict.fromkeys(("threads", "rows", "k", "max_rounds", "epochs", "candidates"), (*NOT_WHOLE, 0, -3)),
    **dict.fromkeys(("quiet_samples", "start_rows"), (*NOT_WHOLE, None, 0)),
    "sample_size": (*NOT_WHOLE, None, 1),
    **dict.fromkeys(
        ("E", "P", "V", "max_iter", "working_set", "components", "bins", "units", "leaf_rows"), (*NOT_WHOLE, None, 0)
    ),
    **dict.fromkeys(("first", "space", "covariance", "votes", "drop", "select", "balance"), ("abc", 3, None)),
    **dict.fromkeys(("loss", "first_level", "backend", "selection"), ("abc", 3, None)),
    "tol": (*NOT_NUMBERS, 0, -1e-3),
    "epsilon": (*NOT_NUMBERS, None, -1e-3),
    "share": (*NOT_NUMBERS, None, 0, 1.1),
    "proportion": (*NOT_NUMBERS, None, 0, 1.1),
    **dict.fromkeys(("gelling_slope", "margin"), (*NOT_NUMBERS, None)),
    "gelling_step": (*NOT_NUMBERS, None, 0, 0.2),
    "n_weak": (*NOT_WHOLE, None, 1),
    "n_clusters": (*NOT_WHOLE, None, 0),
    **dict.fromkeys(("exact", "warm_start"), NOT_SWITCHES),
    "weak": ("smoo", 3, None),
    "weak_params": ("abc", 3, [1]),
    "delta": (*NOT_NUMBERS, None, 0, 1),
    "degree": (*NOT_WHOLE, None, 101),
    "kernel": (3, None),
    "random_state": (*NOT_WHOLE, 2**32),
    "class_weight": ("abc", 3),
    "nu": (*NOT_NUMBERS, None, 0, 1.1),
    "max_seconds": (*NOT_NUMBERS, 0, -1.0),
    "callback": ("abc", 3),
    "decision_function_shape": ("ovx", 3, None),
}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_wrong_values_are_told_by_name(method):
    check_parameters(method())
    parameters = method().get_params()
    assert not parameters.keys() - BAD.keys(), "give the new parameter a rule on its class"
    for name in parameters.keys() & BAD.keys():
        for value in BAD[name]:
            with pytest.raises(InputError, match=f"^{name} must be .*, got "):
                check_parameters(method(**{name: value}))


@pytest.mark.parametrize(
    "right",
    [
        {"C": np.float32(2), "gamma": 1, "coef0": -1, "degree": np.int64(0), "max_iter": -1},
        {"threads": None, "random_state": None, "class_weight": {0: 1, 1: 2}, "gamma": "auto"},
        {"random_state": np.random.RandomState(0), "class_weight": "balanced", "max_iter": 7},
    ],
)
def test_right_values_of_any_number_type(right):
    check_parameters(SOLVERS.get("smo")(**right))


@pytest.mark.parametrize("name", [name for name in SOLVERS.names() if "tol" in parameters_of(SOLVERS.get(name))])
def test_none_is_fine_only_where_it_is_the_default(name):
    solver = SOLVERS.get(name)(tol=None)
    if name == "liblinear":
        check_parameters(solver)
    else:
        with pytest.raises(InputError, match=r"tol must be a positive number( or 'auto')?, got None"):
            solver.fit(np.eye(4), [0, 1, 0, 1])


class Head(BaseReducer):
    """The first rows: a method of somebody else, with words that others of ours have in other senses."""

    def __init__(self, first=50, rows="all", tol=0.5, C=1.0):
        self.first = first
        self.rows = rows
        self.tol = tol
        self.C = C

    def _reduce(self, X, y, weights):
        return np.arange(self.first), np.ones(self.first), {}


class StrictHead(Head):
    """With rules of its own: for a new word, for a shared one, and none where there was one."""

    rules: ClassVar = {"first": whole_number(least=1, most=99), "tol": SHARE, "C": None}


class StricterHead(StrictHead):
    """Rules add up along the parents, the nearest first."""

    rules: ClassVar = {"first": whole_number(least=1, most=9), "rows": one_of("all", "none")}


def test_a_word_of_another_method_is_free():
    X, y = np.arange(120.0)[:, None], np.arange(120) % 2
    assert len(Head().fit_reduce(X, y).indices) == 50
    with pytest.raises(InputError, match="C must be a positive number, got -1"):
        Head(C=-1).fit_reduce(X, y)


@pytest.mark.parametrize(
    ("method", "wrong"),
    [
        (StrictHead, {"first": 100, "tol": 2}),
        (StricterHead, {"first": 10, "tol": 2, "rows": "some"}),
    ],
)
def test_rules_on_the_class_add_to_those_of_its_parents(method, wrong):
    check_parameters(method(first=9, C=-1, rows="all"))
    for name, value in wrong.items():
        with pytest.raises(InputError, match=f"^{name} must be .*, got {value!r}$"):
            check_parameters(method(**{"first": 9, name: value}))


def test_class_weights_go_by_the_label_however_it_is_spelled():
    numbers, words = np.array([-1.0, 1.0]), np.array(["no", "yes"])
    assert class_weights({1: 2, "-1": 3}, numbers) == {1.0: 2.0, -1.0: 3.0}
    assert class_weights({"yes": 0.5}, words) == {"yes": 0.5}
    with pytest.raises(InputError, match="names 7, but the classes are"):
        class_weights({7: 1.0}, numbers)
    with pytest.raises(InputError, match="must be a positive number, got 0"):
        class_weights({1: 0}, numbers)
