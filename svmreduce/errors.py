"""Errors that are the user's to mend: one line, no traceback, exit code 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Bad input: the message says what is wrong, where, and what to do about it."""


class DataMissing(InputError):
    """A data set of the catalogue is neither here nor to be had."""


def nearest_name_error(kind: str, given: str, known: Iterable[str]) -> InputError:
    """The one sentence every unknown name gets, wherever it was typed."""
    known = sorted(known)
    close = difflib.get_close_matches(given, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return InputError(f"unknown {kind} {given!r}: {hint}known are {', '.join(known) or 'none'}")
