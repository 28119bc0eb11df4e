"""A run in one file that others can check: config, plan, records, environment, and a manifest of hashes.

The manifest has the SHA-256 of every file and of every record, so that a change is found and named. It is no
signature: who makes the archive anew makes the hashes anew, so publish the hash of the archive itself, or re-run a
share of the cells (see ``rerun``).
"""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path

from svmreduce import __version__
from svmreduce.data.files import read_bytes, write_whole
from svmreduce.errors import InputError
from svmreduce.experiments import environment
from svmreduce.experiments.recorded_run import CONFIG, Run
from svmreduce.experiments.store import PLAN, RECORDS
from svmreduce.memory import check_memory
from svmreduce.strict_json import dumps

MANIFEST, LOCK_FILE, MACHINE, CHECKLIST = "manifest.json", "requirements.lock", "environment.json", "CHECKLIST.md"
FORMAT = 1
_NEEDED = (CONFIG, PLAN, RECORDS)


def pack(run: Run, checklist: str, target: str | Path) -> str:
    """Write the archive of a run folder, compressed by its suffix; the SHA-256 of the file."""
    folder = run.path.parent
    if run.path.name != RECORDS or not all((folder / name).is_file() for name in _NEEDED):
        raise InputError(
            f"{run.path}: a bundle needs a run folder with {', '.join(_NEEDED)}; give that of svmreduce run"
        )
    lines = [dumps(record.to_json()).encode() + b"\n" for record in run.records]
    files = {name: read_bytes(folder / name) for name in (CONFIG, PLAN)}
    files |= {RECORDS: b"".join(lines), CHECKLIST: checklist.encode(), LOCK_FILE: _installed().encode()}
    files[MACHINE] = dumps(environment.describe()).encode() + b"\n"
    manifest = {
        "format": FORMAT,
        "svmreduce": __version__,
        "files": {name: sha256(content).hexdigest() for name, content in files.items()},
        "records": {record.id: _hash_of(line) for record, line in zip(run.records, lines, strict=True)},
        "data": data_hashes(run),
    }
    files = {MANIFEST: json.dumps(manifest, indent=1).encode() + b"\n"} | files
    with write_whole(target) as stream, tarfile.open(fileobj=stream, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    return sha256(Path(target).read_bytes()).hexdigest()


def data_hashes(run: Run) -> dict[str, str | None]:
    """The SHA-256 of the rows of every data set, as far as it is known."""
    known = {record.dataset: record.environment.get("data_sha256") for record in run.records if record.is_finished}
    return {record.dataset: known.get(record.dataset) for record in run.records}


@dataclass(frozen=True)
class Archive:
    """The files of an archive by name, and its own hash."""

    files: dict[str, bytes]
    sha256: str

    @classmethod
    def read(cls, path: str | Path) -> Archive:
        data = read_bytes(path)
        try:
            with tarfile.open(fileobj=io.BytesIO(data)) as tar:
                members = [member for member in tar if member.isfile()]
                size = sum(member.size for member in members)  # a sparse member may claim any
                check_memory(size, f"{path}: its files", "it is no bundle that could be checked here")
                files = {member.name: tar.extractfile(member).read() for member in members}
            manifest = json.loads(files[MANIFEST])
            if manifest["format"] != FORMAT:
                raise InputError(f"{path}: is of format {manifest['format']!r}, this program reads {FORMAT}")
            if not all(isinstance(manifest[key], dict) for key in ("files", "records", "data")):
                raise ValueError
        except InputError:  # a ValueError, too
            raise
        except (tarfile.TarError, OSError, EOFError, ValueError, KeyError, TypeError, RecursionError):
            raise InputError(f"{path}: is not a bundle, or damaged; give a file of svmreduce bundle") from None
        return cls(files, sha256(Path(path).read_bytes()).hexdigest())

    @property
    def manifest(self) -> dict:
        return json.loads(self.files[MANIFEST])

    def faults(self) -> list[str]:
        """What is not as the manifest says, in words; of the records, which."""
        expected, found = self.manifest["files"], []
        found += [f"{name}: is missing" for name in {*expected, *_NEEDED} - self.files.keys()]
        found += [f"{name}: is not in the manifest" for name in self.files.keys() - expected.keys() - {MANIFEST}]
        changed = [name for name in expected if _hash_of(self.files.get(name)) != expected[name] and name in self.files]
        found += [f"{name}: was changed" for name in changed if name != RECORDS]
        found = sorted(found) + (self._changed_records() if RECORDS in self.files else [])
        return found or [f"{name}: was changed" for name in changed]

    def _changed_records(self) -> list[str]:
        """The lines that are not as the manifest says."""
        left, found = dict(self.manifest["records"]), []
        for number, line in enumerate(self.files[RECORDS].splitlines(keepends=True), start=1):
            try:
                record = json.loads(line)
                name = f"{record['dataset']}, {record['method']}, {record['point']}, fold {record['fold']}, "
                name += f"seed {record['seed']}, repeat {record['repeat']}"
                if left.pop(record["id"], None) != _hash_of(line):
                    found.append(f"{RECORDS}:{number}: was changed: {name}")
            except (ValueError, KeyError, TypeError, RecursionError):
                found.append(f"{RECORDS}:{number}: is not a record")
        return found + [f"{RECORDS}: record {name} is missing" for name in left]

    def unpack(self, folder: Path) -> None:
        """Write what a run folder has."""
        for name in _NEEDED:
            if name in self.files:
                (folder / name).write_bytes(self.files[name])


def _hash_of(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()


def _installed() -> str:
    """Every package of this environment with its version, as pip takes it."""
    found = {(entry.metadata["Name"], entry.version) for entry in distributions() if entry.metadata["Name"]}
    return "".join(f"{name}=={version}\n" for name, version in sorted(found, key=lambda pair: pair[0].casefold()))
