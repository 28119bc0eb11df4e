"""Rows that need not fit into memory: blocks of ``(X, y)`` that can be gone through again and again.

:func:`open_blocks` takes files, :meth:`Blocks.of_arrays` arrays and memory maps, :meth:`Blocks.of_iterator` anything
that gives blocks. The rows come in the same order in every pass, in blocks of the same size whatever the format.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

from svmreduce.data.columnar import NUMBERS, WORDS, ColumnarFiles
from svmreduce.data.columns import Table
from svmreduce.data.formats import check_width, sniff
from svmreduce.data.labels import check_exact
from svmreduce.data.npy_pairs import NpyPair, plain_labels
from svmreduce.data.number_tables import parts_of_tables, schema_of_numbers, warn_of_row_names
from svmreduce.data.pieces import ROWS, block_rows, files_of, in_blocks, libsvm_pieces, raw_pieces
from svmreduce.data.preparation import Choices, Preparation
from svmreduce.data.table_schema import TableSchema
from svmreduce.errors import InputError
from svmreduce.rows import DENSE_FROM, canonical_rows, finite_rows, widened
from svmreduce.types import Dataset, Matrix

Block = tuple[Matrix, np.ndarray]


class Blocks:
    """Rows and labels, block by block; every iteration is a new pass.

    X is a C-ordered float64 array, or a CSR matrix if ``is_sparse``; y is float64, or text for labels that are words.
    Every block but the last has ``rows`` rows.

    Parameters
    ----------
    name : str
        What messages call the rows.
    parts : function
        Gives an iterator of (X, y) of any size, the same each time.
    n_features : int
    n_rows : int, optional
        If it is known without a pass.
    rows : int
        Of a block at most; rows of very many columns come in smaller ones.
    files : sequence of path
        That must stay as they are.
    schema : TableSchema, optional
        For tables: the names of the columns.
    """

    def __init__(
        self,
        name: str,
        parts: Callable[[], Iterable[Block]],
        n_features: int,
        *,
        n_rows: int | None = None,
        rows: int = ROWS,
        files: Sequence[Path] = (),
        schema: TableSchema | None = None,
        is_sparse: bool = False,
    ):
        if rows < 1:
            raise InputError(f"blocks of {rows} rows: need at least 1")
        self.name, self.n_features, self.n_rows = name, n_features, n_rows
        self.rows = rows if is_sparse else block_rows(n_features, rows)
        self.schema, self.is_sparse, self.files = schema, is_sparse, tuple(files)
        self._parts = parts
        self.fingerprint = fingerprint_of(self.files)

    @property
    def preparation(self) -> Preparation:
        """What a model must remember to find these columns again."""
        return Preparation(self.n_features, self.schema)

    def __iter__(self) -> Iterator[Block]:
        self._check_unchanged()
        for X, y in in_blocks(self._parts(), self.rows):
            check_exact(y, self.name)
            X = widened(X, self.n_features)
            yield X.toarray() if sparse.issparse(X) and not self.is_sparse else X, y
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        if fingerprint_of(self.files) != self.fingerprint:
            raise InputError(f"{self.name}: changed while its rows were in use; start again when it is complete")

    @classmethod
    def of_arrays(cls, X, y, *, rows: int = ROWS, name: str = "rows") -> Blocks:
        """Rows of an array, a sparse matrix or a memory map, and their labels."""
        if len(y) != X.shape[0]:
            raise InputError(f"{name}: {X.shape[0]} rows but {len(y)} labels; give one label per row")
        X = X.tocsr() if sparse.issparse(X) else X
        starts = range(0, X.shape[0], rows)
        blocks = cls.of_iterator(lambda: ((X[k : k + rows], y[k : k + rows]) for k in starts), rows=rows, name=name)
        blocks.n_rows = X.shape[0]
        return blocks

    @classmethod
    def of_iterator(cls, make: Callable[[], Iterable], *, rows: int = ROWS, name: str = "rows") -> Blocks:
        """Blocks from ``make()``, which gives a new iterator of (X, y) for every pass, always with the same rows."""
        first = next(iter(make()), None)
        if first is None:
            raise InputError(f"{name}: no blocks; give an iterator of (X, y)")
        is_sparse, width = sparse.issparse(first[0]), finite_rows(first[0]).shape[1]
        return cls(name, partial(_checked_parts, make, width, is_sparse, name), width, rows=rows, is_sparse=is_sparse)


def _checked_parts(make: Callable, width: int, is_sparse: bool, name: str) -> Iterator[Block]:
    are_numbers = None
    for X, y in make():
        X, y = finite_rows(X), plain_labels(np.asarray(y), name)
        if are_numbers is not None and are_numbers != (y.dtype.kind in "biuf"):
            raise InputError(f"{name}: the labels of some blocks are words, of others numbers; write them all alike")
        are_numbers = y.dtype.kind in "biuf"
        if X.shape[1] != width or X.shape[0] != len(y) or sparse.issparse(X) != is_sparse:
            raise InputError(f"{name}: a block of shape {X.shape} with {len(y)} labels, the first had {width} columns; "
                             "give all blocks the same columns, dense or sparse, and a label per row")  # fmt: skip
        if X.shape[0]:
            yield (canonical_rows(X).astype(np.float64) if is_sparse else np.ascontiguousarray(X, np.float64)), y


def fingerprint_of(files: Iterable[Path]) -> str:
    """Changes when a file changes; empty without files."""
    try:
        facts = [(path.name, (status := path.stat()).st_size, status.st_mtime_ns) for path in files]
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be read ({error.strerror}); check the name") from None
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32] if facts else ""


def open_blocks(
    source: str | os.PathLike, choices: Choices | None = None, *, rows: int = ROWS, n_features: int | None = None
) -> Blocks:
    """Training rows of a file or a folder of files.

    Parameters
    ----------
    source : path
        A Parquet or Arrow file, or a folder of them; ``X.npy`` with ``y.npy``, or ``NAME_X.npy`` with ``NAME_y.npy``;
        LIBSVM text or a text table, plain or compressed. Columns are numbers without gaps; labels may be words.
    choices : Choices, optional
        ``label``, ``drop``, ``columns`` and ``header`` are followed; ``scale`` and ``positive`` are left to the caller.
        A label that is not named is the column called ``label``, or else the last.
    rows : int
        Of a block.
    n_features : int, optional
        Columns of LIBSVM text; a first pass finds out if not given.
    """
    choices, path = choices or Choices(), Path(source)
    for key in ("categories", "impute"):
        if getattr(choices, key):
            raise InputError(f"{path}: --{key} is for rows that fit into memory; blocks have numbers without gaps")
    if not path.exists():
        raise InputError(f"{path}: no such file; check the name")
    files, kind = files_of(path), sniff(path)
    make = partial(Blocks, str(path), rows=rows, files=files)
    if kind in ("npy", "libsvm", "idx"):
        choices.check_numbered(str(path))
    if kind == "npy":
        pair = NpyPair(path)
        pair.check_labelled()
        check_width(path, pair.n_features, n_features)
        return make(partial(_parts_of_pieces, path), pair.n_features, n_rows=pair.n_rows)
    if kind == "libsvm":
        n_rows, width, is_sparse = _measure(path, n_features)
        return make(partial(_parts_of_pieces, path, width), width, n_rows=n_rows, is_sparse=is_sparse)
    if kind == "columnar":
        return _columnar_blocks(ColumnarFiles(path), choices, make, n_features)
    if kind == "idx":
        raise InputError(f"{path}: IDX files are read as a whole; give Parquet, .npy, LIBSVM text or a table")
    first = next(raw_pieces(path, header=choices.header))
    schema = schema_of_numbers(first, choices)
    check_width(path, schema.width, n_features)
    warn_of_row_names(first, schema.positions)
    tables = partial(raw_pieces, path, header=choices.header)
    return make(partial(parts_of_tables, tables, schema.positions, schema.label), schema.width, schema=schema)


def _columnar_blocks(files: ColumnarFiles, choices: Choices, make, n_features: int | None) -> Blocks:
    header = Table(str(files.path), files.names, np.empty((0, len(files.names))), {}, lambda *_: str(files.path))
    schema = schema_of_numbers(header, choices)
    check_width(files.path, schema.width, n_features)
    names, label = [files.names[k] for k in schema.positions], files.names[schema.label]
    for name in (*names, label):
        kind, is_label = files.columns[name], name == label
        if kind != NUMBERS and not (is_label and kind == WORDS):
            remedy = "choose the label by --label" if is_label else f"leave it out by --drop {name}"
            raise InputError(f"{files.path}: column {name!r} has {kind}, not numbers; {remedy}, or turn it into some")
    tables = partial(files.tables, make.keywords["rows"], [*names, label])
    first = next(tables(), None)
    if first is None:
        raise InputError(f"{files.path}: no rows; give a table with rows")
    places = list(range(len(names)))
    warn_of_row_names(first, places)
    parts = partial(parts_of_tables, tables, places, len(names))
    return make(parts, len(names), n_rows=files.n_rows, schema=schema)


def _measure(path: Path, n_features: int | None) -> tuple[int | None, int, bool]:
    """Rows, columns, and whether they are sparse; with given columns the first piece tells the last."""
    rows, width, stored = 0, n_features or 1, 0
    for piece in libsvm_pieces(path, n_features):
        _check_labelled(piece)
        rows, width, stored = rows + piece.n_rows, max(width, piece.n_features), stored + piece.X.nnz
        if n_features:
            return None, width, stored < DENSE_FROM * rows * width
    return rows, width, stored < DENSE_FROM * rows * width


def _check_labelled(rows: Dataset) -> None:
    if rows.y is None:
        raise InputError(f"{rows.name}: has no labels to learn from; put a label first in every line")


def _parts_of_pieces(path: Path, n_features: int | None = None) -> Iterator[Block]:
    return ((piece.X, piece.y) for piece in raw_pieces(path, n_features=n_features))
