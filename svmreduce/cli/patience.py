"""Long work that can be watched and ended: progress after two seconds, Ctrl-C, a time limit.

The work runs on a thread of its own, and the main thread waits for it. So Ctrl-C is heard also while a C library
computes, which may take hours and knows nothing of Python's signals.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from time import perf_counter
from typing import NoReturn, TypeVar

import click

from svmreduce.cli.main import EXIT_INTERRUPT
from svmreduce.core.watch import watched

FIRST = 2.0  # seconds before anything is shown
EVERY = {True: 0.5, False: 10.0}  # seconds between two reports, on a terminal and elsewhere
_Answer = TypeVar("_Answer")


class Progress:
    """What the work reports of itself, shown now and then on standard error."""

    def __init__(self, title: str, quiet: bool):
        self.title, self.quiet = title, quiet
        self.facts: dict = {}
        self.begun, self.next = perf_counter(), FIRST
        self.on_terminal = sys.stderr.isatty()
        self._width = 0

    def hear(self, facts: dict) -> None:
        self.facts |= facts

    def show(self) -> None:
        elapsed = perf_counter() - self.begun
        if self.quiet or elapsed < self.next:
            return
        self.next = elapsed + EVERY[self.on_terminal]
        text = ", ".join([f"{self.title}: {elapsed:.0f} s", *_in_words(self.facts)])
        if self.on_terminal:
            click.echo("\r" + text.ljust(self._width), nl=False, err=True)
            self._width = len(text)
        else:
            click.echo(text, err=True)

    def clear(self) -> None:
        """Leave the terminal's line empty for what comes next."""
        if self._width:
            click.echo("\r" + " " * self._width + "\r", nl=False, err=True)
            self._width = 0


def _in_words(facts: dict) -> list[str]:
    words = [f"{name} {facts[name]:,}" for name in ("folds", "rounds", "steps", "rows") if name in facts]
    gap = facts.get("gap")
    return words if gap is None else [*words, f"gap {gap:.3g}"]


def patiently(
    work: Callable[[], _Answer],
    title: str,
    *,
    quiet: bool = False,
    max_seconds: float | None = None,
    reports: bool = True,
    keeps: bool = False,
    if_ended: Callable[[], str] = str,
) -> tuple[_Answer, str]:
    """What ``work()`` gives, and what ended it early: ``max_seconds``, ``Ctrl-C`` or nothing, an empty string.

    Ctrl-C ends the process, and nothing is written; but where the work ``keeps`` what it has when its time is up, its
    time is up at the first Ctrl-C. Rounds of the work are shown only if it ``reports`` something of interest. What
    ``if_ended`` says is added to the message after Ctrl-C.
    """
    progress = Progress(title, quiet)
    answers, errors = [], []
    is_done = threading.Event()  # an interrupted ``join`` may take the thread for ended

    def run() -> None:
        try:
            answers.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            is_done.set()

    ended_by = "max_seconds"
    with watched(max_seconds, progress.hear if reports else None) as watch:
        threading.Thread(target=copy_context().run, args=(run,), daemon=True).start()
        while not is_done.is_set():
            try:
                is_done.wait(0.1)
                progress.show()
            except KeyboardInterrupt:
                progress.clear()
                if not keeps or ended_by == "Ctrl-C":
                    _leave(if_ended())
                ended_by, watch.deadline = "Ctrl-C", -math.inf
                click.echo("ending with the best model so far; Ctrl-C again ends at once, without one", err=True)
    progress.clear()
    if errors:
        raise errors[0]
    return answers[0], ended_by if watch.stopped else ""


def _leave(hint: str) -> NoReturn:
    """End now: an orderly end of the process would wait for threads that still compute."""
    click.echo(f"Error: interrupted{hint}", err=True)
    sys.stdout.flush()
    os._exit(EXIT_INTERRUPT)
