"""The page results/bench/bootstrap.md from the records of its parts."""

from __future__ import annotations

import numpy as np

from tests.bench.output import machine

_INTRODUCTION = """\
Ten weak SVMs, MSFE; mean ± standard deviation over the runs. Seconds are CPU seconds of one thread for both stages
(cleaning, selection, final training); the speed-ups are those over training on all rows by official LIBSVM and by the
same engine. *Random* is the same solver on a random sample of equal size, drawn class by class: the control that a
reduction must beat. The paper states neither C nor kernel widths; these are good ones of LIBSVM on all rows. It mixed
two kernels and does not say which; rbf with linear, and each alone, are shown. A share of
100 % keeps all rows that cleaning leaves, and is not in the paper.
"""
_HEAD = [
    "| entropy | printed kept | printed accuracy | kept | accuracy | AUC | random: accuracy | random: AUC | total, s "
    "| over LIBSVM | over the same engine |",
    "| ---: |" + " ---: |" * 10,
]


def text(records: dict) -> str:
    cases = [*(records.get("table3") or ()), *([records["kdd99"]] if records.get("kdd99") else ())]
    lines = ["# Bootstrap cleaning", "", machine(), "", _verdict(cases), ""]
    if records.get("table3"):
        lines += ["## Beside Table 3, at the printed gelling points", "", _INTRODUCTION]
        for case in records["table3"]:
            lines += _case(case)
    if records.get("kdd99"):
        lines += _kdd99(records["kdd99"])
    return "\n".join(lines + _workers(records.get("workers"))) + "\n"


def _verdict(cases) -> str:
    """In how many rows with a printed counterpart cleaning does what the paper says."""
    better = near = rows = 0
    for case in cases:
        printed = {row["entropy_percent"]: row for row in case["printed"] if "entropy_percent" in row}
        for record in case["engines"].values():
            for number, first in enumerate(record["runs"][0]["rows"]):
                percent = round(100 * first["share"])
                pairs = [run["rows"][number] for run in record["runs"] if "own" in run["rows"][number]]
                if percent in printed and pairs:
                    own, control = (np.mean([row[which]["accuracy"] for row in pairs]) for which in ("own", "random"))
                    rows, better = rows + 1, better + (own > control)
                    near += own > printed[percent]["accuracy_mean"] - 0.02
    return (
        f"Of {rows} rows below that have a printed counterpart, {near} come within 0.02 of the printed accuracy or "
        f"above it, and {better} are more accurate than a random sample of equal size."
    )


def _case(case) -> list[str]:
    width = f", gamma = {case['gamma']:g}" if case["kernel"] != "linear" else ""
    right, *_, wrong = by_errors = case["support_by_errors"]
    lines = [
        f"### {case['name']}, {case['kernel']} kernel{width}, C = {case['C']:g}, P = {case['percent']} %",
        "",
        f"Gelling point printed: {case['percent']} %; found here, by the default slope: "
        f"{100 * case['gelling_point']:g} % ({case['curve']}).",
        "",
        f"Support vectors of the SVM on all rows that cleaning removes: {100 * (right + wrong) / sum(by_errors):.0f} % "
        f"({right} right by all weak SVMs and {wrong} wrong by all, of {sum(by_errors)}); the paper says about 5 %.",
        "",
    ]
    missed = next(row for row in case["printed"] if "n_misclassified_mean" in row)
    for engine, record in case["engines"].items():
        whole, runs = record["whole"], record["runs"]
        found = [sum(run["facts"]["rows_by_errors"][1:]) for run in runs]
        lines += [
            f"{engine} for the weak SVMs and the final one, {len(runs)} runs. {_on_all_rows(whole)} Cleaning takes "
            f"{_spread([run['cleaning'] for run in runs], 2)} s. Rows misclassified at least once: {_spread(found, 0)} "
            f"(printed {missed['n_misclassified_mean']} ± {missed['n_misclassified_std']}). {_rare(runs)}",
            "",
            *_rows(case, record),
            "",
        ]
    return lines


def _kdd99(case) -> list[str]:
    lines = [
        "## KDD99, distinct rows of the 10 % sample, end to end",
        "",
        f"{case['rows']} rows, {case['features']} features, {case['test_rows']} distinct test rows of the competition; "
        f"rbf kernel, gamma = {case['gamma']:g}, C = {case['C']:g}, P = {case['percent']} %, one thread, one run. "
        "Printed figures are for all 4,898,431 rows.",
        "",
    ]
    for engine, record in case["engines"].items():
        run = record["runs"][0]
        stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in run["facts"]["seconds"].items())
        lines += [
            f"{engine} for the weak SVMs and the final one. {_on_all_rows(record['whole'])} Cleaning takes "
            f"{run['cleaning']:.2f} s; wall time of its stages, with other work on the machine: {stages}. Rows by the "
            f"number of weak SVMs that misclassify them: {', '.join(map(str, run['facts']['rows_by_errors']))}. "
            f"{_rare([run])}",
            "",
            *_rows(case, record),
            "",
        ]
    return lines


def _on_all_rows(whole) -> str:
    return (
        f"On all rows: accuracy {whole['accuracy']:.4f}, AUC {whole['auc']:.4f}, {whole['seconds']:.1f} s, "
        f"{whole['vectors']} support vectors."
    )


def _rare(runs) -> str:
    """Who the kept rows are, at the largest printed share."""
    rare = np.mean([row["rare"] for run in runs for row in run["rows"] if row["share"] == 0.6])
    return (
        f"The rarer class has {100 * runs[0]['rare']:.1f} % of all rows and {100 * rare:.0f} % of those that hold 60 % "
        "of the entropy."
    )


def _rows(case, record) -> list[str]:
    printed = {row["entropy_percent"]: row for row in case["printed"] if "entropy_percent" in row}
    libsvm = case["engines"].get("libsvm")  # which knows no average kernel
    whole = [libsvm["whole"]["seconds"] if libsvm else None, record["whole"]["seconds"]]
    count = range(len(record["runs"][0]["rows"]))
    return [*_HEAD, *(_row(record["runs"], number, printed, whole) for number in count)]


def _row(runs, number, printed, whole) -> str:
    rows = [run["rows"][number] for run in runs]
    percent = round(100 * rows[0]["share"])
    cells = [f"{percent} %", "", ""]
    if percent in printed:
        paper = printed[percent]
        cells[1:] = [
            f"{paper['n_extracted_mean']} ± {paper['n_extracted_std']}",
            f"{paper['accuracy_mean']:.3f} ± {paper['accuracy_std']:.3f}",
        ]
    cells.append(_spread([row["kept"] for row in rows], 0))
    done = [(run, row) for run, row in zip(runs, rows, strict=True) if "own" in row]
    for which in ("own", "random"):
        for score in ("accuracy", "auc"):
            cells.append(_spread([row[which][score] for _, row in done], 3))
    total = [run["cleaning"] + row["selecting"] + row["own"]["seconds"] for run, row in done]
    cells += [_spread(total, 2), *(f"{seconds / np.mean(total):.1f}" if total and seconds else "" for seconds in whole)]
    if len(done) < len(rows):
        cells[4] += f" ({len(rows) - len(done)} of {len(rows)} runs kept one class only)"
    return f"| {' | '.join(cells)} |"


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
