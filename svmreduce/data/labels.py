"""Labels: out of a table, one class against the rest, and those of a file next to those of a model."""

from __future__ import annotations

import warnings

import numpy as np

from svmreduce.data.column_kinds import EMPTY, EXACT, WORDS, kind_of, numbers_of
from svmreduce.data.columns import Table
from svmreduce.errors import DataWarning, InputError, note
from svmreduce.label_keys import label_key
from svmreduce.printable import listed

_MANY_CLASSES, _ROWS_PER_CLASS = 30, 10


def labels_of(table: Table, place: int, strip: str = "") -> np.ndarray:
    """The labels of all rows, as numbers or as words; a row without one is an error."""
    kind = kind_of(table, place, is_label=True)
    if kind == WORDS:
        codes, words = table.as_words(place)
        gaps = np.flatnonzero(codes < 0)
    else:
        values, gaps = numbers_of(table, place)
    if len(gaps):
        raise InputError(
            f"{table.place(int(gaps[0]), place)}: no label in column {table.title(place)}; "
            f"rows without one{' in this block' * table.is_part}: {len(gaps)}; leave them out"
        )
    if kind != WORDS:
        return values.copy()
    return np.array([word.rstrip(strip) if strip else word for word in words])[codes]


def has_labels(table: Table, place: int) -> bool:
    """False for a column that is there but empty."""
    return kind_of(table, place, is_label=True) != EMPTY


def task_of(y: np.ndarray) -> str:
    """Numbers that are not whole are targets of a regression."""
    return "classification" if y.dtype.kind != "f" or bool((y == np.trunc(y)).all()) else "regression"


def check_exact(y: np.ndarray, name: str) -> None:
    """Refuse whole numbers so large that two classes may have become one."""
    large = np.abs(y) >= EXACT if y.dtype.kind in "fiu" else np.zeros(1, bool)
    if large.any():
        raise InputError(f"{name}: labels beyond 2⁵³, such as {y[large.argmax()]:.0f}, are not read exactly; write the "
                         "classes as words")  # fmt: skip


def check_several(name: str, y: np.ndarray) -> None:
    """Refuse rows of which a classifier can learn nothing."""
    if len(y) == 1:
        raise InputError(f"{name}: there is one row only; if it names the columns, there is no data")
    if (y == y[0]).all():
        raise InputError(f"{name}: all rows are of one class, {label_key(y[0])}; there is nothing to learn")


def check_classes(name: str, y: np.ndarray, advice: str = "") -> None:
    """Refuse labels that are numbers to be estimated, or names of rows, rather than classes; warn of lonely rows."""
    check_exact(y, name)
    labels, firsts, counts = np.unique(y, return_index=True, return_counts=True)
    classes = len(labels)
    if classes > _MANY_CLASSES and len(y) < _ROWS_PER_CLASS * classes:
        if y.dtype.kind in "fiu":
            what, instead = "numbers, as of a regression", f"{advice}; if they are classes, write them as words"
        else:
            what, instead = "words, as names of rows", "; choose the label by --label"
        raise InputError(f"{name}: {classes} different labels in {len(y)} rows are {what}, not classes{instead}")
    if classes > _MANY_CLASSES and y.dtype.kind in "fiu":
        warnings.warn(f"{name}: {classes} different numbers as labels are taken as classes{advice}",
                      DataWarning, stacklevel=2)  # fmt: skip
    _warn_of_spellings(name, [label_key(label) for label in labels])
    alone = [label_key(label) for label in labels[counts == 1]]
    if alone and classes > 2:
        header = "; if line 1 is a header, use --header" if 0 in firsts[counts == 1] else ""
        warnings.warn(f"{name}: only one row each has the labels {listed(alone)}; nothing is learned of them{header}",
                      DataWarning, stacklevel=2)  # fmt: skip


def _warn_of_spellings(name: str, keys: list[str]) -> None:
    """No and no are two classes, which is seldom meant."""
    spellings: dict[str, list[str]] = {}
    for key in keys:
        spellings.setdefault(key.casefold().strip(), []).append(key)
    alike = [" and ".join(same) for same in spellings.values() if len(same) > 1]
    if alike:
        warnings.warn(f"{name}: labels that differ only in capitals are different classes: {listed(alike)}; write them "
                      "in the same way", DataWarning, stacklevel=3)  # fmt: skip


