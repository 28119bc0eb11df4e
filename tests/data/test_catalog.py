import functools
import gzip
import hashlib
import http.server
import lzma
import threading

import numpy as np
import pooch
import pytest
from scipy import sparse

from svmreduce.data import cards, catalog, fetching
from svmreduce.errors import InputError

TINY = b"1 1:0.5 2:1\n-1 2:2\n1 1:1\n-1 1:3 2:4\n"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def card_text(name="tiny", extra="", **facts):
    """A card with one split; ``None`` leaves a fact out."""
    facts = {"file": name, "sha256": sha256(TINY), "rows": 4, "label_counts": "{-1: 2, 1: 2}", **facts}
    split = "\n".join(f"    {key}: {value}" for key, value in facts.items() if value is not None)
    head = f"name: {name}\ntitle: A tiny set\nfeatures: 2\nhome: a drawer\nlicence: none\n"
    return f"{head}{extra}\nsplits:\n  train:\n{split}\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Empty folders for cards, mirror and downloads; ``place.card(text)`` and ``place.file(name, bytes)``."""

    class Place:
        cards, mirror, cache = (tmp_path / name for name in ("cards", "mirror", "cache"))

        def card(self, text, file="tiny"):
            (self.cards / f"{file}.yaml").write_text(text)

        def file(self, name, content=TINY):
            path = self.mirror / name
            path.write_bytes(content)
            return path

    for folder in (Place.cards, Place.mirror, Place.cache):
        folder.mkdir()
    monkeypatch.setenv("SVMREDUCE_DATASETS", str(Place.cards))
    monkeypatch.setenv("SVMREDUCE_MIRROR", str(Place.mirror))
    monkeypatch.setenv("SVMREDUCE_CACHE", str(Place.cache))
    return Place()


# ---- the cards of the repository


def test_every_card_of_the_repository_parses_and_each_name_is_found():
    known = cards.all_cards()
    for name in [f"a{i}a" for i in range(1, 10)] + [f"w{i}a" for i in range(1, 9)] + ["ijcnn1", "covertype", "kdd99"]:
        assert catalog.load_card(name).name == name
    assert catalog.names() == sorted(known)
    assert catalog.load_card("covtype").name == "covertype"
    for card in known.values():
        for part in card.splits.values():
            if part.rows and part.label_counts:
                assert sum(part.label_counts.values()) == part.rows
            if part.slice:
                assert part.rows == part.slice[1] - part.slice[0]
            assert set(part.prepared) <= set(card.variants)


REAL = [(name, split) for name, card in sorted(cards.all_cards().items()) for split in card.splits]
REAL += [
    ("covertype:2-vs-rest", "all"),
    ("mnist:0-vs-rest", "test"),
    ("kdd99:distinct", "test"),
    ("wine:1-vs-2", "all"),
]


@pytest.mark.real
@pytest.mark.parametrize(("name", "split"), REAL)
def test_every_file_of_the_mirror_is_what_its_card_says(name, split, real_file):
    card = catalog.load_card(name)
    part = card.splits[split]
    real_file(card.splits[part.part_of].file if part.part_of else part.file)
    if card.reader.shared_categories and not all(fetching.locate(card, other) for other in card.splits):
        pytest.skip(f"{name}: its text columns need all of its files")
    dataset = catalog.load(name, split)  # raises when rows, columns or label counts differ
    expected = part.prepared.get(card.variant, part)
    assert dataset.X.shape == (expected.rows, card.features)
    assert len(dataset.classes) == len(expected.label_counts)
    assert dataset.y.dtype == np.float64
    if card.variant and card.preparation.scale == "zero_one" and split == "all":
        assert (dataset.X.min(), dataset.X.max()) == (0, 1)


@pytest.mark.real
def test_the_extended_digits_have_the_printed_sizes(real_file):
    real_file("usps.t")
    test = catalog.load("usps:extended", "test")
    assert test.X.shape == (75_383, 676)
    assert (test.X.min(), test.X.max(), set(test.y)) == (0, 1, {-1, 1})


@pytest.mark.real
def test_one_hot_columns_agree_between_train_and_test(real_file):
    real_file("kddcup.data_10_percent"), real_file("corrected")
    test = catalog.load("kdd99:normal-vs-attack", "test", scaled=False)
    # 38 numbers, 3 protocols, 67 services (two of them not in the test file), 11 flags
    assert test.X.shape == (311029, 38 + 3 + 67 + 11)
    unused = np.flatnonzero(np.diff(test.X.tocsc().indptr) == 0)
    assert len(unused) >= 2
    assert set(test.y) == {-1, 1}


