"""From a name to verified rows: the card's file, read, checked, prepared.

A wrong checksum can be accepted on request, because public copies differ in line ends; a wrong shape or
wrong label counts never are.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from svmreduce.data import card_steps, formats
from svmreduce.data.cards import Card, Download, Expected, FileCard, all_cards
from svmreduce.data.fetching import content_hash, obtain, obtain_file
from svmreduce.data.scaling import Scaler
from svmreduce.errors import InputError, nearest_name_error
from svmreduce.label_keys import count_labels
from svmreduce.rows import widened
from svmreduce.types import Dataset, Matrix


def names() -> list[str]:
    """Every data set that has a card, without variants."""
    return sorted(all_cards())


def load_card(name: str) -> Card:
    """The card of ``name`` or ``name:variant``; an unknown name lists the known ones and the nearest."""
    plain, _, variant = name.partition(":")
    cards = all_cards()
    aliases = {alias: card.name for card in cards.values() for alias in card.aliases}
    plain = aliases.get(plain, plain)
    if plain not in cards:
        raise nearest_name_error("data set", plain, cards)
    card = cards[plain]
    if not variant:
        return card
    if variant not in card.variants:
        raise nearest_name_error(f"variant of {plain}", variant, card.variants)
    return card.model_copy(update={"variant": variant})


def parse_name(text: str) -> tuple[str, str | None]:
    """``name[:variant][:split]`` as the name with its variant, and the split if one is given.

    A word after the colon that is both a split and a variant cannot occur; cards are checked for it.
    """
    plain, *words = text.split(":")
    card = load_card(plain)
    split = words.pop() if words and words[-1] in card.splits else None
    if len(words) > 1 or any(word not in card.variants for word in words):
        raise nearest_name_error(f"split or variant of {plain}", ":".join(words), {*card.splits, *card.variants})
    return ":".join([plain, *words]), split


def load(name: str, split: str | None = None, *, trust: bool = False, scaled: bool = True) -> Dataset:
    """Verified, prepared rows.

    Parameters
    ----------
    name : str
        ``ijcnn1``, or with one of the card's variants ``covertype:2-vs-rest``.
    split : str, optional
        ``train``, ``test``, ``all``, …; the card's first split when not given.
    trust : bool, default=False
        Accept a file whose checksum is not the card's, and remember it as accepted.
    scaled : bool, default=True
        Apply the variant's scaling, learned on its ``train`` split if it has one, else on the rows
        themselves. To make folds, pass False and scale inside each fold.
    """
    card = load_card(name)
    split, _ = card.split(split)
    rows = _prepared(card, split, trust)
    if scaled and card.preparation.scale != "none":
        learn_from = "train" if "train" in card.splits else split
        teacher = rows if learn_from == split else _prepared(card, learn_from, trust)
        scaler = Scaler(card.preparation.scale).fit(teacher.X)
        rows = replace(rows, X=scaler.transform(rows.X))
    return rows


def _prepared(card: Card, split: str, trust: bool) -> Dataset:
    """A split after every step of the preparation but the scaling."""
    X, y, sha256 = _raw(card, split, trust)
    steps = card.preparation
    if steps.distinct_rows:
        first = card_steps.first_of_equal_rows(X)
        X, y = X[first], y[first]
    if steps.keep:
        kept = card_steps.rows_labelled(y, steps.keep)
        X, y = X[kept], y[kept]
    if steps.positive:
        y = card_steps.one_against_rest(y, steps.positive)
    elif steps.labels or card.labels:
        y = card_steps.map_labels(y, steps.labels or card.labels)
    elif y.dtype.kind not in "fiu":
        raise InputError(f"{card.name}: labels such as {y[0]!r} are text: map them to numbers under 'labels'")
    if steps.drop_columns:
        X = card_steps.without_columns(X, steps.drop_columns)
    if steps.shifts:
        X = card_steps.shifted_images(X, steps.shifts.pixels, steps.shifts.background)
        y = np.tile(y, X.shape[0] // y.size)
    if steps.divide:
        X = X / steps.divide
    y = np.ascontiguousarray(y, dtype=np.float64)
    expected = card.splits[split].prepared.get(card.variant or "", Expected())
    _check(f"{card.full_name} {split}", expected, y)
    return Dataset(X, y, f"{card.full_name}/{split}", card.task, sha256)


def _raw(card: Card, split: str, trust: bool) -> tuple[Matrix, np.ndarray, str | None]:
    """A split as its file has it, checked against the card."""
    part = card.splits[split]
    if part.part_of:
        X, y, sha256 = _raw(card, part.part_of, trust)
        rows = slice(*part.slice)
        X, y = X[rows], y[rows]
        where = f"{card.name} {split} (rows {part.slice[0]} to {part.slice[1]} of {part.part_of})"
    else:
        path, file = obtain(card, part, trust)
        X, y = _read(card, split, path, file, trust)
        sha256 = content_hash(path)
        where = f"{card.name} {split} ({path})"
        columns = part.columns or card.features
        if X.shape[1] != columns and card.preparation.categorical == "codes":
            raise InputError(f"{where}: {X.shape[1]} columns, but the card says {columns}: this is a different file")
        X = widened(X, card.features)
    _check(where, part, y, part.classes or (card.classes if part.file else None))
    return X, y, sha256


def _read(card: Card, split: str, path: Path, file: FileCard, trust: bool) -> tuple[Matrix, np.ndarray]:
    if card.format == "libsvm":
        rows = formats.load_dataset(path, task=card.task)
        X, y = rows.X, rows.y
    elif card.format == "idx":
        label_file = card.splits[split].label_file
        y = formats.read_idx(obtain_file(card, [label_file], trust)[0]).astype(np.float64)
        images = formats.read_idx(path)
        X = sparse.csr_matrix(images.reshape(len(images), -1), dtype=np.float64)
    else:
        X, y = _read_table(card, split, path, file, trust)
    if isinstance(file, Download) and file.labels:
        y = card_steps.map_labels(y, file.labels)
    return X, y


def _read_table(card: Card, split: str, path: Path, file: FileCard, trust: bool) -> tuple[Matrix, np.ndarray]:
    reader = (isinstance(file, Download) and file.reader) or card.reader
    options = reader.model_dump(exclude={"shared_categories"})
    how = card.preparation.categorical
    if not reader.shared_categories:
        return formats.read_table(path, categorical=how, **options)
    # a category that only one file has must get its code in all, so all files are read
    parts = [name for name, part in card.splits.items() if part.file]
    paths = [path if name == split else obtain(card, card.splits[name], trust)[0] for name in parts]
    X, y = formats.read_tables(paths, categorical=how, **options)[parts.index(split)]
    return (sparse.csr_matrix(X) if how == "onehot" else X), y  # one-hot columns are mostly zeros


def _check(where: str, expected: Expected, y: np.ndarray, classes: int | None = None) -> None:
    """Rows and labels must be those of the card; a difference is always an error."""
    if expected.rows is not None and len(y) != expected.rows:
        raise InputError(f"{where}: {len(y)} rows, but the card says {expected.rows}: this is a different file")
    if expected.label_counts is not None:
        found = count_labels(y)
        wrong = sorted(
            label
            for label in found.keys() | expected.label_counts.keys()
            if found.get(label, 0) != expected.label_counts.get(label, 0)
        )
        if wrong:
            raise InputError(
                f"{where}: {found.get(wrong[0], 0)} rows of class {wrong[0]}, "
                f"but the card says {expected.label_counts.get(wrong[0], 0)}: this is a different file"
            )
    elif classes is not None and len(np.unique(y)) != classes:
        raise InputError(f"{where}: {len(np.unique(y))} classes, but the card says {classes}: this is a different file")
