"""Bytes in and out of files, plain or compressed, with every failure reported in one line.

Compression is recognised by a file's first bytes, so a renamed archive still opens. A file whose *name* says
archive but whose content does not is an error, not text.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import lzma
import os
import signal
import threading
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from svmreduce.data import cache
from svmreduce.errors import InputError
from svmreduce.memory import check_memory

_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz"}
MOST_UNPACKED = 500  # times its size; text of real data packs to a hundredth at best
_NO_BOMB = 64 << 20  # bytes that are unpacked without a question
_AT_ONCE = 4 << 20
_BROKEN = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)


@contextlib.contextmanager
def open_maybe_compressed(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Open a plain, .gz, .bz2 or .xz file for reading its uncompressed bytes."""
    path = Path(path)
    try:
        if path.is_dir():
            raise InputError(f"{path}: is a folder; name a file in it")
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: is not a regular file; save its content to one first")
        with open(path, "rb") as plain:
            start = plain.read(6)
        kind = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), path.suffix)
        with _OPENERS.get(kind, open)(path, "rb") as stream:
            yield _Guarded(stream, path) if kind in _OPENERS else stream
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the name") from None
    except _BROKEN as error:
        raise InputError(f"{path}: damaged or truncated archive ({error}); get the file again") from None
    except OSError as error:
        # bz2 reports damaged data as an OSError without a number
        if error.errno is None:
            raise InputError(f"{path}: damaged or truncated archive ({error}); get the file again") from None
        raise InputError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None


class _Guarded:
    """A compressed file that is read as far as it is reasonable: a bomb is refused before it fills the memory."""

    def __init__(self, stream: BinaryIO, path: Path):
        self._stream, self._path, self._seen = stream, path, 0
        self._size = path.stat().st_size

    def readline(self, most: int = -1) -> bytes:
        return self._counted(self._stream.readline(most))

    def read(self, most: int = -1) -> bytes:
        if most >= 0:  # what was read before need not stay in memory
            return self._counted(self._stream.read(most), stays=False)
        return b"".join(iter(lambda: self._counted(self._stream.read(_AT_ONCE)), b""))

    def _counted(self, part: bytes, stays: bool = True) -> bytes:
        before, self._seen = self._seen, self._seen + len(part)
        if self._seen > max(_NO_BOMB, MOST_UNPACKED * self._size):
            raise InputError(
                f"{self._path}: unpacks to more than {MOST_UNPACKED} times its {self._size} bytes, which is no data; "
                "unpack it yourself if it is"
            )
        if stays and before // _NO_BOMB < self._seen // _NO_BOMB:
            what = f"{self._path}: the {self._seen >> 20} MB unpacked so far"
            check_memory(self._seen, what, "give a smaller file")  # once more, to be joined
        return part


def read_bytes(path: str | os.PathLike) -> bytes:
    """The whole uncompressed content of a plain, .gz, .bz2 or .xz file."""
    with open_maybe_compressed(path) as stream:
        if not isinstance(stream, _Guarded):
            check_memory(Path(path).stat().st_size, f"{path}: its bytes", "give a smaller file")
        return stream.read()


@contextlib.contextmanager
def write_whole(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Write a file that appears under its name only when it is complete; compressed by its suffix.

    A link stays a link: the file it leads to is written. A pipe or a device is written to as it is.
    """
    with _ended_as_by_ctrl_c(), _written_whole(Path(path)) as stream:
        yield stream


@contextlib.contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """SIGTERM, and a terminal that is closed, end the block by KeyboardInterrupt, so that it can clean up."""
    known = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    is_main = threading.current_thread() is threading.main_thread()  # no other thread may handle signals
    taken = [number for number in known if is_main and signal.getsignal(number) == signal.SIG_DFL]
    for number in taken:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def _written_whole(path: Path) -> Iterator[BinaryIO]:
    unfinished = None
    try:
        target = place = path
        if not is_special(path):
            place = Path(os.path.realpath(path))
            target = unfinished = place.with_name(f".{place.name}.{os.getpid()}.tmp")
        with contextlib.ExitStack() as closing:
            plain = closing.enter_context(open(target, "wb"))
            stream: BinaryIO = plain
            if path.suffix == ".gz":  # no time and no name inside: same rows, same bytes
                stream = closing.enter_context(gzip.GzipFile("", "wb", 6, plain, mtime=0))
            elif path.suffix in _OPENERS:
                stream = closing.enter_context(_OPENERS[path.suffix](plain, "wb"))
            yield stream
        if unfinished:
            os.replace(unfinished, place)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); check folder and space") from None
    finally:
        if unfinished:
            unfinished.unlink(missing_ok=True)


def is_special(path: str | os.PathLike) -> bool:
    """Whether the path is something that a new file must not replace: a pipe, a device, a folder."""
    return Path(path).exists() and not Path(path).is_file()


class Source:
    """A file whose bytes are read only when someone asks for them, and then once.

    The content's hash is asked for first; for an unchanged file it is remembered from the last time, so
    that a file whose parsed rows are cached is neither unpacked nor hashed again.
    """

    lines_before = 0  # a piece of a file has some

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        self._identity = cache.identity(self.path)  # taken before any byte is read

    @cached_property
    def data(self) -> bytes:
        return read_bytes(self.path)

    @cached_property
    def sha256(self) -> str:
        """Hash of the uncompressed content."""
        known = cache.known_hash(self.path)
        if known:
            return known
        digest = hashlib.sha256(self.data).hexdigest()
        if len(self.data) >= cache.WORTH_KEEPING:
            cache.remember_hash(self.path, self._identity, digest)
        return digest
