"""The tables of a run: figures per data set and method, one row per fit, failures, and where it was measured.

Everything is derived from stored records. A cell that failed is never dropped: the summary says over how many
cells a figure is and how many failed, and every failed cell has a row with its reason.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from svmreduce.experiments.metrics import METRICS
from svmreduce.experiments.ordering import natural_key
from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import FIT, REDUCTION, SKIPPED, Record
from svmreduce.experiments.standing import TOO_SHORT, Standing
from svmreduce.reports.render import Column, Table, counts, exact, percent, significant
from svmreduce.reports.run.measured_on import environment_facts, environment_lines
from svmreduce.reports.run.verdict import DatasetVerdict, verdicts
from svmreduce.reports.run.verdict_text import verdict_lines
from svmreduce.reports.run.wording import signed

_DATASET = Column("dataset", "dataset", is_text=True, is_key=True)
_METHOD = Column("method", "method", is_text=True, is_key=True)

SUMMARY = [
    _DATASET,
    _METHOD,
    Column("front", "front", is_text=True),
    Column("fit_seconds", "one fit (s)", significant),
    Column("loss", "loss (%)", str, is_text=True),
    *(Column(key, metric.label, metric.show) for key, metric in METRICS.items()),
    Column("cells", "cells", exact),
    Column("done", "done", exact),
    Column("pairs", "pairs", exact),
    Column("not_converged", "not converged", exact),
    Column("failed", "failed", counts, is_text=True),
    Column("failed_repeats", "failed repeats", counts, is_text=True),
    Column("baseline_failed", "baseline failed", counts, is_text=True),
]
_SHORT = (
    "front", "fit_seconds", "ots", "loss", "failed", "not_converged", "max_accuracy", "best_mse", "chosen_accuracy",
    "chosen_mse", "ets", "ecs", "cts",
    "rmse", "primal_excess", "kept_percent", "mean_accuracy", "random_sample_accuracy", "mse", "random_sample_mse",
    "ots_same_engine", "vectors",
)  # fmt: skip
_OVER_PAIRS = {"ets", "ots", "ecs", "rmse"}
_OVER_OTHERS = {"cts", "cts_same_engine", "max_accuracy", "best_mse", "chosen_accuracy", "chosen_mse",
                "reduce_seconds"}  # folds, reductions  # fmt: skip
_CHOSEN = (
    "chosen {}: at the grid point that cross-validation of the exact SVM on the training rows chose; {} is the best on "
    "the test rows, which no user knows beforehand"
)
_LEGEND = {
    "front": 'front: nothing is both quicker and better; "use" and "or" are the verdict\'s choices',
    "fit_seconds": "one fit: reduction and training at the method's best grid point",
    "loss": (
        "loss: of accuracy in points, or of RMSE in %, against the exact solution, each at its best point, with the "
        "paired 95 % interval"
    ),
    "chosen_accuracy": _CHOSEN.format("acc.", "max. acc."),
    "chosen_mse": _CHOSEN.format("MSE", "best MSE"),
    "ets": "ETS, OTS: speed-up of training against the baseline, without and with the time of the reduction",
    "ecs": "ECS, CTS: speed-up of classification, mean and at each method's best point",
    "rmse": "RMSE: of the accuracy against the baseline's",
    "ots_same_engine": "same engine: against the same solver on all rows",
    "random_sample_accuracy": "random acc.: mean acc. of the same solver on a random sample of the same size",
    "primal_excess": (
        "primal: by how much the SVM's objective over all training rows is above that of the solution on all of them "
        "(blank for methods that minimise something else)"
    ),
    "pairs": "done: cells with a result; pairs: those that the baseline has too, over which ratios are taken",
}

FEWER_CELLS, EARLY, SHORT_TIME = "*", "†", "‡"
_SIGNS = {
    FEWER_CELLS: "over fewer cells than the same figure of other methods on this data set: not comparable with it.",
    EARLY: "with fits that stopped before they converged; they do not decide a verdict.",
    SHORT_TIME: f"less than {1000 * TOO_SHORT:.0f} ms, mostly noise; two such times count as equal.",
}
_OWN_COUNT = {"reduce_seconds"}  # counts reductions, which differ between methods

FITS = [
    _DATASET,
    _METHOD,
    Column("point", "point", is_text=True, is_key=True),
    Column("fold", "fold", exact, is_key=True),
    Column("seed", "seed", exact, is_key=True),
    Column("repeat", "repeat", exact, is_key=True),
    Column("status", "status", is_text=True),
    Column("accuracy", "accuracy %", percent),
    Column("errors", "errors", exact),
    Column("auc", "AUC", exact),
    Column("mse", "MSE", exact),
    Column("mae", "MAE", exact),
    Column("train_rows", "train rows", exact),
    Column("kept_rows", "kept rows", exact),
    Column("vectors", "vectors", exact),
    Column("n_iter", "iterations", exact),
    Column("kernel_evals", "kernel evals", exact),
    Column("objective", "objective", exact),
    Column("gap", "gap", significant),
    Column("primal", "primal, all rows", exact),
    Column("solve", "solve s", significant),
    Column("reduce", "reduce s", significant),
    Column("convert", "convert s", significant),
    Column("predict", "predict s", significant),
    Column("memory_mb", "memory MB", significant),
    Column("reason", "reason", is_text=True),
]
_SHORT_FITS = ("status", "accuracy", "mse", "solve", "reduce", "kept_rows", "vectors", "primal", "predict", "n_iter",
               "memory_mb", "errors", "auc")  # fmt: skip
_SECTIONS = ("scores", "sizes", "counters", "seconds")

FAILURES = [
    _DATASET,
    _METHOD,
    Column("kind", "kind", is_text=True, is_key=True),
    Column("cells", "cells", exact),
    Column("where", "where", is_text=True),
    Column("status", "status", is_text=True),
    Column("lost", "lost with it", exact),
    Column("reason", "reason", is_text=True),
]


def summary_table(run: Run) -> Table:
    """The papers' figures, one row per data set and method, the baseline first."""
    rows = sorted(
        run.summary,
        key=lambda row: (natural_key(row["dataset"]), row["method"] != row["baseline"], natural_key(row["method"])),
    )
    facts = {(verdict.dataset, one.label): _standing(verdict, one) for verdict in verdicts(run) for one in verdict.all}
    rows = [row | facts.get((row["dataset"], row["method"]), {}) for row in rows]
    unit = "%" if any(row["task"] == "regression" for row in rows) else "points"
    all_converged = not any(row["not_converged"] for row in rows)
    columns = [column for column in SUMMARY if not (all_converged and column.key == "not_converged")]
    columns = [replace(column, title=f"loss ({unit})") if column.key == "loss" else column for column in columns]
    most = {(row["dataset"], key): 0 for row in rows for key in row["counted"]}
    for row in rows:
        for key, count in row["counted"].items():
            most[row["dataset"], key] = max(count, most[row["dataset"], key])

    def mark(row: dict, key: str) -> str:
        if row.get(key) is None:
            return ""
        if key == "fit_seconds":
            return SHORT_TIME if row[key] < TOO_SHORT else ""
        if key not in METRICS:
            return ""
        fewer = row["counted"][key] < most[row["dataset"], key] and key not in _OWN_COUNT
        return FEWER_CELLS * fewer + EARLY * (row["not_converged"] > 0)

    lone = {} if run.controls else {"mean_accuracy", "mse"}  # they are there to compare with the random sample's
    first = tuple(key for key in _SHORT if key not in lone)
    table = Table(f"{_title(run)}: figures per data set and method", columns, rows, first=first, mark=mark)
    baselines = sorted({row["baseline"] for row in rows} - {None}, key=natural_key)
    table.legend = {"method": f"Baseline: {', '.join(baselines) or 'none'}"} | _LEGEND
    used = {sign for row in rows for column in columns for sign in mark(row, column.key)}
    table.notes += [f"{sign} {text}" for sign, text in _SIGNS.items() if sign in used]
    table.notes += [note for row in rows if (note := _odd_counts(row))]
    return table


