"""Names lead to classes; a wrong name leads to the right one."""

import subprocess
import sys

import pytest

from svmreduce.errors import InputError, nearest_name_error
from svmreduce.pipeline import ReducedSolver
from svmreduce.reducers import REDUCERS
from svmreduce.reducers.base import BaseReducer
from svmreduce.registry import Registry
from svmreduce.solvers import SOLVERS
from svmreduce.solvers.base import BaseSolver


@pytest.mark.parametrize(("registry", "base"), [(SOLVERS, (BaseSolver, ReducedSolver)), (REDUCERS, BaseReducer)])
def test_every_name_leads_to_a_class_of_its_kind(registry, base):
    assert registry.names()
    for name in registry.names():
        assert issubclass(registry.get(name), base)


def test_unknown_name_lists_the_known_and_the_nearest():
    with pytest.raises(InputError, match=r"unknown solver 'libsmv': did you mean 'libsvm'\? known are .*smo"):
        SOLVERS.get("libsmv")


def test_no_suggestion_when_nothing_is_near():
    assert str(nearest_name_error("pet", "xyz", ["dog", "cat"])) == "unknown pet 'xyz': known are cat, dog"


def test_a_registry_imports_nothing_until_asked():
    registry = Registry("thing", {"good": "svmreduce.solvers.base:BaseSolver", "broken": "no.such.module:X"})
    assert registry.get("good") is BaseSolver
    with pytest.raises(ModuleNotFoundError):
        registry.get("broken")


def test_the_tables_themselves_are_light():
    code = (
        "import sys, svmreduce.solvers, svmreduce.reducers;"
        "print([m for m in ('numpy', 'sklearn', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
