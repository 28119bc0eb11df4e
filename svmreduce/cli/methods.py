"""``svmreduce methods``: what can be run, and with which parameters."""

from __future__ import annotations

import inspect

import click

from svmreduce.cli.common import json_option, look_here_for_methods, print_json
from svmreduce.errors import InputError
from svmreduce.registry import Registry, nearest_name_error, parameters_of

_PLAIN = (str, int, float, dict, list, tuple, type(None))  # what JSON has; a method of others may have any default
_EPILOG = """\b
Examples:
  svmreduce methods
  svmreduce methods smo
  svmreduce methods sklearn.svm:SVC
  svmreduce methods --json
"""


@click.command(epilog=_EPILOG)
@click.argument("name", required=False)
@json_option
def methods(name, as_json):
    """List every solver and reducer, or describe one by NAME in full.

    Methods of installed packages are among them, with the package they come from. NAME may also be module:Class.
    """
    from svmreduce.reducers import REDUCERS
    from svmreduce.solvers import SOLVERS

    registries = (SOLVERS, REDUCERS)
    look_here_for_methods(name)
    chosen = [(registry, key) for registry in registries for key in registry.names() if name in (None, key)]
    if name and ":" in name:
        chosen = [(REDUCERS if _is_known(REDUCERS, name) else SOLVERS, name)]
    elif not chosen:
        raise nearest_name_error("method", name, [key for registry in registries for key in registry.names()])
    found = [_facts(registry, key, must_load=name is not None) for registry, key in chosen]
    clashes = [] if name else [text for registry in registries for text in registry.clashes()]
    if as_json:
        print_json({"methods": found, "clashes": clashes})
        return
    for facts, (registry, key) in zip(found, chosen, strict=True):
        click.echo(_described(facts))
        if name:
            click.echo("\n" + inspect.getdoc(registry.get(key)))
    for text in clashes:
        click.echo(f"Warning: {text}", err=True)


def _is_known(registry: Registry, name: str) -> bool:
    try:
        registry.get(name)
    except InputError:
        return False
    return True


def _facts(registry: Registry, name: str, must_load: bool) -> dict:
    facts = {"name": name, "kind": registry.kind}
    try:
        method = registry.get(name)
        package = registry.source_of(name)
    except InputError as error:  # a broken package must not hide the other methods
        if must_load:
            raise
        return facts | {"error": str(error)}
    facts |= {
        "summary": (inspect.getdoc(method) or method.__name__).splitlines()[0],
        "tasks": list(method.tasks),
        "parameters": {
            key: value if isinstance(value, _PLAIN) else repr(value) for key, value in parameters_of(method).items()
        },
    }
    if package:
        facts["package"] = package
    if registry.kind == "solver":
        facts["kernels"] = list(method.kernels)
        facts["mixes_kernels"] = method.mixes_kernels
        facts["weights"] = method.accepts_weights
        facts["weights_reason"] = method.weights_reason
    else:
        facts["weights"] = method.gives_weights
    return facts


def _described(facts: dict) -> str:
    if "error" in facts:
        return f"{facts['name']}: cannot be used\n    {facts['error']}"
    can = {
        ("solver", True): "takes weights",
        ("solver", False): "no weights",
        ("reducer", True): "gives weights",
        ("reducer", False): "no weights",
    }[facts["kind"], facts["weights"]]
    traits = [facts["kind"], *facts["tasks"], can]
    if facts.get("kernels"):
        traits.append("kernels " + " ".join(facts["kernels"]) + (" and mixtures" if facts["mixes_kernels"] else ""))
    if "package" in facts:
        traits.append(f"from {facts['package']}")
    defaults = "  ".join(f"{name}={default}" for name, default in facts["parameters"].items())
    return f"{facts['name']}: {facts['summary']}\n    {' · '.join(traits)}\n    {defaults}"
