"""Names to classes, and classes to instances; an unknown name lists the known ones and the nearest."""

from __future__ import annotations

import importlib
import inspect

from svmreduce.errors import InputError, nearest_name_error


class Registry:
    """A table of names that imports a module only when its class is asked for."""

    def __init__(self, kind: str, where: dict[str, str]):
        self.kind = kind
        self._where = where  # name -> "module:Class"

    def names(self) -> list[str]:
        return sorted(self._where)

    def get(self, name: str) -> type:
        """The class of a name, or of ``package.module:Class``, which need not be registered."""
        if name not in self._where and ":" not in name:
            raise nearest_name_error(self.kind, name, self._where)
        module, _, attribute = self._where.get(name, name).partition(":")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            if name in self._where:
                raise
            raise InputError(f"{self.kind} {name!r}: {error}; give package.module:Class of your own method") from None
        if not hasattr(found, "tasks"):
            raise InputError(f"{self.kind} {name!r}: is not a {self.kind}; subclass Base{self.kind.title()}")
        return found


def parameters_of(method: type) -> dict:
    """Constructor parameters and their defaults: the constructor is the schema."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(method.__init__).parameters.items()
        if name != "self"
    }


def build_method(name: str, method: type, given: dict):
    """An instance with these parameters, checked; one it does not have is an error that names the nearest."""
    from svmreduce.checks import check_parameters  # imports numpy: too slow for --help

    known = parameters_of(method)
    for key in given:
        if key not in known:
            raise nearest_name_error(f"parameter of {name}", key, known)
    made = method(**given)
    check_parameters(made)
    return made
