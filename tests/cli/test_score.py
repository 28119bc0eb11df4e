"""``score``, and ``predict`` on rows that are read in blocks."""

import json

import numpy as np
import pandas as pd
import pytest

from svmreduce.data import synthetic, text_pieces
from svmreduce.data.columnar import write_parquet
from svmreduce.data.libsvm_text import write_libsvm
from svmreduce.solvers.smo import SMO
from tests.cli.commands import call, fails


@pytest.fixture
def models(files):
    folder, X, y = files
    for name, C in (("exact", 10.0), ("other", 0.01)):
        SMO(C=C, gamma=0.5, tol=1e-6).fit(X, y).model_.save(folder / name)
    write_libsvm(folder / "all", X, y)
    write_parquet(folder / "all.parquet", [(X[:90], y[:90]), (X[90:], y[90:])])
    return folder, X, y


def test_objective_over_all_rows_is_that_of_the_solver(models):
    folder, X, y = models
    exact = SMO(C=10.0, gamma=0.5, tol=1e-6).fit(X, y)
    found = json.loads(
        call("score", "--json", "-C", 10, folder / "all.parquet", folder / "other", folder / "exact").stdout
    )
    best, other = found["models"]
    assert found["rows"] == 200 and best["model"].endswith("exact") and other["objective"] > best["objective"]
    assert best["objective"] == pytest.approx(-exact.fit_facts().objective, rel=1e-5)  # no duality gap
    margins = exact.decision_function(X) * y
    assert best["mean_loss"] == pytest.approx(np.maximum(0, 1 - margins).mean(), rel=1e-9)
    assert best["accuracy"] == exact.score(X, y)
    text = call("score", folder / "all", folder / "exact")
    assert "200 rows" in text.stdout and "give -C" in text.stderr


def test_what_a_model_cannot_judge_is_left_out_or_refused(models):
    folder, X, y = models
    write_libsvm(folder / "odd", X, np.where(np.arange(len(y)) % 3 == 0, 7.0, y))
    result = call("score", "--json", "-C", 10, folder / "odd", folder / "exact")
    (found,) = json.loads(result.stdout)["models"]
    assert found["objective"] is None and found["mean_loss"] is None and result.stderr.count("does not know") == 1
    np.save(folder / "few_X.npy", X[:, 1:])
    assert "but the model was trained on" in fails("predict", folder / "few_X.npy", folder / "exact")
    assert "no labels to learn from" in fails("train", folder / "few_X.npy", folder / "model")
    np.savetxt(folder / "wide.csv", np.column_stack([np.arange(len(X)), X]), delimiter=",")
    assert "without a label" in fails("predict", "--no-label", folder / "wide.csv", folder / "exact")


def test_several_classes_and_regression(tmp_path):
    blobs = synthetic.make("blobs", 300, 0, classes=3, spread=3.0)
    write_libsvm(tmp_path / "blobs", blobs.X, blobs.y)
    assert call("train", "-C", 2, "-g", 0.1, "-e", 1e-6, tmp_path / "blobs", tmp_path / "model").exit_code == 0
    found = json.loads(call("score", "--json", "-C", 2, tmp_path / "blobs", tmp_path / "model").stdout)["models"][0]
    pairs = [(1, 2), (1, 3), (2, 3)]
    expected = 0.0
    for pair in pairs:
        mine = np.isin(blobs.y, pair)
        expected -= SMO(C=2.0, gamma=0.1, tol=1e-6).fit(blobs.X[mine], blobs.y[mine]).fit_facts().objective
    assert found["objective"] == pytest.approx(expected, rel=1e-4)
    numbers = synthetic.make("sinc", 200, 0, noise=0.1)
    write_libsvm(tmp_path / "sinc", numbers.X, numbers.y)
    trained = call("train", "-s", 3, "-c", 3, "-p", 0.05, "-e", 1e-6, "--json", tmp_path / "sinc", tmp_path / "model")
    found = call("score", "--json", "-C", 3, "-p", 0.05, tmp_path / "sinc", tmp_path / "model").stdout
    dual = json.loads(trained.stdout)["objective"]
    assert json.loads(found)["models"][0]["objective"] == pytest.approx(-dual, rel=1e-3)


def test_blocks_are_predicted_bit_for_bit_as_rows_in_memory(models, monkeypatch):
    folder, X, y = models
    monkeypatch.setattr(text_pieces, "PIECE_BYTES", 2000)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    found = {}
    for name in ("all", "all.parquet", "X.npy"):
        for memory in ((), ("--memory", "20k")):
            options = ("--json", "--decision-values", *memory)
            said = call("predict", *options, folder / name, folder / "exact", folder / "out")
            record = json.loads(said.stdout)
            record.pop("seconds")
            found[name, bool(memory)] = (folder / "out").read_bytes(), record
    assert len({text for text, _ in found.values()}) == 1
    assert all(record == found["all", False][1] for _, record in found.values())
    assert "AUC is left out" in call("predict", "--memory", "2k", folder / "all", folder / "exact").stderr


