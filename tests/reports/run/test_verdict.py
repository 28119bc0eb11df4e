"""The verdict: nothing beats what it recommends, its losses are paired, and noise does not decide."""

import base64
import math
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from svmreduce.experiments.paired import mean_interval
from svmreduce.experiments.standing import TOO_SHORT
from svmreduce.reports.run.run_tables import failures_table, report_facts, report_tables, summary_table
from svmreduce.reports.run.verdict import TIE, verdicts
from svmreduce.reports.run.verdict_text import overall, verdict_lines
from tests.reports.made_up import as_run, failed, record


def fit(method, solve, accuracy, **given):
    return record(method=method, solve=solve, accuracy=accuracy, reduce=0.0, **given)


def exact(solve=10.0, accuracy=0.95, **given):
    return fit("libsvm", solve, accuracy, solver="libsvm", **given)


def reduced(method, solve, accuracy, kept=200, **given):
    return fit(method, solve, accuracy, kept_rows=kept, **{"reducer": "derive_rs"} | given)


def control(method, solve, accuracy, **given):
    return reduced(f"{method} (random control)", solve, accuracy, **{"reducer": "random"} | given)


def the_verdict(records):
    (found,) = verdicts(as_run(records))
    return found


def wrong(*rows, of=500):
    bits = np.zeros(of, bool)
    bits[list(rows)] = True
    return base64.b64encode(zlib.compress(np.packbits(bits).tobytes())).decode()


def test_the_exact_engine_and_a_quicker_sample():
    records = [exact(), fit("smo", 2.0, 0.95), reduced("AESVM", 1.9, 0.94), control("AESVM", 0.5, 0.945)]
    found = the_verdict(records)
    assert [one.label for one in found.front] == ["AESVM (random control)", "smo"]
    assert found.sentences()[0] == "Use our SMO engine on all rows: 2 s, 5 times as fast as LIBSVM; accuracy 95.00 %."
    # without the wrong rows, at most all 25 + 27.5 errors of 500 rows differ: 1.96·√(52.5 − 500·0.005²)/500
    said = "a random 20 % of the rows with our SMO engine takes 0.5 s (20 times as fast as LIBSVM)"
    assert found.sentences()[1] == f"If 0.50 ± 2.84 points may be lost, {said}."
    assert (
        found.sentences()[2].startswith("AESVM (−0.50 ± ")
        and "is no better than a random sample" in found.sentences()[2]
    )
    facts = found.to_json()["recommendation"]
    assert (facts["method"], facts["seconds"], facts["speedup"], facts["loss_points"]) == ("smo", 2.0, 5.0, 0.0)
    assert facts["parameters"] == {"threads": 1, "C": 1.0, "gamma": 0.5} and facts["is_sure"]
    assert found.shares(found.standings.by_label["AESVM (random control)"]) == {"engine": 5.0, "reduction": 4.0}


@given(
    st.lists(
        st.tuples(st.floats(0.001, 100), st.integers(0, 100), st.sampled_from(["smo", "cvm"]), st.booleans()),
        min_size=1,
        max_size=8,
    )
)
def test_nothing_that_ran_beats_the_recommendation(methods):
    records = [
        fit(f"m{number}", solve, right / 100, solver=solver, status="ok" if converged else "not_converged")
        for number, (solve, right, solver, converged) in enumerate(methods)
    ]
    found = the_verdict(records)
    assert (found.recommended is None) == (not any(converged for *_, converged in methods))
    if found.recommended is None or found.is_tiny:
        return
    for one in (found.recommended, found.quicker or found.recommended):
        for other in found.all:
            tie = TIE if one.is_exact and not other.is_exact else 1.0
            beats = other.seconds * tie <= one.seconds and other.score >= one.score
            assert not (other.counts and beats and (other.seconds, other.score) != (one.seconds, one.score))


def test_nobody_gives_up_the_exact_solution_for_a_tie():
    records = [exact(), fit("smo", 2.0, 0.95), reduced("most", 1.9, 0.95, kept=990), reduced("half", 1.0, 0.93)]
    assert the_verdict(records).recommended.label == "smo"
    assert the_verdict([*records, reduced("few", 1.2, 0.95)]).recommended.label == "few"


