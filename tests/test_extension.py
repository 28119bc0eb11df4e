"""A package of somebody else: its methods by entry points, through every command, without a change in this one."""

import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from svmreduce import testing
from svmreduce.data import synthetic
from svmreduce.data.formats import read_libsvm, write_libsvm
from svmreduce.errors import InputError
from svmreduce.experiments import planning, store
from svmreduce.model import load_model
from svmreduce.reducers import REDUCERS
from svmreduce.solvers import SOLVERS
from tests.cli.commands import call, fails

README = Path(__file__).parents[1] / "README.md"
KERNEL_RIDGE = '''
import numpy as np

from svmreduce import SVMClassifier
from svmreduce.core.kernel_values import kernel_matrix
from svmreduce.types import DualSolution


class KernelRidge(SVMClassifier):
    """Least squares in the kernel space, by one linear system."""

    kernels = ("linear", "rbf")

    def __init__(self, C=1.0, kernel="rbf", gamma="scale", coef0=0.0, degree=3):
        self.C, self.kernel, self.gamma, self.coef0, self.degree = C, kernel, gamma, coef0, degree

    def _fit_binary(self, X, y, weights, kernel):
        system = kernel_matrix(kernel, X, X) + np.diag(1 / (self.C * weights))
        return DualSolution(np.linalg.solve(system, y), 0.0, n_iter=1)
'''
ENTRY_POINTS = """
[svmreduce.solvers]
kernel_ridge = elsewhere.solvers:KernelRidge
smo = elsewhere.solvers:KernelRidge
broken = elsewhere.missing:Nothing
forest = sklearn.ensemble:RandomForestClassifier

[svmreduce.reducers]
centroids = elsewhere.reducers:Centroids
"""


def template() -> str:
    """The code of the README's section on methods of one's own."""
    section = README.read_text(encoding="utf-8").partition("## Add a method")[2]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]


def install(folder: Path, name: str, entry_points: str) -> None:
    """What pip leaves behind of a package."""
    about = folder / f"{name}-2.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.5\n")
    (about / "entry_points.txt").write_text(entry_points)


def forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "elsewhere"]:
        del sys.modules[name]
    for registry in (SOLVERS, REDUCERS):
        vars(registry).pop("entry_points", None)
    planning._own_code.cache_clear()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """The package ``elsewhere`` is installed, for this process and for workers; its folder."""
    site = tmp_path / "site"
    (site / "elsewhere").mkdir(parents=True)
    (site / "elsewhere" / "__init__.py").touch()
    (site / "elsewhere" / "solvers.py").write_text(KERNEL_RIDGE)
    (site / "elsewhere" / "reducers.py").write_text(template())
    install(site, "elsewhere", ENTRY_POINTS)
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
    forget()
    yield site
    monkeypatch.undo()
    forget()


@pytest.fixture
def board(tmp_path):
    data = synthetic.make("checkerboard", 400, seed=0)
    write_libsvm(tmp_path / "board", data.X, data.y)
    return tmp_path / "board"


def test_both_keep_the_promises(elsewhere):
    testing.check_reducer(REDUCERS.get("centroids"))
    testing.check_solver(SOLVERS.get("kernel_ridge"))


def test_methods_lists_them_with_their_package_and_one_that_is_broken_hides_no_other(elsewhere):
    done = call("methods", "--json")
    told = json.loads(done.stdout)
    listed = {entry["name"]: entry for entry in told["methods"]}
    assert {*SOLVERS.where, *REDUCERS.where, "centroids", "kernel_ridge", "forest", "broken"} == set(listed)
    assert listed["centroids"]["package"] == listed["forest"]["package"] == "elsewhere 2.5"
    assert "package" not in listed["smo"] and listed["smo"]["parameters"] == SOLVERS.get("smo")().get_params()
    assert listed["broken"]["error"] == (
        "solver 'broken': No module named 'elsewhere.missing'; repair or remove the package elsewhere 2.5"
    )
    clash = "solver 'smo' of elsewhere 2.5 is not used: the name is built in; use elsewhere.solvers:KernelRidge"
    assert told["clashes"] == [clash]
    text = call("methods")
    assert "from elsewhere 2.5" in text.stdout and text.stderr == f"Warning: {clash}\n"
    assert "The k-means centres of every class" in call("methods", "centroids").stdout
    assert "repair or remove the package" in fails("methods", "broken")
    assert "did you mean 'centroids'" in fails("methods", "centroid")


