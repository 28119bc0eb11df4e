"""Reductions of blocks: the rows and weights of the in-memory code, whoever derives a partition, killed or not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from svmreduce import outofcore
from svmreduce.data.blocks import Blocks
from svmreduce.errors import InputError
from svmreduce.outofcore import partition_tasks, reduce_blocks
from svmreduce.outofcore.block_sample import BlockSample
from svmreduce.outofcore.work_folder import WorkFolder
from svmreduce.reducers.derive_rs import DeriveRS
from svmreduce.reducers.random import RandomSample


def blocks_of(X, y, rows=700, fingerprint=""):
    """Blocks of arrays; with a fingerprint as files have it."""
    blocks = Blocks.of_arrays(X, y, rows=rows)
    blocks.fingerprint, blocks._check_unchanged, blocks.passes = fingerprint, lambda: None, 0
    parts = blocks._parts

    def counted():
        blocks.passes += 1
        return parts()

    blocks._parts = counted
    return blocks


def _data(n=3000, d=3, form=np.asarray, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n).astype(float)
    X = rng.normal(size=(n, d)) + 1.5 * y[:, None]
    return form(np.where(X > 0.3, X, 0.0)), y


def same(one, other) -> bool:
    rows = [r.X.toarray() if sparse.issparse(r.X) else r.X for r in (one, other)]
    return (
        np.array_equal(one.indices, other.indices)
        and np.array_equal(one.sample_weight, other.sample_weight)
        and np.array_equal(*rows)
        and np.array_equal(one.y, other.y)
        and one.info["residual_max"] == other.info["residual_max"]
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("settings", [{"first_level": "fls1", "P": 400}, {"P": 5000}, {"epsilon": 0.0, "P": 400}])
def test_the_same_partitions_give_what_memory_gives(form, settings, tmp_path):
    X, y = _data(form=form)
    reducer = DeriveRS(gamma=0.7, **{"V": 100, **settings})
    expected = reducer.fit_reduce(X, y)
    for threads in (1, 2):
        blocks = blocks_of(X, y)
        made = reduce_blocks(reducer.set_params(threads=threads), blocks, work=tmp_path / "work")
        assert same(made.reduction, expected)
        assert made.counts == {label: int((y == label).sum()) for label in (0.0, 1.0)}
        assert not (tmp_path / "work").exists()
        assert blocks.passes == (2 if "P" in settings and settings["P"] == 5000 else 1)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_parts_cut_by_distance_hold_at_most_P_rows_and_every_row_counts(form, kernel, tmp_path):
    X, y = _data()
    X[::3] = 0.0  # a third of the rows are equal, so that no distance tells them apart
    X = form(X)
    reducer = DeriveRS(kernel=kernel, gamma=0.7, V=50, P=200)
    made = [reduce_blocks(reducer, blocks_of(X, y, rows), work=tmp_path / "w") for rows in (700, 3000)]
    first = made[0].reduction
    assert same(first, made[1].reduction)
    assert first.info["partitions"] >= len(y) / 200 and first.info["residual_max"] <= 0.01
    assert first.sample_weight.sum() == pytest.approx(len(y), rel=1e-12)
    assert np.array_equal(y[first.indices], first.y)


@pytest.mark.parametrize("scale", ["standard", "minus_one_one", "unit"])
def test_scaling_and_gamma_are_learned_from_all_rows(scale):
    from svmreduce.data.scaling import Scaler

    X, y = _data()
    X = X * [1.0, 100.0, 0.01] + 5
    scaled = Scaler(scale).fit(X).transform(X)
    expected = DeriveRS(P=5000).fit_reduce(scaled, y)
    made = reduce_blocks(DeriveRS(P=5000), blocks_of(X, y), scale=scale)
    assert made.kernel.gamma == pytest.approx(1 / (3 * scaled.var()), rel=1e-9)
    assert_allclose(made.scaler.transform(X), scaled, atol=1e-12)
    assert made.reduction.n_rows == pytest.approx(expected.info["kept"], rel=0.02)
    assert_allclose(made.reduction.X, scaled[made.reduction.indices], atol=1e-12)


def test_a_run_that_was_killed_goes_on_with_the_partitions_that_are_left(tmp_path, monkeypatch):
    X, y = _data()
    reducer = DeriveRS(gamma=0.7, V=50, P=300, threads=1)
    whole = reduce_blocks(reducer, blocks_of(X, y)).reduction
    make, made = partition_tasks.Table.make, []

    def dies(self, section):
        if len(made) == 4:
            raise KeyboardInterrupt
        made.append(section)
        make(self, section)

    monkeypatch.setattr(partition_tasks.Table, "make", dies)
    work = tmp_path / "work"
    with pytest.raises(KeyboardInterrupt):
        reduce_blocks(reducer, blocks_of(X, y, fingerprint="a"), work=work)
    monkeypatch.setattr(
        partition_tasks.Table, "make", lambda self, section: (made.append(section), make(self, section))
    )
    for other in (blocks_of(X, y, fingerprint="b"), blocks_of(X, y)):
        with pytest.raises(InputError, match="holds the work of another command"):
            reduce_blocks(reducer, other, work=work)
    (work / made[0].result).write_bytes((work / made[0].result).read_bytes()[:-40])  # damaged: made once more
    blocks = blocks_of(X, y, fingerprint="a")
    resumed = reduce_blocks(reducer, blocks, work=work).reduction
    assert same(resumed, whole) and blocks.passes == 0
    assert len(made) == resumed.info["partitions"] + 1 and len(set(made)) == len(made) - 1
    assert not work.exists()


def test_a_full_disk_is_one_line_and_leaves_no_rows_behind(tmp_path, monkeypatch):
    X, y = _data()
    monkeypatch.setattr(outofcore.row_files, "BUFFER_BYTES", 1000)
    reducer, work = DeriveRS(gamma=0.7, V=50, P=300), tmp_path / "work"
    flush, calls = outofcore.row_files.RowFiles.flush, []

    def full(self):
        calls.append(0)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        flush(self)

    monkeypatch.setattr(outofcore.row_files.RowFiles, "flush", full)
    with pytest.raises(InputError, match="the disk is full; make room"):
        reduce_blocks(reducer, blocks_of(X, y, fingerprint="a"), work=work)
    assert len(calls) == 3 and not list(work.glob("*.rows")) + list(work.glob("*.numbers"))
    monkeypatch.setattr(outofcore.work_folder.shutil, "disk_usage", lambda path: type("", (), {"free": 1000}))
    with pytest.raises(InputError, match=r"on the disk, 0\.00 GB are free: name a folder elsewhere"):
        reduce_blocks(reducer, blocks_of(X, y, fingerprint="a"), work=work)


@pytest.mark.parametrize("size", [{"share": 0.05}, {"rows": 150}])
def test_a_random_sample_of_blocks_is_stratified_and_does_not_see_the_blocks(size):
    X, y = _data()
    y[7] = 9.0  # a class of one row
    made = [reduce_blocks(RandomSample(**size), blocks_of(X, y, rows)) for rows in (100, 3000)]
    first = made[0].reduction
    assert np.array_equal(first.indices, made[1].reduction.indices)
    assert np.array_equal(first.X, X[first.indices]) and np.array_equal(first.y, y[first.indices])
    for label in np.unique(y):
        count = (y == label).sum()
        assert (first.y == label).sum() == max(1, round(0.05 * count))
        assert first.sample_weight[first.y == label].sum() == pytest.approx(count)


def test_a_sample_of_rows_that_pass_by_is_uniform_and_small():
    sample = BlockSample(rows=500, seed=3)
    for k in range(100):
        sample.add(np.arange(1000.0)[:, None] + 1000 * k, np.zeros(1000, int))
        assert sum(len(part[1]) for part in sample._parts) < 5000
    X, _, numbers = sample.rows_kept()
    assert np.array_equal(X.ravel(), numbers) and len(set(numbers)) == 500
    assert np.histogram(numbers, 5, (0, 100_000))[0].min() > 60


def test_workers_of_a_cluster_keep_the_same_rows(tmp_path):
    distributed = pytest.importorskip("distributed")
    X, y = _data()
    reducer = DeriveRS(gamma=0.7, V=50, P=300)
    here = reduce_blocks(reducer, blocks_of(X, y)).reduction
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        means = {"work": tmp_path / "work", "engine": "dask", "scheduler": cluster.scheduler_address}
        assert same(reduce_blocks(reducer, blocks_of(X, y), **means).reduction, here)
        work = WorkFolder(tmp_path / "other", {})
        with pytest.raises(InputError, match="another process works in this folder"):
            reduce_blocks(reducer, blocks_of(X, y), **means | {"work": work.path})


def test_a_folder_with_files_of_others_is_left_as_it_is(tmp_path):
    (tmp_path / "work" / ".git").mkdir(parents=True)
    X, y = _data()
    with pytest.raises(InputError, match="is not empty"):
        reduce_blocks(DeriveRS(gamma=0.7), blocks_of(X, y), work=tmp_path / "work")
    assert [path.name for path in (tmp_path / "work").iterdir()] == [".git"]


def test_rows_that_change_between_passes_are_told():
    X, y = _data()
    passes = iter([[(X, y)], [(X, y)], [(X[:-5], y[:-5])]])  # the first is looked at for its shape
    with pytest.raises(InputError, match="rows in the first pass and"):
        reduce_blocks(DeriveRS(gamma=0.7), Blocks.of_iterator(lambda: iter(next(passes))))
    mixed = [(X, y), (X, y.astype(str))]
    with pytest.raises(InputError, match="labels of some blocks are words"):
        reduce_blocks(DeriveRS(gamma=0.7), Blocks.of_iterator(lambda: iter(mixed)))
