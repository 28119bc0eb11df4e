"""Work that would not fit into memory is refused before it starts; otherwise the system would kill the process."""

from __future__ import annotations

import psutil

from svmreduce.errors import InputError

_GB = 2.0**30


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Raise an InputError when ``what`` needs more bytes than this machine has free."""
    free = psutil.virtual_memory().available
    if needed > free:
        raise InputError(f"{what} need {needed / _GB:.1f} GB of memory, {free / _GB:.1f} GB are free: {remedy}")
