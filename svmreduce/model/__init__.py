"""Trained models, in the formats of LIBSVM and LIBLINEAR where possible: read and written as text, never as pickles."""

from __future__ import annotations

import os
from pathlib import Path

from svmreduce.data.files import open_maybe_compressed
from svmreduce.errors import InputError
from svmreduce.model.base import votes
from svmreduce.model.cluster_model import ClusterModel
from svmreduce.model.fourier_model import FourierMap, FourierModel
from svmreduce.model.kernel_model import KernelModel
from svmreduce.model.linear_model import LinearModel
from svmreduce.model.prepared_model import PreparedModel, with_preparation

__all__ = [
    "ClusterModel",
    "FourierMap",
    "FourierModel",
    "KernelModel",
    "LinearModel",
    "PreparedModel",
    "load_model",
    "votes",
]

_KINDS = {
    b"svm_type": KernelModel,
    b"solver_type": LinearModel,
    b"feature_type": FourierModel,
    b"cluster_type": ClusterModel,
}


def load_model(path: str | os.PathLike) -> KernelModel | LinearModel | FourierModel | ClusterModel | PreparedModel:
    """A model from a file of LIBSVM, of LIBLINEAR, of random features or of clusters; the first word decides which.

    A model of ``svmreduce train`` that remembers its columns or a scaling takes rows as files have them, also as a
    DataFrame.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name the model file in it")
    if not path.is_file():
        raise InputError(f"{path}: no such model file; train one with: svmreduce train DATA {path}")
    with open_maybe_compressed(path) as file:
        words = file.readline(200).split()
    if not words or words[0] not in _KINDS:
        raise InputError(
            f"{path}:1: not a model file: it must begin with svm_type (LIBSVM), solver_type (LIBLINEAR), "
            "feature_type (random features) or cluster_type (clusters)"
        )
    text = _KINDS[words[0]].text_of(path)
    return with_preparation(_KINDS[words[0]].from_text(text), text)
