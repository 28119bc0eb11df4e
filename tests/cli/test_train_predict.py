"""``train`` and ``predict``: the main path, and the fields scripts rely on."""

import csv
import gzip
import json

import numpy as np
import pandas as pd
import pytest

from svmreduce.cli.common import parse_value
from svmreduce.data import synthetic
from svmreduce.data.libsvm_text import write_libsvm
from svmreduce.model import load_model
from svmreduce.solvers import SOLVERS
from svmreduce.solvers.base import ROUNDS
from svmreduce.solvers.smo import SMO
from tests.cli.commands import call, fails

TRAIN_FIELDS = [
    *("solver", "rows", "features", "classes", "parameters", "seconds", "iterations", "kernel_evals", "objective"),
    *("gap", "support_vectors", "converged"),
]
MACHINES = [name for name in SOLVERS.names() if SOLVERS.get(name).kernels and "one_class" not in name]


REGRESSION_FIELDS = ["mse", "mae", "r2"]
CLASS_FIELDS = ["accuracy", "balanced_accuracy", "f1", "positive", "auc", "labels", "confusion"]


@pytest.mark.parametrize("kernel", ["kmod", "gaussian_mahalanobis", "rbf:1+poly(degree=2,coef0=1):1"])
def test_kernels_that_libsvm_does_not_have(files, kernel):
    folder, X, y = files
    assert call("train", "--kernel", kernel, "-g", "0.5", folder / "train", folder / "model").exit_code == 0
    predicted = call("predict", "--json", folder / "test", folder / "model")
    expected = SMO(kernel=kernel, gamma=0.5).fit(X[:150], y[:150]).score(X[150:], y[150:])
    assert json.loads(predicted.stdout)["accuracy"] == pytest.approx(expected)
    said = fails("train", "--solver", "libsvm", "--kernel", kernel, folder / "train", folder / "model")
    assert "libsvm" in said and ("unknown kernel" in said or "takes one kernel" in said)


def test_the_parameters_that_were_used_are_told(files):
    folder, X, _ = files
    told = call("train", folder / "train", folder / "model").stdout
    assert f"parameters       C 1, kernel rbf, gamma {1 / (3 * X[:150].var()):.6g}\n" in told
    for options, expected in {
        ("-s", "nu_svc", "-n", 0.3, "-t", "linear"): {"nu": 0.3, "kernel": "linear"},
        ("-s", "svr", "-p", 0.2, "-g", "auto"): {"C": 1, "epsilon": 0.2, "kernel": "rbf", "gamma": 1 / 3},
        ("--reducer", "random", "-C", 3, "-t", "poly", "-g", 2): {"C": 3, "kernel": "poly", "gamma": 2, "coef0": 0,
                                                                 "degree": 3},
        ("-s", "liblinear", "--tune-C"): None,
    }.items():  # fmt: skip
        record = json.loads(call("train", "--json", "-q", *options, folder / "train", folder / "model").stdout)
        assert record["parameters"] == (expected or {"C": record["C"]})


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
    trained = call("train", *options, "--json", folder / "train", folder / "model")
    record = json.loads(trained.stdout)
    assert record["reducer"] == "bootstrap" and 0 < record["kept"] < 150 and record["seconds"]["reduce"] > 0


