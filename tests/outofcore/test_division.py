"""Divide and conquer over blocks: the clusters and SVMs of the in-memory code, whoever trains them, killed or not."""

import numpy as np
import pytest
from scipy import sparse

from svmreduce import DCSVM
from svmreduce.errors import InputError
from svmreduce.outofcore import division, partition_tasks
from tests.outofcore.test_block_reduction import blocks_of
from tests.solvers.test_dcsvm import islands

SETTINGS = {"C": 3.0, "gamma": 0.2, "n_clusters": 4}


def same(one, other, X) -> bool:
    return np.array_equal(one.model_.decision_function(X, threads=1), other.model_.decision_function(X, threads=1))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_clusters_of_any_engine_have_the_svms_of_memory(form, tmp_path):
    distributed = pytest.importorskip("distributed")
    X, y, _ = islands()  # words for labels, three classes, of which some islands lack one or two
    expected = DCSVM(**SETTINGS, class_weight={"bee": 2.0}).fit(form(X), y)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        dask = {"engine": "dask", "scheduler": cluster.scheduler_address}
        for threads, means in ((1, {}), (2, {}), (2, dask)):
            solver = DCSVM(**SETTINGS, class_weight={"bee": 2.0}, threads=threads)
            blocks = blocks_of(form(X), y, 130)
            assert solver.fit_blocks(blocks, work=tmp_path / "work", **means) is solver
            assert blocks.passes == 2 and not (tmp_path / "work").exists()
            assert solver.n_clusters_ == 4 and solver.rows_ == 600 and solver.converged_
            assert same(solver, expected, form(X)) and np.array_equal(
                solver.predict(form(X)), expected.predict(form(X))
            )
            assert solver.objective_ == pytest.approx(expected.objective_, rel=1e-12)


def test_scaling_is_learned_and_followed_and_forgotten_by_a_fit_in_memory():
    X, y, _ = islands()
    solver = DCSVM(C=3.0, n_clusters=4)
    solver.fit_blocks(blocks_of(100 * X + 5, y, 130), scale="standard")
    Z = solver.scaler_.transform(100 * X + 5)
    assert np.abs(Z.mean(axis=0)).max() < 1e-12 and solver.model_.kernel.gamma == pytest.approx(1 / 3)
    assert np.array_equal(solver.predict(100 * X + 5), solver.model_.predict(Z))
    solver.fit(Z, y)
    assert not hasattr(solver, "scaler_") and np.array_equal(solver.predict(Z), solver.model_.predict(Z))


def test_a_killed_run_goes_on_with_the_clusters_that_are_left(tmp_path, monkeypatch):
    X, y, _ = islands()
    whole, work = DCSVM(**SETTINGS, threads=1).fit_blocks(blocks_of(X, y)), tmp_path / "work"
    make, made = partition_tasks.Table.make, []

    def dies(self, section):
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(section)
        make(self, section)

    monkeypatch.setattr(partition_tasks.Table, "make", dies)
    with pytest.raises(KeyboardInterrupt):
        DCSVM(**SETTINGS, threads=1).fit_blocks(blocks_of(X, y, fingerprint="a"), work=work)
    monkeypatch.setattr(partition_tasks.Table, "make", lambda self, part: (made.append(part), make(self, part)))
    with pytest.raises(InputError, match="holds the work of another command"):
        DCSVM(**SETTINGS | {"C": 4.0}).fit_blocks(blocks_of(X, y, fingerprint="a"), work=work)
    blocks = blocks_of(X, y, fingerprint="a")
    assert same(DCSVM(**SETTINGS).fit_blocks(blocks, work=work), whole, X)
    assert blocks.passes == 0 and len(made) == len(set(made)) == 4


def test_a_cluster_that_the_sample_misjudged_is_divided_again(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(2700, 2)), rng.uniform(-500, 500, (300, 2))])[rng.permutation(3000)]
    sizes, together = [], division.Division._together

    def noted(self, table, plan):
        sizes.append([section.stop - section.start for section in table.sections])
        return together(self, table, plan)

    monkeypatch.setattr(division.Division, "_together", noted)
    monkeypatch.setattr(division, "LARGEST_IN_SAMPLE", 100.0)  # the sample's own clusters stay as they are
    blocks = blocks_of(X, np.where(X[:, 0] > 0, 1.0, -1.0))
    monkeypatch.setattr(division, "ROUNDS", 0)
    DCSVM(n_clusters=10, gamma=1.0).fit_blocks(blocks)
    monkeypatch.setattr(division, "ROUNDS", 2)
    solver = DCSVM(n_clusters=10, gamma=1.0).fit_blocks(blocks)
    assert max(sizes[0]) > 2000 and max(sizes[1]) <= 600 and sum(sizes[1]) == 3000
    assert blocks.passes in (5, 6) and solver.score(X, np.where(X[:, 0] > 0, 1.0, -1.0)) > 0.97


def test_what_does_not_go_is_one_line():
    X, y, _ = islands()
    for settings, means, message in (
        ({"exact": True}, {}, "exact=True needs all rows in memory"),
        ({"kernel": "rbf+linear"}, {}, "takes one kernel, not a mixture"),
        ({"kernel": "gaussian_mahalanobis"}, {}, "needs all rows in memory: scale the columns"),
        ({"n_clusters": 300}, {}, "300 clusters of a sample of 600 rows, each needs 16"),
        ({"n_clusters": 1}, {"memory": 26_000}, "600 rows are in one cluster, too many for 0 MB"),
        ({"C": -1.0}, {}, "C must be"),
    ):
        with pytest.raises(InputError, match=message):
            DCSVM(**SETTINGS | settings).fit_blocks(blocks_of(X, y), **means)
    X, y, _ = islands(3000)
    with pytest.raises(InputError, match="the support vectors alone need 0 MB"):
        DCSVM(**SETTINGS | {"gamma": 50.0}).fit_blocks(blocks_of(X, y), memory=85_000)
    with pytest.raises(InputError, match="at least two classes; got 1 class"):
        DCSVM().fit_blocks(blocks_of(X, np.ones(len(y))))
