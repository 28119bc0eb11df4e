"""The regression gate: what is worse, what is missing, what is only noise."""

import copy
import json
from xml.etree import ElementTree

import pytest

from svmreduce.errors import InputError
from svmreduce.experiments.tolerances import DEFAULTS, GATE_METRICS, GateTolerance, from_config, from_flags
from svmreduce.reports.gate.gate_formats import comparison_tables, junit
from svmreduce.reports.gate.run_comparison import compare_runs
from svmreduce.reports.render import markdown, terminal
from tests.reports.made_up import as_run, failed, record, run


def judged(base, new, tolerances=None):
    return compare_runs(as_run(base), as_run(new), tolerances)


def changed(change, dataset="toy", method="reduced", kind="fit"):
    """The made-up run with the first record of that kind changed."""
    records = copy.deepcopy(run())
    names = (dataset, method, kind)
    change(next(entry for entry in records if (entry["dataset"], entry["method"], entry["kind"]) == names))
    return records


def test_a_run_is_as_good_as_itself():
    result = judged(run(), run())
    assert (result.exit_code, result.findings, result.extra) == (0, [], [])
    assert sum(result.matched.values()) == len(run()) and result.judged > 0
    shuffled = run()[::-1]
    assert judged(run(), shuffled).findings == []


@pytest.mark.parametrize(
    ("section", "metric", "fine", "worse", "better"),
    [
        ("scores", "accuracy", 0.938, 0.9379, 0.9421),
        ("scores", "errors", 32, 33, 27),
        ("scores", "auc", 0.988, 0.9879, 0.9921),
        ("counters", "n_iter", 420, 421, 379),
        ("counters", "kernel_evals", 94500, 94501, 85499),
        ("counters", "objective", -12.4875, -12.48, -12.52),
        ("sizes", "kept_rows", 204, 205, 195),
    ],
)
def test_each_metric_has_its_limit_and_its_direction(section, metric, fine, worse, better):
    def outcome(value):
        result = judged(run(), changed(lambda entry: entry[section].update({metric: value})))
        return result.exit_code, [(finding.verdict, finding.metric, finding.new) for finding in result.findings]

    assert outcome(fine) == (0, [])
    assert outcome(worse) == (1, [("regression", metric, worse)])
    assert outcome(better) == (0, [("improved", metric, better)])


def test_regression_tasks_and_reductions_are_judged_too():
    base = [record(task="regression", accuracy=None, errors=None, auc=None, mse=2.0, mae=1.0)]
    new = copy.deepcopy(base)
    new[0]["scores"] |= {"mse": 2.03, "mae": 1.005}
    assert [finding.metric for finding in judged(base, new).findings] == ["mse"]
    worse = changed(lambda entry: entry["counters"].update(residual_max=0.0095), kind="reduction")
    (finding,) = judged(run(), worse).findings
    assert (finding.verdict, finding.metric, finding.cell) == (
        "regression",
        "residual_max",
        "reduction, gamma=0.5, fold 0, seed 0",
    )


def test_limits_can_be_set():
    new = changed(lambda entry: entry["scores"].update(accuracy=0.9385))
    assert judged(run(), new).exit_code == 0
    assert judged(run(), new, from_flags(["accuracy=0.001"])).exit_code == 1
    assert judged(run(), new, from_config({"accuracy": {"relative": 0.001}})).exit_code == 1
    assert judged(run(), new, from_config({"accuracy": {"relative": 0.001, "absolute": 0.01}})).exit_code == 0


def test_a_missing_row_is_named():
    records = run()
    gone = records.pop(2)
    result = judged(run(), records)
    (finding,) = result.findings
    assert result.exit_code == 4
    assert (finding.verdict, finding.metric, finding.dataset, finding.method) == (
        "missing",
        "row",
        gone["dataset"],
        gone["method"],
    )
    assert finding.cell == "C=1.0, gamma=0.5, fold 0, seed 0"
    assert "NOT COMPARABLE: 0 worse, 1 missing" in terminal(comparison_tables(result))


