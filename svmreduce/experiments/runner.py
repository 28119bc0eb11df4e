"""Runs a plan: hands tasks to an engine, turns every answer into a record, stores it at once.

A record is reused instead of computed again only when the task (data, parameters, seed, threads), code, versions
and machine agree.
"""

from __future__ import annotations

import base64
import zipfile
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from svmreduce.experiments import environment
from svmreduce.experiments.config import Config
from svmreduce.experiments.plan import Task
from svmreduce.experiments.store import Records, Store

FINISHED = ("ok", "not_converged")  # has times and scores
FAILED = ("timeout", "memory", "crash", "error")  # a skipped row has its reason elsewhere: no data, no reduction
_EMPTY = {"seconds": {}, "cpu_seconds": {}, "sizes": {}, "counters": {}, "scores": {}, "memory_mb": None, "log": ""}


@dataclass
class Agenda:
    """What a run has to do: the tasks, and the records that stand for some of them already."""

    config: Config
    tasks: list[Task]
    known: dict[str, dict] = field(default_factory=dict)  # id -> record that need not be made again

    @property
    def todo(self) -> list[Task]:
        """What is to run, each id once."""
        return list({task.id: task for task in reversed(self.tasks) if task.id not in self.known}.values())[::-1]

    def as_dict(self) -> dict:
        """What the run consists of, and under which names; see ``store``."""
        names = ("id", "kind", "method", "point", "fold", "seed", "repeat", "reduction", "size_of")
        tasks = [{"dataset": task.title} | {name: getattr(task, name) for name in names} for task in self.tasks]
        config = self.config
        return {"experiment": config.name, "scale": config.scale, "baseline": config.baseline, "tasks": tasks}


def agenda(
    config: Config,
    tasks: list[Task],
    earlier: Records | None,
    folder: Path,
    *,
    engine: str = "local",
    rerun: str = "",
) -> Agenda:
    """The plan, less what earlier records answer.

    Parameters
    ----------
    rerun : "" keeps failed rows as they are, "failed" makes them again, "all" makes everything again
    """
    plan = Agenda(config, tasks)
    if rerun == "all" or earlier is None:
        return plan
    here = environment.describe()
    by_id = {record["id"]: record for record in earlier.records}
    for task in plan.tasks:
        record = by_id.get(task.id)
        if record is None or not _same_circumstances(record, here, engine):
            continue
        if rerun == "failed" and record["status"] not in FINISHED:
            continue
        if task.kind == "reduction" and record["status"] == "ok" and not _is_whole(_kept_file(folder, task.id)):
            continue
        plan.known[task.id] = record
    if rerun == "failed":  # a fit that was skipped for want of its reduction, and the control of a failed one
        for task in plan.tasks:
            needs = {task.reduction, task.size_of} - {None}
            if needs - plan.known.keys() and plan.known.get(task.id, {}).get("status") not in FINISHED:
                plan.known.pop(task.id, None)
    return plan


def _same_circumstances(record: dict, here: dict, engine: str) -> bool:
    there = record["environment"]
    same = all(there.get(key) == here[key] for key in ("code", "python", "versions"))
    return same and record["engine"] == engine and (engine == "dask" or there.get("host") == here["host"])


def execute(plan: Agenda, store: Store, engine, tell: Callable[[dict], None] = lambda record: None) -> list[dict]:
    """Run what is to do; every record is stored, and told, as soon as it is there.

    Returns the records of the whole plan, known ones included.
    """
    done = dict(plan.known)
    waiting, running = deque(plan.todo), {}
    stamp = _now()
    limits = plan.config.limits.seconds, plan.config.limits.memory_mb

    def finish(task: Task, answer: dict, started: str) -> None:
        packed = answer.pop("kept", None)
        if packed is not None:
            _keep(_kept_file(store.folder, task.id), base64.b64decode(packed))
        record = _record(plan.config, task, answer, engine.name, started, stamp)
        store.append(record)
        done[task.id] = record
        tell(record)

    try:
        while waiting or running:
            later, slots = deque(), engine.slots
            while waiting and len(running) < slots:
                task = waiting.popleft()
                blocked = _failed_need(task, done)
                if blocked:
                    finish(task, {"status": "skipped", "reason": blocked}, _now())
                elif _is_ready(task, done):
                    future = engine.submit(_message(task, done, store.folder), *limits)
                    running[future] = task, _now()
                else:
                    later.append(task)
            waiting.extendleft(reversed(later))
            if running:
                for future in wait(running, timeout=5, return_when=FIRST_COMPLETED).done:
                    task, started = running.pop(future)
                    finish(task, _answer(future), started)
    finally:
        for future in running:
            future.cancel()
    return [done[task.id] for task in plan.tasks if task.id in done]


def _answer(future) -> dict:
    try:
        return future.result()
    except Exception as error:  # of the engine, not of the task: a cluster worker that died again and again
        return {"status": "crash", "reason": f"{type(error).__name__}: {' '.join(str(error).split())}"}


def _needs(task: Task) -> list[str]:
    return [need for need in (task.reduction, task.size_of) if need]


def _is_ready(task: Task, done: dict) -> bool:
    return all(need in done for need in _needs(task))


def _failed_need(task: Task, done: dict) -> str | None:
    """Why this task cannot run: a reduction it needs has failed."""
    for need in _needs(task):
        if need in done and done[need]["status"] != "ok":
            return f"its reduction failed: {done[need]['status']}, {done[need]['reason']}"
    return None


def _message(task: Task, done: dict, folder: Path) -> dict:
    message = {"task": asdict(task)}
    if task.reduction:
        message["kept"] = base64.b64encode(_kept_file(folder, task.reduction).read_bytes()).decode("ascii")
    if task.size_of:
        message["rows"] = done[task.size_of]["sizes"]["kept_rows"]
    return message


def _keep(path: Path, content: bytes) -> None:
    """The kept rows of a reduction, whole or not at all."""
    path.parent.mkdir(exist_ok=True)
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.replace(path)


def _is_whole(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except (OSError, zipfile.BadZipFile):
        return False


def _kept_file(folder: Path, reduction: str) -> Path:
    return Path(folder) / "reductions" / f"{reduction}.npz"


def _record(config: Config, task: Task, answer: dict, engine: str, started: str, stamp: str) -> dict:
    about = asdict(task)
    here = environment.describe()
    env = answer.pop("environment", None) or {key: here[key] for key in ("code", "python", "versions", "host", "cpu")}
    threads = answer.pop("threads", None) or task.threads
    data_sha256 = answer.pop("data_sha256", None)
    return {
        "kind": task.kind, "id": task.id, "status": answer["status"], "reason": answer["reason"],
        "experiment": config.name, "scale": config.scale, "baseline": config.baseline, "dataset": task.title,
        "task": answer.pop("task", None),
        **{key: about[key] for key in ("fold", "seed", "repeat", "method", "solver", "reducer", "solver_params",
                                       "reducer_params", "point", "reduction", "size_of")},
        **_EMPTY, **answer,
        "environment": env | {"threads": threads, "data_sha256": data_sha256},
        "engine": engine, "started": started, "run": stamp,
    }  # fmt: skip


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
