"""Errors that the user can fix: one line, no traceback, exit code 2."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable


class InputError(ValueError):
    """Bad input: the message says what is wrong, where, and what to do about it."""


class DataMissing(InputError):
    """A data set of the catalogue is neither on this machine nor available for download."""


class DataWarning(UserWarning):
    """Rows can be used, but the result may not be what was meant."""


class DataNote(DataWarning):
    """How rows were understood where there was a choice."""


def note(text: str) -> None:
    """Tell how rows were understood, as a warning of whoever called the caller."""
    warnings.warn(text, DataNote, stacklevel=3)


def nearest_name_error(kind: str, given: str, known: Iterable[str]) -> InputError:
    """The one message for every unknown name, wherever it was typed."""
    known = sorted(known)
    close = difflib.get_close_matches(given, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return InputError(f"unknown {kind} {given!r}: {hint}known are {', '.join(known) or 'none'}")
