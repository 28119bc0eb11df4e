"""Figures show the numbers of the records, readable for all eyes, and only where there is something to show."""

import re
from importlib.resources import files
from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from svmreduce.cli.main import cli
from svmreduce.experiments.records import control_label
from svmreduce.printable import duration
from svmreduce.reports import drawing
from svmreduce.reports.inline_svg import inline
from svmreduce.reports.reproduction.paper_comparison import compare_with_paper
from svmreduce.reports.run import curves
from svmreduce.reports.run.plots import drawings, write
from tests.reports.made_up import as_run, failed, record, run
from tests.reports.made_up import write as write_run

PANEL = ["accuracy and time", "accuracy and vectors", "front"]


def of_kind(made, kind, dataset=None):
    (found,) = [one for one in made if one.kind == kind and dataset in (None, one.dataset)]
    return found.figure


def texts(figure):
    """Every text that is written, titles and ticks included."""
    figure.draw_without_rendering()
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_visible() and text.get_text()]


def marks(figure):
    """Where the marks are."""
    lines = [line for axes in figure.axes for line in axes.lines if line.get_marker() not in ("None", "", None, "|")]
    points = [point for line in lines for point in zip(line.get_xdata(), line.get_ydata(), strict=True)]
    return {(round(float(x), 6), round(float(y), 6)) for x, y in points}


# What is drawn


def test_each_data_set_has_its_figures():
    made = drawings(as_run(run()))
    assert [(one.kind, one.dataset) for one in made] == [
        ("speed-up", ""),
        ("best accuracy", "all data sets"),
        *((kind, dataset) for dataset in ("board", "toy") for kind in PANEL),
    ]
    assert len({one.name for one in made}) == len(made)


def test_nothing_to_show_is_no_figure():
    assert drawings(as_run([failed(method=name) for name in ("libsvm", "smo")])) == []
    assert drawings(as_run([record(), failed(method="slow")])) == []  # one method alone


def test_a_scatter_has_each_method_at_its_best_point():
    records = run()
    records[1]["scores"]["accuracy"] = 0.96  # libsvm on toy at C = 1
    found = marks(of_kind(drawings(as_run(records)), "accuracy and time", "toy"))
    assert (2.0, 96.0) in found
    assert (1.5, 94.0) in found  # half a second of reduction, one of training
    assert (80.0, 94.0) in marks(of_kind(drawings(as_run(records)), "accuracy and vectors", "toy"))


def test_the_front_is_drawn_through_its_points():
    records = [record(method="libsvm", solve=1.0, accuracy=0.94), record(method="smo", solve=3.0, accuracy=0.95)]
    records.append(record(method="bad", solve=4.0, accuracy=0.8))
    figure = of_kind(drawings(as_run(records)), "front")
    (line,) = [line for line in figure.axes[0].lines if line.get_drawstyle() == "steps-post"]
    assert [*zip(line.get_xdata(), line.get_ydata(), strict=True)] == [
        (pytest.approx(1.0), pytest.approx(94.0)),
        (pytest.approx(3.0), pytest.approx(95.0)),
    ]
    assert {"libsvm", "smo"} <= set(texts(figure)) and "bad" not in texts(figure)


def test_growth_has_the_power_of_the_rows():
    records = [
        record(f"board:{rows}", method, train_rows=rows, solve=scale * rows**power, point={})
        for rows in (1000, 2000, 4000)
        for method, scale, power in (("libsvm", 1e-6, 1.8), ("smo", 1e-5, 1.0))
    ]
    (sweep,) = curves.growing(as_run(records))
    assert {curve.label: curves.slope(curve) for curve in sweep.curves} == pytest.approx({"libsvm": 1.8, "smo": 1.0})
    figure = of_kind(drawings(as_run(records)), "growth", "board")
    assert {"libsvm  n¹·⁸", "smo  n¹·⁰"} <= set(texts(figure))
    assert figure.axes[0].get_xscale() == figure.axes[0].get_yscale() == "log"
    families = {name: curves._family(name) for name in ("a1a", "a9a", "w1a", "checkerboard:1000", "ijcnn1")}
    assert families["a1a"] == families["a9a"] != families["w1a"] and families["checkerboard:1000"] == "checkerboard"


