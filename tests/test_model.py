"""Models: voting, model files in and out, agreement with LIBSVM's own tools, exact errors."""

import shutil
import subprocess
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.data.formats import load_dataset, read_libsvm
from svmreduce.data.libsvm_text import write_libsvm
from svmreduce.errors import InputError
from svmreduce.kernels import KernelMixture, KernelSpec
from svmreduce.model import KernelModel, load_model, votes
from svmreduce.model.linear_model import LinearModel
from svmreduce.norms import InputNorm
from svmreduce.solvers.liblinear import Liblinear
from svmreduce.solvers.libsvm import Libsvm
from svmreduce.solvers.smo import SMO

needs_tools = pytest.mark.skipif(
    not (shutil.which("svm-predict") and shutil.which("svm-train")),
    reason="LIBSVM's command line tools (svm-train, svm-predict) are not installed",
)


def problem(rows=270, features=13, classes=2, seed=0):
    """Rows the size of the heart data, some values zero, classes that overlap."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    X = rng.normal(size=(rows, features)) + 0.8 * np.eye(classes, features)[y] * features**0.5
    X[rng.random(X.shape) < 0.2] = 0
    return X, y


def random_model(k, kernel, form=np.asarray, seed=0):
    rng = np.random.default_rng(seed)
    counts = rng.integers(2, 6, k)
    vectors = rng.normal(size=(counts.sum(), 4))
    coef, intercepts = rng.normal(size=(k - 1, counts.sum())), rng.normal(size=k * (k - 1) // 2)
    return KernelModel(kernel, form(vectors), coef, intercepts, rng.permutation(k) * 3 - 4, counts)


def tool(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


KERNELS = [
    KernelSpec("linear"),
    KernelSpec("poly", 0.5, 1.0, 2),
    KernelSpec("rbf", 0.3),
    KernelSpec("sigmoid", 0.1, -0.5),
]
_NORM = InputNorm("mahalanobis", np.random.default_rng(2).normal(size=(4, 4)))
OWN_KERNELS = {
    "kmod": KernelSpec("kmod", 0.3, 1.7),
    "gaussian_diagonal": KernelSpec("rbf", 0.1, norm=InputNorm("diagonal", np.array([1.0, 0.1, 3.0, 0.0]))),
    "gaussian_mahalanobis": KernelSpec("rbf", 0.1, norm=_NORM),
    "mixture": KernelMixture((KernelSpec("poly", 0.2, 1.0, 2), KernelSpec("rbf", 0.1, norm=_NORM)), (0.3, 0.7)),
}


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_decision_values_by_the_definition(kernel, k):
    model = random_model(k, kernel)
    X = np.random.default_rng(1).normal(size=(30, 4))
    K = kernel_matrix(kernel, X, model.vectors)
    ends = np.concatenate([[0], np.cumsum(model.n_support)])
    columns = []
    for pair, (i, j) in enumerate(combinations(range(k), 2)):
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        value = K[:, of_i] @ model.coef[j - 1, of_i] + K[:, of_j] @ model.coef[i, of_j]
        columns.append(value + model.intercepts[pair])
    expected = columns[0] if k == 2 else np.column_stack(columns)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(sparse.csr_matrix(X)), expected, rtol=1e-10, atol=1e-12)


def test_votes_and_ties():
    # 0 beats 1, 2 beats 0, 1 beats 2: one vote each, the first label wins; zero counts for the second
    decisions = np.array([[1.0, -1.0, 1.0], [-1.0, -1.0, -1.0], [0.0, 0.0, 0.0]])
    assert votes(decisions, 3).tolist() == [[1, 1, 1], [0, 1, 2], [0, 1, 2]]
    model = random_model(3, KernelSpec())
    assert model.decide(decisions).tolist() == model.labels[[0, 2, 2]].tolist()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("k", [2, 4])
def test_every_number_survives_the_file(tmp_path, form, kernel, k):
    model = random_model(k, kernel, form)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert (again.kernel.name, again.svm_type) == (kernel.name, "c_svc")
    if kernel.name != "linear":
        assert again.kernel.gamma == kernel.gamma
    for name in ("coef", "intercepts", "labels", "n_support"):
        assert np.array_equal(getattr(again, name), getattr(model, name)), name
    assert np.array_equal(sparse.csr_matrix(again.vectors).toarray(), sparse.csr_matrix(model.vectors).toarray())
    assert [path.name for path in tmp_path.iterdir()] == ["m"]  # no draft left behind


@pytest.mark.parametrize("word", OWN_KERNELS)
def test_kernels_that_libsvm_does_not_have_survive_the_file(tmp_path, word):
    model = random_model(3, OWN_KERNELS[word])
    model.save(tmp_path / "m")
    assert f"kernel_type {word}" in (tmp_path / "m").read_text()
    X = np.random.default_rng(0).normal(size=(9, 4))
    assert np.array_equal(load_model(tmp_path / "m").decision_function(X), model.decision_function(X))


@needs_tools
@pytest.mark.parametrize("word", OWN_KERNELS)
def test_svm_predict_refuses_a_kernel_it_does_not_know(tmp_path, word):
    random_model(2, OWN_KERNELS[word]).save(tmp_path / "m")
    write_libsvm(tmp_path / "test", np.ones((2, 4)), np.ones(2))
    command = ["svm-predict", tmp_path / "test", tmp_path / "m", tmp_path / "out"]
    assert subprocess.run(command, capture_output=True).returncode != 0


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "unknown kernel_type 'kmod': known are linear, polynomial, rbf, sigmoid"),
        ("# kernel {}", "the kernel cannot be read (it needs a kernel, and finite weights); train again"),
        ("# kernel [{}]", "the kernel cannot be read ('weight'); train again"),
        ("# kernel [", "the kernel cannot be read (Expecting value"),
        ('# kernel [{"name": "kmod", "gamma": -1, "weight": 1, "norm": null}]', "gamma must be a positive"),
        ('# kernel [{"name": "rbf", "weight": 1, "norm": {"name": "x", "factor": 1}}]', "a list or a table of finite"),
    ],
)  # fmt: skip
def test_own_kernels_that_cannot_be_read(tmp_path, line, why):
    random_model(2, OWN_KERNELS["kmod"]).save(tmp_path / "m")
    lines = [text for text in (tmp_path / "m").read_text().splitlines() if not text.startswith("# kernel")]
    (tmp_path / "m").write_text("\n".join([*lines, line]) + "\n")
    with pytest.raises(InputError) as error:
        load_model(tmp_path / "m")
    assert why in str(error.value) and str(error.value).startswith(f"{tmp_path / 'm'}:")


def test_sparse_rows_stay_sparse_and_all_zero_vectors_survive(tmp_path):
    vectors = sparse.random(6, 50, density=0.02, random_state=0, format="csr")
    coef = np.arange(1.0, 7.0)[None, :]
    model = KernelModel(KernelSpec("linear"), vectors, coef, np.zeros(1), None, None, "epsilon_svr")
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert sparse.issparse(again.vectors) and again.n_vectors == 6
    X = np.random.default_rng(0).normal(size=(5, 50))
    np.testing.assert_allclose(again.predict(X), (X @ vectors.T) @ coef[0])


@pytest.mark.parametrize("labels", [["no", "yes"], ["a: b", "ü"], [0, 2**40]])
def test_labels_that_libsvm_cannot_hold_survive(tmp_path, labels):
    X, y = problem(60, 3)
    solver = SMO(gamma=0.2).fit(X, np.array(labels)[y])
    solver.model_.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.predict(X).tolist() == solver.predict(X).tolist()
    header = (tmp_path / "m").read_text().splitlines()
    assert "label 1 0" in header  # LIBSVM's tools still see whole numbers


def test_models_may_be_compressed(tmp_path):
    model = random_model(2, KernelSpec())
    model.save(tmp_path / "m.gz")
    assert (tmp_path / "m.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert np.array_equal(load_model(tmp_path / "m.gz").coef, model.coef)


def test_missing_columns_are_zeros_whoever_lacks_them(tmp_path):
    model = random_model(2, KernelSpec("rbf", 0.3))
    X = np.random.default_rng(0).normal(size=(8, 4))
    narrow, wide = X[:, :2], np.hstack([X, np.ones((8, 3))])
    padded = np.hstack([narrow, np.zeros((8, 2))])
    np.testing.assert_allclose(model.decision_function(narrow), model.decision_function(padded))
    # extra columns move a row away from every vector by the same squared distance
    sums = model.decision_function(X) - model.intercepts[0]
    np.testing.assert_allclose(model.decision_function(wide) - model.intercepts[0], sums * np.exp(-0.3 * 3))
    for form in (np.asarray, sparse.csr_matrix):
        np.testing.assert_allclose(model.decision_function(form(wide)), model.decision_function(wide))


@needs_tools
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("solver", [SMO(gamma=0.05), Libsvm(gamma=0.05), SMO(kernel="poly", degree=2, gamma=0.1)])
def test_svm_predict_reads_our_model(tmp_path, classes, solver):
    X, y = problem(classes=classes)
    write_libsvm(tmp_path / "test", X, y.astype(float))
    solver.fit(X, y).model_.save(tmp_path / "model")
    tool("svm-predict", tmp_path / "test", tmp_path / "model", tmp_path / "out")
    assert np.loadtxt(tmp_path / "out").tolist() == solver.predict(X).tolist()


@needs_tools
@pytest.mark.parametrize("svm_type", range(5))
@pytest.mark.parametrize("kernel_type", range(4))
def test_we_read_what_svm_train_wrote(tmp_path, svm_type, kernel_type):
    X, y = problem(classes=3)
    write_libsvm(tmp_path / "data", X, y.astype(float))
    options = ["-q", "-s", svm_type, "-t", kernel_type, "-n", 0.2, "-r", 0.5, "-b", int(svm_type != 2)]
    tool("svm-train", *options, tmp_path / "data", tmp_path / "model")
    tool("svm-predict", tmp_path / "data", tmp_path / "model", tmp_path / "out")
    model = load_model(tmp_path / "model")
    assert bool(model.notes) == (svm_type > 2)  # of a regression -b 1 writes lines we do not use, and say so
    expected, ours = np.loadtxt(tmp_path / "out"), model.predict(X)
    if model.task == "regression":  # its printed predictions have six digits
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)
    else:
        assert ours.tolist() == expected.tolist()


@needs_tools
@pytest.mark.real
def test_svm_predict_agrees_on_ijcnn1(tmp_path, real_file):
    train, test = load_dataset(real_file("ijcnn1")), load_dataset(real_file("ijcnn1.t"))
    solver = SMO(C=1, gamma=0.5).fit(train.X[:6000], train.y[:6000])
    solver.model_.save(tmp_path / "model")
    write_libsvm(tmp_path / "test", test.X[:20000], test.y[:20000])
    tool("svm-predict", tmp_path / "test", tmp_path / "model", tmp_path / "out")
    ours = load_model(tmp_path / "model").predict(read_libsvm(tmp_path / "test")[0])
    assert np.loadtxt(tmp_path / "out").tolist() == ours.tolist()


# ---------------------------------------------------------------- linear models


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("bias", [1.0, 2.0, -1.0])
def test_linear_models_survive_and_liblinear_reads_them(tmp_path, classes, bias):
    from liblinear import liblinearutil

    X, y = problem(classes=classes)
    solver = Liblinear(bias=bias, dual=False).fit(X, y)
    solver.model_.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert isinstance(again, LinearModel)
    assert np.array_equal(again.weights, solver.model_.weights)
    np.testing.assert_allclose(again.intercepts, solver.model_.intercepts, rtol=1e-15)
    theirs = liblinearutil.load_model(str(tmp_path / "m"))
    labels, _, _ = liblinearutil.predict([], X, theirs, "-q")
    assert labels == solver.predict(X).tolist() == again.predict(X).tolist()
    wide = np.hstack([X, np.ones((len(X), 2))])
    assert again.predict(wide).tolist() == labels
    liblinearutil.save_model(str(tmp_path / "theirs"), theirs)
    np.testing.assert_allclose(load_model(tmp_path / "theirs").weights, again.weights, rtol=1e-15)


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_by_float32_are_those_of_double(classes):
    """Rows on the boundary to within float32's error must come out as double decides them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    y = np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, classes + 1)[1:-1]))
    own = SMO(C=10.0, gamma=0.05).fit(X[:400], y[:400]).model_
    # walk towards the boundary of the first pair by bisection, so that many rows are undecidable in float32
    low, high = X[rng.integers(0, 3000, 2000)], X[rng.integers(0, 3000, 2000)]
    for _ in range(30):
        middle = (low + high) / 2
        sides = [own.decision_function(rows).reshape(2000, -1)[:, 0] > 0 for rows in (low, middle)]
        same = (sides[0] == sides[1])[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    values = np.abs(own.decision_function(low).reshape(2000, -1)[:, 0])
    assert np.sum(values < 1e-6) > 300
    assert np.array_equal(own.predict(low), own.decide(own.decision_function(low)))
