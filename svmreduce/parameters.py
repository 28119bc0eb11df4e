"""Constructors from fields: a class declares only the parameters that are its own, or that have another default.

``class LSSVM(Parameters, SVMClassifier, parameters="C kernel gamma coef0 degree tol")`` gets the constructor
``LSSVM(C=1.0, kernel="rbf", …)``: an explicit signature, as scikit-learn's ``clone`` and ``get_params`` need it. The
order is written out because it is public. Type, default and description of a parameter are those of the nearest class
that declares it. A class may write its own ``__init__``; then only its docstring is completed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import make_dataclass
from typing import ClassVar, dataclass_transform

_SECTION = re.compile(r"^(Parameters|Attributes|References|Notes)\n-+$", re.MULTILINE)
_DEFAULT = re.compile(r", default=[^,]*$")


@dataclass_transform()
class Parameters:
    """The parameters that mean the same in every method, with their usual defaults.

    Parameters
    ----------
    C : float
        Penalty of a row's error.
    kernel : {kernels}
    gamma : float or {"scale", "auto", "auto-distance"}
    coef0 : float
        Constant of the kernels poly, sigmoid and kmod.
    degree : int
        Of the kernel poly.
    tol : float
        Largest violation of the optimality conditions.
    cache_mb : float
        Memory for kernel values.
    max_iter : int
        Maximum number of steps of a two-class problem; -1 leaves the limit to the solver.
    threads : int or None
        None takes every core this process may use.
    class_weight : None, "balanced" or dict
        Factor on C per class.
    probability : bool
        Also learn class probabilities for ``predict_proba``: Platt's sigmoids on the decision values of five
        cross-validation folds. Makes the fit about five times as long.
    verbose : bool
        Report progress on standard error.
    random_state : int, RandomState or None
    """

    _fields: ClassVar[dict[str, tuple]]  # declared by this class: name -> (name, type, default)
    _order: ClassVar[list[str]]  # of the constructor's parameters; empty where a class writes its own
    _own_docstring: ClassVar[str]

    C: float = 1.0
    kernel: str = "rbf"
    gamma: float | str = "scale"
    coef0: float = 0.0
    degree: int = 3
    tol: float = 1e-3
    cache_mb: float = 1024
    max_iter: int = -1
    threads: int | None = None
    class_weight: str | dict | None = None
    probability: bool = False
    verbose: bool = False
    random_state: object = 0

    def __init_subclass__(cls, parameters: str = "", **options):
        super().__init_subclass__(**options)
        _take_in_fields(cls)
        if "__init__" in vars(cls):
            cls._order = []
        elif parameters or cls._fields:
            cls._order = parameters.split() or getattr(cls, "_order", [])
            _add_constructor(cls, cls._order)
        cls.__doc__ = _whole_docstring(cls)


def _take_in_fields(cls: type) -> None:
    """Take the defaults out of the class: whether an object has a parameter is up to its constructor alone."""
    cls._own_docstring = vars(cls).get("__doc__") or ""
    kinds = {name: kind for name, kind in inspect.get_annotations(cls).items() if "ClassVar" not in str(kind)}
    cls._fields = {name: (name, kind, vars(cls)[name]) for name, kind in kinds.items()}
    for name in kinds:
        delattr(cls, name)


def _add_constructor(cls: type, names: list[str]) -> None:
    """An ``__init__`` of these parameters; no names, as for a class that is only a parent, add none."""
    if not names:
        return
    known = {}
    for base in reversed(cls.__mro__):
        known |= vars(base).get("_fields", {})
    if forgotten := cls._fields.keys() - set(names):
        raise TypeError(f"{cls.__name__}: fields that are not among its parameters: {', '.join(sorted(forgotten))}")
    constructor = make_dataclass(cls.__name__, [known[name] for name in names]).__init__
    constructor.__module__, constructor.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    cls.__init__ = constructor


def _whole_docstring(cls: type) -> str:
    """Its own docstring with what it inherits: every parameter of the constructor, and all attributes."""
    intro, sections = _sections(cls)
    inherited = [_sections(base)[1] for base in reversed(cls.__mro__) if issubclass(base, Parameters)]
    described = _entries(section.get("Parameters", "") for section in inherited)
    sections["Parameters"] = "\n".join(
        _described(cls, described[name], parameter.default)
        for name, parameter in inspect.signature(cls.__init__).parameters.items()
        if name in described
    )
    sections["Attributes"] = "\n".join(_entries(section.get("Attributes", "") for section in inherited).values())
    order = ("Parameters", "Attributes", "Notes", "References")
    return "\n\n".join(
        [intro, *(f"{name}\n{'-' * len(name)}\n{sections[name]}" for name in order if sections.get(name))]
    )


def _sections(cls: type) -> tuple[str, dict[str, str]]:
    """The text before the first section of the class's own docstring, and the sections."""
    intro, *rest = _SECTION.split(inspect.cleandoc(cls._own_docstring))
    return intro.strip(), {name: text.strip("\n") for name, text in zip(rest[::2], rest[1::2], strict=True)}


def _entries(texts: Iterable[str]) -> dict[str, str]:
    """Entries by name, ``name : type`` and the indented lines below it; a later text replaces an earlier one."""
    entries = [entry for text in texts for entry in re.split(r"\n(?=\S)", text) if entry]
    return {entry.partition(" : ")[0]: entry for entry in entries}


def _described(cls: type, entry: str, default: object) -> str:
    """The entry with the default of this class, and the kernels that it takes."""
    head, *lines = entry.splitlines()
    head = _DEFAULT.sub("", head)
    if "{kernels}" in head:
        words = ", ".join(f'"{name}"' for name in getattr(cls, "kernels", ()))
        head = head.replace("{kernels}", f"{{{words}}}" if words else "str")
    if default is not None:
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        head += f", default={shown}"
    return "\n".join([head, *lines])


_take_in_fields(Parameters)