def test_reduce_and_train(elsewhere, board, tmp_path):
    done = call("reduce", "--method", "centroids", "--set", "share=0.1", board, tmp_path / "small", "--json")
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    y = read_libsvm(tmp_path / "small")[1]
    assert len(y) == record["kept"] < 45 and record["weight_sum"] == pytest.approx(400)
    assert np.loadtxt(tmp_path / "small.weights").sum() == pytest.approx(400)
    for reducer in ("centroids", "elsewhere.reducers:Centroids"):
        done = call("train", "-s", "kernel_ridge", "--reducer", reducer, "-g", "2", board, tmp_path / "m", "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["kept"] == record["kept"]
        assert load_model(tmp_path / "m").n_vectors == record["kept"]
    assert "repair or remove the package elsewhere 2.5" in fails("train", "-s", "broken", board, tmp_path / "m")
    assert "unknown reducer 'centroid': did you mean 'centroids'?" in fails(
        "train", "--reducer", "centroid", board, tmp_path / "m"
    )


def test_plan_run_and_report(elsewhere, tmp_path):
    content = {
        "name": "theirs",
        "datasets": [{"generator": "checkerboard", "rows": 200, "test_rows": 100, "as": "board"}],
        "grid": {"C": [1, 10], "gamma": [2]},
        "solvers": ["smo", "forest", {"name": "kernel_ridge", "as": "theirs", "reducer": "centroids"}],
        "baseline": "smo",
    }
    config, folder = tmp_path / "theirs.yaml", tmp_path / "run"
    config.write_text(yaml.safe_dump(content))
    planned = call("plan", config, "-o", folder, "--json")
    assert planned.exit_code == 0, planned.output
    assert json.loads(planned.stdout)["fits"] == 2 + 1 + 2 + 2  # and the random control of theirs
    ran = call("run", config, "-o", folder)
    assert ran.exit_code == 0, ran.output
    records = {(record.method, record.kind): record for record in store.read(folder).records}
    reduction, fit = records["theirs", "reduction"], records["theirs", "fit"]
    control = records["theirs (random control)", "reduction"]
    assert reduction.sizes["kept_rows"] == fit.sizes["kept_rows"] == fit.sizes["vectors"] < 25
    assert control.sizes["kept_rows"] == pytest.approx(reduction.sizes["kept_rows"], abs=1)
    assert reduction.counters["weight_sum"] == pytest.approx(200)
    assert records["forest", "fit"].counters["objective"] is None
    reported = call("report", folder)
    assert reported.exit_code == 0 and "theirs (random control)" in reported.stdout
    assert call("report", folder, "--html", tmp_path / "page.html").exit_code == 0
    # a change of their code is another task; the others stay as they are
    assert json.loads(call("run", config, "-o", folder, "--json").stdout)["reused"] == len(records) + 3
    with (elsewhere / "elsewhere" / "solvers.py").open("a") as file:
        file.write("# changed\n")
    planning._own_code.cache_clear()
    assert json.loads(call("plan", config, "-o", folder, "--json").stdout)["cached"] == 5  # smo, forest, reductions
    config.write_text(yaml.safe_dump(content | {"solvers": ["smo", "broken"]}))
    assert "theirs.yaml: solver 'broken': No module named" in fails("plan", config)


def test_a_name_of_two_packages_is_given_in_full(elsewhere):
    install(elsewhere, "rival", "[svmreduce.reducers]\ncentroids = rival:Centroids\n")
    forget()
    with pytest.raises(InputError, match=r"'centroids' is in (elsewhere|rival) 2.5 and .*; give one of them as"):
        REDUCERS.get("centroids")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("class Thing(:", "SyntaxError: "),
        ("Thing = 3", "is not a class"),
        ("class Thing: pass", "is not a reducer; subclass BaseReducer"),
        (
            "from svmreduce import BaseReducer\nclass Thing(BaseReducer):\n def __init__(self, k): self.k = k",
            "needs k; ",
        ),
    ],
)
def test_a_module_that_cannot_be_used_is_one_line(tmp_path, monkeypatch, board, source, said):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "not_a_method", raising=False)
    (tmp_path / "not_a_method.py").write_text(source)
    message = fails("reduce", "--method", "not_a_method:Thing", board, tmp_path / "out")
    assert "reducer 'not_a_method:Thing'" in message and said in message
