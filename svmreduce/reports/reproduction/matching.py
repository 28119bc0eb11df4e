"""The records of a printed row: data sets are found by their cards, methods by their labels and parameters."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import RANDOM, Record
from svmreduce.papers import PrintedTable
from svmreduce.papers.layouts import DEFAULTS, GENERATORS, KERNEL_NAMES, METHODS, PARAMETERS, PERCENT, Layout

_SAME_SIZE = 0.05  # rows of the paper that may be missing or too many: splits are drawn in several ways
_RANKED = "mahalanobis"  # the first working set that the LP-SVR paper calls its speed-up


@dataclass(frozen=True)
class MatchedData:
    """A measured data set that stands for a printed one, and why it is not quite the same, if so."""

    title: str
    caveats: tuple[str, ...] = ()


class Matching:
    """The records of a run, found by the names of one printed table."""

    def __init__(self, run: Run, printed: PrintedTable, layout: Layout):
        self.run, self.printed, self.layout = run, printed, layout
        titles = dict.fromkeys([*run.fits_of, *(record.dataset for record in run.reductions)])
        self._sources = {title: _source(title, run.config) for title in titles}

    def data(self, row: dict) -> MatchedData | None:
        """The measured data set that fits best: the same one, else a stand-in; of several sizes the nearest."""
        name, size = row["dataset"], printed_size(self.printed, row)
        found = []
        for title, source in self._sources.items():
            kind = _kinship(self.printed.paper, name, title, source)
            if kind is None:
                continue
            rows = self.run.train_rows.get(title)
            ratio = rows / size if rows and size else 1.0
            caveats = [f"{title} stands in for {name}"] if kind else []
            if all(abs(ratio / share - 1) > _SAME_SIZE for share in (1.0, self._trained_share(source))):
                caveats.append(f"{rows:,} of {size:,} rows" if ratio < 1 else f"{rows:,} rows instead of {size:,}")
            if source.get("test_rows") and not source.get("generator"):
                caveats.append(f"{source['test_rows']:,} test rows")
            found.append((kind, abs(math.log(ratio)), title, tuple(caveats)))
        return MatchedData(*min(found)[2:]) if found else None

    def _trained_share(self, source: dict) -> float:
        """Of the rows that a paper may count, those that folds or a holdout leave to train on."""
        split = source.get("split") or self.run.config.get("split") or {}
        return 1 - (1 / split["folds"] if split.get("folds") else split.get("holdout") or 0.0)

    def method(self, title: str, row: dict, ranked: bool = False) -> str | None:
        """The label of the method that a printed row means; None if the run has none."""
        starts = self._starts(row[self.layout.method]) if self.layout.method else ("",)
        found = []
        for label, fits in self.run.fits_of.get(title, {}).items():
            place = next((place for place, start in enumerate(starts) if plain(label).startswith(start)), None)
            if place is not None and self._may_be(fits[0], row, ranked):
                found.append((place, len(label), label))  # of several the one with the least added to the name
        return min(found)[2] if found else None

    def _may_be(self, record: Record, row: dict, ranked: bool) -> bool:
        """Do parameters, kernel and working set agree? Where the table names no method it is a reduction's."""
        layout, has_label = self.layout, bool(self.layout.method)
        if record.reducer == RANDOM or (record.reducer is None and not has_label):
            return False
        if (has_label and _is_ranked(record) != ranked) or layout.kernel not in ("", _kernel(record.solver_params)):
            return False
        keys = [key for key in layout.keys if key in PARAMETERS]
        return all(_agrees(record, key, row.get(key), lenient=has_label) for key in keys)

    def reductions_like(self, title: str, row: dict) -> list[Record]:
        """The reductions with the parameters of a printed row, over all folds and seeds."""
        return [
            record
            for record in self.run.reductions
            if record.dataset == title
            and record.reducer != RANDOM
            and _kernel(record.reducer_params) == self.layout.kernel
            and all(_agrees(record, key, row.get(key), lenient=False) for key in self.layout.keys)
        ]

    def _starts(self, name: str) -> tuple[str, ...]:
        return METHODS.get(self.printed.paper, {}).get(name, (plain(name),))


