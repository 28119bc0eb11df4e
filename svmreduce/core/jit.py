"""One way to compile.

Numba's disk cache does not notice an edit in *another* file, so a changed helper would keep its old
values through a cached caller. The cache folder is therefore named by a hash of every file in core. Their place and
time are in the hash, too: numba compiles anew for a copy elsewhere, and a mark of compiled code must not say otherwise.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter

import numba
import numpy as np
from llvmlite import binding
from numba.core import config, event
from numba.core.caching import NullCache
from numba.core.options import DefaultOptions

from svmreduce.paths import cache_home

try:
    import fcntl
except ImportError:  # not available on Windows
    fcntl = None


def _source_hash(folder: Path) -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(folder.glob("*.py")):
        digest.update(f"{path} {path.stat().st_mtime_ns}".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


_CACHE_DIR = str(cache_home() / f"numba-{_source_hash(Path(__file__).parent)}")


def njit(*, fastmath: bool | set = False, allocates: bool = True, **options):
    """``numba.njit`` with our disk cache, without the GIL, and with NumPy's division.

    (Python's division can raise, and a branch that can raise is never vectorised.) A function that does not allocate
    need not count references to its arrays either, which costs a few percent in loops over short rows.
    """
    if not allocates and hasattr(DefaultOptions, "_nrt"):
        options["_nrt"] = False

    def decorate(function):
        # numba reads its cache folder at decoration; put it back so that other packages keep theirs
        before, config.CACHE_DIR = config.CACHE_DIR, _CACHE_DIR
        try:
            compiled = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=fastmath, **options)(function)
        finally:
            config.CACHE_DIR = before
        _save_one_at_a_time(compiled)
        _time_loading(compiled)
        return compiled

    return decorate


@contextmanager
def compiling_calls(notice: Callable[[], object]):
    """Call ``notice`` once if anything is compiled in the block, and kept for the next time; loading does not count."""

    class Once(event.Listener):
        noticed = False

        def on_start(self, event):
            is_kept = not isinstance(event.data["dispatcher"]._cache, NullCache)
            if is_kept and not self.noticed:
                self.noticed = True
                notice()

        def on_end(self, event):
            pass

    with event.install_listener("numba:compile", Once()):
        yield


def _save_one_at_a_time(compiled) -> None:
    """Two processes that save two signatures of one function at once may give both the same file: they take turns."""
    save = compiled._cache.save_overload

    def locked(*arguments):
        os.makedirs(_CACHE_DIR, exist_ok=True)
        with open(os.path.join(_CACHE_DIR, "lock"), "w") as lock:
            if fcntl:
                fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed
            save(*arguments)

    compiled._cache.save_overload = locked


_LOADING = [0.0]


def loading_seconds() -> float:
    """Seconds this process has spent on loading compiled code from the disk: no part of any method's work."""
    return _LOADING[0]


def _time_loading(compiled) -> None:
    load = compiled._cache.load_overload

    def timed(*arguments):
        start = perf_counter()
        try:
            return load(*arguments)
        finally:
            _LOADING[0] += perf_counter() - start

    compiled._cache.load_overload = timed


def _mark_of(name: str) -> Path:
    """A file that says: what this method needs was compiled on this machine's kind of processor."""
    return Path(_CACHE_DIR, f"compiled-{name}-{binding.get_host_cpu_name()}")


def is_compiled(name: str) -> bool:
    return _mark_of(name).exists()


def mark_compiled(name: str) -> None:
    with suppress(OSError):  # a cache that cannot be written is none
        _mark_of(name).touch()


@njit()
def take(values, rows):
    """``values[rows]``. Loops are spelled out in core: numba's indexing and slicing of whole arrays costs
    seconds of compilation each time it is used."""
    out = np.empty(rows.size, values.dtype)
    for i in range(rows.size):
        out[i] = values[rows[i]]
    return out
