"""What ``run`` and ``plan`` share: the experiment with its overrides, and its folder."""

from __future__ import annotations

from pathlib import Path

import click

from svmreduce.cli.common import split_settings, together
from svmreduce.errors import InputError

config_options = together(
    click.argument("config", metavar="CONFIG"),
    click.option("-o", "--out", metavar="FOLDER", help="Run folder; results/runs/NAME-SCALE if not given."),
    click.option("--scale", type=click.Choice(["smoke", "small", "full"]), help="Size of the experiment."),
    click.option("--set", "settings", metavar="KEY=VALUE", multiple=True,
                 help="Override a value of the file, such as grid.C=[1,10] or repeats=3."),
    click.option("--timeout", type=float, metavar="SECONDS", help="Time limit of one reduction or fit."),
    click.option("--memory", type=float, metavar="MB", help="Memory limit of a worker process."),
)  # fmt: skip


def load_config(path, scale, settings, timeout, memory):
    """The experiment with the typed overrides, and its tasks."""
    from svmreduce.experiments import config
    from svmreduce.experiments.planning import expand
    from svmreduce.paths import import_from_here_last

    import_from_here_last()
    typed = _parsed(split_settings(settings))
    if timeout is not None:
        typed["limits.seconds"] = timeout
    if memory is not None:
        typed["limits.memory_mb"] = memory
    experiment = config.load(path, scale=scale, settings=typed)
    try:
        return experiment, expand(experiment)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _parsed(settings: dict[str, str]) -> dict:
    """The values as YAML, so that lists can be typed."""
    from svmreduce import guarded_yaml

    try:
        return {key: guarded_yaml.load(text, f"--set {key}") for key, text in settings.items()}
    except InputError as error:
        raise InputError(f"{error}; lists are written [1,10]") from None


def run_folder(experiment, out: str | None) -> Path:
    return Path(out) if out else Path("results") / "runs" / f"{experiment.name}-{experiment.scale}"


def as_yaml(experiment, command: str) -> str:
    """The experiment as it is run, below the command that runs it."""
    import yaml

    content = experiment.model_dump(by_alias=True, exclude_defaults=True, mode="json")
    text = yaml.safe_dump(
        {"name": experiment.name, "scale": experiment.scale, **content}, sort_keys=False, allow_unicode=True
    )
    return f"# {command}\n{text}"


def open_records(folder: Path):
    """The run that is already in the folder, or None."""
    from svmreduce.experiments.store import NothingRecorded, read

    try:
        return read(folder, planned_only=False)
    except NothingRecorded:
        return None