@pytest.mark.parametrize(
    "solver", [name for name in SOLVERS.names() if SOLVERS.get(name).kernels and "one_class" not in name]
)
def test_train_then_predict(files, solver):
    folder, _, y = files
    # --quiet, because a slow first compilation is told
    cost = ["-C", 2] * ("nu_svc" not in solver)
    trained = call("train", "--solver", solver, *cost, "--json", "--quiet", folder / "train", folder / "model")
    assert trained.exit_code == 0 and trained.stderr == ""
    record = json.loads(trained.stdout)
    assert [name for name in record if name not in ROUNDS] == [
        *TRAIN_FIELDS,
        *["sampled_to"] * (solver in ("fw", "mfw", "cvm", "bvm")),
        *["kept"] * (solver == "aesvm"),
    ]
    assert [name for name in record["seconds"] if name != "certify"] == ["load", "convert", "reduce", "solve"]
    assert (record["solver"], record["rows"], record["features"]) == (solver, 150, 3)
    assert record["converged"] is True and record["iterations"] > 0
    predicted = call("predict", "--json", "--quiet", folder / "test", folder / "model", folder / "out")
    assert predicted.exit_code == 0 and predicted.stderr == ""
    scores = json.loads(predicted.stdout)
    regression = "regression" in SOLVERS.get(solver).tasks
    assert record["classes"] == (None if regression else 2)
    assert list(scores) == ["rows", *(REGRESSION_FIELDS if regression else CLASS_FIELDS), "seconds"]
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
    told = call("train", "--verbose", *flags)
    record = json.loads(told.stdout)
    lines = [line for line in told.stderr.splitlines() if line.startswith("RandSVM: round")]
    assert record["rounds"] == len(record["history"]) == len(lines) > 1
    assert lines[0].startswith("RandSVM: round 1: 60 rows, ") and "violators among 90 other rows" in lines[0]
    assert record["stop_reason"] == "no violators" and 0 <= record["duality_gap"] < 0.1
    assert "RandSVM" not in call("train", *flags).stderr
    report = call("train", *(flag for flag in flags if flag != "--json")).stdout
    assert f"stopped by no violators, round {record['rounds']}" in " ".join(report.split())


def test_flags_reach_the_solver(files):
    folder, X, y = files
    flags = ["-t", "poly", "-C", 0.5, "-g", 0.25, "-d", 2, "-r", 1.5, "-e", 1e-5, "-m", 50, "--threads", 1]
    record = json.loads(call("train", *flags, "--json", folder / "train", folder / "model").stdout)
    expected = SMO(C=0.5, kernel="poly", gamma=0.25, degree=2, coef0=1.5, tol=1e-5).fit(X[:150], y[:150])
    assert record["objective"] == pytest.approx(expected.objective_, rel=1e-6)
    kernel = load_model(folder / "model").kernel
    assert (kernel.name, kernel.gamma, kernel.coef0, kernel.degree) == ("poly", 0.25, 1.5, 2)


def test_human_output_is_short(files):
    folder, _, _ = files
    text = call("train", folder / "train", folder / "model").stdout
    assert "150 × 3, 2 classes" in text and "support vectors" in text
    assert call("predict", folder / "test", folder / "model").stdout.startswith("Accuracy = ")
    assert call("train", "-q", folder / "train", folder / "model").stdout == ""
    assert call("predict", "-q", folder / "test", folder / "model").stdout == ""


