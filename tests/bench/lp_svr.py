"""Ranked rows beside the LP-SVR paper: iterations and time with and without, one million rows, Figure 3.

``python -m tests.bench lp_svr [ranking|million|figure3]``; ``ranking`` goes on where it stopped, case by case.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from itertools import product
from time import perf_counter, process_time

import numpy as np
from scipy import stats
from scipy.spatial import ConvexHull
from sklearn.exceptions import ConvergenceWarning

from svmreduce import papers
from svmreduce.core.clouds import Cloud, rank_in_group, squared_distances
from svmreduce.data import catalog, fetching, synthetic
from svmreduce.reports import drawing
from svmreduce.solvers.decomposition import DecompositionSVC, DecompositionSVR
from svmreduce.solvers.incremental import Incremental
from svmreduce.solvers.lp_svr import LPSVC, LPSVR
from svmreduce.solvers.smo import SMO
from tests.bench.output import ROOT, keep, machine

SEEDS = 10
FEW_SEEDS = 5  # of what takes longer
SIZES = ("40", "N/4")  # of the first working set: the paper does not state it
FIRST = ("random", "file", "mahalanobis", "oracle")
PART = 0.9  # of a real set that each seed trains on
SETS = {  # printed name: source, rows of a generator, settings of the kernel and C
    "Ripley": ("ripley:train", None, {}),
    "Sonar": ("sonar:all", None, {}),
    "Wine": ("wine:1-vs-2", None, {}),
    "Iris": ("iris:all", None, {}),
    "Spiral": ("two_spirals", 200, {"gamma": 50.0}),
    "sinc": ("sinc", 200, {"gamma": 0.5}),
    "ADA": ("ada:train", None, {}),
    "SYLVA": ("sylva:train", None, {}),
    "sinc_times_pi": ("sinc_times_pi", 20_000, {"gamma": 0.5}),
    "Synthetic S": ("synthetic_s", 10_000, {"gamma": 0.5}),
    "GINA": ("gina:train", None, {"C": 0.1}),
    "HIVA": ("hiva:train", None, {}),
    "Synthetic NS": ("synthetic_ns", 10_000, {"gamma": 0.5}),
}
SMALL = ("Ripley", "Sonar", "Wine", "Iris", "Spiral", "sinc", "ADA")


def main(arguments):
    parts = {"figure3": figure3, "ranking": ranking, "million": million}
    warnings.simplefilter("ignore", ConvergenceWarning)  # in the records
    for name in arguments or parts:
        parts[name]()


# ---------------------------------------------------------------- Tables 2 to 4


def ranking():
    """Every printed cell of LP-SVR, LS SVM and IncSVM whose data is here, seed by seed with and without ranking."""
    for solver in (LPSVC, LPSVR, DecompositionSVC, DecompositionSVR, Incremental):
        solver.warm_up()
    records = [record for record in _kept() if record["part"] == "ranking" and "size" in record]
    done = {(record["dataset"], record["method"], record["size"]) for record in records}
    for name, (source, rows, settings) in SETS.items():
        if rows is None and not fetching.locate(catalog.load_card(source.partition(":")[0])):
            print(f"{name}: no file here, left out", file=sys.stderr)
            continue
        for method, size in product(("LP-SVR", "LS SVM", "IncSVM"), SIZES):
            if (name, method, size) not in done and (method, size) != ("IncSVM", "N/4"):
                seeds = SEEDS if name in SMALL else FEW_SEEDS
                records += _compared(name, method, source, rows, settings, size, seeds)
                _report("ranking", records)


def _compared(name, method, source, rows, settings, size, seeds) -> list[dict]:
    found = []
    for seed in range(seeds):
        data = _rows(source, rows, seed)
        if method == "IncSVM" and (data.task == "regression" or data.n_rows > 1000):
            return []
        # in turn, so that a busy machine is busy for all
        for first in FIRST[seed % 4 :] + FIRST[: seed % 4]:
            solver = _solver(method, data.task, settings).set_params(first=first, random_state=seed)
            if method != "IncSVM":
                solver.set_params(working_set=40 if size == "40" else data.n_rows // 4)
            rounds = []
            solver.callback = rounds.append  # called after each sub-problem of the decomposition
            start = process_time()
            solver.fit(data.X, data.y)
            oracle = 2 if first == "oracle" else 1  # its first fit counts neither here nor in n_iter_
            found.append({"dataset": name, "method": method, "size": size, "rows": data.n_rows, "seed": seed,
                          "first": first, "iterations": solver.n_iter_, "programs": _last_rounds(rounds, oracle),
                          "cpu_seconds": process_time() - start, "vectors": len(solver.support_),
                          "objective": solver.objective_, "converged": solver.converged_})  # fmt: skip
        print(found[-1], flush=True)
    return found


def _last_rounds(rounds, fits) -> int | None:
    """Sub-problems of the fits that count: of an oracle's two fits of each problem the second."""
    starts = [place for place, facts in enumerate(rounds) if facts["rounds"] == 1] + [len(rounds)]
    lengths = np.diff(starts)
    return int(lengths[fits - 1 :: fits].sum()) if rounds else None


