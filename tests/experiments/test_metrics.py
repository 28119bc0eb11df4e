"""The figures of a made-up run, worked out by hand beside the records."""

import math
import random

import pytest

from svmreduce.experiments import metrics
from svmreduce.experiments.method_results import collect
from svmreduce.experiments.metrics import METRICS
from svmreduce.experiments.records import Record

ENGINES = {
    "libsvm": ("libsvm", None),
    "smo": ("smo", None),
    "AESVM": ("smo", "derive_rs"),
    "random": ("smo", "random"),
    "self-reducing": ("aesvm", None),
}


def fit(method, fold=0, C=1, solve=1.0, **changes):
    """One record of a fit; ``changes`` are keys of the record or of its sections."""
    solver, reducer = ENGINES.get(method, ("smo", "derive_rs"))
    record = {
        "kind": "fit",
        "id": "fit",
        "status": "ok",
        "dataset": "toy",
        "task": "classification",
        "fold": fold,
        "seed": 0,
        "repeat": 0,
        "method": method,
        "baseline": "libsvm",
        "solver": solver,
        "reducer": reducer,
        "solver_params": {"C": C, "gamma": 0.5, "threads": 1},
        "reducer_params": {"gamma": 0.5} if reducer else {},
        "point": {"C": C, "gamma": 0.5},
        "reduction": None,
        "seconds": {"solve": solve, "reduce": 0.0, "predict": 0.25},
        "sizes": {"train_rows": 1000, "kept_rows": 1000, "vectors": 10},
        "scores": {"accuracy": 0.9, "auc": None, "mse": None},
        "counters": {},
    }
    return changed(record, changes)


def changed(record, changes):
    for name, value in changes.items():
        section = next((s for s in ("seconds", "sizes", "scores") if name in record[s]), None)
        (record[section] if section else record)[name] = value
    return record


def failed(record, status="timeout"):
    return record | {"status": status, "seconds": {}, "sizes": {}, "scores": None}


def reduction(id_, fold=0, seconds=1.0, **changes):
    record = fit("AESVM", fold) | {"kind": "reduction", "id": id_, "point": {"gamma": 0.5}, "scores": {}, "sizes": {}}
    return record | {"seconds": {"reduce": seconds}} | changes


def grid(method, rows, **changes):
    """Fits at (fold 0, C 1), (fold 1, C 1), (fold 0, C 2), (fold 1, C 2): seconds, vectors, accuracy, kept rows."""
    places = [(0, 1), (1, 1), (0, 2), (1, 2)]
    facts = ("solve", "vectors", "accuracy", "kept_rows")
    return [
        fit(method, fold, C, **dict(zip(facts, row, strict=False)), **changes)
        for (fold, C), row in zip(places, rows, strict=True)
    ]


def libsvm():
    return grid("libsvm", [(8, 100, 0.90), (6, 120, 0.92), (10, 80, 0.94), (12, 100, 0.92)])


def aesvm():
    """Both C of a fold share its reduction."""
    fits = grid("AESVM", [(2, 50, 0.90, 200), (3, 40, 0.96, 300), (4, 40, 0.92, 200), (2, 25, 0.90, 300)])
    for record in fits:
        record["reduction"] = f"reduction {record['fold']}"
    return [reduction("reduction 0", 0, 1.0), reduction("reduction 1", 1, 2.0), *fits]


def summarise(records):
    return metrics.summarise(collect(map(Record.from_json, records)))


def row_of(method, records):
    return next(row for row in summarise(records) if row["method"] == method)


