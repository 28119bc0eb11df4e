"""What ``svmreduce bench`` says on real and made data sets, and whether it says the same with other seeds.

``python -m tests.bench verdicts [--budget 300] [--seeds 0,10,20] [--again 150] [--sets ijcnn1,…] [--runs FOLDER]``.
Runs that are in the folder are used as they are. The first seed has the whole budget, the others that of ``--again``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from svmreduce.data import synthetic
from svmreduce.data.libsvm_text import write_libsvm
from svmreduce.experiments.standing import LEVEL
from svmreduce.experiments.store import read
from svmreduce.printable import duration
from svmreduce.reports.run.verdict import TIE, verdicts
from svmreduce.reports.run.wording import words
from tests.bench.output import machine, write

MADE = {
    "checkerboard": (40_000, {}),
    "ringnorm": (20_000, {}),
    "blobs": (30_000, {"classes": 5, "features": 4, "box": 3.0}),
}
SETS = ("ijcnn1", "a9a", "w8a", "covertype:2-vs-rest", "kdd99:normal-vs-attack", "mnist:0-vs-rest")
SETS += tuple(f"{name}.txt" for name in MADE)


def main(arguments):
    options = argparse.ArgumentParser(prog="python -m tests.bench verdicts", description=__doc__)
    options.add_argument("--budget", type=int, default=300)
    options.add_argument("--again", type=int, default=150)
    options.add_argument("--seeds", default="0,10,20")
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--runs", default="results/runs/verdicts")
    options.add_argument("--read", action="store_true", help="use what is there, run nothing")
    given = options.parse_args(arguments)
    folder, seeds = Path(given.runs), [int(seed) for seed in given.seeds.split(",")]
    folder.mkdir(parents=True, exist_ok=True)
    records = []
    for number, seed in enumerate(seeds):
        for name in given.sets.split(","):
            budget = given.again if number else given.budget
            run = folder / f"{name.translate(str.maketrans(':./', '---'))}-b{budget}-s{seed}"
            if not (run / "plan.json").exists() and not given.read:
                _bench(name, run, budget, seed)
            if (run / "plan.json").exists():
                records.append({"set": name, "seed": seed, "budget": budget, **_facts(run)})
    write("bench", _text(records, seeds[0]), records)


def _bench(name: str, run: Path, budget: int, seed: int) -> None:
    source = name
    if name.removesuffix(".txt") in MADE:
        source = run.parent / name
        rows, params = MADE[name.removesuffix(".txt")]
        data = synthetic.make(name.removesuffix(".txt"), rows, 1, **params)
        write_libsvm(source, data.X, data.y)
    command = [sys.executable, "-m", "svmreduce", "bench", str(source), "--budget", str(budget), "--seed", str(seed)]
    subprocess.run([*command, "-o", str(run)], check=False)


def _facts(folder: Path) -> dict:
    """The verdict of a run, and whether a method that ran beats the recommended one."""
    run = read(folder)
    verdict = verdicts(run)[0]
    best, standings = verdict.recommended, verdict.standings
    tie = TIE if best and best.is_exact else 1.0
    quicker = [one for one in verdict.all if best and one.timed * (1.0 if one.is_exact else tie) < best.timed]
    beaten_by = [one.label for one in quicker if _mean(one, best, standings) > _mean(best, one, standings)]
    splits = {place.split for one in standings.all for place in one.cells}
    chosen = json.loads((folder / "chosen.json").read_text())["point"]
    return {
        "rows": max(record.sizes.get("train_rows", 0) for record in run.fits),
        "point": chosen["params"],
        "seeds": len(splits),
        "methods": len([one for one in verdict.all if not one.is_control]),
        "load": max(record.environment.get("load") or 0.0 for record in run.records),
        "recommended": best and verdict.facts(best) | {"words": words(best)},
        "quicker": verdict.quicker and verdict.facts(verdict.quicker) | {"words": words(verdict.quicker)},
        "reference": verdict.reference.label,
        "is_exact": verdict.reference.is_exact,
        "beaten_by": beaten_by,
        "losses": {one.label: [loss.middle, loss.half] for one in verdict.all if (loss := verdict.loss(one))},
        "seconds": {one.label: one.seconds for one in verdict.all},
    }


def _mean(one, other, standings) -> float:
    """Mean goodness on the cells that both have."""
    shared = {place.split for place in one.cells} & {place.split for place in other.cells}
    sign = -1 if standings.task == "regression" else 1
    scores = [sign * (cell.mse if cell.accuracy is None else cell.accuracy)
              for place, cell in one.cells.items() if place.split in shared]  # fmt: skip
    return sum(scores) / len(scores) if scores else float("-inf")


_ABOUT = """\
One thread. The budget counts all that a user waits for, on a machine with other work: the last column is its largest
load. Loss in points of accuracy against the reference, which is the exact solution on all rows where it fits into the
budget; 95 % intervals, with one seed those of the test rows alone: another random sample may do better or worse.
*Beaten*: methods of the run that are quicker and more accurate than the recommended one, on the
cells that both have. Fewer training rows than the data has: nothing could be run on all rows, and a part was judged."""
_COLUMNS = ("data", "training rows", "budget, s", "seeds", "methods", "recommended", "training", "accuracy, %", "loss",
            "reference", "times as fast", "quicker, and its loss", "beaten", "load")  # fmt: skip
_AGAIN = """\
## Other seeds

