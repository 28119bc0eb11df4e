"""``svmreduce tune``: the table, JSON, resuming, and one line for everything that is wrong."""

import json
import signal
import subprocess
import sys
import time
from threading import Event

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import make_moons

from svmreduce.cli import tune
from svmreduce.cli.main import cli
from svmreduce.model import load_model

GRID = ["--C", "0.1,1,10", "--gamma", "0.1,1,10", "--folds", "3", "--threads", "1"]


def write_rows(path, n=150, noise=0.3):
    X, y = make_moons(n, noise=noise, random_state=0)
    lines = [f"{2 * label - 1:+d} 1:{a:.6f} 2:{b:.6f}" for (a, b), label in zip(X, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def rows(tmp_path):
    return write_rows(tmp_path / "moons.txt")


def run(*words):
    return CliRunner().invoke(cli, ["tune", *map(str, words)], prog_name="svmreduce")


def record_of(*words):
    done = run("--json", "-q", *words)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def without_times(record):
    return {key: value for key, value in record.items() if key != "seconds"}


def test_json_has_the_grid_the_best_and_the_model(rows, tmp_path):
    model = tmp_path / "model"
    record = record_of(*GRID, rows, model)
    assert record["rows"] == 150 and record["features"] == 2 and record["folds"] == 3 and record["fits"] == 27
    assert len(record["grid"]) == 9
    assert {"C", "gamma", "accuracy", "std", "status"} <= record["grid"][0].keys()
    best = max(record["grid"], key=lambda cell: cell["accuracy"])
    assert record["best"]["accuracy"] == best["accuracy"] > 0.85
    assert record["seconds"].keys() == {"load", "search", "refit"}
    assert load_model(model).kernel.gamma == record["best"]["gamma"]
    assert not (tmp_path / "model.tune").exists()


def test_text_shows_the_surface(rows):
    done = run(*GRID, rows)
    assert done.exit_code == 0
    assert "gamma \\ C" in done.stdout and "*" in done.stdout and "[" in done.stdout
    for word in ("best", "as good", "simplest", "standard error", "fits"):
        assert word in done.stdout


def test_powers_of_two_as_in_grid_py(rows):
    record = record_of("--log2c", "-1,3,2", "--log2g", "-3,1,2", "--folds", "2", rows)
    assert sorted({cell["C"] for cell in record["grid"]}) == [0.5, 2.0, 8.0]
    assert sorted({cell["gamma"] for cell in record["grid"]}) == [0.125, 0.5, 2.0]


def test_nothing_given_is_a_grid_that_suits_the_data(rows):
    record = record_of("--folds", "2", rows)
    assert len(record["grid"]) == 63 and record["best"]["accuracy"] > 0.85


def test_a_run_that_was_cut_off_resumes_to_the_same(rows, tmp_path):
    state = tmp_path / "state"
    whole = record_of(*GRID, "--state", state, rows)
    lines = state.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 9
    damaged = lines[1].replace(b'"scores": [0', b'"scores": [1', 1)
    assert damaged != lines[1]
    state.write_bytes(b"".join([lines[0], damaged, b"\xff{}\n", lines[0], *lines[2:]]))  # as a bad disk leaves it
    assert without_times(record_of(*GRID, "--state", state, rows)) == without_times(whole)
    state.write_bytes(lines[0][:5])
    assert without_times(record_of(*GRID, "--state", state, rows)) == without_times(whole)
    state.write_bytes(b"".join(lines[:4]) + lines[4][:25])  # as a process leaves it that is killed while it writes
    again = run("--json", *GRID, "--state", state, rows)
    assert "has 3 paths along C" in again.stderr
    assert without_times(json.loads(again.stdout)) == without_times(whole)
    assert sorted(state.read_bytes().splitlines()) == sorted(b"".join(lines).splitlines())


def test_a_state_of_other_data_is_refused(rows, tmp_path):
    state = tmp_path / "state"
    record_of(*GRID, "--state", state, rows)
    done = run(*GRID, "--state", state, write_rows(tmp_path / "other.txt", 140))
    assert done.exit_code == 2 and "is of another search" in done.output
    state.write_text("a file of someone")
    assert run(*GRID, "--state", state, rows).exit_code == 2 and state.read_text() == "a file of someone"


def test_a_budget_that_ends_early_says_what_is_missing(rows, tmp_path, monkeypatch):
    from svmreduce.search import fold_paths

    clock = iter(np.arange(0.0, 1e6, 1.0))
    monkeypatch.setattr("svmreduce.search.search_cv.monotonic", lambda: next(clock))
    monkeypatch.setattr(fold_paths, "monotonic", lambda: next(clock))
    done = run("--json", *GRID, "--budget", "6", rows)
    record = json.loads(done.stdout)
    missing = [cell for cell in record["grid"] if cell["status"] == "not finished"]
    assert 0 < len(missing) < 9 and all(cell["accuracy"] is None for cell in missing)
    assert f"{len(missing)} of 9 cells are not finished" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--C", "1,-1"], "--C must be positive numbers, got -1"),
        (["--C", ","], "--C: no values are given"),
        (["--C", "1,x"], "--C: not a number: 'x'"),
        (["--log2c", "0,1000,0.001"], "1000001 values"),
        (["--log2c", "-200,200,0.4", "--log2g", "-200,200,0.4"], "1,002,001 cells"),
        (["--log2c", "0,inf,1"], "--log2c 0,inf,1: begin, end and step must be finite numbers"),
        (["--log2c", "0,nan,1"], "--log2c 0,nan,1: begin, end and step must be finite numbers"),
        (["--log2c", "0,1,1e-300"], "1e+300 values"),
        (["--budget", "nan"], "'nan' is not a number"),
        (["--epsilon", "0.1", "--metric", "r2", "--folds", "100"], "use at most --folds 75"),
        (["--epsilon", "0.1", "--screen", "aesvm"], "screening is only for classification"),
        (["--log2c", "5,1,2"], "the step must lead from begin to end"),
        (["--C", "1", "--log2c", "1,2,1"], "leave one out"),
        (["--metric", "acc"], "acc"),
        (["--metric", "mse"], "mse does not measure classification"),
        (["--folds", "80"], "too few for 80 folds"),
        (["--epsilon", "-1"], "--epsilon must be numbers >= 0, got -1"),
        (["--tol", "0"], "Error: --tol must be a positive number, got 0"),
        (["-e0"], "Error: -e must be a positive number, got 0"),
        (["-t", "1", "-d", "-1"], "Error: -d must be a whole number from 0 to 100, got -1"),
        (["-t", "9"], "-t 9: LIBSVM's kernels are 0 (linear) to 4"),
        (["-t", "4"], "a search takes one of the kernels"),
        (["--kernel", "precomputed"], "a search takes one of the kernels"),
        (["--screen", "some"], "some"),
    ],
)
def test_what_is_wrong_is_one_line(rows, words, message):
    done = run(*words, rows)
    assert done.exit_code != 0
    assert message in done.output + str(done.exception)


