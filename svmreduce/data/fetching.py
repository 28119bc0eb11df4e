"""Files of the catalogue: where they are, how they are downloaded and verified.

A file is looked for in the mirror (the folder ``SVMREDUCE_MIRROR``), then among earlier downloads, then
at its public address; plain, .xz, .gz and .bz2 files are all accepted.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from svmreduce.data.cards import Card, FileCard, SplitCard
from svmreduce.data.files import Source
from svmreduce.errors import DataMissing, InputError
from svmreduce.paths import cache_home

SUFFIXES = ("", ".xz", ".gz", ".bz2")


def mirror() -> Path | None:
    """The folder that ``SVMREDUCE_MIRROR`` names, if it is set."""
    given = os.environ.get("SVMREDUCE_MIRROR")
    if given and not Path(given).is_dir():
        raise InputError(f"SVMREDUCE_MIRROR is {given}, which is not a folder: correct or unset it")
    return Path(given) if given else None


def downloads() -> Path:
    """Where downloaded files are kept."""
    return cache_home() / "datasets"


def locate(card: Card, split: str | None = None) -> Path | None:
    """Where the file of a split is on this machine, without any download; None if it is not here."""
    _, part = card.split(split)
    part = card.splits[part.part_of] if part.part_of else part
    return next((path for file in _candidates(part) if (path := _find(file.file))), None)


def _find(file: str) -> Path | None:
    folders = [folder for folder in (mirror(), downloads()) if folder]
    paths = (folder / (file + suffix) for folder in folders for suffix in SUFFIXES)
    return next((path for path in paths if path.is_file()), None)


def _candidates(part: SplitCard) -> list[FileCard]:
    own = FileCard(file=part.file, url=part.url, sha256=part.sha256)
    return [own, part.download] if part.download else [own]


def obtain(card: Card, part: SplitCard, trust: bool) -> tuple[Path, FileCard]:
    """The file of a split in the first form that is here or can be downloaded, and which form it is."""
    return obtain_file(card, _candidates(part), trust)


def obtain_file(card: Card, candidates: list[FileCard], trust: bool) -> tuple[Path, FileCard]:
    """The first of these files that is here, else the first that can be downloaded."""
    for file in candidates:
        path = _find(file.file)
        if path:
            return _verified(card, file, path, trust), file
    file = next((file for file in candidates if file.url), candidates[0])
    return _downloaded(card, file, trust), file


def _downloaded(card: Card, file: FileCard, trust: bool) -> Path:
    """The public copy, which takes its place among the downloads only after its checksum was verified."""
    downloads().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=downloads()) as aside:
        found = _verified(card, file, _download(card, file, Path(aside)), trust, file.url)
        return found.replace(downloads() / found.name)


def _download(card: Card, file: FileCard, folder: Path) -> Path:
    import pooch  # its import costs more than most commands take

    if not file.url:
        raise _missing(card, file, f"it has no download address; see {card.home}")
    suffix = next((s for s in SUFFIXES[1:] if file.url.endswith(s)), "")
    pooch.get_logger().setLevel("WARNING")
    try:
        found = pooch.retrieve(
            file.url,
            known_hash=None,  # we check it, uncompressed
            fname=file.file + suffix,
            path=folder,
            progressbar=sys.stderr.isatty(),
        )
    except (OSError, ValueError) as error:
        said = " ".join(str(error).split())
        reason = said if len(said) < 120 else type(error).__name__  # connection errors are long
        raise _missing(card, file, f"the download of {file.url} failed ({reason})") from None
    return Path(found)


def _missing(card: Card, file: FileCard, reason: str) -> DataMissing:
    named = mirror()
    folder = f"{named} (SVMREDUCE_MIRROR)" if named else "a folder that SVMREDUCE_MIRROR names"
    return DataMissing(
        f"{card.name}: no file {file.file} here, and {reason}: "
        f"put {file.file} (plain, .xz, .gz or .bz2) into {folder} or into {downloads()}"
    )


def _verified(card: Card, file: FileCard, path: Path, trust: bool, name: object = None) -> Path:
    if file.sha256 is None:
        return path
    found = content_hash(path)
    if found == file.sha256 or _accepted(found, add=trust):
        return path
    raise InputError(
        f"{card.name}: {name or path} has the sha256 {found}, the card says {file.sha256} (both uncompressed): "
        "get the file again, or accept this one with --trust"
    )


def content_hash(path: Path) -> str:
    """The sha256 of the uncompressed content, remembered while the file does not change."""
    return Source(path).sha256


def _accepted(sha256: str, *, add: bool) -> bool:
    """Whether the user has accepted this content before, or does so now."""
    note = downloads() / "trusted.json"
    known: list[str] = []
    with suppress(OSError, ValueError):
        known = json.loads(note.read_text())
    if add and sha256 not in known:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps([*known, sha256]))
    return add or sha256 in known
