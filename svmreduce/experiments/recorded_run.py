"""A run, read from its records and grouped once for all reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from svmreduce import guarded_yaml
from svmreduce.errors import InputError
from svmreduce.experiments.method_results import MethodResults, collect
from svmreduce.experiments.metrics import summarise
from svmreduce.experiments.ordering import natural_key
from svmreduce.experiments.panels import Panel, make_panels
from svmreduce.experiments.records import REDUCTION, Record
from svmreduce.experiments.standing import Standings

CONFIG = "config.yaml"


@dataclass
class Run:
    """What a run has recorded: the latest record of each id, and what belongs to them."""

    records: list[Record]
    unreadable: int  # lines that are not records, most often one cut off by a kill
    path: Path  # the file they were read from
    other: int = 0  # records of settings that the plan does not have
    missing: int = 0  # planned and not there yet

    @cached_property
    def config(self) -> dict:
        """The resolved config that lies next to the records; empty if it is not there."""
        path = self.path.with_name(CONFIG)
        if not path.exists():
            return {}
        try:
            config = guarded_yaml.load_file(path)
        except InputError as error:
            raise InputError(f"{error}; restore or remove it") from None
        if not isinstance(config, dict):
            raise InputError(f"{path}: is not a config; restore or remove it")
        return config

    @cached_property
    def config_text(self) -> str:
        """The same as text, the command that made the run as a comment on its first line; empty if it is not there."""
        path = self.path.with_name(CONFIG)
        return path.read_text(encoding="utf-8") if self.config else ""

    @cached_property
    def fits(self) -> list[Record]:
        return [record for record in self.records if record.is_fit]

    @cached_property
    def reductions(self) -> list[Record]:
        return [record for record in self.records if record.kind == REDUCTION]

    @cached_property
    def fits_of(self) -> dict[str, dict[str, list[Record]]]:
        """Data set -> label of the method -> its fits."""
        found: dict[str, dict[str, list[Record]]] = {}
        for record in self.fits:
            found.setdefault(record.dataset, {}).setdefault(record.method, []).append(record)
        return found

    @cached_property
    def train_rows(self) -> dict[str, int]:
        """Data set -> the most training rows that any record of it has."""
        found: dict[str, int] = {}
        for record in self.records:
            rows = record.sizes.get("train_rows")
            if rows:
                found[record.dataset] = max(rows, found.get(record.dataset, 0))
        return found

    @cached_property
    def baseline(self) -> str | None:
        return next((record.baseline for record in self.records if record.baseline), None)

    @cached_property
    def controls(self) -> set[str]:
        """The labels that are random controls."""
        return {record.method for record in self.records if record.control_of is not None}

    @cached_property
    def methods(self) -> dict[str, dict[str, MethodResults]]:
        """Data set -> label -> what the method did, cell by cell."""
        return collect(self.records)

    @cached_property
    def summary(self) -> list[dict]:
        """The papers' figures, one row per data set and method; see `summarise`."""
        return summarise(self.methods)

    @cached_property
    def standings(self) -> dict[str, Standings]:
        """Data set -> how its methods stand to each other, for data sets with a result."""
        found = {name: Standings(self.methods[name]) for name in sorted(self.methods, key=natural_key)}
        return {name: standings for name, standings in found.items() if standings.all}

    @cached_property
    def panels(self) -> list[Panel]:
        """Every method at its grid points, one panel per data set with a result."""
        return make_panels(self.methods)
