"""Printed beside measured: every verdict can be reached, every printed row is shown, records are found by name."""

import pytest

from svmreduce.papers.layouts import ECS, MAX_ACCURACY, REDUCTION_SECONDS, PrintedTolerance
from svmreduce.reports.reproduction.paper_comparison import compare_with_paper, wide_table
from svmreduce.reports.reproduction.verdicts import (
    CONTRADICTED,
    NOT_COMPARABLE,
    NOT_MEASURED,
    NOT_PRINTED,
    OTHER_DIRECTION,
    REPRODUCED,
    SAME_DIRECTION,
    judge,
    number,
)
from tests.reports.made_up import as_run, failed, record


def row_of(found, **names):
    (row,) = [row for row in found.rows if all(row.names[key] == value for key, value in names.items())]
    return row


def reduction(dataset, g, kept, rows, epsilon=0.01, **given):
    made = record(
        dataset, f"AESVM {epsilon}", "reduction", point={"gamma": g}, reducer="derive_rs", reduce=1.5, **given
    )
    made |= {"reducer_params": {"epsilon": epsilon, "gamma": g}, "id": f"{dataset} {g} {epsilon} {given}", "scores": {}}
    made["sizes"] = {"train_rows": rows, "kept_rows": round(kept * rows / 100), "features": 2}
    return made


# The verdict of one number


@pytest.mark.parametrize(
    ("tolerance", "printed", "allowed"),
    [
        (PrintedTolerance(absolute=0.5), 98.0, 0.5),
        (PrintedTolerance(relative=0.2), 5.0, 1.0),
        (PrintedTolerance(absolute=0.1, relative=0.2), 0.3, 0.1),
        (PrintedTolerance(relative=0.1, at_most=1.5), 71.0, 1.5),
        (PrintedTolerance(relative=0.1, at_most=1.5, rounding=0.05), 71.0, 1.55),
    ],
)
def test_tolerances_reach_to_their_edge(tolerance, printed, allowed):
    for sign in (-1, 1):
        assert tolerance.covers(printed, printed + sign * allowed)
        assert not tolerance.covers(printed, printed + sign * (allowed + 1e-6))


def test_every_verdict_of_a_number():
    assert judge(ECS, 3.3, 3.9) == (REPRODUCED, "")
    assert judge(ECS, 3.3, 1.5, sides=(1, 1)) == (SAME_DIRECTION, "")
    assert judge(ECS, 3.3, 0.5, sides=(1, -1)) == (CONTRADICTED, "")
    assert judge(ECS, 3.3, 1.5) == (CONTRADICTED, "")  # no direction to agree in
    assert judge(MAX_ACCURACY, 70.0, 74.0, sides=(0, 0)) == (SAME_DIRECTION, "")
    assert judge(MAX_ACCURACY, 70.0, 98.0, sides=(0, 0)) == (CONTRADICTED, "")  # level with the baseline, but far off
    assert judge(ECS, None, 1.5) == (NOT_PRINTED, "")
    assert judge(ECS, 3.3, None) == (NOT_MEASURED, "")
    assert judge(REDUCTION_SECONDS, 10, 10) == (NOT_COMPARABLE, "another machine")


def test_on_other_data_a_figure_neither_reproduces_nor_contradicts():
    assert judge(ECS, 3.3, 3.3, sides=(1, 1), caveat="fewer rows") == (SAME_DIRECTION, "fewer rows")
    assert judge(ECS, 3.3, 0.5, sides=(1, -1), caveat="fewer rows") == (OTHER_DIRECTION, "fewer rows")
    assert judge(ECS, 3.3, 3.4, sides=(1, -1), caveat="fewer rows") == (SAME_DIRECTION, "fewer rows")  # so near
    assert judge(ECS, 3.3, 1.3, caveat="fewer rows") == (NOT_COMPARABLE, "fewer rows")


def test_numbers_are_written_as_printed():
    assert [number(5.6, 1), number(1188.9, 1), number(41728.8, 1)] == ["5.6", "1188.9", "41729"]
    assert [number(3.085e-06, 3), number(0.0, 2), number(0.002, 1)] == ["3.09e-06", "0.00", "0.00200"]


