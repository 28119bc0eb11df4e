"""``svmreduce scale`` against svm-scale itself, and its errors."""

import shutil
import subprocess

import pytest

from tests.cli.commands import call, fails

needs_tools = pytest.mark.skipif(
    shutil.which("svm-scale") is None, reason="LIBSVM's command-line tools are not installed"
)
DENSE = "1 1:0.1 2:-3 3:7\n-1.5 1:5 2:1e-7 3:0.30000000000000004\n2 1:-2.25 2:4 3:0\n"
SPARSE = "+1 2:5 7:1.5\n-1 1:0.25 3:9\n3 7:-2\n0\n1 5:3\n2 5:3 9:1e300\n"


def theirs(*arguments) -> str:
    done = subprocess.run(["svm-scale", *map(str, arguments)], check=True, capture_output=True, text=True)
    return done.stdout


@needs_tools
@pytest.mark.parametrize("text", [DENSE, SPARSE])
@pytest.mark.parametrize("flags", [[], ["-l", 0], ["-l", -3, "-u", 0.75], ["-y", 0, 1], ["-y", -5, 2.5, "-u", 10]])
def test_the_same_bytes_as_svm_scale(tmp_path, text, flags):
    (tmp_path / "data").write_text(text)
    expected = theirs(*flags, "-s", tmp_path / "their_ranges", tmp_path / "data")
    result = call("scale", *flags, "-s", tmp_path / "ranges", tmp_path / "data")
    assert result.stdout == expected
    assert (tmp_path / "ranges").read_text() == (tmp_path / "their_ranges").read_text()
    (tmp_path / "new").write_text("1 1:3 2:100 4:2\n2 9:4 12:1\n")
    expected = theirs("-r", tmp_path / "ranges", tmp_path / "new")
    assert call("scale", "-r", tmp_path / "their_ranges", tmp_path / "new", tmp_path / "out").exit_code == 0
    assert (tmp_path / "out").read_text() == expected


def test_columns_without_a_range_are_named(tmp_path):
    (tmp_path / "data").write_text(DENSE)
    call("scale", "-s", tmp_path / "ranges", tmp_path / "data", tmp_path / "out")
    (tmp_path / "new").write_text("1 1:3 4:2 9:1\n")
    said = call("scale", "-r", tmp_path / "ranges", tmp_path / "new")
    assert "has no range for column 4, 9" in said.stderr and said.stdout.startswith("1 1:")


def test_errors(tmp_path):
    (tmp_path / "data").write_text(DENSE)
    (tmp_path / "ranges").write_text("x\n-1 1\n1 0 oops\n")
    assert "below the upper end" in fails("scale", "-l", 2, tmp_path / "data")
    assert "exclude each other" in fails("scale", "-s", tmp_path / "a", "-r", tmp_path / "ranges", tmp_path / "data")
    assert "ranges:3: needs 3 finite numbers, got '1 0 oops'" in fails(
        "scale", "-r", tmp_path / "ranges", tmp_path / "data"
    )
    assert "not a range file" in fails("scale", "-r", tmp_path / "data", tmp_path / "data")
    for text, said in {
        "x\n-1 1\n1 0 1_0\n": "needs 3 finite numbers, got '1 0 1_0'",
        "x\n-1 1\n1 0 1\n1 0 2\n": "column 1 has more than one range",
        "x\n-1 1\n2147483647 0 1\n": "2147483647 columns (the largest index) need",
        "y\n0 1\n3 3\nx\n-1 1\n1 0 1\n": "all labels were 3",
    }.items():
        (tmp_path / "ranges").write_text(text)
        assert said in fails("scale", "-r", tmp_path / "ranges", tmp_path / "data")


def test_rows_without_labels_stay_so(tmp_path):
    (tmp_path / "with").write_text("1 1:2\n-1 1:4 2:1\n")
    (tmp_path / "without").write_text("1:2\n1:4 2:1\n")
    labelled, bare = (call("scale", tmp_path / name).stdout.splitlines() for name in ("with", "without"))
    assert bare == [line.partition(" ")[2] for line in labelled]
    assert "has no labels for -y to scale" in fails("scale", "-y", 0, 1, tmp_path / "without")


def test_a_table_is_sent_to_training(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,kind\n1,2,yes\n3,4,no\n")
    assert "t.csv: is a table, and scale reads LIBSVM files only; for a table use svmreduce train --scale" in fails(
        "scale", tmp_path / "t.csv"
    )
    (tmp_path / "t.txt").write_text("1 1:2\n1 x:3\n")
    assert "train --scale" not in fails("scale", tmp_path / "t.txt")


def test_help_promises_no_json():
    assert "JSON" not in call("scale", "--help").stdout and "JSON" in call("reduce", "--help").stdout
