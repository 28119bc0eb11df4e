"""One record: the outcome of one reduction, fit or selection. The fields of `Record` are the schema of a line.

A record answers questions about itself (did it finish, whose control is it, which cell of the experiment does it
fill), so that no reader repeats them. Sections without facts are empty, never None.
"""

from __future__ import annotations

import sys
from dataclasses import MISSING, dataclass, field, fields, replace

from svmreduce.experiments.ordering import natural_key, point_key

OK, NOT_CONVERGED, SKIPPED = "ok", "not_converged", "skipped"
FINISHED = (OK, NOT_CONVERGED)  # with times and scores: a model that stopped early is worse, not absent
FAILED = ("timeout", "memory", "crash", "error")  # a skipped record has its cause elsewhere: no data, no reduction
FIT, REDUCTION, SELECTION = "fit", "reduction", "selection"
RANDOM = "random"  # the reducer that every control uses
_CONTROL_SUFFIX = " (random control)"


def control_label(label: str) -> str:
    """What the random control of a method is called."""
    return label + _CONTROL_SUFFIX


def controlled_label(label: str) -> str | None:
    """The method that this label names the random control of; None if it is not a control's label."""
    return label.removesuffix(_CONTROL_SUFFIX) if label.endswith(_CONTROL_SUFFIX) else None


@dataclass(frozen=True, kw_only=True)
class Record:
    """The facts of one reduction or one fit, in the order in which they are written.

    Fields without a default are in every record that was ever written; `from_json` rejects a line that lacks one.
    """

    kind: str  # "reduction", "fit" or "selection"
    id: str  # hash of what was computed
    status: str  # ok, not_converged, timeout, memory, crash, error or skipped
    reason: str = ""  # one line, if the status is not ok
    experiment: str | None = None  # name of the config
    scale: str | None = None  # smoke, small or full
    baseline: str | None  # label of the method that the others are compared with
    dataset: str  # its title
    task: str | None  # "classification" or "regression"; None if the data could not be loaded
    fold: int  # from 0; 0 without cross-validation
    seed: int  # of methods, generators, folds and holdouts
    repeat: int  # of the same fit, for its time
    method: str  # label
    solver: str | None  # name in the registry, or module:Class
    reducer: str | None  # the same; None without a reduction
    solver_params: dict  # as given; defaults are not written
    reducer_params: dict  # the same
    point: dict  # of the grid
    reduction: str | None  # id of the reduction that a fit trains on
    size_of: str | None = None  # id of the reduction whose size a control's sample has
    seconds: dict  # wall-clock time by stage: load, reduce or convert, solve and predict; their total
    cpu_seconds: dict = field(default_factory=dict)  # processor time by stage; fit is convert, reduce and solve
    sizes: dict  # train_rows, kept_rows, test_rows, features, vectors
    counters: dict  # n_iter, kernel_evals, objective, gap and what else the method counts
    scores: dict  # on the test rows: accuracy, errors, auc; or mse, mae
    memory_mb: float | None = None  # the most that reducing, fitting and predicting took
    log: str = ""  # its end, if the status is not ok
    environment: dict = field(default_factory=dict)  # host, processor, versions, code, load, threads, data
    engine: str | None = None  # local or dask
    started: str = ""  # date and time, UTC
    run: str = ""  # when the run started that made this record

    @property
    def is_fit(self) -> bool:
        return self.kind == FIT

    @property
    def is_ok(self) -> bool:
        return self.status == OK

    @property
    def is_finished(self) -> bool:
        """Does it have times and scores?"""
        return self.status in FINISHED

    @property
    def is_failed(self) -> bool:
        return self.status in FAILED

    @property
    def control_of(self) -> str | None:
        """The label of the method that this is the random control of.

        That it trains on a random sample is a fact of the record; for which method is only in its label.
        """
        return controlled_label(self.method) if self.reducer == RANDOM else None

    @property
    def identity(self) -> tuple:
        """What two runs of one experiment have in common for a cell; also its place in a sorted table.

        Parameters of the method are not in it: the method's label stands for them, so that a changed default
        shows up as a changed result and not as another cell.
        """
        names = natural_key(self.dataset), natural_key(self.method)
        return (*names, self.kind, point_key(self.point), self.fold, self.seed, self.repeat)

    @property
    def point_text(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in sorted(self.point.items()))

    @property
    def cell_text(self) -> str:
        """The cell within its data set and method, for people: ``C=1, gamma=0.5, fold 0, seed 0``."""
        words = [] if self.is_fit else [self.kind]
        words += [self.point_text] if self.point else []
        words += [f"fold {self.fold}", f"seed {self.seed}"]
        words += [f"repeat {self.repeat}"] if self.repeat else []
        return ", ".join(words)

    @property
    def kept_share(self) -> float | None:
        """Rows that the solver saw, as a share of the training rows."""
        kept, rows = self.sizes.get("kept_rows"), self.sizes.get("train_rows")
        return None if kept is None or not rows else kept / rows

    def renamed(self, names: dict) -> Record:
        """The same facts under the names that the plan has for them now."""
        return replace(self, **_typed(names))

    def to_json(self) -> dict:
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_json(cls, content) -> Record:
        """The record that a parsed line holds; unknown keys are ignored.

        Raises
        ------
        ValueError
            if this is not a record: a key is missing, or a value cannot be what it should be
        """
        if not isinstance(content, dict) or not content.keys() >= _NEEDED:
            raise ValueError("keys of a record are missing")
        check_fields(content)
        if content["kind"] not in (FIT, REDUCTION, SELECTION) or content["status"] not in (*FINISHED, *FAILED, SKIPPED):
            raise ValueError("its kind or status is unknown")
        return cls(**_typed(content))


