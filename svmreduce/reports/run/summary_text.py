"""About a run in a few sentences: what was compared, what the paper says, what failed."""

from __future__ import annotations

from collections import Counter

from svmreduce.experiments.ordering import natural_key
from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import NOT_CONVERGED
from svmreduce.printable import count_of, listed
from svmreduce.reports.reproduction.paper_comparison import PaperComparison
from svmreduce.reports.reproduction.verdicts import CONTRADICTED, JUDGED, NOT_COMPARABLE
from svmreduce.reports.run.measured_on import environment_facts

_BUSY = 1.5  # load average beyond which times are worth a warning


def sentences(run: Run, paper: PaperComparison | None = None) -> list[str]:
    """The summary, most important first."""
    found = [_compared(run)] if run.fits else [f"{count_of(len(run.reductions), 'reduction')}."]
    if run.missing:
        planned = len(run.records) + run.missing
        found.insert(0, f"Not complete: {run.missing} of {planned} planned records are still to be made.")
    if paper:
        found += _verdicts(paper)
    found.append(_failures(run))
    facts = environment_facts(run)
    if len(facts["limits"]) > 1:
        found.append(f"Records were made under {len(facts['limits'])} different limits: what failed is not alike.")
    load = max((host["load_max"] or 0.0 for host in facts["hosts"].values()), default=0.0)
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
    text = f"{count_of(len(methods), 'method')} ({listed(methods, 4)}) on {count_of(len(datasets), 'data set')}"
    text += f" ({listed(datasets)}), {count_of(points, 'grid point')}"
    text += f", {count_of(splits, 'fold, seed or repeat', 'folds, seeds and repeats')}" if splits > 1 else ""
    text += ", and a random sample of equal size for each reduction" if run.controls else ""
    return f"{text}: {count_of(len(run.fits), 'fit')}."


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
    return [text + ".", *([f"Contradicted: {listed(against)}."] if against else [])]


def _failures(run: Run) -> str:
    failed = [record for record in run.records if not record.is_finished]
    early = sum(record.status == NOT_CONVERGED for record in run.records)
    late = f" {count_of(early, 'fit')} stopped before reaching the tolerance." if early else ""
    if not failed:
        return f"Nothing failed.{late}"
    kinds = ", ".join(
        f"{count} {status}" for status, count in Counter(record.status for record in failed).most_common()
    )
    who = Counter(f"{record.method} on {record.dataset}" for record in failed)
    return f"{len(failed)} of {len(run.records)} records have no result ({kinds}): {listed(who)}.{late}"
