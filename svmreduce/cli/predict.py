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
from svmreduce.cli.deferred import import_scikit_learn
from svmreduce.cli.kernel_table import table_to_predict
from svmreduce.cli.libsvm_options import LibsvmCommand, probability_option
from svmreduce.errors import InputError

_EPILOG = """\b
Examples:
  svmreduce predict test.txt model.txt
  svmreduce predict test.txt model.txt labels.txt --decision-values
  svmreduce predict -b 1 test.txt model.txt probabilities.txt
  svmreduce predict --json ijcnn1:test model.txt
"""


@click.command(cls=LibsvmCommand, epilog=_EPILOG)
@click.argument("test", metavar="TEST")
@click.argument("model", metavar="MODEL")
@click.argument("out", metavar="[OUT]", required=False)
@click.option("--decision-values", is_flag=True, help="Add the decision values to every line of OUT.")
@probability_option
@threads_option
@label_option
@json_option
@quiet_option
def predict(test, model, out, decision_values, probability, threads, label, as_json, quiet):
    """Predict TEST (a file, or NAME[:SPLIT] of the catalogue) with MODEL, of LIBSVM, LIBLINEAR or svmreduce train.

    OUT gets one label per line, as svm-predict writes it, with -b 1 after a first line that names the classes.
    """
    import_scikit_learn()
    from svmreduce.model import load_model

    if decision_values and not out:
        raise InputError("--decision-values needs OUT, the file to write them to")
    if probability and (decision_values or not out):
        raise InputError("-b 1 needs OUT, the file to write probabilities to, and no --decision-values")
    if out:
        check_writable(out, test, model)
    loaded = load_model(model)
    for note in loaded.notes:
        click.echo(f"Note: {model}: {note}", err=True)
    is_table = getattr(getattr(loaded, "kernel", None), "name", "") == "precomputed"
    data = table_to_predict(test) if is_table else reader_of(test, "test", label=label)()
    if data.is_table and data.n_features != loaded.n_features:
        raise InputError(
            f"{test}: {data.n_features} columns (words count one per category), but {model} was trained on "
            f"{loaded.n_features}; give a table with the same columns and categories, and the same --label"
        )
    if loaded.labels is not None and (loaded.labels.dtype.kind == "U") != (data.y.dtype.kind in "UO"):
        raise InputError(f"{test} and {model} do not match: the labels of one are words, those of the other numbers")
    start = perf_counter()
    if probability and getattr(loaded, "sigmoids", None) is None:
        raise InputError(f"{model}: has no class probabilities; train it with -b 1 (solvers such as smo and libsvm)")
    if decision_values or probability:
        decisions = loaded.decision_function(data.X, threads=threads)
        predicted = loaded.decide(decisions)
        values = loaded.probabilities(decisions) if probability else decisions
    else:
        values, predicted = None, loaded.predict(data.X, threads=threads)
    record = {
        "rows": data.n_rows,
        **_scores(loaded.task, data.y, predicted),
        "seconds": perf_counter() - start,
    }
    if out:
        _write(out, predicted, values, loaded.labels if probability else None)
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


def _write(out, predicted, values, columns) -> None:
    """One line per row: the label, then its values if there are any; ``columns`` are named in the first line."""
    from svmreduce.model.text import write_text

    def texts(labels):
        return [label if isinstance(label, str) else f"{label:.17g}" for label in labels.tolist()]

    labels = texts(predicted)
    if values is None:
        write_text(out, (f"{label}\n" for label in labels))
        return
    rows = values.reshape(len(labels), -1).tolist()
    lines = [f"{label} {' '.join(map(repr, row))}\n" for label, row in zip(labels, rows, strict=True)]
    write_text(out, lines if columns is None else [f"labels {' '.join(texts(columns))}\n", *lines])
