"""Parsed files kept on disk, so that the second load of a file costs no parsing.

An entry is a folder of plain ``.npy`` files named by the hash of the text it came from and of everything
that decides how it is read. Entries appear whole (written aside, then renamed) and are only ever a
convenience: a damaged one is dropped and built again, and without a writable folder nothing is cached.
The folder stays below ``SVMREDUCE_CACHE_MB`` (4096): entries unused for longest go first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from svmreduce.paths import cache_home

WORTH_KEEPING = 1 << 20  # bytes of text; less than that is parsed faster than looked up
_FORMAT = "4"  # raise when the parsers give another result for the same text

Arrays = dict[str, np.ndarray]


def _folder() -> Path:
    return cache_home() / "parsed"


def _limit_bytes() -> int:
    given = os.environ.get("SVMREDUCE_CACHE_MB", "")
    return (int(given) if given.isdigit() else 4096) << 20


def key_of(kind: str, hashes: list[str]) -> str:
    """Name of the entry for these contents read in this way."""
    return hashlib.sha256("\n".join([_FORMAT, kind, *hashes]).encode()).hexdigest()


def load(key: str, is_whole: Callable[[Arrays], bool]) -> Arrays | None:
    """The entry's arrays; None when there is none, or only a damaged one, which is dropped."""
    entry = _folder() / key
    if not entry.is_dir():
        return None
    try:
        arrays = {path.stem: np.load(path, allow_pickle=False) for path in entry.glob("*.npy")}
        if is_whole(arrays):
            with contextlib.suppress(OSError):
                os.utime(entry)  # used now, so not among the first to be dropped
            return arrays
    except Exception:  # a damaged file can raise anything; the remedy is the same
        pass
    shutil.rmtree(entry, ignore_errors=True)
    return None


def store(key: str, arrays: Arrays) -> None:
    """Keep the arrays under that name if there is room and the folder can be written."""
    size = sum(array.nbytes for array in arrays.values())
    if size > _limit_bytes():
        return
    unfinished = None
    try:
        _folder().mkdir(parents=True, exist_ok=True)
        _make_room(size)
        unfinished = Path(tempfile.mkdtemp(prefix=".new-", dir=_folder()))
        for name, array in arrays.items():
            np.save(unfinished / f"{name}.npy", array, allow_pickle=False)
        os.rename(unfinished, _folder() / key)
    except OSError:  # disk full, not writable, or another process was first
        if unfinished is not None:
            shutil.rmtree(unfinished, ignore_errors=True)


def _make_room(needed: int) -> None:
    """Drop the entries unused for longest, and leftovers of processes that died, until all fits."""
    entries = []
    for entry in _folder().iterdir():
        with contextlib.suppress(OSError):
            age = time.time() - entry.stat().st_mtime
            if entry.name.startswith(".new-") and age > 3600:
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.is_dir() and not entry.name.startswith("."):
                entries.append((age, sum(path.stat().st_size for path in entry.iterdir()), entry))
    total = needed + sum(size for _, size, _ in entries)
    for _, size, entry in sorted(entries, reverse=True):
        if total <= _limit_bytes():
            break
        shutil.rmtree(entry, ignore_errors=True)
        total -= size


def _note(path: Path) -> Path:
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()
    return _folder() / ".hashes" / f"{name}.json"


def identity(path: Path) -> list[int] | None:
    """What changes when a regular file changes; None while it is too young for that to be sure."""
    try:
        status = path.stat()
    except OSError:
        return None
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    if not stat.S_ISREG(status.st_mode) or time.time_ns() - changed < 2_000_000_000:
        return None
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def known_hash(path: Path) -> str | None:
    """The content hash stored for this file, if it has not changed since."""
    try:
        note = json.loads(_note(path).read_text())
        return note["sha256"] if note["identity"] == identity(path) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember_hash(path: Path, seen: list[int] | None, sha256: str) -> None:
    """Store the content hash of a file, unless it changed since its identity was ``seen``."""
    if seen is None or seen != identity(path):
        return
    with contextlib.suppress(OSError):
        note = _note(path)
        note.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=note.parent, delete=False) as unfinished:
            json.dump({"identity": seen, "sha256": sha256}, unfinished)
        os.replace(unfinished.name, note)
