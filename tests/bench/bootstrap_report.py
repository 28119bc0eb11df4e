"""The page results/bench/bootstrap.md from the records of its parts."""

from __future__ import annotations

import numpy as np
from scipy import stats

from tests.bench.output import machine

_INTRODUCTION = """\
Ten weak SVMs, MSFE, our SMO engine for the weak and the final SVMs, which have the same C; mean ± standard deviation
over the runs. *Margin* votes: a weak SVM is wrong about a row with y·f < 1, and rows that all get right are dropped.
*Equal classes* keeps as many rows in equal parts of both classes, which is not in the paper. *Sign* votes: a weak SVM
is wrong about a row that it gives another class, and rows that all get wrong are dropped, too. *Gain* is the accuracy
minus that of the same solver on a random sample of equal size, drawn class by class: the mean over the runs, paired
by seed, with its 95 % interval. Seconds are CPU seconds of one thread for margin votes (cleaning, selection, final
training). The paper states neither C nor kernel widths; these are good ones of LIBSVM on all rows.
"""


def text(records: dict) -> str:
    cases = records.get("table3") or ()
    lines = ["# Bootstrap cleaning", "", f"Last run: {machine()}", ""]
    if cases:
        lines += [*_verdict(cases), "", "## Next to Table 3, at the printed gelling points", "", _INTRODUCTION]
        for case in cases:
            lines += _case(case)
    return "\n".join(lines + _workers(records.get("workers"))) + "\n"


def _readings(case) -> list[str]:
    return list(case["runs"][0]["readings"])


def _printed(case) -> dict:
    return {row["entropy_percent"]: row for row in case["printed"] if "entropy_percent" in row}


def _pairs(case, reading, number) -> np.ndarray:
    """Accuracies of the kept rows and of the random sample, a row per run that kept both classes."""
    rows = [(run["readings"][reading][number], run["random"]) for run in case["runs"]]
    found = [[row["own"]["accuracy"], random[str(row["kept"])]["accuracy"]] for row, random in rows if "own" in row]
    return np.array(found).reshape(-1, 2)


def _gain(pairs) -> tuple[float, float]:
    """Mean gain over the random sample, and half of its 95 % interval."""
    gains = pairs[:, 0] - pairs[:, 1]
    half = stats.t.ppf(0.975, len(gains) - 1) * gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.inf
    return gains.mean(), half


