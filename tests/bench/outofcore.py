"""AESVM on rows that stay on the disk: µs per row, memory and accuracy, beside the in-memory result on fewer rows.

``python -m tests.bench outofcore [--rows 10000000] [--memory-rows 1000000] [--cases checkerboard,twonorm,covertype]``
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from tests.bench.output import ROOT, machine, write

AT_ONCE, TEST_ROWS = 100_000, 100_000  # pyarrow reads a whole group of rows at a time
CASES = {  # gamma, ε, C
    "checkerboard": (1.0, 0.01, 10.0),
    "twonorm": (0.002, 0.05, 10.0),
    "covertype": (1.0, 0.01, 10.0),
}


def rows_of(case: str, rows: int, seed: int):
    """Blocks of generated rows, or of rows of covertype drawn again and again, with noise."""
    from svmreduce.data import catalog, synthetic

    rng = np.random.default_rng([seed, rows])
    data = catalog.load("covertype:2-vs-rest") if case == "covertype" else None
    for start in range(0, rows, AT_ONCE):
        count = min(AT_ONCE, rows - start)
        if data is None:
            yield synthetic.GENERATORS[case](count, rng)
        else:
            drawn = rng.integers(0, data.n_rows, count)
            X = data.X[drawn] if isinstance(data.X, np.ndarray) else data.X[drawn].toarray()
            X[:, :10] += 0.01 * rng.standard_normal((count, 10))  # the columns of numbers; the others are 0 or 1
            yield X, data.y[drawn]


def peak_mb() -> float:
    """Of this process; ``getrusage`` would count that of the process which started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def fit(case: str, path: str, test: str, in_memory: bool) -> dict:
    """One fit, in a process of its own."""
    from svmreduce.aesvm import AESVC
    from svmreduce.data.blocks import open_blocks

    gamma, epsilon, C = CASES[case]
    AESVC.warm_up()
    method, blocks = AESVC(C=C, gamma=gamma, epsilon=epsilon, cache_mb=200), open_blocks(path)
    whole = [np.concatenate(part) for part in zip(*blocks, strict=True)] if in_memory else None
    start, cpu = perf_counter(), process_time()
    if in_memory:
        method.fit(*whole)
    else:
        method.fit_blocks(blocks)
    seconds, cpu = perf_counter() - start, process_time() - cpu
    peak = peak_mb()
    hits = [(method.predict(X) == y).sum() for X, y in open_blocks(test)]
    stages = method.reduction_.info["seconds"] | {"solve": method.seconds_["solve"]}
    return {"case": case, "rows": blocks.n_rows, "features": blocks.n_features, "in_memory": in_memory,
            "kept": method.reduction_.n_rows, "weight_sum": float(method.reduction_.sample_weight.sum()),
            "residual_max": method.reduction_.info["residual_max"], "seconds": seconds, "cpu": cpu, "stages": stages,
            "peak_mb": peak, "accuracy": float(sum(hits) / TEST_ROWS), "threads": len(os.sched_getaffinity(0)),
            "load": os.getloadavg()[0]}  # fmt: skip


def main(arguments):
    options = argparse.ArgumentParser(prog="python -m tests.bench outofcore", description=__doc__)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--memory-rows", type=int, default=1_000_000)
    options.add_argument("--cases", default=",".join(CASES))
    options.add_argument("--one", nargs=4, metavar=("CASE", "FILE", "TEST", "IN_MEMORY"), help=argparse.SUPPRESS)
    given = options.parse_args(arguments)
    if given.one:
        case, path, test, in_memory = given.one
        print(json.dumps(fit(case, path, test, in_memory == "1")))
        return
    from svmreduce.data.columnar import write_parquet

    known = ROOT / "results" / "bench" / "outofcore.json"  # cases that are not run now stay
    earlier = json.loads(known.read_text()) if known.exists() else []
    records = [record for record in earlier if record["case"] not in given.cases.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        for case in given.cases.split(","):
            test = Path(folder, "test.parquet")
            write_parquet(test, rows_of(case, TEST_ROWS, 1))
            for in_memory, rows in ((0, given.rows), (1, given.memory_rows)):
                path = Path(folder, f"{rows}.parquet")
                write_parquet(path, rows_of(case, rows, 0))
                command = [sys.executable, "-m", "tests.bench", "outofcore", "--one", case, path, test, str(in_memory)]
                done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=True)
                records.append(json.loads(done.stdout.splitlines()[-1]))
                print(records[-1], flush=True)
                path.unlink()
    write("outofcore", report(records), records)


def shown(megabytes: float | None) -> str:
    return "" if megabytes is None else f"{megabytes:.0f}"


def report(records) -> str:
    lines = ["# Rows that stay on the disk", "", machine(), "",
             "AESVM from Parquet; SMO has 200 MB for kernel values. Times are of reduction and solver, µs per row "
             "without the seconds that reading took, processor time with them. `load` is that of the whole machine at "
             "the end: above the number of cores, seconds say little, and processor time more.", "",
             "| data | rows | features | g | where | threads | kept, % | largest residual | µs per row "
             "| processor, µs per row | peak MB | accuracy, % | load |",
             "| --- | ---: | ---: | ---: | --- |" + " ---: |" * 8]  # fmt: skip
    for record in records:
        read = record["stages"].get("read", 0.0)
        per_row = [1e6 * seconds / record["rows"] for seconds in (record["seconds"] - read, record["cpu"])]
        lines.append(
            f"| {record['case']} | {record['rows']} | {record['features']} | {CASES[record['case']][0]:g} "
            f"| {'memory' if record['in_memory'] else 'disk'} | {record['threads']} "
            f"| {100 * record['kept'] / record['rows']:.2f} | {record['residual_max']:.5f} | {per_row[0]:.2f} "
            f"| {per_row[1]:.2f} | {shown(record['peak_mb'])} | {100 * record['accuracy']:.2f} | {record['load']:.1f} |"
        )
    return "\n".join([*lines, ""])
