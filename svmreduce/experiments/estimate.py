"""How long an agenda will take: earlier records of the same kind, or a rule of thumb."""

from __future__ import annotations

from statistics import mean

from svmreduce.data import catalog
from svmreduce.experiments.planning import Task
from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.runner import Agenda

# Seconds per row squared of a kernel SVM, and per row of everything that is linear in rows; very roughly
_PER_SQUARE, _PER_ROW, _LEAST = 2e-8, 2e-5, 0.05
_FASTER = 10  # than official LIBSVM


def estimate(agenda: Agenda, earlier: Run | None) -> tuple[float, float]:
    """Seconds for all that is to do on one worker, and for which share of the tasks that is measured."""
    seen: dict[tuple, list[float]] = {}
    for record in earlier.records if earlier else ():
        if record.is_ok and record.seconds.get("total") is not None:
            seen.setdefault((record.kind, record.dataset, record.method), []).append(record.seconds["total"])
    total, measured = 0.0, 0
    for task in agenda.todo:
        times = seen.get((task.kind, task.title, task.method))
        total += mean(times) if times else _rule_of_thumb(task)
        measured += times is not None
    most = agenda.config.limits.seconds * sum(task.fits for task in agenda.todo)
    return min(total, most), measured / max(1, len(agenda.todo))


def _rule_of_thumb(task: Task) -> float:
    rows = _rows(task)
    if task.kind == "reduction" or task.reducer is not None or "linear" in task.solver:
        return _LEAST + _PER_ROW * rows
    square = _PER_SQUARE * rows**2
    return task.fits * (_LEAST + (square if task.solver.startswith("libsvm") else square / _FASTER))


def _rows(task: Task) -> int:
    given = task.dataset.get("rows")
    if given is not None:
        return given
    if "name" in task.dataset:
        return catalog.load_card(task.dataset["name"]).split()[1].rows or 10_000
    return 10_000
