"""From an experiment to the flat list of what has to run: pure, and without running anything.

Two levels: reductions, and the fits that share them. Most reductions depend on the rows and the kernel, not on C, and
all C of a grid share one; a reducer that has a C of its own (bootstrap cleaning) reduces once per C. Beside them stand
selections of a grid point by cross-validation, which no fit waits for. Nothing here loads data, but the user's files
are hashed, and columns that small ones do not have are reported.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import random
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from svmreduce.data import catalog, synthetic
from svmreduce.data.columns import Table
from svmreduce.data.fetching import content_hash
from svmreduce.data.formats import read_rows
from svmreduce.data.scaling import Scaler
from svmreduce.errors import InputError
from svmreduce.experiments.config import Config, MethodPart, SolverConfig
from svmreduce.experiments.records import RANDOM, SELECTION, control_label
from svmreduce.kernels import KERNEL_CODES, PRECOMPUTED, parse_kernel
from svmreduce.pipeline import share_parameters
from svmreduce.reducers import REDUCERS
from svmreduce.registry import build_method, nearest_name_error, parameters_of
from svmreduce.solvers import SOLVERS

_SMALL_FILE = 8 << 20  # bytes


@dataclass(frozen=True)
class Task:
    """One reduction, fit or selection, as plain values that travel to any worker."""

    kind: str  # "reduction", "fit" or "selection"
    dataset: dict
    title: str  # of the data set
    split: dict
    scaling: str | None
    fold: int
    seed: int
    repeat: int
    method: str
    solver: str
    solver_params: dict
    reducer: str | None
    reducer_params: dict
    point: dict
    threads: int
    reduction: str | None = None  # id of the reduction that a fit trains on
    size_of: str | None = None  # control: id of the reduction whose size this random sample has
    own_code: str = ""  # hash of methods that are not part of the package
    id: str = field(default="", compare=False)

    @property
    def needs(self) -> list[str]:
        """The ids of the reductions that must be there before."""
        return [need for need in (self.reduction, self.size_of) if need]

    def __post_init__(self):
        about = asdict(self)
        for label in ("title", "method", "point", "id"):  # names, not what is computed
            del about[label]
        if self.kind == "reduction":
            for of_fit in ("solver", "solver_params", "repeat"):
                del about[of_fit]
        text = json.dumps(about, sort_keys=True, default=str)
        object.__setattr__(self, "id", hashlib.sha256(text.encode()).hexdigest()[:16])

    @property
    def fits(self) -> int:
        """How many it stands for: a selection fits every point of its grid on every fold."""
        if self.kind != SELECTION:
            return 1
        lists = (value for value in self.solver_params.values() if isinstance(value, list))
        return self.solver_params["folds"] * math.prod(map(len, lists))


@dataclass(frozen=True)
class PlannedMethod:
    """A row of the tables: solver and reducer with their own parameters."""

    label: str
    solver: str
    solver_params: dict
    reducer: str | None = None
    reducer_params: dict = field(default_factory=dict)
    control_of: str | None = None


def expand(config: Config) -> list[Task]:
    """Every task in the order in which it should run: the methods of one block follow each other, shuffled.

    Two methods that compute the same have tasks of the same id, which run once.

    A block is one data set, fold, seed, repeat and grid point; machine noise then affects its methods equally.
    """
    check_size(config)
    methods = methods_of(config)
    _tell_apart("data sets", [dataset.title for dataset in config.datasets])
    if config.scaling is not None:
        Scaler(config.scaling)  # so that an unknown one is reported now
    tasks: dict[tuple, Task] = {}
    for dataset in config.datasets:
        _check_dataset(dataset, methods)
        source = _plain(dataset, but={"split", "as_"}) | _contents(dataset)
        split = dataset.split or config.split
        for seed, fold, repeat in product(config.seeds, range(split.folds or 1), range(config.repeats)):
            here = {"dataset": source, "title": dataset.title, "split": _plain(split), "seed": seed,
                    "scaling": config.scaling, "fold": fold, "threads": config.threads}  # fmt: skip
            if config.select and config.fits and repeat == 0:
                selections = [_selection_of(method, config, here) for method in methods]
                tasks |= {(task.id, task.method): task for task in selections if task}
            for number, point in enumerate(points_of(config)):
                order = list(methods)
                random.Random(f"{config.name} {dataset.title} {seed} {fold} {repeat} {number}").shuffle(order)
                order.sort(key=lambda method: method.control_of is not None)  # needs the size of the other
                for method in order:
                    for task in _tasks_of(method, methods, point, here, repeat):
                        if config.fits or task.kind == "reduction":
                            tasks.setdefault((task.id, task.method, str(task.point), task.repeat), task)
    return list(tasks.values())


def check_size(config: Config) -> None:
    """Count the tasks before any of them is made: a slip in a grid may stand for more than memory can hold."""
    factors = {
        "grid": math.prod(len(values) for values in config.grid.values()),
        "solvers and reducers": sum(
            _combinations(entry) * (_combinations(reducer) if reducer.name != "none" else 1)
            for entry in config.solvers
            for reducer in _reducers_of(entry, config)
        ),
        "seeds": len(config.seeds),
        "repeats": config.repeats,
        "folds of all datasets": sum((dataset.split or config.split).folds or 1 for dataset in config.datasets),
    }
    total = math.prod(factors.values())
    if total > config.limits.tasks:
        product_of = " × ".join(f"{name} {count}" for name, count in factors.items())
        raise InputError(
            f"{total} fits ({product_of}) are more than limits.tasks, {config.limits.tasks}; "
            "shorten one of these, or raise limits.tasks"
        )


def _combinations(part: MethodPart) -> int:
    return math.prod(len(value) for value in part.params.values() if isinstance(value, list))


def _reducers_of(entry: SolverConfig, config: Config) -> list[MethodPart]:
    return [entry.reducer] if entry.reducer else (config.reducers or [MethodPart(name="none")])


def methods_of(config: Config) -> list[PlannedMethod]:
    """The rows of the tables, each checked: unknown names and parameters, impossible pairs."""
    methods = []
    for entry in config.solvers:
        for reducer in _reducers_of(entry, config):
            methods += _variants(entry, None if reducer.name == "none" else reducer, config)
    labels = [method.label for method in methods]
    _tell_apart("methods", labels)
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
    if config.select and not any(_selects(method, config) for method in methods):
        raise InputError("select: no method has a kernel, and a C in the grid to choose")
    if not (config.fits or any(method.reducer for method in methods)):
        raise InputError("fits: false makes reductions only, and there is no reducer")
    return methods + (
        [_control(method) for method in methods if _wants_control(method)] if config.control and config.fits else []
    )


def _tell_apart(what: str, labels: list[str]) -> None:
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


def _parameters(method: PlannedMethod, point: dict, threads: int, seed: int = 0) -> tuple[dict, dict]:
    """What solver and reducer get at this point; their own parameters win over the grid's."""
    reducer = REDUCERS.get(method.reducer) if method.reducer else None
    common = point | {"threads": threads, "random_state": seed}
    own = method.solver_params, method.reducer_params
    return share_parameters(SOLVERS.get(method.solver), reducer, common, *own)


