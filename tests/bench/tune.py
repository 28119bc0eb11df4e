"""Grid searches: ``SVMSearchCV``, scikit-learn's ``GridSearchCV(SVC)`` and, where it is at hand, liquidSVM.

``python -m tests.bench tune [--cases covertype:2000,…] [--screens a9a:10000,…] [--whole]``; without any of them all
that there is. What is not measured now stays as it was. Processor seconds on one thread.

- cases: 5 folds, 10 × 10 cells, the programs one after the other, medians of three; GridSearchCV once.
  SVMREDUCE_LIQUIDSVM names liquidSVM's ``svm-train``; the grid is then the one it makes for the case.
- screens: ``screen="aesvm"`` beside the exact search, 2 folds, 20 cells.
- whole: all rows of ijcnn1 on the grid of the AESVM paper, with 5 folds, and tested on its test rows as in Table 4.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from svmreduce import papers
from svmreduce.data import catalog
from svmreduce.search import SVMSearchCV
from tests.bench.output import ROOT, machine, write

CASES = ("covertype:2000", "covertype:5000", "covertype:10000", "ijcnn1:10000", "three:10000")
SCREENS = ("ijcnn1:10000", "a9a:10000", "w8a:10000", "covertype:20000")
PEER_ROWS = 2000  # beyond, GridSearchCV takes the better part of an hour
FOLDS = 5
REPEATS = 3
SCREEN_C = 2.0 ** np.arange(-1, 8, 2)
SCREEN_GAMMA = {"covertype": 2.0 ** np.arange(-1, 6, 2), "ijcnn1": 2.0 ** np.arange(-4, 3, 2)}
OTHER_GAMMA = 2.0 ** np.arange(-7, 0, 2)  # of longer rows
PAPER_C, PAPER_GAMMA = 2.0 ** np.arange(-4, 8), 2.0 ** np.arange(-4, 3)


def main(arguments):
    options = argparse.ArgumentParser(prog="python -m tests.bench tune", description=__doc__)
    options.add_argument("--cases", default="")
    options.add_argument("--screens", default="")
    options.add_argument("--whole", action="store_true")
    given = options.parse_args(arguments)
    if not (given.cases or given.screens or given.whole):
        given.cases, given.screens, given.whole = ",".join(CASES), ",".join(SCREENS), True
    SVMSearchCV.warm_up()
    records = _earlier()
    work = [("grid", case, _measure) for case in given.cases.split(",") if case]
    work += [("screen", case, _screened) for case in given.screens.split(",") if case]
    work += [("whole", case, measure) for case, measure in _WHOLE.items() if given.whole]
    for part, case, measure in work:
        facts = measure(case)
        records[part, case] = {"part": part, "case": case, "load": round(os.getloadavg()[0], 1), **facts}
        print(records[part, case], file=sys.stderr, flush=True)
        write("tune", text(list(records.values())), list(records.values()))


def _earlier() -> dict:
    file = ROOT / "results" / "bench" / "tune.json"
    found = json.loads(file.read_text()) if file.exists() else []
    return {(one["part"], one["case"]): one for one in found}


def _rows(case: str):
    name, _, rows = case.partition(":")
    if name == "three":
        return _three(int(rows))
    data = catalog.load(name, None if name == "covertype" else "train")
    X = data.X.toarray() if hasattr(data.X, "toarray") and name in ("covertype", "ijcnn1") else data.X
    y = np.where(data.y == 2, 1, -1) if name == "covertype" else np.where(data.y > 0, 1, -1)
    X = (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-12) if name == "covertype" else X
    chosen = np.random.default_rng(0).permutation(len(y))[: int(rows)]
    return X[chosen], y[chosen]


def _three(rows: int):
    """A curved surface in three dimensions, with noise."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, 3))
    height = np.sin(6 * X[:, 0]) + np.cos(5 * X[:, 1]) * X[:, 2] - 0.3
    return X, np.where(height + 0.3 * rng.normal(size=rows) > 0, 1, -1)