def _standing(verdict: DatasetVerdict, one: Standing) -> dict:
    """What the verdict says about a method, for its row."""
    places = {verdict.recommended: "use", verdict.quicker: "or"}
    loss = verdict.loss(one)
    return {
        "front": places.get(one, "front" if one in verdict.front else ""),
        "fit_seconds": one.seconds,
        "loss": "" if loss is None or one is verdict.reference else signed(loss, with_unit=False),
        "is_poor": verdict.is_poor(one),
    }


def _odd_counts(row: dict) -> str:
    """Figures over other cells than the columns ``done`` and ``pairs`` lead one to expect."""
    odd = [
        f"{METRICS[key].label} over {count}"
        for key, count in row["counted"].items()
        if count and key not in _OVER_OTHERS and count != row["pairs" if key in _OVER_PAIRS else "done"]
    ]
    return f"{row['dataset']}, {row['method']}: {'; '.join(odd)} cells." if odd else ""


def fits_table(run: Run, kind: str = FIT) -> Table:
    """One row per fit, sorted by data set, method, point, fold, seed and repeat; numbers as numbers."""
    found = sorted(run.fits if kind == FIT else run.reductions, key=lambda record: record.identity)
    return Table(f"{_title(run)}: every {kind}", FITS, [_fit_row(record) for record in found], first=_SHORT_FITS)


