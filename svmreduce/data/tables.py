"""Tables of numbers and words: comma, semicolon, tab or blank separated, one column the label.

The first row decides what a column holds: a word there makes it categorical, to be coded or one-hot (or
the label a name); a number makes it numeric, and a word further down is then an error with its place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from svmreduce.core import parse
from svmreduce.data import cache as parsed_files
from svmreduce.data.chunks import Text, close_gaps, is_not_finite, shown
from svmreduce.data.files import Source
from svmreduce.errors import InputError

_ROWS_AT_ONCE = 2048


@dataclass(frozen=True)
class TableFormat:
    """How a table is to be read.

    Parameters
    ----------
    label : int or str
        The label's column, by position from 0 (negative: from the end) or by its name in the header.
    separator : str, optional
        One character, or ``" "`` for any run of blanks. Taken from the first line if not given.
    header : bool, optional
        Whether the first line names the columns. If not given: it does when it has no number and the
        second line has one.
    categorical : {"onehot", "codes"}
        One 0/1 column per category, or one column of 0, 1, 2, …; categories in sorted order.
    drop : sequence of int or str
        Columns to leave out, by position or name.
    strip_label : str
        Characters to take off the end of word labels (KDD99 ends them with a full stop).
    """

    label: int | str = -1
    separator: str | None = None
    header: bool | None = None
    categorical: str = "onehot"
    drop: Sequence[int | str] = ()
    strip_label: str = ""

    def __post_init__(self):
        if self.categorical not in ("onehot", "codes"):
            raise InputError(f"categorical={self.categorical!r} is unknown; use 'onehot' or 'codes'")
        if self.separator is not None and self.separator not in (",", ";", "\t", " ", "|", ":"):
            raise InputError(f"separator={self.separator!r} is unknown; use one of , ; | : tab or blank")


def read_table(path: str | os.PathLike, *, cache: bool = True, **options) -> tuple[np.ndarray, np.ndarray]:
    """Read a table, plain or compressed, as a dense matrix and its labels.

    Blank lines and lines that begin with ``#`` do not count; fields may be in double quotes.

    Parameters
    ----------
    path : path
    cache : bool
        Keep the parsed table on disk for the next time.
    **options
        The fields of :class:`TableFormat`: ``label=-1, separator=None, header=None,
        categorical="onehot", drop=(), strip_label=""``.

    Returns
    -------
    X : ndarray of shape (n_rows, n_columns), float64
    y : ndarray of shape (n_rows,)
        float64 or strings.
    """
    return read_tables([path], cache=cache, **options)[0]


def read_tables(
    paths: Sequence[str | os.PathLike], *, cache: bool = True, **options
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Read several tables of one kind, such as training and test rows, into the same columns.

    A category that only one of them has gets its code or column in all. Parameters as in
    :func:`read_table`; gives one ``(X, y)`` per path.
    """
    return read_sources([Source(path, remember=cache) for path in paths], TableFormat(**options))


def read_sources(sources: list[Source], form: TableFormat) -> list[tuple[np.ndarray, np.ndarray]]:
    """:func:`read_tables` for files that may already be open."""
    names = [(f"X{k}", f"y{k}") for k in range(len(sources))]

    def is_whole(arrays):
        return all(len(arrays[X]) == len(arrays[y]) for X, y in names)

    use_cache = all(source.remember for source in sources)
    key = parsed_files.key_of(f"table {form}", [source.sha256 for source in sources]) if use_cache else ""
    arrays = parsed_files.load(key, is_whole) if use_cache else None
    if arrays is None:
        tables = [_Table(source, form) for source in sources]
        _check_alike(tables)
        arrays = {}
        for (X, y), matrix, table in zip(names, _encode(tables, form.categorical), tables, strict=True):
            arrays[X], arrays[y] = matrix, table.labels(form.strip_label)
        if use_cache and sum(len(source.data) for source in sources) >= parsed_files.WORTH_KEEPING:
            parsed_files.store(key, arrays)
    return [(arrays[X], arrays[y]) for X, y in names]


