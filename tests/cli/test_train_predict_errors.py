"""``train`` and ``predict``: every error line."""

import os

import pytest

from tests.cli.commands import call, fails


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
        (["--solver", "network"], "network has no model file: use it in experiments"),
        (["--set", "share"], "--set takes key=value, got 'share'"),
        (["-s", "nu_svc", "-n", "2"], "Error: -n must be above 0 and at most 1, got 2.0"),
        (["--solver", "liblinear", "-g", "1"], "-g is not for liblinear, which has C, bias"),
        (["-C", "-1"], "Error: -C must be a positive number, got -1"),
        (["-g", "wide"], "-g must be a positive number, 'auto', 'auto-distance' or 'scale', got 'wide'"),
        (["--solver", "libsvm", "--reducer", "random"], "cannot take sample_weight: official LIBSVM"),
        (["--cache-mb", "nan"], "--cache-mb must be a positive number, got nan"),
        (["--set", "tol=none"], "tol must be a positive number, got None"),
        (["--set", "kernel=3"], "kernel must be the name of a kernel, such as 'rbf', got 3"),
        (["--reducer", "random", "--set", "share=abc"], "share must be above 0 and at most 1, got 'abc'"),
        (["--label", "0"], "the labels are first in every line of a LIBSVM file"),
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
    assert "--solver svr" in fails("train", folder / "numbers", folder / "m")
    (folder / "one").write_text("1 1:2\n1 1:3\n")
    assert "one: all rows are of one class, 1; there is nothing" in fails("train", folder / "one", folder / "m")
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
    call("train", folder / "train", folder / "model")
    assert "needs OUT" in fails("predict", "--decision-values", folder / "test", folder / "model")
    (folder / "words.csv").write_text("1,2,3,a\n3,4,5,b\n")
    assert "words" in fails("predict", folder / "words.csv", folder / "model")


def test_outputs_are_never_inputs(files):
    folder, _, _ = files
    call("train", folder / "train", folder / "model")
    (folder / "w").write_text("1\n" * 150)
    os.link(folder / "test", folder / "same")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for arguments in (
        ["train", folder / "train", folder / "train"],
        ["train", "--weights", folder / "w", folder / "train", folder / "w"],
        ["predict", folder / "test", folder / "model", folder / "same"],
        ["predict", folder / "test", folder / "model", folder / "model"],
    ):
        assert "is also an input" in fails(*arguments)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(("locked", "message"), [("m", "m: is not writable"), ("", "is not writable")])
def test_permissions_are_looked_at_before_the_work(files, monkeypatch, locked, message):
    folder, _, _ = files
    (folder / "m").write_text("before")
    may = os.access  # root may write everywhere, so the answer is made up
    monkeypatch.setattr(os, "access", lambda path, mode: os.path.realpath(path) != str(folder / locked).rstrip("/"))
    assert message in fails("train", folder / "broken-or-not", folder / "m")
    monkeypatch.setattr(os, "access", may)
    assert "no such file" in fails("train", folder / "broken-or-not", folder / "m")


def test_tables_need_the_columns_of_the_model_but_not_its_categories(tmp_path):
    """The last column is zero in every support vector, and still a column of the model."""
    rows = [f"{'abc'[i % 3]},{i % 7 + 1},0,{'yes' if i % 7 > 3 else 'no'}" for i in range(70)]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "fewer.csv").write_text("\n".join(row for row in rows if row[0] != "a") + "\n")
    assert call("train", "-C", 100, tmp_path / "t.csv", tmp_path / "m").exit_code == 0
    assert call("predict", tmp_path / "t.csv", tmp_path / "m").stdout.startswith("Accuracy = 100%")
    assert call("predict", tmp_path / "fewer.csv", tmp_path / "m").stdout.startswith("Accuracy = 100%")
    (tmp_path / "narrow.csv").write_text("\n".join(row[4:] for row in rows) + "\n")
    message = fails("predict", tmp_path / "narrow.csv", tmp_path / "m", tmp_path / "out")
    assert "narrow.csv: 2 columns" in message and "was trained on 4" in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["train", "tune"])
def test_nothing_to_learn_is_told(tmp_path, command):
    for text, said in {
        "a,b,y\n": "there is one row only; if it names the columns, there is no data",
        "a,b,y\n1,2,yes\n3,5,yes\n": "all rows are of one class, yes; there is nothing to learn",
        "a^y\n1^2\n": "only one column; a label and features are needed, between commas, semicolons, tabs",
    }.items():
        (tmp_path / "rows.csv").write_text(text)
        assert f"rows.csv: {said}" in fails(command, tmp_path / "rows.csv", tmp_path / "model").replace(":1:1:", ":")
