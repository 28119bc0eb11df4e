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


def test_demo_compares_the_methods():
    result = call("demo", "--rows", "400", "--json")
    assert result.exit_code == 0
    runs = json.loads(result.stdout)["runs"]
    assert {entry["dataset"] for entry in runs} == {"breast cancer", "digits", "checkerboard"}
    for entry in runs:
        assert 0 <= entry["accuracy"] <= 1 and 0 < entry["kept"] <= entry["rows"]
    by = {(entry["dataset"], entry["method"]): entry for entry in runs}
    for dataset in ("breast cancer", "digits", "checkerboard"):
        assert abs(by[dataset, "libsvm"]["accuracy"] - by[dataset, "smo"]["accuracy"]) < 0.02
        assert by[dataset, "random 10 % + smo"]["kept"] < 0.11 * by[dataset, "smo"]["rows"]


def test_demo_prints_a_table():
    text = call("demo", "--rows", "400", "--quiet").stdout
    assert text == ""
    assert "random 10 % + smo" in call("demo", "--rows", "400").stdout
