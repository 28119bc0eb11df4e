"""Words that look the same are the same: labels, categories and names of columns, in every format."""

import unicodedata

import numpy as np
import pandas as pd
import pytest

from svmreduce.data.blocks import open_blocks
from svmreduce.data.formats import load_training, read_rows
from svmreduce.data.preparation import Choices
from svmreduce.label_keys import label_key, one_spelling

ONE, TWO = (unicodedata.normalize(form, "größe") for form in ("NFC", "NFD"))
WRITERS = {"csv": pd.DataFrame.to_csv, "parquet": pd.DataFrame.to_parquet}


def table(path, word, other, form, **more):
    """A column, its categories and the labels have this word; the other one stands for it in half of the rows."""
    words = [word, "x", other, "x"] * 10
    frame = pd.DataFrame({word: np.arange(40.0) % 7, "c": words, "label": words, **more})
    WRITERS[form](frame, path, index=False)
    return path


@pytest.mark.parametrize("word", [TWO, f"{ONE}\u00a0", f"\u200b{ONE}", f"\ufeff{ONE}"])
def test_one_spelling(word):
    assert one_spelling(word) == label_key(word) == ONE != word
    assert one_spelling("a\u00a0b\u202fc\n ") == "a b c" and one_spelling("No") != one_spelling("no")


@pytest.mark.parametrize("form", WRITERS)
def test_tables(tmp_path, form):
    train, preparation = load_training(table(tmp_path / "train", ONE, TWO, form), Choices(columns=(TWO, "c")))
    assert train.classes.tolist() == [ONE, "x"] and preparation.titles == [ONE, f"c={ONE}", "c=x"]
    again = preparation.new(read_rows(table(tmp_path / "test", TWO, f"{TWO}\u00a0", form)), train.classes)
    np.testing.assert_array_equal(again.X, train.X)
    np.testing.assert_array_equal(again.y, train.y)
    frame = pd.DataFrame({TWO: np.arange(40.0) % 7, "c": [TWO, "x"] * 20})
    np.testing.assert_array_equal(preparation.rows(frame), train.X)


@pytest.mark.parametrize("form", WRITERS)
def test_blocks(tmp_path, form):
    path = table(tmp_path / "rows", TWO, ONE, form)
    blocks = open_blocks(path, Choices(drop=("c",)), rows=20)
    assert blocks.schema.columns[0].name == ONE
    assert [set(y.tolist()) for _, y in blocks] == [{ONE, "x"}] * 2


def test_arrays(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((3, 1)))
    np.save(tmp_path / "y.npy", [ONE, TWO, "x"])
    assert read_rows(tmp_path / "X.npy").y.tolist() == [ONE, ONE, "x"]
