"""``bench``: one small run, and what is refused before anything runs."""

import json
import re
import shutil

import numpy as np
import pytest

from svmreduce.cli.bench import _folder_of
from svmreduce.data.libsvm_text import write_libsvm
from tests.cli.commands import call, fails


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A run on a few rows, and the same command once more."""
    folder = tmp_path_factory.mktemp("bench")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    write_libsvm(folder / "train", X, np.where(X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=400) > 0, 1.0, -1.0))
    words = ("bench", folder / "train", "random,share=0.5", "--only", "--budget", "600", "--seeds", "2", "-C", "1")
    words += ("-o", folder / "run", "--json")
    first = call(*words, "--html", folder / "page.html", "--yaml", folder / "full.yaml")
    return folder, first, call(*words)


def test_bench_answers_with_a_recommendation_that_nothing_beats(found):
    folder, result, _ = found
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    best, methods = facts["recommendation"], facts["methods"]
    assert {entry["method"] for entry in methods} == {"libsvm", "smo", "random,share=0.5"} and not facts["not_run"]
    keys = {"method", "parameters", "words", "accuracy", "loss_points", "interval", "seconds", "speedup"}
    assert keys <= best.keys() and facts["seeds"] == 2 and facts["rows"] == 320
    shortest = 0.01  # times below it are equal
    assert not any(entry["accuracy"] > best["accuracy"] and max(entry["seconds"], shortest) < best["seconds"]
                   for entry in facts["front"])  # fmt: skip
    assert facts["point"]["params"]["C"] == 1.0
    assert "train" in (folder / "page.html").read_text()


def test_its_yaml_is_what_it_ran(found):
    folder, _, _ = found
    plan = json.loads(call("plan", folder / "full.yaml", "-o", folder / "run", "--json").stdout)
    assert plan["to_run"] == 0 and plan["fits"] == 6


def test_the_same_command_again_uses_the_records(found):
    _, first, again = found
    a, b = (json.loads(result.stdout) for result in (first, again))
    assert a["methods"] == b["methods"] and a["point"] == b["point"]


def test_bench_refuses_what_it_cannot_judge(tmp_path):
    one = tmp_path / "one"
    write_libsvm(one, np.eye(30), np.ones(30))
    assert "one class" in fails("bench", one, "-q")
    few = tmp_path / "few"
    write_libsvm(few, np.eye(4), np.array([1.0, -1, 1, -1]))
    assert "at least 20" in fails("bench", few, "-q")
    assert "no such file" in fails("bench", one, "--test", tmp_path / "nowhere.txt")
    assert "did you mean 'nystroem'" in fails("bench", one, "nystrom")
    assert "key=value" in fails("bench", one, "rsvm,0.5")
    assert "no such file" in fails("bench", tmp_path / "nothing.csv")


def test_files_of_the_same_stem_have_folders_of_their_own(found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(found[0] / "run", tmp_path / "results" / "runs" / "bench-train")
    own, other = (_folder_of({"file": str(found[0] / name)}, "bench-train").name for name in ("train", "train.csv"))
    assert own == "bench-train" and re.fullmatch("bench-train-[0-9a-f]{6}", other)
    assert _folder_of({"name": "train"}, "bench-train").name != "bench-train"
