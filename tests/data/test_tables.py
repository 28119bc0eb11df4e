"""Tables: separators, headers, labels, categories, real files, and errors with their place."""

import warnings

import numpy as np
import pandas as pd
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from svmreduce.data import table_text
from svmreduce.data.files import Source
from svmreduce.data.formats import load_dataset, load_training, read_rows, read_table, read_tables
from svmreduce.data.labels import check_classes
from svmreduce.data.preparation import Choices
from svmreduce.data.table_fields import likely_separator
from svmreduce.data.table_text import TextFormat, read_text_table
from svmreduce.errors import DataNote, DataWarning, InputError


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SVMREDUCE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def table(tmp_path):
    def read(text, **options):
        (tmp_path / "t").write_bytes(text.encode() if isinstance(text, str) else text)
        return read_table(tmp_path / "t", **options)

    return read


@pytest.mark.parametrize(
    "text",
    [
        "1,2,a\n3,4,b\n",
        "1;2;a\n3;4;b",
        " 1  2\ta\r\n\r\n3 4   b  \r\n",
        "# note\n1 , 2 , a\n\n3 , 4 , b \n",
        'x,y,"the class"\n1,2,a\n3,4,b\n',
        '"x";"y";"class"\n"1";2;"a"\n3;4;"b"\n',
    ],
)
def test_same_table_in_many_dresses(table, text):
    X, y = table(text)
    np.testing.assert_array_equal(X, [[1, 2], [3, 4]])
    assert X.flags.c_contiguous and X.dtype == np.float64
    assert y.tolist() == ["a", "b"]


@settings(max_examples=150, deadline=None)
@given(
    st.integers(2, 6).flatmap(
        lambda width: st.lists(
            st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=width, max_size=width),
            min_size=1,
            max_size=8,
        )
    ),
    st.sampled_from([",", ";", " ", "\t"]),
)
def test_numbers_come_back_exactly(tmp_path_factory, rows, separator):
    path = tmp_path_factory.mktemp("t") / "t"
    path.write_text("\n".join(separator.join(map(repr, row)) for row in rows))
    X, y = read_table(path, separator=separator)
    assert np.column_stack([X, y]).tobytes() == np.array(rows).tobytes()


def test_many_chunks(table, monkeypatch):
    monkeypatch.setattr("svmreduce.data.chunks.CHUNK_BYTES", 50)
    rows = np.random.default_rng(0).standard_normal((300, 4))
    X, y = table("\n\n# note\n".join(",".join(map(repr, row)) for row in rows.tolist()))
    assert np.column_stack([X, y]).tobytes() == rows.tobytes()


def test_label_and_drop_by_name_or_position(table):
    text = "id,class,u,v\n7,1,10,20\n8,2,30,40\n"
    for label, drop in [("class", ["id"]), (1, [0]), (-3, [-4])]:
        X, y = table(text, label=label, drop=drop)
        np.testing.assert_array_equal(X, [[10, 20], [30, 40]])
        assert y.tolist() == [1, 2]


def test_dropped_columns_may_hold_anything(table):
    X, _ = table("1,?,3\n2,5,4\n3,,4\n", drop=[1])
    np.testing.assert_array_equal(X, [[1], [2], [3]])


def test_categories(table):
    text = "1,tcp,5,x\n2,udp,6,y\n3,icmp,7,x\n4,tcp,8,y\n"
    X, y = table(text)
    icmp, tcp, udp = [0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0]
    np.testing.assert_array_equal(X.T, [[1, 2, 3, 4], icmp, tcp, udp, [5, 6, 7, 8]])
    X, y = table(text, categorical="codes")
    np.testing.assert_array_equal(X.T, [[1, 2, 3, 4], [1, 2, 0, 1], [5, 6, 7, 8]])
    assert y.tolist() == ["x", "y", "x", "y"]


def test_tables_read_together_share_categories(tmp_path):
    (tmp_path / "a").write_text("red,1,p\nblue,2,q\n")
    (tmp_path / "b").write_text("green,3,p\nred,4,q\n")
    (A, _), (B, _) = read_tables([tmp_path / "a", tmp_path / "b"])
    np.testing.assert_array_equal(A, [[0, 0, 1, 1], [1, 0, 0, 2]])  # blue, green, red, number
    np.testing.assert_array_equal(B, [[0, 1, 0, 3], [0, 0, 1, 4]])
    (tmp_path / "b").write_text("1,3,p\n2,4,q\n")
    with pytest.raises(InputError, match="read them separately"):
        read_tables([tmp_path / "a", tmp_path / "b"])


ROWS = [f"{k / 7:.3f},{k % 5},2.5,{'pq'[k % 2]}" for k in range(20)]


