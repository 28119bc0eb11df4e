"""One worker process: reads tasks as JSON lines, answers with JSON lines.

``load → split → scale → reduce → solve → score``, each stage timed by itself; compiling and loading come
before the clock starts. Whatever a method prints goes to the log, not into the answers. Run as
``python -m svmreduce.experiments.worker``.
"""

from __future__ import annotations

import base64
import io
import json
import os
import sys
import threading
import time
import warnings
from contextlib import contextmanager

import numpy as np
import psutil
from sklearn.metrics import roc_auc_score

from svmreduce.errors import DataMissing, InputError
from svmreduce.experiments import environment
from svmreduce.experiments.load_split import training_and_test
from svmreduce.kernels import resolve_gamma
from svmreduce.reducers import REDUCERS
from svmreduce.registry import build_method
from svmreduce.solvers import SOLVERS


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
    """The facts of one reduction or one fit.

    Parameters
    ----------
    task : a ``planning.Task`` as a dict
    kept : the packed reduction that a fit trains on
    rows : of a control: how many rows to sample
    on_start : called when everything is ready and the clock starts
    """
    clock = Clock()
    with clock.stage("load"):
        split = training_and_test(*(task[key] for key in ("dataset", "split", "scaling", "fold", "seed")))
    # a reduction may be shared by solvers of different tasks
    registry, name = (REDUCERS, task["reducer"]) if task["kind"] == "reduction" else (SOLVERS, task["solver"])
    method = registry.get(name)
    if split.train.task not in method.tasks:
        return {"status": "skipped", "reason": f"{name} cannot do {split.train.task}"}
    if split.test.task != split.train.task:
        raise InputError(f"the training labels are for {split.train.task}, the test labels for {split.test.task}")
    facts = {"task": split.train.task, "data_sha256": split.train.sha256}
    method.warm_up()
    before = _peak_memory(reset=True)
    on_start()
    if task["kind"] == "reduction":
        facts |= _reduce(task, split.train, rows, clock)
    else:
        facts |= _fit(task, split, kept, clock)
    facts["memory_mb"] = max(0.0, _peak_memory() - before)
    facts["seconds"] = clock.wall | {"total": sum(clock.wall.values())} | facts.pop("own_seconds", {})
    facts["cpu_seconds"] = {name: seconds for name, seconds in clock.cpu.items() if name != "load"}
    if "convert" in facts["seconds"]:
        facts["cpu_seconds"]["fit"] = facts["cpu_seconds"].pop("solve")  # convert, reduce and solve together
    return {"status": "ok", "reason": ""} | facts


def _in_one_space(task: dict, X) -> tuple[dict, dict]:
    """Parameters with words such as gamma = "scale" resolved on all training rows, for both stages alike."""
    both = []
    for params in (task["solver_params"], task["reducer_params"]):
        gamma = params.get("gamma")
        kernel = params.get("kernel", "rbf")  # the default of every method that has one
        both.append(params | {"gamma": resolve_gamma(gamma, X, kernel)} if isinstance(gamma, str) else params)
    return both[0], both[1]


def _reduce(task, train, rows, clock) -> dict:
    _, params = _in_one_space(task, train.X)
    if rows is not None:
        params = params | {"rows": min(rows, train.n_rows)}
    reducer = build_method(task["reducer"], REDUCERS.get(task["reducer"]), params)
    with clock.stage("reduce"):
        kept = reducer.fit_reduce(train.X, train.y)
    info = dict(kept.info)
    levels = info.pop("seconds", {})
    return {
        "sizes": {"train_rows": train.n_rows, "features": train.n_features, "kept_rows": len(kept.indices)},
        "counters": {"weight_sum": float(kept.sample_weight.sum())} | info,
        "own_seconds": {"levels": levels} if levels else {},
        "kept": pack(kept.indices, kept.sample_weight),
    }


def _fit(task, split, packed, clock) -> dict:
    train, test = split.train, split.test
    params, _ = _in_one_space(task, train.X)
    solver = build_method(task["solver"], SOLVERS.get(task["solver"]), params)
    X, y, weights = train.X, train.y, None
    if packed is not None:
        indices, weights = unpack(packed)
        X, y = X[indices], y[indices]
        weights = None if (weights == 1).all() else weights
    with warnings.catch_warnings(), clock.stage("solve"):
        warnings.simplefilter("ignore")  # not converging is a status
        solver.fit(X, y) if weights is None else solver.fit(X, y, sample_weight=weights)
    with clock.stage("predict"):
        predicted = solver.predict(test.X)
    vectors = getattr(solver.model_, "n_vectors", None)
    facts = {
        "sizes": {"train_rows": train.n_rows, "kept_rows": len(y), "test_rows": test.n_rows,
                  "features": train.n_features, "vectors": vectors},
        "counters": {"n_iter": solver.n_iter_, "kernel_evals": solver.kernel_evals_,
                     "objective": solver.objective_, "gap": solver.gap_, **solver.told_by_rounds(),
                     **getattr(solver, "curves_", {})},
        "scores": _scores(solver, test, predicted),
        "own_seconds": solver.seconds_,  # convert, reduce and solve apart
        "threads": getattr(solver, "threads_", None),
    }  # fmt: skip
    if not solver.converged_:
        facts |= {"status": "not_converged", "reason": "stopped before it reached its tolerance"}
    return facts


def _scores(solver, test, predicted) -> dict:
    if test.task == "regression":
        if not np.isfinite(predicted).all():
            raise ArithmeticError(f"{int((~np.isfinite(predicted)).sum())} predictions are not finite")
        return {"mse": float(np.mean((predicted - test.y) ** 2)), "mae": float(np.mean(np.abs(predicted - test.y)))}
    errors = int(np.sum(predicted != test.y))
    auc = None
    if len(solver.classes_) == 2 and np.array_equal(np.unique(test.y), solver.classes_):
        values = solver.decision_function(test.X)
        auc = float(roc_auc_score(test.y, values)) if np.isfinite(values).all() else None
    return {"accuracy": 1 - errors / test.n_rows, "errors": errors, "auc": auc}


def pack(indices, weights) -> str:
    """Rows and weights as text, so that they travel inside a JSON line."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, indices=indices, weights=weights)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def unpack(text: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(io.BytesIO(base64.b64decode(text))) as arrays:
        return arrays["indices"], arrays["weights"]


def _peak_memory(reset: bool = False) -> float:
    """Peak resident size in MB; Linux can begin it anew."""
    try:
        if reset:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        return psutil.Process().memory_info().rss / 2**20


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a method prints belongs in the log
    _end_with_parent()
    home = os.getcwd()

    def answer(content: dict) -> None:
        answers.write(json.dumps(content, default=_number) + "\n")
        answers.flush()

    for line in sys.stdin:
        message = json.loads(line)
        os.chdir(home)  # in case a method went elsewhere
        try:
            facts = run_task(**message, on_start=lambda: answer({"event": "started"}))
            json.dumps(facts, default=_number)
        except InputError as error:
            facts = {"status": "skipped" if isinstance(error, DataMissing) else "error", "reason": str(error)}
        except MemoryError as error:
            facts = {"status": "memory", "reason": f"out of memory: {error}"}
        except Exception as error:
            import traceback

            traceback.print_exc()
            facts = {"status": "error", "reason": f"{type(error).__name__}: {' '.join(str(error).split())}"}
        answer({"event": "done", **facts, "environment": environment.describe()})


def _number(value):
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be recorded")


def _end_with_parent() -> None:
    """A worker whose run was killed must not go on for hours."""
    parent = os.getppid()

    def watch():
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main()
