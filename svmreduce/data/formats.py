"""The file formats of real data, behind one function.

* :func:`read_libsvm`, :func:`write_libsvm` – LIBSVM/svmlight text, sparse.
* :func:`read_table`, :func:`read_tables` – comma, semicolon or blank separated tables.
* :func:`read_idx` – the arrays of MNIST.
* Parquet and Arrow files and folders, and ``.npy`` files, whose labels are next to them.
* :func:`read_rows`, :func:`load_training`, :func:`load_dataset` – any of them, recognised by content.

Text and IDX may be plain or .gz, .bz2, .xz. Bad input is an :class:`~svmreduce.errors.InputError` that names
file, line and column.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import warnings
from codecs import BOM_UTF8
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from svmreduce.data import cache as parsed_files
from svmreduce.data import libsvm_text
from svmreduce.data.chunks import shown
from svmreduce.data.columnar import ColumnarFiles, columnar_files
from svmreduce.data.columns import Table
from svmreduce.data.files import Source, open_maybe_compressed, read_bytes
from svmreduce.data.labels import task_of
from svmreduce.data.libsvm_text import write_libsvm
from svmreduce.data.npy_pairs import NPY_MAGIC, NpyPair
from svmreduce.data.preparation import Choices, Preparation
from svmreduce.data.table_text import TextFormat, read_text_table
from svmreduce.data.tables import read_table, read_tables
from svmreduce.errors import InputError
from svmreduce.memory import check_columns
from svmreduce.rows import best_layout
from svmreduce.types import Dataset, Matrix

__all__ = [
    "load_dataset",
    "load_training",
    "open_maybe_compressed",
    "read_bytes",
    "read_idx",
    "read_libsvm",
    "read_rows",
    "read_table",
    "read_tables",
    "write_libsvm",
]

_LIKE_LABELS = re.compile(rb"[^,;|]*|[-+.\deE,]*\d")  # several labels are LIBSVM text, too, though not supported
_ONLY_PAIR = re.compile(rb"\d+:[-+.\deE]+")
_IDX_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_libsvm(path: str | os.PathLike, *, n_features: int | None = None) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Read LIBSVM text; the result equals that of ``sklearn.datasets.load_svmlight_file``.

    Parameters
    ----------
    path : path
        Plain text, or compressed as .gz, .bz2 or .xz.
    n_features : int, optional
        Columns of the result; a larger index in the file is an error. By default the largest index.

    Returns
    -------
    X : csr_matrix of shape (n_rows, n_features), float64
    y : ndarray of shape (n_rows,), float64
    """
    return _libsvm_from(Source(path), n_features)


def _libsvm_from(source: Source, n_features: int | None, labels: bool | None = True):
    name = str(source.path)
    key = parsed_files.key_of("libsvm" if labels else f"libsvm, labels {labels}", [source.sha256])
    arrays = parsed_files.load(key, libsvm_text.is_whole)
    if arrays is None:
        arrays = libsvm_text.parse_libsvm(source.data, name, labels=labels)
        if len(source.data) >= parsed_files.WORTH_KEEPING:
            parsed_files.store(key, arrays)
    if n_features is not None and libsvm_text.width(arrays) > n_features:
        if not len(arrays["indices"]):
            raise InputError(f"{name}: n_features={n_features} is too small; give at least 1")
        libsvm_text.parse_libsvm(source.data, name, max_index=n_features, labels=labels)  # stops at the place
    check_columns(n_features or libsvm_text.width(arrays), name)
    return libsvm_text.to_csr(arrays, n_features)


def read_idx(path: str | os.PathLike) -> np.ndarray:
    """Read an array in IDX format: two zero bytes, a type, a number of axes, their lengths, the values."""
    return _idx_from(read_bytes(path), path)


