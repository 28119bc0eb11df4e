"""Is a new run worse than an old one? Cell by cell, strict where numbers are free of noise.

Rows are matched by what they are (data set, method, point, fold, seed, repeat), never by their place. A row of
the base that is missing in the new run is a failure of its own kind: a gate that measured nothing must not pass.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from svmreduce.experiments.ordering import natural_key
from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import NOT_CONVERGED, OK, REDUCTION, SELECTION, Record
from svmreduce.experiments.tolerances import DEFAULTS, GATE_METRICS, TIME_RATIO, GateMetric, GateTolerance

REGRESSION, MISSING, IMPROVED, CHANGED = "regression", "missing", "improved", "changed"
EXIT_REGRESSION = 1
EXIT_NOT_COMPARABLE = 4
SHORTEST_SUM = 0.5  # wall seconds; a ratio of shorter times is noise and is not judged
SHORTEST_CPU = 0.1  # the same of processor seconds, which other processes on the machine hardly touch
_RANK = {OK: 2, NOT_CONVERGED: 1}  # every other status has no result
_RATIO = GateMetric(TIME_RATIO, "", DEFAULTS[TIME_RATIO])


@dataclass(frozen=True)
class Finding:
    """One number or status that differs by more than is allowed, or is not there."""

    verdict: str
    dataset: str
    method: str
    cell: str
    metric: str
    base: float | str | None = None
    new: float | str | None = None
    allowed: float | None = None
    reason: str = ""


@dataclass
class RunComparison:
    """The outcome of each row of the base, and the exit code that follows."""

    findings: list[Finding] = field(default_factory=list)
    matched: Counter = field(default_factory=Counter)  # (data set, method) -> rows that both runs have
    judged: int = 0  # numbers that could be compared
    ratios: list[dict] = field(default_factory=list)  # times relative to the baseline method, judged or not
    extra: list[str] = field(default_factory=list)  # rows that only the new run has
    notes: list[str] = field(default_factory=list)

    def of(self, verdict: str) -> list[Finding]:
        return [finding for finding in self.findings if finding.verdict == verdict]

    @property
    def exit_code(self) -> int:
        """A regression outweighs a missing row: it is certain, and what is missing is also named."""
        if self.of(REGRESSION):
            return EXIT_REGRESSION
        return EXIT_NOT_COMPARABLE if self.of(MISSING) or not self.judged else 0

    def as_dict(self) -> dict:
        verdict = {0: "fine", EXIT_REGRESSION: "regression", EXIT_NOT_COMPARABLE: "not comparable"}[self.exit_code]
        return {
            "verdict": verdict,
            "exit_code": self.exit_code,
            "rows": sum(self.matched.values()),
            "judged": self.judged,
            "findings": [asdict(finding) for finding in self.findings],
            "time_ratios": self.ratios,
            "extra": self.extra,
            "notes": self.notes,
        }


def compare_runs(base: Run, new: Run, tolerances: dict[str, GateTolerance] | None = None) -> RunComparison:
    """Judge ``new`` against ``base``; ``tolerances`` replace the defaults of the metrics they name."""
    limits = DEFAULTS | (tolerances or {})
    old_rows, new_rows = ({record.identity: record for record in run.records} for run in (base, new))
    result = RunComparison(notes=list(_notes(base, new, old_rows, new_rows)))
    both = ((old_rows[key], new_rows[key]) for key in sorted(old_rows.keys() & new_rows.keys()))
    pairs = [pair for pair in both if pair[0].is_finished and pair[1].is_finished]
    limits = _for_processors(result, pairs, limits)
    for key in sorted(old_rows):
        old, current = old_rows[key], new_rows.get(key)
        if current is None:
            result.findings.append(_finding(MISSING, old, "row", old.status, None))
            continue
        result.matched[old.dataset, old.method] += 1
        result.findings += _status(old, current)
        if old.is_finished and current.is_finished:
            _judge_row(result, old, current, limits)
    _judge_times(result, pairs, limits[TIME_RATIO])
    result.extra = [_named(new_rows[key]) for key in sorted(new_rows.keys() - old_rows.keys())]
    return result


def _judge_row(result: RunComparison, old: Record, current: Record, limits: dict[str, GateTolerance]) -> None:
    for metric in GATE_METRICS.values():
        if old.status != current.status and metric.section != "scores":
            continue  # a solver that now reaches its end may take more steps for it
        before, now = metric.value(old), metric.value(current)
        if before is None:
            continue
        if now is None:
            result.findings.append(_finding(MISSING, old, metric.name, before, None))
            continue
        result.judged += 1
        allowed = limits[metric.name].allowed(before)
        verdict = _verdict(metric.worsening(before, now), allowed, max(abs(before), abs(now)))
        if verdict:
            result.findings.append(_finding(verdict, old, metric.name, before, now, allowed))


def _verdict(worsening: float, allowed: float, size: float) -> str | None:
    slack = allowed + 1e-12 * size  # 0.98 - 0.978 is slightly more than 0.002
    if worsening > slack:
        return REGRESSION
    return IMPROVED if -worsening > slack else None


def _status(old: Record, current: Record) -> Iterator[Finding]:
    before, now = old.status, current.status
    if before == now:
        return
    step = _RANK.get(now, 0) - _RANK.get(before, 0)
    verdict = REGRESSION if step < 0 else IMPROVED if step > 0 else CHANGED
    yield _finding(verdict, old, "status", before, now, reason=current.reason)


def _judge_times(result: RunComparison, pairs: list[tuple[Record, Record]], tolerance: GateTolerance) -> None:
    """Time of reducing and solving, summed over the cells that both runs finished, relative to the baseline's.

    Processor time if every record has it: wall time on a busy machine is that of others, too. Of the repeats of a cell
    the fastest counts: what disturbs a fit only ever makes it longer. Sums below ``SHORTEST_CPU`` (of wall time:
    ``SHORTEST_SUM``) are noise: what a method should take now, its old time at the speed that the baseline has now,
    and what it does take count as that much at least. A baseline must have more in both runs.
    """
    baselines = {record.baseline for pair in pairs for record in pair} - {None}
    if len(baselines) != 1:
        why = "the runs have different baselines" if baselines else "the runs name no baseline"
        result.notes.append(f"time is not judged: {why}")
        return
    (baseline,) = baselines
    by_cpu = all(_cpu_seconds(record) is not None for pair in pairs for record in pair)
    shortest = SHORTEST_CPU if by_cpu else SHORTEST_SUM
    fastest: dict[tuple[str, str], dict[tuple, list[float]]] = defaultdict(dict)
    for old, current in pairs:
        seconds = [_cpu_seconds(record) if by_cpu else record.seconds.get(_stage(record)) for record in (old, current)]
        if None not in seconds:
            cells = fastest[old.dataset, old.method]
            cells[old.identity[:-1]] = list(map(min, seconds, cells.get(old.identity[:-1], seconds)))
    sums = {name: [sum(both) for both in zip(*cells.values(), strict=True)] for name, cells in fastest.items()}
    for dataset, method in sorted(sums, key=lambda pair: tuple(map(natural_key, pair))):
        own, reference = sums[dataset, method], sums.get((dataset, baseline))
        if method == baseline or reference is None:
            continue
        judged = min(reference) >= shortest
        before, now = (mine / its if its else None for mine, its in zip(own, reference, strict=True))
        if judged:
            before, now = (max(ratio, shortest / reference[1]) for ratio in (before, now))
        result.ratios.append({"dataset": dataset, "method": method, "base": before, "new": now, "judged": judged})
        if judged:
            result.judged += 1
            allowed = tolerance.allowed(before)
            verdict = _verdict(_RATIO.worsening(before, now), allowed, before)
            if before - now > tolerance.allowed(now):  # the same factor, the other way round
                verdict = IMPROVED
            if verdict:
                cell = f"sum of the fastest repeats relative to {baseline}"
                result.findings.append(Finding(verdict, dataset, method, cell, TIME_RATIO, before, now, allowed))
    unjudged = sum(not ratio["judged"] for ratio in result.ratios)
    if unjudged:
        result.notes.append(
            f"time ratios not judged, as {baseline} took less than {shortest} s: {unjudged} of {len(result.ratios)}"
        )


def _for_processors(
    result: RunComparison, pairs: list[tuple[Record, Record]], limits: dict[str, GateTolerance]
) -> dict[str, GateTolerance]:
    """The limits, but where BASE is of another processor none is tighter than the default.

    The same code has ratios of times there that differ up to twofold, and other vector instructions round otherwise: a
    few support vectors more or less, of some thousand.
    """
    old, new = ({str(pair[side].environment.get("cpu")) for pair in pairs} for side in (0, 1))
    tighter = [name for name, default in DEFAULTS.items() if default.is_wider(limits[name])]
    if old == new or not tighter:
        return limits
    result.notes.append(
        f"BASE is of another processor ({', '.join(sorted(old))}; NEW: {', '.join(sorted(new))}), so these have their "
        f"default limits: {', '.join(tighter)}; make BASE anew here for tighter ones"
    )
    return limits | {name: DEFAULTS[name] for name in tighter}


def _stage(record: Record) -> str:
    return {REDUCTION: "reduce", SELECTION: "select"}.get(record.kind, "solve")


def _cpu_seconds(record: Record) -> float | None:
    """Of the stage that is judged; a solver that reduces by itself has its whole fit in one number."""
    return record.cpu_seconds.get(_stage(record), record.cpu_seconds.get("fit"))


def _notes(base: Run, new: Run, old_rows: dict, new_rows: dict) -> Iterator[str]:
    for name, run, rows in (("BASE", base, old_rows), ("NEW", new, new_rows)):
        if run.unreadable:
            yield f"unreadable lines in {name}: {run.unreadable} ({run.path})"
        if len(rows) < len(run.records):
            doubles = len(run.records) - len(rows)
            yield f"rows that appear twice in {name}, with other parameters: {doubles}; the later ones count"
    both = old_rows.keys() & new_rows.keys()
    others = sum(old_rows[key].id != new_rows[key].id for key in both)
    if others:
        yield f"rows run with other parameters or data than in BASE: {others} of {len(both)}"


def _finding(verdict: str, record: Record, metric: str, base, new, allowed=None, reason: str = "") -> Finding:
    return Finding(verdict, record.dataset, record.method, record.cell_text, metric, base, new, allowed, reason)


def _named(record: Record) -> str:
    return f"{record.dataset}, {record.method}: {record.cell_text}"
