"""``svmreduce data make``: synthetic data sets of any size."""

from __future__ import annotations

import click

from svmreduce.cli.common import check_writable, json_option, parse_settings, print_json, quiet_option
from svmreduce.cli.data_records import record_of, record_text
from svmreduce.errors import InputError

_PARQUET = (".parquet", ".pq")


@click.command(
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
@click.option(
    "--test-rows",
    type=click.IntRange(min=0),
    default=0,
    help="Also write this many test rows: rows.txt.t for rows.txt, rows.txt.t.gz for rows.txt.gz, rows.t.parquet for "
    "rows.parquet.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same rows.")
@click.option("-o", "--output", metavar="FILE", required=True, help="The file; .gz, .bz2, .xz compress LIBSVM text.")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["libsvm", "parquet"]),
    help="By default parquet for FILE.parquet and FILE.pq, else libsvm. Parquet is made in blocks that are seeded one "
    "by one: more than 131072 rows of a seed are not those of LIBSVM text, and need no memory.",
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
    is_parquet = file_format == "parquet" or (file_format is None and output.endswith(_PARQUET))
    if output.endswith(_PARQUET) and not is_parquet:
        raise InputError(
            f"{output}: the name says Parquet, --format says libsvm; leave out --format, or give another name"
        )
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
            click.echo(f"{record_text(records[-1])} -> {path}")
    if as_json:
        print_json({"datasets": records})


def _write_libsvm(path: str, name: str, rows: int, seed: int, stream: int, params: dict) -> dict:
    from svmreduce.data import synthetic
    from svmreduce.data.formats import write_libsvm

    # [seed, 1] is a stream of its own, so the training rows do not depend on how many test rows follow
    made = synthetic.make(name, rows, [seed, stream] if stream else seed, **params)
    write_libsvm(path, made.X, made.y)
    record = record_of(made, name, "")
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
    for suffix in (".gz", ".bz2", ".xz", *_PARQUET):
        if output.endswith(suffix):
            return output.removesuffix(suffix) + ".t" + suffix
    return output + ".t"
