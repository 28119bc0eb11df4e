"""``svmreduce compare``: the regression gate."""

from __future__ import annotations

import click

from svmreduce.cli.common import check_writable, json_option, print_json, terminal_width

_EPILOG = """\b
Exit codes: 0 fine, 1 something is worse than allowed, 2 usage or bad input,
4 a row or a whole run is missing, or nothing could be judged.
If something is worse and something is missing, the code is 1.

\b
Examples:
  svmreduce compare results/baseline.jsonl results/runs/smoke-smoke
  svmreduce compare BASE NEW --tolerance accuracy=0.001 --tolerance n_iter=5%
  svmreduce compare BASE NEW --format markdown --junit compare.xml
"""


@click.command(epilog=_EPILOG)
@click.argument("base", metavar="BASE")
@click.argument("new", metavar="NEW")
@click.option(
    "--tolerance",
    "words",
    metavar="METRIC=LIMIT",
    multiple=True,
    help="How much worse is allowed: 0.001 absolute, 5% relative; replaces the config's and the default limits.",
)
@click.option("--format", "form", type=click.Choice(["terminal", "markdown"]), default="terminal")
@click.option("--junit", "junit_file", metavar="FILE", help="Also write the result as JUnit XML.")
@json_option
@click.pass_context
def compare(ctx, base, new, words, form, junit_file, as_json):
    """Compare NEW with BASE, run folders or .jsonl files, row by row.

    Accuracy, errors and work counters are judged strictly; time only as the ratio to the baseline method of the
    same run (the fastest repeat of each cell, in processor time), and loosely: three times the old ratio, less if the
    limit is set and both runs are of one kind of processor. Absolute seconds never. Limits come from the flags, else
    from the compare section of NEW's config, else they are the defaults.
    """
    from svmreduce.experiments import store, tolerances
    from svmreduce.reports import render
    from svmreduce.reports.gate import gate_formats
    from svmreduce.reports.gate.run_comparison import EXIT_NOT_COMPARABLE, compare_runs

    limits = tolerances.from_flags(words)
    try:
        old_run, new_run = store.read(base), store.read(new)
    except store.NothingRecorded as error:
        click.echo(f"Error: nothing to compare: {error}", err=True)
        ctx.exit(EXIT_NOT_COMPARABLE)
    if junit_file:
        check_writable(junit_file, str(old_run.path), str(new_run.path))
    of_config = tolerances.from_config(
        new_run.config.get("compare"), f"{new_run.path.with_name(store.CONFIG)}: compare"
    )
    result = compare_runs(old_run, new_run, of_config | limits)
    if junit_file:
        from svmreduce.data.files import write_whole

        with write_whole(junit_file) as stream:
            stream.write(gate_formats.junit(result))
    if as_json:
        print_json(result.as_dict())
    elif form == "markdown":
        click.echo(render.markdown(gate_formats.comparison_tables(result)), nl=False)
    else:
        click.echo(render.terminal(gate_formats.comparison_tables(result), terminal_width()), nl=False)
    ctx.exit(result.exit_code)
