"""Every classifier of the package on three real data sets, in one table.

``python -m tests.bench solvers [--data a9a,…] [--methods smo,…] [--seconds 300]``. Each runs as a user would run it,
``svmreduce train`` and ``svmreduce predict`` in processes of their own, one after the other, on one thread. The network
has no model file and is fitted in Python.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from svmreduce.data import catalog, fetching
from svmreduce.experiments.load_split import training_and_test
from svmreduce.registry import parameters_of
from svmreduce.solvers import SOLVERS
from tests.bench.output import ROOT, machine, write

# Good values of LIBSVM's C and g on all rows, for all methods alike
CASES = {"ijcnn1": (10, 1), "a9a": (1, 0.05), "w8a": (8, 0.05)}
# Where a method has a size of its own, one that costs about as much as the others
FLAGS = {
    "incremental": ["--reducer", "random", "--set", "rows=1000"],  # keeps all kernel values
    "lp_svc": ["--reducer", "random", "--set", "rows=1000"],  # a dense linear program of about as many rows
    "rfeatsvm1": ["--set", "E=100"],
    "rsvm": ["--set", "share=0.02"],
    "svmperf": ["--set", "k=1000"],
}
# Reductions before an engine, and controls that any of them must beat
PIPELINES = {
    "bootstrap + smo": ["--solver", "smo", "--reducer", "bootstrap", "--set", "share=1.0"],
    "random tenth + smo": ["--solver", "smo", "--reducer", "random", "--set", "share=0.1"],
}


def main(arguments):
    options = argparse.ArgumentParser(prog="python -m tests.bench solvers", description=__doc__)
    options.add_argument("--data", default=",".join(CASES))
    options.add_argument("--methods", help="only these; the others' results stay")
    options.add_argument("--seconds", type=float, default=300)
    given = options.parse_args(arguments)
    kept = ROOT / "results" / "bench" / "solvers.json"
    records = json.loads(kept.read_text()) if kept.exists() else {}
    for data in given.data.split(","):
        if not fetching.locate(catalog.load_card(data)):
            print(f"{data}: no file here, left out", file=sys.stderr)
            continue
        records.setdefault(data, {})
        for name, flags in _methods().items():
            if given.methods and name not in given.methods.split(","):
                continue
            records[data][name] = _one(data, flags, given.seconds)
            print(data, name, records[data][name], flush=True)
            write("solvers", _text(records), records)


def _methods() -> dict[str, list[str]]:
    """All but the ν-SVCs, which are C-SVCs with another scale than C."""
    solvers = {
        name: ["--solver", name, *FLAGS.get(name, [])]
        for name in SOLVERS.names()
        if "classification" in SOLVERS.get(name).tasks and "nu" not in parameters_of(SOLVERS.get(name))
    }
    return solvers | PIPELINES


def _one(data: str, flags: list[str], seconds: float) -> dict:
    """Accuracy, times and vectors, or why there are none."""
    C, gamma = CASES[data]
    solver = SOLVERS.get(flags[1])
    known = parameters_of(solver)
    shared = [*(["-C", C] if "C" in known else []), *(["-g", gamma] if "gamma" in known else [])]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        try:
            if not solver.kernels:
                return _call("tests.bench.solvers", data, flags[1], seconds=seconds)
            quiet = "--json", "--quiet"
            trained = _call("svmreduce", "train", *quiet, *flags, *shared, f"{data}:train", model, seconds=seconds)
            told = _call("svmreduce", "predict", *quiet, f"{data}:test", model, Path(folder) / "out", seconds=seconds)
        except subprocess.TimeoutExpired:
            return {"failed": f"not done in {seconds:g} s"}
        except subprocess.CalledProcessError as error:
            return {"failed": error.stderr.strip().splitlines()[-1]}
    return {
        "accuracy": told["accuracy"],
        "train": sum(trained["seconds"][stage] for stage in ("convert", "reduce", "solve")),
        "vectors": trained["support_vectors"],
        "test": told["seconds"],
        "converged": trained["converged"],
    }


def _in_python(data: str, name: str) -> dict:
    """The same for a method without a model file."""
    rows = training_and_test({"name": data}, {}, None, 0, 0)
    solver = SOLVERS.get(name)()
    start = perf_counter()
    solver.fit(rows.train.X, rows.train.y)
    trained = perf_counter()
    right = float((solver.predict(rows.test.X) == rows.test.y).mean())
    seconds = {"train": trained - start, "test": perf_counter() - trained}
    return {"accuracy": right, "vectors": None, "converged": bool(solver.converged_)} | seconds


def _call(module, *words, seconds) -> dict:
    words = [sys.executable, "-m", module, *map(str, words)]
    environment = os.environ | {"SVMREDUCE_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=seconds, env=environment)
    return json.loads(done.stdout)


def _text(records: dict) -> str:
    lines = ["# Every classifier on three real data sets", "", machine(), "",
             "`svmreduce train` and `predict`, one thread, wall seconds without reading the files; one C and one g per "
             "data set, good ones for LIBSVM on all rows, so no method has its own best. Vectors: those the model "
             "holds; none for linear models and random features. incremental and lp_svc "
             "train on 1,000 random rows. An asterisk: stopped before its tolerance. Other work shared the machine: "
             "times are rough.",
             ]  # fmt: skip
    for data, found in records.items():
        C, gamma = CASES[data]
        lines += ["", f"## {data}, C = {C}, g = {gamma}", "", "| method | accuracy, % | train, s | vectors | test, s |"]
        lines.append("| --- | ---: | ---: | ---: | ---: |")
        for name, row in sorted(found.items(), key=lambda item: -item[1].get("accuracy", -1)):
            if "failed" in row:
                lines.append(f"| {name} | {row['failed']} | | | |")
                continue
            star = "" if row["converged"] else "*"
            vectors = "" if row["vectors"] is None else row["vectors"]
            times = f"{row['train']:.2f} | {vectors} | {row['test']:.2f}"
            lines.append(f"| {name}{star} | {100 * row['accuracy']:.2f} | {times} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(json.dumps(_in_python(*sys.argv[1:])))
