"""The frame of the command line: help, errors as one line, exit codes, lightness."""

import os
import subprocess
import sys
import time

import click
import pytest

from svmreduce import __version__
from svmreduce.cli import main as frame
from svmreduce.cli.common import look_here_for_methods
from svmreduce.cli.main import COMMANDS
from svmreduce.errors import InputError
from tests.cli.commands import call


def test_help_lists_every_command_and_imports_none():
    result = call("--help")
    assert result.exit_code == 0
    for name, (_, short) in COMMANDS.items():
        assert name in result.stdout and short[:40] in result.stdout


def test_help_is_light(record_property):
    code = "import sys, svmreduce.cli.main;print([m for m in sys.modules if m.split('.')[0] in {heavy} or m in {own}])"
    heavy = {"numpy", "scipy", "sklearn", "numba", "pandas", "yaml", "pydantic"}
    own = {where.partition(":")[0] for where, _ in COMMANDS.values()}
    command = [sys.executable, "-c", code.format(heavy=heavy, own=own)]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    record_property("seconds", time.perf_counter() - start)
    assert done.stdout.strip() == "[]"


def test_a_solver_is_light_and_what_was_put_off_is_there_when_wanted():
    code = """if True:
    import sys
    from svmreduce.deferred import put_off_seldom_needed
    put_off_seldom_needed()
    from svmreduce.solvers.smo import SMO
    heavy = ("scipy.stats", "scipy.optimize", "pandas", "numpy.f2py", "sklearn.preprocessing", "sklearn.metrics")
    print([name for name in heavy if name in sys.modules])
    from sklearn.utils import fixes, _array_api
    held = fixes.scipy.stats, _array_api.special  # scikit-learn has these since its import
    import numpy, pandas, scipy.special, scipy.stats
    from sklearn.preprocessing import PowerTransformer, StandardScaler
    assert held[0].norm is scipy.stats.norm and held[1].expit is scipy.special.expit
    assert sys.modules["pandas"].DataFrame is pandas.DataFrame and numpy.f2py.__file__
    frame = pandas.DataFrame({"a": [1.0, 2.0, 4.0, 9.0]})
    assert list(StandardScaler().fit(frame).feature_names_in_) == ["a"]
    assert PowerTransformer().fit_transform(frame).shape == (4, 1)  # by scipy.optimize and scipy.stats
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name):
    result = call(name, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: cli {name}") and "Example" in result.stdout


def test_version():
    assert call("--version").stdout.strip() == f"svmreduce, version {__version__}"


def test_unknown_command_names_the_nearest():
    result = call("trian")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: unknown command 'trian': did you mean 'train'?")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "Missing argument 'TRAIN'"),
        (["train", "--nonsense", "a", "b"], "No such option"),
        (["train", "-C", "abc", "a", "b"], "'abc' is not a valid float"),
        (["train", "--threads", "0", "a", "b"], "'--threads': 0 is not in the range"),
        (["reduce", "--seed", "-1", "a", "b"], "'--seed': -1 is not in the range"),
        (["predict", "--threads", "-3", "a", "b"], "'--threads': -3 is not in the range"),
        (["data", "get", "--nonsense"], "No such option"),
    ],
)
def test_usage_errors_are_one_line(arguments, message):
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ") and result.stderr.count("\n") == 1 and message in result.stderr


def test_a_bare_command_shows_its_help():
    result = call()
    assert "Commands:" in result.output and "Error" not in result.output


@pytest.fixture
def failing(monkeypatch):
    """Make ``svmreduce doctor`` raise what the test wants."""

    def install(error):
        @click.command()
        def command():
            raise error

        monkeypatch.setattr(frame.LazyGroup, "get_command", lambda self, ctx, name: command)

    return install


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (InputError("file:3: what\nand why"), 2, "Error: file:3: what and why\n"),
        (ValueError("Input X contains NaN."), 2, "Error: Input X contains NaN.\n"),
        (
            FileNotFoundError(2, "No such file or directory", "x.txt"),
            2,
            "Error: x.txt: No such file or directory\n",
        ),
        (RuntimeError("odd"), 70, "Error: RuntimeError: odd (use svmreduce --debug … for the traceback)\n"),
        (KeyError("k"), 70, "Error: KeyError: 'k' (use svmreduce --debug … for the traceback)\n"),
        (click.ClickException("no"), 2, "Error: no\n"),
    ],
)
def test_errors_become_one_line(failing, error, code, text):
    failing(error)
    result = call("doctor")
    assert (result.exit_code, result.stderr, result.stdout) == (code, text, "")


def test_debug_shows_the_traceback(failing):
    for error, code in [(RuntimeError("odd"), 70), (InputError("file:3: what"), 2)]:
        failing(error)
        result = call("--debug", "doctor")
        assert result.exit_code == code
        assert result.stderr.startswith("Traceback") and "Error: " in result.stderr.splitlines()[-1]
        plain = call("doctor")  # the next call has forgotten it
        assert plain.exit_code == code and "Traceback" not in plain.stderr


def test_ctrl_c_exits_130(failing):
    failing(KeyboardInterrupt())
    result = call("doctor")
    assert result.exit_code == 130 and result.stderr.strip().endswith("Error: interrupted")


def test_a_closed_pipe_is_quiet():
    shell = f"{sys.executable} -m svmreduce methods --json | true"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {shell}"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line():
    command = [sys.executable, "-m", "svmreduce", "methods", "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "Error: reading or writing failed: No space left on device\n")


def test_methods_of_the_current_folder_are_looked_for_last(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", "elsewhere"])
    look_here_for_methods("smo", None)
    assert sys.path == ["", "elsewhere"]
    look_here_for_methods("mine:Mine")
    assert sys.path == ["elsewhere", str(tmp_path)]
