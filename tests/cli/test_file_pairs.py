"""Pairs of training and test files as people have them: each predicts what pandas and scikit-learn do by hand, or is
refused in one line that says what to do. None is silently wrong."""

import gzip
import json
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import SVC

from tests.cli.commands import call, fails

SVM = {"C": 10, "gamma": 0.5}
FLAGS = ["-C", 10, "-g", 0.5, "-e", 1e-6]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SVMREDUCE_CACHE", str(tmp_path / "cache"))


def made(rows: int, seed: int, words=("x", "y", "z"), labels=("no", "yes")) -> pd.DataFrame:
    """Two numbers and a category that decide the label."""
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(2, rows)).round(3)
    c = random.choice(words, rows)
    return pd.DataFrame({"a": a, "b": b, "c": c, "kind": np.where(a + (c == words[0]) > 0.3, labels[1], labels[0])})


TRAIN, TEST = made(60, 0), made(25, 1)
NUMBERS = TRAIN[["a", "b", "kind"]], TEST[["a", "b", "kind"]]


def by_hand(train, test, numbers=("a", "b"), words=("c",), scaler=None, label="kind", classes=None):
    """Decision values of scikit-learn, positive for the second label."""
    numbers = list(numbers)
    parts = [train[numbers].to_numpy(float)], [test[numbers].to_numpy(float)]
    if scaler is not None and numbers:
        scaler = scaler.fit(parts[0][0])
        parts = [scaler.transform(parts[0][0])], [scaler.transform(parts[1][0])]
    for word in words:
        known = sorted(train[word].astype(str).unique())
        for side, frame in zip(parts, (train, test), strict=True):
            side.append((frame[word].astype(str).to_numpy()[:, None] == np.array(known)).astype(float))
    X, Z = map(np.hstack, parts)
    y = train[label] if classes is None else classes
    return SVC(**SVM, tol=1e-6).fit(X, y).decision_function(Z)


def csv(frame: pd.DataFrame, **options) -> bytes:
    return frame.to_csv(index=False, **options).encode()


@dataclass
class Pair:
    """Two files, the options, what scikit-learn says by hand, and what must be said."""

    train: bytes
    test: bytes
    expected: np.ndarray
    train_flags: list = field(default_factory=list)
    predict_flags: list = field(default_factory=list)
    said: str = ""  # in a note or a warning of predict
    said_in_training: str = ""


def pair(train=TRAIN, test=TEST, *, written=None, train_with=(), test_with=(), said="", in_training="", **hand) -> Pair:
    """A pair whose files are the frames themselves, unless others were ``written``."""
    files = written or (csv(train), csv(test))
    return Pair(*files, by_hand(train, test, **hand), list(train_with), list(test_with), said, in_training)


def with_gaps(frame: pd.DataFrame, column: str, rows: list[int]) -> pd.DataFrame:
    gappy = frame.astype({column: object})
    gappy.loc[rows, column] = np.nan
    return gappy


def filled(frame: pd.DataFrame, column: str, value) -> pd.DataFrame:
    frame = frame.copy()
    frame[column] = frame[column].fillna(value).infer_objects()
    return frame


def renamed(frame, **words):
    return frame.assign(c=frame.c.map(words | {w: w for w in frame.c.unique() if w not in words}))


