"""The methods of an experiment: each a solver, perhaps after a reducer, with the parameters that are its own."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from svmreduce.errors import InputError
from svmreduce.experiments.config_keys import Config, MethodPart, SolverConfig
from svmreduce.experiments.records import RANDOM, control_label
from svmreduce.kernels import KERNEL_CODES, PRECOMPUTED, parse_kernel
from svmreduce.pipeline import share_parameters
from svmreduce.reducers import REDUCERS
from svmreduce.registry import build_method, nearest_name_error, parameters_of
from svmreduce.solvers import SOLVERS

SEARCHED = ("C", "gamma", "epsilon")  # what cross-validation can choose


@dataclass(frozen=True)
class PlannedMethod:
    """A row of the tables: solver and reducer with their own parameters."""

    label: str
    solver: str
    solver_params: dict
    reducer: str | None = None
    reducer_params: dict = field(default_factory=dict)
    control_of: str | None = None


def combinations(part: MethodPart) -> int:
    return math.prod(len(value) for value in part.params.values() if isinstance(value, list))


def reducers_of(entry: SolverConfig, config: Config) -> list[MethodPart]:
    return [entry.reducer] if entry.reducer else (config.reducers or [MethodPart(name="none")])


def methods_of(config: Config) -> list[PlannedMethod]:
    """The rows of the tables, each checked: unknown names and parameters, impossible pairs."""
    methods = []
    for entry in config.solvers:
        for reducer in reducers_of(entry, config):
            methods += _variants(entry, None if reducer.name == "none" else reducer, config)
    labels = [method.label for method in methods]
    tell_apart("methods", labels)
    if config.baseline is not None and config.baseline not in labels:
        raise nearest_name_error("baseline", config.baseline, labels)
    for key, values in config.grid.items():
        if not values:
            raise InputError(f"grid.{key}: an empty list leaves nothing to run")
        if key in ("threads", "random_state"):
            raise InputError(f"grid.{key}: set {'threads' if key == 'threads' else 'seeds'} of the experiment instead")
        if not any(key in parameters_of(SOLVERS.get(method.solver)) for method in methods):
            known = {name for method in methods for name in parameters_of(SOLVERS.get(method.solver))}
            raise nearest_name_error("parameter in grid", key, known)
    for method in methods:  # so that a wrong value is reported now
        for point in points_of(config):
            _build(method, point, config.threads)
    if config.select and not any(selected_parameters(method, config) for method in methods):
        raise InputError("select: no method has a kernel, and a C in the grid to choose")
    if not (config.fits or any(method.reducer for method in methods)):
        raise InputError("fits: false makes reductions only, and there is no reducer")
    return methods + (
        [_control(method) for method in methods if _wants_control(method)] if config.control and config.fits else []
    )


def tell_apart(what: str, labels: list[str]) -> None:
    for label, count in Counter(labels).items():
        if count > 1:
            raise InputError(f"two {what} are called {label!r}: give one another name with 'as'")


def points_of(config: Config) -> list[dict]:
    return [dict(zip(config.grid, values, strict=True)) for values in product(*config.grid.values())]


def _variants(entry: SolverConfig, reducer: MethodPart | None, config: Config) -> list[PlannedMethod]:
    """One method for each combination of the values of parameters that are lists."""
    solver_class = SOLVERS.get(entry.name)
    if reducer is not None:
        reducer_class = REDUCERS.get(reducer.name)
        takes_weights = solver_class.accepts_weights or not parameters_of(reducer_class).get("weighted", True)
        weighted = reducer_class.gives_weights and reducer.params.get("weighted", True)
        if weighted and not takes_weights:
            off = ", or set weighted: false" if "weighted" in parameters_of(reducer_class) else ""
            raise InputError(
                f"{entry.name} after {reducer.name}: its rows carry weights, and {entry.name} takes none "
                f"({solver_class.weights_reason}){off}"
            )
    solver_params, reducer_params = entry.params, reducer.params if reducer else {}
    of_solver, of_reducer = _each(solver_params), _each(reducer_params)
    plain = entry.as_ or (f"{reducer.name} + {entry.name}" if reducer else entry.name)
    methods = []
    for own, its in product(of_solver, of_reducer):
        varied = [(key, own[key]) for key, value in solver_params.items() if isinstance(value, list)]
        varied += [(key, its[key]) for key, value in reducer_params.items() if isinstance(value, list)]
        label = " ".join([plain, *(f"{key}={_short(value)}" for key, value in varied)])
        methods.append(PlannedMethod(label, entry.name, own, reducer.name if reducer else None, its))
    return methods


def _each(params: dict[str, Any]) -> list[dict]:
    for key, value in params.items():
        if value == []:
            raise InputError(f"{key}: an empty list leaves nothing to run")
    lists = [value if isinstance(value, list) else [value] for value in params.values()]
    return [dict(zip(params, values, strict=True)) for values in product(*lists)]


def _short(value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _wants_control(method: PlannedMethod) -> bool:
    return method.reducer not in (None, RANDOM)


def _control(method: PlannedMethod) -> PlannedMethod:
    """The same solver on a random sample of the size that the reduction kept."""
    weighted = SOLVERS.get(method.solver).accepts_weights
    return PlannedMethod(control_label(method.label), method.solver, method.solver_params, RANDOM,
                         {"weighted": weighted}, control_of=method.label)  # fmt: skip


def parameters_at(method: PlannedMethod, point: dict, threads: int, seed: int = 0) -> tuple[dict, dict]:
    """What solver and reducer get at this point; their own parameters win over the grid's."""
    reducer = REDUCERS.get(method.reducer) if method.reducer else None
    common = point | {"threads": threads, "random_state": seed}
    own = method.solver_params, method.reducer_params
    return share_parameters(SOLVERS.get(method.solver), reducer, common, *own)


def _build(method: PlannedMethod, point: dict, threads: int) -> None:
    for_solver, for_reducer = parameters_at(method, point, threads)
    solver_class = SOLVERS.get(method.solver)
    build_method(method.solver, solver_class, for_solver)
    kernel = for_solver.get("kernel")
    if kernel is not None and solver_class.kernels:
        parse_kernel(kernel, solver_class.kernels, whose=method.solver, mixes=solver_class.mixes_kernels)
    if method.reducer is not None:
        build_method(method.reducer, REDUCERS.get(method.reducer), for_reducer)


def selected_parameters(method: PlannedMethod, config: Config) -> list[str]:
    """The parameters of a method that the grid varies and cross-validation chooses; none if it is not an SVM."""
    known = parameters_of(SOLVERS.get(method.solver))
    varied = [key for key in config.grid if key in known and key not in method.solver_params]
    own_kernel = method.solver_params.get("kernel", known.get("kernel"))
    kernels = config.grid["kernel"] if "kernel" in varied else [own_kernel]
    if "C" not in varied or not set(kernels) <= KERNEL_CODES.keys() - {PRECOMPUTED}:
        return []
    if others := [key for key in varied if key not in SEARCHED and len(config.grid[key]) > 1]:
        raise InputError(f"select: chooses {', '.join(SEARCHED)}; leave out {others[0]} of the grid, or select")
    return varied
