"""Names to classes, and classes to instances; an unknown name lists the known ones and the nearest.

A name is built in, or comes from an installed package by an entry point of the group ``svmreduce.solvers`` or
``svmreduce.reducers``, or is ``package.module:Class`` itself. A built-in name wins over an entry point.
"""

from __future__ import annotations

import importlib
import inspect
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from svmreduce.errors import InputError, nearest_name_error

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Registry:
    """A table of names that imports a module only when its class is asked for.

    Parameters
    ----------
    kind : "solver" or "reducer"
    where : name -> "module:Class", the built-in methods
    needs : an attribute that classes of this kind have, and no others
    adapter : "module:function" that turns other classes into this kind, or explains why it cannot
    """

    def __init__(self, kind: str, where: dict[str, str], *, needs: str = "tasks", adapter: str | None = None):
        self.kind = kind
        self.where = where
        self._needs = needs
        self._adapter = adapter

    @cached_property
    def entry_points(self) -> dict[str, list[EntryPoint]]:
        """What installed packages offer, by name; found on first use, since every package's metadata is read."""
        from importlib.metadata import entry_points  # too slow for --help

        found: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=f"svmreduce.{self.kind}s"):
            found.setdefault(point.name, []).append(point)
        return found

    def names(self) -> list[str]:
        return sorted({*self.where, *self.entry_points})

    def __contains__(self, name: object) -> bool:
        return name in self.where or name in self.entry_points

    def get(self, name: str) -> type:
        """The class of a name, or of ``package.module:Class``, which need not be registered."""
        if name in self.where:
            return _imported(self.where[name])
        where, advice = name, "give package.module:Class of your own method"
        if ":" not in name:
            point = self._entry_point(name)
            where, advice = _where(point), f"repair or remove the package {_package(point)}"
        try:
            found = _imported(where)
        except (Exception, SystemExit) as error:  # whatever the code of others raises when it is imported
            raise InputError(f"{self.kind} {name!r}: {_reason(error)}; {advice}") from None
        return self._checked(name, found)

    def source_of(self, name: str) -> str:
        """Whose method it is: package and version; blank if it is built in, or if nobody says."""
        if name in self.where:
            return ""
        if ":" not in name:
            return _package(self._entry_point(name))
        package = name.partition(":")[0].partition(".")[0]
        version = getattr(importlib.import_module(package), "__version__", "")
        return f"{package} {version}" if version else ""

    def clashes(self) -> list[str]:
        """What is installed but not used, because its name is built in."""
        return [
            f"{self.kind} {name!r} of {_package(point)} is not used: the name is built in; use {_where(point)}"
            for name, points in self.entry_points.items() if name in self.where
            for point in points
        ]  # fmt: skip

    def _entry_point(self, name: str) -> EntryPoint:
        points = self.entry_points.get(name)
        if not points:
            raise nearest_name_error(self.kind, name, self.names())
        if len(points) > 1:
            owners = " and ".join(_package(point) for point in points)
            raise InputError(f"{self.kind} {name!r} is in {owners}; give one of them as {_where(points[0])}")
        return points[0]

    def _checked(self, name: str, found: object) -> type:
        try:
            if not inspect.isclass(found):
                raise InputError("is not a class")
            lacking = [key for key, default in parameters_of(found).items() if default is inspect.Parameter.empty]
            if lacking:
                raise InputError(f"needs {', '.join(lacking)}; every parameter must have a default")
            if hasattr(found, self._needs) and hasattr(found, "tasks"):
                return found
            if self._adapter is None:
                raise InputError(f"is not a {self.kind}; subclass Base{self.kind.title()}")
            return _imported(self._adapter)(found)
        except InputError as error:
            raise InputError(f"{self.kind} {name!r}: {error}") from None


def _imported(where: str) -> Any:
    module, _, attribute = where.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _where(point: EntryPoint) -> str:
    """``module:Class``, without the extras that an entry point may ask for."""
    return f"{point.module}:{point.attr}"


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, ImportError | AttributeError) and text else f"{type(error).__name__}: {text}"


def parameters_of(method: type) -> dict[str, Any]:
    """Constructor parameters and their defaults: the constructor is the schema, unless a class states it."""
    stated = getattr(method, "parameter_defaults", None)
    if stated is not None:
        return stated
    return dict(_constructor_of(method))


@cache
def _constructor_of(method: type) -> dict[str, Any]:
    return {
        name: parameter.default
        for name, parameter in inspect.signature(method.__init__).parameters.items()
        if name != "self" and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def build_method(name: str, method: type, given: dict[str, Any]) -> Any:
    """An instance with these parameters, checked; one it does not have is an error that names the nearest."""
    from svmreduce.checks import check_parameters  # imports numpy: too slow for --help

    known = parameters_of(method)
    for key in given:
        if key not in known:
            raise nearest_name_error(f"parameter of {name}", key, known)
    made = method(**given)
    check_parameters(made)
    return made
