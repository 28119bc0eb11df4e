"""``svmreduce train``: one method on one file."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from time import perf_counter

import click

from svmreduce.cli.common import (
    check_task,
    check_writable,
    compile_off_the_clock,
    given_flags,
    json_option,
    kernel_options,
    look_here_for_methods,
    method_options,
    parse_settings,
    print_json,
    print_pairs,
    quiet_option,
    timed_raw_rows,
)
from svmreduce.cli.folds import cross_validated
from svmreduce.cli.kernel_table import timed_table, with_numbers
from svmreduce.cli.libsvm_options import (
    LIBSVM_OPTIONS,
    LibsvmCommand,
    class_weights_for,
    libsvm_options,
    set_libsvm_options,
    solver_by_number,
)
from svmreduce.cli.out_of_core import (
    MEANS,
    blocks_of,
    ended_at_once,
    fit_in_blocks,
    out_of_core_options,
    refuse_for_blocks,
    take_means,
)
from svmreduce.cli.patience import patiently
from svmreduce.cli.table_options import (
    data_warnings,
    label_of_table,
    no_label_option,
    take_choices,
    training_options,
    warn,
)
from svmreduce.errors import InputError
from svmreduce.registry import build_method, nearest_name_error, parameters_of

_EPILOG = """\b
Examples:
  svmreduce train --solver smo --kernel rbf -C 1 -g 0.5 train.txt model.txt
  svmreduce train --solver libsvm -t linear -C 10 ijcnn1:train model.txt
  svmreduce train --solver mfw -g auto-distance --tune-C train.txt model.txt
  svmreduce train --reducer random --set share=0.1 train.txt model.txt
  svmreduce train --weights weights.txt --json train.txt model.txt
  svmreduce train -s 0 -t 2 -c 10 -g auto -b 1 -w1 5 train.txt model.txt
  svmreduce train -v 5 -c 10 -g 0.5 train.txt
  svmreduce train --class-weight balanced --max-seconds 60 train.txt model.txt
  svmreduce train --solver aesvm --memory 1GB -C 10 -g 1 rows.parquet model.txt
  svmreduce train --solver dcsvm --out-of-core --memory 1GB -C 10 -g 1 rows.parquet model.txt
  svmreduce train -s one_class -n 0.05 --no-label --scale standard rows.csv model.txt
  svmreduce train --scale standard --label class --drop id,3-5 --impute median train.csv model.txt
