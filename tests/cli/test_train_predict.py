"""``train`` and ``predict``: the main path, the fields scripts rely on, and every error line."""

import gzip
import json
import os

import numpy as np
import pytest
from click.testing import CliRunner

from svmreduce.cli.common import parse_value
from svmreduce.cli.main import cli
from svmreduce.data.libsvm_text import write_libsvm
from svmreduce.model import load_model
from svmreduce.solvers import SOLVERS
from svmreduce.solvers.base import ROUNDS
from svmreduce.solvers.smo import SMO

TRAIN_FIELDS = [
    *("solver", "rows", "features", "classes", "seconds", "iterations", "kernel_evals", "objective"),
    *("gap", "support_vectors", "converged"),
]


def run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def fails(*arguments):
    """The one line on stderr of a command that must end with exit code 2."""
    result = run(*arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith("Error: ") and result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=200) > 0, 1.0, -1.0)
    write_libsvm(tmp_path / "train", X[:150], y[:150])
    write_libsvm(tmp_path / "test", X[150:], y[150:])
    write_libsvm(tmp_path / "numbers", X, X[:, 0] ** 2 + X[:, 1])
    return tmp_path, X, y


@pytest.mark.parametrize("kernel", ["kmod", "gaussian_mahalanobis", "rbf:1+poly(degree=2,coef0=1):1"])
def test_kernels_that_libsvm_does_not_have(files, kernel):
    folder, X, y = files
    assert run("train", "--kernel", kernel, "-g", "0.5", folder / "train", folder / "model").exit_code == 0
    predicted = run("predict", "--json", folder / "test", folder / "model")
    expected = SMO(kernel=kernel, gamma=0.5).fit(X[:150], y[:150]).score(X[150:], y[150:])
    assert json.loads(predicted.stdout)["accuracy"] == pytest.approx(expected)
    said = fails("train", "--solver", "libsvm", "--kernel", kernel, folder / "train", folder / "model")
    assert "libsvm" in said and ("unknown kernel" in said or "takes one kernel" in said)


def test_cleaning_before_a_backend_without_weights(files):
    folder, _, _ = files
    options = (
        "--solver",
        "libsvm",
        "--reducer",
        "bootstrap",
        "--set",
        "proportion=0.1",
        "--set",
        "share=0.9",
        "-C",
        "2",
    )
    trained = run("train", *options, "--json", folder / "train", folder / "model")
    record = json.loads(trained.stdout)
    assert record["reducer"] == "bootstrap" and 0 < record["kept"] < 150 and record["seconds"]["reduce"] > 0


@pytest.mark.parametrize("solver", [name for name in SOLVERS.names() if SOLVERS.get(name).kernels])
def test_train_then_predict(files, solver):
    folder, _, y = files
    # --quiet, because a slow first compilation is told
    trained = run("train", "--solver", solver, "-C", 2, "--json", "--quiet", folder / "train", folder / "model")
    assert trained.exit_code == 0 and trained.stderr == ""
    record = json.loads(trained.stdout)
    assert [name for name in record if name not in ROUNDS] == TRAIN_FIELDS + ["kept"] * (solver == "aesvm")
    assert [name for name in record["seconds"] if name != "certify"] == ["load", "convert", "reduce", "solve"]
    assert (record["solver"], record["rows"], record["features"]) == (solver, 150, 3)
    assert record["converged"] is True and record["iterations"] > 0
    predicted = run("predict", "--json", "--quiet", folder / "test", folder / "model", folder / "out")
    assert predicted.exit_code == 0 and predicted.stderr == ""
    scores = json.loads(predicted.stdout)
    regression = "regression" in SOLVERS.get(solver).tasks
    assert record["classes"] == (None if regression else 2)
    assert list(scores) == ["rows", *(["mse", "r2"] if regression else ["accuracy"]), "seconds"]
    out = np.loadtxt(folder / "out")
    assert scores["rows"] == len(out) == 50
    if regression:
        assert scores["mse"] == pytest.approx(np.mean((out - y[150:]) ** 2))
        assert scores["r2"] == pytest.approx(1 - scores["mse"] / np.var(y[150:]))
    else:
        assert scores["accuracy"] == pytest.approx(np.mean(out == y[150:])) and scores["accuracy"] > 0.8


