"""A worker process under hard limits of time and memory.

A plain child process that speaks JSON lines is all it takes: its process id is known, so its resident size
can be watched (a limit on address space would kill healthy runs: compilers and BLAS reserve far more than
they use), a method that hangs in compiled code can be killed, and it works inside a daemonic cluster worker,
where process pools may not start children.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress

import psutil

from svmreduce.experiments.process_tree import MARK, end_tree

PREPARATION_SECONDS = 1800  # for loading data and compiling, before the clock of a task starts
POLL_SECONDS = 0.05
LOG_TAIL = 3000  # characters
LONGEST_LINE = 1 << 30  # bytes; an answer may carry the rows that a reducer made


class BadAnswer(Exception):
    """The worker wrote something that is not an answer to its task."""


class WorkerProcess:
    """One child process, started when needed and again after it was ended.

    Every message has a random id, and only a line with that id is believed: a method that finds the pipe and
    writes to it loses its own task and no other.
    """

    def __init__(self, threads: int = 1):
        self.threads = threads
        self.process: subprocess.Popen | None = None

    def call(self, message: dict, seconds: float, memory_mb: float | None) -> dict:
        """The worker's answer, or what became of it: status and reason always, the log's tail if not ok."""
        used = self._is_usable(memory_mb)
        if not used:
            self._end()
            self._start()
        answer = self._ask(message, seconds, memory_mb)
        if used and answer.pop("blameless", False):  # an earlier task may have broken the worker
            self._end()
            self._start()
            answer = self._ask(message, seconds, memory_mb)
        answer.pop("blameless", None)
        return answer

    def close(self) -> None:
        self._end()

    def _is_usable(self, memory_mb: float | None) -> bool:
        """Whether the process of an earlier task can do another one."""
        if self.process is None or self.process.poll() is not None:
            return False
        if self._unread or select.select([self.process.stdout], [], [], 0)[0]:
            return False  # it wrote something that nobody asked for
        # what earlier tasks left in memory must not count against this one
        return memory_mb is None or _resident_mb(self.process.pid) <= memory_mb / 2

    def _ask(self, message: dict, seconds: float, memory_mb: float | None) -> dict:
        self._log_from = os.fstat(self._log.fileno()).st_size
        self._id, self._has_started = secrets.token_hex(16), False
        try:
            self.process.stdin.write(json.dumps({"id": self._id, **message}).encode() + b"\n")
            self.process.stdin.flush()
            answer = self._wait(seconds, memory_mb)
        except BrokenPipeError:
            answer = self._died()
        except BadAnswer as error:
            self._end()
            answer = {"status": "crash", "reason": f"the worker process was ended: {error}", "blameless": True}
        if answer["status"] != "ok":
            answer["log"] = self._log_tail()
        return answer

    def _start(self) -> None:
        count = str(self.threads)
        self._mark = secrets.token_hex(16)
        extra = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), count) | {
            MARK: self._mark
        }
        self._log = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - lives as long as the process
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "svmreduce.experiments.worker_start", str(os.getpid())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, env=os.environ | extra,
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
                    answer = self._believed(line)
                    if answer.pop("event") == "done":
                        return answer
                    self._has_started = True
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
            if len(self._unread) > LONGEST_LINE:
                raise BadAnswer(f"it wrote a line of more than {LONGEST_LINE >> 20} MB")
            return None
        self._unread = rest
        return line

    def _believed(self, line: bytes) -> dict:
        """The answer on this line, if it is one to the task that was sent."""
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            raise BadAnswer(f"it wrote {line[:40]!r} among its answers") from None
        if not isinstance(answer, dict) or answer.pop("id", None) != self._id:
            raise BadAnswer(f"it wrote {line[:40]!r}, which does not carry the id of its task")
        if answer.get("event") not in ("started", "done"):
            raise BadAnswer(f"it wrote {line[:40]!r}, which is no answer")
        return answer

    def _died(self) -> dict:
        code = self.process.wait()
        self._end()
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        reason = f"the worker process ended by itself ({how})"
        return {"status": "crash", "reason": reason, "blameless": not self._has_started}

    def _end(self) -> None:
        """End the worker and whatever it has started. The log stays for its tail to be read."""
        if self.process is None or self.process.stdout.closed:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        end_tree(self._mark)
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
