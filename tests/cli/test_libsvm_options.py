"""LIBSVM's habits: its letters and numbers, probabilities, folds; files go to its own tools and back."""

import json
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from svmreduce import SMO
from svmreduce.cli.libsvm_options import translated
from svmreduce.model import load_model
from tests.cli.commands import call, fails

needs_tools = pytest.mark.skipif(
    shutil.which("svm-predict") is None, reason="LIBSVM's command-line tools are not installed"
)


def table_of(path):
    """Labels and probabilities of svm-predict -b 1, and the first line."""
    first, *lines = path.read_text().splitlines()
    numbers = np.array([line.split() for line in lines], dtype=float)
    return first, numbers[:, 0], numbers[:, 1:]


def test_what_libsvm_writes_differently():
    words = ["-s", "0", "-w1", "5", "-w-1", "0.5", "-h", "0", "-v", "5", "-b", "1", "-q", "data", "--", "-b", "1"]
    expected = "-s 0 --class-weight=1=5 --class-weight=-1=0.5 --shrinking=0 --folds=5 --probability -q data -- -b 1"
    assert translated(words) == expected.split()
    assert translated(["-v", "train", "-h"]) == ["-v", "train", "-h"] and translated(["-b", "0", "f"]) == ["f"]


def test_numbers_for_types_and_kernels(files):
    folder, _, _ = files
    types = []
    for number in range(5):
        data = folder / ("numbers" if number > 2 else "train")
        assert call("train", "-s", number, "-t", 2, "-n", 0.3, "-g", 0.5, data, folder / "m").exit_code == 0
        types.append(load_model(folder / "m").svm_type)
    assert types == ["c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"]
    for number, name in enumerate(("linear", "poly", "rbf", "sigmoid")):
        call("train", "-t", number, "-g", 0.5, folder / "train", folder / "m")
        assert load_model(folder / "m").kernel.name == name
    assert "LIBSVM's types are 0 (C-SVC) to 4" in fails("train", "-s", 5, folder / "train", folder / "m")
    assert "LIBSVM's kernels are 0 (linear) to 4" in fails("train", "-t", 5, folder / "train", folder / "m")


def test_what_has_no_effect_is_said(files):
    folder, _, _ = files
    said = call("train", "-t", 2, "-n", 0.3, "-p", 0.2, "-h", 0, folder / "train", folder / "m").stderr
    for words in ("-n has no effect on smo", "-p has no effect on smo", "-h has no effect on smo", "is -g auto"):
        assert words in said
    said = call("train", "-s", 1, "-C", 10, "-g", 1, folder / "train", folder / "m")
    assert said.exit_code == 0 and said.stderr == "Note: -C has no effect on nu_svc: nu (-n) is in its place\n"
    said = call("train", "-s", 4, "-p", 0.2, "-g", 1, folder / "numbers", folder / "m")
    assert said.stderr == "Note: -p has no effect on nu_svr: it is for ε-SVRs (-s 3)\n"
    assert "Note" not in call("train", "-s", "libsvm", "-h", 0, "-g", 1, folder / "train", folder / "m").stderr


def test_class_weights_by_label(files):
    folder, X, y = files
    record = json.loads(call("train", "--json", "-g", 0.5, "-w1", 4, folder / "train", folder / "m").stdout)
    expected = SMO(gamma=0.5, class_weight={1: 4.0}).fit(X[:150], y[:150])
    assert record["objective"] == pytest.approx(expected.objective_, rel=1e-6)
    assert call("train", "--class-weight", "balanced", "-s", "libsvm", folder / "train", folder / "m").exit_code == 0
    for flags, words in (
        (["-w7", 2], "no such class; the classes are -1"),
        (["-w1", "x"], "takes balanced, or LABEL=WEIGHT"),
        (["-w1", -2], "must be a positive number"),
        (["--class-weight", "balanced", "-s", "bvm"], "bvm takes no class weights: aesvm, cvm"),
        (["-b", 1, "-s", "liblinear"], "liblinear has no class probabilities: aesvm, "),
        (["--max-seconds", 5, "-s", "libsvm"], "libsvm cannot end early with a model"),
    ):
        assert words in fails("train", *flags, folder / "train", folder / "m2")


def test_cross_validation_prints_what_svm_train_prints(files):
    folder, _, _ = files
    said = call("train", "-v", 5, "-g", 0.5, folder / "train")
    assert said.stdout.startswith("Cross Validation Accuracy = 8") and not (folder / "train.model").exists()
    lines = call("train", "-v", 4, "-s", 3, "-g", 0.5, folder / "numbers").stdout.splitlines()
    assert lines[0].startswith("Cross Validation Mean squared error = ")
    assert lines[1].startswith("Cross Validation Squared correlation coefficient = ")
    record = json.loads(call("train", "--folds", 3, "--json", folder / "train").stdout)
    assert record["folds"] == 3 and 0.8 < record["accuracy"] <= 1
    assert "no accuracy" in fails("train", "-v", 5, "-s", 2, folder / "train")


def test_folds_that_are_not_solved_are_told(files):
    folder, _, _ = files
    said = call("train", "-v", 3, "-g", 0.5, "--set", "max_iter=2", folder / "train")
    assert said.exit_code == 0 and "3 of 3 folds stopped before reaching the tolerance" in said.stderr
    assert "Warning" not in call("train", "-v", 3, "-g", 0.5, folder / "train").stderr


