"""The plan: how many tasks, which share a reduction, in which order."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svmreduce.errors import InputError
from svmreduce.experiments import planning
from svmreduce.experiments.config import Config
from svmreduce.experiments.planned_methods import methods_of
from svmreduce.experiments.planning import expand

BOARD = {"generator": "checkerboard", "rows": 50, "test_rows": 20}


def plan(**changes):
    return expand(Config.model_validate({"name": "try", "datasets": [BOARD], "solvers": ["smo"]} | changes))


def test_lists_multiply_and_the_grid_is_shared():
    tasks = plan(solvers=["smo", {"name": "libsvm", "tol": [0.1, 0.01]}], grid={"C": [1, 2], "gamma": [1, 2, 3]},
                 seeds=[0, 1], repeats=2, split={"folds": 3})  # fmt: skip
    assert Counter(task.method for task in tasks) == dict.fromkeys(["smo", "libsvm tol=0.1", "libsvm tol=0.01"], 72)
    assert len({task.id for task in tasks}) == len(tasks)


def test_reducers_stand_before_each_solver_that_names_none_of_its_own():
    config = {"reducers": ["none", {"name": "derive_rs", "epsilon": [0.1, 0.01]}], "control": False,
              "solvers": ["smo", {"name": "libsvm", "reducer": {"name": "random", "weighted": False}}]}  # fmt: skip
    labels = [method.label for method in methods_of(Config.model_validate(
        {"name": "try", "datasets": [BOARD]} | config))]  # fmt: skip
    assert labels == ["smo", "derive_rs + smo epsilon=0.1", "derive_rs + smo epsilon=0.01", "random + libsvm"]


def test_one_reduction_per_fold_seed_and_kernel_for_all_C_and_repeats():
    aesvm = {"name": "smo", "reducer": "derive_rs"}
    tasks = plan(solvers=[aesvm], grid={"C": [1, 2, 4], "gamma": [1, 2]}, seeds=[0, 1], repeats=3,
                 split={"folds": 2}, control=False)  # fmt: skip
    kinds = Counter(task.kind for task in tasks)
    assert kinds == {"reduction": 2 * 2 * 2, "fit": 3 * 2 * 2 * 3 * 2}
    for fit in (task for task in tasks if task.kind == "fit"):
        reduction = next(task for task in tasks if task.id == fit.reduction)
        assert (reduction.fold, reduction.seed) == (fit.fold, fit.seed)
        assert reduction.reducer_params["gamma"] == fit.solver_params["gamma"]


def test_a_method_that_does_not_take_a_grid_parameter_runs_once_for_all_its_values():
    tasks = plan(solvers=["smo", "liblinear"], grid={"C": [1, 2], "gamma": [1, 2, 3]})
    assert Counter(task.method for task in tasks) == {"smo": 6, "liblinear": 2}


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_the_methods_of_a_block_stand_together_and_needs_come_first(seed, methods):
    solvers = [{"name": "smo", "as": f"m{k}", "tol": 0.1**k, "reducer": "derive_rs"} for k in range(methods)]
    tasks = plan(solvers=solvers, grid={"C": [1, 2]}, seeds=[seed])
    place = {task.id: number for number, task in reversed(list(enumerate(tasks)))}  # where it comes first
    for task in tasks:
        assert all(place[need] < place[task.id] for need in (task.reduction, task.size_of) if need)
    points = [task.point["C"] for task in tasks if task.kind == "fit"]
    assert points == sorted(points)


def test_the_order_of_methods_differs_between_blocks():
    tasks = plan(
        solvers=[{"name": "smo", "as": f"m{k}", "tol": 0.1**k} for k in range(4)], grid={"C": list(range(1, 9))}
    )
    orders = {tuple(task.method for task in tasks if task.point["C"] == C) for C in range(1, 9)}
    assert len(orders) > 1


def test_a_data_set_may_have_a_split_of_its_own():
    tasks = plan(datasets=[BOARD | {"as": "a"}, BOARD | {"as": "b", "split": {"folds": 4}}], split={"holdout": 0.5})
    assert Counter(task.title for task in tasks) == {"a": 1, "b": 4}
    assert {task.title: task.split for task in tasks} == {"a": {"holdout": 0.5}, "b": {"folds": 4}}


def test_an_experiment_may_consist_of_reductions_only():
    tasks = plan(solvers=["smo", {"name": "smo", "as": "AESVM", "reducer": {"name": "derive_rs", "V": [10, 20]}}],
                 grid={"gamma": [1, 2]}, fits=False)  # fmt: skip
    assert Counter((task.kind, task.method) for task in tasks) == {
        ("reduction", "AESVM V=10"): 2,
        ("reduction", "AESVM V=20"): 2,
    }


def test_two_methods_that_compute_the_same_both_keep_their_rows():
    tasks = plan(solvers=["smo", {"name": "smo", "as": "fixed", "C": 2}], grid={"C": [1, 2, 4]})
    assert Counter(task.method for task in tasks) == {"smo": 3, "fixed": 1}
    assert len({task.id for task in tasks}) == 3


def test_names_do_not_change_what_is_computed_but_own_code_does(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = "from svmreduce.solvers.smo import SMO\n\nclass Mine(SMO):\n    pass\n"
    (tmp_path / "own_method.py").write_text(source)
    solver = {"name": "own_method:Mine"}
    (first,) = plan(solvers=[solver])
    (renamed,) = plan(solvers=[solver | {"as": "other"}], datasets=[BOARD | {"as": "board"}], baseline="other")
    (tmp_path / "own_method.py").write_text(source + "# changed\n")
    planning._own_code.cache_clear()
    (changed,) = plan(solvers=[solver])
    assert first.id == renamed.id != changed.id


def test_what_cross_validation_cannot_choose_is_refused():
    with pytest.raises(InputError, match="select: chooses C, gamma, epsilon; leave out degree"):
        plan(grid={"C": [1, 2], "degree": [2, 3]}, select={"folds": 2})
    with pytest.raises(InputError, match="select: no method has a kernel, and a C in the grid"):
        plan(solvers=["liblinear"], grid={"C": [1, 2]}, select={"folds": 2})
    assert [task.fits for task in plan(grid={"C": [1, 2], "gamma": [1]}, select={"folds": 3})] == [6, 1, 1]