def test_the_seven_figures_of_the_paper():
    row = row_of("AESVM", libsvm() + aesvm())
    assert row["ets"] == pytest.approx((8 / 2 + 6 / 3 + 10 / 4 + 12 / 2) / 4)
    assert row["ots"] == pytest.approx((8 + 6 + 10 + 12) / (2 + 3 + 4 + 2 + 1 + 2))  # each reduction once
    assert row["ecs"] == pytest.approx((100 / 50 + 120 / 40 + 80 / 40 + 100 / 25) / 4)
    assert row["cts"] == pytest.approx((80 + 100) / (50 + 40))  # LIBSVM is best at C = 2, AESVM at C = 1
    assert row["rmse"] == pytest.approx(math.sqrt((0 + 0.04**2 + 0.02**2 + 0.02**2) / 4))
    assert row["max_accuracy"] == pytest.approx((0.90 + 0.96) / 2)
    assert row["mean_accuracy"] == pytest.approx(0.92)
    assert row["std_accuracy"] == pytest.approx(0.01)  # fold means 0.93 and 0.91
    assert (row["cells"], row["done"], row["pairs"], row["failed"]) == (4, 4, 4, {})
    assert row["counted"]["ets"] == row["counted"]["ots"] == row["counted"]["rmse"] == 4
    assert row["counted"]["cts"] == row["counted"]["max_accuracy"] == 2


def test_times_and_sizes():
    row = row_of("AESVM", libsvm() + aesvm())
    assert (row["train_seconds"], row["reduce_seconds"], row["predict_seconds"]) == (11, 3, 1)
    assert row["counted"]["reduce_seconds"] == 2
    assert row["kept_percent"] == pytest.approx(25)
    assert row["vectors"] == pytest.approx((50 + 40 + 40 + 25) / 4)


def test_the_baseline_against_itself():
    row = row_of("libsvm", libsvm() + aesvm())
    assert (row["ets"], row["ots"], row["ecs"], row["cts"], row["rmse"]) == (1, 1, 1, 1, 0)
    assert (row["reduce_seconds"], row["kept_percent"]) == (0, 100)
    assert (row["ets_same_engine"], row["random_sample_accuracy"]) == (None, None)


def test_same_engine_and_random_sample_stand_beside_the_baseline():
    smo = grid("smo", [(4, 100, 0.90), (3, 120, 0.92), (8, 80, 0.94), (4, 100, 0.92)])
    sample = grid("random", [(1, 9, 0.80, 250), (1, 9, 0.82, 250), (1, 9, 0.84, 250), (1, 9, 0.86, 250)])
    row = row_of("AESVM", libsvm() + aesvm() + smo + sample)
    assert (row["same_engine"], row["random_sample"]) == ("smo", "random")
    assert row["ets_same_engine"] == pytest.approx((4 / 2 + 3 / 3 + 8 / 4 + 4 / 2) / 4)
    assert row["ots_same_engine"] == pytest.approx(19 / (11 + 3))
    assert row["ets"] == pytest.approx(3.625)
    assert row["random_sample_accuracy"] == pytest.approx(0.83)
    control = row_of("random", libsvm() + aesvm() + smo + sample)
    assert (control["ets_same_engine"], control["random_sample"]) == (pytest.approx(19 / 4), None)


def test_an_engine_with_other_parameters_is_another_engine():
    smo = grid("smo", [(4, 1)] * 4, solver_params={"C": 1, "gamma": 0.5, "tol": 0.1})
    row = row_of("AESVM", libsvm() + aesvm() + smo)
    assert (row["same_engine"], row["ets_same_engine"]) == (None, None)
    assert row["counted"]["ets_same_engine"] == 0


def test_of_several_random_samples_the_one_of_nearest_size_is_the_control():
    samples = []
    for kept, accuracy in ((50, 0.7), (600, 0.9), (260, 0.8)):
        samples += grid(f"random {kept}", [(1, 9, accuracy, kept)] * 4, reducer="random")
    row = row_of("AESVM", libsvm() + aesvm() + samples)
    assert (row["random_sample"], row["random_sample_accuracy"]) == ("random 260", pytest.approx(0.8))
    row = row_of("AESVM", libsvm() + aesvm() + samples[:8])  # a much smaller or larger one proves nothing
    assert (row["random_sample"], row["random_sample_accuracy"]) == (None, None)


