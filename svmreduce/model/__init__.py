"""Trained models, as LIBSVM and LIBLINEAR keep them: text files both ways, never pickles."""

from __future__ import annotations

from pathlib import Path

from svmreduce.data.files import open_maybe_compressed
from svmreduce.errors import InputError
from svmreduce.model.kernel import KernelModel, votes
from svmreduce.model.linear import LinearModel

__all__ = ["KernelModel", "LinearModel", "load_model", "votes"]


def load_model(path) -> KernelModel | LinearModel:
    """A model from a file of LIBSVM or LIBLINEAR; the first word tells which."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name the model file in it")
    if not path.is_file():
        raise InputError(f"{path}: no such model file; train one with: svmreduce train DATA {path}")
    with open_maybe_compressed(path) as file:
        words = file.read(200).split()
    if words[:1] == [b"solver_type"]:
        return LinearModel.load(path)
    if words[:1] == [b"svm_type"]:
        return KernelModel.load(path)
    raise InputError(f"{path}:1: not a model file: it must begin with svm_type (LIBSVM) or solver_type (LIBLINEAR)")
