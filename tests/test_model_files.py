"""Model files that are damaged, or none at all: every one is told where and why."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from svmreduce.errors import InputError
from svmreduce.model import load_model
from svmreduce.model.linear_model import LinearModel
from tests.test_model import KERNELS, random_model

GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 3
rho 0.25
label 1 -1
nr_sv 2 1
SV
1 1:0.5 3:1
0.5 2:-1
-1.5 1:1e-3 2:2
"""


def test_the_good_file_is_good(tmp_path):
    (tmp_path / "m").write_text(GOOD)
    model = load_model(tmp_path / "m")
    assert model.coef.tolist() == [[1, 0.5, -1.5]] and model.intercepts.tolist() == [-0.25]
    assert model.vectors.tolist() == [[0.5, 0, 1], [0, -1, 0], [0.001, 2, 0]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("svm_type c_svc", "svm_type d_svc", r"m:1: unknown svm_type 'd_svc': known are c_svc"),
        (
            "kernel_type rbf",
            "kernel_type precomputed",
            r"m:2: vectors of a precomputed kernel are numbers of training rows",
        ),
        ("kernel_type rbf", "kernel_type rfb", r"m:2: unknown kernel_type 'rfb'"),
        ("gamma 0.5\n", "", r"m: the header has no line 'gamma'"),
        ("gamma 0.5", "gamma half", r"m:3: 'gamma' takes numbers, got 'half'"),
        ("gamma 0.5", "gamma -1", r"m:2: gamma must be a positive number"),
        ("gamma 0.5", "gamma 1 2", r"m:3: 'gamma' needs 1 values, got 2"),
        ("gamma 0.5", "gamma 0.5\ngamma 0.5", r"m:4: 'gamma' appears twice"),
        ("gamma 0.5", "gama 0.5", r"m:3: unknown line 'gama' in the header"),
        ("rho 0.25", "rho nan", r"m:6: 'rho' must be finite"),
        ("rho 0.25", "rho 0.25 1", r"m:6: 'rho' needs 1 values, got 2"),
        ("nr_class 2", "nr_class 1", r"m:4: 'nr_class' must be at least 2"),
        ("nr_class 2", "nr_class 3", r"needs 3 values, got 2"),
        ("nr_class 2", "nr_class two", r"m:4: 'nr_class' takes whole numbers"),
        ("total_sv 3", "total_sv 4", r"m:8: the counts must add up to total_sv 4"),
        ("label 1 -1", "label 1 1", r"m:7: a label appears twice"),
        ("-1.5 1:1e-3 2:2\n", "", r"m:12: total_sv says 3 support vectors, the file has 2"),
        ("\nSV\n", "\n", r"m:9: unknown line '1'"),
        ("gamma 0.5", "gamma\x1f0.5", r"m:3: a control character; the file is damaged"),
        ("\nSV\n", "\nSV ", r"m:9: 'SV' must be alone on its line, got 'SV 1"),
        ("0.5 2:-1", "0.5 2:x", r"m:11: '2:x' is not a finite number"),
        ("0.5 2:-1", "0.5 2:inf", r"m:11: '2:inf' is not a finite number"),
        ("0.5 2:-1", "0.5 2:1e999", r"m:11: '2:1e999' is not a finite number"),
        ("0.5 2:-1", "0.5 0:-1", r"m:11: '0:-1': the index must be whole and above 0"),
        ("0.5 2:-1", "0.5 1.5:-1", r"m:11: '1.5:-1': the index must be whole"),
        ("1 1:0.5 3:1", "1 3:0.5 1:1", r"m:10: '1:1': the index must be whole and above 3"),
        ("0.5 2:-1", "2:-1", r"m:11: '2:-1' is out of place"),
        ("0.5 2:-1", "0.5 7 2:-1", r"m:11: '7' is out of place"),
        ("0.5 2:-1", "0.5 2 :-1", r"m:11: '2' is out of place"),
        ("0.5 2:-1", "0.5 2:-1:3", r"m:11: '2:-1:3': the index must be whole"),
        ("0.5 2:-1", "", r"m:11: needs 1 coefficients"),
    ],
)
def test_bad_model_files_say_where_and_why(tmp_path, old, new, message):
    assert old in GOOD
    (tmp_path / "m").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(InputError, match=message) as caught:
        load_model(tmp_path / "m")
    assert "\n" not in str(caught.value)


def test_columns_of_zeros_survive(tmp_path):
    for form in (np.asarray, sparse.csr_matrix):
        model = random_model(3, KERNELS[2], form=lambda rows, form=form: form(np.pad(rows, ((0, 0), (0, 3)))))
        model.save(tmp_path / "m")
        again = load_model(tmp_path / "m")
        assert again.n_features == model.n_features == 7
        assert again.labels.tolist() == model.labels.tolist()
    text = (tmp_path / "m").read_text()
    random_model(3, KERNELS[2]).save(tmp_path / "m")
    assert text.endswith("# features 7\n") and (tmp_path / "m").read_text() == text.removesuffix("# features 7\n")
    for wrong in ("3", "x", "-7"):
        (tmp_path / "m").write_text(text.replace("features 7", f"features {wrong}"))
        with pytest.raises(InputError, match=rf"must be whole and at least 4, got '{wrong}'"):
            load_model(tmp_path / "m")


def test_numbers_that_are_not_finite_are_not_saved(tmp_path):
    kernel_model = random_model(2, KERNELS[2])
    linear_model = LinearModel(np.ones((1, 3)), np.zeros(1), np.array([1, -1]))
    for model, part in [
        *((kernel_model, part) for part in ("coef", "intercepts", "vectors")),
        *((linear_model, part) for part in ("weights", "intercepts")),
    ]:
        damaged = getattr(model, part).copy()
        damaged.flat[0] = np.nan
        with pytest.raises(InputError, match="numbers that are not finite; scale the data"):
            replace(model, **{part: damaged}).save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_other_files_are_not_models(tmp_path):
    with pytest.raises(InputError, match="is a folder; name the model file in it"):
        load_model(tmp_path)
    (tmp_path / "data").write_text("+1 1:0.5\n")
    with pytest.raises(InputError, match=r"data:1: not a model file: it must begin with svm_type"):
        load_model(tmp_path / "data")
    (tmp_path / "bytes").write_bytes(b"svm_type \xff\xfe\n")
    with pytest.raises(InputError, match="it is not text"):
        load_model(tmp_path / "bytes")
    with pytest.raises(InputError, match="no such model file"):
        load_model(tmp_path / "none")


@pytest.mark.parametrize("seed", range(300))
def test_damaged_files_never_crash_the_reader(tmp_path, seed):
    rng = np.random.default_rng(seed)
    text = bytearray(GOOD.encode())
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(text)))
        kind = rng.integers(3)
        if kind == 0:
            text[place] = int(rng.integers(256))
        elif kind == 1:
            del text[place : place + int(rng.integers(1, 20))]
        else:
            text[place:place] = str(int(rng.integers(10**9))).encode()
    (tmp_path / "m").write_bytes(bytes(text))
    try:
        values = load_model(tmp_path / "m").decision_function(np.zeros((1, 3))) if len(text) < 10**4 else 0
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert not np.any(np.isnan(values))
