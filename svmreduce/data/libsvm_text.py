"""LIBSVM (svmlight) text: ``label index:value index:value …  # comment``, indices ascending from 1.

Reading counts colons and line ends first, which bounds the room needed, and fills the arrays in a second
pass; both run on all threads. What the compiled loop cannot decide it hands back by position.
"""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8
from typing import NoReturn

import numpy as np
from scipy import sparse

from svmreduce.core import parse
from svmreduce.data.chunks import Text, close_gaps, is_not_finite, shown
from svmreduce.data.files import write_whole
from svmreduce.errors import InputError
from svmreduce.memory import check_memory
from svmreduce.types import Matrix

MAX_INDEX = 2**31 - 1
_TOKEN = re.compile(rb"[^\s#]*")
_FIRST_TOKEN = re.compile(rb"^[ \t]*([^\s#]+)", re.MULTILINE)
_PAIR = re.compile(rb"\d+:")
_NO_LABEL = re.compile(rb"^(?=[ \t]*(\d+:|\r?\n))", re.MULTILINE)  # an empty line is a row of zeros
_LABEL = re.compile(rb"^[ \t]*(?!\d+:)[^\s#]", re.MULTILINE)
_ROWS_AT_ONCE = 50_000


def parse_libsvm(
    data: bytes,
    name: str,
    *,
    max_index: int = MAX_INDEX,
    lines_before: int | None = None,
    labels: bool | None = True,
) -> dict[str, np.ndarray]:
    """Parse the content of a LIBSVM file into the arrays of a CSR matrix and its labels.

    Parameters
    ----------
    data : bytes
        Uncompressed text. Blank lines, comments after ``#``, ``qid:…`` and CRLF are accepted.
    name : str
        What errors call the file.
    max_index : int
        Largest index allowed.
    lines_before : int, optional
        For a piece of a file, which may have no rows: its place in the file.
    labels : bool or None
        Whether every line begins with a label, or none does, so that an empty line is a row of zeros. None: labels are
        left out where there are any.

    Returns
    -------
    dict
        ``labels`` if there are any, ``values`` (float64), ``indices`` (int32, 0-based), ``row_starts``. Zeros that are
        written out stay stored, as in scikit-learn's reader.
    """
    data = data.removeprefix(BOM_UTF8)
    text = Text(data if labels else _NO_LABEL.sub(b"0 ", data), name, lines_before=lines_before or 0)
    if labels is False and (found := _LABEL.search(data)):
        given = Text(data, name, lines_before=lines_before or 0)
        given.fail(found.end() - 1, "the line begins with a label, the first one has none", "write all lines alike")
    slots, rows = text.count(b":")
    check_memory(24.0 * (slots[-1] + rows[-1]), f"{name}: its {slots[-1]} values in {rows[-1]} rows", "give fewer rows")
    targets, row_sizes = np.empty(rows[-1]), np.empty(rows[-1], np.int64)
    values, indices = np.empty(slots[-1]), np.empty(slots[-1], np.int32)

    def fill(chunk: int, start: int, stop: int) -> tuple:
        return parse.fill_libsvm(
            text.bytes, start, stop, rows[chunk], slots[chunk], max_index, targets, targets.view(np.int64),
            row_sizes, indices, values, values.view(np.int64),
        )  # fmt: skip

    answers = text.in_chunks(fill)
    left_over = False
    for _, _, marks, outcome, offset, previous in answers:
        left_over |= marks > 0
        if outcome != parse.FINE:
            _explain(text, outcome, offset, previous, max_index)
    targets, row_sizes = close_gaps([targets, row_sizes], rows, [answer[0] for answer in answers])
    values, indices = close_gaps([values, indices], slots, [answer[1] for answer in answers])
    if len(targets) == 0 and lines_before is None:
        raise InputError(f"{name}:1:1: no data rows; give lines of the form 'label index:value …', or a table")
    if left_over:
        for array, what in ((targets, "label"), (values, "value")):
            for place in np.flatnonzero(np.isnan(array)):
                array[place] = text.number_at(parse.offset_in(array.view(np.int64)[place]), what)
    row_starts = np.zeros(len(targets) + 1, np.int32 if len(values) <= MAX_INDEX else np.int64)
    np.cumsum(row_sizes, out=row_starts[1:])
    arrays = {"values": values, "indices": indices, "row_starts": row_starts}
    return {"labels": targets, **arrays} if labels else arrays


def lacks_labels(data: bytes) -> bool:
    """Whether the first row begins with a pair."""
    first = _FIRST_TOKEN.search(data.removeprefix(BOM_UTF8))
    return first is not None and _PAIR.match(first[1]) is not None


def warm_up() -> None:
    """Compile the parser on one line, outside of any timing."""
    parse_libsvm(b"1 1:1\n", "warm-up")


def is_whole(arrays: dict[str, np.ndarray]) -> bool:
    """Whether these can be the arrays that :func:`parse_libsvm` gave."""
    starts, values = arrays["row_starts"], arrays["values"]
    return (
        len(starts) == len(arrays.get("labels", starts[1:])) + 1
        and starts[0] == 0
        and starts[-1] == len(values) == len(arrays["indices"])
    )


