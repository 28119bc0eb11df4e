"""Does ``compare`` raise false alarms on a busy machine, and does it catch what it should?

The smoke config is run again and again, and each run is compared with the first. Then its solver smo is replaced by one
that solves everything twice, and by one that loses a support vector, and these runs are compared with all others.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from itertools import permutations
from pathlib import Path

import numpy as np

from svmreduce.experiments import store, tolerances
from svmreduce.reports.gate.run_comparison import MISSING, REGRESSION, compare_runs
from svmreduce.solvers.smo import SMO
from tests.bench.output import ROOT, machine, write

SMOKE = ROOT / "configs" / "smoke.yaml"


class Twice(SMO):
    def _fit_binary(self, X, y, weights, kernel):
        super()._fit_binary(X, y, weights, kernel)
        return super()._fit_binary(X, y, weights, kernel)


class LosesOne(SMO):
    def _fit_binary(self, X, y, weights, kernel):
        solution = super()._fit_binary(X, y, weights, kernel)
        support = np.flatnonzero(solution.beta)
        solution.beta[support[np.abs(solution.beta[support]).argmin()]] = 0
        return solution


def run(config: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "svmreduce", "run", str(config), "-o", str(folder), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(f"the run failed: {done.stderr}")
    return folder


def regressions(base: Path, new: Path) -> set[str]:
    """The metrics in which ``new`` is worse, by the limits of its config."""
    old_run, new_run = store.read(base), store.read(new)
    result = compare_runs(old_run, new_run, tolerances.from_config(new_run.config.get("compare")))
    return {finding.metric for finding in (*result.of(REGRESSION), *result.of(MISSING))}


def main(arguments=None) -> None:
    parser = argparse.ArgumentParser("python -m tests.bench gate", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="beside the first")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        loads, runs = [], []
        for number in range(given.runs + 1):
            runs.append(run(SMOKE, folder / f"run{number}"))
            loads.append(os.getloadavg()[0])
        caught = {}
        for fault, metric in ((Twice, "time_ratio"), (LosesOne, "vectors")):
            solver = f"  - {{name: 'tests.bench.gate:{fault.__name__}', as: smo}}\n"
            config = folder / f"{fault.__name__}.yaml"
            config.write_text(SMOKE.read_text().replace("  - smo\n", solver))
            bad = run(config, folder / fault.__name__)
            caught[fault.__name__] = sum(metric in regressions(base, bad) for base in runs)
        with_first = sum(bool(regressions(runs[0], new)) for new in runs[1:])
        pairs = [bool(regressions(base, new)) for base, new in permutations(runs, 2)]
    text = f"""# The gate on a busy machine

{machine()} One thread; load {min(loads):.1f} to {max(loads):.1f}. Limits of `configs/smoke.yaml`.

| what | runs compared | worse |
| --- | ---: | ---: |
| the same again, compared with the first run | {given.runs} | {with_first} |
| every run compared with every other | {len(pairs)} | {sum(pairs)} |
| smo solves everything twice, found by its time | {len(runs)} | {caught["Twice"]} |
| smo loses one support vector, found by their number | {len(runs)} | {caught["LosesOne"]} |
"""
    write("gate", text, [{"loads": loads, "with_first": with_first, "pairs": sum(pairs), "caught": caught}])


if __name__ == "__main__":
    main()
