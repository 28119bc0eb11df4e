"""``svmreduce predict``: labels for a file from a model."""

from __future__ import annotations

import string
from dataclasses import replace
from time import perf_counter

import click

from svmreduce.cli.common import check_writable, json_option, print_json, quiet_option, reader_of, threads_option
from svmreduce.cli.kernel_table import table_to_predict
from svmreduce.cli.libsvm_options import LibsvmCommand, probability_option
from svmreduce.cli.table_options import data_warnings, prediction_options
from svmreduce.errors import InputError

_EPILOG = """\b
Examples:
  svmreduce predict test.txt model.txt
  svmreduce predict test.csv model.txt labels.txt --decision-values
  svmreduce predict --no-label new.csv model.txt labels.txt
  svmreduce predict -b 1 test.txt model.txt probabilities.txt
  svmreduce predict --json ijcnn1:test model.txt
"""
_LARGEST_PICTURE = 12  # classes


@click.command(cls=LibsvmCommand, epilog=_EPILOG)
@click.argument("test", metavar="TEST")
@click.argument("model", metavar="MODEL")
@click.argument("out", metavar="[OUT]", required=False)
@click.option("--decision-values", is_flag=True, help="Add the decision values to every line of OUT.")
@probability_option
@threads_option
@prediction_options
@json_option
@quiet_option
def predict(test, model, out, decision_values, probability, threads, label, no_label, header, as_json, quiet):
    """Predict TEST (a file, or NAME[:SPLIT] of the catalogue) with MODEL, of LIBSVM, LIBLINEAR or svmreduce train.

    A model of svmreduce train remembers columns, categories and scaling: TEST may have its columns in any order, with
    labels or without. OUT gets one label per line, as svm-predict writes it, with -b 1 after a first line that names
    the classes. Where values follow, a label with blanks is in double quotes.
    """
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
    plain = getattr(loaded, "model", loaded)  # for rows that are prepared already
    if probability and getattr(plain, "sigmoids", None) is None:
        raise InputError(f"{model}: has no class probabilities; train it with -b 1 (solvers such as smo and libsvm)")
    with data_warnings(quiet) as warned:
        data, positive = _rows(test, loaded, header, label, no_label)
    start = perf_counter()
    is_binary = plain.labels is not None and len(plain.labels) == 2
    decisions = None
    if decision_values or probability or (is_binary and data.y is not None):
        decisions = plain.decision_function(data.X, threads=threads)
        predicted = plain.decide(decisions)
    else:
        predicted = plain.predict(data.X, threads=threads)
    seconds = perf_counter() - start
    scores = _scores(plain, data.y, predicted, decisions if is_binary else None, positive)
    if out:
        values = plain.probabilities(decisions) if probability else decisions if decision_values else None
        _write(out, predicted, values, plain.labels if probability else None)
    if as_json:
        warned = {"warnings": warned} if warned else {}
        print_json({"rows": data.n_rows, **scores, "seconds": seconds, **warned})
    elif not quiet:
        _report(scores, data.n_rows, bool(out))


def _rows(test, loaded, header, label, no_label):
    """The prepared rows, and the class of interest."""
    from svmreduce.data.labels import matched_labels
    from svmreduce.data.preparation import Choices, numbered_preparation

    if getattr(getattr(loaded, "kernel", None), "name", "") == "precomputed":
        data = table_to_predict(test)
        return replace(data, y=None if no_label else matched_labels(data.y, loaded.labels, test)), None
    raw = reader_of(test, "test", Choices(label=label, header=header))()
    preparation = getattr(loaded, "preparation", None) or numbered_preparation(raw, loaded.n_features)
    return preparation.new(raw, loaded.labels, label=label, no_label=no_label), preparation.positive


def _scores(model, y, predicted, decisions, positive) -> dict:
    from svmreduce.label_keys import count_labels
    from svmreduce.scores import classification_scores, regression_scores

    if y is None:
        return {"predicted": count_labels(predicted)} if model.task == "classification" else {}
    if model.task == "regression":
        return regression_scores(y, predicted)
    classes = predicted[:0] if model.labels is None else model.labels
    return classification_scores(y, predicted, classes=classes, decisions=decisions, positive=positive)


def _report(scores: dict, rows: int, is_written: bool) -> None:
    """The figures as text, the usual line of svm-predict first."""
    if "mse" in scores:
        click.echo(f"MSE = {scores['mse']:.6g}, MAE = {scores['mae']:.6g}, R² = {scores['r2']:.6g} ({rows} rows)")
    elif "accuracy" in scores:
        hits = round(scores["accuracy"] * rows)
        click.echo(f"Accuracy = {100 * scores['accuracy']:.6g}% ({hits}/{rows})")
        of = "mean over classes" if scores["positive"] is None else f"of {scores['positive']}"
        auc = "" if scores["auc"] is None else f", AUC = {scores['auc']:.4f}"
        balanced = f"{100 * scores['balanced_accuracy']:.4g}%"
        click.echo(f"Balanced accuracy = {balanced}, F1 = {scores['f1']:.4f} ({of}){auc}")
        _picture(scores["labels"], scores["confusion"])
    else:
        counts = "".join(f", {count} × {label}" for label, count in scores.get("predicted", {}).items())
        hint = "" if is_written else "; name a file OUT to keep the labels"
        click.echo(f"Predicted {rows} rows without labels{counts}{hint}")


def _picture(labels: list[str], confusion: list[list[int]]) -> None:
    """True labels down, predicted ones across; of many classes only the largest confusions."""
    if len(labels) <= _LARGEST_PICTURE:
        from tabulate import tabulate

        names = [label if len(label) <= 14 else f"{label[:13]}…" for label in labels]
        rows = [[name, *counts] for name, counts in zip(names, confusion, strict=True)]
        click.echo(tabulate(rows, ["true \\ predicted", *names], "plain", disable_numparse=True, stralign="right"))
        return
    cells = [(count, labels[i], labels[j]) for i, row in enumerate(confusion) for j, count in enumerate(row)]
    wrong = sorted((cell for cell in cells if cell[0] and cell[1] != cell[2]), reverse=True)
    for count, true, guess in wrong[:5]:
        click.echo(f"  {true} taken for {guess}: {count}")


def quoted(word: str, separators: str) -> str:
    """In double quotes, as in CSV files, if it would not be one word otherwise."""
    return '"' + word.replace('"', '""') + '"' if set(word) & {'"', *separators} else word


def _write(out, predicted, values, columns) -> None:
    """One line per row: the label, then its values if there are any; ``columns`` are named in the first line."""
    from svmreduce.model.text import write_text

    def texts(labels, separators):
        words = (label if isinstance(label, str) else f"{label:.17g}" for label in labels.tolist())
        return [quoted(word, separators) for word in words]

    if values is None:
        write_text(out, (f"{label}\n" for label in texts(predicted, "\r\n")))
        return
    labels = texts(predicted, string.whitespace)
    rows = values.reshape(len(labels), -1).tolist()
    lines = [f"{label} {' '.join(map(repr, row))}\n" for label, row in zip(labels, rows, strict=True)]
    write_text(out, lines if columns is None else [f"labels {' '.join(texts(columns, string.whitespace))}\n", *lines])