def _build(method: PlannedMethod, point: dict, threads: int) -> None:
    for_solver, for_reducer = _parameters(method, point, threads)
    solver_class = SOLVERS.get(method.solver)
    build_method(method.solver, solver_class, for_solver)
    kernel = for_solver.get("kernel")
    if kernel is not None and solver_class.kernels:
        parse_kernel(kernel, solver_class.kernels, whose=method.solver, mixes=solver_class.mixes_kernels)
    if method.reducer is not None:
        build_method(method.reducer, REDUCERS.get(method.reducer), for_reducer)


def _tasks_of(method: PlannedMethod, methods: list[PlannedMethod], point: dict, here: dict, repeat: int):
    """The fit of a method at a point, after the reductions it needs."""
    for_solver, for_reducer = _parameters(method, point, here["threads"], here["seed"])
    common = here | {"solver": method.solver, "solver_params": for_solver, "method": method.label,
                     "reducer": method.reducer, "reducer_params": for_reducer}  # fmt: skip
    reduction = None
    if method.reducer is not None:
        its_point = {key: for_reducer[key] for key in point if key in for_reducer}
        size_of = None
        if method.control_of is not None:  # one sample for each reduction that it is the control of
            original = next(other for other in methods if other.label == method.control_of)
            model = next(iter(_tasks_of(original, methods, point, here, repeat)))
            its_point, size_of = model.point, model.id
        own_code = _own_code(None, method.reducer)  # a reduction is shared by solvers, whoever wrote them
        reduction = Task("reduction", point=its_point, repeat=0, size_of=size_of, own_code=own_code, **common)
        yield reduction
    own_point = {key: value for key, value in point.items() if key in for_solver and key not in method.solver_params}
    own_code = _own_code(method.solver, method.reducer)
    yield Task("fit", point=own_point, repeat=repeat, reduction=reduction and reduction.id, own_code=own_code, **common)


