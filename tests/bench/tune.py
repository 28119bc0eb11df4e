"""Grid searches: ``SVMSearchCV``, scikit-learn's ``GridSearchCV(SVC)`` and, where it is at hand, liquidSVM.

``python -m tests.bench tune [--cases covertype:2000,…]``. Processor seconds on one thread, 5 folds, 10 × 10 cells, the
programs one after the other on each case. SVMREDUCE_LIQUIDSVM names liquidSVM's ``svm-train``; the grid is then the
one it makes for the case.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from svmreduce.data import catalog
from svmreduce.search import SVMSearchCV
from tests.bench.output import machine, write

CASES = ("covertype:2000", "covertype:5000", "covertype:10000", "ijcnn1:10000", "three:10000")
PEER_ROWS = 2000  # beyond, GridSearchCV takes the better part of an hour
FOLDS = 5


def main(arguments):
    options = argparse.ArgumentParser(prog="python -m tests.bench tune", description=__doc__)
    options.add_argument("--cases", default=",".join(CASES))
    given = options.parse_args(arguments)
    SVMSearchCV([1.0, 10.0], [1.0], refit=False, threads=1).fit(*_three(100))  # compiled off the clock
    records = []
    for case in given.cases.split(","):
        X, y = _rows(case)
        records.append({"case": case, **_measure(X, y)})
        print(records[-1], file=sys.stderr, flush=True)
        write("tune", _text(records), records)


def _rows(case: str):
    name, _, rows = case.partition(":")
    if name == "three":
        return _three(int(rows))
    data = catalog.load(name, "train" if name == "ijcnn1" else None)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    y = np.where(data.y == 2, 1, -1) if name == "covertype" else np.where(data.y > 0, 1, -1)
    X = (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-12) if name == "covertype" else X
    chosen = np.random.default_rng(0).permutation(len(y))[: int(rows)]
    return np.ascontiguousarray(X[chosen]), y[chosen]


def _three(rows: int):
    """A curved surface in three dimensions, with noise."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, 3))
    height = np.sin(6 * X[:, 0]) + np.cos(5 * X[:, 1]) * X[:, 2] - 0.3
    return X, np.where(height + 0.3 * rng.normal(size=rows) > 0, 1, -1)


def _measure(X, y) -> dict:
    liquid = _liquidsvm(X, y)
    C, gamma = liquid.pop("grid", (np.geomspace(0.003125, 500, 10), np.geomspace(0.0285, 32.9, 10)))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    start = process_time()
    own = SVMSearchCV(C, gamma, cv=folds, refit=False, threads=1).fit(X, y)
    record = {"own": process_time() - start, "own_best": own.best_score_, **liquid}
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


def _liquidsvm(X, y) -> dict:
    """Its processor seconds and its grid; nothing where it is not at hand."""
    program = os.environ.get("SVMREDUCE_LIQUIDSVM")
    if not program:
        return {}
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
    return {"liquidsvm": seconds, "grid": (np.sort(C), np.sort(1.0 / np.unique(columns[:, 0]) ** 2))}


def _text(records) -> str:
    lines = ["# Grid searches", "", machine(), "",
             "Processor seconds on one thread for 5 folds of a 10 × 10 grid over C and gamma, 500 fits to a tolerance "
             "of 1e-3. liquidSVM has no offset term: an easier problem. Other work shared the machine: ratios count.",
             "", "| case | svmreduce tune | GridSearchCV(SVC) | ratio | liquidSVM | ratio | best accuracy, % | "
             "most rows of a fold apart |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for one in records:
        cells = [one["case"], f"{one['own']:.2f}"]
        for peer in ("sklearn", "liquidsvm"):
            cells += [f"{one[peer]:.1f}", f"{one[peer] / one['own']:.1f}"] if peer in one else ["", ""]
        cells += [f"{100 * one['own_best']:.2f}", str(one.get("most_rows_apart", ""))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
