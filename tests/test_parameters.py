"""Constructors and docstrings that are put together from fields."""

import inspect

import pytest
from sklearn.base import BaseEstimator, clone

from svmreduce.parameters import Parameters
from svmreduce.reducers import REDUCERS
from svmreduce.registry import parameters_of
from svmreduce.solvers import SOLVERS

METHODS = [registry.get(name) for registry in (SOLVERS, REDUCERS) for name in registry.where]


class Parent(Parameters, BaseEstimator, parameters="depth C tol"):
    """A parent.

    It says something.

    Parameters
    ----------
    depth : int
        How deep.

    Attributes
    ----------
    found_ : int
    """

    depth: int = 2
    tol: float = 0.5


class Child(Parent):
    """A child with another default."""

    depth: int = 7


class Short(Parent, parameters="C"):
    """A child with fewer parameters."""


class Explicit(Parent):
    """A child that writes its own constructor.

    Parameters
    ----------
    width : int, default=9
    """

    def __init__(self, width=9, C=1.0):
        super().__init__(3, C)
        self.width = width


class Grandchild(Explicit):
    """Inherits it."""


def test_constructors():
    assert parameters_of(Parent) == {"depth": 2, "C": 1.0, "tol": 0.5}
    assert parameters_of(Child) == {"depth": 7, "C": 1.0, "tol": 0.5}
    assert parameters_of(Explicit) == parameters_of(Grandchild) == {"width": 9, "C": 1.0}
    assert clone(Child(1, 2, tol=3)).get_params() == {"depth": 1, "C": 2, "tol": 3}
    assert vars(Short(C=4)) == {"C": 4}
    assert not hasattr(Short(), "depth")
    assert vars(Grandchild(C=4)) == {"depth": 3, "C": 4, "tol": 0.5, "width": 9}
    with pytest.raises(TypeError, match="unexpected keyword"):
        Short(tol=1)


def test_a_field_must_be_a_parameter():
    with pytest.raises(TypeError, match="Wrong: fields that are not among its parameters: width"):

        class Wrong(Parent, parameters="depth C"):
            width: int = 1


def test_docstrings():
    assert inspect.getdoc(Child) == (
        "A child with another default.\n\nParameters\n----------\ndepth : int, default=7\n    How deep.\n"
        "C : float, default=1.0\n    Penalty of a row's error.\ntol : float, default=0.5\n"
        "    Largest violation of the optimality conditions.\n\nAttributes\n----------\nfound_ : int"
    )
    assert "depth" not in Short.__doc__
    assert "width : int, default=9\nC : float, default=1.0" in Explicit.__doc__


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_every_parameter_is_described(method):
    heads = [line for line in inspect.getdoc(method).splitlines() if " : " in line and not line.startswith(" ")]
    described = dict(head.split(" : ", 1) for head in heads)
    for name, default in parameters_of(method).items():
        assert name in described
        shown = described[name].rpartition(", default=")[2]
        assert default is None or eval(shown) == default
