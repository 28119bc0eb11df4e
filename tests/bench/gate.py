"""Does ``compare`` raise false alarms on a busy machine, and does it catch what it should?

The smoke config is run again and again, and each run is compared with the first. Then two faults are made in copies of
the records: a method that takes twice as long, and one support vector less.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def svmreduce(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "svmreduce", *map(str, arguments)], capture_output=True, text=True)


def compared(base: Path, new: Path, *options) -> dict:
    return json.loads(svmreduce("compare", base, new, "--json", *options).stdout)


def changed(source: Path, target: Path, change) -> Path:
    """A copy of the records in which ``change`` has had its way with each."""
    records = [json.loads(line) for line in (source / "records.jsonl").read_text().splitlines()]
    for record in records:
        change(record)
    target.write_text("".join(json.dumps(record) + "\n" for record in records))
    return target


def twice_as_slow(record) -> None:
    if record["method"] == "smo" and "solve" in record["seconds"]:
        record["seconds"]["solve"] *= 2


def one_vector_less(record) -> None:
    if record["kind"] == "fit" and record["method"] == "smo" and record["point"].get("C") == 1:
        record["sizes"]["vectors"] -= 1


def main(arguments=None) -> None:
    parser = argparse.ArgumentParser("python -m tests.bench gate", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args(arguments)
    alarms, loads, ratios = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        runs = [Path(folder) / f"run{number}" for number in range(given.runs + 1)]
        for run in runs:
            done = svmreduce("run", _ROOT / "configs/smoke.yaml", "-o", run, "--quiet")
            if done.returncode:
                sys.exit(f"the run failed: {done.stderr}")
            loads.append(os.getloadavg()[0])
            if run != runs[0]:
                verdict = compared(runs[0], run)
                ratios += [entry["new"] / entry["base"] for entry in verdict["time_ratios"] if entry["judged"]]
                alarms += [] if verdict["verdict"] == "fine" else [verdict["findings"]]
        slow = compared(runs[0], changed(runs[0], Path(folder) / "slow.jsonl", twice_as_slow))
        lost = compared(runs[0], changed(runs[0], Path(folder) / "lost.jsonl", one_vector_less))
    facts = {"runs": given.runs, "false_alarms": len(alarms), "alarms": alarms, "load": [min(loads), max(loads)],
             "time_ratios_judged": len(ratios), "time_ratio_change": [min(ratios, default=1), max(ratios, default=1)],
             "twice_as_slow": slow["verdict"], "one_vector_less": lost["verdict"]}  # fmt: skip
    print(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
