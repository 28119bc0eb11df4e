"""``svmreduce scale``: what svm-scale does, with its range files."""

from __future__ import annotations

from pathlib import Path

import click

from svmreduce.cli.common import check_writable
from svmreduce.errors import InputError

_EPILOG = """\b
Examples:
  svmreduce scale -s ranges.txt train.txt train.scaled
  svmreduce scale -r ranges.txt test.txt test.scaled
  svmreduce scale -l 0 train.txt > train.scaled
"""


@click.command(epilog=_EPILOG)
@click.argument("data", metavar="DATA")
@click.argument("out", metavar="[OUT]", required=False)
@click.option("-l", "--lower", type=float, default=-1.0, show_default=True, help="Where smallest values go.")
@click.option("-u", "--upper", type=float, default=1.0, show_default=True, help="Where largest values go.")
@click.option("-y", "--labels", type=float, nargs=2, metavar="LOWER UPPER", help="Scale the labels, too.")
@click.option("-s", "--save", metavar="RANGES", help="Write the ranges of DATA to this file.")
@click.option("-r", "--restore", metavar="RANGES", help="Scale by the ranges of this file, not by those of DATA.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but warnings and errors, and the rows without OUT.")
def scale(data, out, lower, upper, labels, save, restore, quiet):
    """Scale the columns of DATA, a LIBSVM file, to [-1, 1]; OUT is standard output if not given.

    Range files are those of svm-scale. Scale training rows with -s, and test rows with -r and the same file.
    """
    from svmreduce.data.files import is_special, write_whole
    from svmreduce.data.formats import sniff
    from svmreduce.data.range_files import learn_ranges, read_ranges, read_rows, unknown_columns

    if not lower < upper or (labels and not labels[0] < labels[1]):
        raise InputError("the lower end must be below the upper end: check -l, -u and -y")
    if save and restore:
        raise InputError("-s and -r exclude each other: ranges are either learned or given")
    for path in filter(None, (out, save)):
        check_writable(path, data, restore)
    try:
        X, y = read_rows(data)
    except InputError:
        if not Path(data).exists() or is_special(data) or sniff(Path(data)) not in ("table", "columnar"):
            raise
        hint = "scale reads LIBSVM files only; for a table use svmreduce train --scale, which keeps it with the model"
        raise InputError(f"{data}: is a table, and {hint}") from None
    if labels and y is None:
        raise InputError(f"{data}: has no labels for -y to scale; leave -y out")
    ranges = read_ranges(restore) if restore else learn_ranges(X, y, lower, upper, labels)
    if restore and (unknown := unknown_columns(ranges, X)):
        named = ", ".join(map(str, unknown[:5])) + (", …" if len(unknown) > 5 else "")
        click.echo(f"Warning: {restore} has no range for column {named} of {data}: left out", err=True)
    if save:
        ranges.save(save)
    lines = ranges.scaled_lines(X, y)
    if out:
        with write_whole(out) as stream:
            stream.writelines(line.encode() for line in lines)
    else:
        for line in lines:
            click.echo(line, nl=False)
