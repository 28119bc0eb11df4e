"""The folder of work out of core: what is done is in files that appear whole, so that a killed run goes on.

``plan.json`` is written after the first pass, ``partitions.json`` after the second, and a result after each partition.
All of it belongs to one source and one set of parameters, which the plan names.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np

from svmreduce.data.files import write_whole
from svmreduce.errors import InputError
from svmreduce.strict_json import dumps

try:
    import fcntl
except ImportError:  # not available on Windows
    fcntl = None

IDENTITY = "identity.json"


class WorkFolder:
    """A folder that one process at a time works in.

    Parameters
    ----------
    path : folder; made if it is not there
    identity : dict
        What must be equal for results to be used again.

    Raises
    ------
    InputError
        When the folder belongs to other data or parameters, holds other files, or another process works in it.
    """

    def __init__(self, path: str | os.PathLike, identity: dict):
        self.path = Path(path).absolute()
        if not (self.path / IDENTITY).exists() and self._others():
            raise InputError(f"{self.path}: is not empty; name another folder by --work")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = open(self.path / "lock", "a")  # noqa: SIM115 - closed by close
            if fcntl:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{self.path}: another process works in this folder; wait for it, or name another by "
                             "--work") from None  # fmt: skip
        except OSError as error:
            raise InputError(f"{self.path}: cannot be used as work folder ({error.strerror}); name another by "
                             "--work") from None  # fmt: skip
        known = self.read_json(IDENTITY)
        self.is_resumed = known == identity
        if not self.is_resumed and self._others():
            self._lock.close()
            raise InputError(f"{self.path}: holds the work of another command (other data or parameters); remove it, "
                             "or name another folder by --work")  # fmt: skip
        if not self.is_resumed:
            self.write_json(IDENTITY, identity)

    def _others(self) -> set[str]:
        """What is there and was not left by a run that was killed before it had begun."""
        names = {entry.name for entry in self.path.iterdir()} if self.path.is_dir() else set()
        return {name for name in names if not name.startswith(f".{IDENTITY}.")} - {"lock"}

    def read_json(self, name: str) -> dict | None:
        try:
            return json.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            raise InputError(f"{self.path / name}: is damaged; remove the folder and start again") from None

    def write_json(self, name: str, content: dict) -> None:
        with write_whole(self.path / name) as file:
            file.write(dumps(content).encode())

    def check_space(self, needed: float) -> None:
        """Refuse what does not fit before it is begun."""
        free = shutil.disk_usage(self.path).free
        if needed > free:
            raise InputError(f"{self.path}: the partitions need {needed / 2**30:.2f} GB on the disk, "
                             f"{free / 2**30:.2f} GB are free: name a folder elsewhere by --work")  # fmt: skip

    def close(self, *, remove: bool = False) -> None:
        """Leave the folder as it is for the next run, or remove it."""
        self._lock.close()
        if remove:
            shutil.rmtree(self.path, ignore_errors=True)


def save_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """A file of arrays with checksums, which appears under its name only when it is complete."""
    with write_whole(path) as file:
        np.savez(file, **arrays)


def load_arrays(path: Path) -> dict[str, np.ndarray] | None:
    """The arrays of such a file; None if it is not there, or damaged."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    except FileNotFoundError:
        return None
    except Exception:  # a damaged file can raise anything; the remedy is to make it again
        path.unlink(missing_ok=True)
        return None


def disk_error(folder: Path, error: OSError) -> InputError:
    """One line for a disk that fails."""
    if error.errno == errno.ENOSPC:
        return InputError(f"{folder}: the disk is full; make room, or name a folder elsewhere by --work")
    return InputError(f"{folder}: {error.strerror or error}; check the folder, or name another by --work")