class _Table:
    """A parsed table: numbers in place, words as marks that carry their offset in the text."""

    def __init__(self, source: Source, form: TableFormat):
        self.text = text = Text(source.data, str(source.path))
        lines = _first_lines(text)
        separator = form.separator or _likely_separator(lines[0].group())
        self.separator = 0 if separator == " " else ord(separator)
        self.field = _field_pattern(separator)
        first, second = (self._fields_of(lines[k].group()) for k in (0, -1))
        has_header = form.header
        if has_header is None:
            has_header = not any(map(_is_number, first)) and any(map(_is_number, second))
        if has_header and len(lines) == 1:
            text.fail(lines[0].end() - 1, "no data rows after the header", "give a table with rows")
        self.names = [_as_word(field) for field in first] if has_header else None
        self.n_columns = len(first)
        if self.n_columns < 2:
            text.fail(lines[0].start(), "only one column", "check the separator; a label and features are needed")

        self.label = self._position(form.label)
        dropped = {self._position(column) for column in form.drop} - {self.label}
        self.kept = [k for k in range(self.n_columns) if k != self.label and k not in dropped]
        is_word = np.array([not _is_number(field) for field in (second if has_header else first)])
        is_word = np.resize(is_word, self.n_columns)  # a row that is too short is reported below
        self.categorical = [k for k in self.kept if is_word[k]]
        self.named_labels = is_word[self.label]
        is_word[list(dropped)] = True
        text.start_at(lines[0].end() if has_header else 0)
        self.values = self._parse(is_word)
        for column in np.flatnonzero(~is_word):
            self._settle_numbers(column)

    def _parse(self, as_words: np.ndarray) -> np.ndarray:
        text = self.text
        _, rows = text.count(b"\n")
        values = np.empty((rows[-1], self.n_columns))
        bits = values.view(np.int64)
        answers = text.in_chunks(
            lambda k, start, stop: parse.fill_table(
                text.bytes, start, stop, rows[k], self.separator, as_words, values, bits
            )
        )
        for _, outcome, offset, seen in answers:
            if outcome != parse.FINE:
                found = f"only {seen}" if outcome == parse.TOO_FEW else f"more than {seen}"
                text.fail(offset, f"{found} fields in a table of {self.n_columns} columns",
                          "give every row the same number")  # fmt: skip
        return close_gaps([values], rows, [answer[0] for answer in answers])[0]

    def _fields_of(self, line: bytes) -> list[bytes]:
        """The fields of one line, cleaned."""
        if self.separator == 0:
            return [_clean(field) for field in self.field.findall(line)]
        fields, pos = [], 0
        while True:
            match = self.field.match(line, pos)
            fields.append(_clean(match.group()))
            pos = match.end() + 1
            if pos >= len(line) or line[match.end()] != self.separator:
                return fields

    def _position(self, column: int | str) -> int:
        """A column given by name or by position, as a position from 0."""
        if isinstance(column, str):
            if self.names is None:
                raise InputError(f"{self.text.name}: no header, so no column {column!r}; give a position")
            if column not in self.names:
                known = ", ".join(self.names[:20])
                raise InputError(f"{self.text.name}: no column {column!r}; the header names {known}")
            return self.names.index(column)
        if not -self.n_columns <= column < self.n_columns:
            raise InputError(f"{self.text.name}: no column {column} among {self.n_columns}; count from 0")
        return column % self.n_columns

    def _settle_numbers(self, column: int) -> None:
        """Look at what the compiled loop left over in a numeric column."""
        rows = np.flatnonzero(np.isnan(self.values[:, column]))
        offsets, fields = self._marked(rows, column)
        for row, offset, field in zip(rows, offsets, map(_clean, fields), strict=True):
            if not _is_number(field):
                self._fail_as_number(offset, field, column)
            if np.isinf(float(field)):
                self.text.fail(offset, f"{shown(field)} is too large for a double", "rescale the data")
            self.values[row, column] = float(field)

    def _marked(self, rows: np.ndarray | slice, column: int) -> tuple[np.ndarray, list[bytes]]:
        """Offsets and raw text of the marked fields of a column."""
        marks = self.values.view(np.int64)[rows, column]
        offsets, lengths, data = parse.offset_in(marks), parse.length_in(marks), self.text.data
        for k in np.flatnonzero(lengths == parse.LONG_FIELD):
            lengths[k] = len(self.field.match(data, offsets[k]).group())
        return offsets, [
            data[start:stop] for start, stop in zip(offsets.tolist(), (offsets + lengths).tolist(), strict=True)
        ]

    def _fail_as_number(self, offset: int, field: bytes, column: int) -> NoReturn:
        what = "is not finite" if is_not_finite(field) else "is not a number"
        found = f"{shown(field)} {what}" if field else "empty field"
        self.text.fail(offset, f"{found} in column {column}", "fill it in, or drop the column or the row")

    def words(self, column: int) -> tuple[np.ndarray, list[str]]:
        """A column of words as codes, and the words in order of appearance."""
        offsets, fields = self._marked(slice(None), column)
        code_of = {field: code for code, field in enumerate(dict.fromkeys(fields))}
        codes = np.fromiter(map(code_of.__getitem__, fields), np.int64, len(fields))
        words = [_clean(field) for field in code_of]
        numbers = sum(map(_is_number, words))
        for code, word in enumerate(words):  # a '?' in the first row does not make numbers words
            if not word or (not _is_number(word) and 2 * numbers > len(words)):
                self._fail_as_number(offsets[np.argmax(codes == code)], word, column)
        return codes, [_as_word(word) for word in words]

    def labels(self, strip: str) -> np.ndarray:
        if not self.named_labels:
            return self.values[:, self.label].copy()
        codes, words = self.words(self.label)
        return np.array([word.rstrip(strip) if strip else word for word in words])[codes]