def test_words_as_labels_survive(tmp_path):
    lines = [f"{i % 7},{i % 5},{'yes' if i % 7 > 3 else 'no'}" for i in range(70)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert call("train", "-C", 100, tmp_path / "t.csv", tmp_path / "m").exit_code == 0
    assert call("predict", tmp_path / "t.csv", tmp_path / "m", tmp_path / "out").stdout.startswith("Accuracy = 100%")
    assert set((tmp_path / "out").read_text().split()) == {"yes", "no"}


def test_decision_values_are_written(files):
    folder, X, _ = files
    call("train", folder / "train", folder / "model")
    call("predict", folder / "test", folder / "model", folder / "out", "--decision-values")
    written = np.loadtxt(folder / "out")
    values = load_model(folder / "model").decision_function(X[150:])
    np.testing.assert_allclose(written[:, 1], values, rtol=1e-12)
    assert np.array_equal(written[:, 0], np.where(values > 0, 1, -1))


def test_weights_from_a_file(files):
    folder, X, y = files
    weights = np.arange(150) % 3
    (folder / "w.gz").write_bytes(gzip.compress("".join(f"{weight}\n" for weight in weights).encode()))
    record = json.loads(
        call("train", "--json", "-g", 0.5, "--weights", folder / "w.gz", folder / "train", folder / "m").stdout
    )
    expected = SMO(gamma=0.5).fit(X[:150], y[:150], sample_weight=weights)
    assert record["objective"] == pytest.approx(expected.objective_, rel=1e-6)


def test_reducer_before_solver(files):
    folder, _, _ = files
    flags = ["--reducer", "random", "--set", "share=0.2", "--seed", 3, "--json"]
    record = json.loads(call("train", *flags, folder / "train", folder / "m").stdout)
    assert (record["reducer"], record["rows"], record["kept"]) == ("random", 150, 30)
    assert record["seconds"]["reduce"] > 0
    again = json.loads(call("train", *flags, folder / "train", folder / "m").stdout)
    assert again["objective"] == record["objective"]
    plain = ["--solver", "libsvm", "--reducer", "random", "--set", "weighted=false"]
    assert call("train", *plain, folder / "train", folder / "m").exit_code == 0


def test_stopping_early_is_said(files):
    folder, _, _ = files
    result = call("train", "-C", 1000, "-g", 5, "--set", "max_iter=1", folder / "train", folder / "m")
    assert result.exit_code == 0 and "Warning: stopped before reaching the tolerance" in result.stderr


def test_samples_that_saw_too_little_are_told(tmp_path):
    """The rule of the end holds for samples; what holds for all rows stands beside it."""
    board = synthetic.make("checkerboard", 3000, seed=0)
    write_libsvm(tmp_path / "board", board.X, board.y)
    few = ["--set", "sample_size=2", "--set", "quiet_samples=1"]
    text = call("train", "--solver", "mfw", "-C", 10, "-g", 1, *few, tmp_path / "board", tmp_path / "m").stdout
    assert "over all rows; the last samples met 1e-06" in text
    exact = ["--set", "selection=exact"]
    text = call("train", "--solver", "mfw", "-C", 10, "-g", 1, *exact, tmp_path / "board", tmp_path / "m").stdout
    assert "the last samples" not in text


def test_liblinear_takes_its_only_kernel(files):
    folder, _, _ = files
    assert call("train", "-s", "liblinear", "-t", "linear", folder / "train", folder / "m").exit_code == 0
    assert "solver_type" in (folder / "m").read_text()


def test_the_format_of_the_model_file_is_said(files):
    folder, _, _ = files
    for solver, words in (
        ("smo", "(LIBSVM's format)"),
        ("pegasos", "(LIBLINEAR's format)"),
        ("rfeatsvm2", "own format"),
    ):
        assert words in call("train", "-s", solver, folder / "train", folder / "m").stdout


def test_a_name_of_the_catalogue(files, monkeypatch):
    from svmreduce.data import catalog
    from svmreduce.types import Dataset

    folder, X, y = files
    asked = []
    monkeypatch.setattr(catalog, "load", lambda name, split: asked.append((name, split)) or Dataset(X, y, name))
    for source in ("ijcnn1", "ijcnn1:test"):
        assert call("train", source, folder / "m").exit_code == 0
    call("predict", "ijcnn1", folder / "m")
    assert asked == [("ijcnn1", "train"), ("ijcnn1", "test"), ("ijcnn1", "test")]


def test_the_label_column_of_a_table(tmp_path):
    rows = [f"{1 if i % 7 > 3 else 2},{i % 7},{i % 5 + 0.5}" for i in range(70)]
    (tmp_path / "t.csv").write_text("\n".join(["kind,a,b", *rows]) + "\n")
    assert "name it with --label" in fails("train", tmp_path / "t.csv", tmp_path / "m")
    for label in ("kind", "0", "-3"):
        assert call("train", "--label", label, "-C", 100, tmp_path / "t.csv", tmp_path / "m").exit_code == 0
        done = call("predict", "--label", label, tmp_path / "t.csv", tmp_path / "m")
        assert done.stdout.startswith("Accuracy = 100%")
    assert "the header names kind, a, b" in fails("train", "--label", "kin", tmp_path / "t.csv", tmp_path / "m")
    assert "--label is for tables" in fails("train", "--label", "kind", "ijcnn1", tmp_path / "m2")


def test_columns_that_training_did_not_use_may_be_missing(tmp_path):
    """Without a header, only the number of columns says which are there."""
    rows = [[f"n{i}", i % 7, i % 5, "yes" if i % 7 > 3 else "no"] for i in range(70)]

    def written(*columns):
        (tmp_path / "t.csv").write_text("".join(",".join(str(row[k]) for k in columns) + "\n" for row in rows))
        return tmp_path / "t.csv"

    for drop, labelled, bare in ((["0"], (1, 2, 3), (1, 2)), (["0", "2"], (1, 3), (0, 1, 2))):
        flags = [word for column in drop for word in ("--drop", column)]
        assert call("train", *flags, "-C", 100, written(0, 1, 2, 3), tmp_path / "m").exit_code == 0
        done = call("predict", "--label", len(labelled) - 1, written(*labelled), tmp_path / "m")
        assert done.stdout.startswith("Accuracy = 100%")
        done = call("predict", written(*bare), tmp_path / "m", tmp_path / "out")
        assert "without labels" in done.stdout and "Note" not in done.stderr
        assert (tmp_path / "out").read_text().split() == [row[3] for row in rows]
        assert f"column {', '.join(drop)}, which training did not use, may be missing" in (
            fails("predict", written(0, 1, 1, 2, 2, 3), tmp_path / "m")
        )
    call("train", "--drop", 0, written(0, 1, 2, 3), tmp_path / "m")
    assert "without the label; if column 0" in call("predict", written(0, 1, 2), tmp_path / "m").stderr


def test_labels_with_blanks_stay_one_word(tmp_path):
    kinds = ["ok", "too hot", 'a "b"']
    (tmp_path / "t.csv").write_text("".join(f"{i % 3 + i / 1000},{i % 5},{kinds[i % 3]}\n" for i in range(90)))
    call("train", "-b", 1, "-C", 100, "-g", 1, tmp_path / "t.csv", tmp_path / "m")
    call("predict", "-b", 1, tmp_path / "t.csv", tmp_path / "m", tmp_path / "out")
    with open(tmp_path / "out", newline="") as file:
        first, *lines = csv.reader(file, delimiter=" ")
    assert sorted(first) == sorted(["labels", *kinds]) and {len(line) for line in lines} == {4}
    assert [line[0] for line in lines] == [kinds[i % 3] for i in range(90)]
    call("train", "-b", 1, "--positive", "ok", tmp_path / "t.csv", tmp_path / "m")
    call("predict", "-b", 1, tmp_path / "t.csv", tmp_path / "m", tmp_path / "out")
    assert sorted((tmp_path / "out").read_text().splitlines()[0].split()) == ["labels", "not_ok", "ok"]


def test_probabilities_of_weighted_classes_are_noted(files):
    folder, _, _ = files
    for flags, noted in ((["-b", 1, "-w1", 5], True), (["-w1", 5], False), (["-b", 1], False)):
        said = call("train", *flags, folder / "train", folder / "m").stderr
        assert ("re-weighted classes" in said) is noted


def test_the_label_of_a_table_is_always_named(tmp_path):
    rows = [f"{i % 7 + 0.5},{'yes' if i % 7 > 3 else 'no'},{i % 3 + 1}" for i in range(70)]
    (tmp_path / "t.csv").write_text("\n".join(["a,churn,plan", *rows]) + "\n")
    (tmp_path / "bare.csv").write_text("\n".join(rows) + "\n")
    taken = call("train", tmp_path / "t.csv", tmp_path / "m")
    assert "plan (the last column; 3 classes: 1, 2, 3)" in taken.stdout
    assert "Note: " in taken.stderr and "give its name by --label: churn" in taken.stderr
    given = call("train", "--label", "churn", tmp_path / "t.csv", tmp_path / "m")
    assert "churn (2 classes: no, yes)" in given.stdout and "--label" not in given.stderr
    assert "column 1 (the last column kept; 2 classes: no, yes)" in (
        call("train", "--drop", 2, tmp_path / "bare.csv", tmp_path / "m").stdout
    )
    for file, label in (("t.csv", "plan"), ("bare.csv", 2)):
        assert json.loads(call("train", "--json", tmp_path / file, tmp_path / "m").stdout)["label"] == label


def test_notes_of_a_model_file_are_shown(files):
    folder, _, _ = files
    call("train", "-s", "libsvm_svr", folder / "numbers", folder / "model")
    text = (folder / "model").read_text()
    (folder / "model").write_text(text.replace("SV\n", "probA 0.25\nSV\n"))
    result = call("predict", folder / "numbers", folder / "model")
    assert result.exit_code == 0
    assert "Note: " in result.stderr and "probability estimates of epsilon_svr are not used (probA)" in result.stderr


def test_values_of_settings():
    texts = ["3", "0.5", "1e-3", "true", "None", "rbf"]
    assert [parse_value(text) for text in texts] == [3, 0.5, 1e-3, True, None, "rbf"]


@pytest.mark.parametrize("labels", [[2, 3], ["a", "b"]])
def test_a_one_class_model_has_no_accuracy_for_names_of_classes(tmp_path, labels):
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(60, 2)), columns=["u", "v"]).assign(label=np.repeat(labels, 30))
    table.to_csv(tmp_path / "rows.csv", index=False)
    assert call("train", "-s", 2, "-n", 0.2, "-q", tmp_path / "rows.csv", tmp_path / "model").exit_code == 0
    told = call("predict", tmp_path / "rows.csv", tmp_path / "model")
    assert told.exit_code == 0 and "Accuracy" not in told.stdout
    assert told.stdout.startswith("Predicted 60 rows; the labels are not 1 and -1, and not looked at, ")
    table.assign(label=1).to_csv(tmp_path / "inside.csv", index=False)
    assert call("predict", tmp_path / "inside.csv", tmp_path / "model").stdout.startswith("Accuracy = ")


