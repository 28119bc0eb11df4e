"""``svmreduce report``: the tables of a run."""

from __future__ import annotations

from pathlib import Path

import click

from svmreduce.cli.common import check_writable, json_option, terminal_width
from svmreduce.errors import InputError
from svmreduce.strict_json import dumps

_FORMATS = ("terminal", "markdown", "csv", "latex")
_BY_ENDING = {".md": "markdown", ".csv": "csv", ".tex": "latex"}

_EPILOG = """\b
Examples:
  svmreduce report results/runs/smoke-smoke
  svmreduce report results/runs/smoke-smoke --format latex --output table.tex
  svmreduce report results/runs/smoke-smoke --by fits --format csv > fits.csv
"""


@click.command(epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="How to write the tables; if not given, by the ending of --output (.md, .csv, .tex), else for the terminal.",
)
@click.option("-o", "--output", metavar="FILE", help="Write to this file instead of printing.")
@click.option(
    "--by",
    type=click.Choice(["summary", "fits", "reductions"]),
    default="summary",
    show_default=True,
    help="One row per data set and method, or one per fit.",
)
@json_option
def report(run, form, output, by, as_json):
    """Show the tables of RUN, a run folder or its .jsonl file. Failed cells are shown with their reasons.

    CSV holds the first table only, with raw values; everything else also has the failures and where the
    run was measured.
    """
    from svmreduce.experiments import store
    from svmreduce.reports import render, tables

    if form and as_json:
        raise InputError("--format and --json exclude each other; give one")
    records = store.read(run)
    if output:
        check_writable(output, str(records.path))
    form = form or _BY_ENDING.get(Path(output or "").suffix, "terminal")
    if as_json:
        text = dumps(tables.report_facts(records, by)) + "\n"
    elif form == "csv":
        text = render.comma_separated(tables.report_tables(records, by)[0])
        if records.unreadable:
            click.echo(f"Note: {records.path}: {records.unreadable} unreadable lines were passed over", err=True)
    elif form == "terminal":
        text = render.terminal(tables.report_tables(records, by), None if output else terminal_width())
    else:
        text = {"markdown": render.markdown, "latex": render.latex}[form](tables.report_tables(records, by))
    if output:
        from svmreduce.data.files import write_whole

        with write_whole(output) as stream:
            stream.write(text.encode())
    else:
        click.echo(text, nl=False)