GAPS, TEST_GAPS = with_gaps(TRAIN, "a", [3, 7]), with_gaps(TEST, "a", [0])
MEAN, MEDIAN = float(pd.to_numeric(GAPS.a).mean()), float(pd.to_numeric(GAPS.a).median())
NO_WORD = with_gaps(TRAIN, "c", [5])
COMMAS = {"x": "x, left", "y": "y, right"}
CAFE = {"x": "café", "y": "naïve"}
LINES = {"x": "two\nlines"}
WIDE = TRAIN.assign(b=TRAIN.b * 1e5), TEST.assign(b=TEST.b * 1e5)
BOOLS = TRAIN.assign(c=TRAIN.c == "x"), TEST.assign(c=TEST.c == "x")
SIGNS, ZEROS = made(60, 0, labels=(-1, 1)), made(25, 1, labels=(0, 1))
BOTH = TRAIN, TEST
THREE = [frame.assign(kind=np.where(frame.b > 1, "odd", frame.kind)) for frame in BOTH]
ALL_WORDS = [f.assign(a=np.where(f.a > 0, "up", "down"), b=np.where(f.b > 0, "in", "out")) for f in BOTH]
AFTER = [frame.assign(level=np.arange(len(frame)) % 21) for frame in BOTH]
WITH_ID = [frame.to_csv(index_label="id").encode() for frame in BOTH]
TWICE = [csv(frame.assign(e=frame.kind)[["e", *"abc", "kind"]]).replace(b"e,", b"kind,", 1) for frame in BOTH]
COUNTED = [csv(frame, header=["0", "1", "2"]) for frame in NUMBERS]

