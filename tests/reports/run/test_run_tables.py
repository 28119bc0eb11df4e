"""Tables of a run: nothing lost, nothing made up, readable in every format."""

import csv
import io
import re

import pytest

from svmreduce.experiments.metrics import METRICS
from svmreduce.experiments.ordering import natural_key
from svmreduce.reports.render import (
    Column,
    Table,
    comma_separated,
    exact,
    latex,
    markdown,
    percent,
    significant,
    terminal,
)
from svmreduce.reports.run.run_tables import environment_table, failures_table, fits_table, report_tables, summary_table
from tests.reports.made_up import as_run, failed, record, run


def titles(table):
    return [column.title for column in table.used()]


def test_the_summary_holds_the_figures_of_the_metrics():
    found = summary_table(as_run(run()))
    expected = {(figures["dataset"], figures["method"]): figures for figures in as_run(run()).summary}
    assert len(found.rows) == len(expected) == 4
    for row in found.rows:
        figures = expected[row["dataset"], row["method"]]
        assert {key: row[key] for key in (*METRICS, "cells", "done", "pairs", "failed")} == {
            key: figures[key] for key in (*METRICS, "cells", "done", "pairs", "failed")
        }
    assert [(row["dataset"], row["method"]) for row in found.rows] == [
        ("board", "libsvm"),
        ("board", "reduced"),
        ("toy", "libsvm"),
        ("toy", "reduced"),
    ]
    (row,) = [row for row in csv.DictReader(io.StringIO(comma_separated(found))) if row["dataset"] == "toy"][1:]
    for key in ("ets", "ots", "ecs", "cts", "rmse", "max_accuracy", "kept_percent", "train_seconds"):
        assert float(row[key]) == expected["toy", "reduced"][key]


def test_the_baseline_stands_first_and_numbers_in_names_are_numbers():
    made = [record("a10a"), *(record("a9a", name) for name in ("eps=0.1", "eps=0.02", "libsvm", "eps=0.011"))]
    rows = summary_table(as_run(made)).rows
    assert [row["dataset"] for row in rows] == ["a9a"] * 4 + ["a10a"]
    assert [row["method"] for row in rows[:4]] == ["libsvm", "eps=0.011", "eps=0.02", "eps=0.1"]


def test_regression_shows_squared_error_and_no_accuracy():
    made = [
        record("curve", method, task="regression", accuracy=None, errors=None, auc=None, mse=2.5, mae=1.0)
        for method in ("libsvm", "reduced")
    ]
    shown = titles(summary_table(as_run(made)))
    assert "MSE" in shown and not [title for title in shown if "acc." in title or title == "AUC" or "RMSE" in title]
    both = summary_table(as_run([*made, *run()]))
    assert {"MSE", "max. acc. (%)"} <= set(titles(both))
    (row,) = [row for row in both.rows if (row["dataset"], row["method"]) == ("curve", "reduced")]
    assert row["mse"] == 2.5 and row["max_accuracy"] is None and row["rmse"] is None


def test_a_row_of_only_failures_is_there():
    made = [*run(), failed(dataset="toy", method="slow"), failed(dataset="toy", method="slow", fold=1, status="crash")]
    (row,) = [row for row in summary_table(as_run(made)).rows if row["method"] == "slow"]
    assert (row["failed"]["timeout"], row["failed"]["crash"], row["done"]) == (1, 1, 0)
    assert row["max_accuracy"] is None
    text = terminal([summary_table(as_run(made))])
    assert "1 crash" in text and "1 timeout" in text


def test_cells_that_did_not_converge_are_told():
    assert "not converged" not in titles(summary_table(as_run(run())))
    found = summary_table(as_run([*run(), record(method="lazy", status="not_converged")]))
    assert "not converged" in titles(found)
    told = {row["method"]: row["not_converged"] for row in found.rows if row["dataset"] == "toy"}
    assert told == {"libsvm": 0, "lazy": 1, "reduced": 0}


def test_a_figure_over_other_cells_than_the_columns_say_is_told():
    made = [entry for entry in run() if entry["dataset"] == "toy"]
    assert summary_table(as_run(made)).notes == []
    fits = [entry for entry in made if entry["kind"] == "fit" and entry["method"] == "reduced"]
    fits[0]["sizes"]["vectors"] = None
    *_, note = summary_table(as_run(made)).notes
    assert note == "toy, reduced: ECS over 1; vectors over 1 cells."


def test_fits_are_sorted_as_numbers():
    order = [(1, 9.0, 0), (1, 10, 0), (2, 9.0, 0), (10, 9.0, 0), (10, 9.0, 2), (10, 9.0, 10)]
    made = [record(point={"C": C, "gamma": gamma}, fold=fold) for C, gamma, fold in reversed(order)]
    rows = fits_table(as_run(made)).rows
    assert [(row["point"], row["fold"]) for row in rows] == [
        (f"C={C}, gamma={gamma}", fold) for C, gamma, fold in order
    ]


def test_a_fit_has_its_facts_in_its_row_and_a_reduction_has_none():
    made = [*run(), failed(method="slow", reason="stopped")]
    rows = fits_table(as_run(made)).rows
    assert len(rows) == 9
    (row,) = [row for row in rows if row["method"] == "slow"]
    assert (row["status"], row["reason"], row.get("accuracy")) == ("timeout", "stopped", None)
    row = rows[-3]
    assert (row["method"], row["accuracy"], row["kept_rows"], row["n_iter"], row["solve"]) == (
        "reduced",
        0.94,
        200,
        400,
        1.0,
    )


