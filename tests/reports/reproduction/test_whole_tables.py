"""Printed beside measured: whole tables, the papers with a layout of their own, and the command."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from svmreduce import papers as printed_papers
from svmreduce.cli.main import cli
from svmreduce.data.cards import all_cards
from svmreduce.errors import InputError
from svmreduce.papers.layouts import KEPT, LAYOUTS, MAX_ACCURACY, RMSE
from svmreduce.reports.render import latex, markdown, terminal
from svmreduce.reports.reproduction.paper_comparison import compare_with_paper, long_table, table_of_run, wide_table
from svmreduce.reports.reproduction.verdicts import (
    CONTRADICTED,
    NOT_COMPARABLE,
    NOT_MEASURED,
    NOT_PRINTED,
    OTHER_DIRECTION,
    REPRODUCED,
    SAME_DIRECTION,
)
from tests.reports.made_up import as_run, record, write
from tests.reports.reproduction.test_paper_comparison import C_GRID, GRID, row_of, solvers

TABLES = [f"{paper}:{table}" for paper in printed_papers.names() for table in LAYOUTS[paper]]


# Frank-Wolfe: the printed tables as measured figures


@pytest.fixture(scope="module")
def frank_wolfe_run():
    """A run that measured exactly what Tables 2 and 3 print at the best C of the paper's, on data of printed size."""
    cards = {}
    for card in all_cards().values():
        owners = {card.name: card} | {f"{card.name}:{name}": variant for name, variant in card.variants.items()}
        cards |= {owner.papers["frank_wolfe"]: name for name, owner in owners.items() if "frank_wolfe" in owner.papers}
    tables = printed_papers.load("frank_wolfe")["tables"]
    sizes = {row["dataset"]: row["n_train"] for row in tables["table1"]["rows"]}
    made = []
    for accuracy, time in zip(tables["table2"]["rows"], tables["table3"]["rows"], strict=True):
        facts = {"accuracy": accuracy["accuracy_mean_percent"] / 100 + 0.01, "solve": time["seconds_mean"]}
        name = accuracy["dataset"]
        for C in C_GRID:
            facts["accuracy"] -= 0.01
            facts |= {"point": {"C": C}, "train_rows": sizes[name], "baseline": "CVM"}
            made.append(record(cards[name], accuracy["algorithm"], **facts))
    return as_run(made)


def test_every_cell_of_the_frank_wolfe_tables_reproduces_itself(frank_wolfe_run):
    assert compare_with_paper(frank_wolfe_run, "frank_wolfe:table2").counts == {
        REPRODUCED: 78,
        NOT_COMPARABLE: 78,
    }  # no deviation
    counts = compare_with_paper(frank_wolfe_run, "frank_wolfe:table3").counts
    assert counts[REPRODUCED] == 52 and CONTRADICTED not in counts  # FW and MFW against CVM


def test_rank_tests_from_the_records(frank_wolfe_run):
    found = compare_with_paper(frank_wolfe_run, "frank_wolfe:table5")
    assert [row.cells["statistic"].measured for row in found.rows if row.names["measure"] == "time"] == [
        17,
        20,
        159,
        pytest.approx(14.858, abs=1e-3),
    ]
    assert {row.verdict for row in compare_with_paper(frank_wolfe_run, "frank_wolfe:table6").rows} == {REPRODUCED}


def test_rank_tests_on_fewer_data_sets_compare_who_is_ahead(frank_wolfe_run):
    some = [
        entry.to_json() for entry in frank_wolfe_run.records if entry.dataset in ("a1a", "a2a", "a3a", "w1a", "w4a")
    ]
    found = compare_with_paper(as_run(some), "frank_wolfe:table5")
    assert {row.verdict for row in found.rows} == {SAME_DIRECTION}
    assert {row.why for row in found.rows} == {"5 of 26 data sets"}
    swapped = [
        entry | {"seconds": entry["seconds"] | {"solve": 9999.0}} if entry["method"] == "MFW" else entry
        for entry in some
    ]
    row = row_of(compare_with_paper(as_run(swapped), "frank_wolfe:table5"), measure="time", comparison="MFW vs CVM")
    assert row.verdict == OTHER_DIRECTION
    assert {row.verdict for row in compare_with_paper(as_run(some[:3]), "frank_wolfe:table5").rows} == {NOT_MEASURED}


# The papers of ranking and cleaning


