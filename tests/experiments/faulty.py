"""Solvers that misbehave, each in one way, at C = 2; at any other C they are the plain engine."""

import os
import subprocess
import sys
import time

import numpy as np

from svmreduce.solvers.smo import SMO


class _Faulty(SMO):
    def _fit_binary(self, X, y, weights, kernel):
        if self.C == 2:
            self.misbehave()
        return super()._fit_binary(X, y, weights, kernel)


class Raises(_Faulty):
    def misbehave(self):
        print("about to divide")
        raise ZeroDivisionError("a fault of its own")


class Sleeps(_Faulty):
    def misbehave(self):
        time.sleep(600)


class Allocates(_Faulty):
    def misbehave(self):
        hoard = []
        while True:
            hoard.append(np.ones(2**21))


class Exits(_Faulty):
    def misbehave(self):
        os._exit(7)


class WaitsForGate(_Faulty):
    """Stops at C = 2 until the file named by ``GATE`` is there, so that a run can be ended in the middle."""

    def misbehave(self):
        while not os.path.exists(os.environ["GATE"]):
            time.sleep(0.02)


class LeavesChild(_Faulty):
    """Starts a process that would outlive it, and sleeps past its limit."""

    def misbehave(self):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(os.environ["GATE"], "w") as file:
            file.write(str(child.pid))
        time.sleep(600)


class GoesElsewhere(_Faulty):
    def misbehave(self):
        os.chdir("/")
