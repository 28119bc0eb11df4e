"""``svmreduce report`` and ``svmreduce compare``: formats, files, exit codes."""

import csv
import io
import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.cli.commands import call
from tests.reports.made_up import failed, record, run, write


@pytest.fixture
def base(tmp_path):
    return write(tmp_path / "base", run())


@pytest.fixture
def new(tmp_path):
    """``new(change)`` writes the run after ``change(records)`` had its way with it."""

    def make(change=lambda records: None):
        records = run()
        change(records)
        return write(tmp_path / "new", records)

    return make


def test_report_shows_failures_and_exits_0(tmp_path):
    folder = write(tmp_path / "run", [*run(), failed("timeout", "stopped after 10 s", method="slow")])
    with open(folder / "records.jsonl", "a") as file:
        file.write('{"id": "cut o')
    result = call("report", folder)
    assert result.exit_code == 0 and result.stderr == ""
    assert "stopped after 10 s" in result.stdout and "1 timeout" in result.stdout
    assert "Unreadable lines skipped: 1" in result.stdout
    assert sorted(path.name for path in folder.iterdir()) == ["records.jsonl"]
    table = call("report", folder, "--format", "csv")
    assert table.stderr.endswith("records.jsonl: 1 unreadable lines were skipped\n")
    assert len(list(csv.DictReader(io.StringIO(table.stdout)))) == 5


def test_report_by_fits(base):
    rows = list(csv.DictReader(io.StringIO(call("report", base, "--by", "fits", "--format", "csv").stdout)))
    assert len(rows) == 8 and {row["accuracy"] for row in rows} == {"0.95", "0.94"}
    facts = json.loads(call("report", base / "records.jsonl", "--by", "fits", "--json").stdout)
    assert len(facts["fits"]) == 8 and facts["failures"] == [] and facts["environment"]["records"] == 10
    assert len(json.loads(call("report", base, "--json").stdout)["summary"]) == 4


def test_report_to_a_file_in_the_format_of_its_name(base, tmp_path):
    for name, start in (
        ("t.md", "## Verdict"),
        ("t.tex", "% needs"),
        ("t.csv", "dataset,method"),
        ("t.txt", "== Verdict"),
    ):
        result = call("report", base, "--output", tmp_path / name)
        assert (result.exit_code, result.stdout) == (0, "")
        assert (tmp_path / name).read_text().startswith(start)
    call("report", base, "--format", "latex", "-o", tmp_path / "t.md")
    assert (tmp_path / "t.md").read_text().startswith("% needs")
    kept = (base / "records.jsonl").read_bytes()
    result = call("report", base, "-o", base / "records.jsonl")
    assert result.exit_code == 2 and "is also an input" in result.stderr
    assert (base / "records.jsonl").read_bytes() == kept


def test_report_of_nothing_is_one_line(tmp_path):
    result = call("report", tmp_path)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert f"{tmp_path}: has no records.jsonl; " in result.stderr
    assert call("report", tmp_path, "--json", "--format", "csv").exit_code == 2


def test_report_needs_nothing_heavy(base):
    code = (
        "import sys; from svmreduce.cli.main import main\ntry: main()\nexcept SystemExit: pass\n"
        "print([name for name in ('pandas', 'numba', 'sklearn', 'scipy') if name in sys.modules], file=sys.stderr)"
    )
    for arguments in (["report", str(base)], ["compare", str(base), str(base)]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
        assert done.stderr == "[]\n" and done.stdout


def test_compare_with_itself_is_fine(base):
    result = call("compare", base, base)
    assert result.exit_code == 0
    assert result.stdout.startswith("== Fine: 0 worse, 0 missing, 0 improved (10 rows matched")


@pytest.mark.parametrize(("section", "metric", "value"), [("scores", "accuracy", 0.93), ("counters", "n_iter", 440)])
def test_compare_finds_what_was_worsened_by_hand(base, new, section, metric, value):
    result = call("compare", base, new(lambda records: records[2][section].update({metric: value})))
    assert result.exit_code == 1
    assert result.stdout.startswith("== REGRESSION: 1 worse") and metric in result.stdout


def test_compare_names_a_missing_row(base, new):
    result = call("compare", base, new(lambda records: records.pop(2)))
    assert result.exit_code == 4
    assert result.stdout.startswith("== NOT COMPARABLE: 0 worse, 1 missing")
    assert "toy reduced C=1.0, gamma=0.5, fold 0, seed 0 row ok" in " ".join(result.stdout.split())


def test_compare_with_nothing_exits_4(base, tmp_path):
    empty = write(tmp_path / "empty", [])
    for pair in ((empty, base), (base, empty), (tmp_path / "nowhere", base), (base, tmp_path / "nowhere")):
        result = call("compare", *pair)
        assert (result.exit_code, result.stdout) == (4, "")
        assert result.stderr.startswith("Error: nothing to compare: ") and result.stderr.count("\n") == 1


def test_limits_of_the_config_and_of_flags(base, new):
    folder = new(lambda records: records[2]["scores"].update(accuracy=0.9385))
    assert call("compare", base, folder).exit_code == 0
    (folder / "config.yaml").write_text("compare: {accuracy: {absolute: 0.001}}\n")
    assert call("compare", base, folder).exit_code == 1
    assert call("compare", base, folder, "--tolerance", "accuracy=0.01").exit_code == 0
    assert call("compare", base, folder, "--tolerance", "accuracy=0.01%").exit_code == 1
    wrong = call("compare", base, folder, "--tolerance", "acuracy=1")
    assert wrong.exit_code == 2 and "did you mean 'accuracy'?" in wrong.stderr
    (folder / "config.yaml").write_text("compare: {acuracy: {absolute: 0.001}}\n")
    wrong = call("compare", base, folder)
    assert wrong.exit_code == 2 and "config.yaml: compare 'acuracy': did you mean 'accuracy'?" in wrong.stderr


def test_compare_in_other_formats(base, new, tmp_path):
    folder = new(lambda records: records[2]["scores"].update(accuracy=0.5))
    text = call("compare", base, folder, "--format", "markdown", "--junit", tmp_path / "out.xml")
    assert text.exit_code == 1 and text.stdout.startswith("## REGRESSION: 1 worse") and "| accuracy " in text.stdout
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "0")
    result = call("compare", base, folder, "--json")
    facts = json.loads(result.stdout)
    assert (result.exit_code, facts["exit_code"], facts["verdict"]) == (1, 1, "regression")
    (finding,) = facts["findings"]
    assert (finding["metric"], finding["base"], finding["new"]) == ("accuracy", 0.94, 0.5)


def test_junit_has_somewhere_to_go_before_anything_is_judged(base, tmp_path):
    result = call("compare", base, base, "--junit", tmp_path / "no" / "out.xml")
    assert result.exit_code == 2 and "does not exist; create it first" in result.stderr


def test_a_slower_machine_is_no_regression(tmp_path):
    def run_with(seconds):
        return [record(method=method, solve=seconds) for method in ("libsvm", "smo")]

    base, new = write(tmp_path / "a", run_with(1.0)), write(tmp_path / "b", run_with(50.0))
    assert call("compare", base, new).exit_code == 0