# ---- names


def test_names_variants_and_splits(place):
    variants = "variants:\n  rest: {about: one against the other, positive: [1]}"
    place.card(card_text(extra=variants))
    place.file("tiny")
    assert catalog.parse_name("tiny:rest:train") == ("tiny:rest", "train")
    assert catalog.parse_name("tiny:train") == ("tiny", "train")
    assert catalog.parse_name("tiny:rest") == ("tiny:rest", None)
    assert catalog.load("tiny:rest").name == "tiny:rest/train"
    for wrong, message in [
        ("tinny", "unknown data set 'tinny': did you mean 'tiny'"),
        ("tiny:best", "unknown split or variant of tiny 'best': did you mean 'rest'\\? known are rest, train"),
        ("tiny:rest:all", "unknown split or variant of tiny 'rest:all'"),
    ]:
        with pytest.raises(InputError, match=message):
            catalog.parse_name(wrong)
    with pytest.raises(InputError, match="unknown split of tiny 'trian': did you mean 'train'"):
        catalog.load("tiny", "trian")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (card_text(rowz=4), r"tiny.yaml: splits.train.rowz: unknown key"),
        (card_text(extra="colour: red"), r"tiny.yaml: colour: unknown key"),
        (card_text(rows="many"), r"tiny.yaml: splits.train.rows: .*integer"),
        (card_text(file=None), r"tiny.yaml: splits.train: give either 'file'"),
        (card_text(extra="variants: {train: {about: x}}"), r"'train' names a split and a variant"),
        ("- a list", r"tiny.yaml: a card is a mapping"),
        ("a: [", r"tiny.yaml: not YAML"),
    ],
)
def test_a_bad_card_is_named_with_its_key(place, text, message):
    place.card(text)
    with pytest.raises(InputError, match=message):
        catalog.names()


def test_a_family_lends_its_keys_to_its_members(place):
    place.card(
        "title: Twins\nfeatures: 2\nhome: h\nlicence: l\nvariants: {half: {about: half, divide: 2}}\n"
        "members:\n  one: {splits: {train: {file: one}}}\n"
        "  two: {title: The second, variants: {half: {papers: {p: T}}}, splits: {train: {file: two}}}\n"
    )
    assert catalog.names() == ["one", "two"]
    assert catalog.load_card("one").title == "Twins"
    two = catalog.load_card("two:half")
    assert (two.title, two.preparation.divide, two.preparation.papers) == ("The second", 2, {"p": "T"})


# ---- files


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".xz", lzma.compress), (".gz", gzip.compress)])
def test_mirror_file_plain_or_packed(place, suffix, pack):
    place.card(card_text())
    path = place.file("tiny" + suffix, pack(TINY))
    assert fetching.locate(catalog.load_card("tiny")) == path
    loaded = catalog.load("tiny")
    dense = loaded.X.toarray() if sparse.issparse(loaded.X) else loaded.X
    np.testing.assert_array_equal(dense, [[0.5, 1], [0, 2], [1, 0], [3, 4]])
    np.testing.assert_array_equal(loaded.y, [1, -1, 1, -1])
    assert loaded.sha256 == sha256(TINY)


def test_a_wrong_checksum_names_both_and_can_be_trusted(place):
    wanted = "0" * 64
    place.card(card_text(sha256=f"'{wanted}'"))
    place.file("tiny")
    with pytest.raises(InputError, match=f"sha256 {sha256(TINY)}, the card says {wanted}.*--trust"):
        catalog.load("tiny")
    assert catalog.load("tiny", trust=True).n_rows == 4
    assert catalog.load("tiny").n_rows == 4  # once accepted, this content stays accepted
    place.file("tiny", TINY + b"1 1:9\n")
    with pytest.raises(InputError, match="the card says"):
        catalog.load("tiny")


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"rows": 5}, "4 rows, but the card says 5"),
        ({"label_counts": "{-1: 3, 1: 1}"}, "2 rows of class -1, but the card says 3"),
        ({"label_counts": "{-1: 2, 1: 2, 3: 0, 7: 1}"}, "0 rows of class 7, but the card says 1"),
        ({"label_counts": None, "classes": 3}, "2 classes, but the card says 3"),
        ({"columns": 3}, "2 columns, but the card says 3"),
    ],
)
def test_a_wrong_shape_is_an_error_even_when_trusted(place, facts, message):
    place.card(card_text(**facts))
    place.file("tiny")
    with pytest.raises(InputError, match=message):
        catalog.load("tiny", trust=True)


