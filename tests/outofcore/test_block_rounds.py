"""RandSVM over blocks: the optimum and its proof, the same for all blocks and threads, and as good as in memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from svmreduce.data.blocks import Blocks
from svmreduce.data.synthetic import make
from svmreduce.errors import InputError
from svmreduce.outofcore import block_rounds
from svmreduce.randsvm import RandSVM
from tests.outofcore.test_block_reduction import blocks_of
from tests.solvers.test_randsvm import certificate, cloud


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    monkeypatch.setattr(block_rounds, "ROWS", 256)


@pytest.mark.parametrize(
    ("form", "settings"),
    [(sparse.csr_matrix, {}), (np.asarray, {"kernel": "linear", "backend": "libsvm"}), (np.asarray, {"tol": 1e-4})],
)
def test_without_violators_it_is_the_optimum_of_all_rows(form, settings):
    X, y = cloud(1500)
    settings = {"C": 2, "gamma": 0.3, "k": 900, "c": 0.9, **settings}
    fitted = RandSVM(**settings).fit_blocks(blocks_of(form(X), y, 130))
    assert fitted.stop_reason_ == "no violators" and fitted.rounds_ > 1 and fitted.converged_ and fitted.rows_ == 1500
    gap, duality_gap = certificate(fitted, X, y, 2)
    assert fitted.gap_ == pytest.approx(gap, abs=1e-6) and gap <= fitted.tol
    assert fitted.duality_gap_ == pytest.approx(duality_gap, abs=1e-5 * abs(fitted.objective_))
    assert fitted.history_[-1]["scanned"] + fitted.history_[-1]["rows"] == len(y)
    assert_allclose(fitted.decision_function(X), RandSVM(**settings).fit(X, y).decision_function(X), atol=0.01)


def test_blocks_and_threads_change_nothing_and_it_is_as_good_as_in_memory():
    data = make("checkerboard", 4000, seed=0)
    settings = {"C": 10, "gamma": 2.0, "k": 400, "c": 1.0}
    here = RandSVM(**settings).fit(data.X, data.y)
    first, *others = (
        RandSVM(**settings, threads=threads).fit_blocks(blocks_of(data.X, data.y, rows))
        for rows, threads in ((700, 1), (333, 2), (4000, 2))
    )
    assert first.stop_reason_ == here.stop_reason_ == "k support vectors" and first.gap_ is None and first.k_ == 400
    assert first.score(data.X, data.y) == pytest.approx(here.score(data.X, data.y), abs=0.01)
    assert np.array_equal(data.X[first.support_], first.support_vectors_)
    for other in others:
        assert other.history_ == first.history_ and np.array_equal(other.support_, first.support_)
        assert np.array_equal(other.dual_coef_, first.dual_coef_)


def test_every_round_is_a_pass_and_its_violators_come_from_the_whole_file(monkeypatch):
    data, chosen, take = make("checkerboard", 4000, seed=0), [], block_rounds.BlockRounds._next_sample
    order = np.argsort(data.X[:, 0])  # the file has an order that matters
    monkeypatch.setattr(
        block_rounds.BlockRounds,
        "_next_sample",
        lambda self, *rows: (chosen.append(self.chosen[2]), take(self, *rows))[1],
    )
    blocks = blocks_of(data.X[order], data.y[order])
    fitted = RandSVM(C=10, gamma=2.0, k=400, c=1.0).fit_blocks(blocks)
    assert blocks.passes == 1 + fitted.rounds_ > 5
    assert fitted.history_[0]["scanned"] == 3600 and fitted.history_[0]["violators"] > 2 * len(chosen[0])
    assert 1600 < np.mean(chosen[0]) < 2400 and np.all(np.diff(chosen[0]) > 0)


def test_k_of_rows_that_nobody_counted_and_scaling_and_a_sample_of_all_rows():
    X, y = cloud(600)
    names = np.where(y > 0, "yes", "no")
    blocks = Blocks.of_iterator(lambda: ((100 * X[k : k + 90] + 5, names[k : k + 90]) for k in range(0, 600, 90)))
    assert blocks.n_rows is None
    fitted = RandSVM(C=2).fit_blocks(blocks, scale="standard")
    Z = fitted.scaler_.transform(100 * X + 5)
    here = RandSVM(C=2).fit(Z, names)
    assert fitted.k_ == here.k_ > 600 and fitted.history_ == here.history_ and fitted.gap_ == pytest.approx(here.gap_)
    assert np.array_equal(fitted.predict(100 * X + 5), here.predict(Z))
    fitted.fit(Z, names)
    assert not hasattr(fitted, "scaler_") and np.array_equal(fitted.predict(Z), here.predict(Z))


def test_a_rare_class_is_in_every_sample():
    X, y = cloud(3000)
    y[:] = 1.0
    y[1234], X[1234] = -1.0, -5.0
    for settings in ({}, {"kernel": "linear", "backend": "liblinear"}):
        fitted = RandSVM(C=10, k=20, c=1.0, **settings).fit_blocks(blocks_of(X, y))
        assert fitted.predict(X[1234:1235]).tolist() == [-1.0]


def test_what_does_not_go_is_one_line():
    X, y = cloud(600)
    for settings, means, message in (
        ({}, {"engine": "dask"}, "threads of one machine: leave out --engine dask"),
        ({"k": 500}, {"memory": 40_000}, "needs more than --memory allows: lower k or c"),
        ({"kernel": "laplacian"}, {}, "laplacian"),
        ({"backend": "liblinear"}, {}, "backend 'liblinear' is for kernel 'linear'"),
        ({"C": -1.0}, {}, "C must be"),
    ):
        with pytest.raises(InputError, match=message):
            RandSVM(**settings).fit_blocks(blocks_of(X, y), **means)
    for labels, message in (
        (np.arange(600) % 3, "takes rows of two classes from the disk, got 3"),
        (0 * y, "from the disk, got 1;"),
    ):
        with pytest.raises(InputError, match=message):
            RandSVM().fit_blocks(blocks_of(X, labels))
    for others, message in (((X[:500], y[:500]), "500 rows, 600 in the first pass"), ((X, y + 7), "other labels")):
        blocks, passes = blocks_of(X, y), iter([(X, y), others])
        blocks._parts = lambda passes=passes: [next(passes)]
        with pytest.raises(InputError, match=message):
            RandSVM(k=599, c=0.5).fit_blocks(blocks)
