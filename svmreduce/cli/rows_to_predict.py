"""The rows that ``predict`` and ``score`` go through, at once or block by block, and the figures of a model on them."""

from __future__ import annotations

import warnings
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from svmreduce.cli.common import reader_of
from svmreduce.cli.kernel_table import table_to_predict
from svmreduce.errors import InputError

FEW = 20  # rows that may well be of one class


class RowsToPredict:
    """A file, a folder or a data set of the catalogue.

    Text is read in blocks if its rows would take more than ``memory``; Parquet, Arrow and .npy files always are.
    """

    def __init__(self, source: str, header, label, no_label: bool, memory: str | None):
        from svmreduce.memory import memory_limit

        self.source, self.header, self.label, self.no_label = source, header, label, no_label
        self.memory = memory_limit(memory)
        self.is_streamed = Path(source).exists() and self._is_large()

    def _is_large(self) -> bool:
        from svmreduce.data.formats import sniff
        from svmreduce.data.pieces import exceeds

        return sniff(Path(self.source)) in ("columnar", "npy") or exceeds(self.source, self.memory)

    def raw(self, loaded):
        """The pieces as files have them; for a table of kernel values the only one."""
        from svmreduce.data.pieces import raw_pieces
        from svmreduce.data.preparation import Choices

        if _has_table_of_kernel(loaded):
            return iter([table_to_predict(self.source)])
        if self.is_streamed:
            return raw_pieces(self.source, header=self.header, no_label=self.no_label)
        choices = Choices(label=self.label, header=self.header, no_label=self.no_label)
        return iter([reader_of(self.source, "test", choices)()])

    def prepared(self, loaded):
        """A function that prepares one piece after the other as the model's training rows were."""
        from dataclasses import replace

        from svmreduce.data.new_rows import NewRows

        if _has_table_of_kernel(loaded):
            return lambda raw: replace(raw, y=None if self.no_label else raw.y)
        given = getattr(loaded, "preparation", None)
        return NewRows(given, loaded.n_features, label=self.label, no_label=self.no_label).prepared

    def scores_of(self, loaded) -> ModelScores:
        return ModelScores(loaded, self.source, self.memory)

    def blocks(self, loaded, scores: ModelScores):
        """Prepared rows in blocks of the same size, whatever the pieces; labels are checked with the first piece."""
        from svmreduce.data.new_rows import cut
        from svmreduce.data.pieces import block_rows, in_blocks

        prepare = self.prepared(loaded)

        def parts():
            for number, raw in enumerate(self.raw(loaded)):
                rows = prepare(raw)
                if not number and rows.y is not None and not scores.is_one_class:
                    scores.check_labels(rows.y)
                yield from cut(rows)

        yield from in_blocks(parts(), block_rows(loaded.n_features))


def _has_table_of_kernel(loaded) -> bool:
    return getattr(getattr(loaded, "kernel", None), "name", "") == "precomputed"


class ModelScores:
    """The figures of one model, block by block."""

    def __init__(self, loaded, source: str, memory: int):
        from svmreduce.data.preparation import Preparation
        from svmreduce.running_scores import RunningClassification, RunningRegression

        self.model = getattr(loaded, "model", loaded)
        self.source, self.rows, self.seconds = source, 0, 0.0
        preparation = getattr(loaded, "preparation", None) or Preparation(self.model.n_features)
        labels = self.model.labels
        self.match = lambda y, counts=None: preparation.matched(y, labels, source, counts)
        self.is_one_class = self.model.task == "classification" and self.model.labels is None
        self._predicted: Counter = Counter()
        self._true: set = set()
        self.is_labelled = False
        if self.model.task == "regression":
            self._running = RunningRegression()
        else:
            classes = _no_labels() if labels is None else labels
            self._running = RunningClassification(classes, self.match, preparation.positive, memory)

    @property
    def auc_left_out(self) -> bool:
        return getattr(self._running, "left_out", False)

    def needs_auc(self, y) -> bool:
        return y is not None and self.model.labels is not None and len(self.model.labels) == 2

    def check_labels(self, y) -> None:
        """Labels of which the model knows none are refused at once, unless later rows may tell what they stand for."""
        import numpy as np

        from svmreduce.label_keys import label_key

        labels = np.unique(y)
        if {label_key(label) for label in labels.tolist()[:4]} <= {"0", "1", "-1"}:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.match(labels)

    @contextmanager
    def timed(self):
        start = perf_counter()
        yield
        self.seconds += perf_counter() - start

    def add(self, y, predicted, decisions) -> None:
        from svmreduce.label_keys import count_labels

        self.rows += len(predicted)
        if self.model.task != "regression":
            self._predicted.update(count_labels(predicted))
        if y is None:
            return
        self.is_labelled = True
        if self.is_one_class:
            self._true |= count_labels(y).keys() if len(self._true) <= 2 else set()
            if not self._true <= {"1", "-1"}:  # names of classes, of which the model knows nothing
                return
        if self.model.task == "regression":
            self._running.add(self.match(y), predicted)
        else:
            self._running.add(y, predicted, decisions if self.needs_auc(y) else None)

    def result(self) -> dict:
        if not self.rows:
            raise InputError(f"{self.source}: no rows; give a file with rows")
        if self.is_labelled and self._true <= {"1", "-1"}:
            return self._running.result()
        if self.model.task == "regression":
            return {}
        order = sorted(self._predicted, key=lambda word: (_number(word) is None, _number(word) or 0.0, word))
        return {"predicted": {word: self._predicted[word] for word in order}}


def one_answer(found: dict, rows: int) -> str | None:
    """A warning where a model gives every row the same label, although there seem to be others."""
    predicted = found.get("predicted", {})
    if "confusion" in found:
        counts = [sum(column) for column in zip(*found["confusion"], strict=True)]
        predicted = {label: count for label, count in zip(found["labels"], counts, strict=True) if count}
        if sum(map(any, found["confusion"])) < 2:
            return None
    if len(predicted) != 1 or rows < FEW:
        return None
    label = next(iter(predicted))
    return f"all {rows} rows get the label {label}: the model learned nothing, or rows are prepared in another way here"


def _no_labels():
    import numpy as np

    return np.empty(0)


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
