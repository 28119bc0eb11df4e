"""Fields of a line of text, and what the first lines of a table say about separator and header."""

from __future__ import annotations

import re

from svmreduce.core.parse import NUMBER
from svmreduce.data.columns import MISSING

_SNIFFED = ("\t", ";", "|", ",")  # in this order: a file of decimal commas has as many commas as semicolons
_NUMBERS_AROUND_A_BLANK = re.compile(rb"[-+]?[\d.]+\s+[-+]?[\d.]")


def likely_separator(lines: list[bytes]) -> str:
    """The separator that cuts all of the first lines into the same number of fields."""
    sample = [line for line in lines[:20] if line.count(b'"') % 2 == 0] or lines[:1]
    blanks = {len(line.split()) for line in sample}
    for separator in _SNIFFED:
        pattern = field_pattern(separator)
        rows = [fields_of(line, separator, pattern) for line in sample]
        widths = {len(row) for row in rows}
        if len(widths) == 1 and widths != {1}:
            is_inside = separator == "," and len(blanks) == 1 and _NUMBERS_AROUND_A_BLANK.search(b",".join(rows[-1]))
            return " " if is_inside else separator
    if not sample or (len(blanks) == 1 and not re.search(rb"[,;|]", sample[0])):
        return " "
    return _most_frequent(sample[0])


def _most_frequent(line: bytes) -> str:
    """For lines of unequal length, which the parser will name: the separator that the first one has most of."""
    best = max(_SNIFFED[::-1], key=lambda separator: line.count(separator.encode()))
    return best if best.encode() in line.strip() else " "


def guess_header(first: list[bytes], second: list[bytes], rows: list[list[bytes]]) -> tuple[bool, str]:
    """Whether the first line names the columns, and why where that is a guess."""
    numbers = [is_number(field) for field in first]
    if all(numbers) and len(first) > 2 and len(rows) > 2:
        start = float(first[0])  # 1, 2, 3 are data as well, if there are only so few
        is_count = [float(field) - start for field in first] == list(range(len(first)))
        if is_count and (start == 0 or (start == 1 and len(first) > 4)):
            return True, "it counts the columns (use --no-header if it is data)"
    if any(numbers) or any(field and as_word(field).casefold() in MISSING for field in first):
        return False, ""
    if any(map(is_number, second)):
        return True, ""
    columns = list(zip(*rows[1:], strict=False))
    is_new = [word not in column for word, column in zip(first, columns, strict=False)]
    repeats = any(len(set(column)) <= len(column) // 2 for column in columns)
    if len(rows) > 5 and repeats and all(is_new):
        return True, "its words do not occur again (use --no-header if it is data)"
    return False, ""


def header_names(fields: list[bytes]) -> list[str]:
    return [as_word(field) or f"unnamed_{k}" for k, field in enumerate(fields)]


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
    """Without the blanks and quotes around it."""
    field = field.strip()
    if len(field) >= 2 and field[:1] == field[-1:] == b'"':
        field = field[1:-1].replace(b'""', b'"').strip()
    return field


def is_number(field: bytes) -> bool:
    return NUMBER.fullmatch(field) is not None


def as_word(field: bytes) -> str:
    return re.sub(r"\r+", "\n", field.decode("utf-8", "backslashreplace"))