@pytest.mark.parametrize(
    ("first", "is_header"),
    [
        ("0,1,2,label", True),
        ("0,2,5,label", True),
        ("2019,2020,2021,label", True),
        ("#a,b,c,y", True),
        ("# a,b,c,y", True),
        ("0,1,2,p", False),  # a class that occurs again
        ("0.5,0.25,2,label", False),
        ("7,1,2,label", False),
    ],
)
def test_a_first_line_of_numbers_and_words(tmp_path, first, is_header):
    (tmp_path / "t").write_text("\n".join([first, *ROWS]))
    read = read_text_table(Source(tmp_path / "t"), TextFormat())
    assert (read.names is not None, read.n_rows) == (is_header, 21 - is_header)
    assert read.names is None or read.names[0] == first.split(",")[0].lstrip("# ")
    assert any("line 1 is taken for" in str(note) for note in read.notes) == (first[0] != "#" and "label" in first)


def test_a_header_over_numbers_with_decimal_commas(table):
    X, y = table("a;b;aim\n1,5;-0,9;2\n0,25;3,5;1\n")
    assert X.tolist() == [[1.5, -0.9], [0.25, 3.5]] and y.tolist() == [2, 1]
    X, y = table("1,5;2,5\n3;4,5\n2,5;1\n")  # the first line is a row
    assert X.tolist() == [[1.5], [3.0], [2.5]] and y.tolist() == [2.5, 4.5, 1.0]


@pytest.mark.parametrize("text", [
    "turnover;z;y\n3.303;-0,092;p\n943;0,5;n\n",  # thousands or a fraction?
    "a;b;y\n1,5;1;p\n0,5;2;n\n1.107;3;p\n",
])  # fmt: skip
def test_points_beside_decimal_commas_are_refused(table, text):
    with pytest.raises(InputError, match=r"has a decimal comma in column .* has points, as in .*one way"):
        table(text)


def test_lines_that_begin_with_a_hash(tmp_path):
    def read(text):
        (tmp_path / "t").write_text(text)
        return read_rows(tmp_path / "t")

    colours = "#ff0000,1.5,p\n#00ff00,2.5,q\n"
    assert read(colours).as_words(0)[1] == ["#ff0000", "#00ff00"]
    with pytest.warns(DataNote, match="begin with # and do not have 3 fields: 2$"):
        table = read(f"# colours\n{colours}blue,1,p\n  # an end\n")
    assert table.as_words(0)[1] == ["#ff0000", "#00ff00", "blue"]
    assert read("# a b y\n1 2 3\n4 5 6\n").names == ["a", "b", "y"]


@pytest.mark.parametrize(
    ("line", "separator"),
    [
        ("1.5,2.5,a|b,p", ","),
        ("x;y,1.5,2,p", ","),
        ("Doe, J|1|2|p", "|"),
        ("1,5;2,5;3,5;p", ";"),
        ("1,5\t2,5\tp", "\t"),
        ("1,5|2,5|p", "|"),
    ],
)
def test_the_separator_with_the_most_fields(line, separator):
    assert likely_separator([line.encode()] * 5) == separator


def test_label_ending(table):
    assert table("1,normal.\n2,smurf.\n", strip_label=".")[1].tolist() == ["normal", "smurf"]
    assert table("1,normal.\n2,smurf.\n")[1].tolist() == ["normal.", "smurf."]


def test_long_and_quoted_words(table):
    long = "w" * 5000
    X, y = table(f'1,"a,b",{long}\n2,"say ""hi""",{long}\n', categorical="codes")
    np.testing.assert_array_equal(X, [[1, 0], [2, 1]])
    assert y.tolist() == [long, long]


ERRORS = {
    "1,2,3\n4,x,6\n": "2:3: 'x' is not a number in column 1",
    "1,2,3\n4,,6\n": "2:3: missing value in column 1",
    "1,2,3\n4, nan ,6\n": "2:4: missing value in column 1",
    "1,2,3\n4,1e999,6\n": "2:3: '1e999' is too large for a double",
    "1,2,3\n4,5\n": "2:4: only 2 fields in a table of 3 columns",
    "1,2,x\n" + 5 * "4,5,6\n" + "7\n": "7:2: only 1 field in a table of 3 columns",
    "1 2 3\n4 5 6 7\n": "2:7: more than 3 fields in a table of 3 columns",
    "1,2,3\n4,5,y\n": "2:5: 'y' is not a number in column 2",
    "?,2,a\n4,5,b\n6,5,b\n": "1:1: missing value in column 0",
    "1,a,x\n2,,y\n": "2:3: missing value in column 1",
    "a,b\n1,2\n3,\x00\n": "3:3: NUL byte",
    "abc\ndef\n": "1:1: only one column",
    "": "1:1: no data rows",
}


