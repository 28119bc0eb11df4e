"""The options of commands that take rows larger than memory, and training on such rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click

from svmreduce.cli.common import memory_option, together
from svmreduce.cli.patience import patiently
from svmreduce.errors import InputError

if TYPE_CHECKING:
    from svmreduce.data.preparation import Preparation
    from svmreduce.types import Dataset

out_of_core_options = together(
    memory_option,
    click.option("--out-of-core", is_flag=True, help="Keep rows on the disk, whatever the size of the data."),
    click.option("--work", metavar="FOLDER", help="For the rows on the disk; next to the output if not given."),
    click.option(
        "--engine",
        type=click.Choice(["local", "dask"]),
        help="Where partitions are worked on: on threads here, or on the workers of a dask cluster.",
    ),
    click.option("--scheduler", metavar="ADDRESS", help="Of dask; a local cluster is started if not given."),
)
IN_MEMORY = "have them read into memory (no --out-of-core or --engine, and more by --memory if needed)"
_Answer = TypeVar("_Answer")
MEANS = ("memory", "out_of_core", "work", "engine", "scheduler")


def take_means(options: dict, source: str, out: str, name: str, method, quiet: bool) -> dict | None:
    """What work out of core may use, by these options; None if the rows are read into memory.

    The method is a reducer, trains on what one keeps, or takes blocks itself.
    """
    from svmreduce.data.files import is_special
    from svmreduce.data.pieces import exceeds
    from svmreduce.memory import memory_limit
    from svmreduce.outofcore import reduces_blocks
    from svmreduce.pipeline import ReducedSolver

    memory, asked, work, engine, scheduler = (options[name] for name in MEANS)
    if scheduler and engine != "dask":
        raise click.UsageError("--scheduler needs --engine dask")
    limit, asked = memory_limit(memory), asked or engine == "dask"
    is_file = Path(source).exists()
    if asked and not is_file:
        raise InputError(f"{source}: is not a file here; rows are read in blocks from files only")
    if not (asked or (is_file and exceeds(source, limit))):
        if work and not quiet:
            click.echo("Note: --work is not used: the rows are read into memory; --out-of-core keeps them on the disk",
                       err=True)  # fmt: skip
        return None
    reducer = method._given()[0] if isinstance(method, ReducedSolver) else method
    if not (reduces_blocks(reducer) or (reducer is method and hasattr(method, "fit_blocks"))):
        if asked or memory is not None:
            raise InputError(f"{source}: {name} needs all rows in memory, and only {_takers()} take rows from the "
                             f"disk; name a --reducer, or {IN_MEMORY}")  # fmt: skip
        return None
    if work is None and not is_special(out):
        work = f"{out}.work"
    return {"work": work, "memory": limit, "engine": engine or "local", "scheduler": scheduler, "verbose": not quiet}


def _takers() -> str:
    """The names of the methods that take rows from the disk."""
    from svmreduce.outofcore import reduces_blocks
    from svmreduce.reducers import REDUCERS
    from svmreduce.solvers import SOLVERS

    names = [name for name in REDUCERS.where if reduces_blocks(REDUCERS.get(name)())]
    names += [name for name in SOLVERS.where if hasattr(SOLVERS.get(name), "fit_blocks")]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def refuse_for_blocks(source: str, **given) -> None:
    """Refuse the options that need all rows in memory."""
    for name, value in given.items():
        if value:
            option = name.replace("_", "-")
            raise InputError(f"{source}: --{option} needs all rows in memory; leave it out, or {IN_MEMORY}")


def blocks_of(source: str, choices, n_features: int | None):
    from svmreduce.data.blocks import open_blocks
    from svmreduce.data.labels import task_of

    refuse_for_blocks(source, positive=choices.positive)
    blocks = open_blocks(source, choices, n_features=n_features)
    if task_of(next(iter(blocks))[1]) == "regression":
        raise InputError(f"{source}: the labels are real numbers, not classes; if they are in another column, name it "
                         "by --label; a regression needs all rows in memory")  # fmt: skip
    return blocks


class FitOfBlocks(NamedTuple):
    """Some rows as a data set, how rows are prepared, the number of all rows, and whether time was up."""

    data: Dataset
    preparation: Preparation
    rows: int
    out_of_time: bool


def fit_in_blocks(method, blocks, choices, means: dict, max_seconds: float | None) -> FitOfBlocks:
    """Train; the rows are those that were kept, or support vectors, or the first ones for a model without any."""
    import numpy as np
    from sklearn.exceptions import ConvergenceWarning

    from svmreduce.core.watch import watched
    from svmreduce.types import Dataset

    with watched(max_seconds) as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # not converging is in the record
        method.fit_blocks(blocks, scale=choices.scale, **means)
    if hasattr(method, "reduction_"):
        X, y, rows = method.reduction_.X, method.reduction_.y, method.reduction_.info["rows"]
        method.seconds_["read"] = method.reduction_.info["seconds"].get("read", 0.0)
    else:
        parts, rows = getattr(method.model_, "parts", (method.model_,)), method.rows_
        vectors = [part.vectors for part in parts if hasattr(part, "vectors")] or [next(iter(blocks))[0]]
        X = max(vectors, key=lambda vectors: vectors.shape[0])
        y = np.resize(method.classes_, max(X.shape[0], len(method.classes_)))  # the names of classes matter, not whose
    preparation = replace(blocks.preparation, scaler=method.scaler_)
    data = Dataset(X, y, blocks.name, is_table=blocks.schema is not None)
    return FitOfBlocks(data, preparation, rows, watch.stopped)


def ended_at_once(work: Callable[[], _Answer], means: dict) -> _Answer:
    """What ``work()`` gives. Ctrl-C ends the process at once, as a kill would, and says where the next run begins."""

    def hint() -> str:
        has_begun = means["work"] and Path(means["work"]).is_dir()
        return f"; the same command goes on from {means['work']}" if has_begun else ""

    if means["engine"] == "local":
        return patiently(work, "", quiet=True, reports=False, if_ended=hint)[0]
    try:
        return work()
    except KeyboardInterrupt:  # in order, so that the workers of dask end, too
        click.echo(f"stopped{hint()}", err=True)
        raise


def reduce_in_blocks(reducer, blocks, means: dict):
    """The reduction, and the number of all rows; the reducer says how long it took."""
    from svmreduce.outofcore import reduce_blocks

    start = perf_counter()
    made = reduce_blocks(reducer, blocks, **means)
    reducer.seconds_ = perf_counter() - start
    return made.reduction, made.rows
