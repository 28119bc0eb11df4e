"""Labels and other words in one spelling, whether a file, a card or a model wrote them."""

from __future__ import annotations

import re
import unicodedata

import numpy as np

_UNSEEN = re.compile("[\u200b\u2060\ufeff]")  # characters without any width
_BLANK = re.compile(r"[^\S\t\n\r]")


def one_spelling(word: str) -> str:
    """What looks the same is the same word: letters with their accents as one character, every blank a plain one."""
    if word.isascii():
        return word.strip()
    return _BLANK.sub(" ", _UNSEEN.sub("", unicodedata.normalize("NFC", word))).strip()


def label_key(label) -> str:
    """One spelling per label: whole numbers without a point (``1.0`` → ``1``), words in :func:`one_spelling`."""
    try:
        number = float(label)
    except (TypeError, ValueError):
        return one_spelling(str(label))
    return str(int(number)) if number.is_integer() else repr(number)


def count_labels(y: np.ndarray) -> dict[str, int]:
    """How many rows each label has, numbers in order, then names in order."""
    labels, counts = np.unique(y, return_counts=True)
    return {label_key(label): int(count) for label, count in zip(labels, counts, strict=True)}