"""


@click.command(cls=LibsvmCommand, epilog=_EPILOG)
@click.argument("train", metavar="TRAIN")
@click.argument("model", metavar="[MODEL]", required=False)
@click.option(
    "-s",
    "--solver",
    default="smo",
    show_default=True,
    callback=solver_by_number,
    help="Name of a solver, see svmreduce methods; LIBSVM's types 0 to 4 work, too.",
)
@kernel_options
@libsvm_options
@click.option("-C", "-c", "--cost", "cost", type=float, help="Penalty of an error.")
@click.option("--tune-C", "tune", is_flag=True, help="Choose C from 1, 2, 4 … 4096 by accuracy on 30 % of the rows.")
@click.option("-e", "--tol", type=float, help="Tolerance of the optimality conditions.")
@click.option("-m", "--cache-mb", type=float, help="Memory for kernel values, in MB.")
@click.option("--weights", metavar="FILE", help="One weight per line: how many rows a row stands for.")
@click.option("--reducer", help="Train on the rows that this reducer keeps or makes.")
@method_options
@training_options
@no_label_option
@out_of_core_options
@json_option
@quiet_option
@click.option("-v", "--verbose", is_flag=True, help="Report every round of a solver that works in rounds.")
def train(train, model, solver, tune, weights, reducer, settings, n_features, as_json, quiet, verbose, **options):
    """Train on TRAIN (a file, or NAME[:SPLIT] of the catalogue) and write MODEL, TRAIN.model here if not given.

    MODEL is a LIBSVM or LIBLINEAR model file; only random features (rfeatsvm1, rfeatsvm2) and clusters (dcsvm, dcsvr)
    have text formats of their own, which svmreduce predict reads.

    Rows that need more than --memory stay on the disk with --solver aesvm, dcsvm or randsvm, --reducer derive_rs or
    random. randsvm goes through the file once a round. The others cut it into partitions in the folder MODEL.work, and
    each is reduced, or trained, by itself; if the command is stopped, the same command goes on from there.
    """
    from svmreduce.checks import check_parameters
    from svmreduce.data.fold_rows import fold_rows
    from svmreduce.data.labels import check_several
    from svmreduce.reducers import REDUCERS
    from svmreduce.sanity import blind_kernel, nothing_reduced, unequal_columns
    from svmreduce.solvers import SOLVERS

    given = {name: options.pop(name) for name in LIBSVM_OPTIONS}
    context = {name: options.pop(name) for name in MEANS}
    model = model or f"{Path(train).name}.model"
    if not given["folds"]:
        check_writable(model, train, weights)
    look_here_for_methods(solver, reducer)
    choices = take_choices(options)
    solver_class = SOLVERS.get(solver)
    if not solver_class.kernels:
        raise InputError(f"{solver} has no model file: use it in experiments (svmreduce run) or in Python")
    reducer_class = REDUCERS.get(reducer) if reducer else None
    if choices.no_label:
        _check_needs_no_label(solver, solver_class, reducer)
    if tune and reducer:
        raise InputError("--tune-C and --reducer exclude each other: kept rows are not a fair test for C")
    if tune and (options["cost"] is not None or any(setting.startswith("C=") for setting in settings)):
        raise InputError("--tune-C chooses C: leave out the C that is given")
    method = _build(solver, solver_class, reducer, reducer_class, options, parse_settings(settings))
    if verbose and "verbose" in parameters_of(solver_class):
        method.set_params(**{"solver__verbose" if reducer else "verbose": True})
    set_libsvm_options(method, solver, solver_class, reducer, given)
    check_parameters(method.solver if reducer else method)

    means = take_means(context, train, model, reducer or solver, method, quiet)
    names = {"solver": solver, "reducer": reducer}
    if means is not None:
        balanced = given["class_weights"] == ("balanced",)
        refused = {"folds": given["folds"], "tune_C": tune, "weights": weights}
        refuse_for_blocks(train, **refused, class_weight=given["class_weights"] and not balanced)
        if balanced:
            method.set_params(**{"solver__class_weight" if reducer else "class_weight": "balanced"})
        with data_warnings(quiet, of_blocks=True, is_begun=True) as warned:
            blocks = blocks_of(train, choices, n_features)
        compile_off_the_clock(*(part.warm_up for part in (solver_class, reducer_class) if part), quiet=quiet)
        with data_warnings(quiet, warned, of_blocks=True):
            train_on = partial(fit_in_blocks, method, blocks, choices, means, given["max_seconds"])
            data, preparation, rows, out_of_time = ended_at_once(train_on, means)
        warn(None if choices.scale else unequal_columns(data.X, preparation.titles), warned)
        record = _facts(method, rows, data.n_features) | ({"stopped_by": "max_seconds"} if out_of_time else {})
        record["seconds"] = {"read": record["seconds"].pop("read"), **record["seconds"]}
        vectors = record["support_vectors"] if "kept" in record else None  # data has the kept rows, else few of all
        warn(blind_kernel(getattr(method.model_, "kernel", None), data.X, vectors), warned)
        _write(method, method.model_, model, names | record, data, preparation, choices, warned, as_json, quiet)
        return
    is_table = options["kernel"] == "precomputed"
    read = partial(timed_raw_rows, train, "train", n_features, choices, quiet)
    if is_table:
        read = partial(timed_table, train, choices)
    with data_warnings(quiet) as warned:
        (data, preparation, load, raw), _ = patiently(read, "reading", quiet=quiet)
        check_task(train, data, solver, solver_class, "; try --solver svr")
        if "classification" in solver_class.tasks:
            check_several(train, data.y)
    if solver_class.tasks == ("one_class",):
        _check_guessed_label(train, data, preparation.schema, choices)
    warn(None if choices.scale or is_table else unequal_columns(data.X, preparation.titles), warned)
    if reducer:
        check_task(train, data, reducer, reducer_class)
    sample_weight = _read_weights(weights, data.n_rows) if weights else None
    if given["class_weights"]:
        class_weight = class_weights_for(given["class_weights"], data.classes)
        method.set_params(**{"solver__class_weight" if reducer else "class_weight": class_weight})
    warm_ups = [part.warm_up for part in (solver_class, reducer_class) if part]
    if solver == "smo" and (given["folds"] or tune):
        from svmreduce.search import SVMSearchCV

        warm_ups.append(SVMSearchCV.warm_up)
    patiently(partial(compile_off_the_clock, *warm_ups, quiet=quiet), "preparing", quiet=quiet, reports=False)
    limits = {"quiet": quiet, "max_seconds": given["max_seconds"]}
    if given["folds"]:
        rows_of = None if preparation.is_trivial else fold_rows(raw, choices, preparation)
        cross_validated(method, data, rows_of, sample_weight, given["folds"], as_json, limits)
        return
    tuned, tuning = _tune(method, data, sample_weight, quiet) if tune else ({}, {})
    limits["keeps"] = getattr(solver_class, "stops_in_time", False)
    record, ended_by = patiently(lambda: _fit(method, data, sample_weight), "training", **limits)
    if ended_by:
        record["stopped_by"] = ended_by
    warn(blind_kernel(getattr(method.model_, "kernel", None), data.X, record["support_vectors"]), warned)
    warn(nothing_reduced(record.get("kept"), data.n_rows, reducer_class) if reducer else None, warned)
    fitted = with_numbers(method.model_, train) if is_table else method.model_
    record |= tuned | {"seconds": {"load": load, **tuning, **record["seconds"]}}
    _write(method, fitted, model, names | record, data, preparation, choices, warned, as_json, quiet)
    if ended_by == "Ctrl-C":
        raise click.Abort()


def _write(method, fitted, model, record, data, preparation, choices, warned, as_json, quiet) -> None:
    """Save the model with what was learned about its rows, and report."""
    from svmreduce.model import PreparedModel

    (fitted if preparation.is_trivial else PreparedModel(fitted, preparation)).save(model)
    record = {name: value for name, value in record.items() if name != "reducer" or value}
    record |= {"warnings": warned} if warned else {}
    label = None
    if preparation.schema and not choices.no_label:
        record["label"], label = label_of_table(preparation, data, is_given=choices.label is not None)
    _report(record, label, f"{model} ({method.model_.file_format})", as_json, quiet)


def _check_needs_no_label(solver, solver_class, reducer) -> None:
    from svmreduce.solvers import SOLVERS

    if reducer or "one_class" not in solver_class.tasks:
        able = " and ".join(name for name in SOLVERS.names() if "one_class" in SOLVERS.get(name).tasks)
        needs = f"--reducer {reducer}" if reducer else solver
        raise InputError(f"--no-label: {needs} needs labels; only {able} learn without them (and without --reducer)")


def _check_guessed_label(train, data, schema, choices) -> None:
    """A table for one class often has no labels: its last column must not be taken for them without a word."""
    if schema is None or schema.label is None:
        return
    is_named = choices.label is not None or (schema.label_name or "").casefold() in ("label", "class")
    if not is_named and data.y.dtype.kind in "fiu" and not set(data.classes.tolist()) <= {1, -1}:
        name = schema.label if schema.label_name is None else schema.label_name
        raise InputError(f"{train}: the last column, {name}, holds numbers and would be left out as the label; "
                         "use --no-label if there are no labels, or name their column by --label")  # fmt: skip


def _build(solver, solver_class, reducer, reducer_class, options, settings):
    """The estimator from the typed flags; defaults for the rest."""
    from svmreduce.kernels import parse_kernel
    from svmreduce.pipeline import SHARED, ReducedSolver, share_parameters

    options["C"] = options.pop("cost")
    known = parameters_of(solver_class)
    reducer_known = parameters_of(reducer_class) if reducer_class else {}
    for key in settings.keys() - known.keys() - reducer_known.keys():
        both = " or ".join(filter(None, [solver, reducer]))
        raise nearest_name_error(f"parameter of {both}", key, {*known, *reducer_known})
    solver_own = {key: value for key, value in settings.items() if key not in reducer_known}
    reducer_own = {key: value for key, value in settings.items() if key in reducer_known}
    common = given_flags(options, settings) | {key: settings[key] for key in SHARED if key in settings}
    kernel = common.get("kernel")
    if isinstance(kernel, str):
        parse_kernel(kernel, solver_class.kernels, whose=solver, mixes=solver_class.mixes_kernels)
    if len(solver_class.kernels) == 1:
        common["kernel"] = solver_class.kernels[0]
    if "C" in common and "C" not in known and "nu" in known:  # svm-train takes it, too
        click.echo(f"Note: -C has no effect on {solver}: nu (-n) is in its place", err=True)
        del common["C"]
    for key in common.keys() - known.keys() - {"kernel", "random_state", "threads"} - (reducer_own.keys() & SHARED):
        raise InputError(f"{key} is not for {solver}, which has {', '.join(sorted(known))}")
    for_solver, for_reducer = share_parameters(solver_class, reducer_class, common, solver_own, reducer_own)
    method = build_method(solver, solver_class, for_solver)
    return ReducedSolver(build_method(reducer, reducer_class, for_reducer), method) if reducer else method


def _tune(method, data, sample_weight, quiet) -> tuple[dict, dict]:
    """Set the best C; report how it was found, and how long that took."""
    from svmreduce.search.shared_predictions import predictions
    from svmreduce.solvers.tuning import tune_C

    def tell(C, accuracy, seconds):
        took = "" if seconds is None else f", {seconds:.2f} s"
        click.echo(f"C = {C:g}: accuracy {100 * accuracy:.4g}% on the held-out rows{took}", err=True)

    start = perf_counter()
    options = {"seed": getattr(method, "random_state", None) or 0, "progress": None if quiet else tell}
    work = partial(tune_C, method, data.X, data.y, sample_weight, at_once=predictions, **options)
    found, _ = patiently(work, "choosing C", quiet=quiet, reports=False)
    method.set_params(C=found.C)
    accuracies = [[C, accuracy] for C, accuracy in found.accuracies.items()]
    return {"C": found.C, "validation": accuracies}, {"tune": perf_counter() - start}


def _fit(method, data, sample_weight) -> dict:
    """Train, and report what happened."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        method.fit(data.X, data.y, sample_weight=sample_weight)
    for warning in caught:
        if warning.category is UserWarning:  # not converging is in the record
            click.echo(f"Warning: {warning.message}", err=True)
    return _facts(method, data.n_rows, data.n_features)


