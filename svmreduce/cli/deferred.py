"""scikit-learn without what it seldom needs, so that a short command is short.

scikit-learn imports ``scipy.stats`` and pandas when it is itself imported, which takes longer than all the rest, and
hardly ever looks at them. While it is imported, stand-ins take their place: they become the real modules when
something of them is first wanted. Whoever imports pandas later gets pandas.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType

_SELDOM_NEEDED = ("scipy.stats", "pandas")


class _StandIn(ModuleType):
    """Stands for a module until an attribute of it is wanted."""

    def __getattr__(self, attribute):
        _withdraw(self)
        real = importlib.import_module(self.__name__)
        self.__dict__.update(real.__dict__)
        return getattr(real, attribute)


def import_scikit_learn() -> None:
    """Import its base; where it or a seldom needed module is imported already, nothing is put off."""
    if "sklearn" in sys.modules:
        return
    absent = [name for name in _SELDOM_NEEDED if name not in sys.modules and importlib.util.find_spec(name)]
    stand_ins = [_StandIn(name) for name in absent]
    for stand_in in stand_ins:
        sys.modules[stand_in.__name__] = stand_in
    importlib.import_module("sklearn.base")
    for stand_in in stand_ins:
        _withdraw(stand_in)


def _withdraw(stand_in: _StandIn) -> None:
    if sys.modules.get(stand_in.__name__) is stand_in:
        del sys.modules[stand_in.__name__]