def _measure(case: str) -> dict:
    X, y = _rows(case)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    times = {"own": [], "liquidsvm": []}
    for _ in range(REPEATS):
        liquid, (C, gamma) = _liquidsvm(X, y)
        start = process_time()
        own = SVMSearchCV(C, gamma, cv=folds, refit=False, threads=1).fit(X, y)
        times["own"].append(process_time() - start)
        times["liquidsvm"] += liquid
    record = {name: float(np.median(found)) for name, found in times.items() if found} | {"own_best": own.best_score_}
    record["runs"] = times
    record["iterations"] = int(own.cv_results_["iterations"].sum())
    record["largest_gap"] = float(own.cv_results_["max_gap"].max())
    if len(y) <= PEER_ROWS:
        start = process_time()
        peer = GridSearchCV(SVC(), {"C": C, "gamma": gamma}, cv=folds, refit=False).fit(X, y)
        record |= {"sklearn": process_time() - start, "sklearn_best": peer.best_score_}
        record["most_rows_apart"] = _rows_apart(own, peer, [len(test) for _, test in folds.split(X, y)])
    return record


def _rows_apart(own, peer, sizes) -> float:
    """The largest difference of a fold's accuracy in any cell, counted in rows."""

    def by_cell(search, fold):
        scores = search.cv_results_[f"split{fold}_test_score"]
        return {(p["C"], p["gamma"]): score for p, score in zip(search.cv_results_["params"], scores, strict=True)}

    differences = []
    for fold, size in enumerate(sizes):
        ours, theirs = by_cell(own, fold), by_cell(peer, fold)
        differences += [size * abs(ours[cell] - theirs[cell]) for cell in theirs]
    return round(max(differences))