def test_narrow_files_are_widened_to_the_data_set(place):
    place.card(card_text(columns=2).replace("features: 2", "features: 5"))
    place.file("tiny")
    assert catalog.load("tiny").X.shape == (4, 5)


def test_offline_says_which_file_to_put_where(place, monkeypatch):
    def no_network(*args, **kwargs):
        raise ConnectionError("no route to host")

    monkeypatch.setattr(pooch, "retrieve", no_network)
    place.card(card_text(url="https://example.org/tiny.bz2"))
    with pytest.raises(InputError) as caught:
        catalog.load("tiny")
    message = str(caught.value)
    for part in (
        "put tiny (plain",
        str(place.mirror),
        str(place.cache / "datasets"),
        "https://example.org/tiny.bz2",
    ):
        assert part in message
    assert "\n" not in message
    monkeypatch.delenv("SVMREDUCE_MIRROR")
    with pytest.raises(InputError, match="a folder that SVMREDUCE_MIRROR names"):
        catalog.load("tiny")
    place.card(card_text())
    with pytest.raises(InputError, match="no download address; see a drawer"):
        catalog.load("tiny")
    monkeypatch.setenv("SVMREDUCE_MIRROR", str(place.mirror / "nowhere"))
    with pytest.raises(InputError, match=r"SVMREDUCE_MIRROR is .*, which is not a folder"):
        catalog.load("tiny")


@pytest.fixture
def server(tmp_path):
    """A web server of its own folder; gives the folder, its address, and the paths it was asked for."""
    folder, asked = tmp_path / "www", []
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            asked.append(self.path)

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{running.server_port}", asked
    running.shutdown()
    running.server_close()


def test_a_download_is_verified_and_made_once(place, server):
    folder, address, asked = server
    (folder / "public-name.gz").write_bytes(gzip.compress(TINY))
    place.card(card_text(url=f"{address}/public-name.gz"))
    for _ in range(2):
        assert catalog.load("tiny").n_rows == 4
    assert fetching.locate(catalog.load_card("tiny")) == place.cache / "datasets" / "tiny.gz"
    assert asked == ["/public-name.gz"]


def test_a_missing_page_leaves_no_file_behind(place, server):
    place.card(card_text(url=f"{server[1]}/not-there"))
    with pytest.raises(InputError, match="404"):
        catalog.load("tiny")
    assert fetching.locate(catalog.load_card("tiny")) is None


def test_the_public_copy_may_have_another_form(place, server):
    """Labels first and as words at the public address, last and as numbers in the mirror: same rows."""
    folder, address, _ = server
    (folder / "raw").write_text("yes,1,2\nno,3,4\nyes,5,7\n")
    place.card(
        "name: t\ntitle: t\nfeatures: 2\nhome: h\nlicence: l\nformat: table\nsplits:\n  all:\n    file: t\n"
        "    rows: 3\n    label_counts: {0: 1, 1: 2}\n"
        f"    download:\n      file: raw\n      url: {address}/raw\n"
        '      reader: {label: 0, separator: ","}\n      labels: {"no": 0, "yes": 1}\n'
    )
    public = catalog.load("t")
    place.file("t", b"1 2 1\n3 4 0\n5 7 1\n")
    mirrored = catalog.load("t")
    np.testing.assert_array_equal(public.X, mirrored.X)
    np.testing.assert_array_equal(public.y, mirrored.y)


# ---- preparation


def test_preparation_steps_and_parts(place):
    rows = b"1,5,0,a\n1,5,0,b\n2,7,0,c\n0,9,0,a\n4,1,0,b\n"
    place.card(
        "name: t\ntitle: t\nfeatures: 3\nhome: h\nlicence: l\nformat: table\nlabels: {a: 1, b: 2, c: 3}\n"
        "splits:\n  all: {file: t, rows: 5, prepared: {distinct: {rows: 4}, broken: {rows: 9}}}\n"
        "  late: {part_of: all, slice: [2, 5], label_counts: {a: 1, b: 1, c: 1}}\n"
        "variants:\n  distinct: {about: x, distinct_rows: true, drop_columns: [2]}\n"
        "  two: {about: x, keep: [a, b], positive: [b], divide: 2, scale: zero_one}\n"
        "  broken: {about: x}\n"
    )
    place.file("t", rows)
    np.testing.assert_array_equal(catalog.load("t", "late").y, [3, 1, 2])
    distinct = catalog.load("t:distinct")
    np.testing.assert_array_equal(distinct.X, [[1, 5], [2, 7], [0, 9], [4, 1]])
    np.testing.assert_array_equal(distinct.y, [1, 3, 1, 2])
    two = catalog.load("t:two", scaled=False)
    np.testing.assert_array_equal(two.X[:, 0], [0.5, 0.5, 0, 2])
    np.testing.assert_array_equal(two.y, [-1, 1, -1, 1])
    np.testing.assert_array_equal(catalog.load("t:two").X[:, 0], [0.25, 0.25, 0, 1])
    with pytest.raises(InputError, match="t:broken all: 5 rows, but the card says 9"):
        catalog.load("t:broken")