def test_a_regression_outweighs_a_missing_row():
    records = changed(lambda entry: entry["scores"].update(accuracy=0.5))
    records.pop()
    result = judged(run(), records)
    assert result.exit_code == 1 and len(result.of("missing")) == 1


def test_a_value_that_is_no_longer_measured_is_missing():
    result = judged(run(), changed(lambda entry: entry["counters"].update(n_iter=None)))
    assert result.exit_code == 4
    assert [(finding.verdict, finding.metric, finding.base) for finding in result.findings] == [
        ("missing", "n_iter", 400)
    ]
    assert judged(changed(lambda entry: entry["counters"].update(n_iter=None)), run()).exit_code == 0


def test_rows_only_the_new_run_has_are_told():
    result = judged(run(), [*run(), record("toy", "another")])
    assert result.exit_code == 0
    assert result.extra == ["toy, another: C=1.0, gamma=0.5, fold 0, seed 0"]
    assert "rows that only NEW has, not judged (1): toy, another" in markdown(comparison_tables(result))


@pytest.mark.parametrize(
    ("before", "now", "verdict"),
    [
        ("ok", "timeout", "regression"),
        ("ok", "skipped", "regression"),
        ("ok", "not_converged", "regression"),
        ("not_converged", "crash", "regression"),
        ("timeout", "ok", "improved"),
        ("not_converged", "ok", "improved"),
        ("timeout", "crash", "changed"),
    ],
)
def test_statuses(before, now, verdict):
    def with_status(status):
        made = record if status in ("ok", "not_converged") else failed
        return [record("toy", "libsvm"), made(status=status, reason="" if status == "ok" else "because", method="x")]

    result = judged(with_status(before), with_status(now))
    (finding,) = result.findings
    assert (finding.verdict, finding.metric, finding.base, finding.new) == (verdict, "status", before, now)
    assert finding.reason == ("" if now == "ok" else "because")
    assert result.exit_code == (1 if verdict == "regression" else 0)


def test_more_steps_to_an_end_that_was_not_reached_before_are_no_regression():
    base, new = [record(status="not_converged", n_iter=100)], [record(n_iter=5000)]
    assert [finding.metric for finding in judged(base, new).findings] == ["status"]
    new[0]["scores"]["accuracy"] = 0.5
    assert judged(base, new).exit_code == 1


def test_a_gate_that_measured_nothing_does_not_pass():
    result = judged([failed()], [failed()])
    assert (result.exit_code, result.findings) == (4, [])
    assert "nothing could be judged" in terminal(comparison_tables(result))
    assert ElementTree.fromstring(junit(result)).get("errors") == "1"


def times(libsvm, reduced, cells=2, cpu=None):
    """Both methods on some cells, each cell with this many seconds of solving; ``cpu`` is the processor's share."""
    return [
        record("toy", method, fold=fold, solve=seconds)
        | {"cpu_seconds": {} if cpu is None else {"solve": cpu * seconds}}
        for fold in range(cells)
        for method, seconds in (("libsvm", libsvm), ("reduced", reduced))
    ]


@pytest.mark.parametrize(
    ("base", "new", "verdicts"),
    [
        (times(2, 1), times(20, 10), []),  # ten times slower, all of it: the machine
        (times(2, 1), times(2, 2.9), []),
        (times(2, 1), times(2, 3.1), ["regression"]),
        (times(2, 3.1), times(2, 1), ["improved"]),
        (times(2, 0.002), times(2, 0.7), []),  # sums below half a second are noise
        (times(2, 0.002), times(2, 20), ["regression"]),  # but not above
        (times(0.2, 0.1), times(0.2, 20), []),  # too short a baseline for a ratio
        (times(5, 0.1), times(0.5, 0.1), []),  # a quiet machine after a busy one
    ],
)
def test_time_is_judged_as_a_ratio_inside_one_run(base, new, verdicts):
    result = judged(base, new)
    assert [finding.verdict for finding in result.findings] == verdicts
    assert all(finding.metric == "time_ratio" for finding in result.findings)


