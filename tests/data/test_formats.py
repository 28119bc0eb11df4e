"""LIBSVM text, IDX, archives, and the one door to all formats."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import signal
import stat
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from svmreduce.data import formats, libsvm_text
from svmreduce.data.files import write_whole
from svmreduce.data.formats import load_dataset, read_bytes, read_idx, read_libsvm, write_libsvm
from svmreduce.errors import InputError


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SVMREDUCE_CACHE", str(tmp_path / "cache"))


def assert_same(ours, theirs):
    (X, y), (A, b) = ours, theirs
    assert X.shape == A.shape
    np.testing.assert_array_equal(X.indptr, A.indptr)
    np.testing.assert_array_equal(X.indices, A.indices)
    np.testing.assert_array_equal(X.data.view(np.int64), A.data.view(np.int64))
    np.testing.assert_array_equal(y.view(np.int64), b.view(np.int64))


# Equal to scikit-learn's reader

numbers = st.one_of(
    st.integers(-1000, 1000).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["+1", "-1", "0", "-0.0", "1e5", "1E-3", ".5", "5.", "+2.50e+01", "1e-320", "007"]),
)
blanks = st.sampled_from([" ", "  ", "\t", " \t "])


@st.composite
def libsvm_lines(draw):
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.sampled_from(["", "   ", "# only a comment 1:2", "\t# x"]))
    line = draw(st.sampled_from(["", " "])) + draw(numbers)
    if kind == 1:
        line += draw(blanks) + "qid:" + str(draw(st.integers(0, 99)))
    for index in sorted(draw(st.sets(st.integers(1, 400), max_size=6))):
        line += draw(blanks) + f"{index}:{draw(numbers)}"
    return line + draw(st.sampled_from(["", " ", " # note: 3:4", "#tight"]))


@settings(max_examples=300, deadline=None)
@given(st.lists(libsvm_lines(), min_size=1, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_equal_to_sklearn(lines, line_end, ends):
    data = (line_end.join(["1 2:3", *lines]) + (line_end if ends else "")).encode()
    arrays = libsvm_text.parse_libsvm(data, "f")
    assert_same(libsvm_text.to_csr(arrays, None), load_svmlight_file(io.BytesIO(data), zero_based=False))


@pytest.mark.real
@pytest.mark.parametrize("name", ["a1a", "w1a", "ijcnn1.t", "letter.scale.t", "reuters.tst", "usps.t"])
def test_real_files_equal_sklearn(real_file, name):
    path = real_file(name)
    assert_same(read_libsvm(path), load_svmlight_file(io.BytesIO(read_bytes(path)), zero_based=False))


def test_written_zeros_stay_and_matrix_is_canonical():
    X, _ = libsvm_text.to_csr(libsvm_text.parse_libsvm(b"1 1:0 3:2\n-1\n", "f"), None)
    assert X.nnz == 2 and X.shape == (2, 3)
    assert X.indices.dtype == X.indptr.dtype == np.int32 and X.has_canonical_format
    X.check_format(full_check=True)


def test_many_chunks_with_gaps_between(monkeypatch):
    monkeypatch.setattr("svmreduce.data.chunks.CHUNK_BYTES", 64)
    monkeypatch.setenv("SVMREDUCE_THREADS", "3")
    rows = [f"{k} {k + 1}:{k}.5" + "# 1:1 2:2" * (k % 3) + "\n\n# 9:9" * (k % 5 == 0) for k in range(200)]
    data = "\n".join(rows).encode()
    arrays = libsvm_text.parse_libsvm(data, "f")
    assert_same(libsvm_text.to_csr(arrays, None), load_svmlight_file(io.BytesIO(data), zero_based=False))


# Errors with their place

ERRORS = {
    b"1 1:1\nx 1:1\n": "2:1: label 'x' is not a number",
    "größe 1:1\n".encode(): "1:1: label 'größe' is not a number",
    b"1 1:1\n  nan 1:1\n": "2:3: label 'nan' is not finite",
    b"1,2 1:1\n": "1:1: several labels '1,2'",
    b"1:1 2:1\n": "1:1: the line begins with the pair '1:1'",
    b"1e999 1:1\n": "1:1: label '1e999' is too large for a double",
    b"1 1:abc\n": "1:5: value 'abc' is not a number",
    b"1 1:1 2:1x # c\n": "1:9: value '1x' is not a number",
    b"1 1:-Infinity\n": "1:5: value '-Infinity' is not finite",
    b"1 1:NaN": "1:5: value 'NaN' is not finite",
    b"1 1:1e400\n": "1:5: value '1e400' is too large for a double",
    b"1 1: 2:1\n": "1:5: no value after the colon",
    b"1 1:1 3:1 2:1\n": "1:11: index 2 comes after 3",
    b"1 1:1\r\n\r\n1 3:1 3:1\r\n": "3:7: index 3 is repeated",
    b"1 0:1\n": "1:3: index '0' is not a plain number from 1 on",
    b"1 -4:1\n": "1:3: index '-4' is not a plain number from 1 on",
    b"1 2147483648:1\n": "1:3: index '2147483648' is above 2147483647",
    b"1 " + b"9" * 5000 + b":1\n": f"1:3: index '{'9' * 37}...' is above 2147483647",
    b"1 1:1 2\n": "1:7: no colon in '2'",
    b"1 a:1\n": "1:3: index 'a' is not a whole number",
    b"1 1:1 qid:3\n": "1:7: index 'qid' is not a whole number",
    b"# a\n1 1:1\n1\x002:1\n": "3:2: NUL byte",
    b"": "1:1: no data rows",
    b"\n  \n# nothing\n": "1:1: no data rows",
    b"1 1:\xff\xfe\x1b[31m\n": r"1:5: value '\xff\xfe\x1b[31m' is not a number",
    b"1 1:" + b"z" * 100: f"1:5: value '{'z' * 37}...' is not a number",
}


@pytest.mark.parametrize("data", ERRORS, ids=list(ERRORS.values()))
def test_errors_name_line_and_column(tmp_path, data):
    path = tmp_path / "rows.svm"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_libsvm(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:{ERRORS[data]}; ")
    assert "\n" not in message


def test_the_first_error_of_many_chunks_is_told(monkeypatch):
    monkeypatch.setattr("svmreduce.data.chunks.CHUNK_BYTES", 20)
    data = b"1 1:1 2:2 3:3\n" * 50 + b"1 5:x\n" + b"bad\n" * 50
    with pytest.raises(InputError, match=r"^f:51:5: value 'x'"):
        libsvm_text.parse_libsvm(data, "f")


def test_n_features(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"1 1:1\n-1 2:1 7:1\n")
    assert read_libsvm(path, n_features=9)[0].shape == (2, 9)
    with pytest.raises(InputError, match=r"f:2:8: index '7' is above 6; raise n_features"):
        read_libsvm(path, n_features=6)


@pytest.mark.parametrize("suffix, module", [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_archives(tmp_path, suffix, module):
    text = b"".join(b"%d 1:%d\n" % (k % 3, k) for k in range(5000))
    path = tmp_path / ("rows" + suffix)
    path.write_bytes(module.compress(text))
    assert read_bytes(path) == text
    renamed = tmp_path / "renamed"
    renamed.write_bytes(module.compress(text))
    assert read_bytes(renamed) == text
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:-4], b"1 1:1\n", whole[:20] + b"\xaa" * 200):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"damaged or truncated archive \(.*\); get the file again"):
            load_dataset(path)


def test_no_file_and_folder(tmp_path):
    with pytest.raises(InputError, match="absent: no such file"):
        read_libsvm(tmp_path / "absent")
    with pytest.raises(InputError, match="is a folder"):
        load_dataset(tmp_path)
    with pytest.raises(InputError, match="is not a regular file"):
        read_bytes(os.devnull)


# Writing


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix, sparse.coo_matrix])
def test_round_trip(tmp_path, suffix, layout):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((300, 7)) * 10.0 ** rng.integers(-300, 300, (300, 7))
    X[rng.random(X.shape) < 0.4] = 0
    X[0] = [1, -3, 0, 1e15, 1e22, 2**53 + 2, 5e-324]
    y = rng.choice([-1.0, 2.5, 1e-7, -0.0], 300)
    path = tmp_path / ("rows" + suffix)
    write_libsvm(path, layout(X), y)
    Z, z = read_libsvm(path, n_features=7)
    np.testing.assert_array_equal(Z.toarray(), X)
    assert z.tobytes() == y.tobytes()
    assert Z.nnz == np.count_nonzero(X)
    assert os.listdir(tmp_path) == ["rows" + suffix]


def test_written_form(tmp_path):
    path = tmp_path / "f"
    write_libsvm(path, np.array([[1.0, 0.0, 0.1], [0.0, 0.0, 0.0]]), np.array([1, -1]))
    assert path.read_bytes() == b"1 1:1 3:0.1\n-1\n"


def test_writing_sorts_and_leaves_the_matrix_alone(tmp_path):
    X = sparse.csr_matrix((np.array([3.0, 1.0, 0.0]), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 3))
    write_libsvm(tmp_path / "f", X, np.array([1]))
    assert (tmp_path / "f").read_bytes() == b"1 1:1 3:3\n"
    assert X.indices.tolist() == [2, 0, 1] and X.data.tolist() == [3, 1, 0]


def test_what_cannot_be_written(tmp_path):
    path = tmp_path / "f"
    for X, y, reason in [
        (np.ones((2, 1)), np.array(["a", "b"]), "needs numbers as labels"),
        (np.ones((2, 1)), np.ones(3), "2 rows but 3 labels"),
        (np.array([[np.nan]]), np.ones(1), "hold nan or inf"),
    ]:
        with pytest.raises(InputError, match=reason):
            write_libsvm(path, X, y)
    with pytest.raises(InputError, match="cannot be written"):
        write_libsvm(tmp_path / "no" / "folder", np.ones((1, 1)), np.ones(1))
    assert os.listdir(tmp_path) == []


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    for name in ("new", "old"):
        target = tmp_path / "folder" / name
        if name == "old":
            target.write_text("before")
        (tmp_path / name).symlink_to(target)
        with write_whole(tmp_path / name) as stream:
            stream.write(b"after")
        assert (tmp_path / name).is_symlink() and target.read_bytes() == b"after" and not target.is_symlink()
    assert sorted(os.listdir(tmp_path / "folder")) == ["new", "old"]
    assert sorted(os.listdir(tmp_path)) == ["folder", "new", "old"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_and_devices_are_written_to_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    # open for both, so that neither end waits for the other
    reader = os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK)
    try:
        with write_whole(tmp_path / "pipe") as stream:
            stream.write(b"1 1:1\n")
        assert os.read(reader, 100) == b"1 1:1\n"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    (tmp_path / "null").symlink_to(os.devnull)  # if it were replaced, then only here
    with write_whole(tmp_path / "null") as stream:
        stream.write(b"gone")
    assert (tmp_path / "null").is_symlink() and stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert sorted(os.listdir(tmp_path)) == ["null", "pipe"]


# IDX


def idx_bytes(array, code):
    return struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape) + array.tobytes()


@pytest.mark.parametrize("code, dtype", [(8, ">u1"), (9, ">i1"), (11, ">i2"), (12, ">i4"), (13, ">f4"), (14, ">f8")])
def test_idx_types(tmp_path, code, dtype):
    array = np.arange(24, dtype=dtype).reshape(2, 3, 4)
    (tmp_path / "a").write_bytes(idx_bytes(array, code))
    read = read_idx(tmp_path / "a")
    np.testing.assert_array_equal(read, array)
    assert read.dtype == np.dtype(dtype).newbyteorder("=") and read.flags.writeable


@pytest.mark.parametrize(
    "data, reason",
    [
        (b"", "not an IDX magic number"),
        (b"\0\0\x07\1" + b"\0" * 8, "not an IDX magic number"),
        (b"\0\0\x08\3\0\0\0\2", r"8 bytes where the IDX header asks for"),
        (b"\0\0\x08\1\0\0\0\5abcd", r"12 bytes where the IDX header asks for 13"),
        (b"\0\0\x08\1\0\0\0\5abcdef", r"14 bytes where the IDX header asks for 13"),
    ],
)
def test_idx_errors(tmp_path, data, reason):
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(InputError, match=reason):
        read_idx(tmp_path / "a")


# One door


def dataset(tmp_path, data, name="rows.txt", **options):
    (tmp_path / name).write_bytes(data)
    return load_dataset(tmp_path / name, **options)


def test_load_libsvm_dense_or_sparse(tmp_path):
    dense = dataset(tmp_path, b"1 1:1 2:2\n-1 1:3\n")
    np.testing.assert_array_equal(dense.X, [[1, 2], [3, 0]])
    assert isinstance(dense.X, np.ndarray) and dense.X.flags.c_contiguous
    assert (dense.name, dense.task) == ("rows.txt", "classification")
    sparse_one = dataset(tmp_path, b"1 1:1\n-1 100:3\n")
    assert sparse.issparse(sparse_one.X) and sparse_one.X.shape == (2, 100)


def test_load_tells_tasks_and_names(tmp_path):
    assert dataset(tmp_path, b"0.5 1:1\n1 1:2\n").task == "regression"
    assert dataset(tmp_path, b"0.5 1:1\n1 1:2\n", task="classification").task == "classification"
    packed = dataset(tmp_path, gzip.compress(b"1 1:1\n"), name="x.svm.gz")
    assert packed.name == "x.svm" and packed.sha256 == hashlib.sha256(b"1 1:1\n").hexdigest()


@pytest.mark.parametrize(
    "data, kind",
    [
        (b"# c\n\n-1 \n1 3:1\n", "libsvm"),
        (b"1\n-1\n", "libsvm"),
        (b"1 2:1 3\n", "libsvm"),
        (b"1,2 3:1\n", "libsvm"),
        (b"", "libsvm"),
        (b"1 2 3\n", "table"),
        (b"a,b\n1,2\n", "table"),
        (b"#ff0000,1\n#00ff00,2\n", "table"),
        (b"5.1,3.5,x\n", "table"),
        (b"\0\0\x08\1\0\0\0\0", "idx"),
    ],
)
def test_formats_are_recognised(tmp_path, data, kind):
    (tmp_path / "f").write_bytes(data)
    assert formats.sniff(tmp_path / "f") == kind


def test_the_label_column_of_a_table(tmp_path):
    for label in (0, -3, "kind"):
        rows = dataset(tmp_path, b"kind,a,b\n1,2.5,3\n2,4.5,5\n", label=label)
        assert rows.is_table and rows.y.tolist() == [1, 2] and rows.X.tolist() == [[2.5, 3], [4.5, 5]]
    with pytest.raises(InputError, match="are first in every line of a LIBSVM file"):
        dataset(tmp_path, b"1 1:2\n", label=0)
    assert not dataset(tmp_path, b"1 1:2\n").is_table


def test_a_byte_order_mark_does_not_count(tmp_path):
    rows = dataset(tmp_path, b"\xef\xbb\xbf1 1:2\n-1 2:3\n")
    assert rows.y.tolist() == [1, -1] and rows.X.tolist() == [[2, 0], [0, 3]]


def test_labels_without_features_are_rows(tmp_path):
    rows = dataset(tmp_path, b"1\n-1\n")
    assert rows.X.shape == (2, 1) and rows.y.tolist() == [1, -1]
    assert abs(rows.X).sum() == 0


def test_load_idx_with_its_labels(tmp_path):
    images = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)
    (tmp_path / "t-labels-idx1-ubyte").write_bytes(idx_bytes(np.array([7, 8, 9], np.uint8), 8))
    rows = dataset(tmp_path, idx_bytes(images, 8), name="t-images-idx3-ubyte")
    np.testing.assert_array_equal(rows.X, images.reshape(3, 4))
    assert rows.X.dtype == np.float64 and rows.y.tolist() == [7, 8, 9]
    with pytest.raises(InputError, match="4 images but 3 labels"):
        dataset(tmp_path, idx_bytes(np.zeros((4, 2, 2), np.uint8), 8), name="t-images-idx3-ubyte")


def test_a_signal_leaves_no_unfinished_file(tmp_path):
    with pytest.raises(KeyboardInterrupt), write_whole(tmp_path / "a") as stream:
        stream.write(b"half")
        assert list(tmp_path.iterdir()) and signal.getsignal(signal.SIGTERM) == signal.default_int_handler
        signal.raise_signal(signal.SIGTERM)
    assert not list(tmp_path.iterdir()) and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
