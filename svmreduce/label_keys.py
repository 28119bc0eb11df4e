"""Labels in one spelling, whether a file, a card or a model wrote them."""

from __future__ import annotations

import numpy as np


def label_key(label) -> str:
    """One spelling per label: whole numbers without a point (``1.0`` → ``1``), text as it is."""
    try:
        number = float(label)
    except (TypeError, ValueError):
        return str(label)
    return str(int(number)) if number.is_integer() else repr(number)


def count_labels(y: np.ndarray) -> dict[str, int]:
    """How many rows each label has, numbers in order, then names in order."""
    labels, counts = np.unique(y, return_counts=True)
    return {label_key(label): int(count) for label, count in zip(labels, counts, strict=True)}