def _check_alike(tables: list[_Table]) -> None:
    first = tables[0]
    for other in tables[1:]:
        if (other.kept, other.categorical) != (first.kept, first.categorical):
            raise InputError(
                f"{other.text.name}: {other.n_columns} columns, words in {other.categorical}, but "
                f"{first.text.name} has {first.n_columns}, words in {first.categorical}; read them separately"
            )


def _encode(tables: list[_Table], how: str) -> list[np.ndarray]:
    """Numbers as they are, words as codes or 0/1 columns that all tables share."""
    words = {(k, c): table.words(c) for k, table in enumerate(tables) for c in table.categorical}
    categories = {
        c: sorted({word for k in range(len(tables)) for word in words[k, c][1]}) for c in tables[0].categorical
    }
    widths = [len(categories[c]) if c in categories and how == "onehot" else 1 for c in tables[0].kept]
    starts = dict(zip(tables[0].kept, np.cumsum([0, *widths]).tolist(), strict=False))
    numeric = [c for c in tables[0].kept if c not in categories]
    matrices = []
    for k, table in enumerate(tables):
        X = np.zeros((len(table.values), sum(widths)))
        for row in range(0, len(X), _ROWS_AT_ONCE):  # few enough to stay in the processor's cache
            rows = slice(row, row + _ROWS_AT_ONCE)
            X[rows, [starts[c] for c in numeric]] = table.values[rows, numeric]
        for column, shared in categories.items():
            codes, own = words[k, column]
            codes = np.searchsorted(shared, own)[codes]
            if how == "onehot":
                X[np.arange(len(X)), starts[column] + codes] = 1.0
            else:
                X[:, starts[column]] = codes
        matrices.append(X)
    return matrices


def _first_lines(text: Text) -> list[re.Match]:
    """The first two lines that count, line end included."""
    lines: list[re.Match] = []
    for line in re.finditer(rb"[^\n]*\n", text.data):
        if line.group().strip() and not line.group().lstrip().startswith(b"#"):
            lines.append(line)
        if len(lines) == 2:
            break
    if not lines:
        raise InputError(f"{text.name}:1:1: no data rows; give a table with a label column")
    return lines


def _likely_separator(line: bytes) -> str:
    commas, semicolons = line.count(b","), line.count(b";")
    if commas == semicolons == 0:
        return " "
    return "," if commas >= semicolons else ";"


def _field_pattern(separator: str) -> re.Pattern:
    """One field, in quotes or not, as the compiled loop delimits it."""
    inside = rb"\S" if separator == " " else rb"[^" + re.escape(separator).encode() + rb"\n]"
    bare = inside + (rb"+" if separator == " " else rb"*")
    return re.compile(rb'"(?:[^"\n]|"")*"' + inside + rb"*|" + bare)


def _clean(field: bytes) -> bytes:
    """Without the blanks and quotes around it."""
    field = field.strip()
    if len(field) >= 2 and field[:1] == field[-1:] == b'"':
        field = field[1:-1].replace(b'""', b'"').strip()
    return field


def _is_number(field: bytes) -> bool:
    return parse.NUMBER.fullmatch(field) is not None


def _as_word(field: bytes) -> str:
    return field.decode("utf-8", "backslashreplace")