def test_a_timeout_of_the_baseline_leaves_the_pair_out_and_is_told():
    base = libsvm()
    base[3] = failed(base[3])
    row = row_of("AESVM", base + aesvm())
    assert (row["cells"], row["done"], row["pairs"], row["failed"]) == (4, 4, 3, {})
    assert row["baseline_failed"] == {"timeout": 1}
    assert row["ets"] == pytest.approx((8 / 2 + 6 / 3 + 10 / 4) / 3)
    assert row["ots"] == pytest.approx(24 / (9 + 3))  # fold 1 is still there with C = 1, and so is its reduction
    assert row["rmse"] == pytest.approx(math.sqrt((0.04**2 + 0.02**2) / 3))
    assert row["cts"] == pytest.approx((100 + 120) / (50 + 40))  # C = 2 lacks a fold of LIBSVM now
    assert row["mean_accuracy"] == pytest.approx(0.92)  # needs no partner
    own = row_of("libsvm", base + aesvm())
    assert (own["cells"], own["done"], own["failed"]) == (4, 3, {"timeout": 1})
    assert own["max_accuracy"] == pytest.approx(0.91)  # the one fold of C = 2 had 0.94


def test_failures_are_counted_by_kind_and_only_used_reductions_count():
    own = aesvm()
    own[3], own[5] = failed(own[3]), failed(own[5], "memory")  # both C of fold 1
    row = row_of("AESVM", libsvm() + own)
    assert (row["cells"], row["done"], row["pairs"]) == (4, 2, 2)
    assert row["failed"] == {"memory": 1, "timeout": 1}
    assert row["ots"] == pytest.approx((8 + 10) / (2 + 4 + 1))
    assert row["cts"] is None and row["counted"]["cts"] == 0  # no point with all folds is left


def test_a_method_without_a_fold():
    own = [record for record in aesvm() if record["fold"] == 0]
    row = row_of("AESVM", libsvm() + own)
    assert (row["cells"], row["done"], row["pairs"], row["failed"]) == (4, 2, 2, {"missing": 2})
    assert row["ets"] == pytest.approx((8 / 2 + 10 / 4) / 2)
    assert row["ots"] == pytest.approx(18 / (6 + 1))
    assert (row["max_accuracy"], row["counted"]["max_accuracy"]) == (0.92, 1)
    assert row["mean_accuracy"] == pytest.approx(0.91)
    assert row["std_accuracy"] == pytest.approx(0.01)
    assert row["cts"] is None


def test_the_deviation_is_about_the_mean_of_all_cells_when_folds_are_unequal():
    row = row_of("AESVM", libsvm() + aesvm()[:-1])  # without fold 1 at C = 2
    centre = (0.90 + 0.96 + 0.92) / 3
    assert row["mean_accuracy"] == pytest.approx(centre)
    assert row["std_accuracy"] == pytest.approx(math.sqrt(((0.93 - centre) ** 2 + (0.92 - centre) ** 2) / 2))


def test_everything_failed():
    row = row_of("AESVM", libsvm() + [failed(record, "crash") for record in aesvm()])
    assert (row["cells"], row["done"], row["pairs"], row["failed"]) == (4, 0, 0, {"crash": 4})
    assert [key for key in METRICS if row[key] is not None] == []
    assert not any(row["counted"].values())


def test_repeats_make_one_cell():
    repeats = [
        fit("AESVM", repeat=r, solve=solve, accuracy=accuracy, reduction=f"r{r}")
        for r, (solve, accuracy) in enumerate([(1.0, 0.90), (2.0, 0.92), (9.0, 0.94)])
    ]
    reductions = [reduction(f"r{r}", seconds=seconds, repeat=r) for r, seconds in enumerate((5.0, 0.5, 1.0))]
    base = [fit("libsvm", repeat=r, solve=solve) for r, solve in enumerate((7.0, 8.0, 6.0))]
    row = row_of("AESVM", base + reductions + repeats)
    assert (row["cells"], row["pairs"]) == (1, 1)
    assert row["ets"] == pytest.approx(7 / 2)
    assert row["ots"] == pytest.approx(7 / (2 + 1))  # the median reduction, once
    assert row["mean_accuracy"] == pytest.approx(0.92)
    assert row["std_accuracy"] == 0


