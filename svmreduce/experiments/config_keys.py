"""The keys of experiment files, part by part; the text below a key is its line in ``docs/yaml.md``."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from svmreduce.errors import InputError


def _number(value: Any) -> Any:
    """Powers may be written as the papers print them: 2^-4."""
    if isinstance(value, str) and (found := re.fullmatch(r"(\d{1,20}(?:\.\d{1,20})?)\^(-?\d{1,9})", value)):
        return _power(float(found[1]), int(found[2]))
    if isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d*)?[eE]-?\d+", value):  # YAML reads 1e-3 as text
        return float(value)
    return [_number(entry) for entry in value] if isinstance(value, list) else _numbers(value)


def _power(base: float, exponent: int) -> float:
    try:
        power = base**exponent
    except (OverflowError, ZeroDivisionError):
        power = math.inf
    if math.isinf(power) or (base and not power):
        raise InputError(f"{base:g}^{exponent} is outside of the range of doubles")
    return power


def _numbers(value: Any) -> Any:
    return {key: _named_number(key, entry) for key, entry in value.items()} if isinstance(value, dict) else value


def _named_number(key: Any, value: Any) -> Any:
    try:
        return _number(value)
    except InputError as error:
        raise InputError(f"{key}: {error}") from None


def _named(key: str):
    """A plain word stands for a mapping with only this key."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


class _ConfigPart(BaseModel):
    """Keys of one part."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, use_attribute_docstrings=True)


class SplitConfig(_ConfigPart):
    """Where test rows come from: with the data, ``folds``, or a ``holdout`` share."""

    folds: int | None = Field(None, ge=2)
    """Cross-validation with this many folds; every fold is a fit of its own."""
    shuffle: bool = True
    """``false`` cuts folds in file order."""
    holdout: float | None = Field(None, gt=0, lt=1)
    """Share of the rows to test on; each seed takes others. 0.2 where the data has no test rows of its own."""

    @model_validator(mode="after")
    def _one_way(self):
        if self.folds and self.holdout:
            raise ValueError("'folds' and 'holdout' exclude each other")
        if not (self.shuffle or self.folds):
            raise ValueError("'shuffle: false' belongs to 'folds'")
        return self


ColumnList = Annotated[list[str | int], BeforeValidator(lambda value: value if isinstance(value, list) else [value])]
FILE_KEYS = ("label", "drop", "columns", "categories", "positive", "impute", "scale", "header")


class DatasetConfig(_ConfigPart):
    """One data set: a name of the catalogue, a generator, or the user's own file. A plain word is a name."""

    name: str | None = None
    """NAME or NAME:VARIANT of the catalogue; see ``svmreduce data list``."""
    generator: str | None = None
    """A generator of rows, such as ``checkerboard``; needs ``rows``."""
    file: str | None = None
    """A file of one's own: LIBSVM text, a table, or IDX images."""
    test: str | None = None
    """The test file that belongs to ``file``."""
    rows: int | None = Field(None, ge=1)
    """Generators: how many training rows. Others: a random part of them, another one for each seed."""
    test_rows: int | None = Field(None, ge=1)
    """The same for test rows."""
    params: dict[str, Any] = {}
    """Parameters of the generator."""
    label: str | int | None = None
    """``file``: the label's column by name or position from 0; by default the column called label, else the last."""
    drop: ColumnList = []
    """``file``: columns to leave out, by name, position or range."""
    columns: ColumnList = []
    """``file``: columns to learn from; all others are left out."""
    categories: ColumnList = []
    """``file``: columns of numbers to read as words."""
    positive: str | int | float | None = None
    """``file``: the class that is set against all others."""
    impute: Literal["mean", "median", "most_frequent"] | None = None
    """``file``: what fills missing values, learned from the training rows of each fold."""
    scale: Literal["none", "standard", "zero_one", "minus_one_one", "max_abs", "unit"] | None = None
    """``file``: scaling of the columns of numbers, learned in the same way."""
    task: Literal["classification", "regression"] | None = None
    """``file``: what its labels are; whole numbers are classes if not given."""
    header: bool | None = None
    """``file``: whether line 1 names the columns; found out if not given."""
    split: SplitConfig | None = None
    """Where it differs from the experiment's."""
    as_: str | None = Field(None, alias="as")
    """What tables call it."""

    @model_validator(mode="after")
    def _one_source(self):
        given = [key for key in ("name", "generator", "file") if getattr(self, key)]
        if len(given) != 1:
            raise ValueError(f"give one of 'name', 'generator' and 'file', got {' and '.join(given) or 'none'}")
        if self.generator and not self.rows:
            raise ValueError("a generator needs 'rows'")
        for key, owner in (
            ("test", "file"),
            ("task", "file"),
            *((key, "file") for key in FILE_KEYS),
            ("params", "generator"),
        ):
            if getattr(self, key) not in (None, [], {}) and not getattr(self, owner):
                raise ValueError(f"{key!r} belongs to {owner!r}")
        return self

    @property
    def title(self) -> str:
        if self.as_:
            return self.as_
        if self.file:
            return Path(self.file).name
        return f"{self.generator}:{self.rows}" if self.generator else self.name


