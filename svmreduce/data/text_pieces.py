"""Text files in pieces of whole lines, so that a file may be larger than memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from svmreduce.data.files import open_maybe_compressed
from svmreduce.errors import InputError

PIECE_BYTES = 16 << 20  # enough for several threads to parse
_LONGEST_LINE = 256 << 20
_LINES_BACK = 200  # that a quoted field may go on for


@dataclass(frozen=True)
class TextPiece:
    """Some lines of a file: what a :class:`~svmreduce.data.files.Source` is to a file that is read at once."""

    path: Path
    data: bytes
    lines_before: int


def text_pieces(path: str | os.PathLike) -> Iterator[TextPiece]:
    """The uncompressed lines of a plain or compressed file, about ``PIECE_BYTES`` at a time."""
    path, lines, rest, part = Path(path), 0, b"", b"\n"
    with open_maybe_compressed(path) as stream:
        while part:
            part = stream.read(PIECE_BYTES)
            data = rest + part
            if b"\0" in part:
                raise InputError(f"{path}: NUL byte, as binary files and UTF-16 have; give it as UTF-8 text")
            end = _last_line_end(data) if part else len(data)
            if end:
                yield TextPiece(path, data[:end], lines)
            elif len(data) > _LONGEST_LINE:
                raise InputError(f"{path}: no line end in {_LONGEST_LINE >> 20} MB; give text with a row per line")
            lines += data.count(b"\n", 0, end)
            rest = data[end:]


def _last_line_end(data: bytes) -> int:
    r"""The place after the last ``\n`` that no quoted field goes across; 0 if there is none."""
    last = end = data.rfind(b"\n") + 1
    if data.count(b'"', 0, end) % 2 == 0:
        return end
    for _ in range(_LINES_BACK):
        earlier = data.rfind(b"\n", 0, end - 1) + 1
        if data.count(b'"', earlier, end) % 2:
            return earlier or last
        end = earlier
        if not end:
            break
    return last  # a quote that nothing closes
