"""Work in threads: order, errors, one long producer, work that is divided once more, and turns in compiled loops."""

import gc
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

from svmreduce.core.jit import njit
from svmreduce.core.threads import (
    MOST_BELLS,
    begin_turns,
    cores,
    end_stage,
    end_turns,
    in_threads,
    in_threads_as_they_come,
    in_turns,
    next_turn,
    wait_for_stage,
)
from svmreduce.core.watch import time_is_up, watched


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_stand_in_the_order_in_which_items_were_produced(threads):
    found = in_threads_as_they_come(lambda job: (10 * job + k for k in range(job)), lambda item: -item, 4, threads)
    assert found == [-10, -20, -21, -30, -31, -32]


def test_items_are_taken_up_while_their_producer_goes_on():
    first_done = threading.Event()

    def produce(job):
        yield "first"
        assert first_done.wait(20), "nobody worked on the first item while the second was not there yet"
        yield "second"

    def work(item):
        first_done.set()
        return item

    assert in_threads_as_they_come(produce, work, 1, 2) == ["first", "second"]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("where", ["produce", "work"])
def test_an_error_in_either_stage_is_raised(threads, where):
    def produce(job):
        yield from range(3)
        if where == "produce" and job == 1:
            raise ValueError("broken")

    def work(item):
        if where == "work" and item == 2:
            raise ValueError("broken")
        return item

    with pytest.raises(ValueError, match="broken"):
        in_threads_as_they_come(produce, work, 3, threads)


NESTED = """
from svmreduce.core.threads import in_threads, in_threads_as_they_come

def in_place(jobs):
    return in_threads(lambda k: k, jobs, 2)

def as_they_come(jobs):
    return in_threads_as_they_come(lambda job: [job], lambda k: k, jobs, 2)

for inner in (in_place, as_they_come):
    expected = [[0, 1, 2]] * 4
    assert in_threads(lambda job: inner(3), 4, 2) == expected
    assert in_threads_as_they_come(lambda job: [inner(3)], lambda item: inner(len(item)), 4, 2) == expected
print("done")
"""


def test_divided_work_may_divide_its_own():
    # in a process of its own: what waits for itself could not be ended here
    ended = subprocess.run([sys.executable, "-c", NESTED], capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.returncode) == ("done\n", 0), ended.stderr


def test_a_thread_that_is_not_ours_gets_all_the_threads_it_asks_for():
    together = threading.Barrier(2, timeout=20)
    assert sorted(in_threads(lambda job: together.wait(), 2, 2)) == [0, 1]
    found = []
    outer = threading.Thread(target=lambda: found.extend(in_threads(lambda job: together.wait(), 2, 2)))
    outer.start()
    outer.join()
    assert sorted(found) == [0, 1]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_answers_stand_in_the_order_of_jobs(threads):
    assert in_threads(lambda job: job * job, 20, threads) == [job * job for job in range(20)]


@pytest.mark.parametrize("broken", [0, 7, 19])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_error_is_raised_and_stops_the_rest(threads, broken):
    begun = []

    def work(job):
        begun.append(job)
        if job == broken:
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        in_threads(work, 10_000, threads)
    assert len(begun) < 10_000


def test_limits_of_time_hold_on_every_thread():
    together = threading.Barrier(2, timeout=20)
    heard = []

    def work(job):
        together.wait()
        return time_is_up(job=job)

    with watched(callback=lambda facts: heard.append(facts["job"]) or True):
        assert in_threads(work, 2, 2) == [True, True]
        assert in_threads_as_they_come(lambda job: [job], work, 2, 2) == [True, True]
    assert sorted(heard) == [0, 0, 1, 1]
    assert not in_threads(lambda job: time_is_up(), 1, 2)[0]


