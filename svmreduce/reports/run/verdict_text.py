"""The verdicts of a run as text: over all data sets, then data set by data set."""

from __future__ import annotations

from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import RANDOM, Record
from svmreduce.experiments.standing import Standing
from svmreduce.printable import duration
from svmreduce.reports.run.verdict import FEW, DatasetVerdict, verdicts
from svmreduce.reports.run.wording import outcomes, series, words


def verdict_lines(run: Run) -> list[str]:
    """The verdicts of a run as text: all sentences of a few data sets, the first of each where there are many."""
    found = verdicts(run)
    if not run.fits:
        return kept_lines(run)
    if len(found) == 1:
        return found[0].sentences()
    most = None if len(found) <= FEW else 1
    return overall(found) + [f"{verdict.dataset}: {' '.join(verdict.sentences()[:most])}" for verdict in found]


def kept_lines(run: Run) -> list[str]:
    """What an experiment of reductions only has to say: how much each keeps, and in what time."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in run.reductions:
        if record.is_finished and record.kept_share is not None and record.seconds.get("reduce") is not None:
            groups.setdefault((record.dataset, record.method), []).append(record)
    lines = []
    for (dataset, method), records in sorted(groups.items()):
        low, high = (pick(100 * record.kept_share for record in records) for pick in (min, max))
        kept = f"{low:.3g} %" if f"{low:.3g}" == f"{high:.3g}" else f"{low:.3g} to {high:.3g} %"
        longest = duration(max(record.seconds["reduce"] for record in records))
        rows = f"{run.train_rows[dataset]:,} rows"
        lines.append(f"{dataset}: {method} keeps {kept} of {rows}, in at most {longest}.")
    return ["Reductions only: no model was trained, so nothing is said about accuracy.", *lines] if lines else []


def overall(found: list[DatasetVerdict]) -> list[str]:
    """Over several data sets: how often each method is the choice, and how often reductions beat their controls."""
    if len(found) < 2:
        return []
    chosen: dict[str, list[str]] = {}
    for verdict in found:
        if verdict.recommended:
            chosen.setdefault(_kind(verdict.recommended), []).append(verdict.dataset)
    most_first = sorted(chosen.items(), key=lambda item: -len(item[1]))
    named = {name: series(where) if len(found) <= FEW else f"{len(where)}" for name, where in most_first}
    lines = [f"Over {len(found)} data sets the choice is {series([f'{n} on {w}' for n, w in named.items()], most=6)}."]
    if len(chosen) == 1 and len(most_first[0][1]) == len(found):
        every = "both" if len(found) == 2 else f"all {len(found)}"
        lines = [f"On {every} data sets the choice is {next(iter(chosen))}."]
    lines = lines if chosen else []
    rivals = [one for verdict in found for one in verdict.against_controls]
    methods = dict.fromkeys(one.method for one in rivals)
    if len(methods) > FEW:
        return [*lines, f"{len(methods)} reductions against random samples of their size: {outcomes(rivals)}."]
    for method in methods:
        told = outcomes([one for one in rivals if one.method == method])
        lines.append(f"{method} against a random sample of its size: {told}.")
    return lines


def _kind(one: Standing) -> str:
    return "a random sample" if one.method.reducer == RANDOM else one.label if one.method.reducer else words(one)
