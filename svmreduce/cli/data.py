"""``svmreduce data``: the catalogue of data sets, and the generators."""

from __future__ import annotations

import click

from svmreduce.cli.common import (
    check_writable,
    json_option,
    print_json,
    print_pairs,
    quiet_option,
)
from svmreduce.cli.data_make import make
from svmreduce.cli.data_records import count_text, record_of, record_text
from svmreduce.errors import InputError
from svmreduce.printable import one_line
from svmreduce.registry import nearest_name_error


@click.group()
def data():
    """List, inspect and download data sets, and generate synthetic ones of any size.

    Files are looked for in the folder SVMREDUCE_MIRROR, then among earlier downloads, then at their
    public address.

    \b
    Examples:
      svmreduce data list --paper aesvm
      svmreduce data get ijcnn1
      svmreduce data make checkerboard --rows 100000 --test-rows 10000 -o board.txt
    """


data.add_command(make)


@data.command(
    "list",
    epilog="""\b
Examples:
  svmreduce data list
  svmreduce data list --paper frank_wolfe
  svmreduce data list --json
""",
)
@click.option("--paper", metavar="KEY", help="Only the data of one paper: aesvm, bootstrap, frank_wolfe, …")
@json_option
def list_command(paper, as_json):
    """List the data sets: size, where the file is, who uses it."""
    from svmreduce.data.cards import all_cards

    cards = all_cards().values()
    papers = sorted({key for card in cards for key in _papers(card)})
    if paper and paper not in papers:
        raise nearest_name_error("paper", paper, papers)
    entries = [_entry(card) for card in sorted(cards, key=lambda card: card.name)]
    if paper:
        entries = [
            {**entry, "papers": {paper: entry["papers"][paper]}} for entry in entries if paper in entry["papers"]
        ]
    if as_json:
        return print_json({"datasets": entries})
    from tabulate import tabulate

    from svmreduce.data.synthetic import GENERATORS

    lines = [{key: one_line(value) for key, value in _line(entry).items()} for entry in entries]
    click.echo(tabulate(lines, headers="keys", tablefmt="plain", disable_numparse=True))
    click.echo(f"\nGenerators (svmreduce data make): {', '.join(GENERATORS)}")


def _papers(card) -> dict[str, list[str]]:
    """Paper -> the names it uses, each with the variant it means."""
    named: dict[str, list[str]] = {}
    for key, name in card.papers.items():
        named.setdefault(key, []).append(name)
    for variant, prepared in card.variants.items():
        for key, name in prepared.papers.items():
            named.setdefault(key, []).append(f"{name} = {card.name}:{variant}")
    return named


def _entry(card) -> dict:
    return {
        "name": card.name,
        "title": card.title,
        "task": card.task,
        "rows": {name: part.rows for name, part in card.splits.items()},
        "features": card.features,
        "classes": card.classes,
        "where": {name: _where(card, name) for name in card.splits},
        "papers": _papers(card),
        "variants": list(card.variants),
    }


def _where(card, split: str) -> str:
    from svmreduce.data.fetching import locate, mirror

    path = locate(card, split)
    if path is None:
        return "missing"
    return "mirror" if mirror() and path.parent == mirror() else "here"


def _line(entry: dict) -> dict:
    whole = {name: rows for name, rows in entry["rows"].items() if name in ("train", "valid", "test")}
    return {
        "name": entry["name"],
        "rows": " + ".join(str(rows or "?") for rows in (whole or entry["rows"]).values()),
        "features": entry["features"],
        "classes": entry["classes"] or "",
        "task": entry["task"],
        "file": "/".join(sorted(set(entry["where"].values()))),
        "papers": "; ".join(f"{key}: {', '.join(names)}" for key, names in entry["papers"].items()),
    }