def _facts(method, rows: int, features: int) -> dict:
    facts = method.fit_facts()
    classes = getattr(method, "classes_", None)
    optional = {"sampled_to": facts.sampled_to, **facts.rounds, "kept": facts.kept}
    return {
        "rows": rows,
        "features": features,
        "classes": None if classes is None else len(classes),
        "parameters": _parameters(method),
        "seconds": facts.seconds,
        "iterations": facts.iterations,
        "kernel_evals": facts.kernel_evals,
        "objective": facts.objective,
        "gap": facts.gap,
        "support_vectors": facts.vectors,
        "converged": facts.converged,
        **{name: value for name, value in optional.items() if value is not None},
    }


def _parameters(method) -> dict:
    """What decides the solution, with the numbers that words such as gamma=scale stood for."""
    given = {name.removeprefix("solver__"): value for name, value in method.get_params().items()}
    kernel = getattr(method.model_, "kernel", None)
    is_known = hasattr(kernel, "numbers")
    names = ("C", "nu", "epsilon") if is_known else ("C", "nu", "epsilon", "kernel", "gamma")
    return {name: given[name] for name in names if name in given} | (kernel.numbers() if is_known else {})


def _read_weights(path: str, rows: int):
    import numpy as np

    from svmreduce.data.files import read_bytes

    try:
        lines = read_bytes(path).decode("utf-8").rstrip().splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path}: not text; give one weight per line") from None
    if len(lines) != rows:
        raise InputError(f"{path}: {rows} weights are needed, one per row; the file has {len(lines)} lines")
    weights = np.empty(rows)
    for number, line in enumerate(lines, start=1):
        try:
            weights[number - 1] = float(line)
        except ValueError:
            raise InputError(f"{path}:{number}: not a number: {line[:40]!r}") from None
        if not (np.isfinite(weights[number - 1]) and weights[number - 1] >= 0):
            raise InputError(f"{path}:{number}: a weight must be finite and not negative, got {line[:40]!r}")
    if not weights.any():
        raise InputError(f"{path}: every weight is zero: there is nothing to train on")
    return weights