def test_a_variant_scales_test_rows_by_the_training_rows(place):
    place.card(
        "name: t\ntitle: t\nfeatures: 1\nhome: h\nlicence: l\n"
        "splits: {train: {file: t}, test: {file: t.t}}\nvariants: {scaled: {about: x, scale: zero_one}}\n"
    )
    place.file("t", b"1 1:10\n-1 1:20\n")
    place.file("t.t", b"1 1:15\n-1 1:40\n")
    np.testing.assert_allclose(catalog.load("t:scaled", "test").X, [[0.5], [3]])


def test_text_columns_get_the_same_codes_in_every_file(place):
    place.card(
        "name: t\ntitle: t\nfeatures: 2\nhome: h\nlicence: l\nformat: table\n"
        'reader: {separator: ",", shared_categories: true}\n'
        "splits: {train: {file: t}, test: {file: t.t}}\nvariants: {hot: {about: x, categorical: onehot}}\n"
    )
    place.file("t", b"udp,1,0\ntcp,2,1\n")
    place.file("t.t", b"icmp,3,0\nudp,4,1\n")
    np.testing.assert_array_equal(catalog.load("t", "train").X, [[2, 1], [1, 2]])
    np.testing.assert_array_equal(catalog.load("t", "test").X, [[0, 3], [2, 4]])
    np.testing.assert_array_equal(catalog.load("t:hot", "test").X.toarray(), [[1, 0, 0, 3], [0, 0, 1, 4]])


def test_text_labels_without_numbers_are_an_error(place):
    place.card("name: t\ntitle: t\nfeatures: 1\nhome: h\nlicence: l\nformat: table\nsplits: {all: {file: t}}\n")
    place.file("t", b"1,yes\n2,no\n")
    with pytest.raises(InputError, match="are text: map them to numbers under 'labels'"):
        catalog.load("t")


# ---- cards that nobody should believe


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a/b", "a\\b", ".hidden", "''", '"a\\nb"', '"\\e[31m"'])
@pytest.mark.parametrize("key", ["file", "label_file", "download"])
def test_a_card_names_files_of_its_own_folders_only(place, name, key):
    facts = {"file": name} if key == "file" else {key: f"{{file: {name}, url: 'http://localhost/x'}}"}
    place.card(card_text(**facts))
    with pytest.raises(InputError, match=r"tiny.yaml: splits.train.*is not a plain file name"):
        catalog.load("tiny")


def test_a_download_with_a_wrong_checksum_is_not_kept(place, server):
    folder, address, _ = server
    (folder / "tiny").write_bytes(b"1 1:1\n")
    place.card(card_text(url=f"{address}/tiny"))
    with pytest.raises(InputError, match=r"http.*/tiny has the sha256"):
        catalog.load("tiny")
    assert [path for path in place.cache.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (card_text(extra="members: [a, b]"), "members: a mapping"),
        (card_text(extra="members: {a: 3}"), "members.a: a mapping"),
        (card_text(extra="members: {a: {variants: [1]}}"), "members.a: variants: a mapping"),
        (card_text(extra="variants: 3\nmembers: {a: {}}"), "variants: a mapping"),
        (card_text(extra="features: 2"), "the key 'features' is given twice"),
        (card_text(rows="1:30"), "splits.train.rows: YAML reads '1:30'"),
        (card_text(file=None, part_of="nowhere", slice="[0, 1]"), "part_of: 'nowhere' is not a split"),
        (card_text(file=None, part_of="train", slice="[0, 1]"), "part_of: 'train' is not a split"),
        (card_text(extra="format: idx"), "idx needs a 'label_file'"),
        (card_text(extra="? [a]\n: 1"), "a key must be a plain word"),
    ],
)
def test_a_card_of_odd_types_is_refused_with_its_key(place, text, said):
    place.card(text)
    with pytest.raises(InputError) as error:
        catalog.load("tiny")
    assert "tiny.yaml" in str(error.value) and said in str(error.value)
