"""``svmreduce reduce``: files out, figures out, and a model trained on them."""

import json

import numpy as np
import pytest

from svmreduce.data import synthetic
from svmreduce.data.formats import read_libsvm, write_libsvm
from svmreduce.kernels import resolve_gamma
from tests.cli.commands import call, fails


@pytest.fixture
def board(tmp_path):
    data = synthetic.make("checkerboard", 3000, seed=0)
    write_libsvm(tmp_path / "board", data.X, data.y)
    return tmp_path / "board"


def test_rows_weights_and_figures_agree(board, tmp_path):
    out = tmp_path / "small"
    done = call(
        "reduce", "--method", "derive_rs", "--kernel", "rbf", "-g", "1", "--epsilon", "0.01", board, out, "--json"
    )
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert set(record) >= {"rows", "kept", "kept_percent", "weight_sum", "residual_max", "seconds"}
    assert set(record["seconds"]) == {"load", "first_level", "second_level", "derive", "total"}
    X, y = read_libsvm(out)
    weights = np.loadtxt(f"{out}.weights")
    assert record["rows"] == 3000 and record["kept"] == len(y) == len(weights) < 3000
    assert record["kept_percent"] == pytest.approx(100 * len(y) / 3000)
    assert weights.sum() == pytest.approx(3000) and record["weight_sum"] == pytest.approx(3000)
    assert 0 < record["residual_max"] <= 0.01
    original = {row.tobytes() for row in read_libsvm(board)[0].toarray()}
    assert all(row.tobytes() in original for row in X.toarray())


def test_training_on_the_files_is_training_aesvm(board, tmp_path):
    out, first, second = tmp_path / "small", tmp_path / "m1", tmp_path / "m2"
    assert call("reduce", "-g", "1", "--epsilon", "0.01", board, out).exit_code == 0
    flags = ["-g", "1", "-C", "10", "--json"]
    by_files = call("train", *flags, "--weights", f"{out}.weights", out, first)
    at_once = call("train", *flags, "--solver", "aesvm", board, second)
    as_reducer = call("train", *flags, "--reducer", "derive_rs", board, second)
    objectives = [json.loads(done.stdout)["objective"] for done in (by_files, at_once, as_reducer)]
    assert objectives[1:] == pytest.approx([objectives[0]] * 2, rel=1e-6)
    assert json.loads(at_once.stdout)["seconds"]["reduce"] > 0


def test_the_kernel_is_told_so_that_training_can_use_the_same(board, tmp_path):
    """gamma="scale" of the kept rows is another number than that of all rows."""
    out, first, second = tmp_path / "small", tmp_path / "m1", tmp_path / "m2"
    kernel = json.loads(call("reduce", "--epsilon", "0.01", board, out, "--json").stdout)["kernel"]
    assert kernel == {"kernel": "rbf", "gamma": resolve_gamma("scale", read_libsvm(board)[0])}
    assert f"rbf, gamma {kernel['gamma']!r}" in call("reduce", "--epsilon", "0.01", board, out).output
    by_files = call("train", "-g", kernel["gamma"], "--json", "--weights", f"{out}.weights", out, first)
    at_once = call("train", "--solver", "aesvm", "--json", board, second)
    records = [json.loads(done.stdout) for done in (by_files, at_once)]
    assert records[0]["objective"] == pytest.approx(records[1]["objective"], rel=1e-6)
    assert records[1]["kept"] == records[0]["rows"] < records[1]["rows"]


def test_reducer_and_solver_have_one_kernel(board, tmp_path):
    model = tmp_path / "model"
    options = ("train", "--reducer", "derive_rs", "--json")
    by_flag = call(*options, "-g", "0.3", board, model)
    by_set = call(*options, "--set", "gamma=0.3", board, model)
    assert json.loads(by_flag.stdout)["objective"] == json.loads(by_set.stdout)["objective"]
    for kernel in ("gaussian_diagonal", "rbf(gamma=scale)"):  # learned from all rows, for both
        in_two = json.loads(call(*options, "-t", kernel, board, model).stdout)
        at_once = json.loads(call("train", "--solver", "aesvm", "--json", "-t", kernel, board, model).stdout)
        assert in_two["kept"] == at_once["kept"] and in_two["objective"] == at_once["objective"]
    told = call("reduce", "-t", "gaussian_diagonal", "-g", "0.5", board, tmp_path / "out").output
    assert "gaussian_diagonal, gamma 0.5" in told


def test_what_cannot_be_written_is_told_before_the_work(board, tmp_path):
    (tmp_path / "words.csv").write_text("a,b,kind\n" + "1,2,yes\n2,1,no\n" * 20)
    done = call("reduce", tmp_path / "words.csv", tmp_path / "out")
    assert done.exit_code == 2 and "LIBSVM text needs numbers as labels, not text such as 'yes'" in done.stderr
    done = call("reduce", board, "/dev/null")
    assert done.exit_code == 2 and "the weights go into a second file next to this one" in done.stderr
    assert list(tmp_path.glob("out*")) == []


