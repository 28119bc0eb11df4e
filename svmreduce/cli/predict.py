"""``svmreduce predict``: labels for a file from a model."""

from __future__ import annotations

import string
from contextlib import contextmanager

import click

from svmreduce.cli.common import check_writable, json_option, memory_option, print_json, quiet_option, threads_option
from svmreduce.cli.libsvm_options import LibsvmCommand, probability_option
from svmreduce.cli.rows_to_predict import RowsToPredict, one_answer
from svmreduce.cli.table_options import data_warnings, prediction_options, warn
from svmreduce.errors import InputError
from svmreduce.printable import quoted

_EPILOG = """\b
Examples:
  svmreduce predict test.txt model.txt
  svmreduce predict test.csv model.txt labels.txt --decision-values
  svmreduce predict --no-label new.csv model.txt labels.txt
  svmreduce predict -b 1 test.txt model.txt probabilities.txt
  svmreduce predict --json ijcnn1:test model.txt
  svmreduce predict rows.parquet model.txt labels.txt
"""
_LARGEST_PICTURE = 12  # classes


@click.command(cls=LibsvmCommand, epilog=_EPILOG)
@click.argument("test", metavar="TEST")
@click.argument("model", metavar="MODEL")
@click.argument("out", metavar="[OUT]", required=False)
@click.option("--decision-values", is_flag=True, help="Add the decision values to every line of OUT.")
@probability_option
@threads_option
@memory_option
@prediction_options
@json_option
@quiet_option
def predict(test, model, out, decision_values, probability, threads, memory, label, no_label, header, as_json, quiet):
    """Predict TEST (a file, or NAME[:SPLIT] of the catalogue) with MODEL, of LIBSVM, LIBLINEAR or svmreduce train.

    A model of svmreduce train remembers columns, categories and scaling: TEST may have its columns in any order, with
    labels or without. OUT gets one label per line, as svm-predict writes it, with -b 1 after a first line that names
    the classes. Where values follow, a label with blanks is in double quotes. TEST may be larger than memory: text and
    tables, Parquet and Arrow files or folders of them, X.npy with y.npy.
    """
    from svmreduce.model import load_model

    out = "/dev/stdout" if out == "-" else out
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
    rows = RowsToPredict(test, header, label, no_label, memory)
    scores = rows.scores_of(loaded)
    wants_values = decision_values or probability
    with data_warnings(quiet, of_blocks=rows.is_streamed) as warned, _written(out) as write:
        if probability:
            write(f"labels {' '.join(_texts(plain.labels, string.whitespace))}\n")
        for X, y in rows.blocks(loaded, scores):
            with scores.timed():
                decisions, predicted = _decided(plain, X, threads, wants_values or scores.needs_auc(y))
                values = plain.probabilities(decisions) if probability else decisions if decision_values else None
            scores.add(y, predicted, decisions)
            if out:
                write(_lines(predicted, values))
        found = scores.result()
    if scores.auc_left_out and not quiet:
        click.echo("Note: AUC is left out, because it needs more than --memory for so many rows", err=True)
    warn(one_answer(found, scores.rows), warned)
    if as_json:
        warned = {"warnings": warned} if warned else {}
        print_json({"rows": scores.rows, **found, "seconds": scores.seconds, **warned})
    elif not quiet:
        _report(found, scores, bool(out))


def _decided(model, X, threads, wants_decisions: bool):
    """Decision values, if they are wanted, and labels."""
    if not wants_decisions:
        return None, model.predict(X, threads=threads)
    decisions = model.decision_function(X, threads=threads)
    return decisions, model.decide(decisions)


@contextmanager
def _written(out: str | None):
    """A function that adds text to OUT, which appears only if all goes well."""
    from svmreduce.data.files import write_whole

    if not out:
        yield lambda text: None
        return
    with write_whole(out) as stream:
        yield lambda text: stream.write(text.encode())


def _report(scores: dict, seen, is_written: bool) -> None:
    """The figures as text, the usual line of svm-predict first."""
    rows = seen.rows
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
        counts = "".join(f", {count} × {quoted(label, ',')}" for label, count in scores.get("predicted", {}).items())
        hint = "" if is_written else "; name a file OUT to keep the labels"
        labels = "; the labels are not 1 and -1, and not looked at" if seen.is_labelled else " without labels"
        click.echo(f"Predicted {rows} rows{labels}{counts}{hint}")


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


def _texts(labels, separators) -> list[str]:
    words = (label if isinstance(label, str) else f"{label:.17g}" for label in labels.tolist())
    return [quoted(word, separators) for word in words]


def _lines(predicted, values) -> str:
    """One line per row: the label, then its values if there are any."""
    if values is None:
        return "".join(f"{label}\n" for label in _texts(predicted, "\r\n"))
    labels, rows = _texts(predicted, string.whitespace), values.reshape(len(predicted), -1).tolist()
    return "".join(f"{label} {' '.join(map(repr, row))}\n" for label, row in zip(labels, rows, strict=True))
