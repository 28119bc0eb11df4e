"""The records of a run: one JSON object per line, appended and never rewritten.

A run folder holds ``records.jsonl``, ``plan.json``, ``config.yaml`` and ``lock``. The plan says which records belong
to the experiment as it is now, and under which names; records of other settings stay in the file and are counted,
never mixed in. One writer at a time appends to the records and flushes each line to disk before it goes on, so a kill
at any moment costs only the fits in progress. Readers take no lock and write nothing; a line that was cut off is
counted and skipped.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from svmreduce.data.files import write_whole
from svmreduce.errors import InputError
from svmreduce.experiments.recorded_run import CONFIG, Run
from svmreduce.experiments.records import Record, check_fields
from svmreduce.strict_json import dumps

RECORDS = "records.jsonl"
LOCK = "lock"
PLAN = "plan.json"


class NothingRecorded(InputError):
    """There is no run at this place, or it has no record."""


class StoreError(OSError):
    """A record could not be written; every earlier one is safe."""


def read(path: str | os.PathLike, *, planned_only: bool = True) -> Run:
    """The records of a run folder or of a .jsonl file; it is an error to find none.

    Of a folder these are the records that its plan has, with the plan's names for data sets and methods.
    """
    path = Path(path)
    file = path / RECORDS if path.is_dir() else path
    if not file.exists():
        what = f"has no {RECORDS}" if path.is_dir() else "no such run folder or record file"
        raise NothingRecorded(f"{path}: {what}; check the name, or run the experiment first (svmreduce run CONFIG)")
    latest: dict[str, Record] = {}
    unreadable = 0
    for line in file.read_bytes().split(b"\n"):
        if not line.strip():
            continue
        record = _parsed(line)
        if record is None:
            unreadable += 1
        else:
            latest.pop(record.id, None)  # the newest comes last
            latest[record.id] = record
    if not latest:
        what = f"no record among its {unreadable} lines" if unreadable else "is empty"
        raise NothingRecorded(f"{file}: {what}; run the experiment again (svmreduce run CONFIG)")
    plan = _plan_beside(file) if path.is_dir() and planned_only else None
    if plan is None:
        return Run(list(latest.values()), unreadable, file)
    common = {key: plan.get(key) for key in ("experiment", "scale", "baseline")}
    found = [latest[entry["id"]].renamed(entry | common) for entry in plan["tasks"] if entry["id"] in latest]
    other = len(latest.keys() - {entry["id"] for entry in plan["tasks"]})
    if not found:
        what = f"none of its {len(plan['tasks'])} planned records is there yet, only {other} of other settings"
        raise NothingRecorded(f"{path}: {what}; run the experiment again (svmreduce run CONFIG)")
    return Run(found, unreadable, file, other, len(plan["tasks"]) - len(found))


def _plan_beside(file: Path) -> dict | None:
    path = file.with_name(PLAN)
    try:
        plan = json.loads(path.read_bytes())
        if not all(isinstance(plan[key], str | None) for key in ("experiment", "scale", "baseline")):
            raise ValueError
        if not isinstance(plan["tasks"], list):
            raise ValueError
        for entry in plan["tasks"]:
            check_fields(entry | {"id": entry["id"]})  # every task has one
        return plan
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{path}: is damaged; run the experiment again, which writes it") from None


_DECODER = json.JSONDecoder(parse_constant=lambda name: None)  # NaN written by another program


def _parsed(line: bytes) -> Record | None:
    """The record on this line, or None if it holds none."""
    try:
        return Record.from_json(_DECODER.decode(line.decode().strip()))
    except (ValueError, RecursionError):  # also invalid UTF-8
        return None


class Store:
    """The one writer of a run folder.

    Opening takes the folder's lock; for a second opener, here or in another process, the error names the holder. The
    lock is the kernel's: it ends with the process, however that ends, and a file left behind blocks nobody.

    Examples
    --------
    >>> with Store("results/runs/smoke") as store:  # doctest: +SKIP
    ...     store.append(record)
    """

    def __init__(self, folder: str | os.PathLike):
        self.folder = Path(folder)
        self.path = self.folder / RECORDS
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.folder)
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError:
            os.close(self._lock)
            raise

    def write_plan(self, plan: dict) -> None:
        """What the experiment consists of from now on."""
        self._write_whole(PLAN, dumps(plan))

    def write_config(self, text: str) -> None:
        self._write_whole(CONFIG, text)

    def _write_whole(self, name: str, text: str) -> None:
        with write_whole(self.folder / name) as file:
            file.write(text.encode("utf-8", "backslashreplace"))

    def append(self, record: Record) -> None:
        """Add one record; when this returns, it is on the disk."""
        line = dumps(record.to_json()).encode() + b"\n"
        end = os.fstat(self._file).st_size
        if end and os.pread(self._file, 1, end - 1) != b"\n":
            line = b"\n" + line  # what a killed writer left stays a broken line by itself
        try:
            _write_all(self._file, line)
            os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(
                OSError
            ):  # if this fails as well, half a line stays, and the next one starts a new line
                os.ftruncate(self._file, end)
            text = f"{error.strerror}; all earlier records are safe: fix this and start the same run again"
            raise StoreError(error.errno, text, str(self.path)) from error

    def close(self) -> None:
        os.close(self._file)
        with contextlib.suppress(OSError):
            os.ftruncate(self._lock, 0)
        os.close(self._lock)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception) -> None:
        self.close()


def _write_all(file: int, data: bytes) -> None:
    """Write all bytes: a disk that fills up accepts a part first and fails only on the rest."""
    while data:
        data = data[os.write(file, data) :]


def _locked(folder: Path) -> int:
    """The open lock file of a run folder, held until it is closed."""
    import fcntl  # Unix only, and readers can do without

    path = folder / LOCK
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        holder = {"pid": os.getpid(), "host": platform.node(), "since": now()}
        os.ftruncate(lock, 0)
        os.pwrite(lock, dumps(holder).encode() + b"\n", 0)
    except BlockingIOError:
        holder = _holder(lock)
        os.close(lock)
        raise InputError(
            f"{folder}: {holder} is writing to this run; wait until it ends, or stop it, then start again"
        ) from None
    except OSError as error:
        os.close(lock)
        raise StoreError(error.errno, f"cannot be locked ({error.strerror}); use another folder", str(path)) from error
    return lock


def _holder(lock: int) -> str:
    try:
        holder = json.loads(os.pread(lock, 4096, 0))
        return f"process {holder['pid']} on {holder['host']}, since {holder['since']},"
    except (ValueError, KeyError, TypeError):  # it has only just taken the lock
        return "another process"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