# Reductions: Table 2 of the AESVM paper


def test_kept_shares_beside_table_2():
    """D5 prints 5.6, 10.4, 17.7, 28.1 at ε 0.01 and g 1/16 … 1/2."""
    shares = {0.0625: 5.6, 0.125: 12.0, 0.25: 17.9, 0.5: 15.0}
    found = compare_with_paper(
        as_run([reduction("ijcnn1", g, kept, 49990) for g, kept in shares.items()]), "aesvm:table2"
    )
    verdicts = {g: row_of(found, dataset="D5", epsilon=0.01, g=g).cells["kept_percent"].verdict for g in shares}
    assert verdicts == {0.0625: REPRODUCED, 0.125: SAME_DIRECTION, 0.25: REPRODUCED, 0.5: CONTRADICTED}
    row = row_of(found, dataset="D5", epsilon=0.01, g=0.5)
    assert (row.verdict, row.cells["seconds"].verdict) == (CONTRADICTED, NOT_COMPARABLE)
    assert (row.cells["seconds"].measured, str(row.cells["kept_percent"])) == (1.5, "28.1 → 15.0 ✗")
    assert row_of(found, dataset="D5", epsilon=0.001, g=0.5).verdict == NOT_MEASURED
    garbled = row_of(found, dataset="D2", epsilon=0.01, g=0.125)
    assert (garbled.verdict, garbled.why) == (NOT_PRINTED, "unreadable in print")


def test_a_reduction_is_found_by_all_its_parameters():
    made = [reduction("kdd99_full:distinct", 1, 2.3, 1074974), reduction("ijcnn1", 1, 42, 49990)]
    found = compare_with_paper(as_run(made), "aesvm:table1")
    assert row_of(found, P=100000, V=1000).cells["kept_percent"].verdict == REPRODUCED  # the defaults of DeriveRS
    assert row_of(found, P=100000, V=500).verdict == NOT_MEASURED
    made[0]["reducer_params"] |= {"V": 500}
    assert (
        row_of(compare_with_paper(as_run(made), "aesvm:table1"), P=100000, V=500).cells["kept_percent"].measured
        is not None
    )
    made[0]["reducer_params"] |= {"kernel": "poly", "degree": 2}
    assert {row.verdict for row in compare_with_paper(as_run(made), "aesvm:table1").rows} == {NOT_MEASURED}
    assert row_of(compare_with_paper(as_run(made), "aesvm:table9"), dataset="D1", degree=2).verdict != NOT_MEASURED


def test_folds_are_averaged_and_a_failed_reduction_tells_why():
    made = [reduction("covertype:2-vs-rest", 1, kept, 464809, fold=fold) for fold, kept in enumerate((8.0, 9.0))]
    made.append(reduction("covertype:2-vs-rest", 2, 9, 464809) | {"status": "memory", "reason": "more than 100 MB"})
    found = compare_with_paper(as_run(made), "aesvm:table2")
    assert row_of(found, dataset="D4", epsilon=0.01, g=1).cells["kept_percent"].measured == pytest.approx(8.5, abs=1e-3)
    cell = row_of(found, dataset="D4", epsilon=0.01, g=2).cells["kept_percent"]
    assert (cell.verdict, cell.reason) == (NOT_COMPARABLE, "1 memory: more than 100 MB")


# Solvers: Table 4 of the AESVM paper

GRID = [{"C": 2.0**c, "gamma": 2.0**g} for c in range(-4, 8) for g in range(-4, 3)]
C_GRID = [2.0**c for c in range(13)]  # of the paper on Frank-Wolfe
METHODS = {
    "libsvm": ("libsvm", None),
    "smo": ("smo", None),
    "AESVM1": ("smo", "derive_rs"),
    "sample": ("smo", "random"),
}


