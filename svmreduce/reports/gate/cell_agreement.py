"""Do two runs agree, cell by cell? A difference beyond the limits of the gate is one in either direction."""

from __future__ import annotations

from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import Record
from svmreduce.experiments.tolerances import TIME_RATIO, GateTolerance
from svmreduce.reports.gate.run_comparison import Finding, compare_runs


def agreement(old: Run, new: Run, tolerances: dict[str, GateTolerance] | None = None) -> list[dict]:
    """A row for each record of ``old``: agrees, differs, or missing; in what; and how many numbers were judged."""
    again = {record.identity: record for record in new.records}
    return [_row(record, again.get(record.identity), old, new, tolerances) for record in old.records]


def _row(record: Record, found: Record | None, old: Run, new: Run, tolerances) -> dict:
    names = {"dataset": record.dataset, "method": record.method, "cell": record.cell_text}
    if found is None:
        return names | {"verdict": "missing", "difference": "was not run", "judged": 0}
    result = compare_runs(Run([record], 0, old.path), Run([found], 0, new.path), tolerances)
    findings = [_in_words(finding) for finding in result.findings if finding.metric != TIME_RATIO]
    hashes = [one.environment.get("data_sha256") for one in (record, found)]
    if None not in hashes and hashes[0] != hashes[1]:
        findings.insert(0, "other data (SHA-256)")
    verdict = "differs" if findings else "agrees"
    return names | {"verdict": verdict, "difference": "; ".join(findings), "judged": result.judged}


def _in_words(finding: Finding) -> str:
    values = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in (finding.base, finding.new)]
    allowed = "" if finding.allowed is None else f" (allowed {finding.allowed:.3g})"
    reason = f", {finding.reason}" if finding.reason else ""
    return f"{finding.metric} {values[0]} → {values[1]}{allowed}{reason}"
