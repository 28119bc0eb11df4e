"""What ``import svmreduce`` offers: every method, and types on everything that is public."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import svmreduce
from svmreduce.reducers import REDUCERS
from svmreduce.solvers import SOLVERS

METHODS = [where.split(":") for registry in (SOLVERS, REDUCERS) for where in registry.where.values()]
# Modules that a package with methods of its own imports from
MODULES = ("checks", "errors", "kernels", "norms", "pipeline", "registry", "rows", "strict_json", "testing", "types")


def test_every_method_is_at_the_top():
    for module, name in METHODS:
        assert getattr(svmreduce, name) is getattr(importlib.import_module(module), name)
        assert name in dir(svmreduce) and name in svmreduce.__all__
    with pytest.raises(AttributeError, match="module 'svmreduce' has no attribute 'SMOO'"):
        _ = svmreduce.SMOO


def test_the_top_imports_nothing_until_asked():
    code = (
        "import sys, svmreduce; dir(svmreduce); print([m for m in ('numpy', 'importlib.metadata') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_types_are_shipped():
    assert (Path(svmreduce.__file__).parent / "py.typed").is_file()


def functions_of(thing):
    """Functions and methods that belong to the package, by name, without what begins with an underscore."""
    if inspect.isfunction(thing):
        yield thing.__qualname__, thing
    for base in inspect.getmro(thing) if inspect.isclass(thing) else ():
        for name, member in vars(base).items():
            function = getattr(member, "__func__", getattr(member, "fget", member))
            if base.__module__.startswith("svmreduce") and not name.startswith("_") and inspect.isfunction(function):
                yield f"{base.__qualname__}.{name}", function


def test_every_public_function_has_types():
    things = [getattr(svmreduce, name) for name in svmreduce.__all__]
    for module in (importlib.import_module(f"svmreduce.{name}") for name in MODULES):
        own = {name: thing for name, thing in vars(module).items() if not name.startswith("_")}
        things += [thing for thing in own.values() if getattr(thing, "__module__", "") == module.__name__]
    functions = dict(pair for thing in things for pair in functions_of(thing))
    assert len(functions) > 80
    untyped = [
        f"{name}: {part}"
        for name, function in functions.items()
        for part in [*inspect.signature(function).parameters, "return"]
        if part not in {"self", "cls", *function.__annotations__}
    ]
    assert untyped == []
