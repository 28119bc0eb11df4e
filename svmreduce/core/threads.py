"""One way to use several cores.

Jobs are taken by plain threads that call ``nogil`` functions: the count is exactly what was asked for, and nothing
breaks when two callers work at once. The caller takes jobs like the others and waits for jobs, never for threads: to
wake one takes up to half a millisecond on a virtual machine, and there are fits of few milliseconds. For the same
reason an idle thread looks out for a millisecond before it sleeps. Work that is itself divided runs undivided on its
thread: all cores are taken.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache, partial
from itertools import count
from queue import SimpleQueue

import numpy as np

from svmreduce.core.atomics import add, look
from svmreduce.core.jit import njit

FEW_VALUES = 200_000  # not worth to wake a thread for
ENDED = 1 << 50  # more turns and stages than there are; times the rows of a tile it does not overflow
LOOKS_FOR_END, LOOKS_FOR_TASKS = 100_000, 1_000_000  # before a thread sleeps: about 0.1 and 1 ms


def available_threads() -> int:
    """As many as cores, or ``SVMREDUCE_THREADS``."""
    given = os.environ.get("SVMREDUCE_THREADS")
    if given and given.isdigit() and int(given) > 0:
        return int(given)
    return cores()


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def resolve_threads(threads: int | None) -> int:
    return available_threads() if threads is None or threads <= 0 else int(threads)


_here = threading.local()


@contextmanager
def _at_work():
    """This thread does its share of something: what it divides meanwhile it does alone."""
    before = getattr(_here, "at_work", False)
    _here.at_work = True
    try:
        yield
    finally:
        _here.at_work = before


def _threads_to_use(threads: int) -> int:
    return 1 if getattr(_here, "at_work", False) else threads


@njit()
def _reaches(numbers, place, least, looks):
    """Whether the number is at least this, now or within so many looks."""
    while look(numbers, place) < least:
        looks -= 1
        if looks < 0:
            return False
    return True


@njit()
def _mark(numbers, place):
    add(numbers, place, 1)


class _Helper:
    """A thread that does one task after the other. When there is none it looks out for the next one, then it sleeps."""

    def __init__(self):
        self.tasks, self.given = SimpleQueue(), np.zeros(1, np.int64)
        threading.Thread(target=self._work, name="svmreduce", daemon=True).start()

    def give(self, task):
        self.tasks.put(task)
        self.given[0] += 1  # that it changes is what matters

    def _work(self):
        while True:
            given = int(self.given[0])  # before the look into the queue
            if self.tasks.empty():
                _reaches(self.given, 0, given + 1, LOOKS_FOR_TASKS)
            self.tasks.get()()


_helpers: list[_Helper] = []
_hiring = threading.Lock()


def _some_helpers(number: int) -> list[_Helper]:
    with _hiring:
        while len(_helpers) < number:
            _helpers.append(_Helper())
    return _helpers[:number]


class _Jobs:
    """What several threads work on together, each taking the next job until there is none."""

    def __init__(self, work, jobs):
        self.work, self.jobs, self.error = work, jobs, None
        self.next = count().__next__
        self.answers, self.done = [None] * jobs, np.zeros(jobs, np.int64)
        self.gone = SimpleQueue()  # helpers that leave

    def take_part(self):
        with _at_work():
            while self.error is None and (job := self.next()) < self.jobs:
                try:
                    self.answers[job] = self.work(job)
                except BaseException as error:
                    self.error = self.error or error
                _mark(self.done, job)

    def help(self):
        try:
            self.take_part()
        finally:
            self.gone.put(None)

    def wait(self):
        for job in range(self.jobs):
            while self.error is None and not _reaches(self.done, job, 1, LOOKS_FOR_END):
                self.gone.get()


def in_threads(work: Callable[[int], object], jobs: int, threads: int) -> list:
    """``[work(0), …, work(jobs-1)]``, on that many threads; the first error stops the rest."""
    threads = min(_threads_to_use(threads), jobs)
    if threads <= 1:
        return [work(job) for job in range(jobs)]
    shared = _Jobs(work, jobs)
    try:
        for helper in _some_helpers(threads - 1):
            helper.give(partial(copy_context().run, shared.help))
        shared.take_part()
        shared.wait()
    except BaseException as error:  # such as Ctrl-C between two jobs
        shared.error = error
    error, answers = shared.error, shared.answers
    shared.work = shared.answers = None  # a helper that comes too late must not keep arrays
    if error is None:
        return answers
    shared.error = True  # nor those in the frames of the error
    try:
        raise error
    finally:
        del error


@njit()
def next_turn(turns):
    """The number of the task that this thread is to do next. All threads together get 0, 1, 2, …"""
    return add(turns, 0, 1)


@njit()
def wait_for_stage(turns, part, stage):
    """Wait until this part of the work has been through the stages before this one, on whatever thread."""
    while look(turns, 1 + part) < stage:
        pass


@njit()
def end_stage(turns, part):
    add(turns, 1 + part, 1)  # to ENDED as well, which must not be taken back


def in_turns(loop: Callable[[np.ndarray], object], values: int, threads: int, parts: int = 0) -> None:
    """Run ``loop(turns)`` on that many threads: a compiled loop that does one task after the other by ``next_turn``.

    Tasks can be small, since nothing of Python is between them; ``values`` says how much they are together, in numbers
    that are computed or copied. A task may wait for the stages before it of its part of the work; earlier tasks never
    wait for later ones.
    """
    turns = np.zeros(1 + parts, np.int64)

    def share(_):
        try:
            loop(turns)
        except BaseException:
            turns[:] = ENDED  # no more turns, nobody waits
            raise

    threads = min(threads, cores()) if values >= FEW_VALUES else 1  # beyond cores they wait for those that do not run
    try:
        in_threads(share, threads, threads)
    except BaseException:  # such as Ctrl-C while this thread waits
        turns[:] = ENDED
        raise


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="svmreduce")


def in_threads_as_they_come(produce: Callable[[int], Iterable], work: Callable, jobs: int, threads: int) -> list:
    """``work(item)`` for every item of ``produce(0)``, …, ``produce(jobs-1)``, in that order, in one list.

    An item is worked on as soon as a thread is free, so that one long ``produce`` keeps no other thread idle.
    """
    threads = _threads_to_use(threads)
    if threads <= 1:
        return [work(item) for job in range(jobs) for item in produce(job)]
    pool = _pool(threads)
    failed = []

    def watched(task, *arguments):
        if failed:  # the first error stops the rest
            return None
        try:
            with _at_work():
                return task(*arguments)
        except BaseException as error:
            failed.append(error)
            raise

    def submit(*task):
        return pool.submit(copy_context().run, watched, *task)

    def submit_all(job):
        return [submit(work, item) for item in produce(job)]

    producers = [submit(submit_all, job) for job in range(jobs)]
    answers = [answer for producer in producers for answer in producer.result() or ()]
    results = [answer.result() for answer in answers]
    if failed:
        raise failed[0]
    return results


def _begin_anew():
    """A forked child has this module's memory but not its threads."""
    global _hiring
    _helpers.clear()
    _pool.cache_clear()
    _hiring = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
