"""Divide and conquer: what a cluster's SVM is, the exact stage, the division itself, and the model's file."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from svmreduce import DCSVM, DCSVR, SMO, SVR, DecompositionSVR, load_model
from svmreduce.core import parts
from svmreduce.core.row_parts import RowPart, SharedRows
from svmreduce.errors import InputError
from svmreduce.kernels import KernelSpec
from svmreduce.model import ClusterModel, KernelModel
from svmreduce.model.cluster_model import nearest_centres
from svmreduce.solvers._clusters import LARGEST, PARTS, cluster_centres, neighbourhoods
from svmreduce.testing import cloud

FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])


def islands(rows=600, classes=3, seed=0):
    """Four islands: two with all classes, one with two of them, one with a single class."""
    rng = np.random.default_rng(seed)
    island, y = rng.integers(0, 4, rows), rng.integers(0, classes, rows)
    y = np.where(island == 3, 1, np.where(island == 2, y % 2, y))
    X = rng.normal(size=(rows, 3)) + 40.0 * np.eye(4, 3)[island] + np.eye(classes, 3)[y]
    return X, np.array(["ant", "bee", "cow"])[y], island


@FORMS
@pytest.mark.parametrize("classes", [2, 3])
def test_a_row_is_decided_by_the_svm_of_its_cluster(form, classes):
    X, y, island = islands(classes=classes)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(y))
    weights[::7] = 0
    whole = DCSVM(C=3.0, gamma=0.2, n_clusters=4, tol=1e-6).fit(form(X), y, sample_weight=weights)
    assert isinstance(whole.model_, ClusterModel) and whole.n_clusters_ == 4 and whole.converged_
    new, _, where = islands(300, classes, seed=2)
    for number in range(3):
        rows, own = island == number, where == number
        alone = SMO(C=3.0, gamma=0.2, tol=1e-6).fit(X[rows], y[rows], sample_weight=weights[rows])
        assert np.mean(whole.predict(form(new[own])) == alone.predict(new[own])) == 1
        if len(alone.classes_) == classes:
            values = alone.model_.decision_function(new[own])
            np.testing.assert_allclose(whole.model_.decision_function(form(new[own])), values, atol=1e-4)
    assert set(whole.predict(form(new[where == 3]))) == {"bee"}  # the only class of that island
    assert whole.decision_function(form(new)).shape == ((300,) if classes == 2 else (300, 3))


@FORMS
def test_any_number_of_threads_gives_the_same_model(form):
    X, y, _ = islands()
    first, *others = (
        DCSVM(n_clusters=5, threads=threads, random_state=np.random.RandomState(3)).fit(form(X), y).model_
        for threads in (1, 2, 3)
    )
    for other in others:
        assert np.array_equal(first.centres, other.centres)
        assert np.array_equal(first.decision_function(form(X), threads=1), other.decision_function(form(X), threads=2))


@pytest.mark.parametrize("kernel", ["rbf", "gaussian_mahalanobis", "rbf:1+linear:1"])
def test_the_exact_stage_ends_at_the_optimum_of_smo(kernel):
    X, y, _ = islands()
    X = X / 10
    exact = DCSVM(C=2.0, kernel=kernel, n_clusters=4, exact=True, tol=1e-6).fit(X, y)
    plain = SMO(C=2.0, kernel=kernel, tol=1e-6).fit(X, y)
    assert isinstance(exact.model_, KernelModel) and exact.converged_ and exact.gap_ <= 1e-6
    assert exact.objective_ == pytest.approx(plain.objective_, rel=1e-7)
    np.testing.assert_allclose(exact.decision_function(X), plain.decision_function(X), atol=1e-4)
    assert np.array_equal(X[exact.support_], exact.support_vectors_)


def test_few_rows_are_one_cluster_and_an_earlier_fit_leaves_nothing_behind():
    X, y = cloud()
    solver = DCSVM().fit(X, y)
    assert solver.n_clusters_ == 1 and isinstance(solver.model_, KernelModel)
    assert np.array_equal(solver.decision_function(X), SMO().fit(X, y).decision_function(X))
    solver.set_params(n_clusters=2).fit(X, y)
    assert solver.n_clusters_ == 2 and not hasattr(solver, "support_") and not hasattr(solver, "dual_coef_")


def test_regression_has_a_function_per_cluster():
    X, _, island = islands()
    y = np.where(island == 3, 5.0, np.sin(X[:, 0]) + island)
    y[island == 3] += np.linspace(-0.1, 0.1, np.sum(island == 3))  # within the tube: a constant
    whole = DCSVR(C=5.0, gamma=0.3, n_clusters=4).fit(X, y)
    assert whole.model_.task == "regression" and whole.n_clusters_ == 4
    own = island == 1
    alone = DecompositionSVR(C=5.0, gamma=0.3).fit(X[own], y[own])
    np.testing.assert_allclose(whole.predict(X[own]), alone.predict(X[own]), atol=5e-3)
    np.testing.assert_allclose(whole.predict(X[island == 3]), 5.0)


# ---------------------------------------------------------------- the division


def test_no_cluster_dominates_and_none_is_empty():
    rng = np.random.default_rng(0)
    X = np.vstack([0.01 * rng.normal(size=(5000, 2)), rng.uniform(-9, 9, size=(1000, 2)), [[500.0, 500.0]]])
    for form in (np.asarray, sparse.csr_matrix):
        centres, cluster = cluster_centres(form(X), 12, seed=0, threads=2)
        sizes = np.bincount(cluster, minlength=len(centres))
        assert sizes.min() > 0 and sizes.max() <= LARGEST * 6001 / 12
        assert np.array_equal(cluster, nearest_centres(X, centres))


def test_equal_rows_stay_together_and_more_clusters_than_rows_are_no_error():
    centres, cluster = cluster_centres(np.ones((50, 2)), 7, seed=0, threads=1)
    assert len(centres) == 1 and not cluster.any()
    X, y = cloud(20)
    assert 1 < DCSVM(n_clusters=1000).fit(X, y).n_clusters_ <= 20


def test_of_equally_near_centres_the_first_is_taken_however_many_rows_are_asked():
    random = np.random.default_rng(0)
    centres = 1e6 + random.normal(size=(2, 54))
    X = centres.mean(axis=0) + 0.0 * random.normal(size=(3000, 1))
    assert not nearest_centres(X, centres).any()
    assert not any(nearest_centres(X[:rows], centres).any() for rows in (1, 2, 3, 17))
    nearer = 1e-8 * (centres[1] - centres[0])  # less than float32 can tell
    assert nearest_centres(X + nearer, centres).all() and not nearest_centres(X - nearer, centres).any()


def test_missing_columns_are_zeros_and_others_do_not_change_what_is_near():
    random = np.random.default_rng(0)
    X, centres = random.normal(size=(40, 4)), random.normal(size=(6, 4))
    for form in (np.asarray, sparse.csr_matrix):
        wide = form(np.hstack([X, random.normal(size=(40, 2))]))
        assert np.array_equal(nearest_centres(wide, centres), nearest_centres(X, centres))
        zeros = np.hstack([X[:, :2], np.zeros((40, 2))])
        assert np.array_equal(nearest_centres(form(X[:, :2]), centres), nearest_centres(zeros, centres))


def test_what_is_refused():
    X, y = cloud()
    with pytest.raises(InputError, match="n_clusters must be a whole number >= 1, or 'auto', got 0"):
        DCSVM(n_clusters=0).fit(X, y)
    with pytest.raises(InputError, match="numbers are too large for distances between rows: scale the data"):
        DCSVM(n_clusters=2, gamma=1.0).fit(1e200 * X, y)
    fitted = DCSVM(n_clusters=2).fit(X, y)
    with pytest.raises(InputError, match="too large for distances to the centres of clusters: scale the data"):
        fitted.predict(np.full((1, 4), 1.7e308))
    with pytest.raises(ValueError, match="features"):
        fitted.predict(X[:, :3])
    with pytest.raises(InputError, match="unknown kernel of DCSVM 'precomputed'"):
        DCSVM(kernel="precomputed").fit(X @ X.T, y)


# ---------------------------------------------------------------- the file


@FORMS
@pytest.mark.parametrize(("method", "classes"), [(DCSVM, 2), (DCSVM, 3), (DCSVR, 3)])
def test_the_model_survives_its_file(tmp_path, form, method, classes):
    X, y, island = islands(classes=classes)
    X[:, 2] = 0  # a column that no vector has
    model = method(n_clusters=4, kernel="gaussian_diagonal").fit(form(X), island if method is DCSVR else y).model_
    model.save(tmp_path / "m.gz")
    again = load_model(tmp_path / "m.gz")
    assert isinstance(again, ClusterModel) and again.n_features == 3 and again.n_vectors == model.n_vectors
    assert (again.labels is None) if method is DCSVR else (again.labels.tolist() == model.labels.tolist())
    new = islands(200, seed=5)[0]
    np.testing.assert_allclose(again.decision_function(new), model.decision_function(new), atol=1e-12)
    assert method is DCSVR or np.array_equal(again.predict(new), model.predict(new))


GOOD = """cluster_type nearest_centre
kernel_type linear
nr_class 2
label 1 -1
nr_cluster 2
total_sv 3
CLUSTERS
1 1 0.5 1:-3
1 0 -1 1:3
1 1:-4
-1 1:-2
0 1:3
# features 1
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nearest_centre", "tree", "m:1: unknown cluster_type: known is nearest_centre"),
        ("label 1 -1", "label 1 1", "m:4: a label appears twice"),
        ("nr_class 2", "nr_class 1", "m: clusters have no precomputed kernel, and no class or at least two"),
        ("total_sv 3", "total_sv 9", "m:14: 2 lines of clusters and 9 of support vectors are needed, the file has 6"),
        ("1 0 -1 1:3", "0 0 -1 1:3", "m:6: nr_sv of the clusters must be whole and add up to 3"),
        ("1 1 0.5 1:-3", "1 1 0.5 1:-x", "m:8: '1:-x' is not a finite number"),
        ("-1 1:-2", "-1 1:-2 2", "m:11: '2' is out of place"),
    ],
)
def test_a_damaged_file_is_told_by_its_line(tmp_path, old, new, message):
    (tmp_path / "m").write_text(GOOD)
    model = load_model(tmp_path / "m")
    X = np.array([[-5.0], [-0.5], [0.0], [0.5]])
    assert model.decision_function(X).tolist() == [9.5, 0.5, -0.5, 1.0]  # zero is as near to both: the first
    assert model.predict(X).tolist() == [1, 1, -1, 1]
    assert GOOD.count(old) == 1
    (tmp_path / "m").write_text(GOOD.replace(old, new))
    with pytest.raises(InputError) as caught:
        load_model(tmp_path / "m")
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