def to_csr(arrays: dict[str, np.ndarray], n_features: int | None) -> tuple[sparse.csr_matrix, np.ndarray | None]:
    """Rows, and labels if there are any; without any pair there is one column, empty, as in scikit-learn."""
    values, indices, row_starts = arrays["values"], arrays["indices"], arrays["row_starts"]
    if n_features is None:
        n_features = width(arrays)
    X = sparse.csr_matrix((values, indices, row_starts), shape=(len(row_starts) - 1, n_features))
    X.has_sorted_indices = X.has_canonical_format = True  # the parser guarantees it
    return X, arrays.get("labels")


def width(arrays: dict[str, np.ndarray]) -> int:
    """The number of columns that the indices ask for."""
    return int(arrays["indices"].max(initial=0)) + 1


def _explain(text: Text, outcome: int, offset: int, previous: int, max_index: int) -> NoReturn:
    """Raise the error for the token that the compiled loop stopped at."""
    token = _TOKEN.match(text.data, offset).group()
    if outcome == parse.BAD_LABEL:
        if is_not_finite(token):
            text.fail(offset, f"label {shown(token)} is not finite", "give a number or leave the row out")
        if b":" in token:
            text.fail(offset, f"the line begins with the pair {shown(token)}", "put a label first, or use --no-label")
        if b"," in token:
            text.fail(offset, f"several labels {shown(token)}", "multi-label data is not supported; give one")
        remedy = "number the classes, or give a table, whose labels may be words"
        text.fail(offset, f"label {shown(token)} is not a number", remedy)
    if outcome == parse.BAD_VALUE:
        if is_not_finite(token):
            text.fail(offset, f"value {shown(token)} is not finite", "give a number or leave the pair out")
        if not token:
            text.fail(offset, "no value after the colon", "write index:value without a blank")
        text.fail(offset, f"value {shown(token)} is not a number", "give a number")
    index = token.partition(b":")[0]
    if b":" not in token:
        text.fail(offset, f"no colon in {shown(token)}", "write index:value")
    if not re.fullmatch(rb"[+-]?[0-9]+", index):
        text.fail(offset, f"index {shown(index)} is not a whole number", "write index:value")
    if not index.isdigit() or not index.strip(b"0"):
        text.fail(offset, f"index {shown(index)} is not a plain number from 1 on", "count features from 1")
    if len(index.lstrip(b"0")) > 10 or int(index) > max_index:
        remedy = "renumber the features" if max_index == MAX_INDEX else "raise n_features"
        text.fail(offset, f"index {shown(index)} is above {max_index}", remedy)
    if int(index) == previous:
        text.fail(offset, f"index {previous} is repeated", "give each feature once per row")
    text.fail(offset, f"index {int(index)} comes after {previous}", "sort each row by index")


def write_libsvm(path: str | os.PathLike, X: Matrix, y: np.ndarray) -> None:
    """Write rows as LIBSVM text, compressed if the name ends in .gz, .bz2 or .xz.

    The file appears only when it is complete. Zeros are left out, whole numbers have no point, and each number
    has as many digits as it takes to read back the same double.

    Parameters
    ----------
    path : path
        Where to write.
    X : ndarray or sparse matrix of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        Numeric labels or targets.
    """
    X, y = sparse.csr_matrix(X) if sparse.issparse(X) else np.asarray(X), np.asarray(y)
    check_labels(path, y)
    if X.shape[0] != len(y):
        raise InputError(f"{path}: {X.shape[0]} rows but {len(y)} labels; give one label per row")
    values = X.data if sparse.issparse(X) else X
    if not (np.isfinite(values).all() and np.isfinite(y).all()):
        raise InputError(f"{path}: rows or labels hold nan or inf; LIBSVM text cannot; remove them")
    with write_whole(path) as stream:
        for start in range(0, len(y), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            stream.write(_as_text(sparse.csr_matrix(X[part], dtype=np.float64, copy=True), y[part]))


def check_labels(path: str | os.PathLike, y: np.ndarray, remedy: str = "use numbers") -> None:
    if y.dtype.kind not in "biuf":
        raise InputError(f"{path}: LIBSVM text needs numbers as labels, not text such as {str(y[0])!r}; {remedy}")


def _as_text(X: sparse.csr_matrix, y: np.ndarray) -> bytes:
    X.sum_duplicates()  # sorts as well
    X.eliminate_zeros()
    labels = _numbers_as_text(y.astype(np.float64))
    values = _numbers_as_text(X.data)
    pairs = [f"{index}:{value}" for index, value in zip((X.indices + 1).tolist(), values, strict=True)]
    ends = X.indptr.tolist()
    lines = [" ".join([label, *pairs[start:stop]]) for label, start, stop in zip(labels, ends, ends[1:], strict=False)]
    return ("\n".join(lines) + "\n").encode()


def _numbers_as_text(values: np.ndarray) -> list[str]:
    whole = (values == np.trunc(values)) & (np.abs(values) < 1e15) & ~((values == 0) & np.signbit(values))
    if whole.all():
        return list(map(str, values.astype(np.int64).tolist()))
    return [text.removesuffix(".0") for text in map(repr, values.tolist())]
