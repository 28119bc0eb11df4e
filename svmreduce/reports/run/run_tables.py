"""The tables of a run: figures per data set and method, one row per fit, failures, and where it was measured.

Everything is derived from stored records. A cell that failed is never dropped: the summary says over how many
cells a figure is and how many failed, and every failed cell has a row with its reason.
"""

from __future__ import annotations

from svmreduce.experiments.metrics import METRICS
from svmreduce.experiments.ordering import natural_key
from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import FIT, REDUCTION, Record
from svmreduce.reports.render import Column, Table, counts, exact, percent, significant
from svmreduce.reports.run.measured_on import environment_facts, environment_lines

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
    "primal_excess": (
        "primal above exact: the SVM's objective over all training rows against that of the solution on all of them; "
        "blank for methods that minimise something else"
    ),
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
    Column("primal", "primal, all rows", exact),
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


def summary_table(run: Run) -> Table:
    """The papers' figures, one row per data set and method, the baseline first."""
    rows = sorted(
        run.summary,
        key=lambda row: (natural_key(row["dataset"]), row["method"] != row["baseline"], natural_key(row["method"])),
    )
    all_converged = not any(row["not_converged"] for row in rows)
    columns = [column for column in SUMMARY if not (all_converged and column.key == "not_converged")]
    table = Table(f"{_title(run)}: figures per data set and method", columns, rows)
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


def fits_table(run: Run, kind: str = FIT) -> Table:
    """One row per fit, sorted by data set, method, point, fold, seed and repeat; numbers as numbers."""
    found = sorted(run.fits if kind == FIT else run.reductions, key=lambda record: record.identity)
    return Table(f"{_title(run)}: every {kind}", FITS, [_fit_row(record) for record in found])


def reductions_table(run: Run) -> Table:
    """One row per reduction, in the same way."""
    return fits_table(run, REDUCTION)


def failures_table(run: Run) -> Table:
    """Every reduction and every fit that did not succeed, with its reason."""
    failed = sorted((record for record in run.records if not record.is_ok), key=lambda record: record.identity)
    rows = [{column.key: getattr(record, column.key) for column in FAILURES} for record in failed]
    rows = [row | {"point": record.point_text} for row, record in zip(rows, failed, strict=True)]
    return Table(f"{_title(run)}: cells that did not succeed ({len(rows)})", FAILURES, rows)


def environment_table(run: Run) -> Table:
    """A table of notes only: machine, versions, load, code, and what could not be read."""
    return Table("Measured", [], [], environment_lines(run))


_FIRST = {"summary": summary_table, "fits": fits_table, "reductions": reductions_table}


def report_tables(run: Run, by: str = "summary") -> list[Table]:
    """All tables of a report: what was asked for, the failures if there are any, and the footer."""
    first = _FIRST[by](run)
    if not first.rows and by == "summary":  # an experiment of reductions only
        first = reductions_table(run)
    failures = failures_table(run)
    return [first, *([failures] if failures.rows else []), environment_table(run)]


def report_facts(run: Run, by: str = "summary") -> dict:
    """The same for programs, with raw values."""
    first = _FIRST[by](run)
    return {by: first.rows, "failures": failures_table(run).rows, "environment": environment_facts(run)}


def _fit_row(record: Record) -> dict:
    row = {key: value for section in _SECTIONS for key, value in getattr(record, section).items() if key != "wrong"}
    names = ("dataset", "method", "fold", "seed", "repeat", "status", "reason", "memory_mb")
    return row | {name: getattr(record, name) for name in names} | {"point": record.point_text}


def _title(run: Run) -> str:
    words = [run.records[0].experiment, run.records[0].scale]
    return " ".join(word for word in words if word) or str(run.path)