def _idx_from(data: bytes, path: str | os.PathLike) -> np.ndarray:
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _IDX_TYPES:
        raise InputError(f"{path}: begins with {shown(data[:4])}, which is not an IDX magic number; give an IDX file")
    values_at = 4 + 4 * data[3]
    shape = tuple(np.frombuffer(data[4:values_at], ">u4", (min(len(data), values_at) - 4) // 4).tolist())
    dtype = np.dtype(_IDX_TYPES[data[2]])
    expected = values_at + math.prod(shape) * dtype.itemsize
    if len(shape) != data[3] or len(data) != expected:
        raise InputError(
            f"{path}: {len(data)} bytes where the IDX header asks for {expected} (shape {shape}); get the file again"
        )
    return np.frombuffer(data, dtype, offset=values_at).reshape(shape).astype(dtype.newbyteorder("="))


def read_rows(
    path: str | os.PathLike, *, n_features: int | None = None, header: bool | None = None, no_label: bool = False
) -> Table | Dataset:
    """Read a file of any supported format, recognised by its content, as it is; ``y`` is None without labels.

    IDX is known by its magic number (the labels are then expected next to the images, under MNIST's names),
    Parquet, Arrow and ``.npy`` by theirs, LIBSVM text by its ``index:value`` pairs; anything else is a table.

    Parameters
    ----------
    path : path
    n_features : int, optional
        Columns of the matrix; only LIBSVM text leaves this open.
    header : bool, optional
        Whether the first line of a table names its columns.
    no_label : bool
        Leave labels out where LIBSVM text has any. Without it, the first row shows whether there are labels.
    """
    source = Source(path)
    kind = sniff(source.path)
    X: Matrix
    if kind == "columnar":
        return ColumnarFiles(path).whole()
    if kind == "npy":
        rows = NpyPair(path).part()
        check_width(path, rows.n_features, n_features)
        return replace(rows, X=best_layout(rows.X), sha256=source.sha256)
    if kind == "table":
        table = read_text_table(source, TextFormat(header=header))
        for note in table.notes:
            warnings.warn(note, stacklevel=2)
        return table
    if kind == "libsvm":
        labels = None if no_label else not libsvm_text.lacks_labels(source.data)
        X, y = _libsvm_from(source, n_features, labels)
    else:
        images = _idx_from(source.data, source.path)
        X, y = images.reshape(len(images), -1), read_idx(_idx_labels_path(source.path)).astype(np.float64)
        if len(y) != len(X):
            raise InputError(f"{path}: {len(X)} images but {len(y)} labels; get both files again")
        check_width(path, X.shape[1], n_features)
    return Dataset(best_layout(X), y, str(path), "classification" if y is None else task_of(y), source.sha256)


def load_training(
    path: str | os.PathLike,
    choices: Choices | None = None,
    *,
    n_features: int | None = None,
    task: str | None = None,
) -> tuple[Dataset, Preparation]:
    """Training rows, and the preparation learned from them, which other rows must go through, too.

    ``load_model(…)`` and :meth:`~svmreduce.data.preparation.Preparation.new` prepare rows to be predicted.
    """
    if task not in (None, "classification", "regression"):
        raise InputError(f"task={task!r} is unknown; use 'classification' or 'regression'")
    choices = choices or Choices()
    raw = read_rows(path, n_features=n_features, header=choices.header, no_label=choices.no_label)
    data, preparation = Preparation.learn(raw, choices, task)
    check_width(path, data.n_features, n_features)
    return replace(data, sha256=data.sha256 or _content_hash(path)), preparation


def _content_hash(path: str | os.PathLike) -> str:
    if not Path(path).is_dir():
        return Source(path).sha256
    return hashlib.sha256("".join(Source(file).sha256 for file in columnar_files(path)).encode()).hexdigest()


def load_dataset(
    path: str | os.PathLike,
    *,
    n_features: int | None = None,
    task: str | None = None,
    name: str | None = None,
    label: int | str | None = None,
) -> Dataset:
    """Load a file of any supported format as rows of numbers, with the categories of this file alone.

    To predict other tables with a model of this one, use :func:`load_training`.

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
    data, _ = load_training(path, Choices(label=label), n_features=n_features, task=task)
    plain = Path(path).name.removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")
    return replace(data, name=plain if name is None else name)


def check_width(path: str | os.PathLike, width: int, n_features: int | None) -> None:
    """Only LIBSVM text leaves the number of columns open; a different one is an error for other files."""
    if n_features is not None and width != n_features:
        raise InputError(f"{path}: {width} columns, not n_features={n_features}; leave n_features out")


def sniff(path: Path) -> str:
    """The reader for a file, chosen by its first bytes or by the first line that decides."""
    if path.is_dir() or columnar_files(path):
        return "columnar"
    with open_maybe_compressed(path) as stream:
        line, marked = stream.readline(1 << 16).removeprefix(BOM_UTF8), b""
        has_numbers = False
        if line.startswith(NPY_MAGIC):
            return "npy"
        if line[:2] == b"\0\0" and line[2:3] and line[2] in _IDX_TYPES:
            return "idx"
        while line:
            tokens = line.partition(b"#")[0].split()
            if len(tokens) > 1:
                return "libsvm" if b":" in tokens[1] and _LIKE_LABELS.fullmatch(tokens[0]) else "table"
            if tokens and _ONLY_PAIR.fullmatch(tokens[0]):
                return "libsvm"
            if tokens and (b"," in tokens[0] or b";" in tokens[0] or tokens[0].strip(b"+-.0123456789eE")):
                return "table"
            marked = marked or line.strip() if line.lstrip().startswith(b"#") else marked
            has_numbers |= bool(tokens)
            line = stream.readline(1 << 16)
    if re.search(rb"[,;|\t]", marked) and not has_numbers:
        return "table"  # every line begins with #, as a list of colours does
    return "libsvm"  # labels only, or nothing at all


def _idx_labels_path(images: Path) -> Path:
    labels = images.with_name(images.name.replace("images", "labels").replace("idx3", "idx1"))
    if labels == images:
        raise InputError(f"{images}: an IDX file without 'images' in its name; use read_idx for bare arrays")
    return labels