def test_the_rounds_of_randsvm_are_told_and_recorded(files):
    folder, _, _ = files
    flags = ["--solver", "randsvm", "-C", 2, "--set", "k=60", "--set", "c=1", "--json", folder / "train", folder / "m"]
    told = run("train", "--verbose", *flags)
    record = json.loads(told.stdout)
    lines = [line for line in told.stderr.splitlines() if line.startswith("RandSVM: round")]
    assert record["rounds"] == len(record["history"]) == len(lines) > 1
    assert lines[0].startswith("RandSVM: round 1: 60 rows, ") and "violators among 90 other rows" in lines[0]
    assert record["stop_reason"] == "no violators" and 0 <= record["duality_gap"] < 0.1
    assert "RandSVM" not in run("train", *flags).stderr
    report = run("train", *(flag for flag in flags if flag != "--json")).stdout
    assert f"stopped by no violators, round {record['rounds']}" in " ".join(report.split())


def test_flags_reach_the_solver(files):
    folder, X, y = files
    flags = ["-t", "poly", "-C", 0.5, "-g", 0.25, "-d", 2, "-r", 1.5, "-e", 1e-5, "-m", 50, "--threads", 1]
    record = json.loads(run("train", *flags, "--json", folder / "train", folder / "model").stdout)
    expected = SMO(C=0.5, kernel="poly", gamma=0.25, degree=2, coef0=1.5, tol=1e-5).fit(X[:150], y[:150])
    assert record["objective"] == pytest.approx(expected.objective_, rel=1e-6)
    kernel = load_model(folder / "model").kernel
    assert (kernel.name, kernel.gamma, kernel.coef0, kernel.degree) == ("poly", 0.25, 1.5, 2)


def test_human_output_is_short(files):
    folder, _, _ = files
    text = run("train", folder / "train", folder / "model").stdout
    assert "150 × 3, 2 classes" in text and "support vectors" in text
    assert run("predict", folder / "test", folder / "model").stdout.startswith("Accuracy = ")
    assert run("train", "-q", folder / "train", folder / "model").stdout == ""
    assert run("predict", "-q", folder / "test", folder / "model").stdout == ""


