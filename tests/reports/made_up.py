"""Made-up records as lines of ``records.jsonl`` hold them, and runs of them."""

import hashlib
import json
from pathlib import Path

from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import Record

_DEFAULTS = {
    "status": "ok",
    "reason": "",
    "log": "",
    "experiment": "made-up",
    "scale": "smoke",
    "task": "classification",
    "fold": 0,
    "seed": 0,
    "repeat": 0,
    "baseline": "libsvm",
    "solver": "smo",
    "reducer": None,
    "solver_params": {"threads": 1},
    "reducer_params": {},
    "point": {"C": 1.0, "gamma": 0.5},
    "reduction": None,
    "memory_mb": 12.5,
    "started": "2026-01-02T03:04:05Z",
    "engine": "local",
}
_SECTIONS = {
    "seconds": {"load": 0.01, "scale": 0.0, "reduce": 0.0, "convert": 0.01, "solve": 2.0, "predict": 0.1, "total": 2.1},
    "cpu_seconds": {"reduce": 0.0, "solve": 2.0, "predict": 0.1},
    "sizes": {"train_rows": 1000, "kept_rows": 1000, "test_rows": 500, "features": 2, "vectors": 100},
    "counters": {"n_iter": 400, "kernel_evals": 90000, "objective": -12.5, "gap": 0.0009, "residual_max": None},
    "scores": {"accuracy": 0.95, "errors": 25, "auc": 0.99, "mse": None, "mae": None},
    "environment": {
        "host": "box",
        "cpu": "A CPU",
        "load": 0.5,
        "threads": 1,
        "versions": {"numpy": "2.0"},
        "code": "c0de",
        "data_sha256": "",
    },
}


def record(dataset="toy", method="smo", kind="fit", **given) -> dict:
    """One record; the keys of a section are given flat: ``record(solve=3.0, accuracy=0.9)``."""
    made = {"kind": kind, "dataset": dataset, "method": method, **_DEFAULTS}
    made |= {section: dict(content) for section, content in _SECTIONS.items()}
    for key, value in given.items():
        owner = next((made[section] for section in _SECTIONS if key in made[section]), made)
        owner[key] = value
        if key in made["cpu_seconds"]:
            made["cpu_seconds"][key] = value
    what = [made[key] for key in ("kind", "dataset", "method", "fold", "seed", "repeat", "point", "solver_params")]
    made["id"] = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]
    made["key"] = made["id"] + "-here"
    return made


def failed(status="timeout", reason="stopped after 10 s", **given) -> dict:
    """A record without a result."""
    made = record(status=status, reason=reason, **given)
    return made | {section: {} for section in ("cpu_seconds", "counters", "scores")} | {"memory_mb": None}


def run() -> list[dict]:
    """Two data sets, a baseline and a reduced method on a grid of two, one shared reduction each."""
    records = []
    for dataset in ("toy", "board"):
        small = record(
            dataset, "reduced", "reduction", point={"gamma": 0.5}, reduce=0.5, solve=None, reducer="derive_rs"
        )
        small |= {"scores": {}, "counters": {"residual_max": 0.009}}
        small["sizes"] = {"train_rows": 1000, "kept_rows": 200, "features": 2}
        records.append(small)
        for C in (1.0, 10.0):
            point = {"C": C, "gamma": 0.5}
            records.append(record(dataset, "libsvm", solver="libsvm", point=point, n_iter=None, kernel_evals=None))
            reduced = {"reducer": "derive_rs", "reduction": small["id"], "kept_rows": 200, "vectors": 80}
            records.append(record(dataset, "reduced", point=point, solve=1.0, accuracy=0.94, errors=30, **reduced))
    return records


def as_run(records, config=None, unreadable=0) -> Run:
    """The records as read from a folder with this config."""
    made = Run([Record.from_json(entry) for entry in records], unreadable, Path("nowhere/records.jsonl"))
    made.config = config or {}  # in place of the file
    return made


def write(path: Path, records) -> Path:
    """A record file, or a run folder with one."""
    file = path if path.suffix == ".jsonl" else path / "records.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(entry) + "\n" for entry in records))
    return path
