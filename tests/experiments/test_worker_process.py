"""A worker under fire: only its own answers are believed, and nothing that it started outlives it."""

import json
import os
import signal
import subprocess
import sys

import psutil
import pytest
import yaml

from svmreduce.experiments import store
from svmreduce.experiments.config import load
from tests.experiments.test_runner import BOARD, alive, children_of, run, wait_for

PLUG_INS = "tests.drill.plug_ins"


def records_of(tmp_path, *names):
    """The records of a run of these misbehaving methods, then a good one, by method."""
    bad = [{"name": f"{PLUG_INS}:{name}", "as": name} for name in names]
    content = {"name": "fire", "datasets": [BOARD], "solvers": [*bad, "smo"]}
    path = tmp_path / "fire.yaml"
    path.write_text(yaml.safe_dump(content))
    found = {}
    for record in run(load(path), tmp_path / "run")[0]:
        found.setdefault(record.method, []).append(record)
    return found


@pytest.fixture(scope="module")
def under_fire(tmp_path_factory):
    """One run of all that are named below; its folder, and its records by method."""
    folder = tmp_path_factory.mktemp("fire")
    return folder, records_of(folder, "StrayLine", "OddFacts", "Forges", "Escapes", "ClosesStdin", "WritesLater")


def test_a_good_method_is_not_disturbed(tmp_path, under_fire):
    alone, among_others = records_of(tmp_path)["smo"], under_fire[1]["smo"]
    assert [record.scores for record in alone] == [record.scores for record in among_others]
    assert all(record.status == "ok" for record in among_others)


def test_a_stray_line_costs_its_own_task_and_no_other(under_fire):
    said = {"StrayLine": "it wrote b'hello' among its answers", "Forges": "which does not carry the id of its task"}
    for name, words in said.items():
        assert all(record.status == "crash" and words in record.reason for record in under_fire[1][name])


def test_a_worker_broken_by_one_task_does_not_blame_the_next(under_fire):
    assert all(record.status == "ok" for record in under_fire[1]["ClosesStdin"])


def test_facts_that_cannot_be_recorded_are_an_error_of_the_method(under_fire):
    folder, found = under_fire
    assert {record.status for record in found["OddFacts"]} == {"error"}
    assert "cannot be recorded" in found["OddFacts"][0].reason
    assert store.read(folder / "run").unreadable == 0  # what was written can be read


def test_a_method_that_hangs_on_a_toy_problem_is_ended_after_its_own_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("svmreduce.experiments.worker_process.PREPARATION_SECONDS", 120)
    content = {"name": "fire", "datasets": [BOARD], "limits": {"seconds": 3}, "solvers": [f"{PLUG_INS}:Sleeps"]}
    (tmp_path / "fire.yaml").write_text(yaml.safe_dump(content))
    (record,) = run(load(tmp_path / "fire.yaml"), tmp_path / "run")[0]
    assert (record.status, record.reason) == ("timeout", "ended after its limit of 3 s")


def test_a_child_in_a_session_of_its_own_is_ended_too(tmp_path, monkeypatch):
    monkeypatch.setenv("STARTED_BY", str(tmp_path))  # its descendants inherit it
    records_of(tmp_path, "Daemon")
    assert not [process for process in psutil.process_iter() if _started_by(process) == str(tmp_path)]


def _started_by(process):
    try:
        return process.environ().get("STARTED_BY")
    except psutil.Error:
        return None


def test_a_worker_that_only_starts_does_not_outlive_its_run(tmp_path):
    """Its imports take seconds; the parent is watched before them."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'sklearn': time.sleep(30)\n"
        "if 'worker' in ' '.join(sys.orig_argv): sys.meta_path.insert(0, Slow())\n"
    )
    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump({"name": "slow", "datasets": [BOARD], "solvers": ["smo"]}))
    command = [sys.executable, "-m", "svmreduce", "run", str(path), "-o", str(tmp_path / "run")]
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    wait_for(lambda: children_of(process.pid))
    workers = children_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not any(alive(pid) for pid in workers), 8)


def test_modules_of_the_current_folder_take_no_place_of_a_package(tmp_path):
    """Neither in the command nor in its workers."""
    for name in ("tqdm", "sklearn", "numba"):
        (tmp_path / f"{name}.py").write_text(
            f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')\nraise SystemExit(0)\n"
        )
    (tmp_path / "mine.py").write_text("from svmreduce.solvers.smo import SMO\nclass Mine(SMO): pass\n")
    content = {"name": "own", "datasets": [BOARD], "solvers": ["smo", "mine:Mine"]}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(content))
    command = [sys.executable, "-m", "svmreduce", "run", "c.yaml", "-o", "run", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert not (tmp_path / "ran").exists()
    assert done.returncode == 0 and json.loads(done.stdout)["statuses"] == {"ok": 2}, done.stderr
