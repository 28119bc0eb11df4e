"""``svmreduce score``: models compared on all rows of a file, by accuracy and by what an SVM minimises."""

from __future__ import annotations

import math
from time import perf_counter

import click

from svmreduce.cli.common import NumberRange, json_option, memory_option, print_json, quiet_option, threads_option
from svmreduce.cli.rows_to_predict import RowsToPredict
from svmreduce.cli.table_options import data_warnings, header_option, label_option
from svmreduce.errors import InputError

_EPILOG = """\b
Examples:
  svmreduce score -C 10 train.txt model.txt
  svmreduce score -C 10 rows.parquet aesvm.txt sample.txt exact.txt
  svmreduce score --json -C 1 -p 0.1 prices.csv svr.txt
"""


@click.command(epilog=_EPILOG)
@click.argument("data", metavar="DATA")
@click.argument("models", metavar="MODEL…", nargs=-1, required=True)
@click.option("-C", "-c", "--cost", "cost", type=NumberRange(min=0, min_open=True), help="C of the objective.")
@click.option(
    "-p",
    "--epsilon",
    "tube",
    type=NumberRange(min=0),
    default=0.1,
    show_default=True,
    help="Half the width of the tube, for models of a regression.",
)
@label_option
@header_option
@threads_option
@memory_option
@json_option
@quiet_option
def score(data, models, cost, tube, label, header, threads, memory, as_json, quiet):
    """Judge models on all rows of DATA in one pass: accuracy (or MSE), mean loss, and the SVM's primal objective.

    The objective is ½‖w‖² + C·Σ max(0, 1 − y·f(x)), for a regression with max(0, |y − f(x)| − p); lower is better, and
    the exact SVM of these rows has the lowest. It compares models of the same kernel, C and preparation of rows,
    however they were trained. Model files do not have C, so it is left out without -C, and for clusters, random
    features, precomputed kernels and one class. Several classes: the sum over their two-class problems. DATA may be
    larger than memory.
    """
    from svmreduce.data.new_rows import cut
    from svmreduce.model import load_model

    rows = RowsToPredict(data, header, label, False, memory)
    loaded = [load_model(path) for path in models]
    if len({model.task for model in loaded}) > 1:
        raise InputError("some models classify and some predict numbers; score them separately")
    if len({_is_table(model) for model in loaded}) > 1:
        raise InputError(f"{data}: models of a precomputed kernel need other data than the rest; score them separately")
    judges = [_Judge(path, model, rows, tube, threads) for path, model in zip(models, loaded, strict=True)]
    start = perf_counter()
    with data_warnings(quiet, of_blocks=rows.is_streamed) as warned:
        for number, raw in enumerate(rows.raw(loaded[0])):
            for judge in judges:
                prepared = judge.prepare(raw)
                if prepared.y is None:
                    raise InputError(f"{data}: has no labels to compare with; name their column by --label")
                if not number:
                    judge.scores.check_labels(prepared.y)
                for X, y in cut(prepared):
                    judge.add(X, y)
        n_rows, seconds = judges[0].scores.rows, perf_counter() - start
        found = [judge.result(cost) for judge in judges]
    found.sort(key=_worth)
    hint = _hint(judges, cost)
    if as_json:
        warned = {"warnings": warned} if warned else {}
        figures = {"rows": n_rows, "C": cost, "seconds": seconds, "rows_per_second": n_rows / seconds}
        return print_json({**figures, "models": found, **({"note": hint} if hint else {}), **warned})
    if not quiet:
        _show(found, n_rows, seconds)
        if hint:
            click.echo(f"Note: {hint}", err=True)


def _is_table(loaded) -> bool:
    return getattr(getattr(loaded, "kernel", None), "name", "") == "precomputed"


class _Judge:
    """What is summed up for one model."""

    def __init__(self, path: str, loaded, rows: RowsToPredict, tube: float, threads: int | None):
        from svmreduce.model.objective import HingeLoss

        self.path, self.loaded, self.model = path, loaded, getattr(loaded, "model", loaded)
        self.threads, self.tube = threads, tube
        self.prepare, self.scores = rows.prepared(loaded), rows.scores_of(loaded)
        self.hinge, self.tube_losses, self.has_objective = HingeLoss(), [], False

    def add(self, X, y) -> None:
        from svmreduce.model.objective import tube_loss

        with self.scores.timed():
            decisions = self.model.decision_function(X, threads=self.threads)
        self.scores.add(y, self.model.decide(decisions), None)
        if self.model.task == "regression":
            self.tube_losses.append(float(tube_loss(y, decisions, self.tube).sum()))
        elif self.model.labels is not None:
            self.hinge.add(y, decisions)

    def result(self, cost: float | None) -> dict:
        from svmreduce.model.objective import squared_norms

        found, loss = self.scores.result(), None
        if self.model.task == "regression":
            loss = math.fsum(self.tube_losses)
        elif self.model.labels is not None:
            loss = self.hinge.total(self.model, self.scores.match)
        norms = squared_norms(self.model, self.threads) if loss is not None else None
        keys = ("mse", "mae", "r2") if "mse" in found else ("accuracy", "balanced_accuracy")
        self.has_objective = norms is not None
        objective = None if norms is None or cost is None else math.fsum(norms) / 2 + cost * loss
        return {
            "model": self.path,
            "vectors": getattr(self.model, "n_vectors", None),
            **{key: found[key] for key in keys},
            "mean_loss": None if loss is None else loss / self.scores.rows,
            "squared_norm": None if norms is None else math.fsum(norms),
            "objective": objective,
            "seconds": self.scores.seconds,
        }


def _worth(entry: dict) -> tuple:
    """The lowest objective first; without one, the most accurate."""
    return entry["objective"] is None, entry["objective"] or 0.0, entry.get("mse", -entry.get("accuracy", 0.0))


def _hint(judges: list[_Judge], cost: float | None) -> str | None:
    """What keeps the objectives from being there or from being compared."""
    from svmreduce.model.objective import space_of

    if cost is None:
        return "give -C for the objective; model files do not have it"
    spaces = {
        (space_of(judge.model), repr(getattr(judge.loaded, "preparation", None) and _scaling(judge.loaded)))
        for judge in judges
        if judge.has_objective
    }
    if len(spaces) > 1:
        return "kernels or scalings differ between the models: their objectives measure different things"
    return None


def _scaling(loaded) -> dict | None:
    scaler = loaded.preparation.scaler
    return scaler and scaler.to_json()


def _show(found: list[dict], n_rows: int, seconds: float) -> None:
    from tabulate import tabulate

    def shown(value, form) -> str:
        return "–" if value is None else format(value, form)

    is_regression = "mse" in found[0]
    first = "MSE" if is_regression else "accuracy"
    rows = [
        [
            entry["model"],
            shown(entry["mse"], ".6g") if "mse" in entry else f"{100 * entry['accuracy']:.4f}%",
            shown(entry["mean_loss"], ".6g"),
            shown(entry["squared_norm"], ".6g"),
            shown(entry["objective"], ".8g"),
            shown(entry["vectors"], "d"),
        ]
        for entry in found
    ]
    header = ["model", first, "mean loss", "‖w‖²", "objective", "vectors"]
    click.echo(tabulate(rows, header, "plain", disable_numparse=True, colalign=("left", *["right"] * 5)))
    click.echo(f"{n_rows} rows in {seconds:.3g} s, {n_rows / seconds:,.0f} per second")