def test_time_ratios_are_told_and_can_be_tightened():
    base, new = times(2, 1), times(2, 1.3)
    (ratio,) = judged(base, new).ratios
    assert ratio == {"dataset": "toy", "method": "reduced", "base": 0.5, "new": 0.65, "judged": True}
    assert judged(base, new, from_flags(["time_ratio=20%"])).exit_code == 1
    short = judged(times(0.1, 0.1), times(0.1, 0.1))
    assert not short.ratios[0]["judged"]
    assert short.notes == ["time ratios not judged, as libsvm took less than 0.5 s: 1 of 1"]


def test_processor_time_counts_where_it_is_known():
    busy = [
        entry | {"seconds": {"solve": 9.0}} if entry["method"] == "reduced" else entry for entry in times(1, 0.2, cpu=1)
    ]
    limit = from_flags(["time_ratio=70%"])
    assert judged(times(1, 0.2, cpu=1), busy, limit).findings == []  # wall time of others
    (finding,) = judged(times(1, 0.2, cpu=1), times(1, 0.4, cpu=1), limit).findings
    assert (finding.verdict, finding.metric, finding.new) == ("regression", "time_ratio", 0.4)


def test_of_repeats_the_fastest_counts():
    def repeated(*seconds):
        return [entry | {"repeat": k} for k, each in enumerate(seconds) for entry in times(2, each)]

    limit = from_flags(["time_ratio=41%"])
    assert judged(repeated(1, 1, 1), repeated(9, 1.4, 5), limit).findings == []
    (finding,) = judged(repeated(1, 1, 9), repeated(1.5, 1.6, 1.5), limit).findings
    assert (finding.base, finding.new) == (0.5, 0.75)


def test_another_processor_has_other_ratios():
    elsewhere = [entry | {"environment": entry["environment"] | {"cpu": "B"}} for entry in times(2, 1.9)]
    limit = from_flags(["time_ratio=41%"])
    result = judged(times(2, 1), elsewhere, limit)
    assert result.exit_code == 0 and "of another processor (A CPU; NEW: B)" in result.notes[-1]
    slow = [entry | {"environment": entry["environment"] | {"cpu": "B"}} for entry in times(2, 3.1)]
    assert judged(times(2, 1), slow, limit).exit_code == 1


def test_another_processor_may_find_some_other_support_vectors():
    for vectors, code in ((81, 0), (90, 1)):
        new = changed(lambda entry, vectors=vectors: entry["sizes"].update(vectors=vectors))
        elsewhere = [entry | {"environment": entry["environment"] | {"cpu": "B"}} for entry in new]
        result = judged(run(), elsewhere, from_flags(["vectors=0"]))
        assert result.exit_code == code and "default limits: vectors;" in result.notes[-1]


def test_a_lost_support_vector_is_as_bad_as_one_more():
    for vectors in (79, 81):
        new = changed(lambda entry, vectors=vectors: entry["sizes"].update(vectors=vectors))
        (finding,) = judged(run(), new, from_flags(["vectors=0"])).findings
        assert (finding.verdict, finding.metric, finding.new) == ("regression", "vectors", vectors)


def test_only_cells_that_both_runs_finished_count_for_time():
    base = times(2, 1)
    new = [*times(2, 1, cells=1), record("toy", "libsvm", fold=1, solve=2), failed(method="reduced", fold=1)]
    (ratio,) = judged(base, new).ratios
    assert (ratio["base"], ratio["new"]) == (0.25, 0.25)


def test_time_without_a_common_baseline_is_not_judged():
    other = [entry | {"baseline": "reduced"} for entry in times(2, 9)]
    result = judged(times(2, 1), other)
    assert (result.exit_code, result.notes) == (0, ["time is not judged: the runs have different baselines"])


def test_what_is_odd_about_the_runs_is_told():
    other = record(solver_params={"threads": 2})
    result = compare_runs(as_run([record()], unreadable=1), as_run([record(), other]))
    assert result.notes[:3] == [
        "unreadable lines in BASE: 1 (nowhere/records.jsonl)",
        "rows that appear twice in NEW, with other parameters: 1; the later ones count",
        "rows run with other parameters or data than in BASE: 1 of 1",
    ]


