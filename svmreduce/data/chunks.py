"""Text cut at line ends, so that several threads can parse it, with errors located by line and column."""

from __future__ import annotations

import re
from typing import NoReturn

import numpy as np

from svmreduce.core.parse import NUMBER, count_bytes
from svmreduce.core.threads import in_threads, resolve_threads
from svmreduce.errors import InputError

CHUNK_BYTES = 4 << 20


class Text:
    """A file's bytes, ending with a line end, under the name that errors give it.

    ``as_given`` has the same bytes but for line ends; places are counted in it, after ``lines_before`` other lines.
    """

    def __init__(self, data: bytes, name: str, *, as_given: bytes | None = None, lines_before: int = 0):
        nul = data.find(b"\0")
        self.as_given = data if as_given is None else as_given
        self.data = data if data.endswith(b"\n") else data + b"\n"
        self.name = name
        self.lines_before = lines_before
        if nul >= 0:
            self.fail(nul, "NUL byte", "this is a binary or damaged file; give a text file")
        self.bytes = np.frombuffer(self.data, np.uint8)
        self.start_at(0)

    def start_at(self, offset: int) -> None:
        """Cut the text from here to its end; what is before will not be parsed."""
        self.cuts = [offset]
        while self.cuts[-1] < len(self.data):
            self.cuts.append(self.data.find(b"\n", min(self.cuts[-1] + CHUNK_BYTES, len(self.data) - 1)) + 1)

    def fail(self, offset: int, reason: str, remedy: str) -> NoReturn:
        """Raise the error for that place."""
        raise InputError(f"{self.place(int(offset))}: {reason}; {remedy}")

    def place(self, offset: int) -> str:
        """File, line and column, counted from 1 in bytes."""
        line = self.lines_before + self.as_given.count(b"\n", 0, offset) + 1
        column = offset - self.as_given.rfind(b"\n", 0, offset)
        return f"{self.name}:{line}:{column}"

    def in_chunks(self, work) -> list:
        """``work(number, start, stop)`` for each chunk, on all threads; answers in order."""
        chunks = len(self.cuts) - 1
        threads = min(resolve_threads(None), chunks)
        return in_threads(lambda k: work(k, self.cuts[k], self.cuts[k + 1]), chunks, threads)

    def count(self, byte: bytes) -> tuple[np.ndarray, np.ndarray]:
        """How often a byte and the line end occur before each cut."""
        found = self.in_chunks(lambda _, start, stop: count_bytes(self.bytes, start, stop, byte[0]))
        running = np.zeros((len(self.cuts), 2), np.int64)
        np.cumsum(np.asarray(found).reshape(-1, 2), axis=0, out=running[1:])
        return running[:, 0], running[:, 1]

    def number_at(self, offset: int, what: str) -> float:
        """The number written there, by Python's own conversion; too large for a double is an error."""
        written = NUMBER.match(self.data, offset).group()
        number = float(written)
        if np.isinf(number):
            self.fail(offset, f"{what} {shown(written)} is too large for a double", "rescale the data")
        return number


def close_gaps(arrays: list[np.ndarray], starts: np.ndarray, stops: list[int]) -> list[np.ndarray]:
    """Join what the chunks wrote: each left room where it had comments or blank lines."""
    end = 0
    for start, stop in zip(starts, stops, strict=False):
        if start != end:
            for array in arrays:
                array[end : end + stop - start] = array[start:stop]
        end += stop - start
    return [array if len(array) == end else array[:end].copy() for array in arrays]


def shown(token: bytes) -> str:
    """A token for a message: quoted, as text, or its bytes escaped where they are none, cut if long."""
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return repr(token if len(token) <= 40 else token[:37] + b"...")[1:]
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def is_not_finite(token: bytes) -> bool:
    return re.fullmatch(rb"[+-]?(nan|inf|infinity)", token, re.IGNORECASE) is not None
