"""Bytes of a table as UTF-8: byte order marks, UTF-16, and the code pages of old spreadsheets."""

from __future__ import annotations

import codecs
import re

_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SAMPLE = 4096


def as_utf8(data: bytes, known: str | None = None) -> tuple[bytes, str]:
    """The text as UTF-8 without a byte order mark, and the encoding that it had.

    A byte that its encoding does not have is a UnicodeDecodeError. Pieces of a text have that ``known`` from earlier.
    """
    encoding = known or _encoding_of(data)
    if encoding == "utf-8" and not known:
        return data, encoding
    return data.decode(encoding).encode(), encoding.removesuffix("-sig")


def _encoding_of(data: bytes) -> str:
    for mark, encoding in _BOMS.items():
        if data.startswith(mark):
            return encoding
    start = data[:_SAMPLE]
    if start[1::2].count(0) > len(start) / 4 and not start[::2].count(0):  # Latin letters in UTF-16 without a mark
        return "utf-16-le"
    if start[::2].count(0) > len(start) / 4 and not start[1::2].count(0):
        return "utf-16-be"
    if data.isascii():
        return "utf-8"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252" if _is_cp1252(data) else "latin-1"
    return "utf-8"


def _is_cp1252(data: bytes) -> bool:
    return not re.search(rb"[\x81\x8d\x8f\x90\x9d]", data)


def without_quoted_line_ends(data: bytes, separator: str) -> bytes:
    r"""Line ends inside quoted fields become ``\r``, byte for byte, so that every row is one line."""
    if b'"' not in data or data.count(b'"') == sum(
        line.count(b'"') for line in data.split(b"\n") if line.count(b'"') % 2 == 0
    ):
        return data  # every line closes the quotes that it opens
    edge = rb"\s" if separator == " " else re.escape(separator).encode()
    quoted = re.compile(rb"(?:(?<=^)|(?<=[" + edge + rb'\n]))[ ]*"(?:[^"]|"")*"(?=[ \r]*(?:[' + edge + rb"\n]|$))")
    return quoted.sub(lambda field: field.group().replace(b"\n", b"\r"), data)
