"""Parquet and Arrow files, or folders of them, as tables in pieces; and Parquet written block by block.

pyarrow does the reading. It is an optional dependency, so it is imported where it is needed.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import numpy as np

from svmreduce.data.columns import Table, WordCells, numbers_among
from svmreduce.data.files import write_whole
from svmreduce.errors import DataWarning, InputError, note
from svmreduce.label_keys import one_spelling
from svmreduce.memory import check_memory
from svmreduce.printable import listed

_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}  # the last begins a stream of batches
_SUFFIXES = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
_INDEX = re.compile(r"__index_level_\d+__")  # the names of rows, which pandas writes beside the columns
NUMBERS, WORDS = "numbers", "words"


def columnar_files(path: str | os.PathLike) -> list[Path]:
    """The Parquet or Arrow files that a path means, in the order of their names; none for another kind of file."""
    path = Path(path)
    if path.is_dir():
        return sorted(file for file in _visible(path) if file.suffix.lower() in _SUFFIXES)
    return [path] if path.is_file() and _kind(path) else []


def _visible(folder: Path) -> list[Path]:
    """Without what other programs put there for themselves, such as ``_SUCCESS``."""
    return [file for file in folder.iterdir() if file.name[0] not in "._"]


def _kind(path: Path) -> str | None:
    try:
        with open(path, "rb") as file:
            start = file.read(8)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)


def pyarrow():
    """The library, or one line that says how to get it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError('Parquet and Arrow files need pyarrow: pip install "svmreduce[large]"') from None
    return pyarrow


@contextmanager
def _reading(path: Path):
    try:
        yield
    except (pyarrow().ArrowException, OSError) as error:
        why = " ".join(str(error).split())[:160]
        raise InputError(f"{path}: damaged, or not a Parquet or Arrow file ({why}); write or get it again") from None


class ColumnarFiles:
    """Files with the same columns, one after the other.

    Parameters
    ----------
    path : path
        A file, or a folder whose files with the suffixes .parquet, .pq, .arrow, .feather and .ipc are meant.
    """

    def __init__(self, path: str | os.PathLike):
        self.path, self.files = Path(path), columnar_files(path)
        if not self.files:
            raise InputError(f"{path}: is a folder without {', '.join(_SUFFIXES)} files; name one with them, or a file")
        self.columns = self._columns_of(self.files[0])
        for file in self.files[1:]:
            self._check_equal(file)

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    def _columns_of(self, file: Path) -> dict[str, str]:
        """What each column holds: numbers, words, or the name of another type."""
        with _reading(file), self._opened(file) as opened:
            schema = opened.schema_arrow if _kind(file) == "parquet" else opened.schema
        twice = [name for name in schema.names if schema.names.count(name) > 1]
        if twice:
            raise InputError(f"{file}: two columns are named {twice[0]!r}; rename one")
        own = [field for field in schema if not _INDEX.fullmatch(field.name)] or schema
        return {field.name: _kind_of_type(field.type) for field in own}

    def _check_equal(self, file: Path) -> None:
        own, first = self._columns_of(file), self.files[0].name
        missing, more = self.columns.keys() - own.keys(), own.keys() - self.columns.keys()
        if missing or more:
            what = f"no column {sorted(missing)[0]!r}" if missing else f"a column {sorted(more)[0]!r}"
            raise InputError(f"{file}: has {what}, unlike {first}; give all files of a folder the same columns")
        for name, kind in own.items():
            if kind != self.columns[name]:
                raise InputError(
                    f"{file}: column {name!r} has {kind}, in {first} it has {self.columns[name]}; give it the same "
                    "type in all files"
                )

    @contextmanager
    def _opened(self, file: Path):
        pa = pyarrow()
        if _kind(file) == "parquet":
            with pa.parquet.ParquetFile(file, pre_buffer=False, page_checksum_verification=True) as opened:
                yield opened
            return
        with pa.OSFile(str(file)) as source:
            is_file = file.stat().st_size >= 6 and source.read(6) == b"ARROW1"
            source.seek(0)
            yield pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)

    @cached_property
    def n_rows(self) -> int | None:
        """None where only reading them would tell: for Arrow files."""
        total = 0
        for file in self.files:
            if _kind(file) != "parquet":
                return None
            with _reading(file), self._opened(file) as opened:
                total += opened.metadata.num_rows
        return total

    def tables(self, rows: int, names: list[str] | None = None) -> Iterator[Table]:
        """These columns, all if not given, of at most so many rows at a time."""
        self._warn_of_others()
        chosen = self._all_names() if names is None else names
        for file in self.files:
            row = 0
            for batch in self._batches(file, rows, chosen):
                yield _as_table(batch, self.path, file, chosen, row)
                row += batch.num_rows

    def whole(self) -> Table:
        """All rows at once."""
        self._warn_of_others()
        names, pa = self._all_names(), pyarrow()
        what = f"{self.path}: {self.n_rows} rows of {len(names)} columns"
        check_memory(24.0 * (self.n_rows or 0) * len(names), what, "give fewer rows")
        batches = [batch for file in self.files for batch in self._batches(file, 1 << 17, names)]
        if not batches:
            raise InputError(f"{self.path}: no rows; give a table with rows")
        try:
            tables = [_booleans_as_numbers(pa.Table.from_batches([batch])) for batch in batches]
            joined = pa.concat_tables(tables, promote_options="permissive")
        except pa.ArrowException as error:
            why = " ".join(str(error).split())[:160]
            raise InputError(f"{self.path}: give every column the same type in all files ({why})") from None
        with _reading(self.path):
            return _as_table(joined, self.path, self.path, names, 0, is_part=False)

    def _warn_of_others(self) -> None:
        """Rows in files that are not read would be missed in silence."""
        others = sorted({*_visible(self.path)} - {*self.files}) if self.path.is_dir() else []
        if others:
            names = listed(file.name for file in others)
            text = f"{self.path}: only its {', '.join(_SUFFIXES)} files are read, not {names}"
            warnings.warn(text, DataWarning, stacklevel=3)

    def _all_names(self) -> list[str]:
        other = [f"{name} ({kind})" for name, kind in self.columns.items() if kind not in (NUMBERS, WORDS)]
        if other:
            note(f"{self.path}: columns that hold neither numbers nor words are read as words, or as empty where that "
                 f"is impossible: {listed(other)}")  # fmt: skip
        return self.names

    def _batches(self, file: Path, rows: int, names: list[str]) -> Iterator:
        with _reading(file), self._opened(file) as opened:
            if _kind(file) == "parquet":
                yield from (batch.select(names) for batch in opened.iter_batches(rows, columns=names))
                return
            count = getattr(opened, "num_record_batches", None)
            whole = opened if count is None else map(opened.get_batch, range(count))
            for batch in whole:
                batch = batch.select(names)
                yield from (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))


