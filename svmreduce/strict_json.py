"""JSON that every reader accepts: numbers that are not finite become null, numpy's become plain ones."""

from __future__ import annotations

import json
import math


def dumps(value: object) -> str:
    """One line of strict JSON, in ASCII, so that any text in it survives any encoding."""
    return json.dumps(_plain(value), allow_nan=False)


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):  # a numpy number or array
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