@pytest.mark.parametrize("memory", [[], ["--memory", "1kB"]])
def test_libsvm_text_without_labels_is_predicted(files, memory):
    folder, _, _ = files
    call("train", "-q", folder / "train", folder / "model")
    lines = (folder / "test").read_text().splitlines()
    lines[3] = lines[3].split()[0]  # a row of zeros is an empty line without its label
    (folder / "test").write_text("".join(line + "\n" for line in lines))
    (folder / "bare").write_text("".join(line.partition(" ")[2] + "\n" for line in lines))
    call("predict", "-q", folder / "test", folder / "model", folder / "out")
    for option in ([], ["--no-label"]):
        told = call("predict", *option, *memory, folder / "bare", folder / "model", folder / "bare_out")
        assert told.exit_code == 0 and told.stdout.startswith(f"Predicted {len(lines)} rows without labels")
        assert (folder / "bare_out").read_text() == (folder / "out").read_text()


@pytest.mark.parametrize(
    "text, said",
    [("1 1:2\n1:3\n", "rows:2:1: the line begins with the pair '1:3'; put a label first, or use --no-label"),
     ("1:2\n 1 1:3\n", "rows:2:2: the line begins with a label, the first one has none; write all lines alike")],
)  # fmt: skip
def test_libsvm_text_with_labels_in_some_lines_is_refused(files, text, said):
    folder, _, _ = files
    call("train", "-q", folder / "train", folder / "model")
    (folder / "rows").write_text(text)
    for memory in ([], ["--memory", "1B"]):
        assert said in fails("predict", *memory, folder / "rows", folder / "model")
    assert call("predict", "-q", "--no-label", folder / "rows", folder / "model").exit_code == 0


