"""Fields of a line of text, and what the first lines of a table say about separator and header."""

from __future__ import annotations

import re

from svmreduce.core.parse import NUMBER
from svmreduce.data.columns import MISSING
from svmreduce.label_keys import one_spelling

_SNIFFED = ("\t", ";", ",", "|")  # of two that cut into equally many fields, the first
_DECIMAL_COMMA = re.compile(rb"[-+]?\d*,\d+(?:[eE][-+]?\d+)?")
_NUMBERS_AROUND_A_BLANK = re.compile(rb"[-+]?[\d.]+\s+[-+]?[\d.]")


def likely_separator(lines: list[bytes]) -> str:
    """The separator that cuts all of the first lines into the same number of fields, and into the most."""
    sample = [line for line in lines[:20] if line.count(b'"') % 2 == 0] or lines[:1]
    blanks = {len(line.split()) for line in sample}
    cuts = {}
    for separator in _SNIFFED:
        rows = [fields_of(line, separator, field_pattern(separator)) for line in sample]
        if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
            cuts[separator] = rows
    others = [rows for separator, rows in cuts.items() if separator != ","]
    if any(_has_decimal_commas_only(rows) for rows in others):
        cuts.pop(",", None)
    if cuts:
        best = max(cuts, key=lambda separator: len(cuts[separator][0]))
        row = b",".join(cuts[best][-1])
        return " " if best == "," and len(blanks) == 1 and _NUMBERS_AROUND_A_BLANK.search(row) else best
    if not sample or (len(blanks) == 1 and not re.search(rb"[,;|]", sample[0])):
        return " "
    return _most_frequent(sample[0])


def _has_decimal_commas_only(rows: list[list[bytes]]) -> bool:
    """Whether every comma in these fields is the point of a number."""
    with_comma = [field for row in rows for field in row if b"," in field]
    return bool(with_comma) and all(map(_DECIMAL_COMMA.fullmatch, with_comma))


def _most_frequent(line: bytes) -> str:
    """For lines of unequal length, which the parser will name: the separator that the first one has most of."""
    best = max(",|;\t", key=lambda separator: line.count(separator.encode()))
    return best if best.encode() in line.strip() else " "


def guess_header(rows: list[list[bytes]]) -> tuple[bool, str]:
    """Whether the first of these lines names the columns, and why where that is a guess."""
    first, second = rows[0], rows[min(1, len(rows) - 1)]
    numbers = [is_number(field) for field in first]
    if all(numbers) and len(first) > 2 and len(rows) > 2:
        start = float(first[0])  # 1, 2, 3 are data as well, if there are only so few
        is_count = [float(field) - start for field in first] == list(range(len(first)))
        if is_count and (start == 0 or (start == 1 and len(first) > 4)):
            return True, "it counts the columns (use --no-header if it is data)"
    if all(numbers) or any(field and as_word(field).casefold() in MISSING for field in first):
        return False, ""
    columns = list(zip(*rows[1:], strict=False))
    pairs = list(zip(first, columns, strict=False))
    if any(numbers):  # columns end where the shortest line does; the parser will name that line
        is_whole = len(rows) > 5 and len(columns) == len(set(first)) == len(first)
        return _guess_with_numbers(pairs) if is_whole else (False, "")
    if any(map(_DECIMAL_COMMA.fullmatch, first)):
        return False, ""
    if any(is_number(field) or _DECIMAL_COMMA.fullmatch(field) for field in second):
        return True, ""
    if len(rows) > 5 and any(map(_repeats, columns)) and all(word not in column for word, column in pairs):
        return True, "its words do not occur again (use --no-header if it is data)"
    return False, ""


def _guess_with_numbers(pairs: list[tuple[bytes, tuple[bytes, ...]]]) -> tuple[bool, str]:
    """For a first line of numbers and words, as pandas writes columns that are numbered, but for the label."""
    words = [(field, column) for field, column in pairs if not is_number(field)]
    if not all(word and word not in column and (_repeats(column) or all(map(is_number, column)))
               for word, column in words):  # fmt: skip
        return False, ""
    numbered = [(field, column) for field, column in pairs if is_number(field)]
    counts = [int(field) for field, _ in numbered if field.isdigit()]
    over_numbers = all(is_number(field) for _, column in numbered for field in column if field)
    shown = as_word(words[-1][0])
    if over_numbers and len(counts) == len(numbered) and counts == sorted(counts) and (counts[0] == 0 or counts[1:]):
        return True, f"its numbers ascend and {shown!r} does not occur again (use --no-header if it is data)"
    return False, f"{shown!r} does not occur again, but its numbers do not ascend (use --header if it names columns)"


def _repeats(column: tuple[bytes, ...]) -> bool:
    return len(set(column)) <= len(column) // 2


def header_names(fields: list[bytes]) -> list[str]:
    """The names of the columns; a ``#`` before the first marks the line as a header, as in NumPy's files."""
    first = fields[0].lstrip(b"# ") or fields[0]
    return [as_word(field) or f"unnamed_{k}" for k, field in enumerate([first, *fields[1:]])]


def fields_of(line: bytes, separator: str, pattern: re.Pattern) -> list[bytes]:
    """The fields of one line, cleaned."""
    line = line.rstrip(b"\r\n")
    if separator == " ":
        return [cleaned(field) for field in pattern.findall(line)]
    fields, pos = [], 0
    while True:
        pos += len(line) - pos - len(line[pos:].lstrip(b" "))
        match = pattern.match(line, pos)
        fields.append(cleaned(match.group()))
        pos = match.end() + 1
        if pos > len(line):
            return fields


def field_pattern(separator: str) -> re.Pattern:
    """One field, in quotes or not, as the compiled loop delimits it."""
    inside = rb"\S" if separator == " " else rb"[^" + re.escape(separator).encode() + rb"\n]"
    bare = inside + (rb"+" if separator == " " else rb"*")
    return re.compile(rb'"(?:[^"\n]|"")*"' + inside + rb"*|" + bare)


def cleaned(field: bytes) -> bytes:
    """Without the blanks and quotes around it; words in one spelling."""
    field = field.strip()
    if len(field) >= 2 and field[:1] == field[-1:] == b'"':
        field = field[1:-1].replace(b'""', b'"').strip()
    return field if field.isascii() else one_spelling(_text(field)).encode()


def is_number(field: bytes) -> bool:
    return NUMBER.fullmatch(field) is not None


def as_word(field: bytes) -> str:
    return re.sub(r"\r+", "\n", _text(field))


def _text(field: bytes) -> str:
    return field.decode("utf-8", "backslashreplace")