@FORMS
def test_neighbourhoods_are_in_one_part(form):
    X, _, island = islands(4000)
    divided = neighbourhoods(form(X), seed=0, threads=2)
    assert np.array_equal(np.sort(np.concatenate(divided)), np.arange(4000)) and 4 <= len(divided) <= PARTS
    assert all(len(np.unique(island[part])) == 1 for part in divided)
    again = neighbourhoods(form(X), seed=0, threads=1)
    assert all(np.array_equal(one, other) for one, other in zip(divided, again, strict=True))
    some = np.arange(0, 4000, 3)
    of_part = neighbourhoods(RowPart(SharedRows(KernelSpec("rbf", 1.0), form(X)), some), seed=0, threads=1)
    assert all(len(np.unique(island[some[part]])) == 1 for part in of_part)
    assert len(neighbourhoods(form(1e200 * X), seed=0, threads=1)) == 1


def test_neighbourhoods_of_very_many_columns_stay_sparse():
    random, n, d = np.random.default_rng(0), 2000, 200_000
    X = sparse.csr_matrix((np.ones(5 * n), random.integers(0, d, 5 * n), np.arange(0, 5 * n + 1, 5)), (n, d))
    tracemalloc.start()
    divided = neighbourhoods(X, seed=0, threads=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(map(len, divided)) == n and peak < 100 * 8 * d  # some dense rows, not a thousand


@FORMS
def test_smo_begins_with_parts_where_the_kernel_is_local(form, monkeypatch):
    monkeypatch.setattr(parts, "LEAST_ROWS", 2500)
    rng = np.random.default_rng(2)
    X, asked, solution = rng.uniform(-1, 1, (6000, 2)), [], parts.joint_solution
    monkeypatch.setattr(parts, "joint_solution", lambda *given: asked.append(given) or solution(*given))
    for classes in (2, 3):  # of three, two pairs at a time, each a part of shared rows
        y = rng.integers(0, classes, 6000)
        model = SMO(C=30, gamma=3000).fit(form(X), y)
        assert model.converged_ and len(asked) == (1 if classes == 2 else 4)
    with monkeypatch.context() as undivided:
        undivided.setattr(parts, "LEAST_ROWS", 10**9)
        whole = SMO(C=30, gamma=3000).fit(form(X), y)
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-6)
    assert (model.predict(form(X)) == whole.predict(form(X))).mean() > 0.999


def test_svr_begins_with_parts_too(monkeypatch):
    rng, asked, solution = np.random.default_rng(3), [], parts.joint_solution
    X, y = rng.uniform(-1, 1, (4000, 2)), rng.normal(size=4000)
    whole = SVR(C=30, gamma=3000, epsilon=0.01).fit(X, y)
    monkeypatch.setattr(parts, "LEAST_ROWS", 2500)
    monkeypatch.setattr(parts, "joint_solution", lambda *given: asked.append(given) or solution(*given))
    model = SVR(C=30, gamma=3000, epsilon=0.01).fit(X, y)
    assert asked and model.converged_ and model.objective_ == pytest.approx(whole.objective_, rel=1e-6)
    SVR(C=30, gamma=3000, epsilon=0.01, max_iter=10**7).fit(X, y)
    assert len(asked) == 1  # a limit is for all steps
