"""DeriveRS: µs per row by size and by data, one thread and two.

``python -m tests.bench reduction [--repeats 7] [--threads 1,2]``
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

from svmreduce.core.jit import njit
from svmreduce.core.threads import in_threads
from svmreduce.data import catalog, fetching, synthetic
from svmreduce.reducers.derive_rs import DeriveRS
from tests.bench.output import machine, write

SIZES = (10_000, 100_000, 1_000_000)


def cases():
    """(name, gamma, X, y), one at a time: the largest takes some memory."""
    for rows in SIZES:
        data = synthetic.make("checkerboard", rows, seed=0)
        yield f"checkerboard:{rows}", 1.0, data.X, data.y
    yield "skin-like, 3-d:1000000", 1.0, *skin_like(1_000_000)
    for name, variant in (("ijcnn1", ""), ("w8a", ""), ("covertype", ":2-vs-rest")):
        if fetching.locate(catalog.load_card(name)):
            data = catalog.load(name + variant)
            yield name, 1.0, data.X, data.y


def skin_like(rows: int):
    """Colour-like triples in [0, 1]: a tight, correlated class among a broad one, on a grid of 256 levels."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(rows) < 0.2, 1.0, -1.0)
    tone = rng.random((rows, 1))
    skin = np.array([0.3, 0.2, 0.15]) + tone * np.array([0.6, 0.5, 0.45]) + 0.03 * rng.normal(size=(rows, 3))
    other = tone + 0.2 * rng.normal(size=(rows, 3))
    X = np.clip(np.where(y[:, None] > 0, skin, other), 0, 1)
    return np.round(X * 255) / 255, y


def main(arguments):
    options = argparse.ArgumentParser(prog="python -m tests.bench reduction", description=__doc__)
    options.add_argument("--repeats", type=int, default=7)
    options.add_argument("--threads", default="1,2")
    given = options.parse_args(arguments)
    counts = [int(threads) for threads in given.threads.split(",")]
    DeriveRS.warm_up()
    records = []
    for name, gamma, X, y in cases():
        times = {threads: [] for threads in counts}
        for _ in range(given.repeats):  # interleaved
            for threads in counts:
                reducer = DeriveRS(gamma=gamma, epsilon=1e-2, threads=threads)
                kept = reducer.fit_reduce(X, y)
                times[threads].append(reducer.seconds_)
        record = {"data": name, "rows": len(y), "features": X.shape[1], "gamma": gamma,
                  "kept_percent": 100 * len(kept.indices) / len(y), "residual_max": kept.info["residual_max"],
                  "seconds": {threads: min(values) for threads, values in times.items()}}  # fmt: skip
        records.append(record)
        print(record, flush=True)
    write("reduction", report(records, counts), records)


@njit()
def _spin(steps):
    total = 0.0
    for step in range(steps):
        total += (step * 1.0000001) % 3.0
    return total


def control_ratio(steps=20_000_000, repeats=9) -> float:
    """What two threads bring on this machine where nothing is shared."""
    _spin(1)
    times = []
    for threads in (1, 2) * repeats:
        start = perf_counter()
        in_threads(lambda _: _spin(steps), 2, threads)
        times.append(perf_counter() - start)
    return min(times[::2]) / min(times[1::2])


def report(records, counts) -> str:
    heads = [f"{threads} thread{'s' if threads > 1 else ''}, µs per row" for threads in counts]
    lines = ["# DeriveRS benchmark", "", machine(), "",
             "ε = 1e-2, P = 1e5, V = 1e3, rbf; the least of the repeats, thread counts interleaved; checking the "
             "input, both segregation levels and the extreme points are inside.", "",
             f"Control: the same work without memory, twice one after the other and then on two threads at once, "
             f"took {control_ratio():.2f} times less; no ratio below can be more.", "",
             f"| data | rows | features | g | kept, % | largest residual | {' | '.join(heads)} | ratio |",
             "| --- |" + " ---: |" * (len(counts) + 6)]  # fmt: skip
    for record in records:
        per_row = [1e6 * record["seconds"][threads] / record["rows"] for threads in counts]
        shown = " | ".join(f"{value:.2f}" for value in [*per_row, per_row[0] / per_row[-1]])
        lines.append(f"| {record['data']} | {record['rows']} | {record['features']} | {record['gamma']:g} "
                     f"| {record['kept_percent']:.1f} | {record['residual_max']:.5f} | {shown} |")  # fmt: skip
    boards = [record for record in records if record["data"].startswith("checkerboard")]
    if len(boards) > 1:
        for threads in counts:
            rows = np.log([record["rows"] for record in boards])
            slope = np.polyfit(rows, np.log([record["seconds"][threads] for record in boards]), 1)[0]
            lines.append(f"\nCheckerboard, {threads} thread(s): time grows as rows to the power {slope:.2f}.")
    return "\n".join(lines) + "\n"
