"""The text of model files: header lines, rows of numbers, and one safe way to write them.

LIBSVM and LIBLINEAR, and our own files of random features, have ``key value…`` lines, then a line with a single
word, then numbers. Labels in their headers are whole numbers. A model with other labels (words, say) carries them in
a last line ``# classes […]``, one whose last columns are all zero says ``# features N``, a kernel that LIBSVM does
not have is written out as ``# kernel […]``, and how training prepared its rows as ``# preparation {…}``: lines that
other tools never read.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from svmreduce.data.files import read_bytes, write_whole
from svmreduce.errors import InputError
from svmreduce.memory import check_columns

_CLASSES = "# classes "
_FEATURES = "# features "
_CONTROL = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f\\x85\\u2028\\u2029]")
_INT32 = 2**31 - 1  # labels are C ints in both tools


@dataclass
class ModelText:
    """A model file cut into its header and its lines of numbers."""

    path: Path
    header: dict[str, list[str]]
    lines: dict[str, int]  # header key -> line number, for messages
    body: list[str]
    body_line: int  # line number of body[0]

    def fail(self, line: int | None, what: str) -> InputError:
        where = f"{self.path}:{line}" if line else f"{self.path}"
        return InputError(f"{where}: {what}")

    def words(self, key: str) -> list[str]:
        if key not in self.header:
            raise self.fail(None, f"the header has no line {key!r}; is the file a complete model file?")
        return self.header[key]

    def word(self, key: str) -> str:
        words = self.words(key)
        if len(words) != 1:
            raise self.fail(self.lines[key], f"{key!r} needs one value, got {len(words)}")
        return words[0]

    def numbers(self, key: str, kind: type, count: int | None = None) -> list:
        """The values of a header line as finite numbers, as many as the model needs."""
        words = self.words(key)
        if count is not None and len(words) != count:
            raise self.fail(self.lines[key], f"{key!r} needs {count} values, got {len(words)}")
        try:
            values = [kind(word) for word in words]
        except ValueError:
            name = "whole numbers" if kind is int else "numbers"
            raise self.fail(self.lines[key], f"{key!r} takes {name}, got {' '.join(words)[:60]!r}") from None
        if kind is int and any(abs(value) >= 2**63 for value in values):
            raise self.fail(self.lines[key], f"{key!r} has a number beyond 64 bits, {max(words, key=len)[:40]!r}")
        if not np.all(np.isfinite(np.array(values, dtype=float))):
            raise self.fail(self.lines[key], f"{key!r} must be finite, got {' '.join(words)[:60]!r}")
        return values

    def number(self, key: str, kind: type = float):
        return self.numbers(key, kind, 1)[0]

    def count(self, key: str, least: int = 0) -> int:
        value = self.number(key, int)
        if not least <= value <= _INT32:
            raise self.fail(self.lines[key], f"{key!r} must be at least {least} and at most {_INT32}, got {value}")
        return value

    def labels(self, count: int) -> np.ndarray:
        """The class labels: the header's whole numbers, or the richer ones of the last line."""
        numbers = self.numbers("label", int, count)
        number, line = self.last_line(_CLASSES)
        return self._rich_labels(line, number, count) if line else np.array(numbers, dtype=np.int64)

    def features(self, least: int) -> int:
        """Columns of the rows the model was trained on; ``least``, unless the file knows of more."""
        number, line = self.last_line(_FEATURES)
        if not line:
            return least
        word = line[len(_FEATURES) :].strip()
        if not (word.isdecimal() and least <= int(word) < 2**31):
            raise self.fail(number, f"the number of features must be whole and at least {least}, got {word[:40]!r}")
        check_columns(int(word), self.path)
        return int(word)

    def table(self, rows: int, columns: int, what: str) -> np.ndarray:
        """The first body lines as finite numbers, ``columns`` in each."""
        if len(self.body) < rows:
            line = self.body_line + len(self.body)
            raise self.fail(line, f"{rows} lines of {what} are needed, the file has {len(self.body)}")
        values = []
        for number, line in enumerate(self.body[:rows], start=self.body_line):
            try:
                values.append(np.array(line.split(), dtype=float).reshape(columns))
            except ValueError:
                raise self.fail(number, f"needs {columns} numbers, got {line[:60]!r}") from None
        values = np.array(values)
        finite = np.isfinite(values).all(axis=1)
        if not finite.all():
            raise self.fail(self.body_line + int(finite.argmin()), f"one of the {what} is not finite")
        return values

    def last_line(self, start: str) -> tuple[int, str]:
        """Number and text of the line after the model that begins so; empty if there is none."""
        found = ((self.body_line + offset, line) for offset, line in enumerate(self.body) if line.startswith(start))
        return next(found, (0, ""))

    def _rich_labels(self, line: str, number: int, count: int) -> np.ndarray:
        try:
            labels = np.array(json.loads(line[len(_CLASSES) :]))
        except ValueError:
            labels = np.empty(0)
        if labels.shape != (count,) or labels.dtype.kind not in "fiUb":
            raise self.fail(number, f"the line must list {count} classes, as in {_CLASSES}[1.5, 2.5]")
        return labels


def read_model_text(path, last_key: str, known: set[str]) -> ModelText:
    """Read a model file up to the lone word ``last_key`` as header, the rest as body lines."""
    path = Path(path)
    try:
        lines = read_bytes(path).decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a model file: it is not text") from None
    lines = lines if lines[-1] else lines[:-1]
    text = ModelText(path, {}, {}, [], 0)
    odd = next((number for number, line in enumerate(lines, start=1) if _CONTROL.search(line)), None)
    if odd:  # Python takes some of them for blanks or ends of lines, other tools do not
        raise text.fail(odd, "a control character; the file is damaged")
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words:
            continue
        key = words[0]
        if key == last_key:
            if len(words) > 1:
                raise text.fail(number, f"{last_key!r} must be alone on its line, got {line[:60]!r}")
            text.body, text.body_line = lines[number:], number + 1
            return text
        if key not in known:
            raise text.fail(number, f"unknown line {key[:40]!r} in the header of a model file")
        if key in text.header:
            raise text.fail(number, f"{key!r} appears twice")
        text.header[key], text.lines[key] = words[1:], number
    raise text.fail(None, f"no line {last_key!r}: the file is cut short or not a model file")


def header_labels(labels: np.ndarray) -> tuple[list[int], str]:
    """Whole numbers for the header, and the last line that keeps labels of any other kind."""
    if labels.dtype.kind in "biu" or (labels.dtype.kind == "f" and np.all(labels == np.rint(labels))):
        numbers = [int(label) for label in labels]
        if all(abs(number) <= _INT32 for number in numbers):
            return numbers, ""
    # np.unique order is class order, so 0, 1, 2… mean the same thing in every file
    numbers = np.unique(labels, return_inverse=True)[1].tolist()
    return numbers, f"{_CLASSES}{json.dumps(labels.tolist())}\n"


def features_line(width: int, largest_index: int) -> str:
    """The last line that keeps columns in which every support vector is zero."""
    return f"{_FEATURES}{width}\n" if largest_index < width else ""


def check_finite(*arrays) -> None:
    """Such a model would predict nonsense, and no tool could read its file."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise InputError("the model has numbers that are not finite; scale the data")


def write_text(path, pieces) -> None:
    """Write all of it or nothing: a half-written model must never look like a model."""
    with write_whole(path) as stream:
        for piece in pieces:
            stream.write(piece.encode("utf-8"))