_FIELDS = {entry.name: entry for entry in fields(Record)}
_KINDS = {"str": str, "str | None": str, "int": int, "float | None": (int, float), "dict": dict}  # None see _typed
_NAMES = ("kind", "id", "status", "dataset", "method", "fold", "seed", "repeat")  # never None
_NEEDED = {name for name, entry in _FIELDS.items() if entry.default is MISSING and entry.default_factory is MISSING}
_NEVER_NONE = {name: {"dict": dict, "str": str}.get(entry.type) for name, entry in _FIELDS.items()}


def check_fields(content) -> None:
    """Raise a ValueError if the value of a field, as far as it is there, is not of the field's type."""
    if not isinstance(content, dict):
        raise ValueError("it is not a mapping")
    if _has_huge(content):
        raise ValueError("it has a whole number beyond the largest double")
    for name, entry in _FIELDS.items():
        value = content.get(name)
        if name in content and value is None and name in _NAMES:
            raise ValueError(f"{name} is empty")
        if value is not None and (not isinstance(value, _KINDS[entry.type]) or isinstance(value, bool)):
            raise ValueError(f"{name} must be of the type {entry.type}")
    for name in ("seconds", "cpu_seconds", "sizes", "scores"):
        if not _is_numbers(content.get(name)):
            raise ValueError(f"{name} must be numbers by name")
    place = content.get("environment") or {}
    load = place.get("load")
    if not isinstance(place.get("versions") or {}, dict) or not (load is None or _is_number(load)):
        raise ValueError("its environment must have versions by name, and the load as a number")
    if not isinstance(place.get("host") or "", str):
        raise ValueError("the host in its environment must be text")


def _has_huge(value) -> bool:
    """Whether a whole number in it has no double."""
    if isinstance(value, dict | list):
        return any(map(_has_huge, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and value.bit_length() > sys.float_info.max_exp - 1


def _typed(content: dict) -> dict:
    """What is a field, with an empty value in place of None where the field's type has no None."""
    known = {name: content[name] for name in _FIELDS if name in content}
    return {name: empty() if value is None and (empty := _NEVER_NONE[name]) else value for name, value in known.items()}


def _is_numbers(section: dict | None) -> bool:
    """Nothing, or numbers by name; only the levels of a reduction's seconds have parts of their own."""
    parts = dict(section or {})
    levels = parts.pop("levels", None)
    return all(value is None or _is_number(value) for value in parts.values()) and (
        levels is None or _is_levels(levels)
    )


def _is_levels(levels) -> bool:
    return isinstance(levels, dict) and all(value is None or _is_number(value) for value in levels.values())


def _is_number(value) -> bool:
    return isinstance(value, int | float)
