"""``methods``, ``doctor`` and ``demo``: what they tell is true of the code they tell it about."""

import json

from threadpoolctl import threadpool_info

from svmreduce.reducers import REDUCERS
from svmreduce.solvers import SOLVERS
from tests.cli.commands import call


def test_methods_tells_every_method_and_its_defaults():
    listed = {entry["name"]: entry for entry in json.loads(call("methods", "--json").stdout)["methods"]}
    assert list(listed) == SOLVERS.names() + REDUCERS.names()
    for registry in (SOLVERS, REDUCERS):
        for name in registry.names():
            assert listed[name]["parameters"] == registry.get(name)().get_params()
    assert listed["libsvm"]["weights"] is False and "'smo'" in listed["libsvm"]["weights_reason"]
    assert listed["liblinear"]["kernels"] == ["linear"]
    text = call("methods").stdout
    assert all(f"{name}: " in text for name in listed)


def test_one_method_in_full():
    text = call("methods", "smo").stdout
    assert "Largest violation of the optimality conditions" in text and "liblinear:" not in text
    wrong = call("methods", "sno")
    assert wrong.exit_code == 2 and "did you mean 'smo'?" in wrong.stderr


def test_doctor():
    facts = json.loads(call("doctor", "--json").stdout)
    assert 1 <= facts["cores_allowed"] <= facts["cores"]
    assert facts["versions"]["numpy"] and facts["versions"]["libsvm-official"]
    assert facts["noise"]["median"] > 0 and facts["noise"]["spread"] >= 0
    loaded = {(library["filepath"], library["num_threads"]) for library in threadpool_info()}
    assert loaded and {(library["path"], library["threads"]) for library in facts["libraries"]} == loaded
    text = call("doctor").stdout
    assert "noise" in text and "cache" in text and ("keeps no bytecode" in text) != facts["bytecode"]


def test_demo_runs_its_experiment_and_names_the_next_steps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("demo", "--rows", "200")
    assert result.exit_code == 0, result.stderr
    for word in ("ETS", "OTS", "ECS", "CTS", "RMSE", "RandSVM", "checkerboard: Use", "svmreduce bench"):
        assert word in result.stdout
    assert "random samples of their size are compared over all points" in result.stdout
    assert "bootstrap cleaning" in (tmp_path / "results/runs/demo/demo.html").read_text()
    facts = json.loads(call("report", "results/runs/demo", "--json").stdout)
    by = {(row["dataset"], row["method"]): row for row in facts["summary"]}
    assert {name for name, _ in by} == {"checkerboard", "two spirals"}
    for dataset in ("checkerboard", "two spirals"):
        assert by[dataset, "smo"]["rmse"] < 0.01 and by[dataset, "random sample"]["kept_percent"] < 11
