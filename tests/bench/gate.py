"""Does ``compare`` raise false alarms on a busy machine, and does it catch what it should?

The smoke config is run again and again; each run is compared with the committed baseline and with every other run. In
between, its solver smo is replaced by one that solves everything twice, and by one that loses a support vector.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from itertools import permutations, product
from pathlib import Path

import numpy as np

from svmreduce.experiments import store, tolerances
from svmreduce.reports.gate.run_comparison import MISSING, REGRESSION, SHORTEST_CPU, compare_runs
from svmreduce.solvers.smo import SMO
from tests.bench.output import ROOT, machine, write

SMOKE = ROOT / "configs" / "smoke.yaml"
BASELINE = ROOT / "results" / "baseline" / "smoke.jsonl"


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


FAULTS = {Twice: "time_ratio", LosesOne: "vectors"}  # where each must show


def run(config: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "svmreduce", "run", str(config), "-o", str(folder), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(f"the run failed: {done.stderr}")
    return folder


def regressions(base: Path, new: Path, ratios: list | None = None) -> set[str]:
    """The metrics in which ``new`` is worse, by the limits of its config; the time ratios go to ``ratios``."""
    old_run, new_run = store.read(base), store.read(new)
    result = compare_runs(old_run, new_run, tolerances.from_config(new_run.config.get("compare")))
    if ratios is not None:
        ratios += [entry | {"factor": entry["new"] / entry["base"]} for entry in result.ratios if entry["judged"]]
    return {finding.metric for finding in (*result.of(REGRESSION), *result.of(MISSING))}


def faulty(fault: type, folder: Path, name: str) -> Path:
    """A run of the smoke config with this solver in place of smo."""
    config = folder / f"{name}.yaml"
    solver = f"  - {{name: 'tests.bench.gate:{fault.__name__}', as: smo}}\n"
    config.write_text(SMOKE.read_text().replace("  - smo\n", solver))
    return run(config, folder / name)


def main(arguments=None) -> None:
    parser = argparse.ArgumentParser("python -m tests.bench gate", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="of the smoke config as it is")
    parser.add_argument("--faulty", type=int, default=2, help="runs with each fault, spread among the others")
    given = parser.parse_args(arguments)
    loads, seconds, runs, bad = [], [], [], {fault: [] for fault in FAULTS}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for number in range(given.runs):
            start = time.monotonic()
            runs.append(run(SMOKE, folder / f"run{number}"))
            seconds.append(time.monotonic() - start)
            loads.append(os.getloadavg()[0])
            if (number + 1) * given.faulty // given.runs > number * given.faulty // given.runs:
                for fault in FAULTS:
                    bad[fault].append(faulty(fault, folder, f"{fault.__name__}{number}"))
        same, with_baseline, slow = [], [], []
        alarms = [bool(regressions(BASELINE, new, with_baseline)) for new in runs]
        pairs = [bool(regressions(base, new, same)) for base, new in permutations(runs, 2)]
        caught = {
            fault: [metric in regressions(base, new, slow if fault is Twice else None)
                    for base, new in product((BASELINE, *runs), bad[fault])]
            for fault, metric in FAULTS.items()
        }  # fmt: skip
    rows = []
    for title, found in (("the baseline", with_baseline), ("another run", same), ("smo solves twice", slow)):
        for name in dict.fromkeys((entry["dataset"], entry["method"]) for entry in found):
            factors = [entry["factor"] for entry in found if (entry["dataset"], entry["method"]) == name]
            rows.append({"compared": title, "dataset": name[0], "method": name[1], "least": min(factors),
                         "most": max(factors), "sd_of_log": float(np.std(np.log(factors)))})  # fmt: skip
    table = "".join(
        f"| {row['compared']} | {row['dataset']} | {row['method']} | {row['least']:.2f} to {row['most']:.2f} "
        f"| {row['sd_of_log']:.3f} |\n"
        for row in rows
        if row["compared"] != "smo solves twice" or row["method"] == "smo"
    )
    text = f"""# The gate on a busy machine

`python -m tests.bench gate --runs {given.runs} --faulty {given.faulty}`. {machine()} Load {min(loads):.1f} to
{max(loads):.1f}; a run took {min(seconds):.0f} to {max(seconds):.0f} s. Limits of `configs/smoke.yaml`; they were
fixed before these runs, and the baseline is a run of its own.

| what | comparisons | worse |
| --- | ---: | ---: |
| the same again, compared with `results/baseline/smoke.jsonl` | {len(alarms)} | {sum(alarms)} |
| every run compared with every other | {len(pairs)} | {sum(pairs)} |
| smo solves everything twice, found by its time | {len(caught[Twice])} | {sum(caught[Twice])} |
| smo loses one support vector, found by their number | {len(caught[LosesOne])} | {sum(caught[LosesOne])} |

The factor between two runs' time ratios (method to libsvm, sums of the fastest repeats in processor time; sums below
{SHORTEST_CPU} s count as that much); the limit is 1.41:

| compared with | data set | method | factor | standard deviation of its logarithm |
| --- | --- | --- | ---: | ---: |
{table}"""
    write("gate", text, [{"loads": loads, "seconds": seconds, "alarms": sum(alarms), "pairs": sum(pairs),
                          "caught": {fault.__name__: sum(found) for fault, found in caught.items()},
                          "factors": rows}])  # fmt: skip


if __name__ == "__main__":
    main()
