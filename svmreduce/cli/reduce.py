"""``svmreduce reduce``: a smaller training set with weights, in files that other tools can read."""

from __future__ import annotations

import sys
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
    timed_rows,
)
from svmreduce.cli.out_of_core import MEANS, blocks_of, ended_at_once, out_of_core_options, reduce_in_blocks, take_means
from svmreduce.cli.table_options import data_warnings, reduction_options, take_choices, warn
from svmreduce.errors import InputError
from svmreduce.registry import build_method, parameters_of

_EPILOG = """\b
Examples:
  svmreduce reduce --method derive_rs --kernel rbf -g 0.0625 --epsilon 0.01 train.txt small.txt
  svmreduce reduce --method random --set share=0.1 --seed 1 ijcnn1:train tenth.txt
  svmreduce reduce --memory 1GB -g 1 --epsilon 0.01 rows.parquet small.txt
  svmreduce reduce --method bootstrap --set proportion=auto -g 1 --set C=10 ijcnn1:train hard.txt
  svmreduce train --weights small.txt.weights -g 0.0625 small.txt model.txt
"""


@click.command(epilog=_EPILOG)
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT")
@click.option("--method", default="derive_rs", show_default=True, help="Name of a reducer; see svmreduce methods.")
@kernel_options
@click.option(
    "--epsilon",
    type=float,
    help="Largest squared distance between a dropped row and its mixture of kept rows (derive_rs).",
)
@method_options
@reduction_options
@out_of_core_options
@json_option
@quiet_option
def reduce(source, out, method, settings, n_features, as_json, quiet, **options):
    """Reduce IN (a file, or NAME[:SPLIT] of the catalogue); write OUT and OUT.weights.

    OUT is a LIBSVM file of the kept rows. OUT.weights has one number per line: how many rows that row
    stands for, in the form that LIBSVM's instance-weight tool reads.

    Rows that need more than --memory stay on the disk (derive_rs and random): they are cut into partitions in the
    folder OUT.work, and each is reduced by itself. If the command is stopped, the same command goes on from there.
    """
    from svmreduce.data.files import is_special, write_whole
    from svmreduce.data.libsvm_text import check_labels, write_libsvm
    from svmreduce.kernels import KernelMixture, KernelSpec
    from svmreduce.reducers import REDUCERS
    from svmreduce.sanity import nothing_reduced, unequal_columns

    if is_special(out):
        raise InputError(f"{out}: the weights go into a second file next to this one; give a file name")
    for path in (out, f"{out}.weights"):
        check_writable(path, source)
    look_here_for_methods(method)
    choices, reducer_class = take_choices(options), REDUCERS.get(method)
    if options["random_state"] is not None and "random_state" not in parameters_of(reducer_class):
        raise InputError(f"--seed: {method} uses no random numbers; leave it out")
    if "threads" not in parameters_of(reducer_class):  # it works on one
        options["threads"] = None
    settings = parse_settings(settings)
    context = {name: options.pop(name) for name in MEANS}
    reducer = build_method(method, reducer_class, given_flags(options, settings) | settings)
    means = take_means(context, source, out, method, reducer, quiet)
    if hasattr(reducer, "verbose"):
        reducer.verbose = not quiet and sys.stderr.isatty()

    in_blocks = means is not None
    with data_warnings(quiet, of_blocks=in_blocks, is_begun=in_blocks) as warned:
        if means is None:
            data, preparation, load = timed_rows(source, "train", n_features, choices, quiet)
            check_task(source, data, method, reducer_class)
            first, labels, rows, is_table = data.X, data.y, data.n_rows, data.is_table
        else:
            start = perf_counter()
            blocks = blocks_of(source, choices, n_features)
            (first, labels), is_table = next(iter(blocks)), blocks.schema is not None
            preparation = blocks.preparation
            load = perf_counter() - start
    check_labels(source, labels, f"use numbers, or svmreduce train --reducer {method}, which takes words")
    if "gamma" in parameters_of(reducer_class):  # distances between rows decide
        warn(unequal_columns(first, preparation.titles, "scale them first (svmreduce scale)"), warned)
    compile_off_the_clock(reducer_class.warm_up, quiet=quiet)
    if means is None:
        reduction = reducer.fit_reduce(data.X, data.y)
    else:
        with data_warnings(quiet, warned, of_blocks=True):
            reduction, rows = ended_at_once(lambda: reduce_in_blocks(reducer, blocks, means), means)
    start = perf_counter()
    write_libsvm(out, reduction.X, reduction.y)
    if is_table and not quiet:
        note = f"{out} has numbered columns; a model of it cannot predict tables such as {source} (train --reducer can)"
        click.echo(f"Note: {note}", err=True)
    warn(nothing_reduced(reduction.n_rows, rows, reducer_class), warned)
    with write_whole(f"{out}.weights") as file:
        file.write("".join(f"{weight!r}\n" for weight in reduction.sample_weight.tolist()).encode())

    kept = reduction.n_rows
    seconds = {
        "load": load,
        **reduction.info.get("seconds", {}),
        "total": load + reducer.seconds_ + perf_counter() - start,
    }
    kernel = getattr(reducer, "kernel_", None)
    kernel = kernel if isinstance(kernel, KernelSpec | KernelMixture) else None  # a method of others may mean another
    record = {
        "method": method,
        "rows": rows,
        "kept": kept,
        "kept_percent": 100.0 * kept / rows,
        "weight_sum": float(reduction.sample_weight.sum()),
        "residual_max": reduction.info.get("residual_max"),
        "seconds": seconds,
        "kernel": kernel and kernel.numbers(),
        "facts": {name: value for name, value in reduction.info.items() if name not in ("kept", "rows", "seconds")},
    }
    if as_json:
        print_json(record)
    elif not quiet:
        residual = record["residual_max"]
        print_pairs(
            [
                ("method", method),
                ("kernel", kernel and kernel.in_words()),
                ("rows", rows),
                ("kept", f"{kept} ({record['kept_percent']:.2f} %)"),
                ("weight sum", f"{record['weight_sum']:.6f}"),
                ("largest residual", None if residual is None else f"{residual:.6g}"),
                *reducer.in_words(record["facts"]),
                ("seconds", ", ".join(f"{name} {value:.3f}" for name, value in seconds.items())),
                ("written", f"{out}, {out}.weights"),
            ]
        )
