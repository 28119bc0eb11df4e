"""Runs an agenda: hands tasks to an engine, turns every answer into a record, stores it at once.

A record is reused instead of computed again only when the task (data, parameters, seed, threads), code, versions
and machine agree.
"""

from __future__ import annotations

import base64
import json
import zipfile
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from svmreduce.data.files import write_whole
from svmreduce.errors import InputError
from svmreduce.experiments import environment
from svmreduce.experiments.config import Config
from svmreduce.experiments.planning import Task
from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import SKIPPED, Record
from svmreduce.experiments.store import Store
from svmreduce.experiments.store import now as _now
from svmreduce.strict_json import dumps

_EMPTY = {"seconds": {}, "sizes": {}, "counters": {}, "scores": {}}  # of an answer without results
_FACTS = ("status", "reason", "task", "log", "memory_mb", "cpu_seconds", *_EMPTY)  # what an answer may say
_NAMES = ("fold", "seed", "repeat", "method", "solver", "reducer", "solver_params", "reducer_params", "point")
_NAMES += ("reduction", "size_of")  # what a record takes over from its task


class EngineLost(InputError):
    """The workers are gone, and the tasks in flight with them."""


@dataclass
class Agenda:
    """What a run has to do: the tasks, and the records that already answer some of them."""

    config: Config
    tasks: list[Task]
    known: dict[str, Record] = field(default_factory=dict)  # id -> record that need not be made again

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


def make_agenda(
    config: Config,
    tasks: list[Task],
    earlier: Run | None,
    folder: Path,
    *,
    engine: str = "local",
    rerun: str = "",
) -> Agenda:
    """The tasks, without those that earlier records answer.

    Parameters
    ----------
    rerun : "" keeps failed records as they are, "failed" runs their tasks again, "all" runs everything again
    """
    agenda = Agenda(config, tasks)
    if rerun == "all" or earlier is None:
        return agenda
    here = environment.describe()
    by_id = {record.id: record for record in earlier.records}
    for task in agenda.tasks:
        record = by_id.get(task.id)
        if record is None or not _same_circumstances(record, here, engine):
            continue
        if rerun == "failed" and not record.is_finished:
            continue
        if task.kind == "reduction" and record.is_ok and not _is_whole(_kept_file(folder, task.id)):
            continue
        agenda.known[task.id] = record
    return agenda


def _same_circumstances(record: Record, here: dict, engine: str) -> bool:
    there = record.environment
    same = all(there.get(key) == here[key] for key in ("code", "python", "versions"))
    return same and record.engine == engine and (engine == "dask" or there.get("host") == here["host"])


def execute(agenda: Agenda, store: Store, engine, tell: Callable[[Record], None] = lambda record: None) -> list[Record]:
    """Run what is to do; every record is stored, and reported, as soon as it is there.

    Returns the records of the whole agenda, known ones included.
    """
    done = dict(agenda.known)
    waiting, running = deque(agenda.todo), {}
    stamp = _now()
    limits = agenda.config.limits

    def finish(task: Task, answer: dict, started: str) -> None:
        packed = answer.pop("kept", None)
        if packed is not None:
            _keep(_kept_file(store.folder, task.id), base64.b64decode(packed))
        record = _record(agenda.config, task, answer, engine.name, started, stamp)
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
                    finish(task, {"status": SKIPPED, "reason": blocked}, _now())
                elif _is_ready(task, done):
                    future = engine.submit(
                        _message(task, done, store.folder), limits.seconds * task.fits, limits.memory_mb
                    )
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
    return [done[task.id] for task in agenda.tasks if task.id in done]


def _answer(future) -> dict:
    try:
        return future.result()
    except (CancelledError, OSError) as error:  # nothing became of the task, so there is nothing to record
        raise EngineLost(
            f"the workers were lost ({type(error).__name__}: {' '.join(str(error).split())}): every finished task is "
            "recorded; mend this and start the same run again"
        ) from None
    except Exception as error:  # of the engine, not of the task: a cluster worker that died repeatedly
        return {"status": "crash", "reason": f"{type(error).__name__}: {' '.join(str(error).split())}"}


def _is_ready(task: Task, done: dict[str, Record]) -> bool:
    return all(need in done for need in task.needs)


def _failed_need(task: Task, done: dict[str, Record]) -> str | None:
    """Why this task cannot run: a reduction it needs has failed."""
    for need in task.needs:
        record = done.get(need)
        if record and not record.is_ok:
            return f"its reduction failed: {record.status}, {record.reason}"
    return None


def _message(task: Task, done: dict[str, Record], folder: Path) -> dict:
    message = {"task": asdict(task)}
    if task.reduction:
        message["kept"] = base64.b64encode(_kept_file(folder, task.reduction).read_bytes()).decode("ascii")
    if task.size_of:
        message["rows"] = done[task.size_of].sizes["kept_rows"]
    return message


def _keep(path: Path, content: bytes) -> None:
    """The kept rows of a reduction, whole or not at all."""
    path.parent.mkdir(exist_ok=True)
    with write_whole(path) as file:
        file.write(content)


def _is_whole(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except (OSError, zipfile.BadZipFile):
        return False


def _kept_file(folder: Path, reduction: str) -> Path:
    return Path(folder) / "reductions" / f"{reduction}.npz"


def _record(config: Config, task: Task, answer: dict, engine: str, started: str, stamp: str) -> Record:
    here = environment.describe()
    env = answer.pop("environment", None) or {key: here[key] for key in ("code", "python", "versions", "host", "cpu")}
    threads = answer.pop("threads", None) or task.threads
    data_sha256 = answer.pop("data_sha256", None)
    facts = {"task": None} | _EMPTY | answer  # status and reason, and the facts as far as there are any
    record = Record(
        kind=task.kind, id=task.id, experiment=config.name, scale=config.scale, baseline=config.baseline,
        dataset=task.title, **{name: getattr(task, name) for name in _NAMES},
        **{name: value for name, value in facts.items() if name in _FACTS},
        environment=env | {"threads": threads, "data_sha256": data_sha256, "limits": _limits(config)},
        engine=engine, started=started, run=stamp,
    )  # fmt: skip
    try:
        return Record.from_json(json.loads(dumps(record.to_json())))
    except (ValueError, TypeError, RecursionError) as error:  # a method of one's own may report anything
        failure = {"status": "error", "reason": f"what {task.method} reports cannot be recorded: {error}"}
        return replace(record, **{"task": None} | _EMPTY | {"cpu_seconds": {}, "memory_mb": None, "log": ""} | failure)


def _limits(config: Config) -> str:
    seconds, megabytes = config.limits.seconds, config.limits.memory_mb
    return f"{seconds:g} s" + (f", {megabytes:g} MB" if megabytes else "")
