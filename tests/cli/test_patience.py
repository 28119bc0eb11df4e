"""Ctrl-C ends long work at once, also while a C library computes; progress is shown; nothing half-done is left."""

import io
import signal
import subprocess
import sys

import pytest

from svmreduce.cli import patience
from svmreduce.cli.patience import Progress, patiently
from svmreduce.core.watch import time_is_up
from svmreduce.data.libsvm_text import write_libsvm
from svmreduce.data.synthetic import make
from svmreduce.model import load_model


def test_the_answer_and_the_errors_of_the_work_come_through():
    assert patiently(lambda: 7, "work", quiet=True) == (7, "")
    assert patiently(lambda: time_is_up(), "work", quiet=True, max_seconds=1e-9) == (True, "max_seconds")
    with pytest.raises(ZeroDivisionError):
        patiently(lambda: 1 / 0, "work", quiet=True)


@pytest.mark.parametrize("on_terminal", [True, False])
def test_progress_in_words(monkeypatch, on_terminal):
    out = io.StringIO()
    monkeypatch.setattr(patience.click, "echo", lambda text, nl=True, err=False: out.write(text + "\n" * nl))
    progress = Progress("training", quiet=False)
    progress.on_terminal = on_terminal
    progress.show()
    assert out.getvalue() == ""  # less than two seconds
    progress.hear({"rounds": 3, "steps": 12345, "gap": 0.25})
    progress.begun -= 5
    progress.show()
    assert "training: 5 s, rounds 3, steps 12,345, gap 0.25" in out.getvalue()
    assert out.getvalue().startswith("\r") == on_terminal
    progress.clear()
    assert out.getvalue().endswith("\r" if on_terminal else "\n")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
@pytest.mark.parametrize("solver, keeps", [("libsvm", False), ("smo", True)])
def test_ctrl_c_ends_a_fit(tmp_path, solver, keeps):
    board = make("checkerboard", 20_000, seed=0)
    noisy = board.y.copy()
    noisy[::3] *= -1
    write_libsvm(tmp_path / "board", board.X, noisy)
    command = [sys.executable, "-m", "svmreduce", "train", "-s", solver, "-C", "1e6", "-g", "100", "board", "model"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.startswith("training"):  # it has computed for two seconds
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        code = process.wait(timeout=60)
    assert code == 130 and rest.endswith("Error: interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["board", "model"][: 1 + keeps]
    if keeps:
        assert "stopped by Ctrl-C before reaching the tolerance; the model is usable" in rest
        assert set(load_model(tmp_path / "model").predict(board.X)) == {-1, 1}  # how good it is depends on the machine
