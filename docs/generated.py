"""Reference that the code itself tells: ``<!-- commands -->`` in a page is replaced by what `commands` returns."""

import dataclasses
import inspect
import re

import click

from svmreduce import papers, reducers, solvers
from svmreduce.cli.main import cli
from svmreduce.experiments.metrics import METRICS
from svmreduce.experiments.records import Record

_FIELD = re.compile(r"^    (\w+): [^#\n]*?(?:  # (.*))?$", re.MULTILINE)


def commands() -> str:
    """The help of every command."""
    return "\n".join(_help(cli.get_command(None, name), f"svmreduce {name}") for name in cli.list_commands(None))


def _help(command: click.Command, name: str, level: int = 2) -> str:
    with click.Context(command, info_name=name, terminal_width=90, help_option_names=["-h", "--help"]) as context:
        text = f"{'#' * level} `{name}`\n\n```text\n{command.get_help(context)}\n```\n"
    inner = getattr(command, "commands", {})
    return "\n".join([text, *(_help(one, f"{name} {part}", level + 1) for part, one in inner.items())])


def record() -> str:
    """The fields of a record."""
    about = dict(_FIELD.findall(inspect.getsource(Record).partition("@property")[0]))
    rows = [(f"`{field.name}`", field.type, about[field.name]) for field in dataclasses.fields(Record)]
    return _table(("field", "type", "meaning"), rows)


def metrics() -> str:
    """The columns of a summary."""
    rows = [(f"`{key}`", metric.label, metric.better) for key, metric in METRICS.items()]
    return _table(("column", "shown as", "better"), rows)


def paper_list() -> str:
    rows = [(_paper(key), f"`make paper-{key.replace('_', '-')}`") for key in papers.names()]
    return _table(("paper", "all of its experiments"), rows)


def _paper(key: str) -> str:
    facts = papers.load(key)["paper"]
    year = f", {facts['year']}" if facts["year"] else ""
    return f"{', '.join(facts['authors'])}: *{facts['title']}*{year}"


def all_solvers() -> str:
    return _methods(solvers.SOLVERS.where)


def all_reducers() -> str:
    return _methods(reducers.REDUCERS.where)


def _methods(where: dict[str, str]) -> str:
    return "\n".join(f"## `{name}`\n\n{_class(place.partition(':')[2])}" for name, place in where.items())


def _class(name: str) -> str:
    return f"```{{eval-rst}}\n.. autoclass:: svmreduce.{name}\n```\n"


def _table(head: tuple, rows: list[tuple]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _replace(app, docname, source):
    source[0] = re.sub(r"^<!-- (\w+) -->$", lambda found: globals()[found[1]](), source[0], flags=re.MULTILINE)


def setup(app):
    app.connect("source-read", _replace)
    return {"parallel_read_safe": True}