@pytest.mark.parametrize("text", ERRORS, ids=list(ERRORS.values()))
def test_errors_name_line_and_column(table, tmp_path, text):
    with pytest.raises(InputError) as caught:
        table(text)
    assert str(caught.value).startswith(f"{tmp_path / 't'}:{ERRORS[text]}; ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text, options, reason",
    [
        ("1,2\n", {"label": 2}, "no column 2 among 2"),
        ("1,2\n", {"label": "c"}, "no header, so no column 'c'"),
        ("a,b\n1,2\n", {"label": "c"}, "no column 'c'; the header names a, b"),
        ("1,2\n", {"separator": "#"}, "separator='#' is unknown"),
        ("1,2\n", {"categorical": "other"}, "categorical='other' is unknown"),
        ("a,b\n", {"header": True}, "no data rows after the header"),
    ],
)
def test_wrong_options(table, text, options, reason):
    with pytest.raises(InputError, match=reason):
        table(text, **options)


def test_second_load_does_not_parse(tmp_path, monkeypatch):
    path = tmp_path / "large"
    path.write_text("1.5,tcp,yes\n2.5,udp,no\n" * 60_000)
    X, y = read_table(path)

    def no_parsing(*_):
        raise AssertionError("parsed again")

    monkeypatch.setattr(table_text._TableText, "parsed", no_parsing)
    again = read_table(path)
    np.testing.assert_array_equal(again[0], X)
    np.testing.assert_array_equal(again[1], y)
    with pytest.raises(AssertionError):
        read_table(path, header=True)  # read otherwise, so parsed


REAL = {
    "iris.data.txt": (150, 4, {"Iris-setosa": 50, "Iris-versicolor": 50, "Iris-virginica": 50}),
    "wine.data.txt": (178, 13, {1: 59, 2: 71, 3: 48}),
    "sonar.all-data.txt": (208, 60, {0: 97, 1: 111}),
    "shuttle.trn": (43500, 9, {1: 34108, 2: 37, 3: 132, 4: 6748, 5: 2458, 6: 6, 7: 11}),
    "synth.tr": (250, 2, {0: 125, 1: 125}),
}


@pytest.mark.real
@pytest.mark.parametrize("name", REAL)
def test_real_tables(real_file, name):
    rows, columns, counts = REAL[name]
    data = load_dataset(real_file(name))
    assert data.X.shape == (rows, columns)
    assert dict(zip(*np.unique(data.y, return_counts=True), strict=True)) == counts


def told_of(folder, column, label=("a", "b")):
    rows = [f"{value},{label[k % len(label)]}" for k, value in enumerate(column)]
    (folder / "rows.csv").write_text("\n".join(["column,label", *rows]) + "\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_training(folder / "rows.csv", Choices())
    return sorted({str(one.message) for one in caught if one.category is DataWarning})


def test_quantities_that_are_read_as_words_are_told(tmp_path):
    (told,) = told_of(tmp_path, [f"{100 + k % 9} USD" for k in range(40)])
    assert "column 'column' has numbers with a unit (100 USD, 101 USD …), read as words without an order" in told
    (told,) = told_of(tmp_path, [f"2015-{1 + k % 9:02d}" for k in range(40)])
    assert "has months (2015-01, 2015-02 …)" in told and "--drop column" in told
    assert told_of(tmp_path, [("4WD", "2WD", "20-29")[k % 3] for k in range(40)]) == []


def test_labels_that_differ_in_capitals_are_told(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,label\n" + "".join(f"{k},{('No', 'no', 'Yes', 'yes')[k % 4]}\n" for k in range(40)))
    with pytest.warns(DataWarning, match="differ only in capitals are different classes: No and no, Yes and yes"):
        check_classes("rows.csv", load_dataset(path).y)


def test_booleans_and_numbers_in_one_folder(tmp_path):
    for name, labels in (("a", [True, False]), ("b", [1, 0])):
        table = pyarrow.table({"x": [1.0, 2.0], "label": labels})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    assert load_dataset(tmp_path).y.tolist() == [1.0, 0.0, 1.0, 0.0]


def test_the_names_of_rows_in_a_parquet_file_are_no_column(tmp_path):
    frame = pd.DataFrame({"u": [1.0, 2.0, 5.0], "label": ["a", "b", "a"]}, index=[7, 2, 9])
    frame.to_parquet(tmp_path / "rows.parquet")
    found, preparation = load_training(tmp_path / "rows.parquet")
    assert preparation.titles == ["u"] and found.y.tolist() == ["a", "b", "a"]
