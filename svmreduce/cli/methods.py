"""``svmreduce methods``: what can be run, and with which parameters."""

from __future__ import annotations

import inspect

import click

from svmreduce.cli.common import json_option, print_json
from svmreduce.registry import nearest_name_error, parameters_of

_EPILOG = """\b
Examples:
  svmreduce methods
  svmreduce methods smo
  svmreduce methods --json
"""


@click.command(epilog=_EPILOG)
@click.argument("name", required=False)
@json_option
def methods(name, as_json):
    """List every solver and reducer, or describe one by NAME in full."""
    from svmreduce.reducers import REDUCERS
    from svmreduce.solvers import SOLVERS

    found = [("solver", key, SOLVERS.get(key)) for key in SOLVERS.names()]
    found += [("reducer", key, REDUCERS.get(key)) for key in REDUCERS.names()]
    if name:
        chosen = [entry for entry in found if entry[1] == name]
        if not chosen:
            raise nearest_name_error("method", name, [key for _, key, _ in found])
        found = chosen
    if as_json:
        print_json({"methods": [_facts(*entry) for entry in found]})
        return
    for kind, key, method in found:
        click.echo(_described(_facts(kind, key, method)))
        if name:
            click.echo("\n" + inspect.getdoc(method))


def _facts(kind: str, name: str, method: type) -> dict:
    facts = {
        "name": name,
        "kind": kind,
        "summary": inspect.getdoc(method).splitlines()[0],
        "tasks": list(method.tasks),
        "parameters": parameters_of(method),
    }
    if kind == "solver":
        facts["kernels"] = list(method.kernels)
        facts["mixes_kernels"] = method.mixes_kernels
        facts["weights"] = method.accepts_weights
        facts["weights_reason"] = method.weights_reason
    else:
        facts["weights"] = method.gives_weights
    return facts


def _described(facts: dict) -> str:
    can = {
        ("solver", True): "takes weights",
        ("solver", False): "no weights",
        ("reducer", True): "gives weights",
        ("reducer", False): "no weights",
    }[facts["kind"], facts["weights"]]
    traits = [facts["kind"], *facts["tasks"], can]
    if "kernels" in facts:
        traits.append("kernels " + " ".join(facts["kernels"]) + (" and mixtures" if facts["mixes_kernels"] else ""))
    defaults = "  ".join(f"{name}={default}" for name, default in facts["parameters"].items())
    return f"{facts['name']}: {facts['summary']}\n    {' · '.join(traits)}\n    {defaults}"
