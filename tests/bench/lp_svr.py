"""Ranked rows beside the LP-SVR paper: iterations and time with and without, one million rows, Figure 3.

``python -m tests.bench lp_svr [ranking|million|figure3]``
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
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
from tests.bench.output import ROOT, machine, write

SEEDS = 10
FEW_SEEDS = 5  # of what takes longer
WORKING_SET = 40  # the paper does not state its size
PART = 0.9  # of a real set that each seed trains on
SETS = {  # printed name: source, rows of a generator, settings of the kernel and C
    "Ripley": ("ripley:train", None, {}),
    "Sonar": ("sonar:all", None, {}),
    "Wine": ("wine:1-vs-2", None, {}),
    "Iris": ("iris:all", None, {}),
    "Spiral": ("two_spirals", 200, {"gamma": 50.0}),
    "sinc": ("sinc", 200, {"gamma": 0.5}),
    "ADA": ("ada:train", None, {}),
    "GINA": ("gina:train", None, {"C": 0.1}),
    "HIVA": ("hiva:train", None, {}),
    "SYLVA": ("sylva:train", None, {}),
    "sinc_times_pi": ("sinc_times_pi", 20_000, {"gamma": 0.5}),
    "Synthetic S": ("synthetic_s", 10_000, {"gamma": 0.5}),
    "Synthetic NS": ("synthetic_ns", 10_000, {"gamma": 0.5}),
}


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
    records = []
    for name, (source, rows, settings) in SETS.items():
        if rows is None and not fetching.locate(catalog.load_card(source.partition(":")[0])):
            print(f"{name}: no file here, left out", file=sys.stderr)
            continue
        for method in ("LP-SVR", "LS SVM", "IncSVM"):
            seeds = SEEDS if rows in (None, 200) and name not in ("GINA", "HIVA", "SYLVA") else FEW_SEEDS
            records += _compared(name, method, source, rows, settings, seeds)
            _report("ranking", records)


def _compared(name, method, source, rows, settings, seeds) -> list[dict]:
    found = []
    for seed in range(seeds):
        data = _rows(source, rows, seed)
        if method == "IncSVM" and (data.task == "regression" or data.n_rows > 1000):
            return []
        # in turn, so that a busy machine is busy for both
        for first in ("random", "mahalanobis") if seed % 2 else ("mahalanobis", "random"):
            solver = _solver(method, data.task, settings).set_params(first=first, random_state=seed)
            start = process_time()
            solver.fit(data.X, data.y)
            found.append({"dataset": name, "method": method, "rows": data.n_rows, "seed": seed, "first": first,
                          "iterations": solver.n_iter_, "cpu_seconds": process_time() - start,
                          "vectors": len(solver.support_), "objective": solver.objective_,
                          "converged": solver.converged_})  # fmt: skip
            print(found[-1], flush=True)
    return found


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
    return classes[method, task](working_set=WORKING_SET, threads=1, **settings)


def saved(records, fact) -> tuple[float, float, float]:
    """What ranking saves, in percent, and its 95 % confidence interval over the seeds.

    Student's t on the logarithms of the ratios: a mean of ratios would call equal noisy figures a loss.
    """
    by = {(record["seed"], record["first"]): record[fact] for record in records}
    seeds = sorted({record["seed"] for record in records})
    ratio = [np.log(by[seed, "mahalanobis"] / by[seed, "random"]) for seed in seeds]
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
    lines = ["## Iterations and time saved by a ranked first working set, percent", "",
             "Iterations are linear programs (LP-SVR), pair steps (LS SVM: decomposition by the own engine) and "
             f"changes of sides (IncSVM). First working set: {WORKING_SET} rows, equal shares of the classes, the "
             "furthest of each by Mahalanobis distance against random ones. Real sets: a random 90 % of the rows for "
             "each seed; generators: new rows for each seed. Brackets: 95 % confidence interval over the seeds. CPU "
             "seconds, one thread, ranking included.", "",
             "| data | method | rows | seeds | iterations, random | ranked | saved, printed | saved, measured "
             "| verdict | CPU s, random | ranked | time saved, printed | measured | verdict |",
             "| --- | --- |" + " ---: |" * 6 + " --- |" + " ---: |" * 4 + " --- |"]  # fmt: skip
    for name, method in dict.fromkeys((record["dataset"], record["method"]) for record in records):
        own = [record for record in records if (record["dataset"], record["method"]) == (name, method)]
        mean = {(first, fact): np.mean([record[fact] for record in own if record["first"] == first])
                for first in ("random", "mahalanobis") for fact in ("iterations", "cpu_seconds")}  # fmt: skip
        steps, time = saved(own, "iterations"), saved(own, "cpu_seconds")
        printed_steps, printed_time = _printed(name, method)
        lines.append(
            f"| {name} | {method} | {own[0]['rows']} | {len(own) // 2} | {mean['random', 'iterations']:.1f} "
            f"| {mean['mahalanobis', 'iterations']:.1f} | {_number(printed_steps)} | {_interval(steps)} "
            f"| {verdict(printed_steps, *steps[1:])} | {mean['random', 'cpu_seconds']:.3f} "
            f"| {mean['mahalanobis', 'cpu_seconds']:.3f} | {_number(printed_time)} | {_interval(time)} "
            f"| {verdict(printed_time, *time[1:])} |"
        )
    failed = [record for record in records if not record["converged"]]
    lines += ["", f"{len(records)} fits, {len(failed)} of them stopped before their tolerance.", ""]
    return lines


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


def _report(part, records):
    """The report anew with this part's records in place of its older ones."""
    path = ROOT / "results" / "bench" / "lp_svr.json"
    kept = json.loads(path.read_text()) if path.is_file() else []
    everything = [record for record in kept if record["part"] != part] + [
        {"part": part, **record} for record in records
    ]
    lines = ["# LP-SVR and Mahalanobis ranking beside the paper", "", machine(), ""]
    for name, text in (("ranking", _ranking_text), ("million", _million_text), ("figure3", _figure3_text)):
        own = [record for record in everything if record["part"] == name]
        lines += text(own) if own else []
    write("lp_svr", "\n".join(lines), everything)