def _verdict(cases) -> list[str]:
    lines = [
        "| votes | cells | within 0.02 of the print or above | mean distance to it | better than random | worse |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for reading in _readings(cases[0]):
        near, distances, better, worse = 0, [], 0, 0
        for case in cases:
            printed = _printed(case)
            for number, row in enumerate(case["runs"][0]["readings"][reading]):
                pairs = _pairs(case, reading, number)
                if (paper := printed.get(round(100 * row["share"]))) is None or not len(pairs):
                    continue
                mean, (gain, half) = pairs[:, 0].mean(), _gain(pairs)
                near += mean > paper["accuracy_mean"] - 0.02
                distances.append(abs(mean - paper["accuracy_mean"]))
                better, worse = better + (gain > half), worse + (gain < -half)
        cells = (len(distances), near, f"{np.mean(distances):.3f}", better, worse)
        lines.append(f"| {reading} | {' | '.join(map(str, cells))} |")
    return [*lines, "", "Better and worse: the 95 % interval of the paired gain lies above, or below, zero."]


def _case(case) -> list[str]:
    width = f", gamma = {case['gamma']:g}" if case["kernel"] != "linear" else ""
    whole = "; ".join(
        f"{engine} {found['seconds']:.1f} s, accuracy {found['accuracy']:.4f}, {found['vectors']} support vectors"
        for engine, found in case["whole"].items()
    )
    lines = [
        f"### {case['name']}, {case['kernel']} kernel{width}, C = {case['C']:g}, P = {case['percent']} %",
        "",
        f"{case['rows']} training rows, {len(case['runs'])} runs. On all rows: {whole}. Gelling point printed "
        f"{case['percent']} %; found here, by the default slope: {100 * case['gelling_point']:g} % ({case['curve']}).",
        "",
        *_counts(case),
        "",
        *_rows(case),
        "",
    ]
    return lines


def _counts(case) -> list[str]:
    """Misclassified rows, and the support vectors that go with them."""
    missed = next((row for row in case["printed"] if "n_misclassified_mean" in row), None)
    printed = f"{missed['n_misclassified_mean']} ± {missed['n_misclassified_std']}" if missed else ""
    lines = [
        "| votes | N_mis printed | wrong per weak SVM | wrong by at least one | support vectors: right by all "
        "| wrong by all | rarer class in all rows | at 60 % |",
        "| --- |" + " ---: |" * 7,
    ]
    for reading in _readings(case):
        votes = reading.partition(",")[0]
        facts, support = [run["votes"][votes] for run in case["runs"]], case["support"][votes]
        rows = [row for run in case["runs"] for row in run["readings"][reading]]
        rare = np.mean([row["rare"] for row in rows if row["share"] == 0.6])
        lines.append(
            f"| {reading} | {printed} | {_spread([run['wrong_per_svm'] for run in facts], 0)} "
            f"| {_spread([sum(run['rows_by_errors'][1:]) for run in facts], 0)} "
            f"| {100 * support[0] / sum(support):.1f} % | {100 * support[-1] / sum(support):.1f} % "
            f"| {100 * case['runs'][0]['rare']:.1f} % | {100 * rare:.0f} % |"
        )
    return lines


def _rows(case) -> list[str]:
    readings = _readings(case)
    names = [f"{reading}: {what}" for reading in readings for what in ("kept", "accuracy", "gain")]
    head = ["entropy", "printed kept", "printed", *names, "total, s", *(f"over {engine}" for engine in case["whole"])]
    lines = [f"| {' | '.join(head)} |", "|" + " ---: |" * len(head)]
    printed = _printed(case)
    for number, first in enumerate(case["runs"][0]["readings"][readings[0]]):
        paper = printed.get(round(100 * first["share"]))
        cells = [f"{100 * first['share']:g} %"]
        cells += [f"{paper['n_extracted_mean']}", f"{paper['accuracy_mean']:.3f}"] if paper else ["", ""]
        for reading in readings:
            rows = [run["readings"][reading][number] for run in case["runs"]]
            pairs = _pairs(case, reading, number)
            cells.append(_spread([row["kept"] for row in rows], 0))
            if not len(pairs):
                cells += ["one class only", ""]
                continue
            gain, half = _gain(pairs)
            cells.append(_spread(pairs[:, 0], 3) + (f" ({len(pairs)} runs)" if len(pairs) < len(rows) else ""))
            cells.append(f"{gain:+.3f} ± {half:.3f}" if np.isfinite(half) else f"{gain:+.3f}")
        cells += _seconds(case, readings[0], number)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _seconds(case, reading, number) -> list[str]:
    runs = [(run["votes"][reading]["cleaning"], run["readings"][reading][number]) for run in case["runs"]]
    total = np.mean([spent + row["selecting"] + row["own"]["seconds"] for spent, row in runs if "own" in row])
    return [f"{total:.2f}", *(f"{found['seconds'] / total:.1f}" for found in case["whole"].values())]


def _spread(values, digits: int) -> str:
    if len(values) < 2:
        return "".join(f"{value:.{digits}f}" for value in values)
    return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"


def _workers(record) -> list[str]:
    lines = ["## Two workers against one", ""]
    if not record:
        return [*lines, "Not measured: `python -m tests.bench bootstrap workers` does it, on two idle cores."]
    lines += [
        f"Cleaning KDD99 (distinct rows), wall seconds, the least of {record['repeats']} repeats, interleaved. "
        f"Control: work that shares nothing gains {record['control']:.2f}.",
        "",
        "| weak SVMs | stage | one thread | two threads | ratio |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for engine, times in record["engines"].items():
        one, two = (times[key] for key in sorted(times, key=int))
        for stage in one:
            cells = f"{one[stage]:.3f} | {two[stage]:.3f} | {one[stage] / two[stage]:.2f}"
            lines.append(f"| {engine} | {stage} | {cells} |")
    return lines
