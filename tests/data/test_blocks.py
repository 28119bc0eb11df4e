"""Blocks of rows: the same rows from every format, in every pass; and what is refused."""

import os

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from svmreduce.data import synthetic, text_pieces
from svmreduce.data.blocks import Blocks, open_blocks
from svmreduce.data.columnar import write_parquet
from svmreduce.data.formats import load_training
from svmreduce.data.labels import check_classes
from svmreduce.data.libsvm_text import write_libsvm
from svmreduce.data.preparation import Choices
from svmreduce.errors import DataWarning, InputError
from svmreduce.memory import memory_limit


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    return random.normal(size=(500, 3)), random.choice([-1.0, 1.0], 500)


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(text_pieces, "PIECE_BYTES", 3000)


def frame_of(X, y, label_first=False):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.insert(0 if label_first else 3, "label", y)
    return frame


def write(path, X, y):
    if path.name == "X.npy":
        np.save(path, X)
        np.save(path.with_name("y.npy"), y)
    elif path.name == "folder":
        path.mkdir()
        frame_of(X[:300], y[:300]).to_parquet(path / "part-0.parquet")
        frame_of(X[300:], y[300:]).to_parquet(path / "part-1.parquet", row_group_size=70)
        (path / "_SUCCESS").touch()
    elif ".csv" in path.name:
        frame_of(X, y).to_csv(path, index=False)
    elif path.suffix == ".feather":
        frame_of(X, y, label_first=True).to_feather(path)
    elif path.suffix == ".parquet":
        write_parquet(path, [(X[:123], y[:123]), (X[123:], y[123:])])
    else:
        write_libsvm(path, X, y)


def joined(blocks):
    parts = list(blocks)
    return np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts]), [len(y) for _, y in parts]


@pytest.mark.parametrize(
    "name", ["a.txt", "a.txt.xz", "a.csv", "a.csv.gz", "a.parquet", "folder", "a.feather", "X.npy"]
)
def test_every_format_has_the_same_rows_in_every_pass(name, rows, tmp_path, small_pieces):
    X, y = rows
    write(tmp_path / name, X, y)
    blocks = open_blocks(tmp_path / name, rows=128)
    for _ in range(2):
        found, labels, sizes = joined(blocks)
        assert np.array_equal(found, X) and np.array_equal(labels, y) and sizes == [128, 128, 128, 116]
        assert found.flags.c_contiguous and found.dtype == labels.dtype == np.float64
    assert blocks.n_features == 3 and blocks.n_rows in (500, None) and blocks.fingerprint
    at_once, preparation = load_training(tmp_path / name)  # as a whole
    assert np.array_equal(at_once.X, X) and np.array_equal(at_once.y, y)
    if blocks.schema:
        assert [one.name for one in preparation.schema.columns] == [one.name for one in blocks.schema.columns]


def test_sparse_text_stays_sparse_and_has_all_columns(tmp_path, small_pieces):
    X = sparse.random(400, 50, 0.1, "csr", random_state=0)
    write_libsvm(tmp_path / "a", X, np.arange(400) % 2)
    blocks = open_blocks(tmp_path / "a", rows=150)
    parts = list(blocks)
    assert blocks.is_sparse and {part.shape[1] for part, _ in parts} == {blocks.n_features}
    assert np.array_equal(sparse.vstack([part for part, _ in parts]).toarray(), X.toarray()[:, : blocks.n_features])
    wider = open_blocks(tmp_path / "a", rows=150, n_features=60)
    assert next(iter(wider))[0].shape == (150, 60)


def test_choices_and_word_labels(rows, tmp_path, small_pieces):
    X, y = rows
    frame = frame_of(X, np.where(y > 0, "yes", "no"))
    frame["id"] = "x"
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    for name in ("a.parquet", "a.csv"):
        blocks = open_blocks(tmp_path / name, Choices(drop=("id", "b")))
        found, labels, _ = joined(blocks)
        assert np.array_equal(found, X[:, [0, 2]]) and labels[0] == ("yes" if y[0] > 0 else "no")
        assert blocks.schema.label_name == "label" and blocks.schema.left_out == ["b", "id"]
        with pytest.raises(InputError, match="--drop id"):
            list(open_blocks(tmp_path / name))
        with pytest.raises(InputError, match="--impute is for rows that fit"):
            open_blocks(tmp_path / name, Choices(impute="mean"))


def test_arrays_and_iterators(rows):
    X, y = rows
    assert np.array_equal(joined(Blocks.of_arrays(X, y, rows=200))[0], X)
    blocks = Blocks.of_iterator(lambda: iter([(X[:7], y[:7]), (X[7:], y[7:])]), rows=200)
    assert joined(blocks)[2] == [200, 200, 100] and blocks.n_rows is None and blocks.fingerprint == ""
    with pytest.raises(InputError, match="row 1, column 0"):
        list(Blocks.of_arrays(np.array([[1.0], [np.nan]]), [0, 1]))
    with pytest.raises(InputError, match="same columns"):
        list(Blocks.of_iterator(lambda: iter([(X[:7], y[:7]), (X[7:, :2], y[7:])])))


def test_a_line_end_in_quotes_is_not_cut(tmp_path, small_pieces):
    lines = [f'{2 * k},"{"two" if k % 7 else "lines"}\n{k}",{k % 2}\n' for k in range(1000)]
    (tmp_path / "a.csv").write_text("a,b,label\n" + "".join(lines))
    X, y, _ = joined(open_blocks(tmp_path / "a.csv", Choices(drop=("b",))))
    assert np.array_equal(X[:, 0], 2 * np.arange(1000)) and np.array_equal(y, np.arange(1000) % 2)


