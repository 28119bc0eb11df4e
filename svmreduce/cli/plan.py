"""``svmreduce plan``: what ``run`` would do, without doing it."""

from __future__ import annotations

from collections import Counter

import click

from svmreduce.cli.common import json_option, print_json, print_pairs
from svmreduce.cli.experiment import config_options, load_config, open_records, run_folder
from svmreduce.printable import one_line, roughly

_EPILOG = """\b
Examples:
  svmreduce plan configs/smoke.yaml
  svmreduce plan configs/aesvm/table4.yaml --scale full --json
"""


@click.command(epilog=_EPILOG)
@config_options
@json_option
def plan(config, out, scale, settings, timeout, memory, as_json):
    """Show what running CONFIG would do: how many fits, how many are already recorded, and about how long it takes."""
    from svmreduce.experiments.estimate import estimate
    from svmreduce.experiments.runner import make_agenda

    experiment, tasks = load_config(config, scale, settings, timeout, memory)
    folder = run_folder(experiment, out)
    earlier = open_records(folder)
    agenda = make_agenda(experiment, tasks, earlier, folder)
    seconds, measured = estimate(agenda, earlier)
    rows = _rows(agenda)
    kinds = Counter(task.kind for task in agenda.tasks)
    record = {
        "name": experiment.name, "scale": experiment.scale, "folder": str(folder), "fits": kinds["fit"],
        "reductions": kinds["reduction"], "selections": kinds["selection"], "cached": len(agenda.known),
        "to_run": len(agenda.todo), "estimate_seconds": seconds, "estimate_measured_share": measured,
        "limit_seconds": experiment.limits.seconds, "rows": rows,
    }  # fmt: skip
    if as_json:
        print_json(record)
        return
    _print(record, experiment)


def _rows(agenda) -> list[dict]:
    counts: dict[tuple, Counter] = {}
    for task in agenda.tasks:
        counter = counts.setdefault((task.title, task.method), Counter())
        counter[task.kind] += 1
        counter["cached"] += task.id in agenda.known
    return [{"dataset": dataset, "method": method, "reductions": count["reduction"], "fits": count["fit"],
             "cached": count["cached"]} for (dataset, method), count in counts.items()]  # fmt: skip


def _print(record, experiment) -> None:
    from tabulate import tabulate

    names = ("dataset", "method", "reductions", "fits", "cached")
    click.echo(tabulate([[one_line(row[name]) for name in names] for row in record["rows"]], names))
    click.echo()
    grid = ", ".join(f"{key} {len(values)}" for key, values in experiment.grid.items())
    measured = record["estimate_measured_share"]
    basis = "from earlier records" if measured == 1 else "a rule of thumb, right to a factor of ten"
    if 0 < measured < 1:
        basis = f"{100 * measured:.0f} % of it from earlier records, the rest {basis}"
    print_pairs(
        [
            ("grid", grid or None),
            ("to run", f"{record['to_run']} of {record['fits'] + record['reductions'] + record['selections']} tasks, "
                       f"{record['cached']} are already recorded"),
            ("estimate", f"about {roughly(record['estimate_seconds'])} with one job ({basis})"),
            ("limit", f"{experiment.limits.seconds:g} s for each task"),
            ("folder", record["folder"]),
        ]
    )  # fmt: skip
