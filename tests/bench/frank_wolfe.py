"""FW, MFW, CVM and BVM beside the Frank-Wolfe paper, and on a million rows.

``python -m tests.bench frank_wolfe [directions|million|accuracy …] [--data a1a,w1a] [--methods fw,mfw] [--seeds 1]
[--limit 300]``

Every fit is a child process with a limit of time. Seconds are those of the processor, on one thread, so that other
work on the machine does not count. Results are written after each fit; what is measured again replaces its old row.
A C that was found before is taken from there.
"""

from __future__ import annotations

import argparse
import inspect
import json
import multiprocessing
import sys
import warnings
from dataclasses import dataclass
from functools import partial
from time import perf_counter, process_time

from sklearn.exceptions import ConvergenceWarning

from svmreduce.data import catalog, fetching, synthetic
from svmreduce.experiments.load_split import training_and_test
from svmreduce.kernels import resolve_gamma
from svmreduce.solvers import SOLVERS
from svmreduce.solvers.tuning import tune_C
from tests.bench.frank_wolfe_report import report
from tests.bench.output import ROOT, keep
from tests.bench.printed_fw import PrintedFW

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
OWN_SIGMA = ("pendigits:scaled", "usps")  # where the paper searches for σ², too
SIGMA2 = tuple(2.0**power for power in (-3, -1, 1, 3, 5))
METHODS = ("cvm", "fw", "mfw", "bvm", "printed")
PRINTED_LIMIT = 60  # seconds; where samples are seldom quiet, its steps never end
C_VALUES = tuple(4.0**power for power in range(7))  # the paper's range, 2^0 … 2^12
CACHE_MB = 4096
BOARD = {"C": 10.0, "gamma": 2.0}
BOARD_ROWS = (10_000, 100_000, 1_000_000)
BOARD_METHODS = {  # without the last pass over all rows that states the gap, so that a step's cost shows
    "mfw": ("mfw", {"certify": False}),
    "mfw_loose": ("mfw", {"certify": False, "tol": 1e-4}),
    "mfw_begin": ("mfw", {"certify": False, "max_iter": 1000}),
    "mfw_first": ("mfw", {"certify": False, "max_iter": 20_000}),
    "fw": ("fw", {"certify": False}),
    "cvm": ("cvm", {"certify": False}),
    "bvm": ("bvm", {"certify": False}),
    "smo": ("smo", {}),
    "libsvm": ("libsvm", {}),
}


@dataclass(frozen=True)
class Rows:
    """Training and test rows."""

    X: object
    y: object
    X_test: object
    y_test: object


def main(arguments):
    options = argparse.ArgumentParser(prog="python -m tests.bench frank_wolfe", description=__doc__)
    options.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all if none is given")
    options.add_argument("--data", help="only these data sets, separated by commas")
    options.add_argument("--methods", help="only these methods")
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--limit", type=float, default=300, help="seconds that a fit, or a search for C, may take")
    given = options.parse_args(arguments)
    for method in ("cvm", "fw", "mfw", "bvm", "smo", "libsvm"):
        SOLVERS.get(method).warm_up()
    results = Results(given.limit)
    for part in given.parts or PARTS:
        PARTS[part](results, given)
    print(report(results.records))


class Results:
    """The records of all parts, in the file after each fit."""

    def __init__(self, limit: float):
        self.limit = limit
        self.path = ROOT / "results" / "bench" / f"{NAME}.json"

    @property
    def records(self) -> list[dict]:
        return json.loads(self.path.read_text()) if self.path.is_file() else []

    def add(self, key: dict, facts: dict):
        """A record; an older one with the same key goes."""
        records = [old for old in self.records if key.items() - old.items()]
        records.append(key | {"limit": self.limit} | facts)
        print(records[-1], flush=True)
        keep(NAME, report(records), records)


# ---------------------------------------------------------------- Table 2


def accuracy(results: Results, given):
    """Test accuracy at the C that CVM finds on 30 % validation rows, as in the paper."""
    for name in _chosen(DATA, given.data):
        rows = _load(name)
        if rows is None:
            continue
        tuned = _tuned(results, name, rows)
        for seed in range(given.seeds):
            for method in _chosen(METHODS, given.methods):  # interleaved
                key = {"part": "accuracy", "data": name, "printed": DATA[name], "method": method, "seed": seed}
                if method != "printed" or len(set(rows.y)) == 2:
                    results.add(key, tuned | _fit(method, rows, results.limit, seed=seed, **tuned))


def _tuned(results: Results, name: str, rows: Rows) -> dict:
    """C and gamma: those of an earlier run, else the best that are found within the limit."""
    old = next((r for r in results.records if (r["part"], r.get("data")) == ("tuning", name)), None)
    if old is None:
        gammas = [0.5 / s for s in SIGMA2] if name in OWN_SIGMA else [resolve_gamma("auto-distance", rows.X, "rbf")]

        def search(send):
            for gamma in gammas:
                solver = SOLVERS.get("cvm")(gamma=gamma, cache_mb=CACHE_MB, certify=False, threads=1)
                tune_C(solver, rows.X, rows.y, values=C_VALUES, progress=partial(_tell, send, gamma))

        tried = _limited(search, results.limit) or [(0.0, 1.0, gammas[0])]
        _, C, gamma = max(tried, key=lambda trial: trial[0])
        facts = {"C": C, "gamma": gamma, "tried": len(tried), "of": len(C_VALUES) * len(gammas)}
        results.add({"part": "tuning", "data": name}, facts)
        old = facts
    return {"C": old["C"], "gamma": old["gamma"]}


def _tell(send, gamma, C, score, _):
    send((score, C, gamma))


# ---------------------------------------------------------------- Figures 3 and 4


def directions(results: Results, given):
    """The two series, with one C and gamma for all of a series: what is found for its smallest member."""
    for series, names in SERIES.items():
        tuned = _tuned(results, names[0], _load(names[0]))
        methods = [method for method in _chosen(METHODS, given.methods) if method != "printed" or series == "Web"]
        for name in _chosen(names, given.data):
            rows = _load(name)
            for repeat in range(given.seeds if rows else 0):
                for method in methods:
                    key = {"part": "directions", "series": series, "data": name, "method": method, "seed": repeat}
                    facts = _fit(method, rows, results.limit, seed=repeat, **tuned)
                    results.add(key, tuned | {"rows": len(rows.y)} | facts)


# ---------------------------------------------------------------- a million rows


def million(results: Results, given):
    """Checkerboard by size."""
    test = synthetic.make("checkerboard", 10_000, 1)
    for size in BOARD_ROWS:
        train = synthetic.make("checkerboard", size, 0)
        rows = Rows(train.X, train.y, test.X, test.y)
        for seed in range(given.seeds):
            for label in _chosen(BOARD_METHODS, given.methods):
                method, own = BOARD_METHODS[label]
                facts = _fit(method, rows, results.limit, seed=seed, **BOARD, **own)
                results.add({"part": "million", "rows": size, "method": label, "seed": seed}, facts)


# ---------------------------------------------------------------- one fit


def _fit(method: str, rows: Rows, limit: float, *, seed: int, **params) -> dict:
    solver_class = PrintedFW if method == "printed" else SOLVERS.get(method)
    known = inspect.signature(solver_class).parameters
    limit = PRINTED_LIMIT if method == "printed" else limit
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
    return Rows(train.X, train.y, test.X, test.y)


def _chosen(names, wanted: str | None) -> list[str]:
    return [name for name in names if wanted is None or name in wanted.split(",")]


PARTS = {"directions": directions, "million": million, "accuracy": accuracy}
