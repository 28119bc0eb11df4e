"""Work that would not fit into memory is refused before it starts; otherwise the system would kill the process."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import psutil

from svmreduce.errors import InputError

_GB = 2.0**30
_CGROUP = Path("/sys/fs/cgroup")
_DENSE_ROWS = 8  # of all columns, that a solver or a model may have at a time
_FEW_COLUMNS = 1 << 20
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def free_bytes() -> int:
    """Memory that this process can still get: of the machine, of its container, and of its own limit."""
    free = psutil.virtual_memory().available
    with suppress(OSError, ValueError):  # no such files outside of a container, or the word "max" in them
        limit, used = (int((_CGROUP / f"memory.{name}").read_text()) for name in ("max", "current"))
        free = min(free, limit - used)
    with suppress(ImportError):  # Unix only
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            free = min(free, limit - psutil.Process(os.getpid()).memory_info().vms)
    return max(0, free)


def memory_limit(text: str | None = None) -> int:
    """The bytes that ``--memory`` allows, such as 2GB, 500M or a plain number; by default a third of what is free."""
    if text is None:
        return free_bytes() // 3
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", text.strip(), re.IGNORECASE)
    if not found or not float(found[1]):
        raise InputError(f"--memory {text}: need a size such as 500MB or 2GB")
    return int(float(found[1]) * 2 ** _UNITS[found[2].lower()])


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Raise an InputError when ``what`` needs more bytes than this process can get."""
    free = free_bytes()
    if needed > free:
        shown = f"{needed / _GB:.1f}" if needed < 1e18 else "more than a billion"
        raise InputError(f"{what} need {shown} GB of memory, {free / _GB:.1f} GB are free: {remedy}")


def check_columns(columns: int, where: object) -> None:
    """Raise an InputError when one index stands for more columns than the dense rows of our loops can have.

    Solvers and models keep a few dense rows (weights, a row per thread), however sparse the data is.
    """
    if columns > _FEW_COLUMNS:
        remedy = "renumber the features"
        check_memory(_DENSE_ROWS * 8.0 * columns, f"{where}: {columns} columns (the largest index)", remedy)