def test_a_swept_parameter_makes_a_curve_with_its_control():
    records = [record(method="libsvm", solver="libsvm")]
    for number, epsilon in enumerate((0.001, 0.01, 0.1)):
        for label, reducer in ((f"AESVM{number}", "derive_rs"), (control_label(f"AESVM{number}"), "random")):
            made = record(method=label, reducer=reducer, accuracy=0.9 + 0.01 * number, solve=1.0)
            records.append(made | {"reducer_params": {"epsilon": epsilon} if reducer == "derive_rs" else {}})
    found = {(sweep.parameter, sweep.measure): sweep for sweep in curves.swept(as_run(records))}
    assert set(found) == {("epsilon", "accuracy"), ("epsilon", "training")}
    own, control = found["epsilon", "accuracy"].curves
    assert (own.label, control.label) == ("AESVM", control_label("AESVM"))
    assert own.x == (0.001, 0.01, 0.1) and own.y == pytest.approx((0.90, 0.91, 0.92))
    figure = of_kind(drawings(as_run(records)), "accuracy by epsilon")
    assert {"AESVM", "random, as AESVM", "epsilon", "accuracy (%)"} <= set(texts(figure))


def test_a_grid_of_one_parameter_and_kept_rows_and_histories():
    records = [
        record(method=name, point={"C": C}, solver_params={"C": C}) for name in ("FW", "MFW") for C in (1, 4, 16)
    ]
    for entry in records[:2]:
        entry["counters"]["gap_history"] = [1.0, 0.1, 0.01]
    for g in (0.25, 1, 4):
        made = record(method="AESVM", kind="reduction", point={"gamma": g}, reducer="derive_rs")
        made["sizes"] = {"train_rows": 100, "kept_rows": 10 * (1 + g)}
        records.append(made)
    made = drawings(as_run(records))
    assert {"accuracy by C", "training time by C", "kept rows by gamma", "course of gap history"} <= {
        one.kind for one in made
    }
    assert marks(of_kind(made, "kept rows by gamma")) >= {(0.25, 12.5), (4.0, 50.0)}
    (line,) = of_kind(made, "course of gap history").axes[0].lines
    assert list(line.get_xdata()) == [1, 2, 3] and list(line.get_ydata()) == [1.0, 0.1, 0.01]


def test_regression_shows_squared_errors():
    records = [
        record("curve", method, task="regression", accuracy=None, errors=None, auc=None, mse=mse)
        for method, mse in (("libsvm", 2.5), ("smo", 2.75))
    ]
    figure = of_kind(drawings(as_run(records)), "accuracy and time")
    assert {y for _, y in marks(figure)} == {2.5, 2.75}
    assert "mean squared error" in texts(figure)


def test_speed_ups_stand_against_baseline_and_same_engine():
    records = run() + [record("toy", "smo", solve=3.0, point={"C": C, "gamma": 0.5}) for C in (1.0, 10.0)]
    figure = of_kind(drawings(as_run(records)), "speed-up")
    found = marks(figure)
    assert (4 / 2.5, 1.0) in found and (6 / 2.5, 1.0) in found  # toy, reduced: 4 s and 6 s against 2.5 s
    assert "toy, reduced" in texts(figure)


def test_many_speed_ups_share_the_line_of_their_data_set():
    methods = ("libsvm", "FW", "MFW")
    records = [record(f"d{k}", name, solve=1.0 + number) for k in range(9) for number, name in enumerate(methods)]
    axes = of_kind(drawings(as_run(records)), "speed-up").axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"d{k}" for k in range(9)]
    assert sorted(text.get_text() for text in axes.figure.legends[0].get_texts()) == ["FW", "MFW"]
    assert {(1 / 2, float(k)) for k in range(9)} | {(round(1 / 3, 6), float(k)) for k in range(9)} <= marks(axes.figure)


def test_all_methods_stand_side_by_side_for_all_data_sets():
    methods = {"libsvm": 0.9, "FW": 0.8, "MFW": 0.7}
    records = [record(data, name, accuracy=right) for data in ("a", "b") for name, right in methods.items()]
    records.append(record("b", "FW", accuracy=0.6, point={"C": 10.0, "gamma": 0.5}))
    best = of_kind(drawings(as_run(records)), "best accuracy")
    assert [label.get_text() for label in best.axes[0].get_yticklabels()] == ["a", "b"]
    assert sorted(text.get_text() for text in best.legends[0].get_texts()) == ["FW", "MFW", "libsvm"]
    assert (80.0, 1.0) in marks(best) and (60.0, 1.0) not in marks(best)
    assert "best accuracy" not in {one.kind for one in drawings(as_run(records[:3]))}  # one data set has its own