def test_what_a_ranked_working_set_saves():
    """Iris: LP-SVR 4 s, 2 s with the speed-up, 1 % fewer iterations."""
    made = [
        record("iris", "LP-SVR", train_rows=130, solve=4.0, n_iter=100),
        record("iris", "LP-SVR ranked", train_rows=130, solve=2.2, n_iter=97),
    ]
    row = row_of(compare_with_paper(as_run(made), "lp_svr:table3"), dataset="Iris", method="LP-SVR")
    assert row.cells["time_saved"].printed == 50
    assert row.cells["time_saved"].measured == pytest.approx(45)
    assert (row.verdict, row.cells["seconds"].measured) == (REPRODUCED, 2.2)
    row = row_of(compare_with_paper(as_run(made), "lp_svr:table4"), dataset="Iris", method="LP-SVR")
    assert row.cells["iteration_reduction_percent"].measured == pytest.approx(3) and row.verdict == REPRODUCED
    average = row_of(compare_with_paper(as_run(made), "lp_svr:table4"), dataset="average_printed", method="LP-SVR")
    assert average.cells["iteration_reduction_percent"].reason == "over 1 of 13 rows"
    assert (
        row_of(compare_with_paper(as_run(made), "lp_svr:table2"), dataset="Iris", method="LP-SVR").found.method
        == "LP-SVR"
    )
    assert (
        row_of(compare_with_paper(as_run(made), "lp_svr:table2"), dataset="Iris", method="LSSVM").verdict
        == NOT_MEASURED
    )


@pytest.mark.skipif("bootstrap" not in printed_papers.names(), reason="the tables of this paper are not at hand")
def test_cleaning_is_found_by_its_percents_and_kernels():
    """IJCNN1 at P 8 %, 50 % entropy prints accuracy 0.968; Web with Gaussian+RBF 0.978 ± 0.004."""
    made = [
        record("w8a", f"clean {seed}", seed=seed, accuracy=accuracy, train_rows=49749, reducer="bootstrap")
        | {"method": "clean", "reducer_params": {"kernels": "gaussian:5+rbf:5", "proportion": 0.01, "entropy": 0.5}}
        for seed, accuracy in enumerate((0.975, 0.979))
    ]
    row = row_of(compare_with_paper(as_run(made), "bootstrap:table2"), dataset="Web", kernel="Gaussian+RBF")
    assert (row.cells["accuracy_mean"].measured, row.verdict) == (pytest.approx(0.977), REPRODUCED)
    assert row.cells["accuracy_std"].measured == pytest.approx(0.004 / 2**0.5)
    average = row_of(compare_with_paper(as_run(made), "bootstrap:table2"), dataset="Web", kernel="average_mixture")
    assert average.why == "over 1 of 10 rows"
    found = compare_with_paper(as_run(made), "bootstrap:table3")
    assert [row.names for row in found.rows if row.found.values] == [
        {"dataset": "Web", "sampling_percent": 1, "entropy_percent": 50}
    ]


# Whole tables


@pytest.mark.parametrize("name", TABLES)
def test_every_printed_row_and_column_is_shown(name):
    found = compare_with_paper(as_run([record()]), name)
    printed = printed_papers.find(name)
    assert len(wide_table(found).rows) == len(printed.rows)
    for row, made in zip(printed.rows, found.rows, strict=True):
        assert all(made.names[key] == row.get(key) for key in made.names)
        assert {cell.verdict for cell in made.cells.values()} <= {NOT_MEASURED, NOT_PRINTED}
    figures = {column.field for column in found.columns}
    assert {*printed.content["hardware_independent"], *printed.content["hardware_dependent"]} <= figures
    text = terminal([wide_table(found)])
    assert "not measured" in text
    for field in figures - {"speedup", "time_saved"}:
        values = [row[field] for row in printed.rows if row[field] is not None]
        assert [row.cells[field].printed for row in found.rows if row.cells[field].printed is not None] == values
    assert len(long_table(found).rows) == len(printed.rows) * len(figures)


@pytest.mark.parametrize("name", TABLES)
def test_no_two_printed_rows_have_the_same_name(name):
    rows = [tuple(row.names.values()) for row in compare_with_paper(as_run([record()]), name).rows]
    assert len(rows) == len(set(rows))


