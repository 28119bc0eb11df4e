"""Shared fixtures: where the real data files are, if they are here at all. And compiling once for all processes."""

import os

# LIBSVM's threads sleep between their turns. Where OpenMP is loaded before it they spin, which takes most of the time.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# OpenBLAS's threads cannot sleep so: with a test on every core they spin for ten times the work. Before NumPy loads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import signal
import zlib
from contextlib import contextmanager
from pathlib import Path

import pytest
from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from svmreduce.core import jit

# Tests that press Ctrl-C need it in the background, too, where shells have it ignored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    if hasattr(config, "workerinput") and jit.fcntl:
        _compile_once()


def _compile_once() -> None:
    """What one of xdist's processes compiles the others wait for, and load: most of a first run is compilation.

    Callers wait for what they call, never the other way round, so nothing waits in a circle; inside of a process the
    compiler's own lock comes first.
    """
    os.makedirs(jit._CACHE_DIR, exist_ok=True)
    locks = open(os.path.join(jit._CACHE_DIR, "compiling"), "w")  # noqa: SIM115 – a byte per signature; open to the end
    compile_here = Dispatcher.compile

    @contextmanager
    def alone(byte):
        jit.fcntl.lockf(locks, jit.fcntl.LOCK_EX, 1, byte)
        try:
            yield
        finally:
            jit.fcntl.lockf(locks, jit.fcntl.LOCK_UN, 1, byte)

    def compile_or_wait(dispatcher, signature):
        if isinstance(dispatcher._cache, NullCache):
            return compile_here(dispatcher, signature)
        name = f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}{signature}"
        with global_compiler_lock, alone(zlib.crc32(name.encode())):
            return compile_here(dispatcher, signature)

    Dispatcher.compile = compile_or_wait


def mirror_folder() -> Path | None:
    given = os.environ.get("SVMREDUCE_MIRROR")
    return Path(given) if given and Path(given).is_dir() else None


@pytest.fixture
def real_file():
    """``real_file("ijcnn1")`` gives the path of that file in the mirror, or skips with the reason."""

    def find(name: str) -> Path:
        folder = mirror_folder()
        if folder is None:
            pytest.skip("SVMREDUCE_MIRROR names no folder with the real data files")
        for suffix in ("", ".xz", ".gz", ".bz2"):
            path = folder / (name + suffix)
            if path.exists():
                return path
        pytest.skip(f"the mirror has no file {name}")

    return find