def damaged(path, start, stop):
    data = bytearray(path.read_bytes())
    data[start:stop] = bytes(255 - byte for byte in data[start:stop])
    path.write_bytes(data)


def test_a_file_has_one_encoding(tmp_path, small_pieces):
    rows = ["a,label"] + [f"{k % 7},{'é' if k % 2 else 'ü'}" for k in range(2000)]
    for encodings in (("cp1252", "cp1252"), ("utf-8-sig", "utf-8"), ("utf-8", "cp1252"), ("utf-8-sig", "cp1252")):
        parts = ("".join(f"{row}\n" for row in part) for part in (rows[:1000], rows[1000:]))
        text = b"".join(part.encode(encoding) for part, encoding in zip(parts, encodings, strict=True))
        (tmp_path / "a.csv").write_bytes(text)
        if encodings[0] == encodings[1] or encodings[1] == "utf-8":
            assert set(joined(open_blocks(tmp_path / "a.csv"))[1]) == {"é", "ü"}
            continue
        with pytest.raises(InputError, match=r"a\.csv:1001: a byte that is not UTF-8"):
            joined(open_blocks(tmp_path / "a.csv"))


def test_what_is_not_read_in_a_folder_is_told_and_number_types_may_differ(rows, tmp_path):
    X, y = rows
    frame_of(X, y).to_parquet(tmp_path / "a.PQ")
    frame_of(X.astype(np.float32), y.astype(np.int32)).to_parquet(tmp_path / "b.parquet")
    frame_of(X, y).to_csv(tmp_path / "c.csv", index=False)
    with pytest.warns(DataWarning, match=r"files are read, not c\.csv$"):
        assert len(joined(open_blocks(tmp_path))[1]) == load_training(tmp_path)[0].n_rows == 1000


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "X.npy", "a.txt"])
def test_labels_that_would_become_one_are_refused(rows, name, tmp_path):
    X, y = rows
    labels = 2**53 + 1 + (y > 0).astype(np.int64)
    if name == "a.parquet":
        frame_of(X, labels).to_parquet(tmp_path / name)
    else:
        write(tmp_path / name, X, labels)
    with pytest.raises(InputError, match="labels beyond 2⁵³, such as 900719925474099"):
        joined(open_blocks(tmp_path / name))
    with pytest.raises(InputError, match="labels beyond 2⁵³"):
        check_classes(name, load_training(tmp_path / name)[0].y)


def test_bad_files_are_one_line_with_the_place(rows, tmp_path, small_pieces):
    X, y = rows

    def said(path, *words):
        with pytest.raises(InputError) as error:
            list(open_blocks(path))
        text = str(error.value)
        assert all(word in text for word in (path.name, *words)) and "\n" not in text, text

    write(tmp_path / "folder", X, y)
    part = tmp_path / "folder" / "part-1.parquet"
    damaged(part, 2000, 2600)
    said(tmp_path / "folder", "part-1.parquet", "damaged")
    part.write_bytes(part.read_bytes()[:-50])
    said(tmp_path / "folder", "part-1.parquet", "damaged")
    frame_of(X, y).drop(columns="b").to_parquet(part)
    said(tmp_path / "folder", "part-1.parquet", "no column 'b'")
    frame_of(X, y).astype({"b": str}).to_parquet(part)
    said(tmp_path / "folder", "part-1.parquet", "'b' has words")
    gap = frame_of(X, y)
    gap.loc[480, "c"] = None
    gap.to_parquet(tmp_path / "gap.parquet")
    said(tmp_path / "gap.parquet", "row 480, column 'c'", "missing value", "--drop c")
    frame_of(X, y).assign(b=pd.Timestamp("2020-01-01")).to_parquet(tmp_path / "time.parquet")
    said(tmp_path / "time.parquet", "'b' has timestamp", "--drop b")
    (tmp_path / "word.csv").write_text("a,label\n" + "1,1\n" * 2000 + "x,1\n")
    said(tmp_path / "word.csv", ":2002:1", "'x'", "--drop a")
    (tmp_path / "short.txt").write_text("1 1:1\n" * 2000 + "1 1:x\n")
    said(tmp_path / "short.txt", ":2001:5")
    np.save(tmp_path / "lone_X.npy", X)
    said(tmp_path / "lone_X.npy", "no labels")
    (tmp_path / "cut.txt.xz").write_bytes(b"")
    write(tmp_path / "cut.txt.xz", X, y)
    (tmp_path / "cut.txt.xz").write_bytes((tmp_path / "cut.txt.xz").read_bytes()[:-400])
    said(tmp_path / "cut.txt.xz", "damaged or truncated")


def test_a_change_between_passes_is_an_error(rows, tmp_path):
    write(tmp_path / "a.parquet", *rows)
    blocks = open_blocks(tmp_path / "a.parquet")
    list(blocks)
    os.utime(tmp_path / "a.parquet", ns=(1, 1))
    with pytest.raises(InputError, match="changed while its rows were in use"):
        list(blocks)


def test_generated_blocks_begin_as_rows_made_at_once(monkeypatch):
    monkeypatch.setattr(synthetic, "BLOCK_ROWS", 100)
    blocks = list(synthetic.make_blocks("twonorm", 250, 3))
    assert [len(y) for _, y in blocks] == [100, 100, 50]
    assert np.array_equal(blocks[0][0], synthetic.make("twonorm", 100, 3).X)
    assert not np.array_equal(blocks[0][0], blocks[1][0])


def test_memory_limit():
    assert memory_limit("500MB") == 500 << 20 and memory_limit("1.5g") == 3 << 29 and memory_limit() > 0
    with pytest.raises(InputError, match="such as 500MB"):
        memory_limit("much")
