"""What would fill the memory is refused before it does, naming the number."""

import lzma
import resource
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from svmreduce import memory
from svmreduce.data.formats import load_dataset, read_libsvm, read_table
from svmreduce.errors import InputError
from svmreduce.model import load_model

GB = 2**30


@pytest.fixture
def little_memory(monkeypatch):
    """A machine with 1 GB free."""
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: SimpleNamespace(available=GB))


def test_the_own_limit_of_a_process_counts():
    code = "from svmreduce.memory import free_bytes; print(free_bytes())"
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (2 * GB, 2 * GB))  # noqa: E731
    found = subprocess.run([sys.executable, "-c", code], preexec_fn=limit, capture_output=True, text=True, check=True)
    assert 0 < int(found.stdout) < 2 * GB


def test_numbers_of_any_size_are_told():
    with pytest.raises(InputError, match=r"they need more than a billion GB of memory, [0-9.]+ GB are free: do less"):
        memory.check_memory(10**400, "they", "do less")


def test_a_compressed_bomb_is_refused_while_it_is_unpacked(tmp_path):
    packer = lzma.LZMACompressor(preset=0)
    parts = [packer.compress(b"1 1:1\n" * 2_000_000) for _ in range(30)]  # 360 MB of the same line
    path = tmp_path / "bomb.xz"
    path.write_bytes(b"".join([*parts, packer.flush()]))
    with pytest.raises(InputError, match=r"bomb.xz: unpacks to more than 500 times its [0-9]+ bytes"):
        load_dataset(path)


def test_categories_that_do_not_fit_are_refused(tmp_path, little_memory):
    path = tmp_path / "words.csv"
    path.write_text("".join(f"w{k % 6000},{k % 7},{k % 2}\n" for k in range(30_000)))
    with pytest.raises(InputError, match=r"6001 columns, 6000 of them for the categories of one, need 2\.7 GB"):
        read_table(path)
    assert read_table(path, categorical="codes")[0].shape == (30_000, 2)


def test_an_index_that_stands_for_too_many_columns_is_refused(tmp_path, little_memory):
    data, model = tmp_path / "data", tmp_path / "model"
    data.write_text("1 1:1 2147483647:1\n-1 1:2\n")
    with pytest.raises(InputError, match=r"data: 2147483647 columns \(the largest index\) need 128.0 GB"):
        read_libsvm(data)
    head = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\nSV\n"
    model.write_text(head + "1 1:1\n-1 2147483647:1\n")
    with pytest.raises(InputError, match="model: 2147483647 columns"):
        load_model(model)
    model.write_text(head + "1 1:1\n-1 2:1\n# features 2147483647\n")
    with pytest.raises(InputError, match="model: 2147483647 columns"):
        load_model(model)


@pytest.mark.parametrize("key", ["nr_class", "total_sv", "label", "nr_sv"])
def test_a_count_of_hundreds_of_digits_is_refused_with_its_line(tmp_path, key):
    header = {"svm_type": "c_svc", "kernel_type": "linear", "nr_class": "2", "total_sv": "2", "rho": "0",
              "label": "1 -1", "nr_sv": "1 1"}  # fmt: skip
    header[key] = " ".join(["9" * 400] * len(header[key].split()))
    (tmp_path / "m").write_text("".join(f"{k} {v}\n" for k, v in header.items()) + "SV\n1 1:1\n-1 2:1\n")
    with pytest.raises(InputError, match=rf"m:\d: '{key}'") as error:
        load_model(tmp_path / "m")
    assert len(str(error.value)) < 300


def test_idx_bytes_that_grow_eightfold_are_counted_before(tmp_path, little_memory):
    n = 200_000
    head = b"\0\0\x08\x03" + np.array([n, 28, 28], ">u4").tobytes()
    (tmp_path / "images-idx3").write_bytes(head + b"\x01" * (n * 784))
    (tmp_path / "labels-idx1").write_bytes(b"\0\0\x08\x01" + np.array([n], ">u4").tobytes() + b"\x01" * n)
    with pytest.raises(InputError, match=r"200000 rows of 784 values need 1\.2 GB"):
        load_dataset(tmp_path / "images-idx3")