def test_fits_that_did_not_converge_or_finish_do_not_decide():
    seeds = [{"seed": seed} for seed in (0, 1)]
    records = [exact(**seed) for seed in seeds]
    records += [fit("lazy", 0.1, 0.99, status="not_converged", **seed) for seed in seeds]
    found = the_verdict([*records, fit("half", 0.1, 0.99)])
    assert [one.label for one in found.front] == ["libsvm"] == [found.recommended.label]
    marks = {one["method"]: one["marks"] for one in found.to_json()["methods"]}
    assert marks == {
        "libsvm": [],
        "lazy": ["did not converge"],
        "half": ["finished only 1 of 2 folds and seeds"],
    }
    table = summary_table(as_run([*records, fit("half", 0.1, 0.99)]))
    signs = {row["method"]: table.mark(row, "mean_accuracy") for row in table.rows}
    assert signs == {"libsvm": "", "lazy": "†", "half": "*"}
    assert [note[0] for note in table.notes[:2]] == ["*", "†"]


def test_milliseconds_decide_nothing():
    found = the_verdict([exact(0.008), fit("smo", 0.004, 0.95), reduced("AESVM", 0.001, 0.951)])
    assert found.recommended.label == "smo" and not found.to_json()["is_decided"]
    assert "no time to be saved" in found.sentences()[1]
    quick = the_verdict([exact(1.0, 0.90), fit("a", TOO_SHORT / 2, 0.85), fit("b", TOO_SHORT / 4, 0.84)])
    assert [one.label for one in quick.front] == ["a", "libsvm"]  # b is not quicker than a in any way that counts


def test_losses_are_paired_over_seeds():
    differences = [0.010, 0.014, 0.012]
    records = [exact(accuracy=0.9 + 0.02 * seed, seed=seed, test_rows=10**6) for seed in range(3)]
    records += [
        reduced("AESVM", 1.0, 0.9 + 0.02 * seed - lost, seed=seed, test_rows=10**6)
        for seed, lost in enumerate(differences)
    ]
    found = the_verdict(records)
    loss = found.loss(found.standings.by_label["AESVM"])
    assert (loss.middle, loss.over) == (pytest.approx(0.012), "3 seeds")
    assert loss.half == pytest.approx(stats.t.ppf(0.975, 2) * 0.002 / math.sqrt(3), rel=1e-3)


@pytest.mark.parametrize("count", [2, 3, 6, 11, 12, 20, 40, 200])
def test_the_interval_is_students(count):
    values = list(np.random.default_rng(count).normal(size=count))
    expected = stats.t.ppf(0.975, count - 1) * np.std(values, ddof=1) / math.sqrt(count)
    assert mean_interval(values) == pytest.approx(expected, rel=0.01)
    assert mean_interval([1.0]) is None


def test_on_one_test_set_the_rows_where_two_disagree_count():
    one, other = exact(accuracy=0.99), reduced("AESVM", 1.0, 0.986)
    one["counters"]["wrong"], other["counters"]["wrong"] = wrong(0, 1, 2, 3, 4), wrong(2, 3, 4, 5, 6, 7, 8)
    found = the_verdict([one, other])
    loss = found.loss(found.standings.by_label["AESVM"])
    # 2 rows are wrong for the first alone, 4 for the second alone: McNemar
    assert loss.middle == pytest.approx(0.004)
    assert loss.half == pytest.approx(1.96 * math.sqrt(6 - 4 / 500) / 500)


def test_the_interval_of_one_training_set_is_said_to_be_of_rows():
    records = [exact(), reduced("AESVM", 1.0, 0.952)]
    said = "All this is from one training set: ± is the chance of the test rows alone."
    assert the_verdict(records).sentences()[-1] == said
    assert said not in the_verdict([one | {"seed": seed} for seed in (0, 1) for one in records]).sentences()
    records[1]["counters"]["wrong"] = "no bits"  # a damaged record: as if it did not say
    assert the_verdict(records).sentences()[-1] == said