def test_a_blank_last_line_of_weights_is_no_weight(board, tmp_path):
    (tmp_path / "weights").write_text("1\n" * 3000 + "\n\n")
    assert call("train", "--weights", tmp_path / "weights", board, tmp_path / "model").exit_code == 0


def test_the_gelling_curve_is_shown(board, tmp_path):
    options = ("--method", "bootstrap", "-g", "4", "--set", "C=10", "--set", "share=0.5", "--set", "proportion=auto")
    done = call("reduce", *options, board, tmp_path / "hard", "--json")
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    facts = record["facts"]
    assert record["kept"] == len(np.loadtxt(tmp_path / "hard.weights")) < facts["candidates"] < 3000
    assert set(record["seconds"]) == {"load", "sample", "gelling", "train", "classify", "select", "total"}
    shown = call("reduce", *options, board, tmp_path / "hard").output
    assert "gelling curve" in shown and ", ".join(f"{100 * p:g} %: {a:.4f}" for p, a in facts["curve"]) in shown
    assert f"candidates      {facts['candidates']}\n" in shown and "lost classes" not in shown
    fixed = call(
        "reduce", "--method", "bootstrap", "--set", "proportion=0.2", "-g", "4", board, tmp_path / "hard", "--json"
    )
    assert json.loads(fixed.stdout)["facts"]["sample_rows"] == 600
    wrong = call("reduce", "--method", "bootstrap", "--set", "proportion=much", board, tmp_path / "hard")
    assert wrong.exit_code == 2 and "proportion must be above 0 and at most 1, or 'auto', got 'much'" in wrong.output


def test_every_reducer_writes(board, tmp_path):
    done = call("reduce", "--method", "random", "--set", "share=0.25", "--seed", "3", board, tmp_path / "quarter")
    assert done.exit_code == 0 and "750 (25.00 %)" in done.output
    assert "residual" not in done.output


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--method", "derive"], "unknown reducer 'derive': did you mean 'derive_rs'?"),
        (["--epsilon", "-1"], "epsilon must be a number >= 0"),
        (["--set", "Q=3"], "unknown parameter of derive_rs 'Q'"),
        (["--method", "random", "--epsilon", "1"], "unknown parameter of random 'epsilon'"),
        (["--kernel", "rfb"], "did you mean 'rbf'"),
        (["--seed", "1"], "--seed: derive_rs uses no random numbers"),
        (["--epsilon", "0.1", "--set", "epsilon=0.2"], "epsilon is given twice"),
    ],
)
def test_bad_flags_are_one_line(board, tmp_path, flags, message):
    done = call("reduce", *flags, board, tmp_path / "out")
    assert done.exit_code == 2 and message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_outputs_are_never_inputs(board, tmp_path):
    before = board.read_bytes()
    (tmp_path / "same").symlink_to(board)
    weights = tmp_path / "out.weights"
    weights.write_bytes(before)
    for source, out in [(board, board), (board, tmp_path / "same"), (weights, tmp_path / "out")]:
        done = call("reduce", source, out)
        assert done.exit_code == 2 and "is also an input" in done.stderr
    assert board.read_bytes() == weights.read_bytes() == before


def test_the_label_column(tmp_path):
    (tmp_path / "t.csv").write_text("kind,a\n" + "1,0.5\n2,0.25\n" * 20)
    flags = ["--method", "derive_rs", "-g", "1", tmp_path / "t.csv", tmp_path / "out"]
    done = call("reduce", *flags)
    assert done.exit_code == 2 and "derive_rs only classifies; if the labels are in another column" in done.stderr
    assert call("reduce", "--label", "kind", *flags).exit_code == 0
    assert read_libsvm(tmp_path / "out")[1].tolist() == [1, 2]


def test_words_as_labels_and_nothing_to_reduce_are_told(tmp_path):
    rows = [f"{100 * i},{i % 2},{('no', 'yes')[i % 2]}\n" for i in range(40)]
    (tmp_path / "words.csv").write_text("".join(rows))
    assert "svmreduce train --reducer derive_rs, which takes words" in (
        fails("reduce", "-g", 1, tmp_path / "words.csv", tmp_path / "out")
    )
    (tmp_path / "t.csv").write_text("".join(rows).replace("no", "0").replace("yes", "1"))
    for command in (["reduce"], ["train", "--reducer", "derive_rs"]):
        said = call(*command, "-g", 1, tmp_path / "t.csv", tmp_path / "out").stderr
        assert "nothing was reduced: all 40 rows are kept; scale the columns" in said
    assert "nothing" not in call("reduce", "-g", 1e-9, tmp_path / "t.csv", tmp_path / "out").stderr


def test_unequal_columns_are_warned_about(tmp_path):
    random = np.random.default_rng(0)
    write_libsvm(tmp_path / "rows", random.normal(size=(60, 2)) * [1.0, 1e4], np.repeat([-1.0, 1.0], 30))
    told = call("reduce", tmp_path / "rows", tmp_path / "small").stderr
    assert "Warning: columns differ in size by a factor of" in told and "scale them first (svmreduce scale)" in told
    plain = call("reduce", "--method", "random", "--set", "share=0.5", tmp_path / "rows", tmp_path / "small").stderr
    assert "columns differ" not in plain  # no distances
