"""Which cell of an experiment a record fills: its name, its identity, its place in a sorted table."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?)")


def identity(record: dict) -> tuple:
    """What two runs of one experiment have in common for a cell; also its place in a sorted table.

    Parameters of the method are not in it: the method's label stands for them, so that a changed default
    shows up as a changed result and not as another cell.
    """
    return (
        natural_key(record["dataset"]),
        natural_key(record["method"]),
        record["kind"],
        _point_key(record.get("point") or {}),
        *(record.get(name) or 0 for name in ("fold", "seed", "repeat")),
    )


def cell_text(record: dict) -> str:
    """The cell within its data set and method, for people: ``C=1, gamma=0.5, fold 0, seed 0``."""
    words = ["reduction"] if record["kind"] == "reduction" else []
    words += [point_text(record.get("point"))] if record.get("point") else []
    words += [f"{name} {record.get(name) or 0}" for name in ("fold", "seed")]
    words += [f"repeat {record['repeat']}"] if record.get("repeat") else []
    return ", ".join(words)


def point_text(point: dict | None) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted((point or {}).items()))


def natural_key(text: str) -> tuple:
    """Sorts names as people do: ``a9a`` before ``a10a``, ``epsilon=0.02`` before ``epsilon=0.1``."""
    parts = _NUMBER.split(str(text))
    return tuple((1, 0.0, part) if number % 2 == 0 else (0, float(part), part) for number, part in enumerate(parts))


def _point_key(point: dict) -> tuple:
    return tuple((name, _value_key(value)) for name, value in sorted(point.items()))


def _value_key(value) -> tuple:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (0, float(value), "")  # 1 and 1.0 are the same point
    return (1, 0.0, str(value))
