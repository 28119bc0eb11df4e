"""The reference of experiment files, written from the config models.

``docs/yaml.md`` is what ``python -m svmreduce.experiments.config_reference`` prints; a test compares the two.
"""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from svmreduce.experiments.config_keys import (
    Config,
    DatasetConfig,
    LimitsConfig,
    MethodPart,
    SelectConfig,
    SolverConfig,
    SplitConfig,
)

_PARTS = {
    "An experiment": Config,
    "datasets": DatasetConfig,
    "split": SplitConfig,
    "solvers": SolverConfig,
    "reducers": MethodPart,
    "select": SelectConfig,
    "limits": LimitsConfig,
}
_INTRODUCTION = """# Experiment files

Written by `python -m svmreduce.experiments.config_reference > docs/yaml.md` from the models in
`svmreduce/experiments/config_keys.py`. An unknown key is an error that names the nearest one.

Two keys more at the top of a file: `extends: FILE` takes over the keys of another file, and `scales:` maps `smoke`,
`small` and `full` to keys that they change. Mappings are merged, except for `grid` and `params`; everything else is
replaced.
"""


def reference() -> str:
    """All keys with type, default and meaning, as Markdown."""
    return "\n".join([_INTRODUCTION, *(_section(title, part) for title, part in _PARTS.items())])


def _section(title: str, part: type[BaseModel]) -> str:
    about = " ".join((part.__doc__ or "").split()).replace("``", "`")
    lines = [f"## {title if part is Config else f'`{title}`'}", "", about, "", "| key | value | default | meaning |",
             "| --- | --- | --- | --- |"]  # fmt: skip
    for name, field in part.model_fields.items():
        meaning = " ".join((field.description or "").split()).replace("``", "`").replace("|", r"\|")
        value = _type(field.annotation).replace("|", r"\|")
        lines.append(f"| `{field.alias or name}` | {value} | {_default(field)} | {meaning} |")
    return "\n".join([*lines, ""])


def _default(field) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value in (None, "", [], {}) or value is PydanticUndefined or isinstance(value, BaseModel):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _type(kind: Any) -> str:
    """A type in words."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _type(inner[0])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type(one) for one in inner if one is not type(None)))
    if origin is list:
        return f"list of {_type(inner[0])}"
    if origin is dict:
        return f"mapping of names to {_type(inner[1])}"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "mapping"
    return {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "value"}.get(kind, str(kind))


if __name__ == "__main__":
    print(reference(), end="")
