"""The file formats of real data, behind one function.

* :func:`read_libsvm`, :func:`write_libsvm` – LIBSVM/svmlight text, sparse.
* :func:`read_table`, :func:`read_tables` – comma, semicolon or blank separated tables.
* :func:`read_idx` – the arrays of MNIST.
* :func:`load_dataset` – any of them, recognised by content.

All read plain files and .gz, .bz2, .xz. Bad input is an :class:`~svmreduce.errors.InputError` that names
file, line and column.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import psutil
from scipy import sparse

from svmreduce.data import cache as parsed_files
from svmreduce.data import libsvm_text
from svmreduce.data.files import Source, open_maybe_compressed, read_bytes
from svmreduce.data.libsvm_text import write_libsvm
from svmreduce.data.tables import TableFormat, read_sources, read_table, read_tables
from svmreduce.errors import InputError
from svmreduce.types import Dataset, Matrix

__all__ = [
    "load_dataset",
    "open_maybe_compressed",
    "read_bytes",
    "read_idx",
    "read_libsvm",
    "read_table",
    "read_tables",
    "write_libsvm",
]

DENSE_FROM = 0.25
"""Share of stored values from which a matrix is kept dense: there the dense loops win."""

_IDX_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_libsvm(
    path: str | os.PathLike, *, n_features: int | None = None, cache: bool = True
) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Read LIBSVM text; the result equals that of ``sklearn.datasets.load_svmlight_file``.

    Parameters
    ----------
    path : path
        Plain text, or compressed as .gz, .bz2 or .xz.
    n_features : int, optional
        Columns of the result; a larger index in the file is an error. By default the largest index.
    cache : bool
        Keep the parsed rows on disk, so that the next load costs no parsing.

    Returns
    -------
    X : csr_matrix of shape (n_rows, n_features), float64
    y : ndarray of shape (n_rows,), float64
    """
    return _libsvm_from(Source(path, remember=cache), n_features)


def _libsvm_from(source: Source, n_features: int | None) -> tuple[sparse.csr_matrix, np.ndarray]:
    name = str(source.path)
    key = parsed_files.key_of("libsvm", [source.sha256]) if source.remember else ""
    arrays = parsed_files.load(key, libsvm_text.is_whole) if source.remember else None
    if arrays is None:
        arrays = libsvm_text.parse_libsvm(source.data, name)
        if source.remember and len(source.data) >= parsed_files.WORTH_KEEPING:
            parsed_files.store(key, arrays)
    if n_features is not None and libsvm_text.width(arrays) > n_features:
        if not len(arrays["indices"]):
            raise InputError(f"{name}: n_features={n_features} is too small; give at least 1")
        libsvm_text.parse_libsvm(source.data, name, max_index=n_features)  # stops at the place
    return libsvm_text.to_csr(arrays, n_features)


def read_idx(path: str | os.PathLike) -> np.ndarray:
    """Read an array in IDX format: two zero bytes, a type, a number of axes, their lengths, the values."""
    return _idx_from(read_bytes(path), path)


