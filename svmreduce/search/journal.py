"""What a search has done, kept in a file that is only ever appended to: one line per gamma and fold.

Every line begins with a checksum of the rest. A line that was damaged, or cut off by the end of a process, does not
count, and what it held is computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from pathlib import Path

import numpy as np
from scipy import sparse

from svmreduce.errors import InputError
from svmreduce.search.fold_paths import PathResult


class Journal:
    """Results by gamma, epsilon, fold and the list of C.

    Parameters
    ----------
    path : file; made if it is not there
    identity : what must be equal for results to be used again (data, folds, kernel, tolerance …)

    Raises
    ------
    InputError
        When the file belongs to another search.
    """

    def __init__(self, path: str | os.PathLike, identity: dict):
        self.path = Path(path)
        head = json.dumps(identity, sort_keys=True).encode()
        self._results: dict[str, PathResult] = {}
        text = self.path.read_bytes() if self.path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        lines = [line[9:] for line in whole.split(b"\n") if line == _signed(line[9:])]
        if lines[:1] != [head] and not _signed(head).startswith(text):
            raise InputError(f"{self.path}: is of another search (other data or settings); remove it or name another")
        for line in (line for line in lines if line != head):
            entry = json.loads(line)
            self._results[entry["key"]] = PathResult(**entry["result"])
        self._file = open(self.path, "ab")  # noqa: SIM115 - closed by close
        self._file.truncate(len(whole))
        if not lines:
            self._write(head)

    @property
    def known(self) -> int:
        return len(self._results)

    def find(self, gamma: float, epsilon: float, fold: int, C: np.ndarray) -> PathResult | None:
        return self._results.get(_key(gamma, epsilon, fold, C))

    def append(self, gamma: float, epsilon: float, fold: int, C: np.ndarray, result: PathResult) -> None:
        if len(result.scores) == len(C):
            key = _key(gamma, epsilon, fold, C)
            self._write(json.dumps({"key": key, "result": vars(result)}).encode())
            self._results[key] = result

    def _write(self, line: bytes) -> None:
        self._file.write(_signed(line) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self, *, remove: bool = False) -> None:
        self._file.close()
        if remove:
            self.path.unlink(missing_ok=True)


def fingerprint(X, y: np.ndarray) -> str:
    """A short name for these rows and labels."""
    digest = hashlib.sha256(repr((X.shape, np.asarray(y).tolist())).encode())
    for part in (X.data, X.indices, X.indptr) if sparse.issparse(X) else (np.ascontiguousarray(X),):
        digest.update(part.tobytes())
    return digest.hexdigest()[:16]


def _signed(line: bytes) -> bytes:
    return b"%08x %s" % (zlib.crc32(line), line)


def _key(gamma, epsilon, fold, C) -> str:
    return json.dumps([float(gamma), float(epsilon), int(fold), [float(value) for value in C]])
