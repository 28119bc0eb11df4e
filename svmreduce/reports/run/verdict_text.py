"""The verdicts of a run as text: over all data sets, then data set by data set."""

from __future__ import annotations

from collections import Counter

from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import RANDOM
from svmreduce.experiments.standing import Standing
from svmreduce.reports.run.verdict import FEW, DatasetVerdict, verdicts
from svmreduce.reports.run.wording import listed, outcomes, words


def verdict_lines(run: Run) -> list[str]:
    """The verdicts of a run as text: all sentences of a few data sets, the first of each where there are many."""
    found = verdicts(run)
    if len(found) == 1:
        return found[0].sentences()
    most = None if len(found) <= FEW else 1
    return overall(found) + [f"{verdict.dataset}: {' '.join(verdict.sentences()[:most])}" for verdict in found]


def overall(found: list[DatasetVerdict]) -> list[str]:
    """Over several data sets: how often each method is the choice, and how often reductions beat their controls."""
    if len(found) < 2:
        return []
    chosen = Counter(_kind(verdict.recommended) for verdict in found if verdict.recommended)
    choices = [f"{name} on {count}" for name, count in chosen.most_common()]
    lines = [f"Over {len(found)} data sets the choice is {listed(choices, most=6)}."] if choices else []
    if len(chosen) == 1 and chosen.total() == len(found):
        every = "both" if len(found) == 2 else f"all {len(found)}"
        lines = [f"On {every} data sets the choice is {next(iter(chosen))}."]
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
