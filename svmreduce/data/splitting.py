"""Training and test parts: folds, a holdout, or the test set that came with the data.

Each gives :class:`~svmreduce.types.Split` objects. Rows keep their file order inside a part, so that a
split depends on the seed and on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from svmreduce.data.scaling import Scaler
from svmreduce.errors import InputError
from svmreduce.label_keys import count_labels
from svmreduce.types import Dataset, Split


def folds(dataset: Dataset, k: int = 5, seed: int | None = 0) -> Iterator[Split]:
    """``k`` splits in which every row is tested once; classes keep their shares.

    With ``seed=None`` the folds are runs of rows in file order, as some papers cut them: on data whose
    neighbours in the file are alike this is another, easier-to-reduce training set.

    Raises
    ------
    InputError
        When a class has fewer rows than there are folds.
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    if not 2 <= k <= dataset.n_rows:
        raise InputError(f"{k} folds of {dataset.n_rows} rows: need between 2 and the number of rows")
    if seed is None:
        splitter = KFold(k)
    elif dataset.task == "classification":
        _enough_rows_per_class(dataset, k, f"{k} folds")
        splitter = StratifiedKFold(k, shuffle=True, random_state=seed)
    else:
        splitter = KFold(k, shuffle=True, random_state=seed)
    for fold, (train, test) in enumerate(splitter.split(np.zeros(dataset.n_rows), dataset.y)):
        yield Split(dataset.take(train), dataset.take(test), fold)


def holdout(dataset: Dataset, test_share: float = 0.2, seed: int = 0) -> Split:
    """One split with that share of the rows for testing; classes keep their shares."""
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

    if not 0 < test_share < 1:
        raise InputError(f"test_share {test_share}: need a number between 0 and 1")
    if dataset.task == "classification":
        _enough_rows_per_class(dataset, 2, "a holdout")
        splitter = StratifiedShuffleSplit(1, test_size=test_share, random_state=seed)
    else:
        splitter = ShuffleSplit(1, test_size=test_share, random_state=seed)
    try:
        train, test = next(splitter.split(np.zeros(dataset.n_rows), dataset.y))
    except ValueError as error:
        raise InputError(f"cannot hold out {test_share:g} of {dataset.n_rows} rows: {error}") from None
    return Split(dataset.take(np.sort(train)), dataset.take(np.sort(test)))


def given_test(train: Dataset, test: Dataset) -> Split:
    """The split a data set came with; both parts must have the same columns."""
    if train.n_features != test.n_features:
        raise InputError(
            f"{train.n_features} columns for training, {test.n_features} for testing: "
            "read both with the same number of features"
        )
    return Split(train, test)


def scale_split(split: Split, scaler: str) -> Split:
    """The split with both parts scaled by what was learned from the training rows alone."""
    fitted = Scaler(scaler).fit(split.train.X)
    return replace(
        split,
        train=replace(split.train, X=fitted.transform(split.train.X)),
        test=replace(split.test, X=fitted.transform(split.test.X)),
    )


def _enough_rows_per_class(dataset: Dataset, needed: int, what: str) -> None:
    label, fewest = min(count_labels(dataset.y).items(), key=lambda item: item[1])
    if fewest < needed:
        raise InputError(
            f"{what}: {needed} rows of each class are needed, but class {label} has {fewest}; leave out classes so rare"
        )
