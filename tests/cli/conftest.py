import numpy as np
import pytest

from svmreduce.data.libsvm_text import write_libsvm


@pytest.fixture
def files(tmp_path):
    """A folder with two classes in ``train`` and ``test``, a regression in ``numbers``; and the rows themselves."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=200) > 0, 1.0, -1.0)
    write_libsvm(tmp_path / "train", X[:150], y[:150])
    write_libsvm(tmp_path / "test", X[150:], y[150:])
    write_libsvm(tmp_path / "numbers", X, X[:, 0] ** 2 + X[:, 1])
    return tmp_path, X, y
