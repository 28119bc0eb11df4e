"""How names and grid points are sorted: as people count, not letter by letter."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?)")


def natural_key(text: str) -> tuple:
    """Sorts names as people do: ``a9a`` before ``a10a``, ``epsilon=0.02`` before ``epsilon=0.1``."""
    parts = _NUMBER.split(str(text))
    return tuple((1, 0.0, part) if number % 2 == 0 else (0, float(part), part) for number, part in enumerate(parts))


def point_key(point: dict | tuple) -> tuple:
    """Sorts grid points, as dicts or as pairs of names and values, by their parameters, numbers by size."""
    return tuple((name, _value_key(value)) for name, value in sorted(dict(point).items()))


def _value_key(value) -> tuple:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (0, float(value), "")  # 1 and 1.0 are the same point
    return (1, 0.0, str(value))
