"""A share of the cells of a recorded run, to be run again."""

from __future__ import annotations

import math

import numpy as np

from svmreduce.errors import InputError
from svmreduce.experiments.ordering import point_key
from svmreduce.experiments.planning import Task
from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import FIT, Record


def share_of(run: Run, tasks: list[Task], share: float, seed: int) -> tuple[list[Task], Run]:
    """Tasks of randomly chosen finished fits, with the reductions they need, and the records of the same cells.

    Fits that failed are not chosen: a time limit says as much about the machine as about the method.
    """
    known = {_cell(record, record.dataset): record for record in run.records}
    by_id = {task.id: task for task in tasks}
    finished = [task for task in tasks if _is_finished(known.get(_cell(task, task.title)))]
    cells = [task for task in finished if task.kind == FIT] or finished  # an experiment may have reductions only
    if not cells:
        raise InputError("no finished fit of this run is in its experiment; there is nothing to run again")
    chosen = np.random.default_rng(seed).choice(len(cells), math.ceil(share * len(cells)), replace=False)
    wanted: dict[str, Task] = {}
    stack = [cells[k] for k in chosen]
    while stack:
        task = stack.pop()
        wanted[task.id] = task
        stack += [by_id[need] for need in task.needs if need not in wanted]
    again = [task for task in tasks if task.id in wanted]
    same = {_cell(task, task.title) for task in again}
    return again, Run([record for cell, record in known.items() if cell in same], 0, run.path)


def _cell(one: Task | Record, dataset: str) -> tuple:
    return dataset, one.method, one.kind, point_key(one.point), one.fold, one.seed, one.repeat


def _is_finished(record: Record | None) -> bool:
    return record is not None and record.is_finished
