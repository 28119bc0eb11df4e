"""``python -m tests.drill --minutes N --seed S [--only KIND]``: what becomes of damaged input, by the thousand.

Every case has its own seed, so that one that fails can be made again alone: ``--only KIND --case NUMBER``. Cases that
need processes (kills, misbehaving methods, lost clusters) get a part of the time; the rest is for files.
"""

import argparse
import math
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from svmreduce.data import libsvm_text
from svmreduce.reducers.derive_rs import DeriveRS
from svmreduce.search import SVMSearchCV
from svmreduce.solvers.smo import SMO
from tests.bench.output import keep, machine
from tests.drill import data_kinds, experiment_kinds, process_kinds, tool_kinds
from tests.drill.outcomes import BAD, FAULT, OUTCOMES, Outcome

FILES = {
    "libsvm": data_kinds.libsvm,
    "csv": data_kinds.table,
    "idx": data_kinds.idx,
    "weights": data_kinds.weights,
    "kernel-model": data_kinds.kernel_model,
    "linear-model": data_kinds.linear_model,
    "config": experiment_kinds.config,
    "card": experiment_kinds.card,
    "records": experiment_kinds.records,
    "plan": experiment_kinds.plan,
    "ranges": tool_kinds.ranges,
    "journal": tool_kinds.journal,
}
PROCESSES = {
    "kill": process_kinds.kill,
    "tune-kill": process_kinds.tune_kill,
    "plug-in": process_kinds.plug_in,
    "dask": process_kinds.dask,
}
KINDS = FILES | PROCESSES
_RATIO = 0.7  # of the time for cases that need processes
_SHARES = {"kill": 5, "tune-kill": 3, "plug-in": 2, "dask": 1}  # of that time
_MEMORY = 12 << 30
_TELL_EVERY = 300  # seconds
_tell = partial(print, flush=True)
_LOADS: list[float] = []


