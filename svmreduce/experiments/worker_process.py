"""A worker process under hard limits of time and memory.

A plain child process that speaks JSON lines is all it takes: its process id is known, so its resident size
can be watched (a limit on address space would kill healthy runs: compilers and BLAS reserve far more than
they use), a method that hangs in compiled code can be killed, and it works inside a daemonic cluster worker,
where process pools may not start children.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress

import psutil

PREPARATION_SECONDS = 1800  # for loading data and compiling, before the clock of a task starts
POLL_SECONDS = 0.05
LOG_TAIL = 2000  # characters


class WorkerProcess:
    """One child process, started when needed and restarted after it was stopped."""

    def __init__(self, threads: int = 1):
        self.threads = threads
        self.process: subprocess.Popen | None = None

    def call(self, message: dict, seconds: float, memory_mb: float | None) -> dict:
        """The worker's answer, or how it failed: always a status and a reason, and the log's tail if not ok."""
        fresh = self.process is None or self.process.poll() is not None
        if not fresh and memory_mb is not None and _resident_mb(self.process.pid) > memory_mb / 2:
            self._end()  # what earlier tasks left in memory must not count against this one
            fresh = True
        if fresh:
            self._start()
        self._log_from = os.fstat(self._log.fileno()).st_size
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
            answer = self._wait(seconds, memory_mb)
        except BrokenPipeError:
            answer = self._died()
        if answer["status"] != "ok":
            answer["log"] = self._log_tail()
        return answer

    def close(self) -> None:
        if self.process is not None:
            self._end()
            self._log.close()

    def _start(self) -> None:
        count = str(self.threads)
        limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), count)
        self._log = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - lives as long as the process
        self.process = subprocess.Popen(
            [sys.executable, "-m", "svmreduce.experiments.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, env=os.environ | limits,
            start_new_session=True,  # Ctrl-C is for the run, which ends its workers itself
        )  # fmt: skip
        self._unread = b""

    def _wait(self, seconds: float, memory_mb: float | None) -> dict:
        deadline, limit = time.monotonic() + PREPARATION_SECONDS, PREPARATION_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                line = self._line(selector)
                if line is not None:
                    answer = json.loads(line)
                    if answer.pop("event") == "done":
                        return answer
                    deadline, limit = time.monotonic() + seconds, seconds
                elif self.process.poll() is not None:
                    return self._died()
                if time.monotonic() > deadline:
                    self._end()
                    return {"status": "timeout", "reason": f"ended after its limit of {limit:g} s"}
                if memory_mb is not None and _resident_mb(self.process.pid) > memory_mb:
                    self._end()
                    return {"status": "memory", "reason": f"ended when it took more than {memory_mb:g} MB"}

    def _line(self, selector) -> bytes | None:
        """A whole line of the worker's output, if there is one now or soon."""
        if b"\n" not in self._unread and selector.select(POLL_SECONDS):
            self._unread += os.read(self.process.stdout.fileno(), 1 << 20)
        line, newline, rest = self._unread.partition(b"\n")
        if not newline:
            return None
        self._unread = rest
        return line

    def _died(self) -> dict:
        code = self.process.wait()
        self._kill_group()
        self._close_pipes()
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        return {"status": "crash", "reason": f"the worker process ended by itself ({how})"}

    def _end(self) -> None:
        self._kill_group()
        self.process.wait()
        self._close_pipes()

    def _kill_group(self) -> None:
        """The worker and whatever it has started: it leads a process group of its own."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def _close_pipes(self) -> None:
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()

    def _log_tail(self) -> str:
        end = os.fstat(self._log.fileno()).st_size
        self._log.seek(max(self._log_from, end - 4 * LOG_TAIL))
        return self._log.read().decode("utf-8", "replace")[-LOG_TAIL:]


def _resident_mb(pid: int) -> float:
    """Of a process and its children."""
    total = 0
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for member in (process, *process.children(recursive=True)):
            total += member.memory_info().rss
    return total / 2**20
