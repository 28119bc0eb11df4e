"""Text tables: comma, semicolon, tab, bar or blank separated, with a header or without.

The compiled loop of :mod:`svmreduce.core.parse` reads every number and marks every other cell by its place, so a
message can name line and column. Nothing is decided here about what a column means.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from svmreduce.core import parse
from svmreduce.data import cache as parsed_files
from svmreduce.data.chunks import Text, close_gaps, shown
from svmreduce.data.columns import Table, WordCells
from svmreduce.data.encodings import as_utf8, without_quoted_line_ends
from svmreduce.data.files import Source
from svmreduce.data.table_fields import (
    as_word,
    cleaned,
    field_pattern,
    fields_of,
    guess_header,
    header_names,
    is_number,
    likely_separator,
)
from svmreduce.data.text_pieces import TextPiece, text_pieces
from svmreduce.errors import DataNote, InputError
from svmreduce.memory import check_memory

SEPARATORS = (",", ";", "\t", " ", "|", ":")
_LINES = 200  # looked at to find the separator and the header
_SAME_NUMBER = "give every line the same number"


@dataclass(frozen=True)
class TextFormat:
    """How the text of a table is cut.

    Parameters
    ----------
    separator : str, optional
        One character, or ``" "`` for any run of blanks. Found out from the first lines if not given.
    header : bool, optional
        Whether the first line names the columns. Found out from the first lines if not given.
    """

    separator: str | None = None
    header: bool | None = None

    def __post_init__(self):
        if self.separator is not None and self.separator not in SEPARATORS:
            raise InputError(f"separator={self.separator!r} is unknown; use one of , ; | : tab or blank")


def read_text_table(source: Source, form: TextFormat) -> Table:
    """The table of a file, from the parsed copy on disk if there is one."""
    key = parsed_files.key_of(f"cells {form}", [source.sha256])
    arrays = parsed_files.load(key, _is_whole)
    text = _TableText(source, form)
    if arrays is None:
        arrays = text.parsed()
        if len(source.data) >= parsed_files.WORTH_KEEPING:
            parsed_files.store(key, arrays)
    return _as_table(arrays, text)


def table_pieces(path: str | os.PathLike, form: TextFormat) -> Iterator[Table]:
    """The table of a file in pieces of whole lines, each as :func:`read_text_table` would read it."""
    names, width, whole, encoding = np.empty(0, str), None, object(), None
    for piece in text_pieces(path):
        text = _TableText(piece, form, encoding)
        encoding = encoding or (None if piece.data.isascii() else text.encoding)
        if not text.text.data.strip():  # comments and blank lines only
            continue
        arrays = text.parsed(width)
        if width is None:
            names, width = arrays["names"], arrays["values"].shape[1]
            form = TextFormat(text.separator, header=False)
        yield _as_table({**arrays, "names": names}, text, whole)
    if width is None:
        raise _no_rows(path)


def _as_table(arrays: dict[str, np.ndarray], text: _TableText, whole: object = None) -> Table:
    values, names = arrays["values"], arrays["names"].tolist()
    words = {
        k: WordCells(arrays[f"rows{k}"], arrays[f"codes{k}"], arrays[f"words{k}"].tolist())
        for k in range(values.shape[1])
        if f"rows{k}" in arrays
    }

    def place(row: int, column: int) -> str:
        mark = values.view(np.int64)[row, column : column + 1]
        return text.text.place(int(parse.offset_in(mark)[0]))

    path = str(text.source.path)
    counted = zip(arrays["notes"].tolist(), arrays["counts"].tolist(), strict=True)
    notes = (DataNote(f"{path}: {note}", {"": count} if count else None, 0, whole) for note, count in counted)
    return Table(path, names or None, values, words, place, tuple(notes), whole is not None)


def _is_whole(arrays: dict[str, np.ndarray]) -> bool:
    return arrays["values"].ndim == 2 and len(arrays["names"]) in (0, arrays["values"].shape[1])


class _TableText:
    """The text of one table, cut into cells when it is asked to."""

    def __init__(self, source: Source | TextPiece, form: TextFormat, known_encoding: str | None = None):
        self.source, self.form, self.known_encoding = source, form, known_encoding

    @cached_property
    def _utf8(self) -> tuple[bytes, str]:
        try:
            return as_utf8(self.source.data, self.known_encoding)
        except UnicodeDecodeError as error:
            line = self.source.lines_before + self.source.data.count(b"\n", 0, error.start) + 1
            what = f"a byte that is not {error.encoding.upper()}, unlike the text before"
            raise InputError(f"{self.source.path}:{line}: {what}; give all lines in one encoding") from None

    @property
    def encoding(self) -> str:
        return self._utf8[1]

    @cached_property
    def lines(self) -> list[bytes]:
        """The first lines, without those that begin with ``#`` if there are others."""
        start = self._utf8[0][: 1 << 20].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        filled = [line for line in start if line.strip()]
        return [line for line in filled if not line.lstrip().startswith(b"#")][:_LINES] or filled[:_LINES]

    @cached_property
    def separator(self) -> str:
        return self.form.separator or likely_separator(self.lines)

    @cached_property
    def field(self) -> re.Pattern:
        return field_pattern(self.separator)

    def _cut(self, line: bytes) -> list[bytes]:
        return fields_of(line, self.separator, self.field)

    @cached_property
    def text(self) -> Text:
        data = self._utf8[0]
        if b"\r" in data and b"\n" not in data:  # line ends of old Macs
            data = data.replace(b"\r", b"\n")
        plain = self._without_comments(without_quoted_line_ends(data, self.separator))
        return Text(plain, str(self.source.path), as_given=data, lines_before=self.source.lines_before)

    def _without_comments(self, data: bytes) -> bytes:
        """Lines that begin with ``#`` and have another number of fields than the table become blank, byte for byte."""
        self.n_comments = 0
        if b"#" not in data or not self.lines:
            return data
        width = len(self._cut(next((line for line in self.lines if line.count(b'"') % 2 == 0), self.lines[0])))

        def blanked(line: re.Match) -> bytes:
            text = line.group()
            if len(self._cut(text)) == width:
                return text
            unmarked = text.replace(b"#", b" ", 1)
            if not data[: line.start()].strip() and len(self._cut(unmarked)) == width:
                return unmarked  # a header after "# ", blanks between the names
            self.n_comments += 1
            return b" " * len(text)

        return re.sub(rb"(?m)^[ \t]*#[^\n]*", blanked, data)

    def parsed(self, width: int | None = None) -> dict[str, np.ndarray]:
        """Everything that a Table is made of, as arrays; ``width`` is that of an earlier piece of the file."""
        text, notes = self.text, {}  # with the number of lines, or 0
        first = _first_lines(text)
        cut = [self._cut(line.group()) for line in first]
        has_header = self.form.header
        if has_header is None:
            has_header, why = guess_header(cut)
            notes |= {f"line 1 is taken for {'a header' if has_header else 'data'}: {why}": 0} if why else {}
        if self.n_comments:
            without = f"they begin with # and do not have {len(cut[0])} fields"
            notes[f"lines left out as comments, because {without}"] = self.n_comments
        if has_header and len(first) == 1:
            text.fail(first[0].end() - 1, "no data rows after the header", "give a table with rows")
        text.start_at(first[0].end() if has_header else 0)
        if width and len(cut[0]) not in (width, width + 1):
            text.fail(first[0].start(), f"{len(cut[0])} fields in a table of {width} columns", _SAME_NUMBER)
        values = self._cells(len(cut[0]), has_header)
        names = header_names(cut[0]) if has_header else []
        words = {k: self._words(values, k) for k in range(values.shape[1]) if np.isnan(values[:, k]).any()}
        last = values.shape[1] - 1
        ends_blank = last and _is_blank(words.get(last), len(values))
        if width and last == width and not ends_blank:
            text.fail(first[0].start(), f"more than {width} fields in a table of {width} columns", _SAME_NUMBER)
        if ends_blank and (last == width if width else not (names and cut[0][last])):
            notes["every line ends with a separator; the empty last column is left out"] = 0
            values, names = np.ascontiguousarray(values[:, :last]), names[:last]
            del words[last]
        if self.encoding != "utf-8":
            notes[f"read as {self.encoding.upper()}"] = 0
        arrays = {"values": values, "names": np.array(names, str)}
        arrays |= {"notes": np.array([*notes], str), "counts": np.array([*notes.values()], np.int64)}
        for k, (rows, codes, found) in words.items():
            if len(rows):
                arrays |= {f"rows{k}": rows, f"codes{k}": codes, f"words{k}": np.array(found, str)}
        return arrays

    def _cells(self, n_columns: int, has_header: bool) -> np.ndarray:
        text = self.text
        _, rows = text.count(b"\n")
        what = f"{text.name}: {rows[-1]} rows of {n_columns} fields"
        check_memory(16.0 * rows[-1] * n_columns, what, "give fewer rows or columns")
        values = np.empty((rows[-1], n_columns))
        bits = values.view(np.int64)
        separator = 0 if self.separator == " " else ord(self.separator)
        answers = text.in_chunks(
            lambda k, start, stop: parse.fill_table(
                text.bytes, start, stop, rows[k], separator, values, bits
            )
        )  # fmt: skip
        for _, outcome, offset, seen in answers:
            if outcome != parse.FINE:
                found = f"only {seen}" if outcome == parse.TOO_FEW else f"more than {seen}"
                of = "under a header of" if has_header else "in a table of"
                text.fail(offset, f"{found} field{'s' * (seen != 1)} {of} {n_columns} columns", _SAME_NUMBER)
        return close_gaps([values], rows, [answer[0] for answer in answers])[0]

    def _words(self, values: np.ndarray, column: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """The marked cells of a column; numbers that the compiled loop left over are put into ``values``."""
        rows = np.flatnonzero(np.isnan(values[:, column]))
        marks = values.view(np.int64)[rows, column]
        offsets, lengths, data = parse.offset_in(marks), parse.length_in(marks), self.text.data
        for k in np.flatnonzero(lengths == parse.LONG_FIELD):
            lengths[k] = len(self.field.match(data, offsets[k]).group())
        spans = zip(offsets.tolist(), (offsets + lengths).tolist(), strict=True)
        raw = [data[start:stop] for start, stop in spans]
        clean = {field: cleaned(field) for field in set(raw)}
        code_of = {word: code for code, word in enumerate(dict.fromkeys(clean[field] for field in raw))}
        codes = np.fromiter((code_of[clean[field]] for field in raw), np.int64, len(raw))
        words = list(code_of)
        for code, word in enumerate(words):
            if not is_number(word):
                continue
            if np.isinf(float(word)):
                where = int(offsets[np.argmax(codes == code)])
                self.text.fail(where, f"{shown(word)} is too large for a double", "rescale the data")
            values[rows[codes == code], column] = float(word)
        left = np.isnan(values[rows, column])
        return rows[left], codes[left], [as_word(word) for word in words]


def _is_blank(words: tuple | None, n_rows: int) -> bool:
    return words is not None and len(words[0]) == n_rows and words[2] == [""]


def _first_lines(text: Text) -> list[re.Match]:
    """The first lines that are not blank, line end included."""
    filled = (line for line in re.finditer(rb"[^\n]*\n", text.data) if line.group().strip())
    lines = list(islice(filled, _LINES))
    if not lines:
        raise _no_rows(text.name)
    return lines


def _no_rows(name: object) -> InputError:
    return InputError(f"{name}:1:1: no data rows; give a table with a label column")
