"""Work in threads: order, errors, one long producer, and work that is divided once more."""

import os
import subprocess
import sys
import threading

import pytest

from svmreduce.core.jit import _source_hash
from svmreduce.core.threads import in_threads, in_threads_as_they_come


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


def test_processes_take_turns_to_save_compiled_code(tmp_path):
    """Each of several processes compiles another signature of one function; all are right when read back."""
    program = (
        "import sys, numpy as np; from svmreduce.core.jit import take;"
        "print(*(take(np.arange(5).astype(kind), np.array([3, 1])).tolist() for kind in sys.argv[1:]))"
    )
    environment = os.environ | {"SVMREDUCE_CACHE": str(tmp_path)}
    kinds = {"f4": "[3.0, 1.0]", "f8": "[3.0, 1.0]", "i4": "[3, 1]"}

    def start(*kinds):
        command = [sys.executable, "-c", program, *kinds]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)

    for kind, process in [(kind, start(kind)) for kind in kinds]:  # compiled, then read from the disk
        assert process.communicate()[0].strip() == kinds[kind]
    assert start(*kinds).communicate()[0].strip() == " ".join(kinds.values())


def test_only_what_is_compiled_and_kept_is_noticed(tmp_path):
    """Loading from the disk is not compiling; functions of others that keep nothing compile at every start."""
    program = (
        "import numba, numpy as np; from svmreduce.core.jit import compiling_calls, take\n"
        "for call in (numba.njit(lambda x: x + 1), lambda x: take(np.ones(2), np.array([x])), lambda x: x):\n"
        "    with compiling_calls(lambda: print('noticed', end=' ')): call(1)\n"
        "    print('done', end=' ')"
    )
    environment = os.environ | {"SVMREDUCE_CACHE": str(tmp_path)}
    seen = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment).stdout.split()
        for _ in range(2)
    ]
    assert seen == [["done", "noticed", "done", "done"], ["done", "done", "done"]]


def test_a_copy_elsewhere_counts_as_not_compiled(tmp_path):
    """Numba compiles it anew, so that a mark of the first copy would put that on the clock."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("x = 1\n")
    assert _source_hash(tmp_path / "one") == _source_hash(tmp_path / "one") != _source_hash(tmp_path / "two")
    before = _source_hash(tmp_path / "one")
    os.utime(tmp_path / "one" / "a.py", (1, 1))
    assert _source_hash(tmp_path / "one") != before