Other splits, samples and random numbers. The last column: is it the method of the first seed, or one whose loss
differs from its loss by no more than the stated interval."""
_AGAIN_COLUMNS = ("data", "seed", "budget, s", "recommended", "loss", "same as the first")


def _text(records: list[dict], first: int) -> str:
    firsts = {one["set"]: one for one in records if one["seed"] == first}
    repeated = {one["set"] for one in records if one["seed"] != first}
    lines = ["# What `svmreduce bench` says", "", machine(), "", _ABOUT, "", *_head(_COLUMNS)]
    lines += [_line(one) for one in firsts.values()]
    lines += ["", _AGAIN, "", *_head(_AGAIN_COLUMNS)]
    for one in (one for name in firsts if name in repeated for one in records if one["set"] == name):
        best = one["recommended"]
        same = "" if one["seed"] == first else _agrees(one, firsts.get(one["set"]))
        cells = one["set"], one["seed"], one["budget"], best["words"], _loss(best), same
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, ""])


def _head(titles: tuple[str, ...]) -> list[str]:
    return [f"| {' | '.join(titles)} |", "| --- " * len(titles) + "|"]


def _line(one: dict) -> str:
    best, quick = one["recommended"], one["quicker"]
    second = f"{quick['words']}: {duration(quick['seconds'])}, {_loss(quick)}" if quick else ""
    reference = one["reference"] + ("" if one["is_exact"] else " (not exact)")
    cells = [one["set"], f"{one['rows']:,}", one["budget"], one["seeds"], one["methods"], best["words"],
             duration(best["seconds"]), f"{100 * best['accuracy']:.2f}", _loss(best), reference,
             f"{best['speedup']:.2g}", second, ", ".join(one["beaten_by"]) or "no", f"{one['load']:.0f}"]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def _loss(facts: dict) -> str:
    if not facts["interval"]:
        return f"{facts['loss_points']:.2f}"
    return f"{facts['loss_points']:.2f} ± {(facts['interval'][1] - facts['interval'][0]) / 2:.2f}"


def _agrees(one: dict, other: dict | None) -> str:
    """Whether two seeds name the same method, or each other's within an interval that one of the runs states."""
    if other is None:
        return ""
    a, b = one["recommended"]["method"], other["recommended"]["method"]
    if a == b:
        return "same"
    for run in (one, other):
        if a in run["losses"] and b in run["losses"]:
            (first, wide), (second, wider) = run["losses"][a], run["losses"][b]
            apart = abs(first - second)
            near = "within" if apart <= max(wide or 0.0, wider or 0.0) else "outside"
            level = ", which counts as none" if near == "outside" and apart <= LEVEL["classification"] else ""
            return f"{near} the interval: {100 * apart:.2f} points apart{level}"
    return f"no run has both {a} and {b}"


if __name__ == "__main__":
    main(sys.argv[1:])
