"""Folders outside of the package in which it keeps files."""

from __future__ import annotations

import os
from pathlib import Path


def cache_home() -> Path:
    """Where compiled code and parsed files are kept: ``SVMREDUCE_CACHE``, else the user's cache folder."""
    given = os.environ.get("SVMREDUCE_CACHE")
    if given:
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "svmreduce"