def one_class_files(folder, kind):
    """Rows without labels, the same with a label of 1, and what training on the first needs."""
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["u", "v"])
    if kind == "libsvm":
        write_libsvm(folder / "with", table.to_numpy(), np.ones(60))
        (folder / "without").write_text((folder / "with").read_text().replace("1 1:", "1:"))
    else:
        table["c"] = ["a", "b"] * 30 if kind == "names" else np.arange(60) % 7
        table.to_csv(folder / "without", index=False, header=kind == "names")
        table.assign(label=1).to_csv(folder / "with", index=False, header=kind == "names")
    return folder / "without", folder / "with"


@pytest.mark.parametrize("kind", ["libsvm", "names", "positions"])
@pytest.mark.parametrize("solver", ["one_class", "libsvm_one_class"])
def test_a_one_class_svm_needs_no_labels(tmp_path, kind, solver):
    without, with_labels = one_class_files(tmp_path, kind)
    train = ("train", "-s", solver, "-n", 0.2, "--no-label", "--scale", "standard")
    assert call(*train, without, tmp_path / "model").exit_code == 0
    made = []
    for rows in (without, with_labels):
        for memory in ([], ["--memory", "1B"]):
            told = call("predict", *memory, rows, tmp_path / "model", tmp_path / "out")
            assert told.exit_code == 0 and ("without labels" in told.stdout) == (rows == without)
            made.append((tmp_path / "out").read_text())
    assert len(set(made)) == 1 and made[0].count("\n") == 60


