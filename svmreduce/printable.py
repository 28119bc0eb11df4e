"""Text of others (names, reasons, file content) made safe to show: it may not steer a terminal, a page or a table.

And seconds in the unit that a reader would choose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Control characters, half letters, and the marks that make text run the other way. Line ends and tabs stay.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object) -> str:
    """The text with a replacement sign for every character that steers instead of showing something."""
    return _STEERING.sub("\ufffd", str(text))


def one_line(text: object) -> str:
    """Printable, and on one line."""
    return printable(" ".join(str(text).split()))


def listed(words: Iterable[object], most: int = 8) -> str:
    """The first of them, and how many more there are; one with a comma in double quotes."""
    words = [quoted(str(word), ",") for word in words]
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def quoted(word: str, separators: str) -> str:
    """In double quotes, as in CSV files, if it would not be one word otherwise."""
    return '"' + word.replace('"', '""') + '"' if set(word) & {'"', *separators} else word


def count_of(number: int, one: str, many: str = "") -> str:
    """``1 cell``, ``1,200 cells``"""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """Three digits, as milliseconds, seconds, minutes or hours."""
    if seconds >= 120:
        return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
    return f"{seconds:.3g} s" if seconds >= 0.1 else f"{1000 * seconds:.3g} ms"


def roughly(seconds: float) -> str:
    """For a time that is only expected: whole minutes and hours."""
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 1 else f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} hours"