@data.command(
    epilog="""\b
Examples:
  svmreduce data info a9a
  svmreduce data info covertype:2-vs-rest --json
"""
)
@click.argument("name")
@json_option
def info(name, as_json):
    """Everything known about NAME or NAME:VARIANT."""
    from svmreduce.data import catalog
    from svmreduce.data.fetching import downloads, locate, mirror

    card = catalog.load_card(name)
    paths = {split: locate(card, split) for split in card.splits}
    if as_json:
        card_fields = card.model_dump(mode="json", exclude_defaults=True)
        return print_json({**card_fields, "paths": {split: path and str(path) for split, path in paths.items()}})
    print_pairs(
        [
            ("name", card.full_name),
            ("title", card.title),
            (
                "task",
                f"{card.task}, {card.features} features" + (f", {card.classes} classes" if card.classes else ""),
            ),
            (
                "papers",
                "; ".join(f"{key}: {', '.join(names)}" for key, names in _papers(card).items()) or None,
            ),
            ("home", card.home),
            ("licence", card.licence),
            ("notes", card.notes or None),
            ("folders", f"{mirror() or '(SVMREDUCE_MIRROR is not set)'}, then {downloads()}"),
        ]
    )
    for split, part in card.splits.items():
        click.echo(f"\nsplit {one_line(split)}")
        counts = count_text(part.label_counts) if part.label_counts else None
        print_pairs(
            [
                ("  rows", part.rows),
                ("  labels", counts),
                ("  file", part.file or f"rows {part.slice[0]} to {part.slice[1]} of {part.part_of}"),
                ("  sha256", part.sha256),
                ("  address", part.url or (part.download.url if part.download else None)),
                ("  here", paths[split] or "missing"),
                ("  notes", part.notes or None),
            ]
        )
    for variant, prepared in card.variants.items():
        if card.variant in (None, variant):
            click.echo(f"\nvariant {one_line(f'{card.name}:{variant}')}\n  {one_line(prepared.about)}")


@data.command(
    epilog="""\b
Examples:
  svmreduce data get ijcnn1 a9a
  svmreduce data get covertype:2-vs-rest --output covertype.txt
  svmreduce data get wine:1-vs-2 --split all --output wine.txt
  svmreduce data get --all --json
"""
)
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every data set whose file is here or has an address.")
@click.option("--split", help="Only this split.")
@click.option("--trust", is_flag=True, help="Accept a file whose checksum differs from the card's.")
@click.option("-o", "--output", metavar="FILE", help="Write one split as a LIBSVM file.")
@json_option
@quiet_option
def get(names, everything, split, trust, output, as_json, quiet):
    """Find or download data sets and verify them.

    Prints rows, features and label counts of each split as they were read and checked. NAMES may carry a
    variant: NAME:VARIANT.
    """
    from svmreduce.data import catalog

    if everything == bool(names):
        raise InputError("give data set names, or --all; see: svmreduce data list")
    if output:
        return _export(names, split, trust, output, as_json, quiet)
    records, failed = [], 0
    for name in catalog.names() if everything else names:
        card = catalog.load_card(name)
        for part in [card.split(split)[0]] if split else card.splits:
            try:
                record = record_of(catalog.load(name, part, trust=trust), name, part)
            except InputError as error:
                if not everything:
                    raise
                record, failed = {"name": name, "split": part, "error": str(error)}, failed + 1
            records.append(record)
            if not (as_json or quiet):
                click.echo(one_line(record_text(record)))
    if as_json:
        print_json({"datasets": records})
    if failed:
        raise InputError(f"{failed} of {len(records)} splits could not be loaded")


def _export(names, split, trust, output, as_json, quiet) -> None:
    from svmreduce.data import catalog
    from svmreduce.data.formats import write_libsvm

    if len(names) != 1:
        raise InputError("--output takes exactly one data set")
    check_writable(output, names[0])
    split = catalog.load_card(names[0]).split(split)[0]
    rows = catalog.load(names[0], split, trust=trust)
    write_libsvm(output, rows.X, rows.y)
    record = {**record_of(rows, names[0], split), "output": output}
    if as_json:
        print_json({"datasets": [record]})
    elif not quiet:
        click.echo(f"{record_text(record)} -> {output}")
