"""``svmreduce predict``: labels for a file from a model."""

from __future__ import annotations

from time import perf_counter

import click

from svmreduce.cli.common import (
    check_writable,
    json_option,
    label_option,
    print_json,
    quiet_option,
    reader_of,
    threads_option,
)
from svmreduce.errors import InputError

_EPILOG = """\b
Examples:
  svmreduce predict test.txt model.txt
  svmreduce predict test.txt model.txt labels.txt --decision-values
  svmreduce predict --json ijcnn1:test model.txt
"""


@click.command(epilog=_EPILOG)
@click.argument("test", metavar="TEST")
@click.argument("model", metavar="MODEL")
@click.argument("out", metavar="[OUT]", required=False)
@click.option("--decision-values", is_flag=True, help="Add the decision values to every line of OUT.")
@threads_option
@label_option
@json_option
@quiet_option
def predict(test, model, out, decision_values, threads, label, as_json, quiet):
    """Predict TEST (a file, or NAME[:SPLIT] of the catalogue) with MODEL, of LIBSVM, LIBLINEAR or svmreduce train.

    OUT gets one label per line, as svm-predict writes it.
    """
    from svmreduce.model import load_model

    if decision_values and not out:
        raise InputError("--decision-values needs OUT, the file to write them to")
    if out:
        check_writable(out, test, model)
    loaded = load_model(model)
    for note in loaded.notes:
        click.echo(f"Note: {model}: {note}", err=True)
    data = reader_of(test, "test", label=label)()
    if data.is_table and data.n_features != loaded.n_features:
        raise InputError(
            f"{test}: {data.n_features} columns (words count one per category), but {model} was trained on "
            f"{loaded.n_features}; give a table with the same columns and categories, and the same --label"
        )
    if loaded.labels is not None and (loaded.labels.dtype.kind == "U") != (data.y.dtype.kind in "UO"):
        raise InputError(f"{test} and {model} do not match: the labels of one are words, those of the other numbers")
    start = perf_counter()
    if decision_values:
        decisions = loaded.decision_function(data.X, threads=threads)
        predicted = loaded.decide(decisions)
    else:
        decisions, predicted = None, loaded.predict(data.X, threads=threads)
    record = {
        "rows": data.n_rows,
        **_scores(loaded.task, data.y, predicted),
        "seconds": perf_counter() - start,
    }
    if out:
        _write(out, predicted, decisions)
    if as_json:
        print_json(record)
    elif not quiet and loaded.task == "regression":
        click.echo(f"MSE = {record['mse']:.6g}, R² = {record['r2']:.6g} ({data.n_rows} rows)")
    elif not quiet:
        hits = round(record["accuracy"] * data.n_rows)
        click.echo(f"Accuracy = {100 * record['accuracy']:.6g}% ({hits}/{data.n_rows})")


def _scores(task, y, predicted) -> dict:
    import numpy as np

    if task == "classification":
        return {"accuracy": float(np.mean(y == predicted))}
    errors, spread = np.square(y - predicted), np.square(y - np.mean(y))
    r2 = 1 - errors.sum() / spread.sum() if spread.sum() > 0 else float("nan")
    return {"mse": float(errors.mean()), "r2": float(r2)}


def _write(out, predicted, decisions) -> None:
    from svmreduce.model.text import write_text

    labels = [label if isinstance(label, str) else f"{label:.17g}" for label in predicted.tolist()]
    if decisions is None:
        write_text(out, (f"{label}\n" for label in labels))
        return
    rows = decisions.reshape(len(labels), -1).tolist()
    lines = (f"{label} {' '.join(map(repr, row))}\n" for label, row in zip(labels, rows, strict=True))
    write_text(out, lines)
