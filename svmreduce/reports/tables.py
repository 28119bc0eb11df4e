"""The tables of a run: figures per data set and method, one row per fit, failures, and where it was measured.

Everything is derived from stored records. A cell that failed is never dropped: the summary says over how many
cells a figure is and how many failed, and every failed cell has a row with its reason.
"""

from __future__ import annotations

from svmreduce.experiments.metrics import METRICS, summarise
from svmreduce.experiments.store import Records
from svmreduce.reports.cells import identity, natural_key, point_text
from svmreduce.reports.environment import environment_facts, environment_lines
from svmreduce.reports.render import Column, Table, counts, exact, percent, significant

_DATASET = Column("dataset", "dataset", is_text=True, is_key=True)
_METHOD = Column("method", "method", is_text=True, is_key=True)

SUMMARY = [
    _DATASET,
    _METHOD,
    *(Column(key, metric.label, metric.show) for key, metric in METRICS.items()),
    Column("cells", "cells", exact),
    Column("done", "done", exact),
    Column("pairs", "pairs", exact),
    Column("not_converged", "not converged", exact),
    Column("failed", "failed", counts, is_text=True),
    Column("failed_repeats", "failed repeats", counts, is_text=True),
    Column("baseline_failed", "baseline failed", counts, is_text=True),
]
_OVER_PAIRS = {"ets", "ots", "ecs", "rmse"}
_OVER_OTHERS = {"cts", "cts_same_engine", "max_accuracy", "best_mse", "reduce_seconds"}  # folds, reductions
_LEGEND = {
    "ets": "ETS, OTS: speed-up of training against the baseline, without and with the time of the reduction",
    "ecs": "ECS, CTS: speed-up of classification, mean and at each method's best point",
    "rmse": "RMSE: of the accuracy against the baseline's",
    "ots_same_engine": "same engine: against the same solver on all rows",
    "random_sample_accuracy": "random sample: the same solver on a random sample at the same point",
    "pairs": "done: cells with a result; pairs: those that the baseline has too, over which ratios are taken",
}

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
    Column("solve", "solve s", significant),
    Column("reduce", "reduce s", significant),
    Column("convert", "convert s", significant),
    Column("predict", "predict s", significant),
    Column("memory_mb", "memory MB", significant),
    Column("reason", "reason", is_text=True),
]
_SECTIONS = ("scores", "sizes", "counters", "seconds")

FAILURES = [
    _DATASET,
    _METHOD,
    Column("kind", "kind", is_text=True, is_key=True),
    Column("point", "point", is_text=True, is_key=True),
    Column("fold", "fold", exact, is_key=True),
    Column("seed", "seed", exact, is_key=True),
    Column("repeat", "repeat", exact, is_key=True),
    Column("status", "status", is_text=True),
    Column("reason", "reason", is_text=True),
]


def summary_table(records: Records) -> Table:
    """The papers' figures, one row per data set and method, the baseline first."""
    rows = sorted(
        summarise(records.records),
        key=lambda row: (natural_key(row["dataset"]), row["method"] != row["baseline"], natural_key(row["method"])),
    )
    all_converged = not any(row["not_converged"] for row in rows)
    columns = [column for column in SUMMARY if not (all_converged and column.key == "not_converged")]
    table = Table(f"{_title(records)}: figures per data set and method", columns, rows)
    shown = {column.key for column in table.used()}
    baselines = sorted({row["baseline"] for row in rows} - {None}, key=natural_key)
    legend = [text for key, text in _LEGEND.items() if key in shown]
    table.notes.append("; ".join([f"Baseline: {', '.join(baselines) or 'none'}", *legend]) + ".")
    table.notes += [note for row in rows if (note := _odd_counts(row))]
    return table


def _odd_counts(row: dict) -> str:
    """Figures over other cells than the columns ``done`` and ``pairs`` lead one to expect."""
    odd = [
        f"{METRICS[key].label} over {count}"
        for key, count in row["counted"].items()
        if count and key not in _OVER_OTHERS and count != row["pairs" if key in _OVER_PAIRS else "done"]
    ]
    return f"{row['dataset']}, {row['method']}: {'; '.join(odd)} cells." if odd else ""


def fits_table(records: Records, kind: str = "fit") -> Table:
    """One row per fit, sorted by data set, method, point, fold, seed and repeat; numbers as numbers."""
    found = sorted((record for record in records.records if record["kind"] == kind), key=identity)
    return Table(f"{_title(records)}: every {kind}", FITS, [_fit_row(record) for record in found])


def reductions_table(records: Records) -> Table:
    """One row per reduction, in the same way."""
    return fits_table(records, "reduction")


def failures_table(records: Records) -> Table:
    """Every reduction and every fit that did not end well, with its reason."""
    failed = sorted((record for record in records.records if record["status"] != "ok"), key=identity)
    rows = [
        {**{column.key: record.get(column.key) for column in FAILURES}, "point": point_text(record.get("point"))}
        for record in failed
    ]
    return Table(f"{_title(records)}: cells that did not end well ({len(rows)})", FAILURES, rows)


def environment_table(records: Records) -> Table:
    """A table of notes only: machine, versions, load, code, and what could not be read."""
    return Table("Measured", [], [], environment_lines(records))


_FIRST = {"summary": summary_table, "fits": fits_table, "reductions": reductions_table}


def report_tables(records: Records, by: str = "summary") -> list[Table]:
    """All tables of a report: what was asked for, the failures if there are any, and the footer."""
    first = _FIRST[by](records)
    if not first.rows and by == "summary":  # an experiment of reductions only
        first = reductions_table(records)
    failures = failures_table(records)
    return [first, *([failures] if failures.rows else []), environment_table(records)]


def report_facts(records: Records, by: str = "summary") -> dict:
    """The same for programs, with raw values."""
    first = _FIRST[by](records)
    return {by: first.rows, "failures": failures_table(records).rows, "environment": environment_facts(records)}


def _fit_row(record: dict) -> dict:
    row = {key: value for section in _SECTIONS for key, value in (record.get(section) or {}).items()}
    names = ("dataset", "method", "fold", "seed", "repeat", "status", "reason", "memory_mb")
    return row | {name: record.get(name) for name in names} | {"point": point_text(record.get("point"))}


def _title(records: Records) -> str:
    first = records.records[0]
    words = [first.get("experiment"), first.get("scale")]
    return " ".join(word for word in words if word) or str(records.path)
