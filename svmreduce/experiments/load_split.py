"""Load → split → scale: the first half of every task, the same on every worker."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from svmreduce.data import catalog, formats, splitting, synthetic
from svmreduce.data.columns import Table
from svmreduce.data.preparation import Choices, Preparation
from svmreduce.errors import InputError
from svmreduce.experiments.config_keys import FILE_KEYS
from svmreduce.rows import widened
from svmreduce.types import Dataset, Split

TEST_SHARE = 0.2  # where the data has no test set of its own and the config asks for nothing else


def training_and_test(dataset: dict, split: dict, scaling: str | None, fold: int, seed: int) -> Split:
    """The rows of one fold, scaled by what was learned from its training rows alone."""
    words = (json.dumps(part, sort_keys=True) for part in (dataset, split))
    return _cached(*words, scaling, fold, seed)


@lru_cache(maxsize=2)
def _cached(dataset: str, split: str, scaling: str | None, fold: int, seed: int) -> Split:
    spec, how = json.loads(dataset), json.loads(split)
    is_made = bool(spec.get("generator"))
    source = json.dumps({key: value for key, value in spec.items() if is_made or key not in ("rows", "test_rows")})
    train, test = _load(source, seed if is_made else 0)  # parts and seeds of the same file share its rows
    parts = _parts(train, test, spec, how, fold, seed)
    if spec.get("file"):
        return _prepared(parts, source, scaling)
    scaler = scaling or (catalog.load_card(spec["name"]).preparation.scale if spec.get("name") else "none")
    return splitting.scale_split(parts, scaler)


def _parts(train: Dataset, test: Dataset | None, spec: dict, how: dict, fold: int, seed: int) -> Split:
    """Training and test rows of a fold, and of those as many as are wanted."""
    if test is not None and not how:
        parts = splitting.given_test(train, test)
    elif how.get("folds"):
        found = splitting.folds(train, how["folds"], seed if how.get("shuffle", True) else None)
        parts = next(part for part in found if part.fold == fold)
    else:
        parts = splitting.holdout(train, how.get("holdout", TEST_SHARE), seed)
    if not spec.get("generator"):  # a generator makes as many rows as it is asked for
        parts = replace(parts, train=_some(parts.train, spec.get("rows"), seed))
        parts = replace(parts, test=_some(parts.test, spec.get("test_rows"), seed + 1))
    return parts


def _prepared(parts: Split, dataset: str, scaling: str | None) -> Split:
    """Rows of a file, with columns, categories, filled gaps and scaling as the training rows of the fold teach them."""
    raw_train, raw_test, choices = _raw(dataset)
    rows, more = parts.train.X[:, 0], parts.test.X[:, 0]
    choices = replace(choices, scale=choices.scale or scaling)
    train, preparation = Preparation.learn(raw_train.take(rows), choices, parts.train.task)
    known = train.classes if train.task == "classification" else None
    test = preparation.new((raw_train if raw_test is None else raw_test).take(more), known)
    if test.y is None:
        raise InputError(f"{test.name}: no labels, so nothing can be measured; give test rows with labels")
    width = max(train.n_features, test.n_features)
    files = train.sha256 or " ".join(json.loads(dataset).get("sha256", ())) or None  # as they were when planned
    return replace(parts, train=replace(train, X=widened(train.X, width), sha256=files),
                   test=replace(test, X=widened(test.X, width), task=train.task))  # fmt: skip


@lru_cache(maxsize=2)
def _raw(dataset: str) -> tuple[Table | Dataset, Table | Dataset | None, Choices]:
    """The rows of a file and of its test file as they are, and what the config says about them."""
    spec = json.loads(dataset)
    for key in ("file", "test"):
        if key in spec and not Path(spec[key]).is_file():
            raise InputError(f"{spec[key]}: no such file; check the name")
    given = {key: tuple(spec[key]) if isinstance(spec[key], list) else spec[key] for key in FILE_KEYS if key in spec}
    choices = Choices(**given)
    raw = [formats.read_rows(spec[key], header=choices.header) for key in ("file", "test") if key in spec]
    return raw[0], raw[1] if len(raw) > 1 else None, choices


@lru_cache(maxsize=2)
def _load(dataset: str, seed: int) -> tuple[Dataset, Dataset | None]:
    """Training rows and, if the data has them, test rows; nothing is scaled yet."""
    spec = json.loads(dataset)
    if spec.get("generator"):
        made = [synthetic.make(spec["generator"], rows, [seed, part], **spec.get("params", {})) if rows else None
                for part, rows in enumerate((spec["rows"], spec.get("test_rows")))]  # fmt: skip
        return made[0], made[1]
    if spec.get("name"):
        card = catalog.load_card(spec["name"])
        has_test = "train" in card.splits and "test" in card.splits
        train = catalog.load(spec["name"], "train" if has_test else None, scaled=False)
        return train, catalog.load(spec["name"], "test", scaled=False) if has_test else None
    raw, test, choices = _raw(dataset)
    rows, preparation = Preparation.learn(raw, replace(choices, scale=None), spec.get("task"))
    numbers = Dataset(np.arange(rows.n_rows)[:, None], rows.y, rows.name, rows.task)
    if test is None:
        return numbers, None
    known = rows.classes if rows.task == "classification" else None
    others = preparation.new(test, known)
    return numbers, replace(numbers, X=np.arange(others.n_rows)[:, None], y=others.y)


def _some(data: Dataset, rows: int | None, seed: int) -> Dataset:
    """A random part of this many rows, in file order."""
    if rows is None or rows >= data.n_rows:
        return data
    chosen = np.random.default_rng(seed).choice(data.n_rows, rows, replace=False)
    return data.take(np.sort(chosen))