_SEARCHED = ("C", "gamma", "epsilon")  # what cross-validation can choose


def _selects(method: PlannedMethod, config: Config) -> list[str]:
    """The parameters of a method that the grid varies and cross-validation chooses; none if it is not an SVM."""
    known = parameters_of(SOLVERS.get(method.solver))
    varied = [key for key in config.grid if key in known and key not in method.solver_params]
    own_kernel = method.solver_params.get("kernel", known.get("kernel"))
    kernels = config.grid["kernel"] if "kernel" in varied else [own_kernel]
    if "C" not in varied or not set(kernels) <= KERNEL_CODES.keys() - {PRECOMPUTED}:
        return []
    if others := [key for key in varied if key not in _SEARCHED and len(config.grid[key]) > 1]:
        raise InputError(f"select: chooses {', '.join(_SEARCHED)}; leave out {others[0]} of the grid, or select")
    return varied


def _selection_of(method: PlannedMethod, config: Config, here: dict) -> Task | None:
    """The search for the best grid point on these training rows; methods with the same kernel share it."""
    varied = _selects(method, config)
    if not varied:
        return None
    first = points_of(config)[0]
    given = parameters_of(SOLVERS.get(method.solver)) | _parameters(method, first, here["threads"])[0]
    names = ("kernel", "gamma", "coef0", "degree", "epsilon", "class_weight")
    problem = {name: given[name] for name in names if given.get(name) is not None}
    problem |= {key: config.grid[key] for key in varied if key in _SEARCHED}
    fixed = {key: value for key, value in first.items() if key in varied and key not in _SEARCHED}
    return Task(SELECTION, **here, repeat=0, method=method.label, solver="smo", reducer=None, reducer_params={},
                solver_params=problem | {"folds": config.select.folds}, point=fixed)  # fmt: skip


_COUNTED = ("builtins", "svmreduce", "sklearn")  # in the version of the code, or of a package


@cache
def _own_code(*names: str | None) -> str:
    """Methods of others are not part of the code version: the files of their classes and of those that these inherit
    from count, and the versions of their packages. Other modules that they import do not."""
    pairs = zip((SOLVERS, REDUCERS), names, strict=True)
    foreign = [(registry, name) for registry, name in pairs if name and name not in registry.where]
    classes = [base for registry, name in foreign for base in registry.get(name).__mro__]
    files = dict.fromkeys(inspect.getfile(one) for one in classes if one.__module__.split(".")[0] not in _COUNTED)
    contents = [Path(file).read_bytes() for file in files]
    contents += [registry.source_of(name).encode() for registry, name in foreign]
    return hashlib.sha256(b"".join(contents)).hexdigest()[:16] if foreign else ""


def _check_dataset(dataset, methods: list[PlannedMethod]) -> None:
    """Unknown names, and a task that a method cannot do, are reported before anything runs."""
    if dataset.generator:
        synthetic.check_request(dataset.generator, dataset.rows, dataset.params)
        task = "regression" if dataset.generator in synthetic.REGRESSION else "classification"
    elif dataset.name:
        task = catalog.load_card(dataset.name).task
    else:
        _check_columns(dataset)
        return  # a file says what it is when it is read
    for method in methods:
        if task not in SOLVERS.get(method.solver).tasks:
            raise InputError(f"{dataset.title} is for {task}, which {method.solver} cannot do")


def _check_columns(dataset) -> None:
    """Columns that a small file does not have are reported now; a large file is read only when it is needed."""
    named = [] if dataset.label is None else [dataset.label]
    chosen, path = [*named, *dataset.drop, *dataset.columns, *dataset.categories], Path(dataset.file)
    if chosen and path.is_file() and path.stat().st_size <= _SMALL_FILE:
        with warnings.catch_warnings(action="ignore"):
            raw = read_rows(path, header=dataset.header)
        if isinstance(raw, Table):
            raw.positions(chosen)


def _contents(dataset) -> dict:
    """A file or a card that changed is other data under the same name."""
    if dataset.name:
        card = catalog.load_card(dataset.name).model_dump_json()
        return {"card": hashlib.sha256(card.encode()).hexdigest()[:16]}
    paths = [path for path in (dataset.file, dataset.test) if path]
    for path in paths:
        if not Path(path).is_file():
            raise InputError(f"{path}: no such file; check the name in datasets")
    return {"sha256": [content_hash(Path(path)) for path in paths]} if paths else {}


def _plain(part, but: set[str] | None = None) -> dict:
    return part.model_dump(exclude_defaults=True, exclude=but)
