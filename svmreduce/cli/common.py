"""What several commands share: reading rows, setting parameters, printing results."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path
from time import perf_counter

import click
from click.core import ParameterSource

from svmreduce.errors import InputError
from svmreduce.printable import one_line, quoted
from svmreduce.strict_json import dumps


class NumberRange(click.FloatRange):
    """Numbers in a range; NaN, which compares with none, is not one of them."""

    def convert(self, value, param, ctx):
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
quiet_option = click.option(
    "-q", "--quiet", is_flag=True, help="Print nothing but warnings and errors (and JSON, if asked for)."
)
threads_option = click.option(
    "--threads", type=click.IntRange(min=1), help="Threads to use, where a method can; all allowed cores if not given."
)
memory_option = click.option(
    "--memory",
    metavar="SIZE",
    help="Read files whose rows need more, such as 2GB, in blocks; a third of what is free if not given.",
)

NUMBERED_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")  # LIBSVM's -t
LIBSVM_STYLE = "svmreduce.libsvm_style"  # a mark in click's context: numbers were typed for names


def together(*options):
    """Several options as one decorator, shown in this order."""

    def decorate(command):
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def kernel_by_number(ctx, option, text: str | None) -> str | None:
    """A kernel by LIBSVM's number is the same as by its name."""
    if text is None or not text.isdecimal():
        return text
    if int(text) >= len(NUMBERED_KERNELS):
        raise InputError(f"-t {text}: LIBSVM's kernels are 0 (linear) to 4 (precomputed); for others give a name")
    ctx.meta[LIBSVM_STYLE] = True
    return NUMBERED_KERNELS[int(text)]


kernel_options = together(
    click.option(
        "-t",
        "--kernel",
        callback=kernel_by_number,
        help="linear, poly, rbf, sigmoid, kmod, gaussian_diagonal or gaussian_mahalanobis; mixtures as rbf:1+poly:1. "
        "With sigmoid, or poly with a negative coef0, the solution need not be LIBSVM's.",
    ),
    click.option(
        "-g",
        "--gamma",
        callback=lambda ctx, option, text: text if text is None else parse_value(text),
        help="Kernel parameter gamma: a number, scale, auto or auto-distance.",
    ),
    click.option("-d", "--degree", type=int, help="Degree of the poly kernel."),
    click.option("-r", "--coef0", type=float, help="Constant of the poly, sigmoid and kmod kernels."),
)
method_options = together(
    threads_option,
    click.option("--seed", "random_state", type=click.IntRange(min=0), help="Seed for everything random."),
    click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Any parameter of the method."),
)


def look_here_for_methods(*names: str | None) -> None:
    """Methods of one's own, module:Class, may lie in the current folder."""
    from svmreduce.paths import import_from_here_last

    if any(":" in name for name in names if name):
        import_from_here_last()


def compile_off_the_clock(*warm_ups, quiet: bool = False) -> None:
    """Call the warm-ups unless they ran on this machine before; print a note only if something is compiled."""
    from svmreduce.core.jit import compiling_calls, is_compiled, mark_compiled

    with compiling_calls(lambda: None if quiet else _say_compiling()):
        for warm_up in warm_ups:
            owner = getattr(warm_up, "__self__", warm_up)
            name = f"{owner.__module__}.{owner.__qualname__}"
            if not is_compiled(name):
                warm_up()
                mark_compiled(name)


@cache
def _say_compiling() -> None:
    """Once, however many parts of a command compile something."""
    click.echo("compiling (half a minute or more, the first time only) …", err=True)


def timed_rows(source: str, split: str, n_features: int | None, choices, quiet: bool):
    """The training rows, what was learned about them, and the seconds it took, without compilation."""
    return timed_raw_rows(source, split, n_features, choices, quiet)[:3]


def timed_raw_rows(source: str, split: str, n_features: int | None, choices, quiet: bool):
    """The same, and the rows as they were read, for folds to learn from."""
    from svmreduce.data.formats import check_width
    from svmreduce.data.libsvm_text import warm_up
    from svmreduce.data.preparation import Preparation

    read = reader_of(source, split, choices, n_features)
    compile_off_the_clock(warm_up, quiet=quiet)
    start = perf_counter()
    raw = read()
    data, preparation = Preparation.learn(raw, choices)
    if data.is_table:
        check_width(source, data.n_features, n_features)
    return data, preparation, perf_counter() - start, raw


