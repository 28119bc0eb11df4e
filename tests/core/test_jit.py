"""Work in threads: order, errors, and one long producer."""

import threading

import pytest

from svmreduce.core.jit import in_threads_as_they_come


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