def reductions_table(run: Run) -> Table:
    """One row per reduction, in the same way."""
    return fits_table(run, REDUCTION)


def failures_table(run: Run) -> Table:
    """What did not succeed, with its reason: a line for every kind of failure of a method, not for every cell.

    What could not run because a reduction failed is counted in the line of that reduction.
    """
    failed = sorted((record for record in run.records if not record.is_ok), key=lambda record: record.identity)
    cause = _causes(failed)
    groups: dict[tuple, list[Record]] = {}
    for record in failed:
        if record.id not in cause:
            key = record.dataset, record.method, record.kind, record.status, record.reason
            groups.setdefault(key, []).append(record)
    lost = Counter(cause.values())
    rows = [
        {
            **dict(zip(("dataset", "method", "kind", "status", "reason"), key, strict=True)),
            "cells": len(members),
            "where": members[0].cell_text if len(members) == 1 else "",
            "lost": sum(lost[record.id] for record in members) or None,
        }
        for key, members in groups.items()
    ]
    return Table(f"{_title(run)}: cells that did not succeed ({len(failed)})", FAILURES, rows)


def _causes(failed: list[Record]) -> dict[str, str]:
    """Record -> the failed reduction that it could not do without, directly or by way of another."""
    ids, found = {record.id for record in failed}, {}
    needs = {record.id: [need for need in (record.reduction, record.size_of) if need in ids] for record in failed}
    for record in failed:
        root = record.id
        while record.status == SKIPPED and needs.get(root):
            root = needs[root][0]
        if root != record.id:
            found[record.id] = root
    return found


def failure_facts(run: Run) -> list[dict]:
    """Every record that did not succeed, for programs."""
    names = ("dataset", "method", "kind", "point", "fold", "seed", "repeat", "status", "reason")
    failed = sorted((record for record in run.records if not record.is_ok), key=lambda record: record.identity)
    return [{name: getattr(record, name) for name in names} | {"point": record.point_text} for record in failed]


def verdict_table(run: Run) -> Table:
    """A table of notes only: what to use on each data set."""
    return Table("Verdict", [], [], verdict_lines(run))


def environment_table(run: Run) -> Table:
    """A table of notes only: machine, versions, load, code, and what could not be read."""
    return Table("Measured", [], [], environment_lines(run))


_FIRST = {"summary": summary_table, "fits": fits_table, "reductions": reductions_table}


def report_tables(run: Run, by: str = "summary") -> list[Table]:
    """All tables of a report: the verdict, what was asked for, the failures if there are any, and the footer."""
    verdict, failures = verdict_table(run), failures_table(run)
    verdict = [verdict] if by == "summary" and verdict.notes else []
    return [*verdict, first_table(run, by), *([failures] if failures.rows else []), environment_table(run)]


def first_table(run: Run, by: str = "summary") -> Table:
    """The table that was asked for."""
    found = _FIRST[by](run)
    if not found.rows and by == "summary":  # an experiment of reductions only
        found = reductions_table(run)
    return found


def report_facts(run: Run, by: str = "summary") -> dict:
    """The same for programs, with raw values."""
    first = _FIRST[by](run)
    facts = {"verdicts": [verdict.to_json() for verdict in verdicts(run)]} if by == "summary" else {}
    return facts | {by: first.rows, "failures": failure_facts(run), "environment": environment_facts(run)}


def _fit_row(record: Record) -> dict:
    row = {key: value for section in _SECTIONS for key, value in getattr(record, section).items() if key != "wrong"}
    names = ("dataset", "method", "fold", "seed", "repeat", "status", "reason", "memory_mb")
    return row | {name: getattr(record, name) for name in names} | {"point": record.point_text}


def _title(run: Run) -> str:
    words = [run.records[0].experiment, run.records[0].scale]
    return " ".join(word for word in words if word) or str(run.path)