def test_zero_for_minus_one_is_seen_over_all_blocks(models, monkeypatch):
    folder, X, y = models
    monkeypatch.setattr(text_pieces, "PIECE_BYTES", 1000)
    order = np.argsort(y, kind="stable")  # the first pieces have one label only
    write_libsvm(folder / "sorted", X[order], np.maximum(y[order], 0))
    here, there = (json.loads(call("predict", "--json", "--memory", "1k", folder / name, folder / "exact").stdout)
                   for name in ("sorted", "all"))  # fmt: skip
    assert here["confusion"] == there["confusion"]


def test_a_table_with_words_and_scaling_in_blocks(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": random.choice(["red", "blue"], 300), "flag": random.random(300) < 0.5})
    frame["size"] = random.normal(5, 2, 300)
    frame["kind"] = np.where((frame["size"] > 5) ^ (frame["colour"] == "red"), "x", "y")
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert call("train", "--scale", "standard", tmp_path / "a.csv", tmp_path / "model").exit_code == 0
    frame[["kind", "size", "flag", "colour"]].to_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(text_pieces, "PIECE_BYTES", 1500)
    texts = []
    for name, *memory in (("a.csv",), ("a.csv", "--memory", "1k"), ("a.parquet",)):
        options = ("--decision-values", *memory)
        said = call("predict", *options, tmp_path / name, tmp_path / "model", tmp_path / "out")
        assert said.exit_code == 0 and "zeros" not in said.stderr, said.stderr
        texts.append((tmp_path / "out").read_text())
    assert texts[0] == texts[1] == texts[2]


def test_booleans_are_the_same_labels_in_every_format_and_strange_words_are_counted_over_all_blocks(
    tmp_path, monkeypatch
):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": random.choice(["red", "blue"], 300), "size": random.normal(size=300)})
    frame["label"] = frame["size"] > 0
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "lower.csv").write_text((tmp_path / "a.csv").read_text().replace("True", "true"))
    for kind in ("csv", "parquet"):
        assert call("train", "-C", 10, tmp_path / f"a.{kind}", tmp_path / f"{kind}.model").exit_code == 0
    models = [tmp_path / "csv.model", tmp_path / "parquet.model"]
    for name in ("a.csv", "a.parquet", "lower.csv"):
        found = json.loads(call("score", "--json", tmp_path / name, *models).stdout)["models"]
        assert min(entry["accuracy"] for entry in found) > 0.9
    monkeypatch.setattr(text_pieces, "PIECE_BYTES", 1500)
    frame.loc[::3, "colour"] = "green"
    frame.to_csv(tmp_path / "green.csv", index=False)
    said = call("score", "--json", "--memory", "1k", tmp_path / "green.csv", *models)
    assert said.stderr.count("encoded as zeros") == 1 and "colour (100)\n" in said.stderr
    frame["label"] = frame["colour"]
    frame.to_csv(tmp_path / "other.csv", index=False)
    assert "the model knows True, False" in fails("score", tmp_path / "other.csv", models[0])


def test_a_failure_half_way_leaves_no_output(models, monkeypatch):
    folder, _, _ = models
    monkeypatch.setattr(text_pieces, "PIECE_BYTES", 1000)
    with open(folder / "all", "a") as file:
        file.write("1 1:broken\n")
    said = fails("predict", "--memory", "1k", folder / "all", folder / "exact", folder / "out")
    assert "all:201:5" in said and not list(folder.glob("*out*")) and not list(folder.glob(".*out*"))
    np.save(folder / "unlabelled_X.npy", np.zeros((3, 3)))
    assert "has no labels" in fails("score", folder / "unlabelled_X.npy", folder / "exact")
    with open(folder / "array", "wb") as file:
        np.save(file, np.zeros((3, 1)))
    assert "array: 1 columns, but the model" in fails("predict", folder / "array", folder / "exact")


def test_make_parquet(tmp_path):
    said = call("data", "make", "blobs", "--rows", 300, "--test-rows", 20, "-o", tmp_path / "b.parquet", "--json")
    records = json.loads(said.stdout)["datasets"]
    assert [record["rows"] for record in records] == [300, 20] and sum(records[0]["label_counts"].values()) == 300
    frame = pd.read_parquet(tmp_path / "b.parquet")
    assert list(frame) == ["x1", "x2", "label"]
    assert np.array_equal(frame[["x1", "x2"]], synthetic.make("blobs", 300, 0).X)
    assert (tmp_path / "b.t.parquet").exists()
    text = fails("data", "make", "blobs", "--rows", 9, "--format", "libsvm", "-o", tmp_path / "c.parquet")
    assert "the name says Parquet" in text
