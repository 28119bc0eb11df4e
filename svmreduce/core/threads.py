"""One way to use several cores.

Jobs are taken by plain threads that call ``nogil`` functions: the count is exactly what was asked for, and nothing
breaks when two callers work at once. The caller takes jobs like the others and waits for jobs, never for threads: to
wake one takes up to half a millisecond on a virtual machine, and there are fits of few milliseconds. For the same
reason an idle thread looks out for a while (``AWAKE``) before it sleeps. Work that is itself divided runs undivided on
its thread: all cores are taken.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import cache
from itertools import count
from queue import SimpleQueue
from time import perf_counter

import numpy as np

from svmreduce.core.atomics import add, look
from svmreduce.core.jit import njit

FEW_VALUES = 200_000  # not worth to wake a thread for
ENDED = 1 << 50  # more turns and stages than there are; times the rows of a tile it does not overflow
AWAKE, AWAKE_FOR_END = 1.5e-3, 1e-4  # seconds before an idle thread sleeps, and at the end of a loop
MOST_BELLS = 256  # helpers beyond share the last one
# Among the counters of turns: threads that run the loop, whether the caller is about to sleep, and where stages begin.
INSIDE, SLEEPS, STAGES = 1, 2, 3


def available_threads() -> int:
    """As many as cores, or ``SVMREDUCE_THREADS``."""
    given = os.environ.get("SVMREDUCE_THREADS")
    if given and given.isdigit() and int(given) > 0:
        return int(given)
    return cores()


def cores() -> int:
    """The cores this thread may use."""
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


_bells = np.zeros(16 * MOST_BELLS, np.int64)  # how often each helper was called, in cache lines of their own


@cache
def _look_seconds() -> float:
    """A look takes four times as long on one processor as on another."""
    trial, seconds = 10_000, []
    for _ in range(5):
        start = perf_counter()
        _reaches(_bells, 0, ENDED, trial)
        seconds.append(perf_counter() - start)
    return min(seconds) / trial


def looks_within(seconds: float) -> int:
    """How often a thread looks at a number in this time."""
    return round(seconds / _look_seconds())


class _Helper:
    """A thread that does one task after the other. When there is none it looks out for the next one, then it sleeps."""

    def __init__(self, number: int):
        self.tasks, self.cores, self.bell = SimpleQueue(), None, 16 * min(number, MOST_BELLS - 1)
        self.thread = threading.Thread(target=self._work, name="svmreduce", daemon=True)
        self.thread.start()

    def run_on(self, cores: set[int]):
        if cores != self.cores:
            self.cores = cores
            with suppress(OSError):  # a sandbox may forbid it
                os.sched_setaffinity(self.thread.native_id, cores)

    def give(self, task: Callable[[int, int], object]):
        self.tasks.put(task)
        _mark(_bells, self.bell)

    def _work(self):
        while True:
            rung = int(_bells[self.bell])  # before the look into the queue
            while not self.tasks.empty():
                self.tasks.get()(self.bell, rung)
            if not _reaches(_bells, self.bell, rung + 1, looks_within(AWAKE)):
                self.tasks.get()(self.bell, int(_bells[self.bell]))


_helpers: list[_Helper] = []
_hiring = threading.Lock()
_own_core = getattr(ctypes.CDLL(None), "sched_getcpu", None) if hasattr(os, "sched_setaffinity") else None


def _some_helpers(number: int, elsewhere: bool) -> list[_Helper]:
    """Helpers that may run where the caller may; ``elsewhere`` than on its own core, beside which others may be idle:
    the system may wake a helper there and let both share it for many milliseconds. Only for compiled loops: what a
    helper starts would stay off that core, too."""
    with _hiring:
        while len(_helpers) < number:
            _helpers.append(_Helper(len(_helpers)))
        helpers = _helpers[:number]
        if helpers and _own_core is not None:
            allowed = os.sched_getaffinity(0)
            for helper in helpers:
                helper.run_on((allowed - {_own_core()} if elsewhere else allowed) or allowed)
    return helpers


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
            while self.error is None and not _reaches(self.done, job, 1, looks_within(AWAKE_FOR_END)):
                self.gone.get()


def in_threads(work: Callable[[int], object], jobs: int, threads: int) -> list:
    """``[work(0), …, work(jobs-1)]``, on that many threads; the first error stops the rest."""
    threads = min(_threads_to_use(threads), jobs)
    if threads <= 1:
        return [work(job) for job in range(jobs)]
    shared = _Jobs(work, jobs)
    try:
        for helper in _some_helpers(threads - 1, elsewhere=False):
            context = copy_context()
            helper.give(lambda *_, context=context: context.run(shared.help))
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
def begin_turns(turns):
    """What a loop calls first. Helpers are called from here, where their caller no longer holds Python's lock: one that
    has to wait for it falls asleep."""
    counters, bells, role, _, _ = turns
    add(counters, INSIDE, 1)
    for helper in range(min(role, MOST_BELLS)):
        add(bells, 16 * helper, 1)


@njit()
def next_turn(turns):
    """The number of the task that this thread is to do next. All threads together get 0, 1, 2, …"""
    return add(turns[0], 0, 1)


@njit()
def wait_for_stage(turns, part, stage):
    """Wait until this part of the work has been through the stages before this one, on whatever thread."""
    while look(turns[0], STAGES + part) < stage:
        pass


@njit()
def end_stage(turns, part):
    add(turns[0], STAGES + part, 1)  # to ENDED as well, which must not be taken back


@njit()
def end_turns(turns):
    """What a loop calls last. The caller waits for those who still have a task; a helper stays away from Python's lock,
    which the caller wants now, until it is called again."""
    counters, bells, role, rung, looks = turns
    add(counters, INSIDE, -1)
    if role >= 0:
        while looks > 0 and 0 < look(counters, INSIDE) < ENDED // 2:
            looks -= 1
    else:
        while looks > 0 and look(bells, -1 - role) == rung and look(counters, SLEEPS) == 0:
            looks -= 1


class _Turns:
    """A loop that several threads run together."""

    def __init__(self, loop, parts):
        self.loop, self.error = loop, None
        self.counters, self.gone = np.zeros(STAGES + parts, np.int64), SimpleQueue()

    def run(self, role, rung, awake):
        loop = self.loop
        if loop is not None:  # else it is over
            try:
                loop((self.counters, _bells, role, rung, looks_within(awake)))
            except BaseException as error:
                if self.loop is not None:
                    self.error = error
                self.counters[:] = ENDED  # no more turns, nobody waits
            finally:
                loop = None  # the frame of an error must not keep arrays

    def help(self, bell, rung):
        self.run(-1 - bell, rung, AWAKE)
        self.gone.put(None)


def in_turns(loop: Callable[[tuple], object], values: int, threads: int, parts: int = 0) -> None:
    """Run ``loop(turns)`` on that many threads: a compiled loop that does one task after the other by ``next_turn``,
    between ``begin_turns`` and ``end_turns``.

    Tasks can be small, since nothing of Python is between them; ``values`` says how much they are together, in numbers
    that are computed or copied. A task may wait for the stages before it of its part of the work; earlier tasks never
    wait for later ones.
    """
    threads = min(_threads_to_use(threads), cores()) if values >= FEW_VALUES else 1  # beyond cores they would wait
    shared = _Turns(loop, parts)
    try:
        helpers = _some_helpers(threads - 1, elsewhere=True)
        for helper in helpers:
            helper.tasks.put(shared.help)
        shared.run(len(helpers), 0, AWAKE_FOR_END)
        while 0 < shared.counters[INSIDE] < ENDED // 2:
            _mark(shared.counters, SLEEPS)
            if 0 < shared.counters[INSIDE] < ENDED // 2:
                shared.gone.get()
    except BaseException as error:  # such as Ctrl-C while this thread waits
        shared.error = error
        shared.counters[:] = ENDED
    shared.loop = loop = None  # a helper that comes too late must not keep arrays
    error, shared.error = shared.error, None
    if error is not None:
        try:
            raise error
        finally:
            del error


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
