"""FW, MFW, CVM and BVM beside the Frank-Wolfe paper, and on a million rows.

``python -m tests.bench frank_wolfe [accuracy|directions|million …] [--data a1a,w1a] [--seeds 1] [--limit 300]``

Every fit is a child process with a limit of time. Seconds are those of the processor, on one thread, so that other
work on the machine does not count. Results are written after each fit; what is measured again replaces its old row.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import warnings
from dataclasses import dataclass
from time import perf_counter, process_time

from sklearn.exceptions import ConvergenceWarning

from svmreduce.data import catalog, fetching, synthetic
from svmreduce.experiments.rows import training_and_test
from svmreduce.kernels import resolve_gamma
from svmreduce.solvers import SOLVERS
from svmreduce.solvers.tuning import tune_C
from tests.bench.frank_wolfe_report import report
from tests.bench.output import ROOT, keep

NAME = "frank_wolfe"
DATA = {  # what the paper calls it
    "a1a": "Adult a1a", "a4a": "Adult a4a", "a7a": "Adult a7a", "w1a": "Web w1a", "w4a": "Web w4a", "w8a": "Web w8a",
    "pendigits:scaled": "Pendigits", "usps": "USPS", "letter": "Letter", "reuters": "Reuters",
    "shuttle:scaled": "Shuttle", "ijcnn1": "IJCNN", "kdd99:5-class": "KDD99-10pc",
}  # fmt: skip
SERIES = {
    "Adult": ("a1a", "a2a", "a3a", "a4a", "a5a", "a6a", "a7a", "a8a", "a9a"),
    "Web": ("w1a", "w2a", "w3a", "w4a", "w5a", "w6a", "w7a", "w8a"),
}
METHODS = ("cvm", "fw", "mfw", "bvm")
C_VALUES = tuple(4.0**power for power in range(7))  # the paper's range, 2^0 … 2^12
CACHE_MB = 4096
BOARD = {"C": 10.0, "gamma": 2.0}
BOARD_ROWS = (10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class Rows:
    """Training and test rows, and the kernel width of the paper: σ² the mean squared distance."""

    X: object
    y: object
    X_test: object
    y_test: object
    gamma: float


def main(arguments):
    options = argparse.ArgumentParser(prog="python -m tests.bench frank_wolfe", description=__doc__)
    options.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all if none is given")
    options.add_argument("--data", help="only these data sets, separated by commas")
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--limit", type=float, default=300, help="seconds that a fit, or a search for C, may take")
    given = options.parse_args(arguments)
    for method in (*METHODS, "smo", "libsvm"):
        SOLVERS.get(method).warm_up()
    results = Results(given.limit)
    for part in given.parts or PARTS:
        PARTS[part](results, given)
    print(report(results.records))


class Results:
    """The records of all parts, in the file after each fit."""

    def __init__(self, limit: float):
        self.limit = limit
        path = ROOT / "results" / "bench" / f"{NAME}.json"
        self.records = json.loads(path.read_text()) if path.is_file() else []

    def add(self, key: dict, facts: dict):
        """A record; an older one with the same key goes."""
        self.records = [old for old in self.records if key.items() - old.items()]
        self.records.append(key | {"limit": self.limit} | facts)
        print(self.records[-1], flush=True)
        keep(NAME, report(self.records), self.records)


# ---------------------------------------------------------------- Table 2


def accuracy(results: Results, given):
    """Test accuracy at the C that CVM finds on 30 % validation rows, as in the paper."""
    for name in _chosen(DATA, given.data):
        rows = _load(name)
        if rows is None:
            continue
        C = _find_C(results, name, rows)
        for seed in range(given.seeds):
            for method in METHODS:  # interleaved
                key = {"part": "accuracy", "data": name, "printed": DATA[name], "method": method, "seed": seed}
                results.add(key, {"C": C} | _fit(method, rows, results.limit, C=C, gamma=rows.gamma, seed=seed))


def _find_C(results: Results, name: str, rows: Rows) -> float:
    solver = SOLVERS.get("cvm")(gamma=rows.gamma, cache_mb=CACHE_MB, certify=False, threads=1)

    def search(send):
        tune_C(solver, rows.X, rows.y, values=C_VALUES, progress=lambda C, score, _: send((C, score)))

    start = perf_counter()
    tried = dict(_limited(search, results.limit) or [(1.0, None)])
    best = max(tried, key=lambda C: tried[C] or 0.0)
    facts = {"C": best, "tried": len(tried), "of": len(C_VALUES), "seconds": perf_counter() - start}
    results.add({"part": "tuning", "data": name}, facts)
    return best


# ---------------------------------------------------------------- Figures 3 and 4


def directions(results: Results, given):
    """The two series, one C for all of a series: the one found for its smallest member."""
    for series, names in SERIES.items():
        C = None
        for name in _chosen(names, given.data):
            rows = _load(name)
            if rows is None:
                continue
            C = C or _known_C(results, names[0]) or _find_C(results, name, rows)
            for repeat in range(given.seeds):
                for method in METHODS:
                    key = {"part": "directions", "series": series, "data": name, "method": method, "seed": repeat}
                    facts = _fit(method, rows, results.limit, C=C, gamma=rows.gamma, seed=repeat)
                    results.add(key, {"C": C, "rows": len(rows.y)} | facts)


def _known_C(results: Results, name: str) -> float | None:
    return next((r["C"] for r in results.records if (r["part"], r["data"]) == ("tuning", name)), None)


# ---------------------------------------------------------------- a million rows


def million(results: Results, given):
    """Checkerboard by size. Sampled selection without its last pass over all rows shows what a step costs."""
    test = synthetic.make("checkerboard", 10_000, 1)
    for size in BOARD_ROWS:
        train = synthetic.make("checkerboard", size, 0)
        rows = Rows(train.X, train.y, test.X, test.y, BOARD["gamma"])
        for seed in range(given.seeds):
            for method in ("mfw", "fw", "cvm", "bvm", "smo", "libsvm"):
                own = {} if method in ("smo", "libsvm") else {"certify": False}
                facts = _fit(method, rows, results.limit, seed=seed, **BOARD, **own)
                results.add({"part": "million", "rows": size, "method": method, "seed": seed}, facts)


# ---------------------------------------------------------------- one fit


def _fit(method: str, rows: Rows, limit: float, *, seed: int, **params) -> dict:
    solver_class = SOLVERS.get(method)
    known = solver_class().get_params()
    params |= {"cache_mb": CACHE_MB, "threads": 1, "random_state": seed}
    solver = solver_class(**{name: value for name, value in params.items() if name in known})

    def work(send):
        start = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it is in the record
            solver.fit(rows.X, rows.y)
        seconds = process_time() - start
        right = float((solver.predict(rows.X_test) == rows.y_test).mean())
        send({"status": "ok" if solver.converged_ else "not converged", "seconds": seconds, "accuracy": right,
              "vectors": len(solver.support_), "steps": solver.n_iter_, "kernel_values": solver.kernel_evals_,
              "gap": solver.gap_})  # fmt: skip

    found = _limited(work, limit)
    return found[0] if found else {"status": "over the limit"}


def _limited(work, seconds: float) -> list:
    """What ``work(send)`` sends within so many seconds, in a child that has our memory and compiled code."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: work(sender.send), daemon=True)
    child.start()
    sender.close()
    messages, end = [], perf_counter() + seconds
    try:
        while receiver.poll(max(0.0, end - perf_counter())):
            messages.append(receiver.recv())
    except EOFError:  # the child has ended
        pass
    child.kill()
    child.join()
    return messages


def _load(name: str) -> Rows | None:
    if not fetching.locate(catalog.load_card(name)):
        print(f"{name}: no file here, left out", file=sys.stderr)
        return None
    split = training_and_test({"name": name}, {"holdout": 0.2} if name.startswith("kdd99") else {}, None, 0, 0)
    train, test = split.train, split.test
    return Rows(train.X, train.y, test.X, test.y, resolve_gamma("auto-distance", train.X, "rbf"))


def _chosen(names, wanted: str | None) -> list[str]:
    return [name for name in names if wanted is None or name in wanted.split(",")]


PARTS = {"directions": directions, "million": million, "accuracy": accuracy}
