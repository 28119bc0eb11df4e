"""How near the engine is to the machine's limit.

``python -m tests.bench limit [--mnist 10000,60000] [--covertype 40000] [--threads 1,2] [--repeats 2]``

- MNIST, ten classes, beside scikit-learn-intelex in float32: training, and prediction of the 10,000 test rows.
- covertype, class 2 against the rest, columns in [0, 1], C = 32, gamma = 32: processor time as a multiple of what
  numpy's float32 product and exp would take for as many kernel values, measured in the same process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from time import process_time

import numpy as np

from svmreduce.data import catalog, fetching
from tests.bench import engine
from tests.bench.output import ROOT, machine, write
from tests.bench.worker import READY_MEMORY

PEER = "intelex f32"
CLOCKS = ("cpu_seconds", "predict_cpu_seconds", "seconds", "predict_seconds")


def main(arguments):
    options = argparse.ArgumentParser(prog="python -m tests.bench limit", description=__doc__)
    options.add_argument("--mnist", default="10000,60000")
    options.add_argument("--covertype", default="40000")
    options.add_argument("--threads", default="1,2")
    options.add_argument("--repeats", type=int, default=2)
    given = options.parse_args(arguments)
    records = _earlier()
    for rows in _numbers(given.mnist) if fetching.locate(catalog.load_card("mnist")) else ():
        for threads in _numbers(given.threads):
            records[f"mnist:{rows}:{threads}"] = _mnist(rows, threads, given.repeats)
    for rows in _numbers(given.covertype) if fetching.locate(catalog.load_card("covertype")) else ():
        records[f"covertype:{rows}"] = min(
            (_in_process(rows) for _ in range(given.repeats)), key=lambda one: one["cpu"]
        )
    write("limit", report(records), records)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def _earlier() -> dict:
    file = ROOT / "results" / "bench" / "limit.json"
    return json.loads(file.read_text()) if file.exists() else {}


def _mnist(rows: int, threads: int, repeats: int) -> dict:
    """The least of the repeats, the two programs in turn."""
    found = {}
    for _ in range(repeats):
        for method in (PEER, engine.OWN):
            record = engine.run(method, f"mnist:{rows}", threads)
            if "error" in record:
                raise RuntimeError(f"{method}: {record['error']}")
            print(record, file=sys.stderr, flush=True)
            known = found.setdefault(method, record)
            for clock in CLOCKS:
                known[clock] = min(known[clock], record[clock])
    return found


def _in_process(rows: int) -> dict:
    subprocess.run([sys.executable, "-c", READY_MEMORY], check=True)
    command = [sys.executable, "-m", "tests.bench.limit", str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    print(done.stdout, file=sys.stderr, flush=True)
    return json.loads(done.stdout)


def _covertype(rows: int) -> dict:
    from svmreduce.solvers.smo import SMO
    from tests.bench.tune import _rows

    SMO.warm_up()
    X, y = _rows(f"covertype:{rows}")
    units = [_unit(X)]
    model = SMO(C=32, gamma=32, threads=1)
    start = process_time()
    model.fit(X, y)
    cpu = process_time() - start
    units.append(_unit(X))  # before and after: other work may come and go
    return {
        "rows": rows,
        "cpu": cpu,
        "unit": min(units),
        "kernel_values": model.kernel_evals_,
        "steps": model.n_iter_,
        "vectors": len(model.support_),
        "gap": float(model.gap_),
        "objective": float(model.objective_),
    }


def _unit(X) -> float:
    """Seconds for one kernel value by numpy: a float32 product of 2,048 rows with others, and exp; the least."""
    left, right = -X[:2048].astype(np.float32), X[2048:4096].astype(np.float32)
    values, times = np.empty((2048, 2048), np.float32), []
    for _ in range(30):
        start = process_time()
        np.matmul(left, right.T, out=values)
        np.exp(values, out=values)
        times.append(process_time() - start)
    return min(times) / values.size


def report(records: dict) -> str:
    lines = ["# The engine and the limit", "", machine(), "",
             "MNIST, ten classes, grey values in [0, 1], C = 10, gamma = 0.0134; dense rows for both (intelex takes "
             "twice as long with sparse ones). Processor seconds, wall seconds in brackets; prediction of 10,000 rows. "
             "The least of repeats, the programs in turn.", "",
             "| rows | threads | training, intelex f32 | svmreduce smo | times faster | prediction, intelex f32 | "
             "svmreduce smo | times faster | accuracy, intelex f32 | svmreduce smo | support vectors | "
             "objective, relative difference |", "| ---: |" + " ---: |" * 11]  # fmt: skip
    for name, one in records.items():
        if name.startswith("mnist"):
            lines.append(_mnist_line(one[PEER], one[engine.OWN]))
    lines += ["", "covertype, C = 32, gamma = 32, one thread. *Unit*: one kernel value by numpy's float32 product "
              "(54 features) and exp.", "",
              "| rows | processor seconds | kernel values | unit, ns | processor time / (values × unit) | pair steps | "
              "support vectors | gap |", "| ---: |" + " ---: |" * 7]  # fmt: skip
    for name, one in records.items():
        if name.startswith("covertype"):
            ratio = one["cpu"] / (one["kernel_values"] * one["unit"])
            lines.append(f"| {one['rows']:,} | {one['cpu']:.1f} | {one['kernel_values'] / 1e9:.2f}·10⁹ | "
                         f"{one['unit'] * 1e9:.2f} | {ratio:.2f} | {one['steps']:,} | {one['vectors']:,} | "
                         f"{one['gap']:.1e} |")  # fmt: skip
    return "\n".join(lines) + "\n"


def _mnist_line(theirs: dict, ours: dict) -> str:
    rows, threads = ours["problem"].partition(":")[2], ours["threads"]
    clock, cells = "cpu_seconds" if threads == 1 else "seconds", []
    for stage in ("", "predict_"):
        cells += [f"{one[stage + 'cpu_seconds']:.2f} ({one[stage + 'seconds']:.2f})" for one in (theirs, ours)]
        cells.append(f"{theirs[stage + clock] / ours[stage + clock]:.1f}")
    off = (ours["objective"] - theirs["objective"]) / abs(theirs["objective"])
    cells += [f"{theirs['accuracy']:.4f}", f"{ours['accuracy']:.4f}", str(ours["vectors"]), f"{off:+.1e}"]
    return f"| {int(rows):,} | {threads} | {' | '.join(cells)} |"


if __name__ == "__main__":
    print(json.dumps(_covertype(int(sys.argv[1]))))
