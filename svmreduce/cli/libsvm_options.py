"""The options of svm-train and svm-predict under their own letters, next to ours.

``-s`` and ``-t`` take LIBSVM's numbers as well as our names, ``-wLABEL WEIGHT`` is a class weight, and three letters
that mean something else here are LIBSVM's when a number follows: ``-v 5`` (folds), ``-h 0`` (shrinking), ``-b 1``.
"""

from __future__ import annotations

import re

import click

from svmreduce.cli.common import LIBSVM_STYLE, NumberRange, parse_value, together
from svmreduce.errors import InputError
from svmreduce.label_keys import one_spelling
from svmreduce.registry import parameters_of

SVM_TYPES = ("smo", "nu_svc", "one_class", "svr", "nu_svr")  # by LIBSVM's -s
GAMMA_KERNELS = ("poly", "rbf", "sigmoid")
LIBSVM_OPTIONS = ("tube", "nu", "class_weights", "probability", "shrinking", "folds", "max_seconds")
_WEIGHT = re.compile(r"-w([+-]?\d[\d.eE+-]*)")
_NUMBERED = {"-h": "--shrinking", "-v": "--folds"}


class LibsvmCommand(click.Command):
    """A command that understands LIBSVM's way to write options."""

    def parse_args(self, ctx, args):
        return super().parse_args(ctx, translated(args))


def translated(args: list[str]) -> list[str]:
    """The same options as click wants them."""
    out, rest = [], list(args)
    while rest:
        word = rest.pop(0)
        weight, following = _WEIGHT.fullmatch(word), rest[0] if rest else ""
        if word == "--":
            return [*out, word, *rest]
        if weight and rest:
            out.append(f"--class-weight={weight[1]}={rest.pop(0)}")
        elif word == "-b" and following in ("0", "1"):
            out += ["--probability"] * int(rest.pop(0))
        elif (word == "-h" and following in ("0", "1")) or (word == "-v" and following.isdecimal()):
            out.append(f"{_NUMBERED[word]}={rest.pop(0)}")
        else:
            out.append(word)
    return out


def solver_by_number(ctx, option, text: str) -> str:
    if not text.isdecimal():
        return text
    ctx.meta[LIBSVM_STYLE] = True
    if int(text) >= len(SVM_TYPES):
        raise InputError(f"-s {text}: LIBSVM's types are 0 (C-SVC) to 4 (ν-SVR); for others give a name")
    return SVM_TYPES[int(text)]


probability_option = click.option(
    "-b", "--probability", is_flag=True, help="Class probabilities, too (LIBSVM's -b 1; -b 0 is the default)."
)
libsvm_options = together(
    click.option("-p", "--epsilon", "tube", type=float, help="Half the width of the tube of an SVR (-s 3)."),
    click.option("-n", "--nu", type=float, help="ν of nu_svc, nu_svr and one_class (-s 1, 4, 2)."),
    click.option(
        "--class-weight",
        "class_weights",
        metavar="balanced|LABEL=W,…",
        multiple=True,
        help="Factor on C per class; LIBSVM's -wLABEL W works, too.",
    ),
    probability_option,
    click.option("--shrinking", type=click.IntRange(0, 1), help="LIBSVM's -h 0 or -h 1, for --solver libsvm."),
    click.option(
        "--folds",
        type=click.IntRange(min=2),
        help="Cross-validate instead of writing a model; LIBSVM's -v 5 works, too.",
    ),
    click.option(
        "--max-seconds",
        type=NumberRange(min=0, min_open=True),
        help="End with the best model so far, after the round in which this time is up.",
    ),
)


def methods_with(parameter: str) -> str:
    """The solvers that have a parameter, for messages."""
    from svmreduce.solvers import SOLVERS

    return ", ".join(name for name in SOLVERS.names() if parameter in parameters_of(SOLVERS.get(name)))


def set_libsvm_options(method, solver: str, solver_class: type, reducer, given: dict) -> None:
    """Hand the options of this module to the method; one that has no effect is reported."""
    known, prefix = parameters_of(solver_class), "solver__" if reducer else ""
    settings = {}
    if given["folds"] and solver_class.tasks == ("one_class",):
        raise InputError("one_class learns without labels: there is no accuracy to cross-validate")
    if given["probability"]:
        if "probability" not in known:
            raise InputError(f"{solver} has no class probabilities: {methods_with('probability')} have")
        settings["probability"] = True
    if given["class_weights"] and "class_weight" not in known:
        raise InputError(f"{solver} takes no class weights: {methods_with('class_weight')} do")
    if given["max_seconds"] and not getattr(solver_class, "stops_in_time", False):
        from svmreduce.solvers import SOLVERS

        able = ", ".join(name for name in SOLVERS.names() if getattr(SOLVERS.get(name), "stops_in_time", False))
        raise InputError(f"{solver} cannot end early with a model, so --max-seconds is not for it: {able} can")
    if given["class_weights"] and given["probability"]:
        click.echo("Note: probabilities are those of the re-weighted classes, not of the rates in the data", err=True)
    wanted = {
        "tube": ("epsilon", "regression" in solver_class.tasks, "-p", "for ε-SVRs (-s 3)"),
        "nu": ("nu", True, "-n", "for nu_svc, nu_svr and one_class (-s 1, 4, 2)"),
        "shrinking": ("shrinking", True, "-h", "an option of --solver libsvm"),
    }
    for name, (parameter, fits, letter, whose) in wanted.items():
        if given[name] is not None and fits and parameter in known:
            settings[parameter] = bool(given[name]) if name == "shrinking" else given[name]
        elif given[name] is not None:
            click.echo(f"Note: {letter} has no effect on {solver}: it is {whose}", err=True)
    is_libsvms = click.get_current_context().meta.get(LIBSVM_STYLE)
    parameters = method.get_params()
    if is_libsvms and parameters.get(f"{prefix}gamma") == "scale" and parameters[f"{prefix}kernel"] in GAMMA_KERNELS:
        click.echo("Note: gamma is 1/(features·variance), -g scale; LIBSVM's default, 1/features, is -g auto", err=True)
    method.set_params(**{prefix + name: value for name, value in settings.items()})


def class_weights_for(words: tuple[str, ...], classes) -> str | dict:
    """``balanced``, or the weights of these classes by their labels as the data has them."""
    if words == ("balanced",):
        return "balanced"
    by_text = {str(label): label for label in classes.tolist()}
    weights = {}
    for pair in ",".join(words).split(","):
        text, equals, value = pair.rpartition("=")
        weight = parse_value(value)
        if not equals or isinstance(weight, bool) or not isinstance(weight, (int, float)):
            raise InputError(f"--class-weight takes balanced, or LABEL=WEIGHT as in 1=5,-1=0.5; got {pair!r}")
        number = parse_value(text)
        label = by_text.get(one_spelling(text), number if number in by_text.values() else None)
        if label is None:
            raise InputError(f"--class-weight {pair}: no such class; the classes are {', '.join(list(by_text)[:20])}")
        if not 0 < weight < float("inf"):
            raise InputError(f"--class-weight {pair}: a weight must be a positive number")
        weights[label] = float(weight)
    return weights
