"""``svmreduce doctor``: what a timing on this machine is worth."""

from __future__ import annotations

import os
import platform
from importlib.util import cache_from_source
from pathlib import Path
from time import perf_counter

import click

from svmreduce import __version__
from svmreduce.cli.common import json_option, print_json, print_pairs
from svmreduce.experiments.environment import versions

_REPEATS = 20

_EPILOG = """\b
Examples:
  svmreduce doctor
  svmreduce doctor --json
"""


@click.command(epilog=_EPILOG)
@json_option
def doctor(as_json):
    """Show threads, BLAS, versions, load, memory, folders and the noise floor of this machine."""
    facts = {
        "svmreduce": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": versions(),
        **_machine(),
        "libraries": _thread_libraries(),
        **_folders(),
        "bytecode": Path(cache_from_source(__file__)).exists(),
        "noise": noise_floor(),
    }
    if as_json:
        print_json(facts)
        return
    noise = facts["noise"]
    print_pairs(
        [
            ("svmreduce", facts["svmreduce"]),
            ("python", f"{facts['python']} on {facts['platform']}"),
            ("packages", ", ".join(f"{name} {number}" for name, number in facts["versions"].items())),
            ("cores", f"{facts['cores']}, {facts['cores_allowed']} available to this process"),
            ("threads", f"{facts['threads']} by default"),
            *((lib["library"], f"{lib['threads']} threads, {lib['path']}") for lib in facts["libraries"]),
            ("load", " ".join(f"{value:.2f}" for value in facts["load"]) if facts["load"] else None),
            ("memory", f"{facts['memory_gb']:.1f} GB, {facts['memory_free_gb']:.1f} GB free"),
            ("cache", f"{facts['cache']} ({facts['cache_mb']:.1f} MB)"),
            ("mirror", facts["mirror"] or "none (set SVMREDUCE_MIRROR to a folder with data files)"),
            (
                "noise",
                f"median {1e3 * noise['median']:.2f} ms, spread {noise['spread']:.1%} over {_REPEATS} runs",
            ),
        ]
    )
    if noise["spread"] > 0.1:
        click.echo("The machine is busy or throttled: differences below that spread mean nothing.")
    if not facts["bytecode"]:
        click.echo("Python keeps no bytecode here (PYTHONDONTWRITEBYTECODE?): every command compiles its modules anew.")


def _machine() -> dict:
    import psutil

    from svmreduce.core.threads import available_threads, cores

    memory = psutil.virtual_memory()
    return {
        "cores": os.cpu_count(),
        "cores_allowed": cores(),
        "threads": available_threads(),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "memory_gb": memory.total / 2**30,
        "memory_free_gb": memory.available / 2**30,
    }


def _thread_libraries() -> list[dict]:
    """Thread counts of the libraries that start their own, once everything is loaded."""
    import sklearn.svm  # noqa: F401
    from threadpoolctl import threadpool_info

    return [
        {
            "library": entry["internal_api"],
            "version": entry.get("version"),
            "threads": entry["num_threads"],
            "path": entry["filepath"],
        }
        for entry in threadpool_info()
    ]


def _folders() -> dict:
    from svmreduce.paths import cache_home

    cache = cache_home()
    size = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file()) if cache.is_dir() else 0
    mirror = os.environ.get("SVMREDUCE_MIRROR")
    return {
        "cache": str(cache),
        "cache_mb": size / 2**20,
        "mirror": mirror if mirror and Path(mirror).is_dir() else None,
    }


def noise_floor() -> dict:
    """One short workload, repeated: median seconds and (third - first quartile) / median."""
    import numpy as np

    rows = np.random.default_rng(0).normal(size=(400, 400))
    times = []
    for _ in range(_REPEATS):
        start = perf_counter()
        np.sqrt(np.square(rows[:, None, :20] - rows[None, :, :20]).sum(axis=2)).sum()
        times.append(perf_counter() - start)
    low, median, high = np.quantile(times, [0.25, 0.5, 0.75])
    return {"median": float(median), "spread": float((high - low) / median)}
