"""The answer of ``bench`` where little came out: no exact solution, a part of the rows, failures."""

from types import SimpleNamespace

import pytest

from svmreduce.experiments.growth import Cost, Growth
from svmreduce.experiments.time_budget import NotRun
from svmreduce.reports.run.bench_answer import answer, answer_lines
from tests.reports.made_up import as_run, failed, record

POINT = {"params": {"C": 1.0, "gamma": 0.5}, "metric": "accuracy", "score": 0.9}
CONFIG = SimpleNamespace(limits=SimpleNamespace(seconds=3600), seeds=[0, 1, 2])


def answered(records, guess=0.5, **given):
    facts = {"rows": 1000, "test_rows": 500, "judged_rows": 1000, "judged_test_rows": 500, "growth": {}, "not_run": {},
             "baseline": "libsvm", "engine": "smo", "load": 0.0, "controlled": set()}  # fmt: skip
    run = as_run(records)
    found = answer(run, SimpleNamespace(**facts | given), POINT, CONFIG, {"answer": "No", "score": guess})
    return found, "\n".join(answer_lines(run, found | {"budget": 60.0, "used_seconds": 50.0}, 100))


def fits(**given):
    return [record(method=name, solver=name, solve=4.0, reduce=0.0, **given) for name in ("libsvm", "smo")]


def test_where_nothing_converged_there_is_no_verdict():
    found, text = answered(fits(status="not_converged"))
    assert found["recommendation"] is None and "No verdict" in text and "did not converge" in text


def test_on_a_part_of_the_rows_nothing_is_said_of_all():
    growth = {"smo": Growth(False, [Cost(500, 1.0, 0.0, 500), Cost(1000, 4.0, 0.0, 500)])}
    found, text = answered(fits(), rows=10_000, test_rows=2000, growth=growth)
    assert (found["rows"], found["test_rows"], found["baseline"]["rows"]) == (1000, 500, 1000)
    assert "1,000 training rows, 500 test rows" in text and "on all rows" not in text
    assert found["full_seconds"] == pytest.approx(3 * 400)  # 10 times the rows, by the square, three seeds


def test_what_failed_is_not_called_beaten():
    records = [*fits(), *fits(seed=1), record(method="cvm", solver="cvm", solve=1.0, accuracy=0.99, reduce=0.0)]
    _, text = answered(records, not_run={"cvm": NotRun("failed", "with seed 1: timeout")})
    assert "Failed: cvm with seed 1: timeout" in text and "Beaten at the first seed" not in text


def test_libsvm_that_was_ended_was_run():
    growth = {"libsvm": Growth(False, [Cost(100, 1.0, 0.0, 500)])}
    found, _ = answered([fits()[1], failed(method="libsvm", solver="libsvm")], growth=growth)
    assert any(sentence.startswith("LIBSVM did not finish on all rows") for sentence in found["sentences"])


def test_what_is_no_better_than_a_guess_is_said_first():
    learned, _ = answered(fits(accuracy=0.9))
    assert learned["guess"]["is_beaten"] and learned["sentences"][0].startswith("Use ")
    assert learned["sentences"][-1] == "The same answer for every row, No, would have 50.00 %."
    noise, _ = answered(fits(accuracy=0.9), guess=0.89)
    assert not noise["guess"]["is_beaten"]
    assert noise["sentences"][0].startswith("Nothing is learned here: the same answer for every row, No, has 89.00 %")
    assert noise["sentences"][1].startswith("If anything, use ")
    unknown, _ = answered(fits(accuracy=0.9), guess=0.87)
    assert unknown["sentences"][0].startswith("The test rows are too few to tell")
