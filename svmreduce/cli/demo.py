"""``svmreduce demo``: a small real experiment that needs no download, from its YAML file to the verdict."""

from __future__ import annotations

from pathlib import Path

import click

from svmreduce.cli.common import check_writable, json_option, print_json, quiet_option, terminal_width, typed_command
from svmreduce.cli.experiment import load_config
from svmreduce.cli.run import carry_out

_EPILOG = """\b
Examples:
  svmreduce demo
  svmreduce demo --rows 2000 --html my-page.html
  svmreduce demo --json
"""
CONFIG = "demo.yaml"
_COLUMNS = ("dataset", "method", "ets", "ots", "ecs", "cts", "rmse", "max_accuracy", "kept_percent")
_METRICS = """\
ETS   expected training speed-up: the mean of LIBSVM's time over the method's, without its reduction
OTS   overall training speed-up: the same for the whole grid search, reductions included
ECS   expected classification speed-up: the mean of LIBSVM's support vectors over the method's
CTS   the same at the best point of each
RMSE  root mean squared difference of the accuracies, in points
"""


@click.command(epilog=_EPILOG)
@click.option("--rows", type=click.IntRange(min=100), help="Training rows of each data set.  [as in the file]")
@click.option("-o", "--out", metavar="FOLDER", default="results/runs/demo", show_default=True, help="Run folder.")
@click.option("--html", metavar="PAGE", help="The page.  [demo.html in the run folder]")
@json_option
@quiet_option
def demo(rows, out, html, as_json, quiet):
    """Run the experiment demo.yaml: LIBSVM, our engine, AESVM, RandSVM, MFW, bootstrap cleaning and Mahalanobis.

    It goes through the same runner, tables and page as every experiment. The first time, some code is compiled.
    """
    from svmreduce.data.files import write_whole
    from svmreduce.experiments.store import read
    from svmreduce.reports.run import page
    from svmreduce.reports.run.verdict import verdicts

    folder = Path(out)
    file = html or str(folder / "demo.html")
    if html:
        check_writable(html)
    experiment, tasks = _experiment(rows)
    if not (quiet or as_json):
        click.echo(f"{len(tasks)} tasks of configs/{CONFIG}; the first time, code is compiled …", err=True)
    _, records = carry_out(experiment, tasks, folder, rerun="all", silent=quiet or as_json)
    run = read(folder)
    with write_whole(file) as stream:
        stream.write(page.html(run, None, typed_command()).encode())
    found = verdicts(run)
    if as_json:
        facts = {"folder": out, "page": file, "records": len(records), "summary": run.summary}
        print_json(facts | {"verdicts": [one.to_json() for one in found]})
    elif not quiet:
        _print(run, found, folder, file)


def _experiment(rows: int | None):
    """The experiment and its tasks, with other sizes if they are wanted."""
    from svmreduce.experiments.config import configs_folder
    from svmreduce.experiments.planning import expand

    experiment, tasks = load_config(configs_folder() / CONFIG, None, (), None, None)
    if rows is None:
        return experiment, tasks
    smaller = [data.model_copy(update={"rows": rows, "test_rows": max(100, rows // 2)}) for data in experiment.datasets]
    experiment = experiment.model_copy(update={"datasets": smaller})
    return experiment, expand(experiment)


def _print(run, found, folder: Path, file: str) -> None:
    from textwrap import fill

    from svmreduce.reports.render import Table, terminal
    from svmreduce.reports.run.run_tables import SUMMARY

    width = min(terminal_width() or 110, 110)
    columns = [column for key in _COLUMNS for column in SUMMARY if column.key == key]
    rows = [row for row in run.summary if row["method"] not in run.controls]
    click.echo(terminal([Table("each method against LIBSVM", columns, rows)], width))
    click.echo(_METRICS)
    click.echo(
        "The table is about all grid points. What follows is about the best point of each method; "
        "only reductions and random samples of their size are compared over all points.\n"
    )
    for verdict in found:
        click.echo(fill(f"{verdict.dataset}: {' '.join(verdict.sentences())}", width, subsequent_indent="  "))
    click.echo(f"\nThe page with all figures: {file}\n\nWhat next?")
    click.echo("  svmreduce bench YOUR.csv              which method for your own rows, in five minutes")
    click.echo(f"  svmreduce report {folder}    every figure of this run")
    click.echo(f"  svmreduce run {folder / 'config.yaml'} -o {folder}    the experiment again, after you changed it")