def _idx_from(data: bytes, path: str | os.PathLike) -> np.ndarray:
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _IDX_TYPES:
        raise InputError(f"{path}: begins with {data[:4]!r}, which is not an IDX magic number; give an IDX file")
    values_at = 4 + 4 * data[3]
    shape = tuple(np.frombuffer(data[4:values_at], ">u4", (min(len(data), values_at) - 4) // 4).tolist())
    dtype = np.dtype(_IDX_TYPES[data[2]])
    expected = values_at + math.prod(shape) * dtype.itemsize
    if len(shape) != data[3] or len(data) != expected:
        raise InputError(
            f"{path}: {len(data)} bytes where the IDX header asks for {expected} (shape {shape}); get the file again"
        )
    return np.frombuffer(data, dtype, offset=values_at).reshape(shape).astype(dtype.newbyteorder("="))


def load_dataset(
    path: str | os.PathLike,
    *,
    n_features: int | None = None,
    task: str | None = None,
    name: str | None = None,
    label: int | str | None = None,
) -> Dataset:
    """Load a file of any supported format, recognised by its content.

    IDX is known by its magic number (the labels are then expected next to the images, under MNIST's names),
    LIBSVM text by its ``index:value`` pairs; anything else is read as a table.

    Parameters
    ----------
    path : path
    n_features : int, optional
        Columns of the matrix; only LIBSVM text leaves this open.
    task : {"classification", "regression"}, optional
        By default regression if some label is not a whole number.
    name : str, optional
        By default the file's name without the compression suffix.
    label : int or str, optional
        The label's column of a table: its position from 0 (negative: from the end), or its name. By default
        the last.

    Returns
    -------
    Dataset
        Dense if at least a quarter of the values are stored (and memory allows), else CSR. Its ``sha256``
        is that of the uncompressed file.
    """
    if task not in (None, "classification", "regression"):
        raise InputError(f"task={task!r} is unknown; use 'classification' or 'regression'")
    source = Source(path)
    kind = _sniff(source.path)
    if label is not None and kind != "table":
        where = (
            "first in every line of a LIBSVM file" if kind == "libsvm" else "in a separate file next to the IDX images"
        )
        raise InputError(f"{path}: the labels are {where}; a label column can be chosen in tables only")
    X: Matrix
    if kind == "libsvm":
        X, y = _libsvm_from(source, n_features)
    elif kind == "idx":
        images = _idx_from(source.data, source.path)
        X, y = images.reshape(len(images), -1), read_idx(_idx_labels_path(source.path)).astype(np.float64)
        if len(y) != len(X):
            raise InputError(f"{path}: {len(X)} images but {len(y)} labels; get both files again")
    else:
        X, y = read_sources([source], TableFormat(label=-1 if label is None else label))[0]
    if n_features is not None and X.shape[1] != n_features:
        raise InputError(f"{path}: {X.shape[1]} columns, not n_features={n_features}; leave n_features out")
    if task is None:
        whole = y.dtype.kind != "f" or bool((y == np.trunc(y)).all())
        task = "classification" if whole else "regression"
    if name is None:
        name = source.path.name.removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")
    return Dataset(_best_layout(X), y, name, task, source.sha256, is_table=kind == "table")


def _sniff(path: Path) -> str:
    """The reader for a file, chosen by the first line that decides."""
    with open_maybe_compressed(path) as stream:
        line = stream.readline(1 << 16)
        if line[:2] == b"\0\0" and line[2:3] and line[2] in _IDX_TYPES:
            return "idx"
        while line:
            tokens = line.partition(b"#")[0].split()
            if len(tokens) > 1:
                return "libsvm" if b":" in tokens[1] else "table"
            if tokens and (b"," in tokens[0] or b";" in tokens[0] or tokens[0].strip(b"+-.0123456789eE")):
                return "table"
            line = stream.readline(1 << 16)
    return "libsvm"  # labels only, or nothing at all


def _idx_labels_path(images: Path) -> Path:
    labels = images.with_name(images.name.replace("images", "labels").replace("idx3", "idx1"))
    if labels == images:
        raise InputError(f"{images}: an IDX file without 'images' in its name; use read_idx for bare arrays")
    return labels


def _best_layout(X: Matrix) -> Matrix:
    """Dense or CSR, whichever the loops read faster, if memory allows."""
    cells = X.shape[0] * X.shape[1]
    stored = X.nnz if sparse.issparse(X) else np.count_nonzero(X)
    fits = 8 * cells <= psutil.virtual_memory().available // 2
    if stored >= DENSE_FROM * cells and (fits or not sparse.issparse(X)):
        return X.toarray() if sparse.issparse(X) else np.ascontiguousarray(X, np.float64)
    return sparse.csr_matrix(X, dtype=np.float64)