def one_class_first(y: np.ndarray, positive: str, name: str) -> tuple[np.ndarray, list[str]]:
    """Two classes as they are; more classes as ``positive`` against ``not_positive``, and which those others are."""
    classes, inverse = np.unique(y, return_inverse=True)
    keys = [label_key(label) for label in classes]
    if positive not in keys:
        raise InputError(f"{name}: no row has the label {positive!r} of --positive; labels are {listed(keys)}")
    if len(classes) <= 2:
        return y, []
    others = [key for key in keys if key != positive]
    return np.array([positive if key == positive else f"not_{positive}" for key in keys])[inverse], others


def matched_labels(
    y: np.ndarray,
    known: np.ndarray | None,
    name: str,
    renamed: dict[str, str] | None = None,
    counts: np.ndarray | None = None,
) -> np.ndarray:
    """The labels of a file in the words of the model; a file without any label of the model is refused.

    Parameters
    ----------
    y : array
    known : array or None
        The labels of the model; None for a regression.
    name : str
        What messages call the file.
    renamed : dict, optional
        Labels of the training file that became one, and its name; labels that training did not see become it, too.
    counts : array, optional
        How many rows have each of ``y``, where they are different labels instead of those of all rows.
    """
    if known is None:
        if y.dtype.kind not in "fiu":
            raise InputError(f"{name}: the labels are words, but the model predicts numbers; choose them by --label, "
                             "or use --no-label")  # fmt: skip
        return y
    labels, inverse = np.unique(y, return_inverse=True)
    keys = [label_key(label) for label in labels]
    own = {label_key(label): label for label in known.tolist()}
    keys = _booleans(_zero_for_minus_one(keys, own, name), own, name)
    keys = [(renamed or {}).get(key, key) for key in keys]
    strange = [key for key in keys if key not in own]
    if strange and len(strange) == len(keys):
        raise InputError(
            f"{name}: the labels are {listed(keys)}, but the model knows {listed(own)}; choose the label by --label, "
            "write them in the same way, or use --no-label"
        )
    if strange:
        counts = np.ones(len(y), np.int64) if counts is None else counts
        rows = int(counts[np.isin(inverse, [k for k, key in enumerate(keys) if key in strange])].sum())
        rest = next(iter((renamed or {}).values()), None)
        count = f"count as {rest!r}" if rest else "count as errors"
        warnings.warn(
            f"{name}: {rows} of {counts.sum()} rows have labels that the model does not know, and {count}: "
            f"{listed(strange)}",
            DataWarning,
            stacklevel=2,
        )
        keys = [rest if rest and key in strange else key for key in keys]
    if known.dtype.kind == "U":
        return np.array([own.get(key, key) for key in keys])[inverse]
    values = [own.get(key, label) for key, label in zip(keys, labels.tolist(), strict=True)]
    return np.array(values)[inverse]


def _zero_for_minus_one(keys: list[str], own: dict, name: str) -> list[str]:
    for here, there in (("0", "-1"), ("-1", "0")):
        if sorted(keys) == sorted((here, "1")) and own.keys() == {there, "1"}:
            note(f"{name}: label {here} is taken for the model's {there}")
            return [there if key == here else key for key in keys]
    return keys


def _booleans(keys: list[str], own: dict, name: str) -> list[str]:
    """Text has True and False, or true and FALSE, where Parquet files and arrays have 1 and 0."""
    number = {"true": "1", "false": "-1" if "-1" in own else "0"}
    spelt = {number.get(key.casefold(), key): key for key in own}
    found = [spelt.get(number.get(key.casefold(), key), "") for key in keys]
    if "" in found or own.keys() >= set(keys) or not spelt.keys() <= {"-1", "0", "1"}:
        return keys
    note(f"{name}: labels {listed(keys)} are taken for the model's {listed(found)}")
    return found
