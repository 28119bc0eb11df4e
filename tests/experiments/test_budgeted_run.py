"""Under a budget: cheap methods first, nothing hopeless, whole rounds only. Workers and clock are made up."""

import base64
from concurrent.futures import Future

import pytest

from svmreduce.experiments.budgeted_run import BudgetedRun
from svmreduce.experiments.config import Config
from svmreduce.experiments.growth import Cost, Growth
from svmreduce.experiments.planning import expand
from svmreduce.experiments.store import Store
from svmreduce.experiments.time_budget import ladder

ROWS = 40_000


class Clock:
    """A budget whose seconds pass only when a worker works."""

    def __init__(self, seconds):
        self.seconds, self.left = seconds, float(seconds)


class Workers:
    """Answers at once; the time that a task would have taken passes on the clock."""

    name, slots = "local", 1

    def __init__(self, clock, costs, reducing):
        self.clock, self.costs, self.reducing, self.asked = clock, costs, reducing, []

    def submit(self, message, seconds, memory_mb):
        task = message["task"]
        rows = task["dataset"]["rows"]
        is_fit, name = task["kind"] == "fit", task["reducer"] or task["solver"]
        took = self.costs[name](rows) if is_fit else 0.0
        self.asked.append((name, rows, task["seed"], task["kind"]))
        self.clock.left -= min(took, seconds) if is_fit else self.reducing(rows)
        answer = {"status": "ok", "reason": "", "task": "classification"}
        if took > seconds:
            answer = {"status": "timeout", "reason": f"ended after its limit of {seconds:g} s"}
        answer["seconds"] = {"solve": took, "predict": 0.0, "load": 0.0, "total": took, "reduce": 0.0}
        answer["sizes"] = {"train_rows": rows, "test_rows": 500, "kept_rows": rows // 10}
        answer["scores"] = {"accuracy": {"random": 0.9, "liblinear": 0.5}.get(name, 0.95)} if is_fit else {}
        if not is_fit:
            answer["kept"] = base64.b64encode(b"rows").decode()
        future = Future()
        future.set_result(answer)
        return future


def measured(tmp_path, costs, budget, seeds=2, reducing=lambda rows: 0.0):
    solvers = ["libsvm", "smo", {"name": "smo", "as": "sample", "reducer": "random"}, "liblinear", "lasvm"]
    data = [{"generator": "checkerboard", "rows": ROWS, "test_rows": 500}]
    content = {"name": "x", "datasets": data, "solvers": solvers, "baseline": "libsvm", "seeds": list(range(seeds))}
    clock = Clock(budget)
    workers = Workers(clock, costs, reducing)
    with Store(tmp_path) as store:
        run = BudgetedRun(Config.model_validate(content), "smo", clock, store, workers, None, lambda text: None)
        run.run(ROWS, 500)
    return run, workers


COSTS = {
    "smo": lambda n: 10 * (n / ROWS) ** 2,
    "libsvm": lambda n: 400 * (n / ROWS) ** 2,
    "lasvm": lambda n: 4000 * (n / ROWS) ** 2,
    "random": lambda n: 0.1 * (n / ROWS) ** 2,
    "liblinear": lambda n: 0.5 * n / ROWS,
}


def test_nothing_is_started_that_cannot_end(tmp_path):
    run, workers = measured(tmp_path, COSTS, 200)
    on_all = {name for name, rows, _, _ in workers.asked if rows == ROWS}
    assert on_all == {"smo", "random"} and run.budget.left > 0
    assert run.not_run.keys() == {"libsvm", "lasvm", "liblinear"} and "about 7 min" in run.not_run["libsvm"].words
    assert run.not_run["liblinear"].kind == "beaten"  # slower than the sample, and much worse
    largest = max(rows for name, rows, _, _ in workers.asked if name == "libsvm")
    assert 16_000 > largest > 4_000  # as many rows as a tenth of the budget allows …
    assert ("smo", largest, 0, "fit") in workers.asked  # … and our engine on as many


def test_a_round_has_all_methods_that_are_not_beaten(tmp_path):
    costs = COSTS | {"smo": lambda n: 20 * (n / ROWS) ** 2, "liblinear": lambda n: 0.09 if n < ROWS else 0.5}
    run, _ = measured(tmp_path, costs, 90)
    first, again = ({task.method for task in run.planned if task.seed == seed} for seed in (0, 1))
    assert first == {"smo", "sample", "liblinear"} and again == {"smo", "sample"}


def test_where_nothing_fits_the_largest_part_is_judged(tmp_path):
    run, _ = measured(tmp_path, {name: lambda n: 500 * (n / ROWS) ** 1.5 for name in COSTS}, 200)
    assert run.judged_rows == 1000 and {task.method for task in run.planned} >= {"smo", "sample", "lasvm"}
    planned = {task.id for task in expand(run.judged_config)}
    assert run.has_result and {task.id for task in run.planned} <= planned  # its config is that of its records


def test_a_poor_method_alone_on_all_rows_is_no_verdict(tmp_path):
    costs = {name: lambda n: 500 * (n / ROWS) ** 1.5 for name in COSTS} | {"liblinear": COSTS["liblinear"]}
    run, workers = measured(tmp_path, costs, 200)
    assert ("liblinear", ROWS, 0, "fit") in workers.asked and run.judged_rows < ROWS


def test_all_are_repeated_where_that_is_cheap(tmp_path):
    quick = {name: lambda n: 0.01 for name in COSTS}
    run, _ = measured(tmp_path, quick, 200, seeds=3)
    assert not run.not_run
    everybody = {"libsvm", "smo", "sample", "liblinear", "lasvm"}
    assert all({task.method for task in run.planned if task.seed == seed} == everybody for seed in range(3))


def test_nothing_may_finish_at_all(tmp_path):
    run, _ = measured(tmp_path, {name: lambda n: 500.0 for name in COSTS}, 10)
    assert not run.has_result and run.not_run["smo"].kind in ("failed", "budget")


def test_a_method_that_fails_with_another_seed_is_no_beaten_one(tmp_path):
    calls = []

    def later_slow(rows):
        calls.append(rows)
        return 0.01 if calls.count(ROWS) < 2 else 500.0

    run, _ = measured(tmp_path, {name: lambda n: 0.01 for name in COSTS} | {"lasvm": later_slow}, 400)
    assert run.not_run["lasvm"].kind == "failed" and "with seed 1" in run.not_run["lasvm"].words
    assert [task.seed for task in run.planned if task.method == "lasvm"] == [0]


def test_a_budget_that_ends_leaves_reasons(tmp_path):
    run, _ = measured(tmp_path, COSTS | {"smo": lambda n: 60 * (n / ROWS) ** 2}, 100)
    assert "smo" in run.not_run and run.judged_rows < ROWS  # the part has the exact solution
    assert any(task.method == "smo" for task in run.planned)
    assert run.not_run["smo"].kind == "slow" and run.not_run["smo"].seconds > 45


def test_a_budget_that_ends_between_reduction_and_fit(tmp_path):
    """The reduction of the sample on all rows takes what is left; its fit never starts."""
    run, workers = measured(tmp_path, COSTS, 200, reducing=lambda rows: 500.0 if rows == ROWS else 0.0)
    assert run.not_run["sample"].kind in ("budget", "failed") and run.budget.left <= 0
    assert ("random", ROWS, 0, "fit") not in workers.asked


@pytest.mark.parametrize("power", [1.0, 1.7, 2.5])
def test_growth_finds_the_power(power):
    growth = Growth()
    for rows in (1000, 4000):
        growth.add(Cost(rows, 1e-6 * rows**power * 1000, 0.1, 100))
    assert growth.exponent == pytest.approx(power)
    assert growth.train_seconds(32_000) == pytest.approx(1e-3 * 32_000**power)
    assert growth.rows_within(growth.train_seconds(32_000)) == pytest.approx(32_000, rel=1e-3)
    assert growth.rows_within(-1.0) == 0


def test_parts_stay_well_below_all_rows():
    assert ladder(3999) == [] and ladder(50_000) == [1000, 4000, 16_000]
    assert all(part * 2 <= rows for rows in (4000, 16_000, 64_001, 10**6) for part in ladder(rows))


def test_the_best_on_parts_leads_where_the_exact_solution_has_no_time(tmp_path):
    """LASVM takes more than a method may, but all others lose much against it."""
    costs = COSTS | {"smo": lambda n: 500 * (n / ROWS) ** 2, "lasvm": lambda n: 60 * (n / ROWS) ** 1.2}
    run, workers = measured(tmp_path, costs, 200)
    assert next(name for name, rows, _, _ in workers.asked if rows == ROWS) == "lasvm"
    assert run.judged_rows == ROWS and "lasvm" in {task.method for task in run.planned}
