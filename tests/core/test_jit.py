"""Compiled code: kept once, by one process at a time, noticed when it is made anew."""

import os
import subprocess
import sys

from svmreduce.core.jit import _source_hash


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
