"""Load → split → scale: the first half of every task, the same on every worker."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from svmreduce.data import catalog, formats, splitting, synthetic
from svmreduce.errors import InputError
from svmreduce.types import Dataset, Split

TEST_SHARE = 0.2  # where the data has no test set of its own and the config asks for nothing else


def training_and_test(dataset: dict, split: dict, scaling: str | None, fold: int, seed: int) -> Split:
    """The rows of one fold, scaled by what was learned from its training rows alone."""
    words = (json.dumps(part, sort_keys=True) for part in (dataset, split))
    return _cached(*words, scaling, fold, seed)


@lru_cache(maxsize=2)
def _cached(dataset: str, split: str, scaling: str | None, fold: int, seed: int) -> Split:
    spec, how = json.loads(dataset), json.loads(split)
    train, test = _load(dataset, seed)
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
    scaler = scaling or (catalog.load_card(spec["name"]).preparation.scale if spec.get("name") else "none")
    return splitting.scale_split(parts, scaler)


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
    for key in ("file", "test"):
        if key in spec and not Path(spec[key]).is_file():
            raise InputError(f"{spec[key]}: no such file; check the name")
    train = formats.load_dataset(spec["file"], label=spec.get("label"))
    if "test" not in spec:
        return train, None
    test = formats.load_dataset(spec["test"], label=spec.get("label"), n_features=None)
    return _same_width(train, test)


def _same_width(train: Dataset, test: Dataset) -> tuple[Dataset, Dataset]:
    """LIBSVM text leaves out columns that are zero in the last rows of a file."""
    width = max(train.n_features, test.n_features)
    if train.is_table or test.is_table or train.n_features == test.n_features:
        return train, test
    return tuple(replace(part, X=catalog.widened(part.X, width)) for part in (train, test))


def _some(data: Dataset, rows: int | None, seed: int) -> Dataset:
    """A random part of this many rows, in file order."""
    if rows is None or rows >= data.n_rows:
        return data
    chosen = np.random.default_rng(seed).choice(data.n_rows, rows, replace=False)
    return splitting.take(data, np.sort(chosen))
