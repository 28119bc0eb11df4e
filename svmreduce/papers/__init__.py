"""The printed tables of the papers, cell by cell, as YAML; ``layouts`` says what is measured for each column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from svmreduce.errors import InputError
from svmreduce.registry import nearest_name_error


@dataclass(frozen=True)
class PrintedTable:
    """One table of a paper, as printed: null where a cell is blank or cannot be read."""

    paper: str  # key of the paper
    name: str  # "table4"
    content: dict
    whole: dict  # the paper's file, for its settings and other tables

    @property
    def title(self) -> str:
        return f"{self.whole['paper']['title']}, Table {self.name.removeprefix('table')}"

    @property
    def caption(self) -> str:
        return self.content["caption"]

    @property
    def rows(self) -> list[dict]:
        return self.content["rows"]

    def is_hardware_free(self, field: str) -> bool:
        return field in self.content["hardware_independent"]

    def other(self, name: str) -> PrintedTable:
        """Another table of the same paper."""
        return PrintedTable(self.paper, name, self.whole["tables"][name], self.whole)


def names() -> list[str]:
    """The papers whose tables are included."""
    return sorted(entry.name.removesuffix(".yaml") for entry in _folder().iterdir() if entry.name.endswith(".yaml"))


@cache
def load(paper: str) -> dict:
    """The file of a paper: its settings, claims, tables and what contradicts what in it."""
    import yaml

    if paper not in names():
        raise nearest_name_error("paper", paper, names())
    text = _folder().joinpath(f"{paper}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # the C loader is not always available


def find(name: str) -> PrintedTable:
    """The table that ``aesvm:table4`` names."""
    paper, colon, table = name.partition(":")
    if not colon or not table:
        raise InputError(f"a printed table is named PAPER:TABLE, such as aesvm:table4, got {name!r}")
    whole = load(paper)
    if table not in whole["tables"]:
        raise nearest_name_error(f"table of {paper}", table, whole["tables"])
    return PrintedTable(paper, table, whole["tables"][table], whole)


def _folder():
    return files("svmreduce.papers")