def _rows(source, rows, seed):
    if rows is not None:
        return synthetic.make(source, rows, seed)
    name, _, split = source.partition(":")
    data = catalog.load(source) if split == "1-vs-2" else catalog.load(name, split)
    chosen = np.sort(np.random.default_rng(seed).permutation(data.n_rows)[: round(PART * data.n_rows)])
    return type(data)(data.X[chosen], data.y[chosen], data.name, data.task)


def _solver(method, task, settings):
    if method == "IncSVM":
        return Incremental(**settings)
    classes = {("LP-SVR", "classification"): LPSVC, ("LP-SVR", "regression"): LPSVR,
               ("LS SVM", "classification"): DecompositionSVC, ("LS SVM", "regression"): DecompositionSVR}  # fmt: skip
    return classes[method, task](threads=1, **settings)


def saved(records, fact, first="mahalanobis", base="random") -> tuple[float, float, float]:
    """What one first working set saves against another, in percent, and its 95 % confidence interval over the seeds.

    Student's t on the logarithms of the ratios: a mean of ratios would call equal noisy figures a loss.
    """
    by = {(record["seed"], record["first"]): record[fact] for record in records}
    seeds = sorted({record["seed"] for record in records})
    ratio = [np.log(max(by[seed, first], 1e-9) / max(by[seed, base], 1e-9)) for seed in seeds]
    reach = stats.t.ppf(0.975, len(ratio) - 1) * stats.sem(ratio)
    return tuple(float(100 * (1 - np.exp(np.mean(ratio) + sign * reach))) for sign in (0, 1, -1))


def verdict(printed, low, high) -> str:
    """In words what the interval says, and whether the printed figure agrees with it."""
    if low > 0:
        if printed is None:
            return "saves"
        return (
            "saves, as printed"
            if low <= printed <= high
            else f"saves, {'more' if low > printed else 'less'} than printed"
        )
    what = "costs" if high < 0 else "no difference shown"
    if printed is None:
        return what
    return f"{what}; the print is within the interval" if low <= printed <= high else f"{what}; contradicts the print"


def _printed(name, method):
    cells = {table: {(row["dataset"], row["method"]): row for row in papers.find(f"lp_svr:{table}").rows}
             for table in ("table2", "table3", "table4")}  # fmt: skip
    found = [cells[table].get((name, method), {}) for table in cells]
    before, after, steps = found[0].get("seconds"), found[1].get("seconds"), found[2].get("iteration_reduction_percent")
    return steps, None if not before else 100 * (1 - after / before)


