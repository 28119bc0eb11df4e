"""Processes that must not outlive a run: found by a mark in their environment, which every descendant inherits.

Process groups and parents can be left (setsid, a parent that has ended); the mark stays.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

import psutil

MARK = "SVMREDUCE_WORKER"
POLL_SECONDS = 0.2


def end_tree(mark: str, *, spare: int | None = None) -> None:
    """Kill every process with this mark, but ``spare``; again until none is left, as they may be starting others."""
    for _ in range(10):
        found = [process for process in psutil.process_iter() if process.pid != spare and _has(process, mark)]
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, timeout=1)
        if not found:
            return


def _has(process: psutil.Process, mark: str) -> bool:
    with suppress(psutil.Error, OSError):
        return process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE
    return False


def end_with(parent: int) -> None:
    """End this process, and all that it has started, when its parent is no more."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_SECONDS)
        end_tree(os.environ.get(MARK, ""), spare=os.getpid())
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