def test_words_as_labels_survive(tmp_path):
    lines = [f"{i % 7},{i % 5},{'yes' if i % 7 > 3 else 'no'}" for i in range(70)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert run("train", "-C", 100, tmp_path / "t.csv", tmp_path / "m").exit_code == 0
    assert run("predict", tmp_path / "t.csv", tmp_path / "m", tmp_path / "out").stdout.startswith("Accuracy = 100%")
    assert set((tmp_path / "out").read_text().split()) == {"yes", "no"}


def test_decision_values_are_written(files):
    folder, X, _ = files
    run("train", folder / "train", folder / "model")
    run("predict", folder / "test", folder / "model", folder / "out", "--decision-values")
    written = np.loadtxt(folder / "out")
    values = load_model(folder / "model").decision_function(X[150:])
    np.testing.assert_allclose(written[:, 1], values, rtol=1e-12)
    assert np.array_equal(written[:, 0], np.where(values > 0, 1, -1))


def test_weights_from_a_file(files):
    folder, X, y = files
    weights = np.arange(150) % 3
    (folder / "w.gz").write_bytes(gzip.compress("".join(f"{weight}\n" for weight in weights).encode()))
    record = json.loads(
        run("train", "--json", "-g", 0.5, "--weights", folder / "w.gz", folder / "train", folder / "m").stdout
    )
    expected = SMO(gamma=0.5).fit(X[:150], y[:150], sample_weight=weights)
    assert record["objective"] == pytest.approx(expected.objective_, rel=1e-6)


def test_reducer_before_solver(files):
    folder, _, _ = files
    flags = ["--reducer", "random", "--set", "share=0.2", "--seed", 3, "--json"]
    record = json.loads(run("train", *flags, folder / "train", folder / "m").stdout)
    assert (record["reducer"], record["rows"], record["kept"]) == ("random", 150, 30)
    assert record["seconds"]["reduce"] > 0
    again = json.loads(run("train", *flags, folder / "train", folder / "m").stdout)
    assert again["objective"] == record["objective"]
    plain = ["--solver", "libsvm", "--reducer", "random", "--set", "weighted=false"]
    assert run("train", *plain, folder / "train", folder / "m").exit_code == 0


def test_stopping_early_is_said(files):
    folder, _, _ = files
    result = run("train", "-C", 1000, "-g", 5, "--set", "max_iter=1", folder / "train", folder / "m")
    assert result.exit_code == 0 and "Warning: stopped before reaching the tolerance" in result.stderr


def test_liblinear_takes_its_only_kernel(files):
    folder, _, _ = files
    assert run("train", "-s", "liblinear", "-t", "linear", folder / "train", folder / "m").exit_code == 0
    assert "solver_type" in (folder / "m").read_text()


def test_the_format_of_the_model_file_is_said(files):
    folder, _, _ = files
    for solver, words in (
        ("smo", "(LIBSVM's format)"),
        ("pegasos", "(LIBLINEAR's format)"),
        ("rfeatsvm2", "own format"),
    ):
        assert words in run("train", "-s", solver, folder / "train", folder / "m").stdout


def test_a_name_of_the_catalogue(files, monkeypatch):
    from svmreduce.data import catalog
    from svmreduce.types import Dataset

    folder, X, y = files
    asked = []
    monkeypatch.setattr(catalog, "load", lambda name, split: asked.append((name, split)) or Dataset(X, y, name))
    for source in ("ijcnn1", "ijcnn1:test"):
        assert run("train", source, folder / "m").exit_code == 0
    run("predict", "ijcnn1", folder / "m")
    assert asked == [("ijcnn1", "train"), ("ijcnn1", "test"), ("ijcnn1", "test")]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--solver", "libsmv"], "unknown solver 'libsmv': did you mean 'libsvm'?"),
        (["--kernel", "rfb"], "unknown kernel of smo 'rfb': did you mean 'rbf'?"),
        (["--solver", "liblinear", "--kernel", "rbf"], "unknown kernel of liblinear 'rbf': known are linear"),
        (["--reducer", "randon"], "unknown reducer 'randon': did you mean 'random'?"),
        (["--set", "max_itr=3"], "unknown parameter of smo 'max_itr': did you mean 'max_iter'?"),
        (
            ["--reducer", "random", "--set", "shar=3"],
            "unknown parameter of smo or random 'shar': did you mean 'share'?",
        ),
        (["--solver", "network"], "network is no SVM and has no model file: use it in experiments"),
        (["--set", "share"], "--set takes key=value, got 'share'"),
        (["--solver", "liblinear", "-g", "1"], "unknown parameter of liblinear 'gamma': known are C, bias"),
        (["-C", "-1"], "C must be a positive number, got -1"),
        (["-g", "wide"], "gamma must be a positive number, 'auto', 'auto-distance' or 'scale', got 'wide'"),
        (["--solver", "libsvm", "--reducer", "random"], "cannot take sample_weight: official LIBSVM"),
        (["--reducer", "random", "--weights", "w"], "--weights and --reducer exclude each other"),
        (["-m", "nan"], "cache_mb must be a positive number, got nan"),
        (["--set", "tol=none"], "tol must be a positive number, got None"),
        (["--set", "kernel=3"], "kernel must be the name of a kernel, such as 'rbf', got 3"),
        (["--reducer", "random", "--set", "share=abc"], "share must be above 0 and at most 1, got 'abc'"),
        (["--label", "0"], "the labels stand first in every line of a LIBSVM file"),
    ],
)
def test_bad_flags(files, flags, message):
    folder, _, _ = files
    assert message in fails("train", *flags, folder / "train", folder / "m")
    assert not (folder / "m").exists()


def test_bad_files(files):
    folder, _, _ = files
    (folder / "broken").write_text("1 1:2\n-1 1:x\n")
    assert f"{folder}/broken:2" in fails("train", folder / "broken", folder / "m")
    assert "no such file" in fails("train", folder / "none", folder / "m")
    assert "unknown data set 'ijcn1': did you mean 'ijcnn1'?" in fails("train", "ijcn1", folder / "m")
    assert "split or variant of ijcnn1 'foo': known are test, tr, train, val" in fails(
        "train", "ijcnn1:foo", folder / "m"
    )
    assert "does not exist; create it first" in fails("train", folder / "train", folder / "no" / "m")
    assert "is a folder" in fails("train", folder / "train", folder)
    assert "--solver libsvm_svr" in fails("train", folder / "numbers", folder / "m")
    (folder / "one").write_text("1 1:2\n1 1:3\n")
    assert "at least two classes" in fails("train", folder / "one", folder / "m")
    assert "no such model file" in fails("predict", folder / "test", folder / "m")
    assert "not a model file" in fails("predict", folder / "test", folder / "test")
    assert "is a folder" in fails("predict", folder / "test", folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n", "150 weights are needed, one per row; the file has 1 lines"),
        ("1\n" * 149 + "x\n", "w:150: not a number: 'x'"),
        ("1\n" * 149 + "-1\n", "w:150: a weight must be finite and not negative"),
        ("1\n" * 149 + "nan\n", "w:150: a weight must be finite and not negative"),
        ("0\n" * 150, "w: every weight is zero: there is nothing to train on"),
        ("\xff", "w: not text; give one weight per line"),
        ("\x1f\x8b", "w: damaged or truncated archive"),
    ],
)
def test_bad_weight_files(files, text, message):
    folder, _, _ = files
    (folder / "w").write_bytes(text.encode("latin-1"))
    assert message in fails("train", "--weights", folder / "w", folder / "train", folder / "m")


