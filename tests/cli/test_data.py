import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_svmlight_file

from svmreduce.cli.data import data
from svmreduce.cli.main import cli
from svmreduce.data import synthetic
from svmreduce.errors import InputError


def run(*args):
    """The output of a command; its error, if it raises one, goes through to the test."""
    result = CliRunner().invoke(data, [str(arg) for arg in args], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A catalogue of two sets: ``tiny`` with its file in the mirror, ``gone`` without."""
    for name in ("cards", "mirror"):
        (tmp_path / name).mkdir()
    facts = "features: 2\nhome: a drawer\nlicence: none\n"
    (tmp_path / "cards" / "tiny.yaml").write_text(
        f"name: tiny\ntitle: Tiny\nclasses: 2\npapers: {{aesvm: T1}}\n{facts}"
        "splits:\n  train: {file: tiny, rows: 3, label_counts: {-1: 1, 1: 2}}\n"
        "  first: {part_of: train, slice: [0, 2]}\n"
        "variants: {half: {about: values halved, papers: {randsvm: HALF}, divide: 2}}\n"
    )
    (tmp_path / "cards" / "gone.yaml").write_text(
        f"name: gone\ntitle: Gone\ntask: regression\n{facts}splits: {{all: {{file: gone}}}}\n"
    )
    (tmp_path / "mirror" / "tiny").write_text("1 1:1 2:2\n-1 1:3\n1 2:4\n")
    monkeypatch.setenv("SVMREDUCE_DATASETS", str(tmp_path / "cards"))
    monkeypatch.setenv("SVMREDUCE_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("SVMREDUCE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_list_shows_where_files_are_and_who_uses_them(tiny):
    lines = {line.split()[0]: line for line in run("list").splitlines() if line.strip()}
    assert "mirror" in lines["tiny"] and "aesvm: T1; randsvm: HALF = tiny:half" in lines["tiny"]
    assert "missing" in lines["gone"] and "regression" in lines["gone"] and "?" in lines["gone"]
    entries = json.loads(run("list", "--json", "--paper", "randsvm"))["datasets"]
    assert [(entry["name"], entry["papers"]) for entry in entries] == [("tiny", {"randsvm": ["HALF = tiny:half"]})]
    with pytest.raises(InputError, match="unknown paper 'aesvn': did you mean 'aesvm'"):
        run("list", "--paper", "aesvn")


def test_info_tells_all_and_as_json(tiny):
    text = run("info", "tiny")
    for part in (
        "Tiny",
        "a drawer",
        str(tiny / "mirror" / "tiny"),
        "-1: 1, 1: 2",
        "rows 0 to 2 of train",
        "values halved",
    ):
        assert part in text
    record = json.loads(run("info", "tiny:half", "--json"))
    assert record["variant"] == "half"
    assert record["paths"] == {"train": str(tiny / "mirror" / "tiny"), "first": str(tiny / "mirror" / "tiny")}
    assert json.loads(run("info", "gone", "--json"))["paths"] == {"all": None}


def test_get_reports_what_it_verified(tiny):
    assert run("get", "tiny") == (
        "tiny train: 3 rows, 2 features, labels -1: 1, 1: 2\ntiny first: 2 rows, 2 features, labels -1: 1, 1: 1\n"
    )
    (record,) = json.loads(run("get", "tiny", "--split", "train", "--json"))["datasets"]
    assert (record["rows"], record["features"], record["label_counts"]) == (3, 2, {"-1": 1, "1": 2})
    with pytest.raises(InputError, match="put gone"):
        run("get", "tiny", "gone")
    with pytest.raises(InputError, match="names, or --all"):
        run("get")


def test_get_all_goes_on_after_a_missing_file_and_says_so(tiny):
    result = CliRunner().invoke(data, ["get", "--all", "--json"])
    assert isinstance(result.exception, InputError)
    assert "1 of 3 splits" in str(result.exception)
    records = json.loads(result.output)["datasets"]
    assert ["error" in record for record in records] == [True, False, False]


def test_get_output_is_a_file_that_others_read(tiny):
    run("get", "tiny:half", "--split", "train", "-o", tiny / "half.txt")
    X, y = load_svmlight_file(str(tiny / "half.txt"))
    np.testing.assert_array_equal(X.toarray(), [[0.5, 1], [1.5, 0], [0, 2]])
    np.testing.assert_array_equal(y, [1, -1, 1])
    with pytest.raises(InputError, match="exactly one"):
        run("get", "tiny", "gone", "-o", tiny / "both.txt")
    with pytest.raises(InputError, match="does not exist"):
        run("get", "tiny", "-o", tiny / "no" / "file.txt")


def test_make_writes_the_generator_s_rows_and_an_independent_test_file(tmp_path):
    out = tmp_path / "board.txt.gz"
    run("make", "checkerboard", "--rows", 50, "--test-rows", 20, "--seed", 3, "-o", out, "--set", "noise=0")
    for path, made in [
        (out, synthetic.make("checkerboard", 50, 3)),
        (tmp_path / "board.txt.t.gz", synthetic.make("checkerboard", 20, [3, 1])),
    ]:
        X, y = load_svmlight_file(str(path))
        np.testing.assert_array_equal(X.toarray(), made.X)
        np.testing.assert_array_equal(y, made.y)


def test_make_reports_its_parameters_and_refuses_bad_ones(tmp_path):
    out = tmp_path / "x.txt"
    (record,) = json.loads(
        run(
            "make",
            "ringnorm",
            "--rows",
            9,
            "-o",
            out,
            "--json",
            "--set",
            "variant=breiman",
            "--set",
            "features=4",
        )
    )["datasets"]
    assert (record["rows"], record["features"], record["parameters"]) == (
        9,
        4,
        {"variant": "breiman", "features": 4},
    )
    for settings, message in [
        ("varient=paper", "did you mean 'variant'"),
        ("features=many", "'many' is out of range; need a value such as 20"),
        ("features", "key=value"),
    ]:
        with pytest.raises(InputError, match=message):
            run("make", "ringnorm", "--rows", 9, "-o", out, "--set", settings)
    with pytest.raises(InputError, match="did you mean 'twonorm'"):
        run("make", "twonrm", "--rows", 9, "-o", out)


def test_make_checks_everything_before_it_writes(tmp_path):
    for flags in (
        ["--rows", 0],
        ["--rows", 10**15],
        ["--rows", 9, "--test-rows", -1],
        ["--rows", 9, "--test-rows", 10**15],
        ["--rows", 9, "--set", "cells=0"],
    ):
        result = CliRunner().invoke(cli, ["data", "make", "checkerboard", "-o", f"{tmp_path}/x", *map(str, flags)])
        assert result.exit_code == 2 and result.stdout == ""
        assert result.stderr.startswith("Error: ") and result.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_get_does_not_write_over_the_file_it_reads(tiny):
    before = (tiny / "mirror" / "tiny").read_bytes()
    with pytest.raises(InputError, match="is also an input"):
        run("get", "tiny:half", "--split", "first", "-o", tiny / "mirror" / "tiny")
    assert (tiny / "mirror" / "tiny").read_bytes() == before


@pytest.mark.parametrize("command", [[], ["list"], ["info"], ["get"], ["make"]])
def test_help_has_examples(command):
    assert "svmreduce data" in run(*command, "--help").partition("Examples:")[2]