def plain(name: str) -> str:
    """``LP-SVR`` and ``lp_svr`` are the same word, ``LS SVM`` and ``LSSVM`` are not."""
    return re.sub(r"[^a-z0-9]+", " ", name.lower()).strip()


def printed_size(printed: PrintedTable, row: dict) -> int | None:
    """Training rows of a printed data set: from the row, the paper's settings, or its table of data sets."""
    if row.get("n_train"):
        return row["n_train"]
    listed = printed.whole["settings"].get("datasets") or printed.whole["tables"].get("table1", {}).get("rows", [])
    for entry in listed:
        if row["dataset"] in (entry.get("id"), entry.get("dataset"), entry.get("name")):
            return entry.get("n_train") or entry.get("n_total")
    return None


def _source(title: str, config: dict) -> dict:
    """What the config says about a data set; without it the title decides."""
    for entry in config.get("datasets") or []:
        entry = {"name": entry} if isinstance(entry, str) else entry
        names = (entry.get("as"), entry.get("name"), f"{entry.get('generator')}:{entry.get('rows')}")
        if title == next(filter(None, names), None):
            return entry
    word, _, rows = title.partition(":")
    return {"generator": word} if rows.isdigit() else {"name": title}


def _kinship(paper: str, name: str, title: str, source: dict) -> int | None:
    """0: the same data, 1: other data in its place, None: something else."""
    if source.get("generator"):
        same = GENERATORS.get(paper, {}).get(name) == source["generator"]
    else:
        papers, stands_in = _card_names(source.get("name") or "", paper)
        if name == stands_in:
            return 1
        same = name == papers
    if same:
        return 0
    return 1 if plain(title).split()[: len(plain(name).split())] == plain(name).split() else None


def _card_names(name: str, paper: str) -> tuple[str | None, str | None]:
    """What a paper calls the data of a card: the same data, and the data that it replaces."""
    from svmreduce.data.cards import all_cards  # loads pydantic, which most reports do not need

    word, _, variant = name.partition(":")
    cards = all_cards()
    card = cards.get(word) or next((card for card in cards.values() if word in card.aliases), None)
    if card is None or (variant and variant not in card.variants):
        return None, None
    owner = card
    if variant:
        prepared = card.variants[variant]
        relabelled = prepared.positive or prepared.keep or prepared.labels or prepared.distinct_rows
        owner = prepared if prepared.papers or prepared.stands_in or relabelled else card  # only scaled: the same data
    return owner.papers.get(paper), owner.stands_in.get(paper)


def _kernel(params: dict) -> str:
    return params.get("kernel", "rbf")  # the default of every kernel method


def _is_ranked(record: Record) -> bool:
    given = [*record.solver_params.values(), *record.reducer_params.values(), record.reducer]
    return _RANKED in given or "rank" in plain(record.method)


def _agrees(record: Record, key: str, printed, lenient: bool) -> bool:
    """Does the record have this value of the parameter? One that it lacks does not contradict a label."""
    if printed is None:
        return True
    value = _parameter(record, key)
    if value is None:
        return lenient
    if key == "kernel":
        return _kernels(value) == _kernels(printed)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return plain(str(value)) == plain(str(printed))
    return math.isclose(value, printed) or (key in PERCENT and math.isclose(100 * value, printed))


def _parameter(record: Record, key: str):
    for name in PARAMETERS.get(key, ()):
        for given in (record.reducer_params, record.solver_params, record.point):
            if name in given:
                return given[name]
    return DEFAULTS.get(key)


def _kernels(value) -> frozenset[str]:
    """The kernels of a mixture, however many of each: ``gaussian:5+rbf:5``, ``[gaussian, rbf]``."""
    words = value if isinstance(value, (list, tuple)) else str(value).split("+")
    names = [plain(str(word).partition(":")[0]) for word in words]
    return frozenset(KERNEL_NAMES.get(name, name) for name in names)
