"""Solvers that misbehave in every fit, each in its own way; what a run must make of each stands in `EXPECTED`."""

import gc
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np

from svmreduce.solvers.smo import SMO


class _Misbehaves(SMO):
    def _fit_binary(self, X, y, weights, kernel):
        self.misbehave()
        return super()._fit_binary(X, y, weights, kernel)


def _write_to_pipes(text: bytes) -> None:
    """Into every open descriptor that is a pipe, whoever it belongs to."""
    for number in range(3, 64):
        try:
            if os.readlink(f"/proc/self/fd/{number}").startswith("pipe:"):
                os.write(number, text)
        except OSError:
            continue


class StrayLine(_Misbehaves):
    def misbehave(self):
        _write_to_pipes(b"hello\n")


class Forges(_Misbehaves):
    def misbehave(self):
        done = {"event": "done", "status": "ok", "reason": "", "scores": {"accuracy": 1.0, "errors": 0}}
        _write_to_pipes(json.dumps(done).encode() + b"\n")


class WritesLater(_Misbehaves):
    """After its own answer, so that the line comes before that of the next task."""

    def misbehave(self):
        threading.Timer(0.2, _write_to_pipes, [b'{"event": "done", "status": "ok"}\n']).start()


class ClosesAll(_Misbehaves):
    def misbehave(self):
        os.closerange(0, 64)


class ClosesStdin(_Misbehaves):
    def misbehave(self):
        sys.stdin.close()


class ClosesStreams(_Misbehaves):
    """Finds the open files of the worker among all objects."""

    def misbehave(self):
        for thing in gc.get_objects():
            if isinstance(thing, (io.BufferedReader, io.FileIO)) and not thing.closed:
                thing.close()


class Exits(_Misbehaves):
    def misbehave(self):
        sys.exit(0)


class ExitsHard(_Misbehaves):
    def misbehave(self):
        os._exit(0)


class Interrupts(_Misbehaves):
    def misbehave(self):
        raise KeyboardInterrupt


class KillsItself(_Misbehaves):
    def misbehave(self):
        os.kill(os.getpid(), signal.SIGSEGV)


class Escapes(_Misbehaves):
    def misbehave(self):
        raise ValueError("\x1b]0;title\x07\x1b[31mred\n\n=cmd|' /C calc'!A0 \u202e")


class NotFinite(_Misbehaves):
    def misbehave(self):
        pass

    def predict(self, X):
        return np.full(X.shape[0], np.nan)


class OddFacts(_Misbehaves):
    def misbehave(self):
        pass

    def fit_facts(self):
        facts = super().fit_facts()
        facts.seconds["solve"] = "long"
        return facts


class Daemon(_Misbehaves):
    """Leaves a process behind by setsid, whose parent has ended."""

    def misbehave(self):
        code = "import os, time; os.fork() and os._exit(0); os.setsid(); time.sleep(600)"
        subprocess.run([sys.executable, "-c", code])


class Sleeps(_Misbehaves):
    def misbehave(self):
        time.sleep(600)


class GoesAway(_Misbehaves):
    def misbehave(self):
        os.chdir("/")


FINE = ("ok",)
FAILS = ("crash", "error", "timeout", "memory")
EXPECTED = {
    "StrayLine": FAILS, "Forges": FAILS, "WritesLater": (*FINE, *FAILS), "ClosesAll": FAILS, "ClosesStdin": FINE,
    "ClosesStreams": FAILS, "Exits": FAILS, "ExitsHard": FAILS, "Interrupts": FAILS, "KillsItself": FAILS,
    "Escapes": FAILS, "NotFinite": (*FINE, *FAILS), "OddFacts": FAILS, "Daemon": FINE, "Sleeps": FAILS,
    "GoesAway": FINE,
}  # fmt: skip