def test_one_class_is_one_line(tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("1 1:1\n1 1:2\n1 1:3\n")
    done = run(path)
    assert "all rows are of one class" in done.output + str(done.exception)


def test_numbers_to_estimate_are_not_classes(tmp_path):
    path = tmp_path / "counts.txt"
    path.write_text("".join(f"{k // 2} 1:{k}\n" for k in range(70)))
    assert (
        "35 different labels in 70 rows are numbers, as of a regression, not classes; give --epsilon"
        in run("--folds", "2", path).stderr
    )
    path.write_text("1 1:1\n1 1:2\n-1 1:3\n")
    assert "class -1 has 1 of the rows" in run(path).stderr


def test_a_linear_kernel_has_no_gamma(rows):
    """By LIBSVM's number, too: values of gamma are not dropped silently, and nothing is printed of any."""
    done = run("-t", "0", "--C", "0.1,1,10", "--gamma", "0.1,1", "--folds", "3", rows)
    assert "Note: the linear kernel has no gamma" in done.stderr and "gamma" not in done.stdout
    named = record_of("-t", "linear", "--C", "0.1,1,10", "--folds", "3", rows)
    assert without_times(named) == without_times(record_of("-t", 0, "--C", "0.1,1,10", "--folds", "3", rows))
    assert len(named["grid"]) == 3 and "gamma" not in named["best"]


def test_advice_is_of_cells_that_are_better_than_others(tmp_path):
    rows = write_rows(tmp_path / "rows.txt", 60, noise=0)
    grid = ["--folds", "3", "--C", "10", "--gamma"]
    assert "all cells have the same accuracy" in run(*grid, "2,3,4", rows).stderr
    inner = run(*grid, "1e-4,2,3,4", rows)
    assert "note" not in inner.stderr and "3 cells within one standard error" in inner.stdout
    edge = run(*grid, "1e-5,1e-4,2", rows)
    assert "the best gamma is the largest of the grid" in edge.stderr and "1 cell within" in edge.stdout


def test_a_long_path_is_heard_of_and_ctrl_c_is_answered_before_it_ends(monkeypatch, capsys):
    monkeypatch.setattr(tune, "FIRST", 0.0)
    monkeypatch.setattr(tune, "EVERY", {True: 0.1, False: 0.1})
    asked, heard = Event(), ""

    def wait_for(words):
        nonlocal heard
        while words not in heard:
            time.sleep(0.05)
            heard += capsys.readouterr().err

    with tune._progress(False, asked) as report:
        wait_for("searching, ")
        report(1, 4, {"C": 10.0})
        wait_for("1 of 4 paths along C, ")
        asked.set()
        wait_for("Ctrl-C again ends at once")
    assert "best so far C 10" in heard + capsys.readouterr().err
    with tune._progress(True, asked) as report:
        assert report is None


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_signal_loses_nothing_that_is_done(tmp_path, how, code):
    rows, state = write_rows(tmp_path / "rows.txt", 1500), tmp_path / "state"
    words = [sys.executable, "-m", "svmreduce", "tune", "--log2c", "-3,9,1", "--log2g", "-8,6,0.1", "--state",
             str(state), "--threads", "1", "-q", rows]  # fmt: skip
    process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    while process.poll() is None and not (state.exists() and state.read_bytes().count(b"\n") >= 3):
        time.sleep(0.05)
    process.send_signal(how)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == code
    assert "Traceback" not in errors
    head, *lines = state.read_text().splitlines()
    assert "data" in json.loads(head[9:]) and len(lines) >= 2
    assert all(len(json.loads(line[9:])["result"]["scores"]) == 13 for line in lines[:2])
