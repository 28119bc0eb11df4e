"""A run in a few sentences, made from its numbers: what was compared, what was gained at what loss, what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from svmreduce.experiments.metrics import summarise
from svmreduce.experiments.store import Records
from svmreduce.reports.cells import natural_key
from svmreduce.reports.environment import environment_facts
from svmreduce.reports.judging import CONTRADICTED, NOT_COMPARABLE, REPRODUCED, SAME_DIRECTION
from svmreduce.reports.papers import Beside
from svmreduce.reports.series import CONTROL

NO_LOSS = 0.01  # accuracy at the best point this much below the baseline's still counts as level
_MOST = 6  # data sets that get a sentence of their own
_BUSY = 1.5  # load average beyond which times are worth a warning


def sentences(records: Records, paper: Beside | None = None) -> list[str]:
    """The summary, most important first."""
    rows = summarise(records.records)
    found = [_compared(records, rows), *_gains(rows)]
    if paper:
        found += _verdicts(paper)
    found.append(_failures(records))
    load = max((host["load_max"] or 0.0 for host in environment_facts(records)["hosts"].values()), default=0.0)
    if load > _BUSY:
        found.append(
            f"The machine was busy (load up to {load:.1f}): seconds and their ratios are noisy, counts are not."
        )
    return found


def _compared(records: Records, rows: list[dict]) -> str:
    methods = dict.fromkeys(row["method"] for row in rows if not row["method"].endswith(CONTROL))
    controls = sum(row["method"].endswith(CONTROL) for row in rows) > 0
    datasets = sorted({row["dataset"] for row in rows}, key=natural_key)
    fits = [record for record in records.records if record["kind"] == "fit"]
    points = len({str(sorted((record["point"] or {}).items())) for record in fits})
    splits = len({(record["fold"], record["seed"], record["repeat"]) for record in fits})
    text = f"{_count(len(methods), 'method')} ({_listed(methods)}) on {_count(len(datasets), 'data set')}"
    text += f" ({_listed(datasets)}), {_count(points, 'grid point')}"
    text += f", {_count(splits, 'fold, seed or repeat', 'folds, seeds and repeats')}" if splits > 1 else ""
    text += ", and beside each reduction a random sample of equal size" if controls else ""
    return f"{text}: {_count(len(fits), 'fit')}."


def _gains(rows: list[dict]) -> list[str]:
    """For each data set the method with the largest overall speed-up at no loss, else the largest at its loss."""
    found = []
    for dataset in sorted({row["dataset"] for row in rows}, key=natural_key):
        own = [row for row in rows if row["dataset"] == dataset and row["ots"] is not None]
        others = [row for row in own if row["method"] != row["baseline"] and not row["method"].endswith(CONTROL)]
        base = next((row for row in own if row["method"] == row["baseline"]), None)
        if base is None or not others:
            continue
        level = [row for row in others if _is_level(row, base)]
        found.append(_gain(max(level or others, key=lambda row: row["ots"]), base, bool(level)))
    if len(found) > _MOST:
        found[_MOST:] = [f"{len(found) - _MOST} more data sets are in the table."]
    return found


def _is_level(row: dict, base: dict) -> bool:
    if row["task"] == "regression":
        return None not in (row["best_mse"], base["best_mse"]) and row["best_mse"] <= (1 + NO_LOSS) * base["best_mse"]
    scores = row["max_accuracy"], base["max_accuracy"]
    return None not in scores and scores[0] >= scores[1] - NO_LOSS


def _gain(row: dict, base: dict, is_level: bool) -> str:
    text = f"{row['dataset']}: {row['method']} trains {_times(row['ots'])} {base['method']}"
    if row["reduce_seconds"]:
        text += f" with its reduction ({_times(row['ets'])} without)"
    if row["ots_same_engine"]:
        text += f", {_times(row['ots_same_engine'])} the same engine on all rows"
    text += f"; {_score(row)} against {_score(base)}"
    if row["random_sample_accuracy"] is not None:
        text += f", mean {100 * row['mean_accuracy']:.1f} % against {100 * row['random_sample_accuracy']:.1f} %"
        text += " on a random sample of equal size"
    return text + ("." if is_level else ". No faster method came within a point of the baseline's best accuracy.")


def _score(row: dict) -> str:
    if row["task"] == "regression":
        return "no MSE" if row["best_mse"] is None else f"best MSE {row['best_mse']:.3g}"
    return "no accuracy" if row["max_accuracy"] is None else f"best accuracy {100 * row['max_accuracy']:.1f} %"


def _times(ratio: float | None) -> str:
    if ratio is None:
        return "in unknown time compared with"
    if 0.95 <= ratio <= 1.05:
        return "as fast as"
    return f"{ratio:.3g} times as fast as" if ratio > 1 else f"{1 / ratio:.3g} times slower than"


def _verdicts(paper: Beside) -> list[str]:
    counts = paper.counts
    judged = sum(counts.get(verdict, 0) for verdict in (REPRODUCED, SAME_DIRECTION, CONTRADICTED))
    total = sum(cell.printed is not None for row in paper.rows for cell in row.cells.values())
    words = ", ".join(f"{counts.get(verdict, 0)} {verdict}" for verdict in (REPRODUCED, SAME_DIRECTION, CONTRADICTED))
    text = f"{paper.printed.title}: {judged} of {total} printed numbers can be judged: {words}"
    if counts.get(NOT_COMPARABLE):
        text += f"; {counts[NOT_COMPARABLE]} measured, but not comparable"
    against = [
        f"{figure.title} of {' '.join(str(value) for value in row.names.values() if value is not None)}"
        for row in paper.rows
        for figure in paper.figures
        if row.cells[figure.field].verdict == CONTRADICTED
    ]
    return [text + ".", *([f"Contradicted: {_listed(against)}."] if against else [])]


def _failures(records: Records) -> str:
    failed = [record for record in records.records if record["status"] not in ("ok", "not_converged")]
    early = sum(record["status"] == "not_converged" for record in records.records)
    late = f" {_count(early, 'fit')} stopped before reaching the tolerance." if early else ""
    if not failed:
        return f"Nothing failed.{late}"
    kinds = ", ".join(f"{count} {status}" for status, count in Counter(r["status"] for r in failed).most_common())
    who = Counter(f"{record['method']} on {record['dataset']}" for record in failed)
    return f"{len(failed)} of {len(records.records)} records have no result ({kinds}): {_listed(who)}.{late}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _listed(names: Iterable[str], most: int = 6) -> str:
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