def _liquidsvm(X, y) -> tuple[list[float], tuple]:
    """Its processor seconds and its grid; no seconds and a similar grid where it is not at hand."""
    program = os.environ.get("SVMREDUCE_LIQUIDSVM")
    if not program:
        return [], (np.geomspace(0.003125, 500, 10), np.geomspace(0.0285, 32.9, 10))
    with tempfile.TemporaryDirectory() as folder:
        table, log = Path(folder) / "rows.csv", Path(folder) / "rows.log"
        np.savetxt(table, np.column_stack([y, X]), delimiter=",", fmt=["%d"] + ["%.9g"] * X.shape[1])
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        core = str(min(os.sched_getaffinity(0)))  # it takes the first of all by itself
        flags = ["-d", "0", "-T", "1", core, "-f", "3", str(FOLDS), "-S", "2", "-L", "0", "-W", "0"]
        subprocess.run([program, *flags, table, log], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        columns = np.loadtxt(log, usecols=range(4))
    trained = round(len(y) * (FOLDS - 1) / FOLDS)
    C = 1.0 / (2.0 * trained * np.unique(columns[:, 3]))
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [seconds], (np.sort(C), np.sort(1.0 / np.unique(columns[:, 0]) ** 2))


def _screened(case: str) -> dict:
    """The exact search and one that is screened by AESVM, on the same folds."""
    X, y = _rows(case)
    gamma = SCREEN_GAMMA.get(case.partition(":")[0], OTHER_GAMMA)
    record = {}
    for screen, name in (("aesvm", "screened"), (None, "exact")):
        folds = StratifiedKFold(2, shuffle=True, random_state=0)
        start = process_time()
        search = SVMSearchCV(SCREEN_C, gamma, cv=folds, refit=False, threads=1, cache_mb=4096, screen=screen).fit(X, y)
        record |= {name: process_time() - start, f"{name}_best": search.best_score_}
        if screen:
            record |= {"kept": search.screened_["rows_kept"], "fits_saved": search.screened_["exact_fits_saved"]}
    return record


def _whole(held_out: bool) -> dict:
    """The paper's 84 points on ijcnn1: by cross-validation, or trained on all rows and tested on the test rows."""
    data = [catalog.load("ijcnn1", split) for split in ("train", "test")]
    rows = data[0].n_rows
    if held_out:
        X = np.vstack([part.X.toarray() if hasattr(part.X, "toarray") else part.X for part in data])
        y, folds = np.concatenate([part.y for part in data]), None
        folds = [(np.arange(rows), np.arange(rows, len(y)))]
    else:
        X, y, folds = data[0].X, data[0].y, StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    start = process_time()
    search = SVMSearchCV(PAPER_C, PAPER_GAMMA, cv=folds, refit=False, threads=1).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    return {"rows": rows, "fits": scores.size * search.n_splits_, "own": process_time() - start,
            "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "best": search.best_params_,
            "max": float(scores.max()), "mean": float(scores.mean()), "std": float(scores.std()),
            "largest_gap": float(search.cv_results_["max_gap"].max())}  # fmt: skip


_WHOLE = {"5 folds": partial(_whole, False), "test rows": partial(_whole, True)}


def text(records: list[dict]) -> str:
    """One page from all records."""
    loads = [one["load"] for one in records if one["load"] is not None]
    notes = [line for one in records if "note" in one for line in ("", one["note"])]
    parts = {part: [one for one in records if one["part"] == part] for part in ("grid", "screen", "whole")}
    lines = ["# Grid searches", "", machine(), "",
             f"One thread; processor seconds. Other work shared the machine (load {min(loads)} to {max(loads)} on its "
             f"{os.cpu_count()} cores), which makes every figure larger: ratios count."]  # fmt: skip
    return (
        "\n".join([*lines, *_grids(parts["grid"]), *_screens(parts["screen"]), *_wholes(parts["whole"]), *notes]) + "\n"
    )


def _screens(records) -> list[str]:
    lines = ["", "## Screening", "",
             "`--screen aesvm` beside the exact search: 2 folds of 5 × 4 cells, 40 fits; the 8 best cells of the "
             "screening are searched on all rows.", "",
             "| case | rows kept by AESVM, % | exact fits saved | screened | exact | ratio | "
             "best accuracy, screened, % | exact, % | points lost |", "| --- " + "| ---: " * 8 + "|"]  # fmt: skip
    for one in records:
        best = 100 * one["screened_best"], 100 * one["exact_best"]
        cells = [one["case"], f"{100 * one['kept']:.0f}", f"{one['fits_saved']}", f"{one['screened']:.1f}",
                 f"{one['exact']:.1f}", f"{one['exact'] / one['screened']:.1f}", f"{best[0]:.2f}", f"{best[1]:.2f}",
                 f"{best[1] - best[0]:.2f}"]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return lines if records else []


def _wholes(records) -> list[str]:
    lines = ["", "## All 49,990 rows of ijcnn1", "",
             "The 12 × 7 grid of the AESVM paper (C 2⁻⁴ … 2⁷, gamma 2⁻⁴ … 2²).", "",
             "| scored on | fits | seconds | peak memory, MB | best cell | max. acc., % | mean, % | std. |",
             "| --- " + "| ---: " * 7 + "|"]  # fmt: skip
    for one in records:
        best = ", ".join(f"{name} {value:g}" for name, value in one["best"].items())
        scores = [f"{100 * one[name]:.2f}" for name in ("max", "mean", "std")]
        cells = [one["case"], f"{one['fits']}", f"{one['own']:.0f}", f"{one['memory_mb']:.0f}", best, *scores]
        lines.append(f"| {' | '.join(cells)} |")
    printed = next(
        row for row in papers.find("aesvm:table4").rows if (row["dataset"], row["solver"]) == ("D5", "LIBSVM")
    )
    scores = [f"{printed[f'{name}_accuracy_percent']}" for name in ("max", "mean", "std")]
    lines.append(f"| test rows, LIBSVM as printed in Table 4 | 84 |  |  |  | {' | '.join(scores)} |")
    return lines if records else []


def _grids(records) -> list[str]:
    lines = ["",
             "5 folds of a 10 × 10 grid over C and gamma, 500 fits to a tolerance of 1e-3. Medians of "
             f"{REPEATS} runs that took turns; GridSearchCV ran once. liquidSVM has no offset term: an easier problem.",
             "", "| case | svmreduce tune | GridSearchCV(SVC) | ratio | liquidSVM | ratio | best accuracy, % | "
             "most rows of a fold apart |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for one in records:
        cells = [one["case"], f"{one['own']:.2f}"]
        for peer in ("sklearn", "liquidsvm"):
            cells += [f"{one[peer]:.1f}", f"{one[peer] / one['own']:.1f}"] if peer in one else ["", ""]
        cells += [f"{100 * one['own_best']:.2f}", str(one.get("most_rows_apart", ""))]
        lines.append(f"| {' | '.join(cells)} |")
    return lines if records else []
