"""What a worker process does: it reads tasks as JSON lines and answers with JSON lines.

``load → split → scale → reduce → solve → score``, each stage timed by itself; compiling and loading come
before the clock starts. ``worker_start`` is how the process begins.
"""

from __future__ import annotations

import base64
import io
import json
import os
import time
import traceback
import warnings
import zlib
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np
import psutil
from scipy import sparse

from svmreduce.errors import DataMissing, InputError
from svmreduce.experiments import environment
from svmreduce.experiments.load_split import training_and_test
from svmreduce.experiments.primal import primal_objective
from svmreduce.kernels import resolve_gamma
from svmreduce.pipeline import fit_on, resolve_kernel_space
from svmreduce.reducers import REDUCERS
from svmreduce.registry import build_method
from svmreduce.scores import area_under_curve
from svmreduce.solvers import SOLVERS
from svmreduce.types import Dataset, Reduction

MOST_WRONG = 200_000  # test rows; of more, a record does not say which ones were wrong


class Clock:
    """Wall and CPU seconds per stage."""

    def __init__(self):
        self.wall, self.cpu = {}, {}

    @contextmanager
    def stage(self, name: str):
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.wall[name] = time.perf_counter() - wall
            self.cpu[name] = time.process_time() - cpu


def run_task(task: dict, kept: str | None = None, rows: int | None = None, on_start=lambda: None) -> dict:
    """The facts of one reduction, fit or selection.

    Parameters
    ----------
    task : a ``planning.Task`` as a dict
    kept : the packed reduction that a fit trains on
    rows : of a control: how many rows to sample
    on_start : called when everything is ready and the clock starts; for a method of others once more before it
        is warmed up, which has the same limit
    """
    clock = Clock()
    with clock.stage("load"):
        split = training_and_test(*(task[key] for key in ("dataset", "split", "scaling", "fold", "seed")))
    # a reduction may be shared by solvers of different tasks
    registry, name = (REDUCERS, task["reducer"]) if task["kind"] == "reduction" else (SOLVERS, task["solver"])
    method = _searcher() if task["kind"] == "selection" else registry.get(name)
    if split.train.task not in method.tasks:
        return {"status": "skipped", "reason": f"{name} cannot do {split.train.task}"}
    if split.test.task != split.train.task:
        raise InputError(f"the training labels are for {split.train.task}, the test labels for {split.test.task}")
    facts = {"task": split.train.task, "data_sha256": split.train.sha256}
    own = next((base for base in method.__mro__ if _is_ours(base)), None)
    if own:
        own.warm_up()
    if own is not method:  # what others wrote may hang on a toy problem as well
        on_start()
        method.warm_up()
    before = _peak_memory(reset=True)
    on_start()
    if task["kind"] == "reduction":
        facts |= _reduce(task, split.train, rows, clock)
    elif task["kind"] == "selection":
        facts |= _select(task, split.train, clock)
    else:
        facts |= _fit(task, split, kept, clock)
    facts["memory_mb"] = max(0.0, (facts.pop("peak_memory", None) or _peak_memory()) - before)
    facts["seconds"] = clock.wall | {"total": sum(clock.wall.values())} | facts.pop("own_seconds", {})
    facts["cpu_seconds"] = {name: seconds for name, seconds in clock.cpu.items() if name != "load"}
    if "convert" in facts["seconds"]:
        facts["cpu_seconds"]["fit"] = facts["cpu_seconds"].pop("solve")  # convert, reduce and solve together
    return {"status": "ok", "reason": ""} | facts


def _is_ours(base: type) -> bool:
    """Whether it is a method of this package, and not only what methods have in common."""
    ours = base.__module__.startswith("svmreduce.") and not base.__module__.endswith(".base")
    return ours and hasattr(base, "warm_up")