def test_a_failed_repeat_is_told_though_its_cell_is_done():
    repeats = [fit("smo", repeat=0, solve=2.0), failed(fit("smo", repeat=1)), fit("smo", repeat=2, solve=4.0)]
    row = row_of("smo", [fit("libsvm", solve=6.0), *repeats])
    assert (row["done"], row["failed"], row["failed_repeats"]) == (1, {}, {"timeout": 1})
    assert row["ets"] == pytest.approx(2)


def test_seeds_count_like_folds():
    records = []
    for seed, base, own in ((0, 4, 1), (1, 8, 4)):
        records += [fit("libsvm", seed=seed, solve=base), fit("smo", seed=seed, solve=own, vectors=5)]
    row = row_of("smo", records)
    assert (row["pairs"], row["ets"], row["cts"]) == (2, pytest.approx((4 + 2) / 2), pytest.approx(2))


def test_a_solver_that_reduces_by_itself_pays_every_time():
    own = [fit("self-reducing", C=C, solve=1.0, reduce=0.5) for C in (1, 2)]
    row = row_of("self-reducing", [fit("libsvm", C=C, solve=6.0) for C in (1, 2)] + own)
    assert (row["ets"], row["ots"], row["reduce_seconds"]) == (6, pytest.approx(12 / 3), 1.0)


def test_a_reduction_without_a_time_leaves_no_overall_speedup():
    row = row_of("AESVM", libsvm() + [record for record in aesvm() if record["id"] != "reduction 1"])
    assert (row["ots"], row["counted"]["ots"], row["reduce_seconds"]) == (None, 0, None)
    assert row["ets"] == pytest.approx(3.625)


def test_a_time_or_a_count_of_zero_has_no_ratio():
    own = grid("smo", [(0.0, 50), (3, 0), (4, 40), (2, 25)])
    row = row_of("smo", libsvm() + own)
    assert (row["ets"], row["counted"]["ets"]) == (pytest.approx((6 / 3 + 10 / 4 + 12 / 2) / 3), 3)
    assert (row["ecs"], row["counted"]["ecs"]) == (pytest.approx((100 / 50 + 80 / 40 + 100 / 25) / 3), 3)
    assert (row["ots"], row["counted"]["ots"], row["pairs"]) == (pytest.approx(36 / 9), 4, 4)


def test_a_cell_without_a_time_is_not_timed():
    row = row_of("smo", libsvm() + grid("smo", [(None, 50), (3, 50), (4, 40), (2, 25)]))
    assert (row["ots"], row["counted"]["ots"], row["pairs"]) == (pytest.approx(28 / 9), 3, 4)
    assert (row["train_seconds"], row["counted"]["train_seconds"]) == (9, 3)


def test_a_model_without_vectors_has_no_classification_speedup():
    row = row_of("smo", libsvm() + grid("smo", [(1, None, 0.9)] * 4))
    assert (row["ecs"], row["cts"], row["vectors"]) == (None, None, None)
    assert row["ets"] == 9


def test_fits_that_stopped_early_count_and_are_told():
    own = grid("smo", [(1, 10, 0.9)] * 4)
    own[0]["status"] = "not_converged"
    row = row_of("smo", libsvm() + own)
    assert (row["done"], row["pairs"], row["failed"], row["not_converged"]) == (4, 4, {}, 1)


