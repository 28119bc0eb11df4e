"""Folders outside of the package in which it keeps files, and the folder that Python imports from last."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_home() -> Path:
    """Where compiled code and parsed files are kept: ``SVMREDUCE_CACHE``, else the user's cache folder."""
    given = os.environ.get("SVMREDUCE_CACHE")
    if given:
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "svmreduce"


def import_from_here_last() -> None:
    """Let methods of one's own (``module:Class``) lie in the current folder, but never take the place of a package.

    First on the path, a file ``tqdm.py`` next to a config would be run instead of the package of that name.
    """
    here = os.getcwd()
    sys.path[:] = [entry for entry in sys.path if entry not in ("", here)] + [here]