def _ranking_text(records) -> list[str]:
    lines = ["## What the first working set saves, percent of the iterations from a random one", "",
             "Iterations are linear programs (LP-SVR), pair steps (LS SVM: decomposition by the own engine) and "
             "changes of sides (IncSVM, which learns the rows in this order); sub-problems are the working sets that "
             "the decomposition solves. *Ranked*: of each class the furthest by Mahalanobis distance; *file*: the "
             "first of each class in the file (rows of generators come at random); *oracle*: those that end up with "
             "the largest coefficients. All first sets have equal shares of the classes, but for the oracle's. Real "
             "sets: a random 90 % of the rows for each seed; generators: new rows for each seed. Brackets: 95 % "
             "confidence interval over the seeds, paired. CPU seconds, one thread, ranking included. Printed: Table 4, "
             "and Tables 2 and 3 for the time.", "",
             "| data | method | rows | first set | seeds | iterations, random | printed | ranked | verdict | ranked, "
             "against file | file | oracle | sub-problems, random | ranked | oracle | time, printed | ranked |",
             "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |" + " ---: |" * 8]  # fmt: skip
    for name, method, size in dict.fromkeys(
        (record["dataset"], record["method"], record["size"]) for record in records
    ):
        own = [record for record in records
               if (record["dataset"], record["method"], record["size"]) == (name, method, size)]  # fmt: skip
        at_random = [record for record in own if record["first"] == "random"]
        steps, (printed_steps, printed_time) = saved(own, "iterations"), _printed(name, method)
        programs = ["", "", ""]
        if own[0]["programs"] is not None:
            programs = [f"{np.mean([record['programs'] for record in at_random]):.1f}",
                        *(_interval(saved(own, "programs", first)) for first in ("mahalanobis", "oracle"))]  # fmt: skip
        cells = [name, method, own[0]["rows"], "–" if method == "IncSVM" else size, len(at_random),
                 f"{np.mean([record['iterations'] for record in at_random]):.1f}", _number(printed_steps),
                 _interval(steps), verdict(printed_steps, *steps[1:]),
                 _interval(saved(own, "iterations", base="file")),
                 *(_interval(saved(own, "iterations", first)) for first in ("file", "oracle")), *programs,
                 _number(printed_time), _interval(saved(own, "cpu_seconds"))]  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    failed = [record for record in records if not record["converged"]]
    return [*lines, "", *_means(records),
            f"{len(records)} fits, {len(failed)} of them stopped before their tolerance.", ""]  # fmt: skip


def _means(records) -> list[str]:
    """Over the data sets, as the paper's averages: a set counts once, and only those that all columns have."""
    lines = ["Means over the data sets:", "",
             "| method | first set | sets | printed, of these | ranked | file | oracle | ranked, against file |",
             "| --- |" + " ---: |" * 7]  # fmt: skip
    for method, size in product(("LP-SVR", "LS SVM"), SIZES):
        own = [record for record in records if (record["method"], record["size"]) == (method, size)]
        sets = [[record for record in own if record["dataset"] == name]
                for name in dict.fromkeys(record["dataset"] for record in own)]  # fmt: skip
        printed = [value for one in sets if (value := _printed(one[0]["dataset"], method)[0]) is not None]
        pairs = [("mahalanobis", "random"), ("file", "random"), ("oracle", "random"), ("mahalanobis", "file")]
        means = [f"{np.mean([saved(one, 'iterations', *pair)[0] for one in sets]):.1f}" for pair in pairs]
        if sets:
            lines.append(f"| {method} | {size} | {len(sets)} | {np.mean(printed):.1f} | {' | '.join(means)} |")
    return [*lines, ""]


def _interval(found) -> str:
    return "{:.0f} [{:.0f}, {:.0f}]".format(*found)


def _number(value) -> str:
    return "–" if value is None else f"{value:.0f}"


# ---------------------------------------------------------------- one million rows


