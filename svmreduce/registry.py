"""Names to classes; an unknown name lists the known ones and the nearest."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable

from svmreduce.errors import InputError


def nearest_name_error(kind: str, given: str, known: Iterable[str]) -> InputError:
    """The one sentence every unknown name gets, wherever it was typed."""
    known = sorted(known)
    close = difflib.get_close_matches(given, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return InputError(f"unknown {kind} {given!r}: {hint}known are {', '.join(known) or 'none'}")


class Registry:
    """A table of names that imports a module only when its class is asked for."""

    def __init__(self, kind: str, where: dict[str, str]):
        self.kind = kind
        self._where = where  # name -> "module:Class"

    def names(self) -> list[str]:
        return sorted(self._where)

    def get(self, name: str) -> type:
        if name not in self._where:
            raise nearest_name_error(self.kind, name, self._where)
        module, _, attribute = self._where[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
