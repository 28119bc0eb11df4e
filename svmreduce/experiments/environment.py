"""What a figure depends on besides its task: code, versions, machine, load."""

from __future__ import annotations

import hashlib
import os
import platform
import socket
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "libsvm-official", "liblinear-official")
_RESULTS_COME_FROM = ("core", "data", "model", "reducers", "solvers")  # and the modules next to them


def describe() -> dict:
    """The environment of this process, now."""
    return {**_fixed(), "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None}


@cache
def _fixed() -> dict:
    return {"host": socket.gethostname(), "cpu": _cpu(), "python": platform.python_version(),
            "versions": versions(), "code": code_version()}  # fmt: skip


def versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@cache
def code_version() -> str:
    """A hash of all code that a result can depend on; commands and reports do not count."""
    package = Path(__file__).resolve().parents[1]
    files = [*package.glob("*.py"), *(file for part in _RESULTS_COME_FROM for file in (package / part).rglob("*.py"))]
    files += [package / "experiments" / name for name in ("load_split.py", "primal.py", "worker.py")]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