def test_a_helper_that_comes_too_late_keeps_nothing():
    """It is busy with the jobs of another caller, and its own are done when it comes."""
    go_on, busy = threading.Event(), threading.Barrier(2, timeout=20)

    def long_job(_):
        busy.wait()
        return go_on.wait(20)

    other = threading.Thread(target=lambda: in_threads(long_job, 2, 2))

    def work(job, array):
        return float(array[job])

    other.start()
    array = np.arange(4.0)
    watcher = weakref.ref(array)
    try:
        assert in_threads(lambda job, array=array: work(job, array), 4, 2) == [0.0, 1.0, 2.0, 3.0]
        del array
        gc.collect()
        assert watcher() is None
    finally:
        go_on.set()
        other.join()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity") or cores() < 2, reason="needs two cores and Linux")
def test_helpers_stay_off_the_core_of_their_caller_in_compiled_loops_only():
    together, seen = threading.Barrier(2, timeout=20), []

    def look(*_):
        together.wait()
        seen.append(os.sched_getaffinity(0))
        return cores()

    here = os.sched_getaffinity(0)
    for _ in range(3):
        seen.clear()
        in_turns(look, 10**6, 2)
        assert sorted(map(len, seen)) == [len(here) - 1, len(here)]
        seen.clear()
        assert in_threads(look, 2, 2) == [len(here)] * 2
        assert seen == [here, here]


def test_more_helpers_than_bells_ring_no_foreign_numbers():
    counters, bells = np.zeros(3, np.int64), np.zeros(16 * MOST_BELLS + 64, np.int64)
    begin_turns((counters, bells, MOST_BELLS + 3, 0, 0))
    assert bells[: 16 * MOST_BELLS].sum() == MOST_BELLS and not bells[16 * MOST_BELLS :].any()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_threads_of_its_own():
    program = (
        "import os, sys, threading; from svmreduce.core.threads import in_threads\n"
        "def together(): b = threading.Barrier(2, timeout=20); return sorted(in_threads(lambda job: b.wait(), 2, 2))\n"
        "assert together() == [0, 1]\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(0 if together() == [0, 1] else 1)\n"
        "sys.exit(os.waitpid(child, 0)[1])"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", program], timeout=60).returncode == 0


@njit()
def _digits(parts, stages, out, counts, turns):
    """Every task appends its stage to its part's number: 0123… only if stages come in their order."""
    begin_turns(turns)
    while True:
        stage, part = divmod(next_turn(turns), parts)
        if stage >= stages:
            end_turns(turns)
            return
        wait_for_stage(turns, part, stage)
        out[part] = 10 * out[part] + stage
        counts[part, stage] += 1
        end_stage(turns, part)


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("parts", [1, 2, 3, 50])
def test_every_task_is_done_once_and_stages_of_a_part_in_their_order(threads, parts):
    for _ in range(20):
        out, counts = np.zeros(parts, np.int64), np.zeros((parts, 9), np.int64)
        in_turns(lambda turns: _digits(parts, 9, out, counts, turns), 10**6, threads, parts)  # noqa: B023
        assert (out == 12345678).all() and (counts == 1).all()


BROKEN = """
import faulthandler, threading, time
import numpy as np
from svmreduce.core.kernel_values import KernelRows
from svmreduce.kernels import KernelSpec

faulthandler.dump_traceback_later(60, exit=True)
caller, slot = threading.current_thread(), KernelRows._slot

def no_room(self):
    if threading.current_thread() is not caller:
        time.sleep(0.002)
        raise MemoryError("no room")
    return slot(self)

for parts in range(2, 11):
    rows = KernelRows(KernelSpec("rbf", 0.1), np.random.default_rng(0).normal(size=(96 * parts, 40)), np.float64)
    left, right = np.arange(rows.n), np.tile(np.arange(rows.n), 40_000 // rows.n + 1)
    KernelRows._slot = no_room
    try:
        rows.add_products(left, rows, right, np.ones((1, right.size)), np.zeros((1, rows.n)), 2)
    except MemoryError:
        print("raised", end=" ")
    KernelRows._slot = slot
"""


def test_an_error_on_one_thread_lets_the_others_go():
    """The loop of the caller would wait for tiles of the thread that has ended; in a process that can be ended."""
    if cores() < 2:
        pytest.skip("one core: there are no others")
    ended = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0 and "raised" in ended.stdout, ended.stderr
