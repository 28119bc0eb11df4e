"""SciPy and scikit-learn without what they seldom need, so that a short command is short.

Both import large modules when they are themselves imported, and hardly ever look at them: ``scipy.stats``, pandas,
even ``numpy.f2py``. That takes as long as all the rest. While a module of theirs is executed, stand-ins take the place
of such modules: they become the real ones when something of them is first wanted. Whoever else imports pandas gets
pandas.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType

_IMPORTERS = {"scipy", "sklearn"}
_SELDOM_NEEDED = ("numpy.f2py", "pandas", "scipy.optimize", "scipy.special", "scipy.stats")


class _StandIn(ModuleType):
    """Stands for a module until an attribute of it is wanted."""

    def __getattr__(self, attribute):
        _withdraw(self)
        real = importlib.import_module(self.__name__)
        self.__dict__.update(real.__dict__)
        return getattr(real, attribute)


class _Finder:
    """Finds modules as Python does; stand-ins are in place while one of SciPy or scikit-learn is executed."""

    is_at_work = False

    def find_spec(self, name: str, path=None, target=None) -> ModuleSpec | None:
        if self.is_at_work or name.partition(".")[0] not in _IMPORTERS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = self._with_stand_ins(spec.loader.exec_module)
        return spec

    def _with_stand_ins(self, execute):
        def executed(module):
            importlib.import_module("numpy")  # both need it; its stand-in must be an attribute of it
            stand_ins = [] if self.is_at_work else [_StandIn(name) for name in _SELDOM_NEEDED if _is_absent(name)]
            self.is_at_work, before = True, self.is_at_work
            for stand_in in stand_ins:
                _put_in_place(stand_in)
            try:
                execute(module)
            finally:
                self.is_at_work = before
                for stand_in in stand_ins:
                    _withdraw(stand_in)

        return executed


def _is_absent(name: str) -> bool:
    """Whether it could be imported, and is not yet; one that is not installed must stay so."""
    package, _, rest = name.partition(".")
    return name not in sys.modules and (bool(rest) or find_spec(package) is not None)


def _put_in_place(stand_in: _StandIn) -> None:
    """As an import does it: among all modules, and as an attribute of its package."""
    sys.modules[stand_in.__name__] = stand_in
    package, _, name = stand_in.__name__.rpartition(".")
    if package in sys.modules:
        setattr(sys.modules[package], name, stand_in)


def _withdraw(stand_in: _StandIn) -> None:
    if sys.modules.get(stand_in.__name__) is stand_in:
        del sys.modules[stand_in.__name__]
    package, _, name = stand_in.__name__.rpartition(".")
    if package in sys.modules and vars(sys.modules[package]).get(name) is stand_in:
        delattr(sys.modules[package], name)


def put_off_seldom_needed() -> None:
    """From now on, in this process; where a seldom needed module is imported already, nothing is put off."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
