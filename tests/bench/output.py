"""Where benchmark results go, and on what machine they were measured."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def write(name: str, text: str, records: list, first: str | None = None) -> None:
    """Print the report and keep it, with its records, in results/bench."""
    print(text)
    keep(name, text, records, first)


def keep(name: str, text: str, records: list, first: str | None = None) -> None:
    """Without printing; many records have a line each, if the name of their first number is given."""
    folder = ROOT / "results" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text)
    lines = json.dumps(records).replace(f'{{"{first}":', f'\n{{"{first}":') if first else json.dumps(records, indent=1)
    (folder / f"{name}.json").write_text(lines + "\n")


def machine() -> str:
    found = []
    for name in ("numpy", "numba", "scikit-learn", "libsvm-official", "scikit-learn-intelex"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} absent")
    return f"{_cpu()}, {os.cpu_count()} cores, Python {platform.python_version()}, {', '.join(found)}."


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU")