def test_predict_errors(files):
    folder, _, _ = files
    run("train", folder / "train", folder / "model")
    assert "needs OUT" in fails("predict", "--decision-values", folder / "test", folder / "model")
    (folder / "words.csv").write_text("1,2,3,a\n3,4,5,b\n")
    assert "words" in fails("predict", folder / "words.csv", folder / "model")


def test_outputs_are_never_inputs(files):
    folder, _, _ = files
    run("train", folder / "train", folder / "model")
    (folder / "w").write_text("1\n" * 150)
    os.link(folder / "test", folder / "same")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for arguments in (
        ["train", folder / "train", folder / "train"],
        ["train", "--weights", folder / "w", folder / "train", folder / "w"],
        ["predict", folder / "test", folder / "model", folder / "same"],
        ["predict", folder / "test", folder / "model", folder / "model"],
    ):
        assert "is also read here" in fails(*arguments)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(("locked", "message"), [("m", "m: may not be written"), ("", "may not be written to")])
def test_permissions_are_looked_at_before_the_work(files, monkeypatch, locked, message):
    folder, _, _ = files
    (folder / "m").write_text("before")
    may = os.access  # root may write everywhere, so the answer is made up
    monkeypatch.setattr(os, "access", lambda path, mode: os.path.realpath(path) != str(folder / locked).rstrip("/"))
    assert message in fails("train", folder / "broken-or-not", folder / "m")
    monkeypatch.setattr(os, "access", may)
    assert "no such file" in fails("train", folder / "broken-or-not", folder / "m")


def test_tables_must_have_the_columns_of_the_model(tmp_path):
    """The last column is zero in every support vector, and still a column of the model."""
    rows = [f"{'abc'[i % 3]},{i % 7 + 1},0,{'yes' if i % 7 > 3 else 'no'}" for i in range(70)]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "fewer.csv").write_text("\n".join(row for row in rows if row[0] != "a") + "\n")
    assert run("train", "-C", 100, tmp_path / "t.csv", tmp_path / "m").exit_code == 0
    assert run("predict", tmp_path / "t.csv", tmp_path / "m").stdout.startswith("Accuracy = 100%")
    message = fails("predict", tmp_path / "fewer.csv", tmp_path / "m", tmp_path / "out")
    assert "fewer.csv: 4 columns" in message and "was trained on 5" in message
    assert not (tmp_path / "out").exists()


def test_the_label_column_of_a_table(tmp_path):
    rows = [f"{1 if i % 7 > 3 else 2},{i % 7},{i % 5 + 0.5}" for i in range(70)]
    (tmp_path / "t.csv").write_text("\n".join(["kind,a,b", *rows]) + "\n")
    assert "name it by --label" in fails("train", tmp_path / "t.csv", tmp_path / "m")
    for label in ("kind", "0", "-3"):
        assert run("train", "--label", label, "-C", 100, tmp_path / "t.csv", tmp_path / "m").exit_code == 0
        done = run("predict", "--label", label, tmp_path / "t.csv", tmp_path / "m")
        assert done.stdout.startswith("Accuracy = 100%")
    assert "the header names kind, a, b" in fails("train", "--label", "kin", tmp_path / "t.csv", tmp_path / "m")
    assert "--label is for files" in fails("train", "--label", "kind", "ijcnn1", tmp_path / "m2")


def test_notes_of_a_model_file_are_shown(files):
    folder, _, _ = files
    run("train", folder / "train", folder / "model")
    text = (folder / "model").read_text()
    (folder / "model").write_text(text.replace("nr_sv", "probA -1.5\nprobB 0.25\nnr_sv"))
    result = run("predict", folder / "test", folder / "model")
    assert result.exit_code == 0
    assert "Note: " in result.stderr and "probability estimates in the model are not used" in result.stderr


def test_values_of_settings():
    texts = ["3", "0.5", "1e-3", "true", "None", "rbf"]
    assert [parse_value(text) for text in texts] == [3, 0.5, 1e-3, True, None, "rbf"]