RIGHT = {
    "the same form": pair(),
    "categories that training never saw": pair(test=made(25, 1, ("x", "y", "new")), said="c (11) of 25"),
    "fewer categories": pair(test=TEST[TEST.c != "y"]),
    "columns in another order": pair(test=TEST[["kind", "c", "b", "a"]]),
    "columns that training did not have": pair(test=TEST.assign(e=1), said="not used: e"),
    "no label column": pair(test=TEST.drop(columns="kind"), said=""),
    "an empty label column": pair(test=TEST.assign(kind="")),
    "labels that are not to be read": pair(test=TEST.assign(kind="other"), test_with=["--no-label"]),
    "a byte order mark in training": pair(written=(b"\xef\xbb\xbf" + csv(TRAIN), csv(TEST))),
    "a byte order mark in the test": pair(written=(csv(TRAIN), b"\xef\xbb\xbf" + csv(TEST))),
    "UTF-16": pair(written=tuple(csv(frame).decode().encode("utf-16") for frame in (TRAIN, TEST)), said="UTF-16"),
    "UTF-16 without a mark": pair(written=(csv(TRAIN).decode().encode("utf-16-le"), csv(TEST))),
    "Latin-1 for training, UTF-8 for the test": pair(
        renamed(TRAIN, **CAFE),
        renamed(TEST, **CAFE),
        written=(csv(renamed(TRAIN, **CAFE)).decode().encode("latin-1"), csv(renamed(TEST, **CAFE))),
        in_training="CP1252",
    ),
    "line ends of Windows": pair(written=(csv(TRAIN), csv(TEST).replace(b"\n", b"\r\n"))),
    "line ends of old Macs": pair(written=(csv(TRAIN).replace(b"\n", b"\r"), csv(TEST))),
    "tabs, and commas in quotes": pair(
        renamed(TRAIN, **COMMAS),
        renamed(TEST, **COMMAS),
        written=(csv(renamed(TRAIN, **COMMAS), sep="\t", quoting=2), csv(renamed(TEST, **COMMAS), sep="\t")),
    ),
    "semicolons and decimal commas": pair(
        written=(csv(TRAIN, sep=";", decimal=","), csv(TEST, sep=";", decimal=",")),
    ),
    "another separator in the test": pair(written=(csv(TRAIN), csv(TEST, sep="|"))),
    "blanks between columns": pair(written=(csv(TRAIN, sep=" "), csv(TEST, sep=" "))),
    "line ends in quotes": pair(renamed(TRAIN, **LINES), renamed(TEST, **LINES)),
    "a separator at the end of every line": pair(
        written=tuple(csv(frame).replace(b"\n", b",\n") for frame in (TRAIN, TEST)), said="empty last column"
    ),
    "everything in quotes": pair(written=(csv(TRAIN, quoting=1), csv(TEST, quoting=1))),
    "compressed": pair(written=(gzip.compress(csv(TRAIN)), csv(TEST))),
    "comments and blank lines": pair(written=(b"# made up\n\n" + csv(TRAIN), csv(TEST) + b"\n\n")),
    "numbers missing, filled by the mean": pair(
        filled(GAPS, "a", MEAN), filled(TEST_GAPS, "a", MEAN),
        written=(csv(GAPS, na_rep="?"), csv(TEST_GAPS, na_rep="NaN")),
        train_with=["--impute", "mean"], in_training="a (2) of 60", said="filled (--impute): a (1) of 25 rows",
    ),
    "numbers missing, filled by the median": pair(
        filled(GAPS, "a", MEDIAN), filled(TEST_GAPS, "a", MEDIAN),
        written=(csv(GAPS, na_rep="NA"), csv(TEST_GAPS)), train_with=["--impute", "median"],
    ),
    "words missing, filled by the most frequent": pair(
        filled(NO_WORD, "c", NO_WORD.c.mode()[0]),
        written=(csv(NO_WORD), csv(TEST)), train_with=["--impute", "most_frequent"], in_training="c (1) of 60",
    ),
    "true and false": pair(*BOOLS),
    "an empty column": pair(
        written=(csv(TRAIN.assign(e="")[[*"abce", "kind"]]), csv(TEST)), in_training="1 column is empty"
    ),
    "a constant column": pair(
        TRAIN.assign(e=7)[[*"abce", "kind"]], TEST.assign(e=7)[[*"abce", "kind"]], numbers=("a", "b", "e")
    ),
    "a column of row numbers, dropped": pair(written=WITH_ID, train_with=["--drop", "id"]),
    "a header in training only": pair(written=(csv(TRAIN), csv(TEST, header=False)), said="taken by position"),
    "a header in the test only": pair(written=(csv(TRAIN, header=False), csv(TEST)), said="taken by position"),
    "no header at all, and no label": pair(written=(csv(TRAIN, header=False), csv(TEST[[*"abc"]], header=False))),
    "a header that counts": pair(*NUMBERS, words=(), written=COUNTED, said="counts the columns"),
    "words only, with a header": pair(*ALL_WORDS, numbers=(), words="abc", said="line 1 is taken for a header"),
    "0 and 1 for the model's -1 and 1": pair(SIGNS, ZEROS, said="label 0 is taken for the model's -1"),
    "the label by name": pair(TRAIN[["kind", *"abc"]], train_with=["--label", "kind"]),
    "only some columns": pair(words=(), train_with=["--columns", "a-b"]),
    "columns by position": pair(words=(), train_with=["--drop", "2"]),
    "a column after the label": pair(written=(csv(AFTER[0]), csv(AFTER[1])), train_with=["--drop", "level"]),
    "a number that is a category": pair(
        TRAIN.assign(c=TRAIN.c.map({"x": 1, "y": 2, "z": 30})), TEST.assign(c=TEST.c.map({"x": 1, "y": 2, "z": 30})),
        train_with=["--categories", "c"],
    ),
    "a name that is there twice, one dropped": pair(
        written=TWICE,
        train_with=["--drop", "0"], test_with=["--label", "4"],
    ),
    "one class against the others": pair(
        *THREE, train_with=["--positive", "yes"], classes=np.where(THREE[0].kind == "yes", "yes", "not_yes")
    ),
    **{
        f"scaled by {name}": pair(*WIDE, scaler=scaler, train_with=["--scale", name])
        for name, scaler in {"standard": StandardScaler(), "zero_one": MinMaxScaler(), "max_abs": MaxAbsScaler(),
                             "minus_one_one": MinMaxScaler((-1, 1))}.items()
    },
    "scaled to unit rows": pair(*NUMBERS, words=(), scaler=Normalizer(), train_with=["--scale", "unit"]),
}  # fmt: skip


