"""One look at the clock per round: time limits and progress for every loop that works in rounds.

A loop asks ``time_is_up(gap=…, rounds=…)`` once per round. Whoever started it may be watching: ``with watched(60,
print): …`` limits the time and hears those facts. Nothing needs to be handed down through the layers between, and a
loop that nobody watches pays a fraction of a microsecond per round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter


class Watch:
    """A time limit and a listener; ``stopped`` says whether a loop was told to stop."""

    def __init__(self, max_seconds: float | None = None, callback: Callable[[dict], object] | None = None):
        self.begun = perf_counter()
        self.deadline = math.inf if max_seconds is None else self.begun + max_seconds
        self.callback = callback
        self.stopped = False

    def is_up(self, now: float, facts: dict) -> bool:
        wants_to_stop = facts and self.callback and self.callback({"seconds": now - self.begun, **facts}) is True
        self.stopped |= bool(wants_to_stop or now >= self.deadline)
        return self.stopped


_WATCHES: ContextVar[tuple[Watch, ...]] = ContextVar("watches", default=())
_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def watched(max_seconds: float | None = None, callback: Callable[[dict], object] | None = None) -> Iterator[Watch]:
    """Watch the loops inside the block, next to those who watch already.

    Parameters
    ----------
    max_seconds : float, optional
        Loops end at the first round after this time, with what they have.
    callback : callable, optional
        Called once per round with a dict of facts: seconds, and what the loop knows of rounds, rows, steps and gap.
        If it returns True, the loop ends.
    """
    watch = Watch(max_seconds, callback)
    token = _WATCHES.set((*_WATCHES.get(), watch))
    try:
        yield watch
    finally:
        _WATCHES.reset(token)


@contextmanager
def silent() -> Iterator[None]:
    """Loops inside the block look at the clock as ever, but nobody hears of their rounds."""
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)


def share_of_time(problems_left: int):
    """For one of several problems in a row: of the time that is left, its share, so that none is left without."""
    left = min((watch.deadline for watch in _WATCHES.get()), default=math.inf) - perf_counter()
    return watched(None if left == math.inf else max(0.0, left) / problems_left)


def is_watched() -> bool:
    """Whether anyone set a limit or wants to hear of rounds."""
    return any(watch.deadline < math.inf or watch.callback for watch in _WATCHES.get())


def time_is_up(**facts) -> bool:
    """Report a round; true when the loop is to end with what it has. Without facts it only looks at the clock."""
    watches = _WATCHES.get()
    if not watches:
        return False
    now, facts = perf_counter(), {} if _SILENT.get() else facts
    told = [watch.is_up(now, facts) for watch in watches]  # everyone hears of the round, also after the first says so
    return any(told)
