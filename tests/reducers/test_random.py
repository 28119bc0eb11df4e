"""The random sample: its size, and what its rows stand for."""

import numpy as np
import pytest

from svmreduce.errors import InputError
from svmreduce.reducers.random import RandomSample


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 3)), np.repeat(["a", "b", "c"], [200, 97, 3])


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