def test_every_failure_has_its_reason():
    made = [
        *run(),
        failed("memory", "more than 100 MB", method="big", fold=2),
        failed("error", "ValueError: no\n  good", method="reduced", kind="reduction", point={"gamma": 1}),
        record(method="lazy", status="not_converged", reason="10 steps were not enough"),
    ]
    found = failures_table(as_run(made))
    assert [(row["method"], row["kind"], row["status"], row["where"]) for row in found.rows] == [
        ("big", "fit", "memory", "C=1.0, gamma=0.5, fold 2, seed 0"),
        ("lazy", "fit", "not_converged", "C=1.0, gamma=0.5, fold 0, seed 0"),
        ("reduced", "reduction", "error", "reduction, gamma=1, fold 0, seed 0"),
    ]
    assert "ValueError: no good" in markdown([found])
    assert len(report_tables(as_run(made))) == 4 and len(report_tables(as_run(run()))) == 3


def test_where_it_was_measured():
    made = run()
    made[0]["environment"] |= {"host": "other", "load": 1.75, "code": "beef", "threads": 2}
    made[1]["environment"] |= {"load": 0.25, "versions": {"numpy": "2.1", "numba": "0.60"}}
    made[2]["started"] = "2026-02-01T00:00:00Z"
    for number, entry in enumerate(made):
        entry["run"] = "2026-01-01" if number == 3 else "2026-01-02"
    lines = environment_table(as_run(made, unreadable=2)).notes
    assert lines == [
        "Records: 10 (10 ok), made in 2 runs",
        "Unreadable lines skipped: 2, in nowhere/records.jsonl",
        "Host other: A CPU, load 1.75 to 1.75, 1 records",
        "Host box: A CPU, load 0.25 to 0.50, 9 records",
        "Threads: 1 (9 records), 2 (1 records)",
        "Engine: local",
        "Code: c0de (9 records), beef (1 records)",
        "Versions: numpy 2.0 (9 records), 2.1 (1 records), numba 0.60",
        "Started: 2026-01-02T03:04:05Z to 2026-02-01T00:00:00Z",
    ]


def test_records_that_know_little_make_tables_too():
    given = {"id": "1", "kind": "fit", "status": "crash", "dataset": "toy", "method": "smo"}
    needed = ("task", "baseline", "solver", "reducer", "solver_params", "reducer_params", "point", "reduction")
    sections = ("seconds", "sizes", "counters", "scores")
    bare = given | dict.fromkeys((*needed, *sections)) | dict.fromkeys(("fold", "seed", "repeat"), 0)
    for table in (fits_table, failures_table, environment_table):
        assert terminal([table(as_run([bare]))])


HOSTILE = r"50% & $x_1$ #1 {a} ~ ^ \ | <b> *c* `d` [e]"


@pytest.fixture
def hostile():
    columns = [Column("name", "a_name", is_text=True), Column("value", "value %", exact), Column("none", "none")]
    return Table("T_1", columns, [{"name": HOSTILE, "value": 0.1 + 0.2}, {"name": 'b\nc,"d"', "value": 7}], ["n_1"])


def test_columns_without_values_are_left_out(hostile):
    assert titles(hostile) == ["a_name", "value %"]
    hostile.rows[1]["none"] = 0
    assert titles(hostile) == ["a_name", "value %", "none"]  # a zero is a value


def test_latex_prints_every_letter_as_it_is(hostile):
    text = latex([hostile])
    escaped = r"50\% \& \$x\_1\$ \#1 \{a\} \textasciitilde{} \textasciicircum{} \textbackslash{} \textbar{}"
    assert escaped + r" \textless{}b\textgreater{} *c* `d` [e] & 0.3 \\" in text
    assert r"\begin{tabular}{lr}" in text and r"\shortstack{a\_name} & \shortstack{value \\ \%} \\" in text
    assert r"\caption{T\_1}" in text and r"\item n\_1" in text
    assert text.count(r"\begin") == text.count(r"\end")


def test_markdown_cells_stay_cells(hostile):
    rows = [line for line in markdown([hostile]).splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}
    assert r"\\ \| \<b> \*c\* \`d\` \[e]" in rows[2]


def test_csv_has_raw_values(hostile):
    assert list(csv.reader(io.StringIO(comma_separated(hostile)))) == [
        ["name", "value"],
        [HOSTILE, "0.30000000000000004"],
        ['b\nc,"d"', "7"],
    ]


def test_a_wide_table_is_cut_and_repeats_its_keys():
    columns = [Column("name", "name", is_text=True, is_key=True), *(Column(f"c{k}", f"c{k}") for k in range(12))]
    table = Table(
        "wide", columns, [{"name": f"row{row}"} | {f"c{k}": f"{row}-{k}" for k in range(12)} for row in range(2)]
    )
    whole, cut = terminal([table]), terminal([table], width=40)
    assert max(map(len, whole.splitlines())) > 40 >= max(map(len, cut.splitlines()))
    assert cut.count("row0") == cut.count("row1") > 1
    for row in range(2):
        for column in range(12):
            assert f"{row}-{column}" in cut.split()


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234.5, "1234"), (12.345, "12.3"), (0.012345, "0.0123"), (1.2e-7, "1.20e-07"), (-3.14159, "-3.14")],
)
def test_significant_digits(value, text):
    assert significant(value) == text


def test_other_numbers():
    assert (percent(0.98765), exact(12345678), exact(0.123456789)) == ("98.77", "12345678", "0.123457")
    assert sorted(["m10", "m9", "m", "m9a"], key=natural_key) == ["m", "m9", "m9a", "m10"]
