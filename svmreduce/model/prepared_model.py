"""A model together with the preparation of its rows: it predicts rows as files and DataFrames have them.

The preparation is one last line of the model's file, ``# preparation {…}``. LIBSVM and LIBLINEAR stop reading before
it, so the file remains theirs to use; and it can neither get lost nor belong to another model.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from svmreduce.data.preparation import Preparation
from svmreduce.model.text import ModelText
from svmreduce.types import Matrix

if TYPE_CHECKING:
    import pandas as pd

_LINE = "# preparation "


class PreparedModel:
    """A model that takes rows as they were before training prepared them; all else is the model's.

    Parameters
    ----------
    model : KernelModel, LinearModel, FourierModel or ClusterModel
    preparation : Preparation
    """

    def __init__(self, model, preparation: Preparation):
        self.model = model
        self.preparation = preparation

    def __getattr__(self, name: str) -> Any:
        if name in ("model", "preparation"):  # not there yet, as while it is copied
            raise AttributeError(name)
        return getattr(self.model, name)

    def decision_function(self, X: Matrix | pd.DataFrame, *, threads: int | None = None) -> np.ndarray:
        """Decision values for a DataFrame with the columns of training, in any order, or for rows of numbers."""
        return self.model.decision_function(self.preparation.rows(X), threads=threads)

    def predict(self, X: Matrix | pd.DataFrame, *, threads: int | None = None) -> np.ndarray:
        """Labels or values for a DataFrame with the columns of training, in any order, or for rows of numbers."""
        return self.model.predict(self.preparation.rows(X), threads=threads)

    def predict_proba(self, X: Matrix | pd.DataFrame, *, threads: int | None = None) -> np.ndarray:
        """Probabilities of the classes in the order of ``labels``, if the model has them."""
        return self.model.probabilities(self.decision_function(X, threads=threads))

    def save(self, path: str | os.PathLike) -> None:
        """Write the model's file, with the preparation in its last line."""
        self.model.save(path, last_line=f"{_LINE}{json.dumps(self.preparation.to_json())}\n")


def with_preparation(model, text: ModelText):
    """The model, with the preparation that its file has, if there is one."""
    number, line = text.last_line(_LINE)
    if not line:
        return model
    try:
        preparation = Preparation.from_json(json.loads(line[len(_LINE) :]))
        if preparation.width != model.n_features:
            raise ValueError(f"it makes {preparation.width} columns, the model has {model.n_features}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise text.fail(number, f"the preparation of rows cannot be read ({why}); train again") from None
    return PreparedModel(model, preparation)
