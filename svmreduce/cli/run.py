"""``svmreduce run``: an experiment from its file, resumed where an earlier run stopped."""

from __future__ import annotations

import sys
from collections import Counter

import click

from svmreduce.cli.common import json_option, print_json, quiet_option, typed_command
from svmreduce.cli.experiment import as_yaml, config_options, load_config, open_records, run_folder
from svmreduce.printable import one_line

EXIT_FAILED = 3
_EPILOG = """\b
Examples:
  svmreduce run configs/smoke.yaml
  svmreduce run configs/aesvm/table4.yaml --scale small --jobs 2
  svmreduce run my.yaml --set grid.C=[1,10] --timeout 60 --rerun failed
  svmreduce run my.yaml --engine dask --scheduler tcp://head:8786
"""


@click.command(epilog=_EPILOG)
@config_options
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Worker processes.")
@click.option(
    "--engine", type=click.Choice(["local", "dask"]), default="local", show_default=True, help="Where to run."
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Address of a dask scheduler; a local cluster is started if not given."
)
@click.option("--rerun", type=click.Choice(["failed", "all"]), help="Run the failed tasks again, or all tasks.")
@json_option
@quiet_option
def run(config, out, scale, settings, timeout, memory, jobs, engine, scheduler, rerun, as_json, quiet):
    """Run the experiment CONFIG and append its records to a run folder.

    Tasks that are already recorded in the folder are not run again, as long as code, versions and machine are the
    same. Ctrl-C or a kill loses only the fits in progress: the same command resumes the run.
    """
    if scheduler and engine != "dask":
        raise click.UsageError("--scheduler needs --engine dask")
    experiment, tasks = load_config(config, scale, settings, timeout, memory)
    folder = run_folder(experiment, out)
    how = {"engine": engine, "jobs": jobs, "scheduler": scheduler, "rerun": rerun or ""}
    agenda, records = carry_out(experiment, tasks, folder, silent=quiet or as_json, quiet=quiet, **how)
    statuses = Counter(record.status for record in records)
    failed = sum(record.is_failed for record in records)
    if as_json:
        print_json({"folder": str(folder), "records": len(records), "reused": len(agenda.known), "statuses": statuses})
    elif not quiet:
        _summary(folder, records, agenda, failed, statuses["skipped"])
    sys.exit(EXIT_FAILED if failed else 0)


def carry_out(
    experiment, tasks, folder, *, engine="local", jobs=1, scheduler=None, rerun="", silent=False, quiet=False
):
    """Run what is not recorded yet: the agenda, and the records of all of it. Ctrl-C ends the command."""
    from svmreduce.experiments.engines import open_engine
    from svmreduce.experiments.runner import execute, make_agenda
    from svmreduce.experiments.store import Store

    with Store(folder) as store:
        earlier = open_records(folder)
        if earlier and earlier.unreadable and not quiet:
            click.echo(f"passed over {earlier.unreadable} unreadable lines in {earlier.path}", err=True)
        agenda = make_agenda(experiment, tasks, earlier, folder, engine=engine, rerun=rerun)
        store.write_plan(agenda.as_dict())
        store.write_config(as_yaml(experiment, typed_command()))
        progress = _Progress(agenda, silent)
        try:
            with open_engine(engine, jobs=jobs, threads=experiment.threads, scheduler=scheduler) as workers, progress:
                return agenda, execute(agenda, store, workers, progress.tell)
        except KeyboardInterrupt:
            click.echo(f"\nstopped; {progress.made} new records are safe in {folder}. "
                       "The same command resumes the run.", err=True)  # fmt: skip
            sys.exit(130)


def _summary(folder, records, agenda, failed, skipped) -> None:
    if agenda.known:
        first = min(record.started for record in agenda.known.values())
        click.echo(f"reused {len(agenda.known)} of {len(records)} records, the first made at {first}", err=True)
    if skipped:
        click.echo(f"{skipped} of {len(records)} skipped; the report says why", err=True)
    if failed:
        click.echo(f"{failed} of {len(records)} failed; run them again with --rerun failed", err=True)
    click.echo(f"{len(records)} records in {folder}: svmreduce report {folder}")


class _Progress:
    """A bar on a terminal, a line per record elsewhere."""

    def __init__(self, agenda, silent: bool):
        self.todo, self.silent, self.made, self.bar = len(agenda.todo), silent, 0, None

    def __enter__(self):
        from tqdm import tqdm

        if not self.silent and sys.stderr.isatty():
            self.bar = tqdm(total=self.todo, unit="task", file=sys.stderr)
        return self

    def __exit__(self, *exception):
        if self.bar is not None:
            self.bar.close()

    def tell(self, record) -> None:
        self.made += 1
        line = one_line(_line(record))
        if self.bar is not None:
            self.bar.update()
            self.bar.set_postfix_str(one_line(f"{record.dataset} {record.method}")[:40], refresh=False)
            if not record.is_ok:
                self.bar.write(line, file=sys.stderr)
        elif not self.silent:
            click.echo(f"[{self.made}/{self.todo}] {line}", err=True)


def _line(record) -> str:
    point = " ".join(f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
                     for key, value in record.point.items())  # fmt: skip
    fold = f" fold {record.fold}" if record.fold else ""
    seconds = next((record.seconds[stage] for stage in ("solve", "reduce", "select") if stage in record.seconds), None)
    scores = record.scores
    found = [
        f"{seconds:.3f} s" if seconds is not None else None,
        f"accuracy {scores['accuracy']:.4f}" if "accuracy" in scores else None,
        f"mse {scores['mse']:.4g}" if "mse" in scores else None,
        f"{record.sizes['kept_rows']} rows kept" if not record.is_fit and "kept_rows" in record.sizes else None,
        ", ".join(f"{key}={value}" for key, value in (record.counters.get("chosen") or {}).items()) or None,
        f"{record.status}: {record.reason}" if not record.is_ok else None,
    ]
    name = f"{record.dataset}{fold} {record.method} {point}".rstrip()
    return f"{name} {record.kind}: {', '.join(filter(None, found))}"
