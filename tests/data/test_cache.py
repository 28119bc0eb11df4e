"""A second load costs no parsing, and no damage to the cache ever reaches the caller."""

import os

import numpy as np
import pytest

from svmreduce.data import cache, libsvm_text
from svmreduce.data.formats import read_libsvm


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SVMREDUCE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def assert_same(ours, theirs):
    (X, y), (A, b) = ours, theirs
    assert X.shape == A.shape and (X != A).nnz == 0
    np.testing.assert_array_equal(y, b)


@pytest.fixture
def large_file(tmp_path):
    """A file worth caching, and old enough to be known by its time stamp."""
    path = tmp_path / "large"
    path.write_bytes(b"1 1:0.5 2:7\n-1 3:1\n" * 70_000)
    return path


def no_parsing(*_, **__):
    raise AssertionError("parsed again")


def test_second_load_does_not_parse(large_file, monkeypatch):
    first = read_libsvm(large_file)
    monkeypatch.setattr(libsvm_text, "parse_libsvm", no_parsing)
    assert_same(read_libsvm(large_file), first)
    X, y = read_libsvm(large_file)
    X.data[0], y[0] = 99, 99  # what a caller does to his rows does not reach the next one
    assert_same(read_libsvm(large_file), first)


def test_second_load_of_an_old_file_does_not_even_read(large_file, monkeypatch):
    monkeypatch.setattr(cache.time, "time_ns", lambda: 2**62)  # long after the file was written
    first = read_libsvm(large_file)
    monkeypatch.setattr("svmreduce.data.files.read_bytes", no_parsing)
    assert_same(read_libsvm(large_file), first)


def test_changed_file_is_parsed_again(large_file):
    read_libsvm(large_file)
    large_file.write_bytes(large_file.read_bytes().replace(b"0.5", b"0.6"))
    assert read_libsvm(large_file)[0].data[0] == 0.6


def entries(own_cache):
    return [path for path in (own_cache / "parsed").iterdir() if not path.name.startswith(".")]


@pytest.mark.parametrize("damage", ["missing", "cut", "garbage", "shorter"])
def test_damaged_entry_is_rebuilt(large_file, own_cache, damage):
    first = read_libsvm(large_file)
    (entry,) = entries(own_cache)
    victim = entry / "values.npy"
    if damage == "missing":
        victim.unlink()
    elif damage == "cut":
        os.truncate(victim, 1000)
    elif damage == "garbage":
        victim.write_bytes(b"\x93NUMPY garbage")
    else:
        np.save(victim, np.zeros(3))
    assert_same(read_libsvm(large_file), first)
    assert victim.exists() and len(np.load(victim)) == len(first[0].data)


def test_unwritable_cache_is_done_without(large_file, own_cache):
    own_cache.write_bytes(b"a file where the folder should be")
    assert read_libsvm(large_file)[0].shape == (140_000, 3)


def test_cache_stays_below_its_limit(tmp_path, own_cache, monkeypatch):
    monkeypatch.setenv("SVMREDUCE_CACHE_MB", "8")
    for k in range(5):
        path = tmp_path / f"large{k}"
        path.write_bytes(b"%d 1:1 2:2\n" % k * 130_000)
        read_libsvm(path)
        sizes = [sum(p.stat().st_size for p in entry.iterdir()) for entry in entries(own_cache)]
        assert sum(sizes) <= 8 << 20
        assert len(sizes) == 1  # about 5 MB each
    monkeypatch.setenv("SVMREDUCE_CACHE_MB", "0")
    path.write_bytes(b"9 1:1 2:2\n" * 130_000)
    before = entries(own_cache)
    read_libsvm(path)
    assert entries(own_cache) == before


def test_small_files_are_not_cached(tmp_path, own_cache):
    (tmp_path / "small").write_bytes(b"1 1:1\n")
    read_libsvm(tmp_path / "small")
    assert not own_cache.exists()
