"""What several commands share: reading rows, setting parameters, printing results."""

from __future__ import annotations

import inspect
import json
import math
from pathlib import Path

import click

from svmreduce.errors import InputError
from svmreduce.registry import nearest_name_error

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors (and JSON, if asked for).")


def read_rows(source: str, split: str, n_features: int | None = None):
    """A Dataset from a file, or from the catalogue by ``NAME[:VARIANT][:SPLIT]``.

    Without a split it is the usual one of the command (``train`` or ``test``), or the only one there is.
    """
    if Path(source).exists():
        from svmreduce.data.formats import load_dataset

        return load_dataset(source, n_features=n_features)
    from svmreduce.data import catalog

    if "/" in source or "." in source:
        raise InputError(f"{source}: no such file; check the name")
    name, _, last = source.rpartition(":")
    try:
        if name and last in catalog.load_card(name).splits:
            return catalog.load(name, last)
        card = catalog.load_card(source)
    except InputError as error:
        raise InputError(f"no file {source!r} here, and {error}") from None
    return catalog.load(source, split if split in card.splits else None)


def parse_settings(pairs) -> dict:
    """``key=value`` words as a dict, values as numbers, true/false/none, or text."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InputError(f"--set takes key=value, got {pair!r}")
        settings[key] = parse_value(value)
    return settings


def parse_value(text: str):
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parameters_of(method: type) -> dict:
    """Constructor parameters and their defaults: the constructor is the schema."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(method.__init__).parameters.items()
        if name != "self"
    }


def build_method(name: str, method: type, given: dict):
    """An instance with these parameters; one it does not have is an error that names the nearest."""
    known = parameters_of(method)
    for key in given:
        if key not in known:
            raise nearest_name_error(f"parameter of {name}", key, known)
    return method(**given)


def print_json(record: dict) -> None:
    """One line of strict JSON: a number that is not finite becomes null."""
    click.echo(json.dumps(_strict(record)))


def _strict(value):
    if isinstance(value, dict):
        return {key: _strict(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(entry) for entry in value]
    if hasattr(value, "item"):  # a numpy number
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_pairs(pairs) -> None:
    """Aligned ``name  value`` lines; a value of None is left out."""
    pairs = [(name, value) for name, value in pairs if value is not None]
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        click.echo(f"{name:<{width}}  {value}")


def check_writable(path: str) -> None:
    """Find out before the work, not after it, that its result has nowhere to go."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise InputError(f"{path}: the folder {folder} does not exist; create it first")
    if Path(path).is_dir():
        raise InputError(f"{path}: is a folder; give a file name")