def test_equally_accurate_points_give_way_to_the_smallest_parameters():
    own = [fit("smo", C=C, vectors=vectors, accuracy=0.9) for C, vectors in ((16, 1), (2, 5), (8, 1))]
    base = [fit("libsvm", C=C, vectors=10, accuracy=0.9) for C in (2, 8, 16)]
    for _ in range(4):
        random.Random(0).shuffle(own)
        assert row_of("smo", base + own)["cts"] == pytest.approx(10 / 5)


def test_regression():
    def svr(method, mses, solve):
        return [fit(method, 0, C, solve, task="regression", accuracy=None, mse=mse, vectors=C) for C, mse in mses]

    records = svr("libsvm", [(1, 0.30), (2, 0.10)], 4.0) + svr("AESVM", [(1, 0.20), (2, 0.40)], 2.0)
    records += svr("random", [(1, 0.50), (2, 0.70)], 1.0)
    row = row_of("AESVM", records)
    assert (row["mse"], row["best_mse"], row["random_sample_mse"]) == tuple(map(pytest.approx, (0.30, 0.20, 0.60)))
    assert (row["rmse"], row["max_accuracy"], row["mean_accuracy"], row["std_accuracy"]) == (None,) * 4
    assert (row["ets"], row["cts"]) == (2, pytest.approx(2 / 1))  # least error at C = 2 and C = 1


def test_auc_is_over_the_cells_that_have_one():
    own = grid("smo", [(1, 10)] * 4)
    own[0]["scores"]["auc"], own[1]["scores"]["auc"] = 0.8, 0.9
    row = row_of("smo", libsvm() + own)
    assert (row["auc"], row["counted"]["auc"]) == (pytest.approx(0.85), 2)


def test_whole_and_decimal_parameters_are_the_same_point():
    row = row_of("smo", [fit("libsvm", C=1), fit("smo", C=1.0)])
    assert (row["cells"], row["pairs"]) == (1, 1)


def test_another_grid_is_neither_paired_nor_missing():
    linear = [fit("linear", fold, solve=2.0, point={"C": 1}) for fold in (0, 1)]
    row = row_of("linear", libsvm() + linear)
    assert (row["cells"], row["done"], row["failed"], row["pairs"]) == (2, 2, {}, 0)
    assert row["baseline_failed"] == {"missing": 2}
    assert (row["ets"], row["mean_accuracy"], row["cts"]) == (None, 0.9, pytest.approx(180 / 20))


def test_without_a_baseline_there_are_only_own_figures():
    row = row_of("smo", [fit("smo", baseline=None)])
    assert (row["ets"], row["pairs"], row["baseline"], row["baseline_failed"]) == (None, 0, None, {})
    assert row["train_seconds"] == 1


def test_a_baseline_that_one_data_set_lacks():
    rows = summarise([*libsvm(), fit("smo"), fit("smo", dataset="other")])
    assert [(row["dataset"], row["method"], row["pairs"]) for row in rows] == [
        ("toy", "libsvm", 4),
        ("toy", "smo", 1),
        ("other", "smo", 0),
    ]
    assert rows[2]["baseline_failed"] == {"missing": 1}


def test_the_order_of_the_records_does_not_matter():
    records = libsvm() + aesvm() + grid("smo", [(4, 100)] * 4) + grid("random", [(1, 9)] * 4)
    expected = summarise(records)
    for seed in range(5):
        random.Random(seed).shuffle(records)
        assert summarise(records) == expected


def test_no_records_no_rows():
    assert summarise([]) == []


def test_every_metric_is_in_every_row_and_can_be_written():
    row = row_of("AESVM", libsvm() + aesvm())
    assert set(METRICS) <= set(row) and set(row["counted"]) == set(METRICS)
    assert {metric.better for metric in METRICS.values()} == {"higher", "lower"}
    assert METRICS["max_accuracy"].show(0.9312) == "93.12"
    assert METRICS["ets"].show(3.625) == "3.62"
    assert METRICS["auc"].show(None) == "–"
