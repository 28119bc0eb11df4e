"""``svmreduce run`` and ``svmreduce plan`` as a user meets them."""

import json

import pytest
import yaml

from svmreduce.experiments import store
from tests.cli.commands import call, fails

CONFIG = {"name": "tiny", "datasets": [{"generator": "checkerboard", "rows": 100, "test_rows": 50, "as": "board"}],
          "solvers": ["libsvm", {"name": "smo", "as": "AESVM", "reducer": "derive_rs"}], "baseline": "libsvm",
          "grid": {"C": [1, 10], "gamma": [1]}}  # fmt: skip


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(CONFIG))
    return str(path)


def test_plan_run_plan_report(config, tmp_path):
    folder = str(tmp_path / "run")
    before = json.loads(call("plan", config, "-o", folder, "--json").stdout)
    assert (before["fits"], before["reductions"], before["to_run"], before["cached"]) == (6, 2, 8, 0)
    ran = call("run", config, "-o", folder)
    assert ran.exit_code == 0 and f"svmreduce report {folder}" in ran.stdout and "[8/8]" in ran.stderr
    after = json.loads(call("plan", config, "-o", folder, "--json").stdout)
    assert (after["to_run"], after["cached"]) == (0, 8)
    more = call("plan", config, "-o", folder, "--set", "grid.C=[1,10,100]")
    assert "3 of 11 tasks, 8 are already recorded" in more.stdout and "from earlier records" in more.stdout
    again = json.loads(call("run", config, "-o", folder, "--json").stdout)
    assert again == {"folder": folder, "records": 8, "reused": 8, "statuses": {"ok": 8}}
    assert "AESVM (random control)" in call("report", folder).stdout
    assert yaml.safe_load((tmp_path / "run" / store.CONFIG).read_text())["name"] == "tiny"


def test_failed_rows_end_with_exit_code_3(config, tmp_path):
    ran = call("run", config, "-o", str(tmp_path / "run"), "--set", "solvers=[tests.experiments.faulty:Raises]",
                 "--set", "grid.C=[1,2]", "--set", "baseline=null")  # fmt: skip
    assert ran.exit_code == 3
    assert "1 of 2 failed; run them again with --rerun failed" in ran.stderr
    assert "error: ZeroDivisionError: a fault of its own" in ran.stderr
    assert "a fault of its own" in call("report", str(tmp_path / "run")).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.yaml"], "nowhere.yaml: no such experiment file"),
        (["--set", "C"], "--set takes key=value, got 'C'"),
        (["--set", "grid.C=[1"], "lists are written [1,10]"),
        (["--set", "grid.C=[-1]"], "tiny.yaml: C must be a positive number, got -1"),
        (["--timeout", "0"], "limits.seconds: Input should be greater than 0"),
        (["--scheduler", "tcp://nowhere:1"], "--scheduler needs --engine dask"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_and_exit_code_2(config, tmp_path, arguments, said):
    command = ["run", "-o", str(tmp_path / "run")] + (
        arguments if "nowhere.yaml" in arguments else [config, *arguments]
    )
    result = call(*command)
    assert result.exit_code == 2 and said in result.stderr
    assert result.stderr.count("\n") == 1 and not (tmp_path / "run" / store.RECORDS).exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"grid": {"C": ["2^99999"]}}, "grid: C: 2^99999 is outside of the range of doubles"),
        ({"grid": {"C": ["0^-1"]}}, "grid: C: 0^-1 is outside of the range of doubles"),
        ({"solvers": [{"name": "smo", "C": "2^99999"}]}, "solvers.0: C: 2^99999 is outside"),
        ({"split": {"folds": 10**9}}, "folds of all datasets 1000000000) are more than limits.tasks"),
        ({"repeats": 10**9}, "repeats 1000000000"),
        ({"grid": {"C": list(range(1, 1001)), "gamma": list(range(1, 1001))}}, "1000000 fits (grid 1000000"),
        ({"solvers": [{"name": "smo", "C": list(range(1, 1001)), "tol": list(range(1, 1001))}]}, "solvers and"),
        ({"solvers": ["exits:Solver"]}, "solver 'exits:Solver': SystemExit: 0"),
        ({"solvers": ["raises:Solver"]}, "ZeroDivisionError: division by zero"),
        ({"threads": 10**12}, "threads: Input should be less than or equal to 4096"),
        ({"datasets": [{"generator": "blobs", "rows": 5, "params": {"features": [1]}}]}, "features of blobs: [1]"),
        ({"datasets": [{"generator": "blobs", "rows": 10**400}]}, "need more than a billion GB of memory"),
        ({"datasets": [{"file": "t.csv", "label": "kin"}]}, "t.csv: no column 'kin'; the header names a, kind"),
        ({"datasets": [{"file": "t.csv", "label": "kind", "drop": [7]}]}, "t.csv: no column 7 among 2"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["plan", "run"])
def test_what_cannot_be_planned_is_refused_before_anything_is_made(tmp_path, monkeypatch, command, changes, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(0)\n")
    (tmp_path / "raises.py").write_text("1 / 0\n")
    (tmp_path / "t.csv").write_text("a,kind\n" + "0.5,yes\n0.25,no\n" * 20)
    content = {"name": "odd", "datasets": [{"generator": "checkerboard", "rows": 50}], "solvers": ["smo"]} | changes
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(content))
    assert said in fails(command, "c.yaml")
    assert not (tmp_path / "results").exists()


def test_the_limit_of_tasks_can_be_raised(tmp_path):
    content = {
        "name": "odd",
        "datasets": [{"generator": "checkerboard", "rows": 50}],
        "solvers": ["smo"],
        "repeats": 60,
    }
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(content | {"limits": {"tasks": 50}}))
    assert "60 fits" in fails("plan", tmp_path / "c.yaml")
    assert call("plan", tmp_path / "c.yaml", "--set", "limits.tasks=60").exit_code == 0