def solvers(points=GRID, rows=49990, dataset="ijcnn1", **changes):
    """On D5 the paper prints ETS 26.6, OTS 4.1, ECS 3.3, CTS 1.6, RMSE 0.5, accuracies 98.8, 96.2, 2.6 for AESVM1."""
    seconds = {"libsvm": 200.0, "smo": 26.0, "AESVM1": 1.0, "sample": 0.5}
    vectors = {"libsvm": 330, "smo": 330, "AESVM1": 100, "sample": 50}
    accuracy = {"libsvm": 0.966, "smo": 0.966, "AESVM1": 0.962, "sample": 0.9}
    made = []
    for method, (solver, reducer) in METHODS.items():
        for point in points:
            facts = {"solve": seconds[method], "vectors": vectors[method], "accuracy": accuracy[method]}
            fit = record(
                dataset, method, solver=solver, reducer=reducer, point=point, solver_params=point, train_rows=rows,
                kept_rows=rows if reducer is None else rows // 4, **{**facts, **changes.get(method, {})},
            )  # fmt: skip
            made.append(fit | {"reducer_params": {"epsilon": 0.01} if reducer == "derive_rs" else {}})
    return made


def test_a_speed_up_is_judged_by_the_same_engine_and_shown_against_the_baseline():
    row = row_of(compare_with_paper(as_run(solvers()), "aesvm:table4"), dataset="D5", solver="AESVM1")
    cell = row.cells["ets"]
    assert (cell.printed, cell.measured, cell.judged, cell.verdict) == (26.6, 200, 26, REPRODUCED)
    assert row.extras["ets_same_engine"] == 26 and row.extras["random_ets"] == 400
    assert row.extras["random_mean_accuracy"] == pytest.approx(0.9)
    assert row.extras["random_rmse"] == pytest.approx(0.066)
    slow = solvers(AESVM1={"solve": 30.0})
    row = row_of(compare_with_paper(as_run(slow), "aesvm:table4"), dataset="D5", solver="AESVM1")
    assert (row.cells["ets"].measured > 1, row.cells["ets"].verdict) == (
        True,
        CONTRADICTED,
    )  # only the engine is faster
    assert row.verdict == CONTRADICTED  # though all that is free of the machine agrees


def test_the_cells_of_a_solver():
    cells = row_of(compare_with_paper(as_run(solvers()), "aesvm:table4"), dataset="D5", solver="AESVM1").cells
    found = {name: cell.verdict for name, cell in cells.items()}
    assert found["ecs"] == found["mean_accuracy_percent"] == found["rmse_x100"] == REPRODUCED
    assert (cells["cts"].measured, found["cts"]) == (3.3, SAME_DIRECTION)
    assert found["max_accuracy_percent"] == SAME_DIRECTION  # 98.8 and 96.2, both level with LIBSVM
    assert found["std_accuracy_percent"] == SAME_DIRECTION
    worse = solvers(AESVM1={"accuracy": 0.90})
    found = row_of(compare_with_paper(as_run(worse), "aesvm:table4"), dataset="D5", solver="AESVM1")
    assert found.verdict == found.cells["max_accuracy_percent"].verdict == CONTRADICTED
    assert found.cells["rmse_x100"].verdict == CONTRADICTED  # a loss below a point became one above


def test_columns_free_of_the_machine_stand_first():
    table = wide_table(compare_with_paper(as_run(solvers()), "aesvm:table4"))
    shown = [column.title for column in table.used()]
    assert shown.index("verdict") < shown.index("ECS") < shown.index("std. acc. (%)") < shown.index("ETS")
    assert shown.index("OTS") < shown.index("ETS, same engine") < shown.index("ETS, random sample")


def test_the_baseline_has_no_ratio_and_other_methods_are_not_measured():
    found = compare_with_paper(as_run(solvers()), "aesvm:table4")
    baseline = row_of(found, dataset="D5", solver="LIBSVM")
    assert baseline.cells["ets"].verdict == NOT_PRINTED
    assert baseline.cells["mean_accuracy_percent"].verdict == REPRODUCED
    assert baseline.cells["max_accuracy_percent"].verdict == CONTRADICTED  # nothing to be level with
    assert row_of(found, dataset="D5", solver="CVM").verdict == NOT_MEASURED
    assert row_of(found, dataset="D5", solver="AESVM2").verdict == NOT_MEASURED  # another ε
    unfinished = row_of(found, dataset="D4", solver="LASVM")
    assert (unfinished.verdict, unfinished.why) == (NOT_PRINTED, "the paper's run did not finish")


