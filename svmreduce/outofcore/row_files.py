"""Rows in plain files, appended in any order and read in sections: the partitions of a work folder.

A partition is a few files of numbers without headers: dense rows one after the other, or for sparse rows their lengths,
columns and values; and a whole number for every row: its place in the source, or its class. Buffers are bounded,
whatever the number of partitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy import sparse

from svmreduce.types import Matrix

BUFFER_BYTES = 96 << 20
_DENSE = {"rows": np.float64, "numbers": np.int64}
_SPARSE = {"lengths": np.int32, "columns": np.int32, "values": np.float64, "numbers": np.int64}


class RowFiles:
    """Files of rows below a folder, one set of them per name.

    Parameters
    ----------
    folder : path
    width : int
        Columns of the rows.
    is_sparse : bool
    """

    def __init__(self, folder: Path, width: int, is_sparse: bool):
        self.folder, self.width, self.is_sparse = folder, width, is_sparse
        self.kinds = _SPARSE if is_sparse else _DENSE
        self.rows: dict[str, int] = {}
        self._buffers: dict[tuple[str, str], list[np.ndarray]] = {}
        self._buffered = 0

    def append(self, X: Matrix, numbers: np.ndarray, names: Iterable[str], edges: np.ndarray) -> None:
        """Rows edges[k] to edges[k+1] go to the k-th name."""
        for name, start, stop in zip(names, edges[:-1], edges[1:], strict=True):
            if start == stop:
                continue
            self.rows[name] = self.rows.get(name, 0) + int(stop - start)
            part = {"numbers": numbers[start:stop]}
            if self.is_sparse:
                low, high = X.indptr[start], X.indptr[stop]
                part["lengths"] = np.diff(X.indptr[start : stop + 1])
                part["columns"], part["values"] = X.indices[low:high], X.data[low:high]
            else:
                part["rows"] = X[start:stop]
            for kind, values in part.items():
                self._buffers.setdefault((name, kind), []).append(values.astype(self.kinds[kind], copy=False))
                self._buffered += values.nbytes
        if self._buffered > BUFFER_BYTES:
            self.flush()

    def flush(self) -> None:
        for (name, kind), arrays in self._buffers.items():
            with open(self._path(name, kind), "ab") as file:
                for values in arrays:
                    file.write(np.ascontiguousarray(values).data)
        self._buffers, self._buffered = {}, 0

    def read(self, name: str, start: int, stop: int) -> tuple[Matrix, np.ndarray]:
        """Rows start to stop of a name, and their numbers."""
        numbers = self._values(name, "numbers", start, stop)
        if not self.is_sparse:
            cells = self._values(name, "rows", start * self.width, stop * self.width)
            return cells.reshape(stop - start, self.width), numbers
        ends = np.cumsum(self._values(name, "lengths", 0, stop), dtype=np.int64)
        indptr = np.concatenate([[ends[start - 1] if start else 0], ends[start:]])
        values, columns = (self._values(name, kind, indptr[0], indptr[-1]) for kind in ("values", "columns"))
        indptr = (indptr - indptr[0]).astype(np.int32)
        return sparse.csr_matrix((values, columns, indptr), shape=(stop - start, self.width)), numbers

    def _values(self, name: str, kind: str, start: int, stop: int) -> np.ndarray:
        dtype = np.dtype(self.kinds[kind])
        count = int(stop) - int(start)
        found = np.fromfile(self._path(name, kind), dtype, count, offset=int(start) * dtype.itemsize)
        if len(found) != count:
            raise OSError(None, f"{self._path(name, kind)}: is shorter than it was written; remove the work folder")
        return found

    def _path(self, name: str, kind: str) -> Path:
        return self.folder / f"{name}.{kind}"

    def remove(self) -> None:
        self.rows, self._buffers, self._buffered = {}, {}, 0
        for kind in self.kinds:
            for path in self.folder.glob(f"*.{kind}"):
                path.unlink(missing_ok=True)