def test_a_point_is_the_same_point_however_its_numbers_are_written():
    result = judged([record(point={"C": 1, "gamma": 0.5})], [record(point={"gamma": 0.5, "C": 1.0})])
    assert (result.exit_code, result.extra, result.of("missing")) == (0, [], [])


def test_junit_has_a_case_per_data_set_and_method():
    records = changed(lambda entry: entry["scores"].update(accuracy=0.5))
    records = [
        entry | {"status": "crash", "reason": "signal \x1b[0m 11 & <more>"} if entry["method"] == "libsvm" else entry
        for entry in records[:-1]
    ]
    suite = ElementTree.fromstring(junit(judged(run(), records)))
    cases = {(case.get("classname"), case.get("name")): case for case in suite}
    assert set(cases) == {(dataset, method) for dataset in ("toy", "board") for method in ("libsvm", "reduced")}
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "3", "1")
    text = cases["toy", "reduced"].find("failure").text
    assert text == "C=1.0, gamma=0.5, fold 0, seed 0: accuracy 0.94 -> 0.5, -0.44 (-46.8 %), allowed 0.002"
    assert len(cases["toy", "libsvm"].find("failure").text.splitlines()) == 2
    assert cases["toy", "libsvm"].find("failure").text.endswith(": status ok -> crash: signal ?[0m 11 & <more>")
    assert cases["board", "reduced"].find("error").text.endswith(": row ok -> nothing")


def test_regressions_stand_in_a_table_below_the_summary():
    lines = terminal(
        comparison_tables(judged(run(), changed(lambda entry: entry["counters"].update(n_iter=440))))
    ).splitlines()
    assert lines[0].startswith("== REGRESSION: 1 worse, 0 missing, 0 improved (10 rows matched, ")
    (row,) = [line for line in lines if "n_iter" in line]
    assert " ".join(row.split()) == "toy reduced C=1.0, gamma=0.5, fold 0, seed 0 n_iter 400 440 +40 (+10 %) 20"


def test_the_result_for_programs_is_json():
    facts = json.loads(json.dumps(judged(run(), run()[:-1]).as_dict()))
    assert (facts["verdict"], facts["exit_code"], len(facts["findings"])) == ("not comparable", 4, 1)


def test_flags_and_config_say_the_same():
    assert from_flags(["accuracy=0.001", "n_iter=5%", "n_iter=3"]) == {
        "accuracy": GateTolerance(absolute=0.001),
        "n_iter": GateTolerance(absolute=3, relative=0.05),
    }
    assert from_config({"n_iter": {"absolute": 3, "relative": 0.05}}) == {"n_iter": GateTolerance(3, 0.05)}
    assert from_config(None) == from_config({}) == {}
    assert set(DEFAULTS) == {*GATE_METRICS, "time_ratio"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: from_flags(["acuracy=1"]), "unknown metric in --tolerance 'acuracy': did you mean 'accuracy'?"),
        (lambda: from_flags(["accuracy"]), "--tolerance takes metric=number or metric=number%, of 0 or more, got 'acc"),
        (lambda: from_flags(["accuracy=-1"]), "of 0 or more, got 'accuracy=-1'"),
        (lambda: from_flags(["accuracy=nan%"]), "of 0 or more, got 'accuracy=nan%'"),
        (lambda: from_config({"n_itr": {}}), "unknown metric in compare 'n_itr': did you mean 'n_iter'?"),
        (lambda: from_config({"n_iter": 3}), "compare.n_iter: takes {absolute: …, relative: …}, got 3"),
        (lambda: from_config({"n_iter": {"abs": 3}}), "unknown key in compare.n_iter 'abs': did you mean 'absolute'?"),
        (lambda: from_config({"n_iter": {"absolute": "x"}}), "compare.n_iter.absolute: must be a number of 0 or more"),
        (lambda: from_config([1]), "compare: takes {metric: {absolute: …, relative: …}}, got [1]"),
    ],
)
def test_wrong_limits(make, message):
    with pytest.raises(InputError) as error:
        make()
    assert message in str(error.value)
