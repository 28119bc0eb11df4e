"""The ``svmreduce`` command: a table of commands, and one place where errors become one line.

Nothing heavy is imported here, so that ``svmreduce --help`` answers at once.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import traceback
from contextlib import suppress

import click

from svmreduce import __version__
from svmreduce.deferred import put_off_seldom_needed
from svmreduce.errors import InputError
from svmreduce.printable import printable
from svmreduce.registry import nearest_name_error

COMMANDS = {
    "bench": ("svmreduce.cli.bench:bench", "Which method for your rows? A verdict within a time budget."),
    "run": ("svmreduce.cli.run:run", "Run or resume an experiment from its YAML file."),
    "plan": ("svmreduce.cli.plan:plan", "Show what an experiment would run, and for how long."),
    "report": ("svmreduce.cli.report:report", "Show a run: tables, figures, failures, environment."),
    "compare": ("svmreduce.cli.compare:compare", "Compare a new run with an old one; a gate for CI."),
    "bundle": ("svmreduce.cli.bundle:bundle", "Pack a run into one file that others can check."),
    "verify": ("svmreduce.cli.verify:verify", "Check such a file; re-run a share of its cells."),
    "train": ("svmreduce.cli.train:train", "Train one method on one file; writes a LIBSVM model."),
    "tune": ("svmreduce.cli.tune:tune", "Choose C and gamma by cross-validation; exact and fast."),
    "predict": (
        "svmreduce.cli.predict:predict",
        "Predict a file with a model; prints accuracy, or MSE and R².",
    ),
    "score": ("svmreduce.cli.score:score", "Compare models on all rows by accuracy and by what an SVM minimises."),
    "scale": ("svmreduce.cli.scale:scale", "Scale columns as svm-scale does; reads and writes its range files."),
    "reduce": ("svmreduce.cli.reduce:reduce", "Write a smaller training set with weights."),
    "data": ("svmreduce.cli.data:data", "The catalogue of data sets: list, info, get, make."),
    "methods": ("svmreduce.cli.methods:methods", "Every solver and reducer with its parameters."),
    "doctor": (
        "svmreduce.cli.doctor:doctor",
        "Threads, BLAS, versions, load and noise floor of this machine.",
    ),
    "demo": ("svmreduce.cli.demo:demo", "A small real experiment on embedded data."),
}
_HELP = getattr(click.exceptions, "NoArgsIsHelpError", ())  # raised by newer versions of click for a bare command
EXIT_INPUT = 2
EXIT_INTERRUPT = 130
EXIT_INTERNAL = 70  # the BSD code for an internal error


class LazyGroup(click.Group):
    """Commands by name, imported on use; errors as one line on stderr."""

    def list_commands(self, ctx):
        return list(COMMANDS)

    def get_command(self, ctx, name):
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name][0].partition(":")
        return getattr(importlib.import_module(module), attribute)

    def resolve_command(self, ctx, args):
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise nearest_name_error("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx, formatter):
        with formatter.section("Commands"):
            formatter.write_dl([(name, short) for name, (_, short) in COMMANDS.items()])

    def parse_args(self, ctx, args):
        ctx.meta[_TYPED] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx):
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
            return code
        except InputError as error:
            error.args = (_as_typed(str(error), self.get_command(ctx, ctx.invoked_subcommand), ctx.meta[_TYPED]),)
            raise
        except BrokenPipeError:  # the reader of our output has left, as in `svmreduce … | head`
            _give_up_output()
            return 0

    def main(self, *args, standalone_mode=True, **extra):
        """Run a command and end the process with the exit code of its outcome."""
        try:
            code = super().main(*args, standalone_mode=False, **extra)
        except click.exceptions.Exit as ending:
            code = ending.exit_code
        except click.Abort:
            code = _say("interrupted", EXIT_INTERRUPT)
        except click.ClickException as error:
            if isinstance(error, _HELP):
                error.show()
                code = error.exit_code
            else:
                code = _say(" ".join(error.format_message().split()), EXIT_INPUT)
        except Exception as error:
            if _STATE["debug"]:
                traceback.print_exc()
            code = _explain(error)
        sys.exit(code if isinstance(code, int) else 0)


_STATE = {"debug": False}
_TYPED = "svmreduce.typed"  # in click's context: the words of the command line


def _as_typed(text: str, command: click.Command | None, words: list[str]) -> str:
    """A message that begins with a parameter, such as ``tol must be …``, with the option that was typed for it."""
    name, _, rest = text.partition(" ")
    for parameter in command.params if command else ():
        if name == parameter.name or {f"-{name}", f"--{name}"} & set(parameter.opts):
            typed = [option for option in parameter.opts for word in words if word.startswith(option)]
            return f"{typed[0]} {rest}" if typed else text
    return text


def _explain(error: Exception) -> int:
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, OSError) and error.filename is not None:
        return _say(f"{error.filename}: {error.strerror}", EXIT_INPUT)
    if isinstance(error, OSError) and error.strerror:  # not about a named file: for example the output, on a full disk
        _give_up_output()
        return _say(f"reading or writing failed: {error.strerror}", EXIT_INPUT)
    if isinstance(error, (InputError, ValueError)):
        return _say(text, EXIT_INPUT)
    return _say(f"{type(error).__name__}: {text} (use svmreduce --debug … for the traceback)", EXIT_INTERNAL)


def _give_up_output() -> None:
    """Discard the rest of our output; otherwise Python would try to write it again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str, code: int) -> int:
    click.echo(f"Error: {printable(text)}", err=True)
    return code


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="svmreduce")
@click.option("--debug", is_flag=True, help="Also show the traceback of an error.")
def cli(debug):
    """Train SVMs fast by training on less, and measure what that buys.

    \b
    Examples:
      svmreduce train --solver smo --kernel rbf -C 1 -g 0.5 train.txt model.txt
      svmreduce predict test.txt model.txt
      svmreduce methods
    """
    _STATE["debug"] = debug


def main():
    gc.set_threshold(200_000)  # imports make much that stays: looking for garbage took a third of the start
    put_off_seldom_needed()
    cli(prog_name="svmreduce")
