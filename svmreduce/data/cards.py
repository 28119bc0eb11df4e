"""Dataset cards: what a YAML file in ``datasets/`` may say, and where those files are.

A card states facts (files, addresses, checksums, rows, label counts) and the papers' preparations as
named variants. A family card lists its members (a1a … a9a), each of which is a card of its own.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from svmreduce import guarded_yaml
from svmreduce.errors import InputError, nearest_name_error
from svmreduce.label_keys import label_key
from svmreduce.printable import one_line


def _label_keys(value: Any) -> Any:
    return {label_key(key): item for key, item in value.items()} if isinstance(value, dict) else value


def _label_list(value: Any) -> Any:
    return [label_key(item) for item in value] if isinstance(value, list) else value


LabelCounts = Annotated[dict[str, int], BeforeValidator(_label_keys)]
LabelNumbers = Annotated[dict[str, float], BeforeValidator(_label_keys)]
Labels = Annotated[list[str], BeforeValidator(_label_list)]


def _plain_name(value: Any) -> Any:
    """Files lie directly in the folders of the catalogue; a card cannot name one elsewhere."""
    if isinstance(value, str) and (
        value.startswith(".") or not value or set(value) & set("/\\:\0") or value != one_line(value)
    ):
        raise ValueError(f"{value!r} is not a plain file name; leave out folders")
    return value


FileName = Annotated[str, BeforeValidator(_plain_name)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Reader(_Strict):
    """How to read a table; the names are those of ``formats.read_table``."""

    label: int = -1
    separator: str | None = None
    header: bool = False
    drop: list[int] = []
    strip_label: str = ""
    shared_categories: bool = False  # text columns: all files are read together, so that codes agree


class FileCard(_Strict):
    """One file: its uncompressed name, its public address, and its uncompressed checksum."""

    file: FileName
    url: str | None = None
    sha256: str | None = None


class Download(FileCard):
    """The public copy of a file that is kept here in another form (columns moved, labels recoded, …)."""

    url: str
    reader: Reader | None = None
    labels: LabelNumbers = {}  # its labels -> the labels of the card


class Expected(_Strict):
    """What the rows must look like."""

    rows: int | None = None
    label_counts: LabelCounts | None = None


class SplitCard(Expected):
    """One part of the data: a file of its own, or some rows of another part."""

    file: FileName | None = None
    url: str | None = None
    sha256: str | None = None
    label_file: FileCard | None = None  # idx keeps the labels in a second file
    download: Download | None = None
    part_of: str | None = None
    slice: tuple[int, int] | None = None  # rows [first, past the last) of ``part_of``, from 0
    columns: int | None = None  # if the file itself has fewer columns than the data set
    classes: int | None = None
    prepared: dict[str, Expected] = {}  # by variant
    notes: str = ""


class Shifts(_Strict):
    """Square images in a frame: each at every place that is up to ``pixels`` away from the middle."""

    pixels: int = Field(ge=1)
    background: float  # becomes 0, inside the images and around them


class CardSteps(_Strict):
    """The steps between file and rows, in this order; labels are always those of the file."""

    distinct_rows: bool = False
    keep: Labels = []
    positive: Labels = []
    labels: LabelNumbers = {}
    categorical: Literal["codes", "onehot"] = "codes"
    drop_columns: list[int] = []
    shifts: Shifts | None = None
    divide: float | None = None
    scale: str = "none"


class Variant(CardSteps):
    """A preparation with a name, and who asks for it."""

    about: str
    papers: dict[str, str] = {}
    stands_in: dict[str, str] = {}


class Card(_Strict):
    """Everything known about one data set."""

    name: str
    title: str
    aliases: list[str] = []
    papers: dict[str, str] = {}  # paper key -> what the paper calls it
    stands_in: dict[str, str] = {}  # the same for data of a paper that this replaces
    task: Literal["classification", "regression"] = "classification"
    format: Literal["libsvm", "table", "idx"] = "libsvm"
    reader: Reader = Reader()
    features: int
    classes: int | None = None
    home: str
    licence: str
    notes: str = ""
    labels: LabelNumbers = {}
    splits: dict[str, SplitCard] = Field(min_length=1)
    variants: dict[str, Variant] = {}
    variant: str | None = None  # set by load_card("name:variant")

    @property
    def full_name(self) -> str:
        return f"{self.name}:{self.variant}" if self.variant else self.name

    @property
    def preparation(self) -> CardSteps:
        return self.variants[self.variant] if self.variant else CardSteps()

    def split(self, name: str | None = None) -> tuple[str, SplitCard]:
        """A split by name; the first one when no name is given."""
        name = name or next(iter(self.splits))
        if name not in self.splits:
            raise nearest_name_error(f"split of {self.name}", name, self.splits)
        return name, self.splits[name]


def cards_folder() -> Path:
    """``SVMREDUCE_DATASETS``, else the cards inside the installed package, else the repository's."""
    given = os.environ.get("SVMREDUCE_DATASETS")
    if given:
        return Path(given)
    package = Path(__file__).resolve().parents[1]
    installed = package / "_datasets"
    return installed if installed.is_dir() else package.parent / "datasets"