def test_fewer_rows_and_fewer_grid_points_are_told():
    row = row_of(
        compare_with_paper(as_run(solvers(GRID[:4], rows=2000)), "aesvm:table4"), dataset="D5", solver="AESVM1"
    )
    assert row.why == "2,000 of 49,990 rows; 4 of 84 grid points"
    assert row.cells["ecs"].verdict == SAME_DIRECTION and row.cells["ecs"].measured == pytest.approx(3.3)
    cells = row_of(compare_with_paper(as_run(solvers(GRID[:4])), "aesvm:table4"), dataset="D5", solver="LIBSVM").cells
    assert cells["mean_accuracy_percent"].reason == "4 of 84 grid points"  # a mean over the grid
    assert cells["max_accuracy_percent"].reason == "4 of 84 grid points"  # and so is the best of it


def test_what_stopped_early_lies_elsewhere_or_has_another_baseline_reproduces_nothing():
    def cells(made, solver="AESVM1"):
        return row_of(compare_with_paper(as_run(made), "aesvm:table4"), dataset="D5", solver=solver).cells

    assert cells(solvers())["ecs"].verdict == REPRODUCED
    for method, told in (("AESVM1", "1 of 84 cells did not converge"), ("libsvm", "1 of 84 cells of libsvm did not")):
        made = solvers()
        next(entry for entry in made if entry["method"] == method)["status"] = "not_converged"
        assert cells(made)["ecs"].verdict == SAME_DIRECTION
        assert told in cells(made)["ecs"].reason
    shifted = [{**point, "C": 3.0} if point["C"] == 128 else point for point in GRID]
    found = cells(solvers(shifted))["ecs"]
    assert (found.verdict, found.reason) == (
        SAME_DIRECTION, "84 grid points, of which 77 are among the paper's 84")  # fmt: skip
    other = {"AESVM1": {"solver": "lasvm"}}
    ours = [{**entry, "baseline": "smo", **other.get(entry["method"], {})} for entry in solvers()]
    assert [cells(ours)[name].verdict for name in ("ecs", "ets")] == [REPRODUCED, NOT_COMPARABLE]
    assert cells(ours)["ets"].reason == "no times of LIBSVM in this run"


def test_a_method_without_a_result_is_not_comparable_and_says_why():
    made = [entry for entry in solvers(GRID[:2]) if entry["method"] != "libsvm"]
    made += [failed(dataset="ijcnn1", method="libsvm", solver="libsvm", point=point) for point in GRID[:2]]
    found = compare_with_paper(as_run(made), "aesvm:table4")
    row = row_of(found, dataset="D5", solver="LIBSVM")
    assert (row.verdict, row.why) == (NOT_COMPARABLE, "2 timeout: stopped after 10 s")
    ratio = row_of(found, dataset="D5", solver="AESVM1").cells["ecs"]
    assert (ratio.measured, ratio.verdict, ratio.reason) == (None, NOT_COMPARABLE, "libsvm: 2 timeout")


def test_one_label_for_several_epsilon():
    made = [entry for entry in solvers(GRID[:1]) if entry["method"] == "libsvm"]
    for epsilon in (0.01, 0.001):
        (fit,) = [entry for entry in solvers(GRID[:1]) if entry["method"] == "AESVM1"]
        label = f"AESVM epsilon={epsilon}"
        made.append(fit | {"method": label, "id": label, "reducer_params": {"epsilon": epsilon}})
    found = compare_with_paper(as_run(made), "aesvm:table4")
    assert [row_of(found, dataset="D5", solver=f"AESVM{k}").found.method for k in (1, 2, 3)] == [
        "AESVM epsilon=0.01",
        "AESVM epsilon=0.001",
        "",
    ]
    assert (
        row_of(compare_with_paper(as_run(made), "aesvm:table6"), dataset="D5", solver="AESVM").found.method
        == made[1]["method"]
    )


