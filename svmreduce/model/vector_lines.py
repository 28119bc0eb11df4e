"""Support vectors as text: ``coefficient… index:value…``, one line each, in and out.

Numbers are parsed in one sweep over the whole text; only when something is off does a second, slow look
find the line to blame.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
from scipy import sparse

from svmreduce.memory import check_columns
from svmreduce.model.text import ModelText

_CHUNK = 2000  # lines formatted at a time


def format_rows(coef: np.ndarray, vectors, first: int = 1):
    """Lines of support vectors with ``repr`` numbers, which read back the same; columns count from ``first``."""
    for start in range(0, vectors.shape[0], _CHUNK):
        block = sparse.csr_matrix(vectors[start : start + _CHUNK])
        columns, values, ends = (block.indices + first).tolist(), block.data.tolist(), block.indptr.tolist()
        lines = []
        for row, own in enumerate(coef[:, start : start + _CHUNK].T.tolist()):
            a, b = ends[row], ends[row + 1]
            words = [repr(value) for value in own]
            words += [f"{i}:{v!r}" for i, v in zip(columns[a:b], values[a:b], strict=True)]
            lines.append(" ".join(words) + " \n")
        yield "".join(lines)


def parse_rows(text: ModelText, rows: int, coefs: int, first: int = 1) -> tuple[np.ndarray, sparse.csr_matrix]:
    """The first ``rows`` body lines as coefficients (coefs, rows) and vectors (CSR); columns count from ``first``."""
    lines = text.body[:rows]
    if len(lines) < rows:
        raise text.fail(
            text.body_line + len(lines),
            f"total_sv says {rows} support vectors, the file has {len(lines)}: it is cut short; train again",
        )
    numbers, nnz = _sweep("\n".join(lines), coefs)
    if numbers is None:
        raise _blame(text, lines, coefs)
    # one flat array of numbers: where each line begins, and which entries are its coefficients
    begins = np.concatenate([[0], np.cumsum(coefs + 2 * nnz)])[:-1]
    coef = numbers[begins[None, :] + np.arange(coefs)[:, None]]
    rest = np.ones(len(numbers), dtype=bool)
    rest[begins[:, None] + np.arange(coefs)] = False
    pairs = numbers[rest].reshape(-1, 2)
    index = pairs[:, 0]
    indptr = np.concatenate([[0], np.cumsum(nnz)])
    follows = np.ones(len(index), dtype=bool)  # entries with a left neighbour in the same row
    follows[indptr[:-1][nnz > 0]] = False
    ascending = np.all(index[1:][follows[1:]] > index[:-1][follows[1:]])
    whole = np.all((index >= first) & (index < 2**31) & (index == np.rint(index)))
    if not (np.all(np.isfinite(numbers)) and whole and ascending):
        raise _blame(text, lines, coefs)
    width = int(index.max()) + 1 - first if len(index) else 1
    check_columns(width, text.path)
    vectors = sparse.csr_matrix(
        (pairs[:, 1].copy(), index.astype(np.int32) - first, indptr.astype(np.int32)), shape=(rows, width)
    )
    return np.ascontiguousarray(coef), vectors


def _sweep(joined: str, coefs: int):
    """All numbers in order and the index:value pairs per line, or None when the shape is wrong."""
    raw = np.frombuffer(joined.encode("utf-8"), dtype=np.uint8)
    newlines = np.flatnonzero(raw == ord("\n"))
    colon = raw == ord(":")
    blank = (raw <= ord(" ")) | colon
    starts = np.flatnonzero(~blank & np.concatenate([[True], blank[:-1]]))
    lines = len(newlines) + 1
    line_of_start = np.searchsorted(newlines, starts)
    tokens = np.bincount(line_of_start, minlength=lines)
    if np.any(tokens < coefs) or np.any((tokens - coefs) % 2):
        return None, None
    # a value is what follows a colon: the 2nd, 4th… word after the coefficients, and nothing else
    place = np.arange(len(starts)) - np.concatenate([[0], np.cumsum(tokens)])[line_of_start] - coefs
    after_colon = colon[np.maximum(starts - 1, 0)] & (starts > 0)
    if np.any(blank[np.flatnonzero(colon) - 1]):  # "2 :1" is a damaged line, not the pair 2:1
        return None, None
    if np.any(after_colon != ((place >= 0) & (place % 2 == 1))) or colon.sum() != after_colon.sum():
        return None, None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy only warns when it meets a word
        try:
            numbers = np.fromstring(joined.replace(":", " "), sep=" ")
        except (DeprecationWarning, ValueError):
            return None, None
    if len(numbers) != len(starts):
        return None, None
    return numbers, (tokens - coefs) // 2


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)


def _blame(text: ModelText, lines: list[str], coefs: int):
    """The error for the first line that is not ``coefficient… index:value…``."""
    for number, line in enumerate(lines, start=text.body_line):
        words, before = line.split(), 0
        if len(words) < coefs:
            return text.fail(number, f"needs {coefs} coefficients, then index:value; got {line[:60]!r}")
        for place, word in enumerate(words):
            index, colon, value = word.rpartition(":")
            if not _NUMBER.match(value) or not np.isfinite(float(value)):
                return text.fail(number, f"{word[:40]!r} is not a finite number or index:value")
            if (place >= coefs) != bool(colon):
                return text.fail(number, f"{word[:40]!r} is out of place: {coefs} coefficients, then index:value")
            if colon:
                if not index.isdecimal() or not before < int(index) < 2**31:
                    return text.fail(number, f"{word[:40]!r}: the index must be whole and above {before}")
                before = int(index)
    return text.fail(text.body_line, "the support vectors are not in the form index:value")