def run_case(kind: str, seed: str, number: int, folder: Path) -> Outcome:
    """One case in an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        return KINDS[kind](random.Random(f"{seed}/{kind}/{number}"), folder)
    except Exception as error:  # of the drill itself, or of the program where the drill calls it directly
        import traceback

        return Outcome(FAULT, f"{type(error).__name__}: {error} | {traceback.format_exc()[-600:]}")


def drill(
    seconds: float, seed: str, kinds: list[str], keep: Path, *, cases: float = math.inf, tell=_tell
) -> dict[str, Counter]:
    """Case after case until the time is over, or every kind has had so many; counts by kind and outcome."""
    for compile_all in (SMO.warm_up, DeriveRS.warm_up, libsvm_text.warm_up, SVMSearchCV.warm_up):
        compile_all()  # which is not hanging
    counts: dict[str, Counter] = {kind: Counter() for kind in kinds}
    numbers, spent = Counter(), Counter()
    start = told = time.monotonic()
    quick, slow = [kind for kind in kinds if kind in FILES], [kind for kind in kinds if kind in PROCESSES]
    with tempfile.TemporaryDirectory(prefix="drill-") as folder:
        while (elapsed := time.monotonic() - start) < seconds and min(numbers[kind] for kind in kinds) < cases:
            is_slow = slow and (not quick or sum(spent[kind] for kind in slow) < _RATIO * elapsed)
            kind = (
                min(slow, key=lambda kind: spent[kind] / _SHARES[kind])
                if is_slow
                else min(quick, key=numbers.__getitem__)
            )
            began = time.monotonic()
            _LOADS.append(os.getloadavg()[0])
            outcome = run_case(kind, seed, numbers[kind], Path(folder) / "case")
            spent[kind] += time.monotonic() - began
            counts[kind][outcome.kind] += 1
            if outcome.kind in BAD:
                tell(_saved(kind, seed, numbers[kind], outcome, Path(folder) / "case", keep))
            numbers[kind] += 1
            if time.monotonic() - told > _TELL_EVERY:
                told = time.monotonic()
                tell(f"{(told - start) / 60:.0f} min, seed {seed}: {dict(numbers)}, {dict(process_kinds.TALLY)}")
    return counts


def _saved(kind, seed, number, outcome, folder, keep) -> str:
    """Keep what failed, with the command that makes it again."""
    place = keep / f"{kind}-{seed}-{number}"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place, symlinks=True, ignore_dangling_symlinks=True)
    again = f"python -m tests.drill --only {kind} --seed {seed} --case {number}"
    (place / "why.txt").write_text(f"{outcome.kind}: {outcome.why}\n{again}\n", errors="backslashreplace")
    return f"{outcome.kind}: {outcome.why[:500]!r}\n    {again}    (files in {place})"


def table(counts: dict[str, Counter]) -> str:
    """Markdown, one row per kind."""
    lines = ["| kind | cases | " + " | ".join(OUTCOMES) + " |", "| --- |" + " ---: |" * (len(OUTCOMES) + 1)]
    rows = [*counts.items(), ("all", sum(counts.values(), Counter()))]
    for kind, count in rows:
        lines.append(f"| {kind} | {count.total()} | " + " | ".join(str(count[name]) for name in OUTCOMES) + " |")
    return "\n".join(lines)


def _in_jobs(given) -> tuple[dict[str, Counter], Counter, list[float]]:
    """Counts, tally, least and largest load; of three jobs, one has the files and two have processes."""
    kinds = given.only or list(KINDS)
    if given.jobs == 1:
        return _job(given, given.seed, kinds)
    parts = [[kind for kind in kinds if kind in FILES], [kind for kind in kinds if kind in PROCESSES]]
    counts, tally, loads = {kind: Counter() for kind in kinds}, Counter(), []
    with ProcessPoolExecutor(given.jobs, get_context("fork")) as pool:
        jobs = [pool.submit(_job, given, f"{given.seed}.{k}", parts[k % 3 > 0]) for k in range(given.jobs)]
        for job in as_completed(jobs):
            mine, its_tally, its_loads = job.result()
            for kind, count in mine.items():
                counts[kind] += count
            tally += its_tally
            loads += its_loads
    return counts, tally, [min(loads), max(loads)]


def _job(given, seed, kinds) -> tuple[dict[str, Counter], Counter, list[float]]:
    counts = drill(60 * given.minutes, seed, kinds, given.keep)
    return counts, process_kinds.TALLY, [min(_LOADS), max(_LOADS)]


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser("python -m tests.drill", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--jobs", type=int, default=1, help="processes beside each other, each for so many minutes")
    parser.add_argument("--only", action="append", choices=list(KINDS), help="may be given several times")
    parser.add_argument("--case", type=int, help="only this case of --only")
    parser.add_argument("--keep", type=Path, default=Path("drill-failures"), help="folder for what failed")
    parser.add_argument("--write", action="store_true", help="write the counts to results/bench/drill.md")
    given = parser.parse_args(arguments)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, hard))
    try:
        if given.case is not None:
            outcome = run_case(given.only[0], given.seed, given.case, given.keep / "again")
            print(f"{outcome.kind}: {outcome.why}\nfiles in {given.keep / 'again'}")
            return int(outcome.kind in BAD)
        counts, tally, loads = _in_jobs(given)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    lines = [table(counts), "", *(f"{what}: {count}" for what, count in tally.items())]
    print(*lines, sep="\n")
    if given.write:
        how = (f"`python -m tests.drill --minutes {given.minutes:g} --seed {given.seed} --jobs {given.jobs}`, "
               f"{time.strftime('%Y-%m-%d')}.\n{machine()}\nLoad {min(loads):.1f} to {max(loads):.1f}.")  # fmt: skip
        keep("drill", "\n\n".join(["# The drill", how, lines[0], *lines[2:]]) + "\n",
             [{"seed": given.seed, "minutes": given.minutes, "jobs": given.jobs, "tally": tally, "loads": loads,
               "counts": counts}])  # fmt: skip
    return int(any(count[name] for count in counts.values() for name in BAD))


if __name__ == "__main__":
    sys.exit(main())
