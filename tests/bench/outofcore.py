"""Rows that stay on the disk: µs per row, memory and accuracy of AESVM, beside the in-memory result on fewer rows, and
of ``dcsvm``, beside a random sample that takes about the same time.

``python -m tests.bench outofcore [--rows 10000000] [--memory-rows 1000000] [--cases checkerboard,twonorm,covertype]``
``python -m tests.bench outofcore --method dcsvm [--engine dask] [--rows …] [--cases …]``
``python -m tests.bench outofcore --workers 1,2,4 [--rows …] [--cases …]`` (AESVM on so many workers of dask)
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter, sleep

import numpy as np
import psutil

from tests.bench.output import ROOT, machine, write

AT_ONCE, TEST_ROWS = 100_000, 100_000  # pyarrow reads a whole group of rows at a time
CASES = {  # gamma, ε, C
    "checkerboard": (1.0, 0.01, 10.0),
    "twonorm": (0.002, 0.05, 10.0),
    "covertype": (1.0, 0.1, 1.0),
}
CLUSTERED = {"covertype": (32.0, 32.0)}  # gamma, C of dcsvm and its random sample where they are not those of AESVM
STAGES = ("read", "scan", "partition", "derive", "solve")
MEMORY = 1 << 30
EQUAL, GROWTH = 0.8, 1.65  # of the time is near enough; the time of an SVM grows with that power of its rows


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


def peak_mb(process: int | str = "self") -> float:
    """Of one process; ``getrusage`` would count that of the process which started it."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


class Peak(threading.Thread):
    """The largest memory of the worker processes of this one, together, looked at twice a second."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peaks: dict[int, float] = {}
        self.start()

    def run(self):
        while True:
            for child in psutil.Process().children(recursive=True):
                with suppress(OSError, StopIteration, psutil.Error):
                    self.peaks[child.pid] = peak_mb(child.pid)
            sleep(0.5)


def build(case: str, method: str, size: int):
    """The method, and its work in a process of its own; ``size`` is that of a random sample."""
    from svmreduce import DCSVM, SMO, RandomSample, ReducedSolver
    from svmreduce.aesvm import AESVC

    gamma, epsilon, C = CASES[case]
    if method == "aesvm":
        return AESVC(C=C, gamma=gamma, epsilon=epsilon, cache_mb=200)
    gamma, C = CLUSTERED.get(case, (gamma, C))
    if method == "dcsvm":
        return DCSVM(C=C, gamma=gamma, cache_mb=200)
    return ReducedSolver(RandomSample(rows=size, weighted=False), SMO(C=C, gamma=gamma, cache_mb=200))


def fit(case: str, path: str, test: str, method: str, where: str, size: str) -> dict:
    """One fit, in a process of its own; ``where`` is memory, local or dask; ``size`` that of a sample, or how many
    workers of dask were started beforehand."""
    from svmreduce.data.blocks import open_blocks

    workers = int(size) if where == "dask" else 0
    solver, blocks = build(case, method, int(size)), open_blocks(path)
    for part in (solver.solver, solver.reducer) if method == "random" else (solver,):
        type(part).warm_up()
    whole = [np.concatenate(part) for part in zip(*blocks, strict=True)] if where == "memory" else None
    children = Peak()
    with cluster_of(workers) as scheduler:
        start, cpu = perf_counter(), all_cpu()
        if where == "memory":
            solver.fit(*whole)
        else:
            solver.fit_blocks(blocks, engine=where, scheduler=scheduler, memory=MEMORY)
        seconds, cpu = perf_counter() - start, all_cpu() - cpu
    peak = peak_mb() + sum(children.peaks.values())
    began = perf_counter()
    hits = [(solver.predict(X) == y).sum() for X, y in open_blocks(test)]
    record = {"case": case, "method": method, "rows": blocks.n_rows, "features": blocks.n_features, "where": where,
              "gamma": solver.model_.kernel.gamma, "seconds": seconds, "cpu": cpu, "peak_mb": peak,
              "vectors": solver.model_.n_vectors, "accuracy": float(sum(hits) / TEST_ROWS),
              "predict": perf_counter() - began, "threads": len(os.sched_getaffinity(0)),
              "load": os.getloadavg()[0], **({"workers": workers} if workers else {})}  # fmt: skip
    if method == "dcsvm":
        return record | {"clusters": solver.n_clusters_, "stages": solver.seconds_}
    info = solver.reduction_.info
    record |= {"kept": solver.reduction_.n_rows, "stages": info["seconds"] | {"solve": solver.seconds_["solve"]}}
    if method == "aesvm":
        kept = solver.reduction_.X.tobytes() + solver.reduction_.sample_weight.tobytes()
        record |= {"weight_sum": float(solver.reduction_.sample_weight.sum()), "residual_max": info["residual_max"],
                   "kept_sha256": hashlib.sha256(kept).hexdigest()[:12]}  # fmt: skip
    return record


@contextmanager
def cluster_of(workers: int):
    """The address of a new cluster of this machine; None without workers."""
    if not workers:
        yield None
        return
    from distributed import LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


def all_cpu() -> float:
    """Processor seconds of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


