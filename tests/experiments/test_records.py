"""One record: read as it was written, old or new, and what it says about itself."""

import json
from pathlib import Path

import pytest

from svmreduce.experiments import environment, store
from svmreduce.experiments.config import load
from svmreduce.experiments.planning import expand
from svmreduce.experiments.records import FAILED, FINISHED, Record, control_label, controlled_label
from svmreduce.experiments.runner import make_agenda
from tests.reports.made_up import record

BASELINE = Path(__file__).parents[2] / "results" / "baseline" / "smoke.jsonl"


def test_lines_of_an_old_file_are_written_as_they_were_read():
    lines = BASELINE.read_text().splitlines()
    assert lines and [json.dumps(Record.from_json(json.loads(line)).to_json()) for line in lines] == lines


def test_a_run_of_an_earlier_version_is_resumed(monkeypatch):
    """A task keeps its id as long as it computes the same. With other ids no earlier run could be resumed."""
    earlier = store.read(BASELINE)
    config = load(BASELINE.parents[2] / "configs" / "smoke.yaml")
    monkeypatch.setattr(environment, "describe", lambda: earlier.records[0].environment)
    agenda = make_agenda(config, expand(config), earlier, BASELINE.parent)
    # the rows that reductions kept are in files of their own, which are not here
    assert len(agenda.known) == 5 * 32 and {task.kind for task in agenda.todo} == {"reduction"}


def test_what_is_empty_is_never_none():
    sections = ("seconds", "sizes", "counters", "scores", "point", "solver_params", "reducer_params", "environment")
    found = Record.from_json(record() | dict.fromkeys(sections) | {"reason": None, "log": None})
    assert [getattr(found, name) for name in sections] == [{}] * len(sections)
    assert (found.reason, found.log, found.kept_share) == ("", "", None)


def test_keys_that_came_later_may_be_missing_and_unknown_ones_are_passed_over():
    later = ("reason", "experiment", "scale", "size_of", "cpu_seconds", "memory_mb", "log", "environment", "engine")
    old = {name: value for name, value in record().items() if name not in (*later, "started", "run")}
    found = Record.from_json(old | {"of the future": 1})
    assert (found.size_of, found.environment, found.started) == (None, {}, "")
    assert "of the future" not in found.to_json()


@pytest.mark.parametrize(
    "damage",
    [{"point": {"C": 10**400}}, {"counters": {"iterations": [1, 10**400]}}, {"environment": {"load": {}}}],
    ids=["point", "counter", "load"],
)
def test_what_cannot_be_computed_with_is_no_record(damage):
    with pytest.raises(ValueError, match=r"beyond the largest double|load as a number"):
        Record.from_json(record() | damage)


@pytest.mark.parametrize("status", ["ok", "not_converged", "timeout", "memory", "crash", "error", "skipped"])
def test_a_record_has_a_result_or_failed_or_was_skipped(status):
    found = Record.from_json(record(status=status))
    assert found.is_finished == (status in FINISHED) and found.is_failed == (status in FAILED)
    assert found.is_finished + found.is_failed == (status != "skipped")
    assert found.is_ok == (status == "ok")


def test_a_control_is_a_random_sample_under_the_label_of_its_method():
    control = control_label("AESVM")
    assert (controlled_label(control), controlled_label("AESVM")) == ("AESVM", None)
    assert Record.from_json(record(method=control, reducer="random")).control_of == "AESVM"
    assert Record.from_json(record(method=control, reducer="derive_rs")).control_of is None  # only named so
    assert Record.from_json(record(method="sample", reducer="random")).control_of is None  # a method by itself


def test_the_plan_renames_a_record_and_leaves_its_facts():
    found = Record.from_json(record())
    renamed = found.renamed({"method": "mine", "point": None, "unknown": 1})
    assert (renamed.method, renamed.point, renamed.scores) == ("mine", {}, found.scores)
    assert found.method == "smo"