class MethodPart(BaseModel):
    """A solver or reducer by name with its parameters; a list means each of its values in turn. A plain word is a name.

    All further keys are parameters of the method; ``svmreduce methods`` lists them.
    """

    model_config = ConfigDict(extra="allow", frozen=True, use_attribute_docstrings=True)
    name: str
    """A name of ``svmreduce methods``, or ``package.module:Class``."""

    @model_validator(mode="after")
    def _has_numbers(self):
        self.params  # noqa: B018 - a power that is too large is reported with its place
        return self

    @property
    def params(self) -> dict[str, Any]:
        return _numbers(self.__pydantic_extra__ or {})


ReducerConfig = Annotated[MethodPart, _named("name")]


class SolverConfig(MethodPart):
    """A solver, the reducer before it, and what tables call the two. All further keys are parameters of the solver."""

    reducer: ReducerConfig | None = None
    """What is done with the rows before this solver."""
    as_: str | None = Field(None, alias="as")
    """What tables call it."""


class SelectConfig(_ConfigPart):
    """Grid points that are chosen without the test rows: by cross-validation of the exact SVM on the training rows.

    The table has the score at the chosen point beside the best on the test rows. The grid may hold C, gamma and, for a
    regression, epsilon.
    """

    folds: int = Field(5, ge=2)
    """Of the training rows, shuffled; classes keep their shares."""


class LimitsConfig(_ConfigPart):
    """What one reduction or one fit may take; beyond it the worker is stopped and the record says so."""

    seconds: float = Field(600, gt=0)
    """Time of one reduction or fit with its prediction; of a selection, times its fits."""
    memory_mb: float | None = Field(None, gt=0)
    """Memory of a worker process."""
    tasks: int = Field(50_000, ge=1)
    """Fits of the whole experiment: one that has more is most often a mistake."""


Grid = Annotated[dict[str, list[Any]], BeforeValidator(_numbers)]


class Config(_ConfigPart):
    """One experiment."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    """Of the run folder: ``results/runs/NAME-SCALE``."""
    title: str = ""
    """Of the page."""
    paper: str | None = None
    """The printed table to compare with, such as ``aesvm:table4``."""
    datasets: list[Annotated[DatasetConfig, _named("name")]] = Field(min_length=1)
    """What to train on; see below."""
    split: SplitConfig = SplitConfig()
    """Where test rows come from; see below."""
    scaling: str | None = None
    """Scaling of all data sets; what the card of the data says if not given."""
    solvers: list[Annotated[SolverConfig, _named("name")]] = Field(min_length=1)
    """The methods; see below."""
    reducers: list[ReducerConfig] = []
    """Before each solver that names none of its own; ``none`` for no reduction."""
    grid: Grid = {}
    """Parameters that all methods share, each with its list of values; powers are written ``2^-4``."""
    select: SelectConfig | None = None
    """Also choose a grid point by cross-validation on the training rows; see below."""
    baseline: str | None = None
    """The method that the others are compared with."""
    control: bool = True
    """With each reduction, the same solver on a random sample of equal size."""
    fits: bool = True
    """``false`` makes the reductions only."""
    seeds: list[Annotated[int, Field(ge=0, lt=2**32)]] = Field([0], min_length=1)
    """Repeats with other random numbers: of methods, generators, folds and holdouts."""
    repeats: int = Field(1, ge=1)
    """Repeats of the same fit, for its time."""
    threads: int = Field(1, ge=1, le=4096)
    """Of every method."""
    limits: LimitsConfig = LimitsConfig()
    """Of time, memory and size; see below."""
    scale: Literal["smoke", "small", "full"] = "small"
    """Which entry of ``scales`` counts; ``--scale`` overrides it."""
    compare: dict[str, dict[str, float]] = {}
    """Metric -> absolute or relative tolerance of ``svmreduce compare``."""