def test_the_legend_says_what_is_near_enough():
    notes = " ".join(wide_table(compare_with_paper(as_run(solvers()), "aesvm:table4")).notes)
    assert "RMSE (%) ±0.3 or ±25 %" in notes and "judged against the same engine" in notes
    assert f"max. acc. (%) {MAX_ACCURACY.tolerance}" in notes
    assert str(replace(KEPT.tolerance, rounding=0)) == "±0.2 or ±10 %, at most 1.5" and RMSE.title in notes


def test_names_that_are_not_there():
    run = as_run([record()])
    for name, message in (
        ("aesvm", "a printed table is named PAPER:TABLE"),
        ("aesv:table4", "did you mean 'aesvm'?"),
        ("aesvm:table44", "did you mean 'table4'?"),
        ("frank_wolfe:table1", "unknown table of frank_wolfe with measured figures 'table1'"),
    ):
        with pytest.raises(InputError, match=message.replace("?", r"\?")):
            compare_with_paper(run, name)


def test_a_config_may_name_its_table():
    for paper, name in (("aesvm:table4", "aesvm:table4"), ("aesvm:figure2", None), ("aesvm", None), (None, None)):
        assert table_of_run(as_run([record()], {"paper": paper})) == name
    assert table_of_run(as_run([record()])) is None


# The command


def invoke(*arguments):
    return CliRunner().invoke(cli, ["report", *map(str, arguments)])


def test_report_sets_a_paper_beside_a_run(tmp_path):
    folder = write(tmp_path / "run", solvers(GRID[:2]))
    assert "Approximate Extreme Points" not in invoke(folder).stdout
    text = invoke(folder, "--paper", "aesvm:table4").stdout
    assert text.startswith("== Fast SVM Training Using Approximate Extreme Points, Table 4: printed → measured")
    assert "== made-up smoke: figures per data set and method" in text
    lines = invoke(folder, "--paper", "aesvm:table4", "--format", "csv").stdout.splitlines()
    assert (
        lines[0].startswith("dataset,solver,epsilon,figure,printed,measured,judged,verdict") and len(lines) == 1 + 280
    )
    (folder / "config.yaml").write_text("paper: aesvm:table4\n")
    assert "printed → measured" in invoke(folder).stdout
    assert invoke(folder, "--format", "csv").stdout.startswith("dataset,method")
    facts = json.loads(invoke(folder, "--json").stdout)["paper"]
    assert len(facts["cells"]) == sum(facts["verdicts"].values()) == 280
    wrong = invoke(folder, "--paper", "aesvm:tabel4")
    assert wrong.exit_code == 2 and "did you mean 'table4'?" in wrong.stderr


def test_a_config_stands_for_its_run_and_its_table(tmp_path, monkeypatch):
    """Two configs may share a run, each with its own table of the paper."""
    monkeypatch.chdir(tmp_path)
    write(Path("results/runs/board-small"), solvers(GRID[:2]))
    for number in (4, 5):
        config = f"name: board\npaper: aesvm:table{number}\ndatasets: [ijcnn1]\nsolvers: [smo]\n"
        Path(f"table{number}.yaml").write_text(config)
        text = invoke(f"table{number}.yaml").stdout
        assert f"Approximate Extreme Points, Table {number}: printed → measured" in text
    invoke("table4.yaml", "-o", "a.md", "-o", "a.csv")
    assert Path("a.md").read_text().startswith("## Verdict") and Path("a.csv").read_text().startswith("dataset,method")
    missing = invoke("table4.yaml", "--scale", "full")
    assert missing.exit_code == 2 and "run the experiment first" in missing.stderr
    shipped = invoke("aesvm/table4", "--scale", "full")  # a config of the package by its name
    assert "results/runs/aesvm-table4-full: no such run" in shipped.stderr
    assert "--scale is for configs" in invoke("results/runs/board-small", "--scale", "full").stderr


def test_marks_survive_other_formats():
    table = wide_table(compare_with_paper(as_run(solvers()), "aesvm:table4"))
    assert "3.3 → 3.3 ✓" in markdown([table])
    assert r"3.3 $\rightarrow$ 3.3 $\surd$" in latex([table])
    assert latex([table]).isascii()


def test_a_broken_config_leaves_the_tables_as_they_are(tmp_path):
    folder = write(tmp_path / "run", [record()])
    (folder / "config.yaml").write_text("paper: [unclosed")
    assert invoke(folder).exit_code == 0 and invoke(folder, "--paper", "aesvm:table4").exit_code == 2