def test_a_sample_that_was_drawn_once_is_not_sure():
    records = [exact(10.0, 0.95, test_rows=10**6), control("AESVM", 1.0, 0.9499, test_rows=10**6)]
    once = the_verdict(records)
    assert once.recommended.label == "libsvm" and once.quicker.method.reducer == "random"
    again = the_verdict([one | {"seed": seed} for seed in (0, 1, 2) for one in records])
    assert again.recommended.method.reducer == "random" and again.is_sure(again.recommended)


def test_regression_is_judged_by_rmse():
    scores = {"task": "regression", "errors": None, "auc": None}
    records = [exact(4.0, None, mse=4.0, **scores), fit("quick", 1.0, None, mse=4.2025, **scores)]
    found = the_verdict(records)
    assert found.sentences()[0] == "Use LIBSVM on all rows: 4 s; RMSE 2."
    assert found.loss(found.standings.by_label["quick"]).middle == pytest.approx(0.025)
    again = the_verdict([one | {"seed": seed} for seed in (0, 1, 2) for one in records])
    assert again.loss(again.standings.by_label["quick"]).half is None  # equal fits say nothing about the spread
    assert found.sentences()[1].startswith("If 2.50 % of the RMSE may be lost, quick on all rows takes 1 s")
    assert found.to_json()["quicker"]["loss_percent"] == pytest.approx(2.5)


def test_a_reduction_beats_its_control_only_beyond_chance():
    def of(gain):
        records = [exact(seed=seed, test_rows=10**8) for seed in range(4)]
        for seed in range(4):
            noise = 0.001 * (-1) ** seed
            records.append(reduced("AESVM", 1.0, 0.9 + gain + noise, seed=seed, test_rows=10**8))
            records.append(control("AESVM", 0.5, 0.9, seed=seed, test_rows=10**8))
        (rival,) = the_verdict(records).against_controls
        return rival.outcome

    assert [of(gain) for gain in (0.01, 0.001, -0.01)] == ["better", "no better", "worse"]


def test_every_report_begins_with_the_verdict():
    records = [entry | {"dataset": name} for name in ("a", "b") for entry in (exact(), fit("smo", 2.0, 0.95))]
    run = as_run(records)
    tables = report_tables(run)
    assert tables[0].title == "Verdict" and tables[0].notes == verdict_lines(run)
    assert overall(verdicts(run)) == ["On both data sets the choice is our SMO engine on all rows."]
    assert [found["recommendation"]["method"] for found in report_facts(run)["verdicts"]] == ["smo", "smo"]
    assert verdict_lines(as_run([failed(method="libsvm")])) == []
    (only,) = verdict_lines(as_run([exact(status="not_converged")]))
    assert only == "No verdict: libsvm did not converge."


def test_reductions_without_fits_say_what_they_keep():
    records = [
        record(method="DeriveRS", kind="reduction", kept_rows=kept, seed=kept, reduce=2.0) for kept in (100, 250)
    ]
    assert verdict_lines(as_run(records))[1] == "toy: DeriveRS keeps 10 to 25 % of 1,000 rows, in at most 2 s."


def test_a_lost_reduction_is_one_line():
    lost = failed("timeout", "stopped after 60 s", method="AESVM", kind="reduction", reducer="derive_rs")
    sample = failed("skipped", "its reduction failed", method="AESVM (random control)", kind="reduction")
    sample["size_of"] = lost["id"]
    why = {"status": "skipped", "reason": "its reduction failed: timeout"}
    fits = [failed(**why, method="AESVM", point={"C": C}) | {"reduction": lost["id"]} for C in range(6)]
    fits += [
        failed(**why, method="AESVM (random control)", point={"C": C}) | {"reduction": sample["id"]} for C in range(6)
    ]
    slow = [failed(method="slow", point={"C": C}) for C in range(3)]
    found = failures_table(as_run([exact(), lost, sample, *fits, *slow]))
    assert [(row["method"], row["cells"], row["lost"]) for row in found.rows] == [("AESVM", 1, 13), ("slow", 3, None)]
    assert "(17)" in found.title and len(report_facts(as_run([lost, *fits]))["failures"]) == 13


def test_a_record_without_its_solver_still_has_a_name():
    found = the_verdict([exact(), fit("m", 1.0, 0.99, solver=None)])
    assert any("m: 1 s" in sentence for sentence in found.sentences())
