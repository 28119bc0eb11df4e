"""``svmreduce demo``: a small real experiment that needs no download."""

from __future__ import annotations

from time import perf_counter

import click

from svmreduce.cli.common import compile_off_the_clock, json_option, print_json, quiet_option

_EPILOG = """\b
Examples:
  svmreduce demo
  svmreduce demo --json
"""
# dataset -> C and gamma that suit it
_PROBLEMS = {"breast cancer": (1.0, 0.05), "digits": (10.0, 0.02), "checkerboard": (10.0, 1.0)}


@click.command(epilog=_EPILOG)
@click.option("--rows", type=click.IntRange(min=100), default=8000, show_default=True, help="Checkerboard rows.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads of every method.")
@json_option
@quiet_option
def demo(rows, threads, as_json, quiet):
    """Compare official LIBSVM and LIBLINEAR, our SMO engine, and the same engine on a 10 % sample."""
    from svmreduce.solvers import SOLVERS

    say = (lambda text: None) if quiet or as_json else (lambda text: click.echo(text, err=True))
    names = ("libsvm", "smo", "liblinear")
    compile_off_the_clock(*(SOLVERS.get(name).warm_up for name in names), quiet=quiet or as_json)
    records = []
    for name, (C, gamma) in _PROBLEMS.items():
        split = _load(name, rows)
        say(f"{name}: {split.train.n_rows} rows to train on, {split.test.n_rows} to test …")
        records += [_run(name, split, *method) for method in _methods(C, gamma, threads)]
    if as_json:
        print_json({"runs": records})
    elif not quiet:
        _print_table(records)


def _load(name: str, rows: int):
    """Data scaled on its training part, and split."""
    import sklearn.datasets

    from svmreduce.data.splitting import holdout, scale_split
    from svmreduce.data.synthetic import make
    from svmreduce.types import Dataset

    if name == "checkerboard":
        data = make("checkerboard", rows, seed=0)
    else:
        load = {"breast cancer": sklearn.datasets.load_breast_cancer, "digits": sklearn.datasets.load_digits}[name]
        data = Dataset(*load(return_X_y=True), name)
    return scale_split(holdout(data, test_share=0.3, seed=0), "standard")


def _methods(C: float, gamma: float, threads: int):
    from svmreduce.pipeline import ReducedSolver
    from svmreduce.reducers.random import RandomSample
    from svmreduce.solvers.liblinear import Liblinear
    from svmreduce.solvers.libsvm import Libsvm
    from svmreduce.solvers.smo import SMO

    engine = SMO(C=C, gamma=gamma, threads=threads)
    yield "libsvm", Libsvm(C=C, gamma=gamma, threads=threads)
    yield "smo", engine
    yield "liblinear", Liblinear(C=C, dual=False)
    yield "random 10 % + smo", ReducedSolver(RandomSample(share=0.1), engine)


def _run(dataset, split, method, solver) -> dict:
    """Train and score; seconds are those of reducing, converting and solving."""
    from svmreduce.core.jit import loading_seconds

    start = perf_counter() - loading_seconds()
    solver.fit(split.train.X, split.train.y)
    seconds = perf_counter() - loading_seconds() - start
    facts = solver.fit_facts()
    return {
        "dataset": dataset,
        "method": method,
        "rows": split.train.n_rows,
        "kept": split.train.n_rows if facts.kept is None else facts.kept,
        "seconds": seconds,
        "accuracy": float(solver.score(split.test.X, split.test.y)),
        "support_vectors": facts.vectors,
    }


def _print_table(records) -> None:
    from tabulate import tabulate

    rows = [
        [
            record["dataset"] if number == 0 or records[number - 1]["dataset"] != record["dataset"] else "",
            *(record[name] for name in ("method", "rows", "kept")),
            f"{record['seconds']:.3f}",
            f"{100 * record['accuracy']:.2f} %",
            "–" if record["support_vectors"] is None else record["support_vectors"],
        ]
        for number, record in enumerate(records)
    ]
    headers = ["dataset", "method", "rows", "kept", "seconds", "accuracy", "support vectors"]
    align = ("left", "left", "right", "right", "right", "right", "right")
    click.echo(tabulate(rows, headers, colalign=align, disable_numparse=True))