def million():
    """sinc × π with 1e6 rows, end to end, with and without ranking."""
    LPSVR.warm_up()
    test = synthetic.make("sinc_times_pi", 10_000, seed=1000)
    records = []
    for seed in range(FEW_SEEDS):
        data = synthetic.make("sinc_times_pi", 1_000_000, seed)
        for first in ("random", "mahalanobis"):
            start, cpu = perf_counter(), process_time()
            solver = LPSVR(gamma=0.5, first=first, random_state=seed, threads=1).fit(data.X, data.y)
            records.append({"dataset": "sinc_times_pi", "method": "LP-SVR", "rows": data.n_rows, "seed": seed,
                            "first": first, "iterations": solver.n_iter_, "seconds": perf_counter() - start,
                            "cpu_seconds": process_time() - cpu, "vectors": len(solver.support_),
                            "r2": solver.score(test.X, test.y), "converged": solver.converged_,
                            "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024})  # fmt: skip
            print(records[-1], flush=True)
        if seed:
            _report("million", records)


def _million_text(records) -> list[str]:
    lines = ["## sinc × π, one million rows, one thread", "",
             "| first working set | seeds | iterations | wall s | CPU s | vectors | R² on 10,000 new rows |",
             "| --- |" + " ---: |" * 6]  # fmt: skip
    for first in ("random", "mahalanobis"):
        own = [record for record in records if record["first"] == first]
        mean = {fact: np.mean([record[fact] for record in own])
                for fact in ("iterations", "seconds", "cpu_seconds", "vectors", "r2")}  # fmt: skip
        lines.append(
            f"| {first} | {len(own)} | {mean['iterations']:.1f} | {mean['seconds']:.1f} | {mean['cpu_seconds']:.1f} "
            f"| {mean['vectors']:.1f} | {mean['r2']:.4f} |"
        )
    steps, time = saved(records, "iterations"), saved(records, "cpu_seconds")
    printed_steps, printed_time = _printed("sinc_times_pi", "LP-SVR")
    peak = max(record["memory_mb"] for record in records)
    return [*lines, "", f"Iterations saved: printed {printed_steps} %, measured {_interval(steps)} %: "
            f"{verdict(printed_steps, *steps[1:])}. Time saved: printed {printed_time:.0f} %, measured "
            f"{_interval(time)} %. Peak memory of the process: {peak:.0f} MB. All converged: "
            f"{'yes' if all(record['converged'] for record in records) else 'no'}.", ""]  # fmt: skip


# ---------------------------------------------------------------- Figure 3


def figure3():
    """Do top-ranked rows, convex hull and support vectors coincide? As many ranked rows as each class's hull has."""
    records = []
    for seed in range(20):
        data = synthetic.make("copula", 100, seed)
        groups = (data.y > 0).astype(np.int64)
        rank = rank_in_group(squared_distances(Cloud(data.X), groups), groups, np.random.RandomState(seed))
        hull = np.concatenate([np.flatnonzero(groups == g)[ConvexHull(data.X[groups == g]).vertices] for g in (0, 1)])
        ranked = np.flatnonzero(rank < np.bincount(groups[hull])[groups])
        vectors = SMO(kernel="linear", C=10).fit(data.X, data.y).support_
        records.append({"seed": seed, "hull": hull.size, "vectors": vectors.size,
                        "ranked_of_hull": np.isin(hull, ranked).mean(),
                        "ranked_of_vectors": np.isin(vectors, ranked).mean(),
                        "hull_of_vectors": np.isin(vectors, hull).mean(),
                        "chance": ranked.size / data.n_rows})  # fmt: skip
        if seed == 0:
            _draw(data, groups, ranked, hull, vectors)
    _report("figure3", records)


def _draw(data, groups, ranked, hull, vectors):
    figure, axes = drawing.new_figure("Top-ranked rows, convex hulls, support vectors", height=4.2)
    for group, colour, name in ((0, drawing.PALETTE[0], "normal"), (1, drawing.PALETTE[1], "copula")):
        points = data.X[groups == group]
        ring = data.X[hull[groups[hull] == group]]  # in order around the cloud
        axes.plot(*points.T, "o", color=colour, markersize=3, label=name)
        axes.plot(*np.vstack([ring, ring[:1]]).T, color=colour, linewidth=1)
    empty = {"linestyle": "none", "markerfacecolor": "none", "color": drawing.INK}
    axes.plot(*data.X[ranked].T, marker="o", markersize=9, **empty, label="top-ranked")
    axes.plot(*data.X[vectors].T, marker="s", markersize=6, **empty, label="support vector")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    drawing.save(figure, ROOT / "results" / "bench" / "lp_svr_figure3.svg")


def _figure3_text(records) -> list[str]:
    mean = {fact: 100 * np.mean([record[fact] for record in records]) for fact in records[0] if "_of_" in fact}
    chance = 100 * np.mean([record["chance"] for record in records])
    return ["## Figure 3: top-ranked rows, convex hull, support vectors", "", "![overlap](lp_svr_figure3.svg)", "",
            f"Over {len(records)} samples, with as many ranked rows in each class as its hull has: "
            f"{mean['ranked_of_hull']:.0f} % of the hull and {mean['ranked_of_vectors']:.0f} % of the support vectors "
            f"are among the top-ranked ({chance:.0f} % of all rows are), and {mean['hull_of_vectors']:.0f} % of the "
            "support vectors are on the hull. The paper says that ranked rows contain both.", ""]  # fmt: skip


# ---------------------------------------------------------------- one report of all parts


def _kept() -> list[dict]:
    path = ROOT / "results" / "bench" / "lp_svr.json"
    return json.loads(path.read_text()) if path.is_file() else []


def _report(part, records):
    """The report anew with this part's records in place of its older ones."""
    everything = [record for record in _kept() if record["part"] != part]
    everything += [{**record, "part": part} for record in records]
    lines = ["# LP-SVR and Mahalanobis ranking beside the paper", "", machine(), ""]
    for name, text in (("ranking", _ranking_text), ("million", _million_text), ("figure3", _figure3_text)):
        own = [record for record in everything if record["part"] == name]
        lines += text(own) if own else []
    keep("lp_svr", "\n".join(lines), everything)
