"""Training and prediction beside official LIBSVM, scikit-learn and scikit-learn-intelex.

``python -m tests.bench engine [--sizes 20000,50000] [--only NAME,NAME] [--repeats 3]``
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from statistics import geometric_mean, median

from tests.bench import problems
from tests.bench.output import ROOT, machine, write
from tests.bench.worker import CACHE_MB

OWN, BASE = "svmreduce smo", "LIBSVM"
PEERS = ["scikit-learn", "intelex f64", "intelex f32"]
CONTROLS = ["10 % sample", "Nystroem-300 + ridge", "Nystroem-300 + LIBLINEAR"]
RECORDS = ROOT / "results" / "runs" / "engine.jsonl"  # raw, not committed
LONG = 4.0  # seconds; a fit that takes longer is not repeated
CLOCKS = ("seconds", "cpu_seconds", "predict_seconds", "predict_cpu_seconds")


def main(arguments):
    options = argparse.ArgumentParser(prog="python -m tests.bench engine", description=__doc__)
    options.add_argument("--sizes", default=",".join(map(str, problems.SIZES)))
    options.add_argument("--only", default="", help="problems by name, e.g. a9a,twonorm:20000")
    options.add_argument("--repeats", type=int, default=2)
    options.add_argument("--threads", default="1,2")
    options.add_argument("--methods", help="only these and LIBSVM, on one thread, beside our own; separated by ;")
    options.add_argument("--resume", action="store_true", help="go on from the records of the last run")
    given = options.parse_args(arguments)
    sizes = tuple(int(size) for size in given.sizes.split(","))
    chosen = given.only.split(",") if given.only else problems.names(sizes)
    RECORDS.parent.mkdir(parents=True, exist_ok=True)
    if not given.resume:
        RECORDS.unlink(missing_ok=True)
    for name in chosen:
        threads = [int(threads) for threads in given.threads.split(",")]
        measure(name, threads, given.repeats, given.methods and given.methods.split(";"))
    records = stored()
    cells = summarise(records)
    names = [name for name in problems.names() if any(record["problem"] == name for record in records)]
    thread_counts = sorted({record["threads"] for record in records})
    write("engine", report(cells, names, thread_counts), list(cells.values()))


def stored() -> list[dict]:
    return [json.loads(line) for line in RECORDS.read_text().splitlines()] if RECORDS.exists() else []


def measure(problem: str, thread_counts: list[int], repeats: int, chosen: list[str] | None = None) -> None:
    """Every method on one problem, interleaved in shuffled order, each fit in a process of its own."""
    runs = [(OWN, threads) for threads in thread_counts]
    for threads in thread_counts if chosen is None else thread_counts[:1]:
        others = [BASE, *PEERS, *(CONTROLS if threads == 1 else [])]
        runs += [(name, threads) for name in others if chosen is None or name in (BASE, *chosen)]
    order = random.Random(0)
    for turn in range(repeats):
        for method, threads in order.sample(runs, len(runs)):
            key = (problem, threads, method)
            done = [record for record in stored() if (record["problem"], record["threads"], record["method"]) == key]
            if len(done) > turn or any(record.get("seconds", LONG) >= LONG for record in done):
                continue
            record = run(method, problem, threads)
            with RECORDS.open("a") as file:
                file.write(json.dumps(record) + "\n")
            said = f"{record['seconds']:.2f} s" if "seconds" in record else record["error"]
            print(f"  {problem} {threads} thread(s) turn {turn + 1} {method}: {said}", file=sys.stderr, flush=True)


def run(method, problem, threads, timeout=None) -> dict:
    command = [sys.executable, "-W", "ignore", "-m", "tests.bench.worker", method, problem, str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=timeout)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        return {"method": method, "problem": problem, "threads": threads, "error": lines[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1])


def summarise(records) -> dict:
    """Median over repeats for times, last value for everything else."""
    cells = {}
    for record in records:
        cells.setdefault((record["problem"], record["threads"], record["method"]), []).append(record)
    for key, runs in cells.items():
        good = [run for run in runs if "seconds" in run] or runs[:1]
        cell = dict(good[-1], repeats=len(good))
        for field in (*CLOCKS, "memory_mb"):
            if field in cell:
                cell[field] = median(run[field] for run in good)
        if "seconds" in cell:
            cell["least_seconds"] = min(run["seconds"] for run in good)
        cells[key] = cell
    return cells


def report(cells, chosen, thread_counts) -> str:
    loads = [cell["load"] for cell in cells.values() if "load" in cell] or [0.0]
    lines = ["# Engine benchmark", "", machine(), "",
             f"Cache {CACHE_MB} MB for every solver; medians of repeats, methods interleaved, one process per fit. "
             "Ratios within 30 % are ties on a shared machine.",
             "Times are those of `fit`; official LIBSVM's leaves out data conversion. One thread: processor seconds, "
             "which other work on the machine changes least; more threads: seconds on the clock. "
             f"Load average of the machine: {min(loads):.1f} to {max(loads):.1f}.", ""]  # fmt: skip
    for threads in thread_counts:
        lines += _speed_table(cells, chosen, threads)
    lines += _thread_table(cells, chosen, thread_counts)
    lines += _objective_table(cells, chosen) + _prediction_table(cells, chosen) + _control_table(cells, chosen)
    return "\n".join(lines) + "\n"


def _get(cells, problem, threads, method, field):
    return cells.get((problem, threads, method), {}).get(field)


def _speed_table(cells, chosen, threads) -> list[str]:
    clock = "cpu_seconds" if threads == 1 else "seconds"
    if not any((problem, threads, BASE) in cells for problem in chosen):
        return []
    lines = [f"## Training, {threads} thread{'s' if threads > 1 else ''}: times faster than official LIBSVM", "",
             f"| problem | LIBSVM, s | {OWN}, s | {OWN} | {' | '.join(PEERS)} | {OWN} / best of the others |",
             "| --- |" + " ---: |" * (len(PEERS) + 4)]  # fmt: skip
    columns = {name: [] for name in [OWN, *PEERS, "best"]}
    for problem in chosen:
        base, own = (_get(cells, problem, threads, m, clock) for m in (BASE, OWN))
        if not base or not own:
            lines.append(f"| {problem} | failed: {cells.get((problem, threads, OWN), {}).get('error', '?')} |")
            continue
        row = [base / own]
        columns[OWN].append(base / own)
        best = base
        for peer in PEERS:
            value = _get(cells, problem, threads, peer, clock)
            row.append(base / value if value else None)
            if value:
                columns[peer].append(base / value)
                best = min(best, value)
        columns["best"].append(best / own)
        shown = " | ".join("not run" if ratio is None else f"{ratio:.1f}" for ratio in [*row, best / own])
        lines.append(f"| {problem} | {base:.2f} | {own:.3f} | {shown} |")
    means = " | ".join(f"**{geometric_mean(c):.1f}**" if c else "" for c in columns.values())
    return [*lines, f"| **geometric mean** | | | {means} |", ""]


def _thread_table(cells, chosen, thread_counts) -> list[str]:
    """Our own engine on more threads: wall seconds, the least of the repeats, which other work lengthens least."""
    fits = max(cells.get((problem, n, OWN), {}).get("repeats", 0) for problem in chosen for n in thread_counts)
    lines = [f"## Our engine on several threads: wall seconds, the least of up to {fits} fits", "",
             f"| problem | threads: {' | '.join(map(str, thread_counts))} | times faster | of the medians |",
             "| --- |" + " ---: |" * (len(thread_counts) + 2)]  # fmt: skip
    ratios = {"least_seconds": [], "seconds": []}
    for problem in chosen:
        times = {field: [_get(cells, problem, threads, OWN, field) for threads in thread_counts] for field in ratios}
        if all(times["least_seconds"]):
            for field, values in times.items():
                ratios[field].append(values[0] / values[-1])
            shown = " | ".join(f"{time:.3f}" for time in times["least_seconds"])
            lines.append(f"| {problem} | {shown} | {ratios['least_seconds'][-1]:.2f} | {ratios['seconds'][-1]:.2f} |")
    if not ratios["seconds"] or len(thread_counts) < 2:
        return []
    means = " | ".join(f"**{geometric_mean(values):.2f}**" for values in ratios.values())
    return [*lines, f"| **geometric mean** |{' |' * len(thread_counts)} {means} |", ""]


def _objective_table(cells, chosen) -> list[str]:
    threads = 1
    lines = ["## Objective against official LIBSVM, support vectors, memory (1 thread)", "",
             "| problem | LIBSVM's objective | relative difference | support vectors, LIBSVM | own | accuracy, LIBSVM "
             "| own | memory above the data, own, MB | LIBSVM |", "| --- |" + " ---: |" * 8]  # fmt: skip
    for problem in chosen:
        base, own = (cells.get((problem, threads, m), {}) for m in (BASE, OWN))
        if base.get("objective") and own.get("objective"):
            off = (own["objective"] - base["objective"]) / abs(base["objective"])
            lines.append(f"| {problem} | {base['objective']:.4f} | {off:+.1e} | {base['vectors']} | {own['vectors']} "
                         f"| {base['accuracy']:.4f} | {own['accuracy']:.4f} | {own['memory_mb']:.0f} "
                         f"| {base['memory_mb']:.0f} |")  # fmt: skip
    return [*lines, ""]


def _predict_ns(cell: dict):
    return cell["predict_cpu_seconds"] / cell["test_rows"] / cell["vectors"] * 1e9 if cell.get("vectors") else None


def _prediction_table(cells, chosen) -> list[str]:
    names = [BASE, OWN, *PEERS]
    lines = ["## Prediction, 1 thread: ns per row and support vector", "",
             f"| problem | {' | '.join(names)} | {OWN}, times faster than LIBSVM |",
             "| --- |" + " ---: |" * (len(names) + 1)]  # fmt: skip
    ratios = []
    for problem in chosen:
        values = [_predict_ns(cells.get((problem, 1, name), {})) for name in names]
        if values[0] and values[1]:
            ratios.append(values[0] / values[1])
            shown = " | ".join("" if value is None else f"{value:.1f}" for value in values)
            lines.append(f"| {problem} | {shown} | {ratios[-1]:.1f} |")
    if ratios:
        lines.append(f"| **geometric mean** |{' |' * len(names)} **{geometric_mean(ratios):.1f}** |")
    return [*lines, ""]


def _control_table(cells, chosen) -> list[str]:
    if not any(name in CONTROLS for _, _, name in cells):
        return []
    lines = ["## What users would try first (1 thread): seconds (accuracy)", "",
             f"| problem | {OWN} | {' | '.join(CONTROLS)} |", "| --- |" + " ---: |" * (len(CONTROLS) + 1)]  # fmt: skip
    for problem in chosen:
        found = [cells.get((problem, 1, name), {}) for name in [OWN, *CONTROLS]]
        shown = " | ".join(
            f"{c['cpu_seconds']:.2f} ({c['accuracy']:.4f})" if "cpu_seconds" in c else "failed" for c in found
        )
        lines.append(f"| {problem} | {shown} |")
    return [*lines, ""]