def all_cards() -> dict[str, Card]:
    """Every card by name; a card that does not follow the rules is an error that names file and key."""
    folder = cards_folder()
    if not folder.is_dir():
        raise InputError(f"no folder {folder} with dataset cards: set SVMREDUCE_DATASETS to one")
    return _read_folder(tuple((path, path.stat().st_mtime_ns) for path in sorted(folder.glob("*.yaml"))))


@lru_cache(maxsize=8)
def _read_folder(files: tuple[tuple[Path, int], ...]) -> dict[str, Card]:
    cards: dict[str, Card] = {}
    for path, _ in files:
        for card in read_card_file(path):
            if card.name in cards:
                raise InputError(f"{path}: the name {card.name!r} is used by another card")
            cards[card.name] = card
    return cards


def read_card_file(path: Path) -> list[Card]:
    """The card of a file, or one card per member when it describes a family."""
    content = guarded_yaml.load_file(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: a card is a mapping of keys to values")
    members = content.pop("members", None)
    if members is None:
        return [_checked(path, content)]
    for name, member in [(None, content), *members.items()] if isinstance(members, dict) else [(None, None)]:
        where = f"members.{name}: " if name is not None else ""
        if not isinstance(member, dict):
            raise InputError(f"{path}: {where or 'members: '}a mapping of keys to values is needed")
        variants = member.get("variants", {})
        if not isinstance(variants, dict) or not all(isinstance(value, dict) for value in variants.values()):
            raise InputError(f"{path}: {where}variants: a mapping of names to preparations is needed")
    return [_checked(path, _merged(content, name, member), name) for name, member in members.items()]


def _merged(family: dict, name: str, member: dict) -> dict:
    """A member's own keys win over the family's; its variants add to the family's."""
    variants = {key: dict(value) for key, value in family.get("variants", {}).items()}
    for key, value in member.get("variants", {}).items():
        variants[key] = {**variants.get(key, {}), **value}
    return {**family, **member, "name": name, "variants": variants}


def _checked(path: Path, content: dict, member: str | None = None) -> Card:
    try:
        card = Card.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in ((member,) if member else ()) + first["loc"])
        what = "unknown key" if first["type"] == "extra_forbidden" else first["msg"]
        raise InputError(f"{path}: {where}: {what}") from None
    for name, split in card.splits.items():
        if (split.file is None) == (split.part_of is None) or (split.part_of and split.slice is None):
            raise InputError(f"{path}: splits.{name}: give either 'file', or 'part_of' and 'slice'")
        if split.part_of and (split.part_of not in card.splits or card.splits[split.part_of].file is None):
            raise InputError(f"{path}: splits.{name}.part_of: {split.part_of!r} is not a split with a file of its own")
        if split.slice and not 0 <= split.slice[0] < split.slice[1]:
            raise InputError(f"{path}: splits.{name}.slice: give the first row and the one past the last")
        if card.format == "idx" and split.file and split.label_file is None:
            raise InputError(f"{path}: splits.{name}: idx needs a 'label_file'")
    both = card.splits.keys() & card.variants.keys()
    if both:
        raise InputError(f"{path}: {min(both)!r} names a split and a variant")
    return card
