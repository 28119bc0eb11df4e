"""A run in a few sentences: what was compared, what was gained at what loss, what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from statistics import geometric_mean

from svmreduce.experiments.ordering import natural_key
from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import NOT_CONVERGED
from svmreduce.reports.reproduction.paper_comparison import PaperComparison
from svmreduce.reports.reproduction.verdicts import CONTRADICTED, JUDGED, NOT_COMPARABLE
from svmreduce.reports.run.measured_on import environment_facts

NO_LOSS = 0.01  # accuracy at the best point this much below the baseline's still counts as level
_MOST = 5  # data sets that get a sentence of their own
_BUSY = 1.5  # load average beyond which times are worth a warning


def sentences(run: Run, paper: PaperComparison | None = None) -> list[str]:
    """The summary, most important first."""
    found = [_compared(run), *_gains(run)]
    if run.missing:
        planned = len(run.records) + run.missing
        found.insert(0, f"Not complete: {run.missing} of {planned} planned records are still to be made.")
    if paper:
        found += _verdicts(paper)
    found.append(_failures(run))
    load = max((host["load_max"] or 0.0 for host in environment_facts(run)["hosts"].values()), default=0.0)
    if load > _BUSY:
        found.append(
            f"The machine was busy (load up to {load:.1f}): seconds and their ratios are noisy, counts are not."
        )
    return found


def _compared(run: Run) -> str:
    methods = dict.fromkeys(row["method"] for row in run.summary if row["method"] not in run.controls)
    datasets = sorted(run.methods, key=natural_key)
    points = len({str(sorted(record.point.items())) for record in run.fits})
    splits = len({(record.fold, record.seed, record.repeat) for record in run.fits})
    text = f"{_count(len(methods), 'method')} ({_listed(methods)}) on {_count(len(datasets), 'data set')}"
    text += f" ({_listed(datasets)}), {_count(points, 'grid point')}"
    text += f", {_count(splits, 'fold, seed or repeat', 'folds, seeds and repeats')}" if splits > 1 else ""
    text += ", and a random sample of equal size for each reduction" if run.controls else ""
    return f"{text}: {_count(len(run.fits), 'fit')}."


def _gains(run: Run) -> list[str]:
    """A sentence per data set; where there are many, one per method."""
    by_name = {(row["dataset"], row["method"]): row for row in run.summary}
    pairs = []  # (row, the baseline's row on the same data set)
    for row in run.summary:
        base = by_name.get((row["dataset"], row["baseline"]))
        if base and row is not base and row["ots"] is not None and row["method"] not in run.controls:
            pairs.append((row, base))
    datasets = sorted({row["dataset"] for row, _ in pairs}, key=natural_key)
    if len(datasets) <= _MOST:
        return [text for name in datasets for text in _best_of([pair for pair in pairs if pair[0]["dataset"] == name])]
    methods = sorted({row["method"] for row, _ in pairs}, key=natural_key)
    return [_over_all([pair for pair in pairs if pair[0]["method"] == name]) for name in methods]


def _best_of(pairs: list[tuple[dict, dict]]) -> list[str]:
    """The quickest method that is level with the baseline, else the quickest; and the same among the reductions."""
    found = []
    for some in (pairs, [pair for pair in pairs if pair[0]["ots_same_engine"]]):
        level = [pair for pair in some if _is_level(*pair)]
        best = max(level or some, key=lambda pair: pair[0]["ots"], default=None)
        if best:
            found.append(_gain(*best, is_level=bool(level)))
    return list(dict.fromkeys(found))


def _over_all(pairs: list[tuple[dict, dict]]) -> str:
    """A method over its data sets."""
    own, same = ([row[key] for row, _ in pairs if row[key]] for key in ("ots", "ots_same_engine"))
    text = f"{pairs[0][0]['method']} trains {_range(own)} times as fast as {pairs[0][1]['method']}"
    text += f" over {_count(len(pairs), 'data set')} (geometric mean {geometric_mean(own):.3g})"
    text += f", {_range(same)} times as fast as the same engine on all rows" if same else ""
    level = sum(_is_level(*pair) for pair in pairs)
    return f"{text}; its best score is level with the baseline's on {level} of them."


def _range(values: list[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.3g} to {high:.3g}" if f"{low:.3g}" != f"{high:.3g}" else f"{low:.3g}"


def _is_level(row: dict, base: dict) -> bool:
    if row["task"] == "regression":
        return None not in (row["best_mse"], base["best_mse"]) and row["best_mse"] <= (1 + NO_LOSS) * base["best_mse"]
    scores = row["max_accuracy"], base["max_accuracy"]
    return None not in scores and scores[0] >= scores[1] - NO_LOSS


def _gain(row: dict, base: dict, is_level: bool) -> str:
    text = f"{row['dataset']}: {row['method']} trains {_times(row['ots'], base['method'])}"
    if row["reduce_seconds"] and row["ets"]:
        text += f" with its reduction ({_times(row['ets'])} without)"
    if row["ots_same_engine"]:
        text += f", {_times(row['ots_same_engine'], 'the same engine on all rows')}"
    name, score = _score(row)
    text += f"; best {name} {score} against {_score(base)[1]}"
    if row["random_sample_accuracy"] is not None:
        text += f", mean {100 * row['mean_accuracy']:.1f} % against {100 * row['random_sample_accuracy']:.1f} %"
        text += " on a random sample of equal size"
    return text + ("." if is_level else ". Its best is not level with the baseline's.")


def _score(row: dict) -> tuple[str, str]:
    if row["task"] == "regression":
        return "MSE", "unknown" if row["best_mse"] is None else f"{row['best_mse']:.3g}"
    return "accuracy", "unknown" if row["max_accuracy"] is None else f"{100 * row['max_accuracy']:.1f} %"


def _times(ratio: float, other: str = "") -> str:
    """``2 times as fast as libsvm``, ``3 times slower than libsvm``; without the other, ``2 times as fast``."""
    if ratio < 0.95:
        return f"{1 / ratio:.3g} times slower" + (f" than {other}" if other else "")
    return ("" if ratio <= 1.05 else f"{ratio:.3g} times ") + "as fast" + (f" as {other}" if other else "")


def _verdicts(paper: PaperComparison) -> list[str]:
    counts = paper.counts
    judged = sum(counts.get(verdict, 0) for verdict in JUDGED)
    total = sum(cell.printed is not None for row in paper.rows for cell in row.cells.values())
    words = ", ".join(f"{counts.get(verdict, 0)} {verdict}" for verdict in JUDGED)
    text = f"{paper.printed.title}: {judged} of {total} printed numbers can be judged: {words}"
    if counts.get(NOT_COMPARABLE):
        text += f"; {counts[NOT_COMPARABLE]} measured, but not comparable"
    against = [
        f"{column.title} of {' '.join(str(value) for value in row.names.values() if value is not None)}"
        for row in paper.rows
        for column in paper.columns
        if row.cells[column.field].verdict == CONTRADICTED
    ]
    return [text + ".", *([f"Contradicted: {_listed(against)}."] if against else [])]


def _failures(run: Run) -> str:
    failed = [record for record in run.records if not record.is_finished]
    early = sum(record.status == NOT_CONVERGED for record in run.records)
    late = f" {_count(early, 'fit')} stopped before reaching the tolerance." if early else ""
    if not failed:
        return f"Nothing failed.{late}"
    kinds = ", ".join(
        f"{count} {status}" for status, count in Counter(record.status for record in failed).most_common()
    )
    who = Counter(f"{record.method} on {record.dataset}" for record in failed)
    return f"{len(failed)} of {len(run.records)} records have no result ({kinds}): {_listed(who)}.{late}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _listed(names: Iterable[str], most: int = 6) -> str:
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