def test_printed_and_measured_against_each_other():
    records = [
        record("ijcnn1", "AESVM", "reduction", point={"gamma": g}, reducer="derive_rs")
        | {
            "reducer_params": {"epsilon": 0.01, "gamma": g},
            "sizes": {"train_rows": 49990, "kept_rows": rows},
            "id": str(g),
        }
        for g, rows in ((0.0625, 2799), (0.125, 9998))
    ]
    made = drawings(as_run(records), compare_with_paper(as_run(records), "aesvm:table2"))
    found = marks(of_kind(made, "printed kept (%)"))
    assert found >= {(5.6, round(100 * 2799 / 49990, 6)), (10.4, 20.0)}


# How it is drawn


def test_every_method_has_a_look_of_its_own():
    names = [f"method {number}" for number in range(12)]
    looks = drawing.looks(["base", *names, control_label("method 3")], "base")
    assert len({(look.colour, look.marker) for look in looks.values() if not look.is_hollow}) == 13
    assert looks["base"].colour == drawing.INK
    assert looks[control_label("method 3")] == drawing.Look(looks["method 3"].colour, looks["method 3"].marker, True)
    assert looks[control_label("method 3")].marks["markerfacecolor"] == "none"


# Machado, Oliveira and Fernandes 2009: how full protanopes and deuteranopes see linear RGB
_EYES = {
    "all": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def _lightness_and_colour(colours, eye):
    """CIE L*a*b* of hex colours, as an eye sees them."""
    rgb = np.array([matplotlib.colors.to_rgb(colour) for colour in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.array(_EYES[eye]).T, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = linear @ to_xyz.T / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.column_stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])])


def _colours_of_the_page():
    """The light and the dark set: ink, then the series."""
    style = files("svmreduce.reports.run").joinpath("page.css").read_text()
    names = ("ink", *(f"s{number}" for number in range(len(drawing.PALETTE))))
    light, dark = zip(*(re.findall(rf"--{name}: (#\w+);", style)[:2] for name in names), strict=True)
    return light, dark


@pytest.mark.parametrize("eye", _EYES)
def test_the_first_colours_differ_for_all_eyes(eye):
    """Six colours and ink; beyond that the marker alone tells methods apart."""
    for colours in _colours_of_the_page():
        lab = _lightness_and_colour(colours[:7], eye)
        apart = [np.linalg.norm(a - b) for place, a in enumerate(lab) for b in lab[:place]]
        assert min(apart) > 10


def test_page_and_files_have_the_same_light_colours():
    assert _colours_of_the_page()[0] == (drawing.INK, *drawing.PALETTE)


@given(st.lists(st.floats(0, 300), min_size=1, max_size=12).map(sorted))
def test_labels_of_lines_are_pushed_apart(heights):
    placed = drawing._apart(heights, 11.5)
    assert all(b - a >= 11.5 - 1e-6 for a, b in pairwise(placed))
    assert sum(placed) == pytest.approx(sum(heights), abs=1e-6)


def test_labels_of_close_points_do_not_cover_each_other():
    with matplotlib.rc_context(drawing.STYLE):
        figure, axes = drawing.new_figure("crowd")
        points = [(0.5 + 0.004 * number, 0.5 + 0.003 * (number % 2), f"method {number}") for number in range(6)]
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        figure.draw_without_rendering()
        drawing.label_points(axes, points, drawing.boxes(axes, [point[:2] for point in points]))
        renderer = figure.canvas.get_renderer()
        boxes = [drawing._text_box(text, renderer) for text in axes.texts]
    assert len(boxes) == 6
    assert not [1 for place, a in enumerate(boxes) for b in boxes[:place] if drawing._overlap(a, b)]


HOSTILE = ["$x^$ & <b>", "数据集", "a" * 300, "half \ud800 and \x00", "tab\tnew\nline"]