def test_no_label_is_for_methods_that_need_none(tmp_path):
    without, with_labels = one_class_files(tmp_path, "names")
    assert "--no-label: smo needs labels; only " in fails("train", "--no-label", without, tmp_path / "model")
    train = ("train", "-s", "one_class", "--no-label")
    assert "--reducer random needs labels" in fails(*train, "--reducer", "random", without, tmp_path / "model")
    assert "--no-label excludes --label" in fails(*train, "--label", "u", without, tmp_path / "model")
    told = call(*train, with_labels, tmp_path / "model")
    assert "Warning" in told.stderr and "column 'label' is learned from, because of --no-label" in told.stderr
    one_class_files(tmp_path, "libsvm")
    for command in ("train", "tune", "reduce"):
        assert "no labels to learn from" in fails(command, without, tmp_path / "out")


def test_one_label_for_all_rows_is_told(tmp_path):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(80, 2)), np.repeat([-1.0, 1.0], 40)
    X[:, 0] += 3 * y
    write_libsvm(tmp_path / "train", X, y)
    write_libsvm(tmp_path / "far", X + 100, y)
    write_libsvm(tmp_path / "one", X[40:], y[40:])
    call("train", "-t", 0, "-q", tmp_path / "train", tmp_path / "model")
    assert "Warning: all 80 rows get the label 1: " in call("predict", tmp_path / "far", tmp_path / "model").stderr
    assert json.loads(call("predict", "--json", tmp_path / "far", tmp_path / "model").stdout)["warnings"]
    assert call("predict", tmp_path / "train", tmp_path / "model").stderr == ""
    assert call("predict", tmp_path / "one", tmp_path / "model").stderr == ""  # they are of one class


def test_targets_below_the_smallest_numbers_are_zero():
    X = np.arange(20.0)[:, None]
    for solver in ("svr", "nu_svr"):
        fitted = SOLVERS.get(solver)().fit(X, 1e-310 * (np.arange(20) % 3))
        assert np.abs(fitted.predict(X)).max() < 1e-300


@pytest.mark.parametrize(("share", "warns"), [(0.5, True), (0.99, False)])
def test_a_nu_that_leaves_no_margin_is_told_as_that(tmp_path, share, warns):
    random = np.random.default_rng(0)
    write_libsvm(tmp_path / "noise", random.standard_normal((300, 2)), np.tile([-1, 1], 150))
    done = call("train", "-s", "nu_svc", "-t", "linear", "-n", share, tmp_path / "noise", tmp_path / "model")
    assert done.exit_code == 0 and ("no margin was found at nu 0.5: the classes overlap" in done.stderr) == warns
    assert "usable" not in done.stderr
