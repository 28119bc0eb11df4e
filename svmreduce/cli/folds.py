"""``svmreduce train --folds 5``: how well a method does on rows it was not trained on, as svm-train -v says it."""

from __future__ import annotations

from time import perf_counter

import click

from svmreduce.cli.common import print_json
from svmreduce.cli.patience import patiently


def cross_validated(method, data, rows_of, sample_weight, folds: int, as_json: bool, limits: dict) -> None:
    """Cross-validate and print accuracy, or mean squared error and squared correlation of a regression."""
    import numpy as np
    from sklearn.base import is_classifier

    from svmreduce.search.shared_predictions import predictions
    from svmreduce.solvers.cross_validation import cross_validate

    seed = getattr(method, "random_state", 0) or 0

    def at_once(parts):
        if rows_of is not None or limits["max_seconds"] is not None or not hasattr(method, "C"):
            return None
        found = predictions(method, data.X, data.y, sample_weight, parts, [method.C])
        return found and [labels for (labels,) in found]

    cut_short = 0

    def each(fitted):
        nonlocal cut_short
        cut_short += not getattr(fitted, "converged_", True)

    start = perf_counter()
    predicted, out_of_time = patiently(
        lambda: cross_validate(
            method, data.X, data.y, sample_weight, folds=folds, seed=seed, rows_of=rows_of, at_once=at_once, each=each
        ),
        f"{folds} folds",
        **limits,
    )
    record = {"rows": data.n_rows, "folds": folds, "seconds": perf_counter() - start}
    if is_classifier(method):
        record["accuracy"] = float(np.average(predicted == data.y, weights=sample_weight))
        lines = [f"Cross Validation Accuracy = {100 * record['accuracy']:.6g}%"]
    else:
        record["mse"] = float(np.average(np.square(predicted - data.y), weights=sample_weight))
        with np.errstate(invalid="ignore"):
            record["squared_correlation"] = float(np.corrcoef(predicted, data.y)[0, 1] ** 2)
        lines = [
            f"Cross Validation Mean squared error = {record['mse']:.6g}",
            f"Cross Validation Squared correlation coefficient = {record['squared_correlation']:.6g}",
        ]
    if out_of_time:
        click.echo("Warning: stopped by --max-seconds; some folds are not solved to the tolerance", err=True)
    elif cut_short:
        of = f"{cut_short} of {folds} folds"
        click.echo(f"Warning: {of} stopped before reaching the tolerance: the score is of such models", err=True)
    if as_json:
        print_json(record)
    elif not limits["quiet"]:
        click.echo("\n".join(lines))
