"""``reduce`` and ``train`` on rows that stay on the disk."""

import json
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

from svmreduce.data import synthetic, text_pieces
from svmreduce.data.columnar import write_parquet
from svmreduce.errors import DataWarning
from tests.cli.commands import call, fails


@pytest.fixture
def board(tmp_path):
    data = synthetic.make("checkerboard", 3000, seed=0)
    write_parquet(tmp_path / "board.parquet", [(data.X, data.y)])
    return tmp_path / "board.parquet"


def test_reduce_writes_the_same_files_from_the_disk_as_from_memory(board, tmp_path):
    flags = ["reduce", "-g", "1", "--set", "first_level=fls1", "--set", "P=500", "--set", "V=200", "--json", board]
    here, there = tmp_path / "here", tmp_path / "there"
    records = [json.loads(call(*flags, *more).stdout) for more in ([here], [there, "--memory", "100kB"])]
    assert here.read_bytes() == there.read_bytes()
    assert (tmp_path / "here.weights").read_bytes() == (tmp_path / "there.weights").read_bytes()
    assert "partitions" not in records[0]["facts"] and records[1]["facts"]["partitions"] == 7
    same = ("rows", "kept", "weight_sum", "residual_max", "kernel")
    assert [records[0][name] for name in same] == [records[1][name] for name in same]
    assert not list(tmp_path.glob("*.work"))


@pytest.mark.parametrize(
    "method",
    [
        ["--solver", "aesvm"],
        ["--reducer", "random", "--set", "share=0.3"],
        ["--solver", "dcsvm", "--set", "n_clusters=3", "--memory", "100kB"],
        ["--solver", "randsvm", "--set", "k=600"],
    ],
)
def test_a_model_of_rows_on_the_disk_predicts_rows_as_they_were(board, tmp_path, method):
    model, flags = tmp_path / "model", ["-C", "100", "-g", "8", "--scale", "standard"]
    weights = [] if "randsvm" in method else ["--class-weight", "balanced"]
    done = call("train", *flags, *weights, "--out-of-core", *method, "--json", board, model)
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert record["rows"] == 3000 and record["classes"] == 2 and record["label"] == "label"
    assert 0 < record.get("kept", record["support_vectors"]) < 3000
    assert json.loads(call("predict", "--json", board, model).stdout)["accuracy"] > 0.95


def test_what_needs_all_rows_is_one_line(board, tmp_path):
    model = tmp_path / "model"
    assert "smo needs all rows in memory, and only derive_rs, random, aesvm, dcsvm and randsvm take" in fails(
        "train", "--memory", "1kB", board, model
    )
    assert "bootstrap needs all rows" in fails("reduce", "--method", "bootstrap", "--out-of-core", board, model)
    train = ["train", "--solver", "aesvm", "--out-of-core", board, model]
    assert "--folds needs all rows in memory" in fails(*train, "-v", "5")
    assert "--positive needs all rows in memory" in fails(*train, "--positive", "1")
    assert "probabilities are learned from rows in memory" in fails(*train, "-b", "1")
    assert "is learned from rows in memory" in fails(*train, "-t", "gaussian_diagonal")
    write_parquet(tmp_path / "real.parquet", [(np.eye(2), np.array([0.5, 1.0]))])
    real = ("train", "--solver", "aesvm", "--out-of-core", tmp_path / "real.parquet", model)
    assert "the labels are real numbers, not classes" in fails(*real)
    dask = ("train", "--solver", "randsvm", "--engine", "dask", board, model)
    assert "on the threads of one machine: leave out --engine dask" in fails(*dask)
    assert "from files only" in fails("reduce", "--out-of-core", "iris", model)
    assert not model.exists() and np.all([path.suffix == ".parquet" for path in tmp_path.iterdir()])


def test_each_note_is_printed_once_and_counts_all_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(text_pieces, "PIECE_BYTES", 500)
    lines = [f"{k % 7},{k % 5},{k % 2},\n" + "# remark\n" * (k % 10 == 0) for k in range(300)]
    (tmp_path / "a.csv").write_text("a,b,label,\n" + "".join(lines))
    words = ["reduce", "--method", "random", "--set", "share=0.1", "--threads", 2, "--out-of-core", tmp_path / "a.csv"]
    with warnings.catch_warnings(record=True) as leaked:
        warnings.simplefilter("always", DataWarning)
        assert call(*words, tmp_path / "small", "-q").stderr == ""
        said = call(*words, tmp_path / "small").stderr
    assert said.count("ends with a separator") == said.count("as comments") == 1 and not leaked
    assert "do not have 4 fields: 30\n" in said


def test_a_work_folder_without_need_is_told(board, tmp_path):
    done = call("reduce", "-g", "1", "--work", tmp_path / "work", board, tmp_path / "small")
    assert (
        "Note: --work is not used: the rows are read into memory; --out-of-core keeps them on the disk" in done.stderr
    )
    assert call("reduce", "-q", "-g", "1", "--work", tmp_path / "work", board, tmp_path / "small").stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
def test_ctrl_c_says_that_the_command_goes_on(tmp_path):
    data = synthetic.make("checkerboard", 20_000, seed=0)
    labels = data.y.copy()
    labels[::3] *= -1
    write_parquet(tmp_path / "board.parquet", [(data.X, labels)])
    command = [sys.executable, "-m", "svmreduce", "train", "--solver", "dcsvm", "--set", "n_clusters=2", "-C", "1e6",
               "-g", "100", "--out-of-core", "-q", "board.parquet", "model"]  # fmt: skip
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (tmp_path / "model.work").is_dir():
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
        code = process.wait(timeout=60)
    assert code == 130 and told == "Error: interrupted; the same command goes on from model.work\n"
