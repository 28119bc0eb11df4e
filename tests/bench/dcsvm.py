"""Divide and conquer beside the exact SVM, random samples and AESVM, on two threads.

``python -m tests.bench dcsvm [--only covertype,ijcnn1,…]``. Each fit runs in a process of its own, compilation off the
clock; results of cases that are not run stay. Processor seconds are those of the fit: they depend less on what else
the machine does than wall seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from time import perf_counter, process_time

from tests.bench.output import ROOT, machine, write

THREADS = 2
ALL_ROWS = 464_809
# Data, training rows, C and gamma; then the methods: a solver with its own parameters
CASES = {
    "covertype": ("covertype", ALL_ROWS, 32, 32.0, {
        "dcsvm": ("DCSVM", {}),
        "dcsvm, 64 clusters": ("DCSVM", {"n_clusters": 64}),
        "dcsvm, 24 clusters": ("DCSVM", {"n_clusters": 24}),
        "smo": ("SMO", {"cache_mb": 2500}),
        "80,000 random rows": ("SMO", {"rows": 80_000}),
        "aesvm, gamma 8, epsilon 0.05": ("AESVC", {"gamma": 8.0, "epsilon": 0.05}),
    }),
    "ijcnn1": ("ijcnn1", None, 32, 1.0, {
        "smo": ("SMO", {}),
        "dcsvm": ("DCSVM", {}),
        "dcsvm, 8 clusters": ("DCSVM", {"n_clusters": 8}),
        "dcsvm exact": ("DCSVM", {"exact": True}),
    }),
    "kdd99": ("kdd99", None, 32, 1.0, {
        "smo": ("SMO", {}),
        "dcsvm": ("DCSVM", {}),
        "dcsvm, 32 clusters": ("DCSVM", {"n_clusters": 32}),
    }),
    "twonorm": ("twonorm", None, 1, 0.5, {
        "smo": ("SMO", {}),
        "dcsvm": ("DCSVM", {}),
        "dcsvm, 8 clusters": ("DCSVM", {"n_clusters": 8}),
    }),
    **{
        f"covertype:{rows}": ("covertype", rows, 32, 32.0, {
            "smo": ("SMO", {}),
            "dcsvm exact": ("DCSVM", {"exact": True}),
            "dcsvm exact, 4 clusters": ("DCSVM", {"exact": True, "n_clusters": 4}),
            "dcsvm": ("DCSVM", {}),
        })
        for rows in (20_000, 40_000, 160_000)
    },
}  # fmt: skip
ABOUT = {
    "covertype": "a random 80 % of the rows in random order, type 2 against the rest, columns to [0, 1], tested on the "
    "other 20 %. So `smo` under covertype:20000 and the like is trained on a random sample of that size",
    "ijcnn1": "49,990 rows, 91,701 test rows",
    "kdd99": "distinct rows, normal against attack, columns to [0, 1]; a random 80 % and 20 %",
    "twonorm": "generated, 3 columns, 235,000 rows, 50,000 test rows",
}


def main(arguments):
    options = argparse.ArgumentParser(prog="python -m tests.bench dcsvm", description=__doc__)
    options.add_argument("--only", default=",".join(CASES))
    options.add_argument("--methods", help="only these, separated by ;")
    given = options.parse_args(arguments)
    kept = ROOT / "results" / "bench" / "dcsvm.json"
    records = json.loads(kept.read_text()) if kept.exists() else {}
    for case in given.only.split(","):
        for method in CASES[case][-1]:
            if given.methods and method not in given.methods.split(";"):
                continue
            command = [sys.executable, "-W", "ignore", "-m", "tests.bench.dcsvm", case, method]
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            found = {"error": last} if done.returncode else json.loads(done.stdout.splitlines()[-1])
            records.setdefault(case, {})[method] = found
            print(case, method, found, file=sys.stderr, flush=True)
            write("dcsvm", _text(records), records)


def _text(records) -> str:
    lines = ["# Divide and conquer", "", machine(), "",
             f"{THREADS} threads. Load: what wanted a core in the last minute, less the fit itself (0: idle machine). "
             "It lengthens wall seconds, and to a lesser degree processor seconds. Memory: the most that the "
             "process had, with the rows in double.", ""]  # fmt: skip
    for case in (name for name in CASES if name in records):
        data, rows, C, gamma, methods = CASES[case]
        about = f"the first {rows:,} training rows of `covertype`" if ":" in case else ABOUT[data]
        about = f"{about}; C = {C}, gamma = {gamma:g}"
        lines += [f"## {case}", "", f"{about[0].upper()}{about[1:]}.", "",
                  "| method | accuracy | wall s | processor s | load | clusters | vectors | steps | kernel values "
                  "| objective | memory, GB |", "| --- |" + " ---: |" * 10]  # fmt: skip
        for method in (name for name in methods if name in records[case]):
            lines.append(f"| {method} | {_cells(records[case][method])} |")
        lines.append("")
    return "\n".join(lines)


def _cells(found: dict) -> str:
    if "error" in found:
        return found["error"]
    few = ("clusters", "vectors", "steps")
    return " | ".join(
        [f"{found['accuracy']:.2%}", f"{found['wall']:.1f}", f"{found['cpu']:.1f}", f"{found['load']:.1f}",
         *("" if found[name] is None else f"{found[name]:,}" for name in few),
         "" if found["kernel_evals"] is None else f"{found['kernel_evals']:.2e}", f"{found['objective']:.3f}",
         f"{found['memory_gb']:.1f}" if "memory_gb" in found else ""]
    )  # fmt: skip


def one(case: str, method: str) -> dict:
    import svmreduce

    data, rows, C, gamma, methods = CASES[case]
    X, y, X_test, y_test = _rows(data)
    name, own = methods[method]
    rows, own = own.get("rows", rows), {key: value for key, value in own.items() if key != "rows"}
    X, y = X[:rows], y[:rows]
    kind = getattr(svmreduce, name)
    kind.warm_up()
    solver = kind(**{"C": C, "gamma": gamma, "threads": THREADS, **own})
    cpu, wall = process_time(), perf_counter()
    solver.fit(X, y)
    cpu, wall = process_time() - cpu, perf_counter() - wall
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    facts = solver.fit_facts()
    return {
        "accuracy": float((solver.predict(X_test) == y_test).mean()),
        "wall": wall,
        "cpu": cpu,
        "memory_gb": memory,
        "load": max(0.0, os.getloadavg()[0] - cpu / wall),
        "clusters": getattr(solver, "n_clusters_", None),
        "vectors": facts.vectors,
        "steps": facts.iterations,
        "kernel_evals": facts.kernel_evals,
        "objective": facts.objective,
        "gap": facts.gap,
        "kept": facts.kept,
    }


def _rows(data: str):
    """Training rows in random order, and test rows."""
    import numpy as np

    from svmreduce.data import catalog, synthetic

    if data == "twonorm":
        train, test = (synthetic.make(data, n, seed=seed, features=3) for n, seed in ((235_000, 0), (50_000, 1)))
    elif data == "ijcnn1":
        train, test = (catalog.load(data, part) for part in ("train", "test"))
    else:
        whole = catalog.load({"covertype": "covertype:2-vs-rest", "kdd99": "kdd99:distinct"}[data], scaled=False)
        order = np.random.default_rng(0).permutation(whole.n_rows)
        train, test = np.split(order, [int(0.8 * whole.n_rows)])
        low, high = whole.X[train].min(axis=0), whole.X[train].max(axis=0)
        X = (whole.X - low) / np.where(high > low, high - low, 1.0)
        return X[train], whole.y[train], X[test], whole.y[test]
    return train.X, train.y, test.X, test.y


if __name__ == "__main__":
    print(json.dumps(one(*sys.argv[1:])))