def _reduce(task, train, rows, clock) -> dict:
    params = task["reducer_params"] | ({} if rows is None else {"rows": min(rows, train.n_rows)})
    reducer = build_method(task["reducer"], REDUCERS.get(task["reducer"]), params)
    resolve_kernel_space(train.X, reducer, norms=reducer.gives_weights)
    with clock.stage("reduce"):
        kept = reducer.fit_reduce(train.X, train.y)
    info = dict(kept.info)
    levels = info.pop("seconds", {})
    return {
        "sizes": {"train_rows": train.n_rows, "features": train.n_features, "kept_rows": kept.n_rows},
        "counters": {"weight_sum": float(kept.sample_weight.sum())} | info,
        "own_seconds": {"levels": levels} if levels else {},
        "kept": pack(kept),
    }


def _searcher() -> type:
    """Few tasks need it, and its imports take a second."""
    from svmreduce.search import SVMSearchCV

    return SVMSearchCV


def _select(task, train, clock) -> dict:
    """The point of the grid that cross-validation on the training rows finds best."""
    from sklearn.model_selection import KFold, StratifiedKFold

    settings = dict(task["solver_params"])
    axes = {name: settings.pop(name) for name in ("C", "gamma", "epsilon") if name in settings}
    if train.task == "classification":
        axes.pop("epsilon", None)
    elif "epsilon" not in axes:
        return {"status": "skipped", "reason": "a regression is selected by cross-validation only with an epsilon"}
    varied = {name: given for name, given in axes.items() if isinstance(given, list)}
    if "gamma" in axes:  # words mean what they mean for all training rows, as in the fits
        given = axes["gamma"] if isinstance(axes["gamma"], list) else [axes["gamma"]]
        axes["gamma"] = [resolve_gamma(one, train.X, settings["kernel"]) for one in given]
    numbers = {name: list(axes[name]) for name in varied}
    splitter = KFold if train.task == "regression" else StratifiedKFold
    folds = splitter(settings.pop("folds"), shuffle=True, random_state=task["seed"])
    search = _searcher()(**axes, **settings, cv=folds, refit=False, threads=task["threads"])
    with clock.stage("select"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a class with fewer rows than folds
        search.fit(train.X, train.y)
    best = search.best_params_
    # a linear kernel has the same fits for every gamma
    places = {name: numbers[name].index(best[name]) if name in best else 0 for name in varied}
    chosen = {name: given[places[name]] for name, given in varied.items()}
    facts = {
        "sizes": {"train_rows": train.n_rows, "features": train.n_features},
        "counters": {"chosen": chosen, "n_iter": int(search.cv_results_["iterations"].sum()),
                     "gap": float(search.cv_results_["max_gap"].max())},
        "scores": {search.scorer_: abs(search.best_score_)},
    }  # fmt: skip
    if not search.converged_:
        facts |= {"status": "not_converged", "reason": "some of its fits stopped before they reached their tolerance"}
    return facts


def _fit(task, split, packed, clock) -> dict:
    train, test = split.train, split.test
    solver = build_method(task["solver"], SOLVERS.get(task["solver"]), task["solver_params"])
    if packed is None:
        kept = Reduction(train.X, train.y, np.ones(train.n_rows))
    else:
        resolve_kernel_space(train.X, solver, norms=REDUCERS.get(task["reducer"]).gives_weights)
        kept = unpack(packed, train)
    with warnings.catch_warnings(), clock.stage("solve"):
        warnings.simplefilter("ignore")  # not converging is a status
        fit_on(solver, kept)
    with clock.stage("predict"):
        predicted = solver.predict(test.X)
    peak_memory = _peak_memory()  # of the fit and its predictions, not of what is measured below
    scores = _scores(solver, test, predicted)
    told = solver.fit_facts()
    facts = {
        "peak_memory": peak_memory,
        "sizes": {"train_rows": train.n_rows, "kept_rows": kept.n_rows, "test_rows": test.n_rows,
                  "features": train.n_features, "vectors": told.vectors},
        "counters": {"n_iter": told.iterations, "kernel_evals": told.kernel_evals,
                     "objective": told.objective, "gap": told.gap, **told.rounds, **told.curves,
                     **primal_objective(solver, task["solver"], train.X, train.y), **_wrong(test, predicted)},
        "scores": scores,
        "own_seconds": told.seconds,  # convert, reduce and solve apart
        "threads": told.threads,
    }  # fmt: skip
    if not told.converged:
        facts |= {"status": "not_converged", "reason": "stopped before it reached its tolerance"}
    return facts


def _scores(solver, test, predicted) -> dict:
    if np.shape(predicted) != test.y.shape:
        raise InputError(f"predict returned shape {np.shape(predicted)} for {test.n_rows} rows")
    if test.task == "regression":
        if not np.isfinite(predicted).all():
            raise ArithmeticError(f"{int((~np.isfinite(predicted)).sum())} predictions are not finite")
        return {"mse": float(np.mean((predicted - test.y) ** 2)), "mae": float(np.mean(np.abs(predicted - test.y)))}
    errors = int(np.sum(predicted != test.y))
    auc = None
    classes = getattr(solver, "classes_", ())
    if len(classes) == 2 and np.array_equal(np.unique(test.y), classes):
        values = _ranking(solver, test.X)
        auc = None if values is None else area_under_curve(test.y == classes[1], values)
    return {"accuracy": 1 - errors / test.n_rows, "errors": errors, "auc": auc}


def _wrong(test, predicted) -> dict:
    """Which test rows were wrong, so that two methods can be compared row by row: packed bits, compressed, as text."""
    if test.task == "regression" or test.n_rows > MOST_WRONG:
        return {}
    return {"wrong": base64.b64encode(zlib.compress(np.packbits(predicted != test.y).tobytes(), 9)).decode("ascii")}


def _ranking(solver, X) -> np.ndarray | None:
    """What is larger for rows that are more of the second class; None if a method of others has nothing of the kind."""
    if hasattr(solver, "decision_function"):
        return solver.decision_function(X)
    return solver.predict_proba(X)[:, 1] if hasattr(solver, "predict_proba") else None


def pack(kept: Reduction) -> str:
    """A reduction as text that travels inside a JSON line: which rows, or the rows themselves if they were made."""
    arrays = {"weights": kept.sample_weight}
    if kept.indices is not None:
        arrays["indices"] = kept.indices
    elif sparse.issparse(kept.X):
        arrays |= {"y": kept.y, "data": kept.X.data, "columns": kept.X.indices, "starts": kept.X.indptr}
    else:
        arrays |= {"y": kept.y, "X": kept.X}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def unpack(text: str, train: Dataset) -> Reduction:
    with np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False) as arrays:
        weights = arrays["weights"]
        if "indices" in arrays:
            indices = arrays["indices"]
            return Reduction(train.X[indices], train.y[indices], weights, indices)
        if "X" in arrays:
            return Reduction(arrays["X"], arrays["y"], weights)
        parts = (arrays["data"], arrays["columns"], arrays["starts"])
        return Reduction(sparse.csr_matrix(parts, (len(weights), train.n_features)), arrays["y"], weights)


def _peak_memory(reset: bool = False) -> float:
    """Peak resident size in MB; Linux can reset it."""
    try:
        if reset:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        return psutil.Process().memory_info().rss / 2**20


def serve(source: BinaryIO, target: BinaryIO) -> None:
    """Answer every message of ``source`` on ``target``, under the id that the message carries."""
    home = os.getcwd()
    for line in source:
        message = json.loads(line)
        number = message.pop("id")

        def answer(content: dict, number=number) -> None:
            target.write(json.dumps({"id": number, **content}, default=_number).encode() + b"\n")
            target.flush()

        os.chdir(home)  # in case a method went elsewhere
        try:
            facts = run_task(**message, on_start=lambda answer=answer: answer({"event": "started"}))
            json.dumps(facts, default=_number)
        except InputError as error:
            facts = {"status": "skipped" if isinstance(error, DataMissing) else "error", "reason": str(error)}
        except MemoryError as error:
            facts = {"status": "memory", "reason": f"out of memory: {error}"}
        except Exception as error:
            traceback.print_exc()
            facts = {"status": "error", "reason": f"{type(error).__name__}: {' '.join(str(error).split())}"}
        answer({"event": "done", **facts, "environment": environment.describe()})


def _number(value):
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be recorded")