@pytest.mark.parametrize("case", RIGHT.values(), ids=RIGHT)
def test_right_as_by_hand(tmp_path, case):
    train, test, model, out = (tmp_path / name for name in ("train", "test", "model", "out"))
    train.write_bytes(case.train)
    test.write_bytes(case.test)
    trained = call("train", *FLAGS, *case.train_flags, train, model)
    assert trained.exit_code == 0, trained.stderr
    assert case.said_in_training in trained.stderr
    predicted = call("predict", *case.predict_flags, "--decision-values", test, model, out)
    assert predicted.exit_code == 0, predicted.stderr
    assert case.said in predicted.stderr
    words = [line.rsplit(" ", 1) for line in out.read_text().splitlines()]
    values = np.array([float(value) for _, value in words])
    classes = sorted({word for word, _ in words})
    # which sign means which label is the model's business; the labels must agree with scikit-learn's signs
    sign = 1 if np.corrcoef(values, case.expected)[0, 1] > 0 else -1
    np.testing.assert_allclose(sign * values, case.expected, atol=2e-3)
    clear = np.abs(case.expected) > 2e-3
    assert [word == classes[-1] for (word, _), is_clear in zip(words, clear, strict=True) if is_clear] == (
        case.expected[clear] > 0
    ).tolist()


def text(frame) -> str:
    return csv(frame).decode()


