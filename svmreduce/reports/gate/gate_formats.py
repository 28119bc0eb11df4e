"""A comparison as text: for the terminal, as Markdown, and as JUnit XML for CI."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from svmreduce.experiments.ordering import natural_key
from svmreduce.reports.gate.run_comparison import CHANGED, IMPROVED, MISSING, REGRESSION, Finding, RunComparison
from svmreduce.reports.render import Column, Table, exact

_TITLES = {
    REGRESSION: "Worse than allowed",
    MISSING: "Missing in NEW",
    IMPROVED: "Improved by more than the tolerance",
    CHANGED: "Failed in both, in another way",
}
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _value(value) -> str:
    return value if isinstance(value, str) else exact(value)


_COLUMNS = [
    Column("dataset", "dataset", is_text=True, is_key=True),
    Column("method", "method", is_text=True, is_key=True),
    Column("cell", "cell", is_text=True, is_key=True),
    Column("metric", "metric", is_text=True, is_key=True),
    Column("base", "base", _value),
    Column("new", "new", _value),
    Column("change", "change"),
    Column("allowed", "allowed", exact),
    Column("reason", "reason", is_text=True),
]


def summary_line(comparison: RunComparison) -> str:
    """One sentence: the verdict, then what it is based on."""
    head = {0: "Fine", 1: "REGRESSION", 4: "NOT COMPARABLE"}[comparison.exit_code]
    found = {verdict: len(comparison.of(verdict)) for verdict in _TITLES}
    text = (
        f"{head}: {found[REGRESSION]} worse, {found[MISSING]} missing, {found[IMPROVED]} improved"
        f" ({sum(comparison.matched.values())} rows matched, {comparison.judged} numbers judged)"
    )
    if not comparison.judged and not found[REGRESSION]:
        text += "; nothing could be judged"
    return text


def comparison_tables(comparison: RunComparison) -> list[Table]:
    """The summary, then what is worse, missing, improved and changed, as far as there is any."""
    notes = list(comparison.notes)
    if comparison.extra:
        notes.append(f"rows that only NEW has, not judged ({len(comparison.extra)}): {'; '.join(comparison.extra[:5])}")
        notes[-1] += " …" if len(comparison.extra) > 5 else ""
    tables = [Table(summary_line(comparison), [], [], notes)]
    for verdict, title in _TITLES.items():
        findings = comparison.of(verdict)
        if findings:
            tables.append(Table(f"{title}: {len(findings)}", _COLUMNS, [_row(finding) for finding in findings]))
    return tables


def junit(comparison: RunComparison) -> bytes:
    """One test case per data set and method: a regression is a failure, a missing row an error."""
    names = {(finding.dataset, finding.method) for finding in comparison.findings} | set(comparison.matched)
    suite = ElementTree.Element("testsuite", name="svmreduce compare", tests=str(len(names)))
    failed = {"failure": 0, "error": 0}
    for dataset, method in sorted(names, key=lambda name: tuple(map(natural_key, name))):
        case = ElementTree.SubElement(suite, "testcase", classname=_xml(dataset), name=_xml(method))
        for verdict, tag in ((REGRESSION, "failure"), (MISSING, "error")):
            own = [entry for entry in comparison.of(verdict) if (entry.dataset, entry.method) == (dataset, method)]
            if own:
                failed[tag] += 1
                message = f"{_TITLES[verdict]}: {len(own)}"
                ElementTree.SubElement(case, tag, message=message).text = _xml("\n".join(map(_line, own)))
        if not comparison.judged and not len(case):
            failed["error"] += 1
            ElementTree.SubElement(case, "error", message="nothing could be judged")
    suite.attrib.update({"failures": str(failed["failure"]), "errors": str(failed["error"])})
    return ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)


def _row(finding: Finding) -> dict:
    return {**vars(finding), "change": _change(finding)}


def _change(finding: Finding) -> str:
    """``+12 (+3.4 %)`` for numbers, nothing for statuses."""
    if not all(isinstance(value, (int, float)) for value in (finding.base, finding.new)):
        return ""
    change = finding.new - finding.base
    share = f" ({100 * change / abs(finding.base):+.3g} %)" if finding.base else ""
    return f"{change:+.4g}{share}"


def _line(finding: Finding) -> str:
    values = " -> ".join("nothing" if value is None else _value(value) for value in (finding.base, finding.new))
    change = f", {text}" if (text := _change(finding)) else ""
    allowed = f", allowed {exact(finding.allowed)}" if finding.allowed is not None else ""
    reason = f": {finding.reason}" if finding.reason else ""
    return f"{finding.cell}: {finding.metric} {values}{change}{allowed}{reason}"


def _xml(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return _NO_XML.sub("?", text)
