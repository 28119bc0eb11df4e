"""Files of any format in pieces that fit into memory, each as a whole file would be read; and blocks made of pieces."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from svmreduce.data.columnar import ColumnarFiles, columnar_files
from svmreduce.data.columns import Table
from svmreduce.data.formats import check_width, read_rows, sniff
from svmreduce.data.libsvm_text import MAX_INDEX, lacks_labels, parse_libsvm, to_csr
from svmreduce.data.npy_pairs import NpyPair
from svmreduce.data.table_text import TextFormat, table_pieces
from svmreduce.data.text_pieces import text_pieces
from svmreduce.errors import InputError
from svmreduce.memory import check_columns
from svmreduce.rows import stacked, widened
from svmreduce.types import Dataset, Matrix

ROWS = 65_536
"""Rows of a block: enough for every loop to be at its full speed, and whole tiles of kernel values."""
_BLOCK_BYTES = 1 << 27  # of a dense block; rows of very many columns come in smaller blocks
_TEXT_GROWS = {True: 20, False: 4}  # memory per byte of a file, compressed or plain

Part = tuple[Matrix, np.ndarray | None]


def block_rows(n_features: int, rows: int = ROWS) -> int:
    """At most so many rows, fewer (a power of two) where they would take too much memory."""
    fitting = max(64, _BLOCK_BYTES // (8 * max(1, n_features)))
    return min(rows, 1 << (fitting.bit_length() - 1))


def files_of(source: str | os.PathLike) -> list[Path]:
    """The files that a path stands for."""
    path = Path(source)
    if path.is_file() and sniff(path) == "npy":
        return NpyPair(path).files
    return columnar_files(path) or [path]


def has_all_columns(source: str | os.PathLike) -> bool:
    """Whether a file is an array, which has all of its columns; LIBSVM text may leave out the last."""
    return Path(source).is_file() and sniff(Path(source)) in ("npy", "idx")


def exceeds(source: str | os.PathLike, limit: int) -> bool:
    """Whether the rows of a file would need more memory than this, by its header or by its size."""
    path = Path(source)
    kind = sniff(path)
    if kind == "columnar":
        files = ColumnarFiles(path)
        if files.n_rows is not None:
            return 24 * files.n_rows * len(files.names) > limit
    if kind == "npy":
        rows = NpyPair(path)
        return 16 * rows.n_rows * rows.n_features > limit
    is_packed = path.suffix in (".gz", ".bz2", ".xz")
    return _TEXT_GROWS[is_packed] * sum(file.stat().st_size for file in files_of(path)) > limit


def raw_pieces(
    source: str | os.PathLike, *, header: bool | None = None, n_features: int | None = None, no_label: bool = False
) -> Iterator[Table | Dataset]:
    """What :func:`~svmreduce.data.formats.read_rows` reads, one piece after the other."""
    path = Path(source)
    kind = sniff(path)
    if kind == "columnar":
        yield from ColumnarFiles(path).tables(ROWS)
    elif kind == "npy":
        rows = NpyPair(path)
        check_width(path, rows.n_features, n_features)
        step = block_rows(rows.n_features)
        yield from (rows.part(start, start + step) for start in range(0, rows.n_rows, step))
    elif kind == "libsvm":
        yield from libsvm_pieces(path, n_features, no_label)
    elif kind == "table":
        for table in table_pieces(path, TextFormat(header=header)):
            for note in table.notes:
                warnings.warn(note, stacklevel=2)
            yield table
    else:
        yield read_rows(path, n_features=n_features)


def libsvm_pieces(path: Path, n_features: int | None = None, no_label: bool = False) -> Iterator[Dataset]:
    """Rows of LIBSVM text, each piece with as many columns as it needs, or with ``n_features``.

    The first row shows whether there are labels; with ``no_label`` they are left out where they are.
    """
    rows, limit = 0, n_features or MAX_INDEX
    labels = None
    for piece in text_pieces(path):
        if not (rows or no_label):
            labels = not lacks_labels(piece.data)
        arrays = parse_libsvm(piece.data, str(path), max_index=limit, lines_before=piece.lines_before, labels=labels)
        X, y = to_csr(arrays, n_features)
        if not X.shape[0]:
            continue
        check_columns(X.shape[1], path)
        rows += X.shape[0]
        yield Dataset(X, y, str(path))
    if not rows:
        raise InputError(f"{path}:1:1: no data rows; give lines of the form 'label index:value …', or a table")


def in_blocks(parts: Iterable[Part], rows: int) -> Iterator[Part]:
    """The same rows in blocks of exactly so many, but for the last."""
    waiting: list[Part] = []
    room = rows
    for X, y in parts:
        start, n = 0, X.shape[0]
        while n - start >= room:
            cut = slice(start, start + room)
            yield _joined([*waiting, (X[cut], None if y is None else y[cut])])
            start, room, waiting = start + room, rows, []
        if start < n:
            waiting.append((X[start:], None if y is None else y[start:]))
            room -= n - start
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[Part]) -> Part:
    """One block, dense or sparse as its first part; LIBSVM text may need more columns in some parts than in others."""
    if len(parts) == 1:
        return parts[0]
    columns, is_dense = max(X.shape[1] for X, _ in parts), not sparse.issparse(parts[0][0])
    rows = [X.toarray() if is_dense and sparse.issparse(X) else X for X, _ in parts]
    labels = [y for _, y in parts if y is not None]
    return stacked([widened(X, columns) for X in rows]), np.concatenate(labels) if len(labels) == len(parts) else None