# Which data set a printed one is


@pytest.mark.parametrize(
    ("table", "printed", "entry", "rows", "caveats"),
    [
        ("aesvm:table4", "D5", {"name": "ijcnn1"}, 49990, ()),
        ("aesvm:table4", "D5", {"name": "ijcnn1", "as": "any name"}, 49990, ()),
        ("aesvm:table4", "D4", {"name": "covertype:2-vs-rest", "split": {"folds": 5}}, 464809, ()),
        ("aesvm:table4", "D4", {"name": "covertype:2-vs-rest"}, 464809, ("464,809 of 581,012 rows",)),
        ("aesvm:table4", "D5", {"name": "ijcnn1", "test_rows": 500}, 49990, ("500 test rows",)),
        ("frank_wolfe:table2", "MNIST", {"name": "mnist:scaled"}, 60000, ()),  # the same data, divided
        (
            "aesvm:table4",
            "D1",
            {"name": "kdd99:distinct"},
            145584,
            ("kdd99:distinct stands in for D1", "145,584 of 1,074,974 rows"),
        ),
        ("aesvm:table5", "D8", {"file": "x.txt", "as": "D8 digits"}, 60000, ("D8 digits stands in for D8",)),
        ("aesvm:table5", "D8", {"name": "mnist:even-odd"}, 60000, None),
        ("aesvm:table5", "D8", {"generator": "checkerboard", "rows": 60000}, 60000, None),
    ],
)
def test_data_sets_are_found_by_their_cards(table, printed, entry, rows, caveats):
    title = entry.get("as") or entry.get("name") or f"{entry['generator']}:{entry['rows']}"
    label = "CVM" if table.startswith("frank") else "libsvm"
    made = [record(title, label, train_rows=rows, point={"C": C}) for C in C_GRID]
    found = compare_with_paper(as_run(made, {"datasets": [entry]}), table)
    rows = [row for row in found.rows if row.names["dataset"] == printed and row.found.dataset]
    assert bool(rows) == (caveats is not None)
    for row in rows:
        assert row.found.caveats == caveats


def test_of_several_sizes_the_nearest_is_taken():
    made = [record(f"twonorm:{rows}", "RandSVM", train_rows=rows) for rows in (1000, 100_000, 960_000)]
    found = compare_with_paper(as_run(made), "randsvm:table1")
    data = {size: row_of(found, dataset="twonorm", n_train=size, solver="RandSVM").found for size in (10**5, 10**6)}
    assert (data[10**5].dataset, data[10**5].caveats) == ("twonorm:100000", ())
    assert (data[10**6].dataset, data[10**6].caveats) == ("twonorm:960000", ())
    only = row_of(
        compare_with_paper(as_run(made[:1]), "randsvm:table1"), dataset="twonorm", n_train=10**5, solver="RandSVM"
    )
    assert only.found.caveats == ("1,000 of 100,000 rows",)


def test_speed_ups_that_only_follow_from_printed_seconds():
    """LibSVM takes 8542 s and RandSVM 300 s on twonorm, both 256 and 2637 s on ringnorm."""
    made = [
        record(f"{data}:100000", label, solve=seconds, accuracy=0.95, train_rows=100_000)
        for data in ("twonorm", "ringnorm")
        for label, seconds in (("libsvm", 20.0), ("RandSVM", 1.0))
    ]
    found = compare_with_paper(as_run(made), "randsvm:table1")
    two, ring = (row_of(found, dataset=name, n_train=100_000, solver="RandSVM") for name in ("twonorm", "ringnorm"))
    assert two.cells["speedup"].printed == pytest.approx(8542 / 300)
    assert (two.cells["speedup"].measured, two.cells["speedup"].verdict) == (20, REPRODUCED)
    assert ring.cells["speedup"].verdict == CONTRADICTED  # printed as ten times slower
    assert two.cells["seconds"].verdict == NOT_COMPARABLE