def reader_of(source: str, split: str, choices, n_features: int | None = None):
    """A function that reads the rows of a file, or of the catalogue by ``NAME[:VARIANT][:SPLIT]``.

    A wrong name is an error at once. The default split is that of the command (``train`` or ``test``), or the only one.
    """
    if Path(source).exists():
        from svmreduce.data.formats import read_rows

        options = {"n_features": n_features, "header": choices.header, "no_label": choices.no_label}
        return lambda: read_rows(source, **options)
    from svmreduce.data import catalog

    if "/" in source or "." in source:
        raise InputError(f"{source}: no such file; check the name")
    try:
        name, given = catalog.parse_name(source)
    except InputError as error:
        raise InputError(f"no file {source!r} here, and {error}") from None
    choices.check_numbered(source)
    part = given or (split if split in catalog.load_card(name).splits else None)
    return lambda: catalog.load(name, part)


def check_task(source: str, data, name: str, method: type, instead: str = "") -> None:
    """Numbers as labels are for methods that can do regression, or that look at no labels."""
    from svmreduce.data.labels import check_classes

    other = "; if the labels are in another column, name it with --label" if data.is_table else ""
    if data.task == "regression" and not {"regression", "one_class"} & set(method.tasks):
        raise InputError(
            f"{source}: the labels are real numbers, not classes, and {name} only classifies{instead}{other}"
        )
    if method.tasks == ("regression",):
        check_numbers(source, data, name)
    if "classification" in method.tasks and data.y is not None:
        check_classes(source, data.y, instead + other)


def check_numbers(source: str, data, name: str) -> None:
    """Words as labels are not for regressions."""
    if data.y.dtype.kind not in "biuf":
        word = quoted(str(data.y[0]), ",")
        raise InputError(f"{source}: the labels are words such as {word}, and {name} needs numbers; name their column "
                         "by --label")  # fmt: skip


def split_settings(pairs) -> dict[str, str]:
    """``key=value`` words as a dict."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InputError(f"--set takes key=value, got {pair!r}")
        settings[key] = value
    return settings


def parse_settings(pairs) -> dict:
    """``key=value`` words as a dict, values as numbers, true/false/none, or text."""
    return {key: parse_value(value) for key, value in split_settings(pairs).items()}


def given_flags(options: dict, settings: dict) -> dict:
    """The parameters that were typed as flags; one that --set has too is an error."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in given.keys() & settings.keys():
        raise InputError(f"{name} is given twice, by its own flag and by --set {name}={settings[name]}; leave one out")
    return given


def parse_value(text: str):
    words = {"true": True, "false": False, "none": None}
    if text.startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            raise InputError(f'{text}: not JSON; write it as {{"tol": 0.01}}') from None
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def print_json(record: dict) -> None:
    """One line of strict JSON: a number that is not finite becomes null."""
    click.echo(dumps(record))


def typed_command() -> str:
    """The running command as it was typed, to be shown with its output."""
    context = click.get_current_context()
    words = ["svmreduce", context.info_name]
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[parameter.name]
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif parameter.is_flag:
            words.append(parameter.opts[-1])
        else:
            words += [
                word for one in (value if parameter.multiple else [value]) for word in (parameter.opts[-1], str(one))
            ]
    return " ".join(shlex.join(words).splitlines())


def terminal_width() -> int | None:
    """Width of the terminal; None when the output goes to a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_pairs(pairs) -> None:
    """Aligned ``name  value`` lines; a value of None is left out."""
    pairs = [(name, value) for name, value in pairs if value is not None]
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        click.echo(f"{name:<{width}}  {one_line(value)}")


def check_writable(path: str, *sources: str | None) -> None:
    """Check before the work starts that its result can be written and does not overwrite an input."""
    from svmreduce.data.files import is_special

    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise InputError(f"{path}: the folder {folder} does not exist; create it first")
    if Path(path).is_dir():
        raise InputError(f"{path}: is a folder; give a file name")
    if Path(path).exists() and not os.access(path, os.W_OK):
        raise InputError(f"{path}: is not writable; check its permissions, or give another name")
    if not is_special(path) and not os.access(folder, os.W_OK):
        raise InputError(f"{path}: the folder {folder} is not writable; check its permissions")
    for source in filter(None, sources if Path(path).exists() else ()):
        if any(os.path.samefile(path, file) for file in _files_of(source)):
            raise InputError(f"{path}: is also an input ({source}); give another name for the output")


def _files_of(source: str) -> list[Path]:
    """The files behind what a command reads: the file itself, or those of a data set's name."""
    if Path(source).exists():
        return [Path(source)]
    from svmreduce.data import catalog
    from svmreduce.data.fetching import locate

    try:
        card = catalog.load_card(catalog.parse_name(source)[0])
    except InputError:  # reported when it is read
        return []
    return [path for split in card.splits if (path := locate(card, split))]