DATES = TRAIN.assign(c=pd.date_range("2020-01-01", periods=60).strftime("%Y-%m-%d"))
NAMES = [f"name {k}" for k in range(60)]
WHOLE = TRAIN.assign(kind=(100 * TRAIN.a).round().astype(int) + 300)
COUNTED = TRAIN[["a"]].assign(n=[k % 4 for k in range(60)])
REFUSED = {
    # id: (train, test or None when training must refuse, options of train, what the line says)
    "a column is missing": (TRAIN, TEST.drop(columns="b"), [], "1 column is missing that the model was trained on: b"),
    "a name twice": (text(TRAIN).replace("b,", "a,", 1), None, [], "the header names 'a' twice (columns 0 and 1"),
    "the label's name twice": (text(TRAIN).replace("a,", "kind,", 1), None, [], "names 'kind' twice"),
    "targets of a regression": (TRAIN.assign(kind=TRAIN.a), None, [], "only classifies; try --solver svr"),
    "words for a regression": (TRAIN, None, ["--solver", "svr"], "are words such as no, and svr needs numbers"),
    "one class without labels": (TRAIN[["a", "b"]], None, ["--solver", "one_class"], "the last column, b, holds numb"),
    "one class, a count last": (COUNTED, None, ["--solver", "one_class"], "the last column, n, holds numbers"),
    "whole numbers to estimate": (WHOLE, None, [], "different labels in 60 rows are numbers, as of a regression"),
    "names of rows as labels": (TRAIN.assign(kind=NAMES), None, [], "choose the label by --label"),
    "a missing number": (GAPS, None, [], "train:5:1: missing value in column a; missing values by column: a (2); use"),
    "a missing word": (NO_WORD, None, [], "missing value in column c; missing values by column: c (1); use --impute"),
    "a missing number in the test": (TRAIN, TEST_GAPS, [], "test:2:1: missing value in column a"),
    "a missing label": (with_gaps(TRAIN, "kind", [4]), None, [], "no label in column kind; rows without one: 1"),
    "thousands with commas": (TRAIN.assign(b="1,234"), None, [], "'1,234' is not written as a number in column b"),
    "money": (TRAIN.assign(b="$12.50"), None, [], "'$12.50' is not written as a number in column b; write digits"),
    "percent": (TRAIN.assign(b="12%"), None, [], "'12%' is not written as a number"),
    "dates": (DATES, None, [], "'2020-01-01' is a date or a time in column c; leave the column out by --drop c"),
    "names": (TRAIN.assign(c=NAMES), None, [], "60 different words in 60 rows"),
    "a word among numbers": (text(TRAIN).replace("\n0.", "\n0x", 1), None, [], "is not a number in column a; correct"),
    "a word among numbers of the test": (TRAIN, text(TEST).replace(",0.", ",0x", 1), [], "is not a number in column b"),
    "infinity": (TRAIN.assign(b=["inf", *TRAIN.b[1:]]), None, [], "'inf' is not finite in column b"),
    "labels of another kind": (TRAIN, TEST.assign(kind=np.where(TEST.kind == "yes", 1, 0)), [],
                               "the labels are 0, 1, but the model knows yes, no"),
    "no label of the training file": (THREE[0], TEST.assign(kind=TEST.kind.str.upper()), ["--positive", "yes"],
                                      "the labels are NO, YES, but the model knows"),
    "values missing in line 1": ("?,NA,no\n1,2,no\n3,4,yes\n", None, [], "train:1:1: missing value in column 0"),
    "words for numbers as labels": (SIGNS, TEST, [], "the labels are no, yes, but the model knows"),
    "too short a line": (text(TRAIN) + "1,2\n", None, [], "train:62:4: only 2 fields under a header of 4 columns"),
    "too long a line": (text(TRAIN) + "1,2,x,no,5\n", None, [], "more than 4 fields under a header of 4 columns"),
    "names of rows as R writes them": (TRAIN.to_csv().replace(",a,", "a,", 1), None, [], "under a header of 4 columns"),
    "LIBSVM rows for the model of a table": (TRAIN, "1 1:0.5 2:0.25\n-1 1:3\n", [], "is not a table"),
    "another number of columns": (csv(TRAIN, header=False), csv(TEST[["a", "c"]], header=False), [],
                                  "2 columns, but the model was trained on 4 with the label"),
    "a binary file": (b"a,b\n1,\x00\n", None, [], "train:2:3: NUL byte"),
    "a header and nothing else": ("a,b,kind\n", None, ["--header"], "no data rows after the header"),
    "a column that is not there": (TRAIN, None, ["--drop", "q"], "no column 'q'; the header names a, b, c, kind"),
    "no column left": (TRAIN, None, ["--columns", "kind"], "no column is left to learn from"),
    "a class that is not there": (TRAIN, None, ["--positive", "maybe"], "no row has the label 'maybe' of --positive"),
    "columns of LIBSVM text": ("1 1:1\n-1 1:2\n", None, ["--drop", "0"], "--drop is for tables"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refused_in_one_line(tmp_path, case):
    train, test, flags, line = case
    for name, content in (("train", train), ("test", test)):
        content = csv(content) if isinstance(content, pd.DataFrame) else content
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content or b"")
    if test is None:
        assert line in fails("train", *flags, tmp_path / "train", tmp_path / "model")
        assert not (tmp_path / "model").exists()
    else:
        assert call("train", *flags, tmp_path / "train", tmp_path / "model").exit_code == 0
        assert line in fails("predict", tmp_path / "test", tmp_path / "model")


MAYBE = TEST.assign(kind=["maybe", *TEST.kind[1:]])
SHUFFLED = TRAIN.sample(frac=1, random_state=0).to_csv().encode()
NUMBERED = NUMBERS[0].assign(a=NUMBERS[0].a + 500)
WARNED = {
    # id: (train, test, options of train, warning of train, warning of predict)
    "columns of unequal size": (*WIDE, [], "columns differ in size by a factor of ", ""),
    "a kernel that knows each row only": (TRAIN, TEST, ["-g", 1e6], "the model remembers rows and learns nothing", ""),
    "a kernel that is constant": (TRAIN, TEST, ["-g", 1e-9], "the kernel is nearly the same for all pairs", ""),
    "row numbers": (*WITH_ID, ["--scale", "standard"], "'id' only numbers the rows", ""),
    "row numbers in disorder": (SHUFFLED, None, ["--scale", "standard"], "'unnamed_0' only numbers the rows", ""),
    "a label that is not last": (TRAIN.rename(columns={"a": "class"}), None, [], "use --label class", ""),
    "columns swapped without a header": (csv(NUMBERED, header=False), csv(NUMBERED[["b", "a", "kind"]], header=False),
                                         [], "", "far outside what training saw, as with swapped columns"),
    "dates as numbers": (TRAIN.assign(b=20200101 + np.arange(60) % 9), None, [], "'b' looks like dates written as", ""),
    "ids of 19 digits": (TRAIN.assign(b=10**18 + 7919 * np.arange(60)), None, [], "'b' has whole numbers beyond", ""),
    "a label that only one row has": (csv(SIGNS, header=["1", "2", "x", "3"]), None, ["--no-header"],
                                      "only one row each has the labels 3; nothing is learned of them; if line", ""),
    "an empty column as categories": (TRAIN.assign(b=""), None, ["--categories", "b", "--impute", "mean"],
                                      "1 column is empty and left out: b", ""),
    "more columns of numbers than in training": ("1 1:1\n-1 1:2\n", "1 1:1\n-1 1:2 2:1\n", [], "", "1 more columns"),
    "one more class against the positive one": (THREE[0], MAYBE, ["--positive", "yes"], "", "as 'not_yes': maybe"),
    "labels that the model does not know": (TRAIN, MAYBE, [], "", "1 of 25 rows have labels that the model does not"),
}  # fmt: skip


@pytest.mark.parametrize("case", WARNED.values(), ids=WARNED)
def test_warned_about(tmp_path, case):
    train, test, flags, in_training, in_prediction = case
    for name, content in (("train", train), ("test", train if test is None else test)):
        content = csv(content) if isinstance(content, pd.DataFrame) else content
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    trained = call("train", *FLAGS, *flags, tmp_path / "train", tmp_path / "model")
    assert trained.exit_code == 0 and in_training in trained.stderr, trained.stderr
    predicted = call("predict", tmp_path / "test", tmp_path / "model")
    assert predicted.exit_code == 0 and in_prediction in predicted.stderr, predicted.stderr


def test_attacks_on_a_network_in_three_commands(tmp_path):
    """41 columns, three of them words, the label, a column after it, and services that training never saw."""

    def rows(n, seed, services):
        random = np.random.default_rng(seed)
        is_attack = random.random(n) < 0.15
        frame = {"duration": random.exponential(200, n).astype(int), "protocol": random.choice(["tcp", "udp"], n)}
        frame |= {"service": np.where(is_attack, random.choice(services, n), "http")}
        frame |= {"flag": np.where(is_attack, random.choice(["S0", "SF"], n), "SF")}
        frame |= {"bytes": random.exponential(1e5, n).astype(int)}
        frame |= {f"rate{k}": (0.3 * is_attack + random.random(n)).round(2) for k in range(36)}
        return pd.DataFrame(
            frame | {"class": np.where(is_attack, "attack", "normal"), "level": random.integers(0, 22, n)}
        )

    train, test = rows(400, 0, ["private", "eco_i"]), rows(200, 1, ["private", "new"])
    train.to_csv(tmp_path / "train", index=False, header=False)
    test.to_csv(tmp_path / "test", index=False, header=False)
    flags = ["--scale", "standard", "--drop", 42, "--positive", "attack", "--class-weight", "balanced", "-b", 1]
    assert call("train", *flags, tmp_path / "train", tmp_path / "model").exit_code == 0
    scored = call("predict", "--json", tmp_path / "test", tmp_path / "model")
    found = json.loads(scored.stdout)
    unseen = int((test.service == "new").sum())
    assert f"2 ({unseen}) of 200" in scored.stderr and f"2 ({unseen}) of 200" in found["warnings"][0]
    assert found["positive"] == "attack" and found["balanced_accuracy"] > 0.9 and found["auc"] > 0.95
    test.drop(columns="class").to_csv(tmp_path / "test", index=False, header=False)
    predicted = call("predict", tmp_path / "test", tmp_path / "model", tmp_path / "out")
    assert predicted.exit_code == 0 and predicted.stdout.startswith("Predicted 200 rows without labels")
    labels = np.array((tmp_path / "out").read_text().split())
    assert np.sum(labels == test["class"]) == round(200 * found["accuracy"])
    assert call("predict", "-b", 1, tmp_path / "test", tmp_path / "model", tmp_path / "out").exit_code == 0
    (_, *names), *rows = (line.split() for line in (tmp_path / "out").read_text().splitlines())
    assert [names[np.argmax([float(p) for p in row[1:]])] for row in rows] == labels.tolist()
