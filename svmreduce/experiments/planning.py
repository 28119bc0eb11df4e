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
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path

from svmreduce.data import catalog, synthetic
from svmreduce.data.columns import Table
from svmreduce.data.fetching import content_hash
from svmreduce.data.formats import read_rows
from svmreduce.data.scaling import Scaler
from svmreduce.errors import InputError
from svmreduce.experiments.config import Config
from svmreduce.experiments.planned_methods import (
    SEARCHED,
    PlannedMethod,
    combinations,
    methods_of,
    parameters_at,
    points_of,
    reducers_of,
    selected_parameters,
    tell_apart,
)
from svmreduce.experiments.records import SELECTION
from svmreduce.reducers import REDUCERS
from svmreduce.registry import parameters_of
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
        about = dict(vars(self))
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


def expand(config: Config) -> list[Task]:
    """Every task in the order in which it should run: the methods of one block follow each other, shuffled.

    Two methods that compute the same have tasks of the same id, which run once.

    A block is one data set, fold, seed, repeat and grid point; machine noise then affects its methods equally.
    """
    check_size(config)
    methods = methods_of(config)
    tell_apart("data sets", [dataset.title for dataset in config.datasets])
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
            combinations(entry) * (combinations(reducer) if reducer.name != "none" else 1)
            for entry in config.solvers
            for reducer in reducers_of(entry, config)
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


def _tasks_of(method: PlannedMethod, methods: list[PlannedMethod], point: dict, here: dict, repeat: int):
    """The fit of a method at a point, after the reductions it needs."""
    for_solver, for_reducer = parameters_at(method, point, here["threads"], here["seed"])
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


def _selection_of(method: PlannedMethod, config: Config, here: dict) -> Task | None:
    """The search for the best grid point on these training rows; methods with the same kernel share it."""
    varied = selected_parameters(method, config)
    if not varied:
        return None
    first = points_of(config)[0]
    given = parameters_of(SOLVERS.get(method.solver)) | parameters_at(method, first, here["threads"])[0]
    names = ("kernel", "gamma", "coef0", "degree", "epsilon", "class_weight")
    problem = {name: given[name] for name in names if given.get(name) is not None}
    problem |= {key: config.grid[key] for key in varied if key in SEARCHED}
    fixed = {key: value for key, value in first.items() if key in varied and key not in SEARCHED}
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
