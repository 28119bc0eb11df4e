"""``svmreduce verify``: is an archive of a run unchanged, and do its cells come out the same here?"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from svmreduce.cli.common import NumberRange, json_option, print_json, quiet_option, terminal_width
from svmreduce.printable import one_line

EXIT_DIFFERS = 1
_EPILOG = """\b
Exit codes: 0 everything agrees, 1 something was changed or came out differently,
2 usage or bad input, 4 nothing could be judged.

\b
Examples:
  svmreduce verify run.tar.gz
  svmreduce verify run.tar.gz --rerun 0.1 --jobs 2
  svmreduce verify run.tar.gz --rerun 1 --json
"""


@click.command(epilog=_EPILOG)
@click.argument("file", metavar="FILE")
@click.option("--rerun", type=NumberRange(0, 1, min_open=True), metavar="SHARE",
              help="Run this share of the fits again, 1 for all, and compare.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Chooses the fits.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Worker processes.")
@json_option
@quiet_option
@click.pass_context
def verify(ctx, file, rerun, seed, jobs, as_json, quiet):
    """Check the hashes of a bundle; with --rerun also its numbers, cell by cell, within the limits of the gate.

    Scores, counters and sizes must agree; times are not judged, because machines differ. Data are looked for as in
    svmreduce run. A config that names module:Class runs code of this folder: verify what you would run.
    """
    from svmreduce.experiments.archive import Archive
    from svmreduce.reports.gate.run_comparison import EXIT_NOT_COMPARABLE

    archive = Archive.read(file)
    faults = archive.faults()
    record = {"file": file, "sha256": archive.sha256, "records": len(archive.manifest["records"]), "faults": faults}
    for fault in faults:
        click.echo(f"{file}: {one_line(fault)}", err=True)
    if not as_json and not quiet:
        click.echo(f"SHA-256 {archive.sha256}")
        click.echo("some of it was changed" if faults else f"all hashes agree ({record['records']} records)")
    code = EXIT_DIFFERS if faults else 0
    if rerun:
        cells = _again(archive, rerun, seed, jobs, quiet or as_json)
        record |= {"cells": cells}
        if not as_json and not quiet:
            _print(cells)
        if any(cell["verdict"] != "agrees" for cell in cells):
            code = EXIT_DIFFERS
        elif not sum(cell["judged"] for cell in cells):
            code = code or EXIT_NOT_COMPARABLE
    if as_json:
        print_json(record)
    ctx.exit(code)


def _again(archive, share: float, seed: int, jobs: int, quiet: bool) -> list[dict]:
    """A row for each cell that was run again."""
    from svmreduce.cli.experiment import load_config
    from svmreduce.experiments import store
    from svmreduce.experiments.engines import open_engine
    from svmreduce.experiments.recorded_run import CONFIG, Run
    from svmreduce.experiments.rerun import share_of
    from svmreduce.experiments.runner import Agenda, execute
    from svmreduce.experiments.tolerances import DEFAULTS, TIME_RATIO, from_config
    from svmreduce.reports.gate.cell_agreement import agreement

    with TemporaryDirectory(prefix="svmreduce-verify-") as folder:
        archive.unpack(Path(folder))
        recorded = store.read(folder)
        experiment, tasks = load_config(str(Path(folder, CONFIG)), None, (), None, None)
        tasks, old = share_of(recorded, tasks, share, seed)
        limits = from_config(recorded.config.get("compare"))
        wide = [name for name, limit in limits.items() if name != TIME_RATIO and limit.is_wider(DEFAULTS[name])]
        if wide:  # who makes the archive may set them so that everything agrees
            click.echo(f"Note: limits of {', '.join(wide)} are set by the archive, wider than usual", err=True)

        def tell(record):
            if not quiet:
                name = f"{record.dataset} {record.method} {record.cell_text}"
                click.echo(one_line(f"ran again: {name}: {record.status}"), err=True)

        with store.Store(Path(folder, "again")) as target:
            agenda = Agenda(experiment, tasks)
            target.write_plan(agenda.as_dict())
            with open_engine("local", jobs=jobs, threads=experiment.threads) as workers:
                new = Run(execute(agenda, target, workers, tell), 0, target.path)
        return agreement(old, new, limits)


def _print(cells: list[dict]) -> None:
    from svmreduce.reports import render

    columns = [render.Column(key, key, is_text=True) for key in ("dataset", "method", "cell", "verdict", "difference")]
    agreeing = sum(cell["verdict"] == "agrees" for cell in cells)
    table = render.Table(f"{agreeing} of {len(cells)} cells agree", columns, cells)
    click.echo(render.terminal([table], terminal_width()), nl=False)
