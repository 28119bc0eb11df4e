"""The page of a run: whole, safe, readable without a script and without a network."""

import json
import re
import shutil
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

from svmreduce import papers
from svmreduce.cli.main import cli
from svmreduce.experiments import store
from svmreduce.reports.markup import Markup, tag
from svmreduce.reports.reproduction.paper_comparison import compare_with_paper, table_of_run
from svmreduce.reports.run import page, summary_text
from tests.reports.made_up import failed, record, run, write

VOID = {"meta", "input", "path", "use", "rect", "br"}
HOSTILE = """<img src=x onerror="alert(1)">'&amp;\x01]]></style></script>"""


class Reader(HTMLParser):
    """Elements with their attributes, and the text that a reader sees."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name):
        if name not in VOID:
            assert self.open and self.open.pop() == name, f"</{name}> closes nothing"

    def handle_data(self, text):
        if not {"style", "script"} & set(self.open):
            self.words.append(text)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def of(self, name):
        return [attributes for found, attributes in self.elements if found == name]


def whole_run():
    """Two data sets, a baseline, the engine, a reduction with its control, and a timeout."""
    made = run()
    for dataset in ("toy", "board"):
        for C in (1.0, 10.0):
            point = {"C": C, "gamma": 0.5}
            made.append(record(dataset, "smo", point=point, solve=1.5))
            sample = record(dataset, "reduced (random control)", point=point, reducer="random", solve=0.9, accuracy=0.9)
            sample["sizes"]["kept_rows"] = 200
            made.append(sample)
    return [*made, failed("timeout", "stopped after 10 s <soon>", dataset="toy", method="slow", point={"C": 1.0})]


def toy_run():
    return [entry for entry in run() if entry["dataset"] == "toy"]


def page_of(folder, records, config=""):
    write(folder, records)
    if config:
        (folder / "config.yaml").write_text(config)
    found = store.read(folder)
    name = table_of_run(found)
    return page.html(found, compare_with_paper(found, name) if name else None, "svmreduce report RUN --html page.html")


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    config = "# svmreduce run my.yaml --scale small\ntitle: A trial & more\npaper: aesvm:table4\n"
    made = [entry | {"dataset": "ijcnn1" if entry["dataset"] == "toy" else "board"} for entry in whole_run()]
    return page_of(tmp_path_factory.mktemp("run"), made, config)


@pytest.fixture(scope="module")
def reader(text):
    return Reader(text)


# Whole and safe


def test_every_element_is_closed_and_every_name_is_one_of_a_kind(reader):
    assert reader.open == []
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids)) > 10
    assert len(reader.of("svg")) >= 6
    assert all(attributes["aria-label"] for attributes in reader.of("svg"))


def test_nothing_is_fetched(reader, text):
    ids = {attributes["id"] for _, attributes in reader.elements if "id" in attributes}
    for name, attributes in reader.elements:
        assert "src" not in attributes and name not in ("link", "img", "iframe", "object", "base")
        for key in ("href", "xlink:href"):
            assert attributes.get(key, "#").startswith("#") and attributes.get(key, "#")[1:] in {"", *ids}
    assert not re.search(r"https?:|@import|url\((?!#)", text)
    (policy,) = [meta["content"] for meta in reader.of("meta") if "http-equiv" in meta]
    assert policy.startswith("default-src 'none'")


def test_hostile_names_stay_names(tmp_path):
    records = [record(HOSTILE, method, experiment=HOSTILE) for method in ("libsvm", HOSTILE)]
    records.append(failed("error", HOSTILE, dataset=HOSTILE, method="slow"))
    found = Reader(page_of(tmp_path / "run", records, f"title: {json.dumps(HOSTILE)}\n"))
    assert found.open == [] and not found.of("img") and len(found.of("script")) == 1
    assert not [1 for _, attributes in found.elements if "onerror" in attributes]
    shown = HOSTILE.replace("\x01", "\ufffd")
    assert found.text.count(shown) >= 5  # title, head, tables, failures


def test_markup_is_escaped_unless_it_is_markup():
    assert tag("p", "<b>", tag("i", "a & b"), title='"x"') == '<p title="&quot;x&quot;">&lt;b&gt;<i>a &amp; b</i></p>'
    assert tag("td", Markup("<br>"), class_=None, data_value=1.5) == '<td data-value="1.5"><br></td>'


def test_the_same_run_makes_the_same_page(tmp_path):
    one, two = (page_of(tmp_path / "run", toy_run()) for _ in range(2))
    assert one == two


# What it says


def test_what_is_said_about_the_run_is_true(tmp_path):
    records = whole_run()
    records[1]["environment"] = records[1]["environment"] | {"load": 7.0}
    records[2]["status"] = "not_converged"
    write(tmp_path / "run", records)
    found = summary_text.sentences(store.read(tmp_path / "run"))
    assert found[0].startswith("4 methods (libsvm, reduced, slow, smo) on 2 data sets (board, toy), ")
    assert "and a random sample of equal size for each reduction" in found[0]
    assert found[1] == (
        "1 of 19 records have no result (1 timeout): slow on toy. 1 fit stopped before reaching the tolerance."
    )
    assert found[2].startswith("The machine was busy (load up to 7.0)")


def test_the_first_screen_says_what_to_use_and_what_it_costs(reader):
    start = reader.text[: reader.text.index("Results")]
    assert "On both data sets the choice is our SMO engine on all rows." in start
    # smo: 1.5 s against 2 s of libsvm; reduced: 1 + 0.5 s; its control has 90 % against 94 %
    assert "Use our SMO engine on all rows . 1.5 s" in start.replace("one fit ", "")
    assert "as fast as LIBSVM 1.3×" in start and "accuracy 95.00 %" in start
    assert "reduced better +4.00 ±" in start or "reduced no better +4.00 ±" in start
    assert [attributes["data-dataset"] for attributes in reader.of("article")] == ["board", "ijcnn1"]


def test_the_best_are_marked_and_controls_are_quiet(text):
    body = text[text.index('id="results"') :]
    body = body[: body.index("</table>")]
    rows = {re.search(r'class="who">(.*?)<', row)[1]: row for row in body.split("<tr")[2:]}
    assert rows["smo"].startswith(' class="choice"') and 'class="best"' in rows["reduced"]
    assert (
        rows["reduced (random control)"].startswith(' class="control')
        and "best" not in rows["reduced (random control)"]
    )
    titles = re.findall(r"<th[^>]*>(.*?)</th>", body[: body.index("</thead>")])
    assert max(title.count("<br>") for title in titles) == 1 and {"ECS", "CTS"} <= set(titles)


def test_the_page_has_everything(reader):
    for words_ in (
        "A trial & more",
        "stopped after 10 s <soon>",
        "svmreduce run my.yaml --scale small",
        "svmreduce report RUN --html page.html",
        "paper: aesvm:table4",
        "Host box: A CPU, load 0.50 to 0.50",
        "Fast SVM Training Using Approximate Extreme Points, Table 4",
        "not measured",
        "1.60",  # the overall speed-up
    ):
        assert words_ in reader.text, words_
    anchors = {attributes["href"] for attributes in reader.of("a")}
    assert "#how-it-was-made" in anchors and anchors >= {"#verdict", "#results", "#paper", "#failures"}


def test_every_printed_row_is_on_the_page(reader):
    printed = papers.find("aesvm:table4")
    assert all(f"{row['dataset']} {row['solver']}" in reader.text for row in printed.rows)
    assert "5.8 → –" in reader.text  # printed for D1, not measured here


def test_it_reads_without_a_script(text, reader):
    without = Reader(re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL))
    assert without.text == reader.text and len(without.of("td")) == len(reader.of("td"))
    assert "hidden" not in {key for _, attributes in reader.elements for key in attributes}


def test_a_run_of_failures_has_a_page(tmp_path):
    found = Reader(page_of(tmp_path / "run", [failed(method=name) for name in ("libsvm", "smo")]))
    assert "2 of 2 records have no result (2 timeout)" in found.text and not found.of("svg")


def test_a_page_is_not_a_data_base(tmp_path):
    records = [record(seed=seed) for seed in range(page.MOST_FITS + 1)]
    found = Reader(page_of(tmp_path / "run", records))
    assert f"{page.MOST_FITS + 1} rows, too many for a page: svmreduce report" in found.text
    assert "--by fits --format csv" in found.text


# The command


def invoke(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def test_the_command_writes_one_file(tmp_path):
    folder, file = write(tmp_path / "run", toy_run()), tmp_path / "page.html"
    done = invoke("report", folder, "--html", file)
    assert (done.exit_code, done.stdout) == (0, f"page in {file}\n")
    assert f"svmreduce report {folder} --html {file}" in Reader(file.read_text()).text
    assert sorted(path.name for path in folder.iterdir()) == ["records.jsonl"]
    write(folder, [record()])
    both = invoke("report", folder, "--html", file, "--format", "markdown")
    assert both.stdout.startswith("page in") and "## Verdict" in both.stdout
    wrong = invoke("report", folder, "--html", folder / "records.jsonl")
    assert wrong.exit_code == 2 and "is also an input" in wrong.stderr


def test_a_run_remembers_its_command(tmp_path):
    (tmp_path / "my.yaml").write_text(
        "name: tiny\ndatasets: [{generator: checkerboard, rows: 40, test_rows: 20}]\nsolvers: [libsvm]\n"
    )
    folder = tmp_path / "out"
    done = invoke("run", tmp_path / "my.yaml", "-o", folder, "--set", "grid.C=[1, 2]", "--quiet")
    assert done.exit_code == 0
    first = (folder / "config.yaml").read_text().splitlines()[0]
    assert first == f"# svmreduce run {tmp_path / 'my.yaml'} --out {folder} --set 'grid.C=[1, 2]' --quiet"
    invoke("report", folder, "--html", tmp_path / "page.html")
    assert first.removeprefix("# ") in Reader((tmp_path / "page.html").read_text()).text
    again = invoke("run", folder / "config.yaml", "-o", tmp_path / "again", "--quiet")  # the config runs by itself
    assert again.exit_code == 0


def test_a_large_run_has_a_small_page(tmp_path):
    methods = [("libsvm", 5.0), *((f"method {number}", 1.0 + number) for number in range(9))]
    records = [record(f"d{k}", name, solve=s, solver="libsvm") for k in range(6) for name, s in methods]
    text = page_of(tmp_path / "run", records)  # with every figure it would have 240,000 letters
    assert len(text) < 200_000 and "more: svmreduce report" in Reader(text).text


def test_tables_need_no_drawing(tmp_path):
    folder = write(tmp_path / "run", run())
    code = (
        "import sys; from svmreduce.cli.main import main\ntry: main()\nexcept SystemExit: pass\n"
        "print('matplotlib' in sys.modules, 'scipy' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "report", str(folder), "--paper", "aesvm:table4"],
        capture_output=True,
        text=True,
    )
    assert done.stderr == "False False\n" and "printed → measured" in done.stdout


# In a browser

_BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
_FRAMES = """<!DOCTYPE html><body style="margin:0">
<iframe width="1280" height="900" src="page.html"></iframe><iframe width="360" height="900" src="page.html"></iframe>
<pre id="found"></pre><script>
const overlaps = (a, b) => {
  const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return wide > 1 && high > 1 ? wide * high / Math.min(a.width * a.height, b.width * b.height) : 0;
};
const look = (frame) => {
  const view = frame.contentWindow, page = view.document, root = page.documentElement;
  page.querySelectorAll("details").forEach((part) => { part.open = true; });
  const wide = [...page.querySelectorAll("body *")].filter((part) => !part.closest(".scroll, pre, svg")
    && part.getBoundingClientRect().right > view.innerWidth + 1).map((part) => part.outerHTML.slice(0, 120));
  const covered = [...page.querySelectorAll("svg")].flatMap((drawn) => {
    const texts = [...drawn.querySelectorAll("text")];
    const boxes = texts.map((text) => text.getBoundingClientRect());
    return texts.flatMap((text, i) => texts.slice(0, i).filter((_, j) => overlaps(boxes[i], boxes[j]) > 0.3)
      .map((other) => `${drawn.getAttribute("aria-label")}: ${text.textContent} | ${other.textContent}`));
  });
  const table = page.querySelector("table.sorts");
  const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
  const column = heads.indexOf("OTS");
  const order = () => [...table.tBodies[0].rows].map((row) => row.cells[column].textContent);
  table.tHead.rows[0].cells[column].querySelector("button").click();
  const up = order();
  table.tHead.rows[0].cells[column].querySelector("button").click();
  return { width: view.innerWidth, page: root.scrollWidth, wide, covered, up, down: order(),
    fetched: view.performance.getEntriesByType("resource").map((entry) => entry.name) };
};
addEventListener("load", () => {
  document.getElementById("found").textContent = JSON.stringify([...document.querySelectorAll("iframe")].map(look));
});
</script></body>"""
_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files",
    "--disable-background-networking", "--no-first-run", "--virtual-time-budget=5000",
]  # fmt: skip


def browse(folder, *arguments):
    command = [_BROWSER, *_FLAGS, f"--user-data-dir={folder / 'profile'}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=True).stdout


@pytest.fixture(scope="module")
def looked_at(text, tmp_path_factory):
    """What a browser finds, at the width of a laptop and of a phone."""
    if _BROWSER is None:
        pytest.skip("no Chromium here")
    folder = tmp_path_factory.mktemp("browser")
    (folder / "page.html").write_text(text)
    (folder / "frames.html").write_text(_FRAMES)
    seen = browse(folder, "--window-size=1700,1000", "--dump-dom", f"file://{folder / 'frames.html'}")
    found = json.loads(unescape(re.search(r'<pre id="found">(.*?)</pre>', seen, re.DOTALL)[1]))
    return dict(zip(("laptop", "phone"), found, strict=True))


@pytest.mark.parametrize(("screen", "width"), [("laptop", 1280), ("phone", 360)])
def test_nothing_reaches_beyond_the_screen(looked_at, screen, width):
    found = looked_at[screen]
    assert (found["width"], found["page"], found["wide"]) == (width, width, [])


@pytest.mark.parametrize("screen", ["laptop", "phone"])
def test_no_text_covers_another_in_a_figure(looked_at, screen):
    assert looked_at[screen]["covered"] == []


def test_the_browser_fetches_nothing(looked_at):
    assert looked_at["laptop"]["fetched"] == looked_at["phone"]["fetched"] == []


def test_a_click_sorts_numbers_and_leaves_empty_cells_last(looked_at):
    found = looked_at["laptop"]
    known = [float(value) for value in found["up"] if value]
    assert known == sorted(known) and len(known) == 8 and found["up"][-1] == ""  # slow has none
    assert [float(value) for value in found["down"] if value] == known[::-1] and found["down"][-1] == ""


def test_pictures_of_the_page(text, tmp_path):
    if _BROWSER is None:
        pytest.skip("no Chromium here")
    (tmp_path / "page.html").write_text(text)
    for width in (1280, 500):  # a window cannot be narrower
        file = tmp_path / f"{width}.png"
        browse(tmp_path, f"--window-size={width},1400", f"--screenshot={file}", f"file://{tmp_path / 'page.html'}")
        assert file.stat().st_size > 30_000  # not blank
