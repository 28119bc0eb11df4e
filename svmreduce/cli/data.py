"""``svmreduce data``: the catalogue of data sets, and the generators."""

from __future__ import annotations

import click

from svmreduce.cli.common import (
    check_writable,
    json_option,
    parse_settings,
    print_json,
    print_pairs,
    quiet_option,
)
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
        counts = _count_text(part.label_counts) if part.label_counts else None
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


def _count_text(counts: dict[str, int]) -> str:
    shown = [f"{label}: {count}" for label, count in counts.items()]
    return ", ".join(shown if len(shown) <= 12 else [*shown[:12], f"… ({len(shown)} classes)"])


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
                record = _record(catalog.load(name, part, trust=trust), name, part)
            except InputError as error:
                if not everything:
                    raise
                record, failed = {"name": name, "split": part, "error": str(error)}, failed + 1
            records.append(record)
            if not (as_json or quiet):
                click.echo(one_line(_record_text(record)))
    if as_json:
        print_json({"datasets": records})
    if failed:
        raise InputError(f"{failed} of {len(records)} splits could not be loaded")


def _record(rows, name: str, split: str) -> dict:
    from svmreduce.label_keys import count_labels

    is_classes = rows.task == "classification"
    return {
        "name": name,
        "split": split,
        "rows": rows.n_rows,
        "features": rows.n_features,
        "task": rows.task,
        "label_counts": count_labels(rows.y) if is_classes else None,
        "sha256": rows.sha256,
    }


def _record_text(record: dict) -> str:
    start = f"{record['name']} {record['split']}: "
    if "error" in record:
        return start + record["error"]
    counts = f", labels {_count_text(record['label_counts'])}" if record["label_counts"] else ""
    return start + f"{record['rows']} rows, {record['features']} features{counts}"


def _export(names, split, trust, output, as_json, quiet) -> None:
    from svmreduce.data import catalog
    from svmreduce.data.formats import write_libsvm

    if len(names) != 1:
        raise InputError("--output takes exactly one data set")
    check_writable(output, names[0])
    split = catalog.load_card(names[0]).split(split)[0]
    rows = catalog.load(names[0], split, trust=trust)
    write_libsvm(output, rows.X, rows.y)
    record = {**_record(rows, names[0], split), "output": output}
    if as_json:
        print_json({"datasets": [record]})
    elif not quiet:
        click.echo(f"{_record_text(record)} -> {output}")


@data.command(
    epilog="""\b
Examples:
  svmreduce data make twonorm --rows 100000 -o twonorm.txt
  svmreduce data make checkerboard --rows 1000000 --test-rows 10000 --seed 7 -o board.txt.gz
  svmreduce data make ringnorm --set variant=breiman --rows 20000 -o ring.txt
  svmreduce data make blobs --set classes=3 --set features=5 --rows 1000 -o blobs.txt
  svmreduce data make checkerboard --rows 100000000 --format parquet -o board.parquet
"""
)
@click.argument("name")
@click.option("--rows", type=click.IntRange(min=1), required=True, help="Number of rows.")
@click.option("--test-rows", type=click.IntRange(min=0), default=0, help="Also write this many test rows, to FILE.t.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same rows.")
@click.option("-o", "--output", metavar="FILE", required=True, help="The file; .gz, .bz2, .xz compress LIBSVM text.")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["libsvm", "parquet"]),
    help="By default parquet for FILE.parquet, else libsvm. Parquet is made in blocks that are seeded one by one: more "
    "than 131072 rows of a seed are not those of LIBSVM text, and need no memory.",
)
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="A parameter of the generator.")
@json_option
@quiet_option
def make(name, rows, test_rows, seed, output, file_format, settings, as_json, quiet):
    """Generate a synthetic data set.

    `svmreduce data list` names the generators; an unknown --set key lists the known ones.
    """
    from svmreduce.data import synthetic

    params = parse_settings(settings)
    is_parquet = file_format == "parquet" or (file_format is None and output.endswith(".parquet"))
    if is_parquet and output.endswith((".gz", ".bz2", ".xz")):
        raise InputError(f"{output}: Parquet files are compressed inside; give a name such as rows.parquet")
    jobs = [("train", rows, 0, output)]
    if test_rows:
        jobs.append(("test", test_rows, 1, _test_name(output)))
    for _, count, _, path in jobs:
        check_writable(path)
        synthetic.check_request(name, min(count, synthetic.BLOCK_ROWS) if is_parquet else count, params)
    records = []
    for split, count, stream, path in jobs:
        write = _write_parquet if is_parquet else _write_libsvm
        record = {"name": name, "split": split, **write(path, name, count, seed, stream, params)}
        records.append({**record, "seed": seed, "parameters": params, "output": path})
        if not (as_json or quiet):
            click.echo(f"{_record_text(records[-1])} -> {path}")
    if as_json:
        print_json({"datasets": records})


def _write_libsvm(path: str, name: str, rows: int, seed: int, stream: int, params: dict) -> dict:
    from svmreduce.data import synthetic
    from svmreduce.data.formats import write_libsvm

    # [seed, 1] is a stream of its own, so the training rows do not depend on how many test rows follow
    made = synthetic.make(name, rows, [seed, stream] if stream else seed, **params)
    write_libsvm(path, made.X, made.y)
    record = _record(made, name, "")
    return {key: record[key] for key in ("rows", "features", "task", "label_counts", "sha256")}


def _write_parquet(path: str, name: str, rows: int, seed: int, stream: int, params: dict) -> dict:
    from collections import Counter

    from svmreduce.data import synthetic
    from svmreduce.data.columnar import write_parquet
    from svmreduce.label_keys import count_labels

    counts, width, is_classes = Counter(), 0, name not in synthetic.REGRESSION

    def counted():
        nonlocal width
        for X, y in synthetic.make_blocks(name, rows, seed, stream, **params):
            width = X.shape[1]
            counts.update(count_labels(y) if is_classes else {})
            yield X, y

    write_parquet(path, counted())
    return {
        "rows": rows,
        "features": width,
        "task": "classification" if is_classes else "regression",
        "label_counts": dict(sorted(counts.items(), key=lambda pair: float(pair[0]))) if is_classes else None,
        "sha256": None,
    }


def _test_name(output: str) -> str:
    """``board.txt.gz`` -> ``board.txt.t.gz``: the test file is compressed like the training file."""
    for suffix in (".gz", ".bz2", ".xz", ".parquet"):
        if output.endswith(suffix):
            return output.removesuffix(suffix) + ".t" + suffix
    return output + ".t"
