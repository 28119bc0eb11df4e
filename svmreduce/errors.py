"""Errors that the user can fix: one line, no traceback, exit code 2."""

from __future__ import annotations

import difflib
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping

from svmreduce.printable import listed


class InputError(ValueError):
    """Bad input: the message says what is wrong, where, and what to do about it."""


class TooLarge(InputError):
    """Numbers whose squares or products are beyond the largest double."""


class DataMissing(InputError):
    """A data set of the catalogue is neither on this machine nor available for download."""


class DataWarning(UserWarning):
    """Rows can be used, but the result may not be what was meant.

    Parameters
    ----------
    text : str
    counts : dict of str to int, optional
        How many rows it is about, by column or under an empty name; those of the pieces of a file add up.
    rows : int, optional
        Of how many.
    whole : object, optional
        The same for pieces that are counted together: once through a file.
    """

    def __init__(self, text: str, counts: Mapping[str, int] | None = None, rows: int = 0, whole: object = None):
        super().__init__(text)
        self.text, self.counts, self.rows, self.whole = text, Counter(counts), rows, whole

    def __str__(self) -> str:
        if not self.counts:
            return self.text
        counts = listed(f"{name} ({count})" if name else count for name, count in self.counts.items())
        return f"{self.text}: {counts}" + (f" of {self.rows} rows" if self.rows else "")


class DataNote(DataWarning):
    """How rows were understood where there was a choice."""


def note(text: str, *about: object) -> None:
    """Tell how rows were understood, as a warning of whoever called the caller."""
    warnings.warn(DataNote(text, *about), stacklevel=3)


def nearest_name_error(kind: str, given: str, known: Iterable[str]) -> InputError:
    """The one message for every unknown name, wherever it was typed."""
    known = sorted(known)
    close = difflib.get_close_matches(given, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return InputError(f"unknown {kind} {given!r}: {hint}known are {', '.join(known) or 'none'}")