def test_any_name_can_be_drawn(recwarn):
    records = [record(name, method) for name in HOSTILE for method in ("libsvm", f"$\\frac$ {name}")]
    made = drawings(as_run(records))
    assert len(made) == 3 + len(PANEL) * len(HOSTILE) and len({one.name for one in made}) == len(made)
    for one in made:
        assert inline(one.figure, one.name, "figure").startswith("<svg")
    assert not [warning for warning in recwarn if "Glyph" in str(warning.message)]


def test_nothing_is_written_outside_the_figure():
    records = [*run(), *(record("toy", f"a rather long name of a method {number}", solve=0.1) for number in range(3))]
    for one in drawings(as_run(records)):
        one.figure.draw_without_rendering()
        drawn = one.figure.get_tightbbox(one.figure.canvas.get_renderer())  # inches
        assert min(drawn.x0, drawn.y0) > -0.03, one.name
        assert drawn.x1 < one.figure.get_figwidth() + 0.03 and drawn.y1 < one.figure.get_figheight() + 0.03, one.name


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.05, "0.05"), (1000, "1000"), (49990, "50k"), (1_000_000, "1M"), (0.0001, "1e-04"), (12.345, "12.3")],
)
def test_numbers_on_axes_are_short(value, text):
    assert drawing.short(value) == text


def test_seconds_are_read_easily():
    assert [duration(s) for s in (0.0123, 0.5, 61.2, 600, 10_000)] == [
        "12.3 ms",
        "0.5 s",
        "61.2 s",
        "10 min",
        "2.78 h",
    ]


# Files


@pytest.mark.parametrize(("suffix", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_files_by_their_suffix_and_always_the_same(tmp_path, suffix, start):
    records = [record(method=name) for name in ("libsvm", "smo")]
    for folder in ("one", "two"):
        write(drawings(as_run(records)), tmp_path / folder, suffix)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(
        f"{name}.{suffix}" for name in ("speed-up", *(f"{kind.replace(' ', '-')}-toy" for kind in PANEL))
    )
    for name in names:
        content = (tmp_path / "one" / name).read_bytes()
        assert content.startswith(start) and content == (tmp_path / "two" / name).read_bytes()


def test_a_figure_inside_a_page_brings_nothing_with_it():
    (one, *_) = drawings(as_run(run()))
    text = inline(one.figure, "x", "A &amp; B")
    assert text.startswith('<svg role="img" aria-label="A &amp; B" viewBox="0 0 ')
    assert not re.search(r"http|xmlns|<\?xml|<metadata|xlink", text)
    ids, used = set(re.findall(r'\bid="([^"]+)"', text)), set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    assert used and used <= ids and all(name.startswith("x-") for name in ids)
    assert "var(--ink)" in text and not re.search("#1b1f24|#0072b2", text)


def test_the_command_writes_the_figures(tmp_path):
    folder = write_run(tmp_path / "run", [record(method=name) for name in ("libsvm", "smo")])
    done = CliRunner().invoke(cli, ["report", str(folder), "--plots", str(tmp_path / "out")])
    assert (done.exit_code, done.stdout) == (0, f"4 figures in {tmp_path / 'out'}\n")
    assert len(list((tmp_path / "out").glob("*.svg"))) == 4
    done = CliRunner().invoke(cli, ["report", str(folder), "--plots", str(folder / "records.jsonl")])
    assert done.exit_code == 2 and "is a file; give a folder for the figures" in done.stderr
    lone = write_run(tmp_path / "lone", [record()])
    assert "too few results" in CliRunner().invoke(cli, ["report", str(lone), "--plots", str(tmp_path / "no")]).stdout


def test_figures_are_of_the_width_of_a_phone():
    for one in drawings(as_run(run())):
        assert one.figure.get_figwidth() * 72 <= 360 - 2 * 14


def test_numbers_that_people_read_are_not_cut():
    figure, axes = drawing.new_figure("what ε = 0.00125 keeps")
    axes.plot([0.123456, 0.2], [1, 2])
    axes.text(0.15, 1.5, "ε=0.001")
    drawn = inline(figure, "name", "a test")
    assert ">ε=0.001<" in drawn and "ε = 0.00125" in drawn
    inside = "".join(re.findall(r"<[^>]*>", drawn))
    assert not re.search(r"\d\.\d{3}", inside)