def test_folds_learn_from_their_training_rows_only(tmp_path):
    """As a pipeline in scikit-learn's cross-validation; one that learns from all rows gives another figure."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(60, 2)) * [1, 50], columns=["a", "b"])
    y = np.where(frame.a + frame.b / 50 + rng.normal(size=60) > 0, "yes", "no")
    frame.loc[[5, 20, 41], "a"], frame.loc[[7, 8], "b"] = [300, -200, np.nan], [np.nan, 1e4]
    frame["c"] = rng.choice(["u", "v"], 60)
    frame.loc[[11, 12], "c"] = ["only here", np.nan]
    frame.assign(label=y).to_csv(tmp_path / "t.csv", index=False)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    ready = ColumnTransformer([("n", numbers, ["a", "b"]), ("w", words, ["c"])])
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    svc = SVC(C=10, gamma=0.5, tol=1e-6)
    expected = np.mean(cross_val_predict(make_pipeline(ready, svc), frame, y, cv=folds) == y)
    leaking = np.mean(cross_val_predict(svc, ready.fit_transform(frame), y, cv=folds) == y)
    asked = ["-v", 5, "-c", 10, "-g", 0.5, "-e", 1e-6, "--scale", "standard", "--impute", "mean", "--json"]
    said = call("train", *asked, tmp_path / "t.csv")
    assert json.loads(said.stdout)["accuracy"] == expected != leaking


def test_a_model_without_a_name_is_named_after_its_data(files, monkeypatch):
    folder, _, _ = files
    monkeypatch.chdir(folder)
    assert call("train", "train").exit_code == 0 and load_model("train.model").labels is not None


def test_a_time_limit_is_reported(tmp_path):
    from svmreduce.data.libsvm_text import write_libsvm
    from svmreduce.data.synthetic import make

    board = make("checkerboard", 4000, seed=0)
    write_libsvm(tmp_path / "board", board.X, board.y)
    done = call("train", "-C", 1e4, "-g", 50, "--max-seconds", 1e-6, "--json", tmp_path / "board", tmp_path / "m")
    record = json.loads(done.stdout)
    assert record["stopped_by"] == "max_seconds" and record["gap"] > 1e-3 and not record["converged"]
    assert "Warning: stopped by --max-seconds" in done.stderr and load_model(tmp_path / "m").n_vectors > 0


@needs_tools
@pytest.mark.parametrize("classes", [2, 4])
def test_svm_predict_reads_our_probabilities(tmp_path, classes):
    from sklearn.datasets import load_digits

    from svmreduce.data.libsvm_text import write_libsvm

    X, y = load_digits(n_class=classes, return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=6, size=X.shape)
    write_libsvm(tmp_path / "data", X, y)
    flags = ["-b", 1, "-g", 0.0005, "-w1", 2, "-q"]
    assert call("train", *flags, tmp_path / "data", tmp_path / "model").exit_code == 0
    for name, command in (("theirs", ["svm-predict", "-b", "1"]), ("plain", ["svm-predict"])):
        subprocess.run(
            [*command, tmp_path / "data", tmp_path / "model", tmp_path / name], check=True, capture_output=True
        )
    assert call("predict", "-b", 1, tmp_path / "data", tmp_path / "model", tmp_path / "ours").exit_code == 0
    first, labels, p = table_of(tmp_path / "ours")
    order = np.array(first.split()[1:], dtype=float)
    assert first.split()[0] == "labels" and np.array_equal(order[p.argmax(axis=1)], labels)
    assert np.array_equal(labels, np.loadtxt(tmp_path / "plain"))
    their_first, their_labels, their_p = table_of(tmp_path / "theirs")
    assert their_first == first
    same = labels == their_labels  # the others are those where ours were made to agree with the label
    assert same.mean() > 0.95
    np.testing.assert_allclose(p[same], their_p[same], atol=0.01)


def test_probabilities_need_a_model_that_has_them(files):
    folder, _, _ = files
    call("train", folder / "train", folder / "m")
    assert "has no class probabilities" in fails("predict", "-b", 1, folder / "test", folder / "m", folder / "out")
    assert "-b 1 needs OUT" in fails("predict", "-b", 1, folder / "test", folder / "m")


@needs_tools
def test_tables_of_kernel_values_go_both_ways(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    K = np.exp(-0.5 * np.square(X[:, None] - X[None]).sum(axis=2))

    def write(name, rows):
        lines = (f"{y[i]} 0:{i + 1} " + " ".join(f"{j + 1}:{K[i, j]:.9g}" for j in range(80)) for i in rows)
        (tmp_path / name).write_text("\n".join(lines) + "\n")

    write("train", range(0, 80, 2))
    write("test", range(1, 80, 2))
    assert call("train", "-t", 4, "-c", 5, tmp_path / "train", tmp_path / "ours").exit_code == 0
    subprocess.run(["svm-train", "-q", "-t", "4", "-c", "5", tmp_path / "train", tmp_path / "theirs"], check=True)
    answers = []
    for model in ("ours", "theirs"):
        call("predict", tmp_path / "test", tmp_path / model, tmp_path / "out")
        answers.append(np.loadtxt(tmp_path / "out"))
        command = ["svm-predict", tmp_path / "test", tmp_path / model, tmp_path / "out2"]
        subprocess.run(command, check=True, capture_output=True)
        answers.append(np.loadtxt(tmp_path / "out2"))
    assert all(np.array_equal(answers[0], other) for other in answers[1:])
    (tmp_path / "rows").write_text("1 1:2\n-1 1:3\n")
    assert "begin with 'label 0:number'" in fails("train", "-t", 4, tmp_path / "rows", tmp_path / "m")
