"""The options that say what the rows of a file mean, and the printing of notes and warnings about them."""

from __future__ import annotations

import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import click

from svmreduce.cli.common import together
from svmreduce.errors import DataNote, DataWarning
from svmreduce.printable import listed

_SCALERS = ("none", "standard", "zero_one", "minus_one_one", "max_abs", "unit")
_IMPUTATIONS = ("mean", "median", "most_frequent")
_NUMBER = re.compile(r"(?<!\w)\d[\d.]*")
_MANY = {"multiple": True, "metavar": "COLUMNS"}

label_option = click.option(
    "--label",
    metavar="NAME|POSITION",
    help="Label column of a table: its name, or its position from 0. If not given: the one called label, or the last.",
)
header_option = click.option(
    "--header/--no-header", default=None, help="Whether line 1 of a table names the columns; found out if not given."
)
no_label_option = click.option(
    "--no-label", is_flag=True, help="Do not look for labels: every column of a table is a feature."
)
_columns = together(
    click.option(
        "--n-features", type=click.IntRange(min=1), help="Number of columns, if the file does not show them all."
    ),
    label_option,
    click.option("--drop", **_MANY, help="Columns of a table to leave out: names, positions from 0, ranges: id,3-5."),
    click.option("--columns", **_MANY, help="Columns of a table to learn from; all others are left out."),
    click.option("--categories", **_MANY, help="Columns of numbers to read as words."),
    click.option(
        "--impute", type=click.Choice(_IMPUTATIONS), help="Fill missing values; words by the most frequent one."
    ),
    header_option,
)
reduction_options = together(_columns)
training_options = together(
    _columns,
    click.option(
        "--scale",
        type=click.Choice(_SCALERS),
        help="Scale columns of numbers (unit: rows), not 0/1 columns of categories; kept with the model for predict.",
    ),
    click.option(
        "--positive", metavar="LABEL", help="The class of interest; of more than two, the one against all others."
    ),
)
prediction_options = together(
    label_option,
    click.option("--no-label", is_flag=True, help="Do not look for labels; only predict."),
    header_option,
)

_KEYS = ("label", "drop", "columns", "categories", "impute", "header", "scale", "positive", "no_label")


def take_choices(options: dict):
    """The choices among the options of a command, taken out of them."""
    from svmreduce.data.preparation import Choices

    return Choices(**{key: options.pop(key) for key in _KEYS if key in options})


def label_of_table(preparation, data, is_given: bool) -> tuple[str | int, str]:
    """The label's column, by name or by position, and what to print about it."""
    from svmreduce.label_keys import label_key

    schema = preparation.schema
    where = [] if is_given else ["the last column" + " kept" * (schema.label < schema.n_columns - 1)]
    if (schema.label_name or "").casefold() == "label":
        where = []
    if data.task == "classification":
        names = [label_key(label) for label in data.classes.tolist()]
        where.append(f"{len(names)} class{'es' * (len(names) > 1)}: {listed(names)}")
    else:
        where.append(f"numbers from {data.y.min():g} to {data.y.max():g}")
    name = schema.label if schema.label_name is None else schema.label_name
    return name, f"{'column ' * (schema.label_name is None)}{name} ({'; '.join(where)})"


@contextmanager
def data_warnings(quiet: bool, said: list[str] | None = None, *, of_blocks: bool = False, is_begun: bool = False):
    """Print notes and warnings about data that were not ``said``, unless an error ends the command. Gives that list.

    What is counted ``of_blocks`` is added up; not at all if reading has only just ``begun``. Of other warnings that
    differ in numbers only, the first is printed.
    """
    said = [] if said is None else said
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        yield said
    pairs = [(warning, str(warning.message)) for warning in caught]
    for warning, text in _of_all_blocks(caught, is_begun) if of_blocks else pairs:
        if not (issubclass(warning.category, DataWarning) or warning.category is UserWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif not issubclass(warning.category, DataNote):
            warn(None if text in said else text, said)
        elif not quiet:
            _note(text)


def _of_all_blocks(caught: list, is_begun: bool) -> Iterator[tuple]:
    """One warning, and its text, of those that are alike."""
    alike = defaultdict(list)
    for warning in caught:
        is_counted = isinstance(warning.message, DataWarning) and warning.message.counts
        alike[warning.message.text if is_counted else _NUMBER.sub("#", str(warning.message))].append(warning)
    for same in alike.values():
        if not getattr(same[0].message, "counts", None):
            differing = len({str(warning.message) for warning in same})
            of = f" (of {differing} blocks of rows, the first)" if differing > 1 else ""
            yield same[0], f"{same[0].message}{of}"
        elif not is_begun:
            passes = defaultdict(Counter)  # once through the rows, or several times
            for warning in same:
                passes[id(warning.message.whole)].update(warning.message.counts)
            yield same[0], str(DataWarning(same[0].message.text, max(passes.values(), key=Counter.total)))


@cache
def _note(text: str) -> None:
    """Once, however often the rows are looked at."""
    click.echo(f"Note: {text}", err=True)


def warn(text: str | None, said: list[str]) -> None:
    """Print a warning and keep it for the record."""
    if text:
        click.echo(f"Warning: {text}", err=True)
        said.append(text)