def in_own_process(*words) -> dict:
    command = [sys.executable, "-m", "tests.bench", "outofcore", "--one", *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    record = json.loads(done.stdout.splitlines()[-1])
    print(record, flush=True)
    return record


def sample_of_equal_time(case: str, path, test, rows: int, cpu: float) -> dict:
    """A random sample whose processor time is nearly that; its size is found by trying."""
    size, record = 4000, None
    while record is None or (record["cpu"] < EQUAL * cpu and size < rows):
        if record is not None:
            size = min(rows, int(size * min(4.0, (cpu / record["cpu"]) ** (1 / GROWTH))))
        record = in_own_process(case, path, test, "random", "local", size)
    return record


def main(arguments):
    options = argparse.ArgumentParser(prog="python -m tests.bench outofcore", description=__doc__)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--memory-rows", type=int, default=1_000_000)
    options.add_argument("--cases", default=",".join(CASES))
    options.add_argument("--method", choices=["aesvm", "dcsvm"], default="aesvm")
    options.add_argument("--engine", choices=["local", "dask"], default="local")
    options.add_argument("--workers", default="")
    options.add_argument("--one", nargs=6, help=argparse.SUPPRESS)
    given = options.parse_args(arguments)
    if given.one:
        print(json.dumps(fit(*given.one)))
        return
    from svmreduce.data.columnar import write_parquet

    made = []
    with tempfile.TemporaryDirectory() as folder:
        for case in given.cases.split(","):
            test = Path(folder, "test.parquet")
            write_parquet(test, rows_of(case, TEST_ROWS, 1))
            for workers in filter(None, given.workers.split(",")):
                path = Path(folder, "workers.parquet")
                if not path.exists():
                    write_parquet(path, rows_of(case, given.rows, 0))
                made.append(in_own_process(case, path, test, "aesvm", "dask", workers))
            if given.workers:
                path.unlink()
                continue
            for where, rows in ((given.engine, given.rows), ("memory", given.memory_rows)):
                if where == "memory" and given.method == "dcsvm":
                    continue
                path = Path(folder, f"{rows}.parquet")
                write_parquet(path, rows_of(case, rows, 0))
                made.append(in_own_process(case, path, test, given.method, where, 0))
                if (given.method, given.engine) == ("dcsvm", "local"):
                    made.append(sample_of_equal_time(case, path, test, rows, made[-1]["cpu"]))
                path.unlink()
    known = ROOT / "results" / "bench" / "outofcore.json"  # what was not measured again stays
    earlier = json.loads(known.read_text()) if known.exists() else []
    records = [record for record in earlier if key(record) not in map(key, made)] + made
    write("outofcore", report(records), records)


def key(record: dict) -> tuple:
    return tuple(record.get(name) for name in ("case", "method", "where", "rows", "workers"))


def shown(megabytes: float | None) -> str:
    return "" if megabytes is None else f"{megabytes:.0f}"


def report(records) -> str:
    clusters = [record for record in records if "workers" in record]
    aesvm = [record for record in records if record["method"] == "aesvm" and "workers" not in record]
    others = [record for record in records if record["method"] != "aesvm"]
    settings = "; ".join(f"{case}: gamma {g:g}, ε {e:g}, C {C:g}" for case, (g, e, C) in CASES.items())
    times = ("µs per row without the seconds that reading took, processor time with them. `load` is that of the whole "
             "machine at the end: above the number of cores, seconds say little, and processor time more.")  # fmt: skip
    lines = ["# Rows that stay on the disk", "", machine(), "",
             f"AESVM from Parquet, 1 GB of memory allowed, SMO has 200 MB of it for kernel values ({settings}). Times "
             f"are of reduction and solver, {times}", "",
             "| data | rows | features | g | where | threads | kept, % | largest residual | µs per row "
             "| processor, µs per row | peak MB | accuracy, % | load |",
             "| --- | ---: | ---: | ---: | --- |" + " ---: |" * 8]  # fmt: skip
    for record in aesvm:
        wall, cpu = per_row(record)
        lines.append(
            f"| {record['case']} | {record['rows']} | {record['features']} | {CASES[record['case']][0]:g} "
            f"| {'memory' if record['where'] == 'memory' else 'disk'} | {record['threads']} "
            f"| {100 * record['kept'] / record['rows']:.2f} | {record['residual_max']:.5f} | {wall:.2f} "
            f"| {cpu:.2f} | {shown(record['peak_mb'])} | {100 * record['accuracy']:.2f} | {record['load']:.1f} |"
        )
    if others:
        lines += ["", "## Divide and conquer", "",
                  "`dcsvm` from Parquet with 1 GB of memory allowed and 200 MB for the kernel values of a cluster, and "
                  "below it the SVM of a random sample that took about its processor time. Prediction is that of "
                  f"{TEST_ROWS} rows. With dask: two worker processes, whose memory is in the peak. Times: {times}", "",
                  "| data | rows | method | engine | g | clusters | sample | vectors | µs per row "
                  "| processor, µs per row | peak MB | accuracy, % | prediction, s | load |",
                  "| --- | ---: | --- | --- |" + " ---: |" * 10]  # fmt: skip
    for record in others:
        wall, cpu = per_row(record)
        lines.append(
            f"| {record['case']} | {record['rows']} | {record['method']} | {record['where']} | {record['gamma']:g} "
            f"| {record.get('clusters', '')} | {record.get('kept', '')} | {record['vectors']} | {wall:.2f} | {cpu:.2f} "
            f"| {shown(record['peak_mb'])} | {100 * record['accuracy']:.2f} | {record['predict']:.1f} "
            f"| {record['load']:.1f} |"
        )
    if clusters:
        lines += ["", "## AESVM on workers of dask", "",
                  "Worker processes on this machine, started beforehand. `derive` is what they do; the other stages "
                  "are those of the process that leads. Kept rows and weights are compared by their hash.", "",
                  "| data | rows | workers | seconds | read | scan | scatter | derive | solve | kept rows | load |",
                  "| --- |" + " ---: |" * 10]  # fmt: skip
    for record in clusters:
        stages = " | ".join(f"{record['stages'][name]:.1f}" for name in STAGES)
        lines.append(f"| {record['case']} | {record['rows']} | {record['workers']} | {record['seconds']:.1f} "
                     f"| {stages} | {record['kept_sha256']} | {record['load']:.1f} |")  # fmt: skip
    return "\n".join([*lines, ""])


def per_row(record: dict) -> list[float]:
    """Wall time without reading and processor time, in µs."""
    read = record["stages"].get("read", 0.0)
    return [1e6 * seconds / record["rows"] for seconds in (record["seconds"] - read, record["cpu"])]
