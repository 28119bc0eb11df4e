"""``svmreduce report``: the tables of a run, its figures, and one page with everything."""

from __future__ import annotations

from pathlib import Path

import click

from svmreduce.cli.common import check_writable, json_option, terminal_width, typed_command
from svmreduce.cli.experiment import run_folder
from svmreduce.errors import InputError
from svmreduce.strict_json import dumps

_FORMATS = ("terminal", "markdown", "csv", "latex")
WIDTH = 120  # letters of a table, unless the terminal is narrower
_BY_ENDING = {".md": "markdown", ".csv": "csv", ".tex": "latex"}

_EPILOG = """\b
Examples:
  svmreduce report results/runs/smoke-smoke
  svmreduce report results/runs/smoke-smoke --html page.html
  svmreduce report results/runs/smoke-smoke --plots figures --plot-format pdf
  svmreduce report configs/aesvm/table4.yaml --scale small --html table4.html
  svmreduce report results/runs/aesvm-table4-small --paper aesvm:table4 --format csv > cells.csv
  svmreduce report results/runs/smoke-smoke --columns ots,cts,loss
  svmreduce report results/runs/smoke-smoke --by fits --format latex --output table.tex
"""


@click.command(epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.option(
    "--scale", type=click.Choice(["smoke", "small", "full"]), help="Which run of a config; its own scale if not given."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="Format of the tables; by default that of the suffix of --output (.md, .csv, .tex), else plain text.",
)
@click.option(
    "-o",
    "--output",
    "outputs",
    metavar="FILE",
    multiple=True,
    help="Write to this file instead of printing; may be repeated.",
)
@click.option(
    "--by",
    type=click.Choice(["summary", "fits", "reductions"]),
    default="summary",
    show_default=True,
    help="One row per data set and method, per fit, or per reduction.",
)
@click.option(
    "--columns",
    metavar="NAMES",
    help="Columns of the first table: names as in CSV, such as ots,cts,loss, or all; by default the most important.",
)
@click.option(
    "--paper",
    metavar="PAPER:TABLE",
    help="Compare with a printed table, such as aesvm:table4; by default the one that the config names.",
)
@click.option("--plots", metavar="FOLDER", help="Write the figures that the records support into this folder.")
@click.option(
    "--plot-format", type=click.Choice(["svg", "pdf", "png"]), default="svg", show_default=True, help="For --plots."
)
@click.option("--html", metavar="FILE", help="Write one self-contained page with everything.")
@json_option
def report(run, scale, form, outputs, by, columns, paper, plots, plot_format, html, as_json):
    """Show the tables of RUN: a run folder, its .jsonl file, or the config that was run. Failed cells are shown with
    their reasons.

    CSV holds only the first table, with raw values (with --paper, the printed table). All other formats also list the
    failures and describe the machine. With --plots or --html the tables are printed only if a format is given.
    """
    from svmreduce.experiments import store
    from svmreduce.reports.reproduction.paper_comparison import compare_with_paper, known_table, table_of_run

    if form and as_json:
        raise InputError("--format and --json exclude each other; give one")
    config = _load_config(run, scale)
    recorded = store.read(run_folder(config, None) if config else run)
    read = [path for path in (recorded.path, recorded.path.with_name(store.CONFIG)) if path.exists()]
    for file in filter(None, (*outputs, html)):
        check_writable(file, *map(str, read))
    name = paper or (known_table(config.paper) if config else table_of_run(recorded))
    found = compare_with_paper(recorded, name) if name else None
    if plots:
        _write_plots(recorded, found, plots, plot_format)
    if html:
        _write_page(recorded, found, html, typed_command())
    if form or outputs or as_json or not (plots or html):
        for output in outputs or (None,):
            _tables(recorded, found, form, output, (by, columns), bool(paper), as_json)


def _load_config(path: str, scale: str | None):
    """The experiment, if that is what the path names."""
    from svmreduce.experiments import config

    if Path(path).suffix in (".yaml", ".yml"):
        return config.load(path, scale=scale, settings={})
    if scale:
        raise InputError(f"--scale is for configs, {path} is a run: leave it out")
    return None


def _tables(run, found, form, output, which, is_paper_first, as_json) -> None:
    from svmreduce.reports import render
    from svmreduce.reports.reproduction.paper_comparison import long_table, wide_table
    from svmreduce.reports.run.run_tables import first_table, report_facts, report_tables

    by, columns = which
    form = form or _BY_ENDING.get(Path(output or "").suffix, "terminal")
    if as_json:
        facts = report_facts(run, by)
        if found:
            facts["paper"] = {"table": found.printed.title, "verdicts": found.counts}
            facts["paper"]["cells"] = long_table(found).rows
        text = dumps(facts) + "\n"
    elif form == "csv":
        first = long_table(found) if is_paper_first else first_table(run, by)
        text = render.comma_separated(_with_columns(first, columns or "all", None))
        if run.unreadable:
            click.echo(f"Note: {run.path}: {run.unreadable} unreadable lines were skipped", err=True)
    else:
        width = None if output else terminal_width()
        room = min(width or WIDTH, WIDTH) if form == "terminal" else None
        shown = report_tables(run, by)
        asked = next(place for place, table in enumerate(shown) if table.columns)
        shown[asked] = _with_columns(shown[asked], columns, room)
        if found:
            shown.insert(0 if is_paper_first else asked + 1, wide_table(found))
        if form == "terminal":
            text = render.terminal(shown, width)
        else:
            text = {"markdown": render.markdown, "latex": render.latex}[form](shown)
    if output:
        _write(output, text)
    else:
        click.echo(text, nl=False)


def _with_columns(table, columns: str | None, room: int | None):
    """The table with the columns that were named, or with the most important ones that have room."""
    from svmreduce.registry import nearest_name_error

    known = {column.key: column for column in table.columns}
    if columns is None:
        short = table.fitted(room)
        hidden = [column.key for column in table.used() if column not in short.columns and not column.is_key]
        if hidden and room:
            short.notes = [*table.notes, f"More columns: --columns all, or by name: {', '.join(hidden)}."]
        return short
    if columns == "all":
        return table
    names = [name.strip() for name in columns.split(",")]
    for name in names:
        if name not in known:
            raise nearest_name_error("column", name, known)
    return table.chosen(names)


def _write_plots(run, found, folder: str, suffix: str) -> None:
    from svmreduce.reports.run import plots

    if Path(folder).exists() and not Path(folder).is_dir():
        raise InputError(f"{folder}: is a file; give a folder for the figures")
    written = plots.write(plots.drawings(run, found), folder, suffix)
    click.echo(f"{len(written)} figures in {folder}" if written else f"no figure for {run.path}: too few results")


def _write_page(run, found, file: str, command: str) -> None:
    from svmreduce.reports.run import page

    _write(file, page.html(run, found, command))
    click.echo(f"page in {file}")


def _write(file: str, text: str) -> None:
    from svmreduce.data.files import write_whole

    with write_whole(file) as stream:
        stream.write(text.encode())
