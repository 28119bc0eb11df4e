"""The random sample, and the contract of every reducer."""

import json

import numpy as np
import pytest
from scipy import sparse

from svmreduce.errors import InputError
from svmreduce.reducers import REDUCERS
from svmreduce.reducers.random import RandomSample


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 3)), np.repeat(["a", "b", "c"], [200, 97, 3])


@pytest.mark.filterwarnings("ignore:no row of class")
@pytest.mark.parametrize("name", REDUCERS.names())
class TestContract:
    def test_kept_rows_are_rows_and_weights_cover_everything(self, name, rows):
        X, y = rows
        reducer = REDUCERS.get(name)
        kept = reducer().fit_reduce(X, y)
        assert np.array_equal(kept.X, X[kept.indices]) and np.array_equal(kept.y, y[kept.indices])
        assert len(set(kept.indices.tolist())) == len(kept.indices) < len(y)
        assert kept.sample_weight.sum() == pytest.approx(len(y) if reducer.gives_weights else len(kept.y))
        assert set(kept.y) == set(y) or not reducer.keeps_every_class
        assert json.loads(json.dumps(kept.info)) is not None

    def test_same_seed_same_rows_and_sparse_equals_dense(self, name, rows):
        X, y = rows
        reducer = REDUCERS.get(name)
        first, second = reducer().fit_reduce(X, y), reducer().fit_reduce(sparse.csr_matrix(X), y)
        assert np.array_equal(first.indices, second.indices)
        assert np.array_equal(second.X.toarray(), first.X)

    def test_bad_rows_are_refused(self, name, rows):
        X, y = rows
        with pytest.raises(ValueError, match="NaN"):
            REDUCERS.get(name)().fit_reduce(np.where(X > 2, np.nan, X), y)


def test_every_class_keeps_its_share(rows):
    kept = RandomSample(share=0.1).fit_reduce(*rows)
    labels, counts = np.unique(kept.y, return_counts=True)
    assert dict(zip(labels, counts, strict=True)) == {"a": 20, "b": 10, "c": 1}
    assert set(kept.sample_weight[kept.y == "c"]) == {3.0}


def test_rows_overrides_share_and_weights_can_be_left_out(rows):
    kept = RandomSample(rows=150, weighted=False).fit_reduce(*rows)
    assert len(kept.y) == pytest.approx(150, abs=2)
    assert set(kept.sample_weight) == {1.0}


def test_regression_targets_are_one_stratum():
    X = np.arange(40.0)[:, None]
    kept = RandomSample(share=0.25).fit_reduce(X, X[:, 0] + 0.5)
    assert len(kept.y) == 10 and kept.sample_weight.sum() == 40


@pytest.mark.parametrize("arguments", [{"share": 0}, {"share": 1.5}, {"rows": 0}, {"rows": 301}])
def test_impossible_sizes(rows, arguments):
    with pytest.raises(InputError, match=r"^(share|rows) must be"):
        RandomSample(**arguments).fit_reduce(*rows)