def _booleans_as_numbers(table):
    """Other files of the folder may have 0 and 1 instead."""
    pa = pyarrow()
    for place, field in enumerate(table.schema):
        if pa.types.is_boolean(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.int8()))
    return table


def _kind_of_type(kind) -> str:
    types = pyarrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return WORDS
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
    return NUMBERS if is_number or types.is_null(kind) else str(kind)


def _as_table(batch, path: Path, file: Path, names: list[str], first_row: int, is_part: bool = True) -> Table:
    values, words = np.empty((batch.num_rows, len(names))), {}
    with _reading(file):
        for k, column in enumerate(batch.columns):
            values[:, k], cells = _cells_of(column)
            words |= {k: cells} if cells else {}

    def place(row: int, column: int) -> str:
        return f"{file}, row {first_row + row}, column {names[column]!r}"

    return Table(str(path), names, values, words, place, is_part=is_part)


def _cells_of(column) -> tuple[np.ndarray, WordCells | None]:
    """A column as numbers, and its cells that are none: words, and gaps as empty words."""
    pa = pyarrow()
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if _kind_of_type(column.type) != NUMBERS:
        try:
            coded = column.cast(pa.large_string()).dictionary_encode()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists, say
            coded = pa.nulls(len(column), pa.large_string()).dictionary_encode()
        found = [*(one_spelling(word) for word in coded.dictionary.to_pylist()), ""]
        codes = coded.indices.fill_null(len(found) - 1).to_numpy(zero_copy_only=False)
        values = numbers_among(found)[codes]
    else:
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        codes, found = np.zeros(len(values), np.int8), [""]
    rows = np.flatnonzero(np.isnan(values))
    return values, WordCells(rows, codes[rows].astype(np.intp), found) if len(rows) else None


def write_parquet(path: str | os.PathLike, blocks: Iterable[tuple[np.ndarray, np.ndarray]]) -> None:
    """Write blocks of dense rows as they come: columns x1, x2, … and label. The file appears when it is complete."""
    pa, writer = pyarrow(), None
    with write_whole(path) as stream:
        for X, y in blocks:
            names = [*(f"x{k}" for k in range(1, X.shape[1] + 1)), "label"]
            if writer is None:
                label = pa.string() if y.dtype.kind == "U" else pa.float64()
                schema = pa.schema([*((name, pa.float64()) for name in names[:-1]), ("label", label)])
                writer = pa.parquet.ParquetWriter(
                    stream, schema, use_dictionary=["label"], write_statistics=False, write_page_checksum=True
                )
            columns = [pa.array(np.ascontiguousarray(column)) for column in X.T]
            writer.write_table(pa.table([*columns, pa.array(y).cast(label)], schema=schema))
        if writer is not None:
            writer.close()