def _number(value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _report(record, label, model, as_json, quiet):
    if as_json:
        print_json(record)
    elif not quiet:
        classes = record["classes"]
        shape = f"{record['rows']} × {record['features']}" + (f", {classes} classes" if classes else "")
        names = ("iterations", "kernel_evals", "objective", "gap", "support_vectors")
        counters = {name: record[name] for name in names}
        if record["gap"] is not None and record["converged"] and record["gap"] > record.get("sampled_to", float("inf")):
            counters["gap"] = f"{record['gap']:.3g} over all rows; the last samples met {record['sampled_to']:g}"
        print_pairs(
            [
                ("solver", record["solver"]),
                ("data", shape),
                ("label", label),
                ("reducer", record.get("reducer")),
                ("kept", f"{record['kept']} ({record['kept'] / record['rows']:.2%})" if "kept" in record else None),
                ("parameters", ", ".join(f"{name} {_number(value)}" for name, value in record["parameters"].items())),
                *((name.replace("_", " "), value) for name, value in counters.items()),
                ("stopped by", f"{record['stop_reason']}, round {record['rounds']}" if "rounds" in record else None),
                ("seconds", ", ".join(f"{name} {value:.3f}" for name, value in record["seconds"].items())),
                ("model", model),
            ]
        )
    has_no_margin = record["solver"] == "nu_svc" and record["gap"] == float("inf") and "stopped_by" not in record
    if not record["converged"] and has_no_margin:
        nu = f"nu {_number(record['parameters']['nu'])}"
        click.echo(
            f"Warning: no margin was found at {nu}: the classes overlap (give a larger -n, or use smo), or max_iter is "
            f"too small; the model is not that of {nu}",
            err=True,
        )
    elif not record["converged"]:
        why = {"max_seconds": " by --max-seconds", "Ctrl-C": " by Ctrl-C"}.get(record.get("stopped_by"), "")
        click.echo(
            f"Warning: stopped{why} before reaching the tolerance; the model is usable but not optimal", err=True
        )
