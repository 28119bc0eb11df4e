"""A reproducibility checklist, filled from what a run has recorded: nothing in it is typed by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import mean, stdev

from svmreduce import papers
from svmreduce.experiments.archive import data_hashes
from svmreduce.experiments.ordering import natural_key, point_key
from svmreduce.experiments.recorded_run import Run
from svmreduce.experiments.records import Record
from svmreduce.reports.render import Column, Table, exact, markdown, significant

_SCORES = ("accuracy", "mse")


def checklist(run: Run) -> str:
    """Runs, seeds, search ranges, compute, error bars, data, environment and claims, as Markdown."""
    tables = [_what(run), _data(run), _search(run), _error_bars(run), _compute(run), _claims(run)]
    return "# Reproducibility checklist\n\n" + markdown([table for table in tables if table.rows])


def _pairs(title: str, pairs: list[tuple[str, object]], notes=()) -> Table:
    rows = [{"item": name, "value": str(value)} for name, value in pairs if value not in (None, "")]
    return Table(
        title, [Column("item", "item", is_text=True), Column("value", "value", is_text=True)], rows, list(notes)
    )


def _listed(values) -> str:
    return ", ".join(sorted({str(value) for value in values if value is not None}, key=natural_key))


def _what(run: Run) -> Table:
    statuses = Counter(record.status for record in run.records)
    command = run.config_text.partition("\n")[0].removeprefix("# ")
    return _pairs(
        "What was run",
        [
            ("experiment", f"{run.config.get('name')}, scale {run.config.get('scale')}"),
            ("command", command),
            ("records", ", ".join(f"{count} {status}" for status, count in statuses.items())),
            ("planned and not recorded", run.missing or None),
            ("baseline", run.baseline),
            ("seeds", _listed(record.seed for record in run.records)),
            ("folds", _listed(record.fold for record in run.records)),
            ("repeats", max(record.repeat for record in run.records) + 1),
            ("check", "svmreduce verify FILE --rerun 0.1"),
        ],
    )


def _data(run: Run) -> Table:
    hashes = data_hashes(run)
    rows = [{"data": name, "rows": run.train_rows.get(name), "hash": hashes[name]} for name in hashes]
    columns = [Column("data", "data set", is_text=True), Column("rows", "training rows", exact),
               Column("hash", "SHA-256 of the rows", is_text=True)]  # fmt: skip
    return Table("Data", columns, rows)


def _search(run: Run) -> Table:
    """Every value that a method was tried with; one value means that it was fixed."""
    tried: dict[str, dict[str, set]] = defaultdict(lambda: defaultdict(set))
    for record in run.fits:
        for name, value in (record.reducer_params | record.solver_params | record.point).items():
            tried[record.method][name].add(str(value))
    rows = [
        {"method": method, "values": "; ".join(f"{name}: {_listed(values)}" for name, values in sorted(found.items()))}
        for method, found in sorted(tried.items(), key=lambda pair: natural_key(pair[0]))
    ]
    return Table("Methods and search ranges", [Column("method", "method", is_text=True),
                                               Column("values", "values tried", is_text=True)], rows)  # fmt: skip


def _error_bars(run: Run) -> Table:
    """The best point of each method by its mean over folds, seeds and repeats, with the spread over these."""
    rows = []
    for dataset, methods in run.fits_of.items():
        for method, fits in methods.items():
            score, values = _best(fits)
            if values:
                spread = stdev(values) if len(values) > 1 else None
                rows.append({"data": dataset, "method": method, "score": score, "mean": mean(values), "sd": spread,
                             "n": len(values)})  # fmt: skip
    columns = [Column("data", "data set", is_text=True), Column("method", "method", is_text=True),
               Column("score", "score", is_text=True), Column("mean", "mean", exact),
               Column("sd", "standard deviation", significant), Column("n", "fits", exact)]  # fmt: skip
    single = any(row["n"] == 1 for row in rows)
    note = "a method with one fit has no error bar: more seeds, folds or repeats give one" if single else ""
    return Table("Error bars", columns, rows, [note] if note else [])


def _best(fits: list[Record]) -> tuple[str, list[float]]:
    points: dict[tuple, list[float]] = defaultdict(list)
    name = next((score for score in _SCORES if any(score in fit.scores for fit in fits)), _SCORES[0])
    for fit in fits:
        if fit.is_finished and fit.scores.get(name) is not None:
            points[point_key(fit.point)].append(fit.scores[name])
    best = (min if name == "mse" else max)(points.values(), key=mean, default=[])
    return name, best


def _compute(run: Run) -> Table:
    places = [record.environment for record in run.records]
    versions = {f"{name} {version}" for place in places for name, version in (place.get("versions") or {}).items()}
    wall = sum(record.seconds.get("total") or 0.0 for record in run.records)  # the other stages are parts of it
    cpu = sum(value or 0.0 for record in run.records for value in record.cpu_seconds.values())
    return _pairs(
        "Compute and environment",
        [
            ("seconds of all stages", significant(wall)),
            ("processor seconds", significant(cpu) if cpu else None),
            ("largest memory of a worker", f"{most:.0f} MB" if (most := _most_memory(run)) else None),
            ("threads", _listed(place.get("threads") for place in places)),
            ("processors", _listed(place.get("cpu") for place in places)),
            ("Python", _listed(place.get("python") for place in places)),
            ("packages", _listed(versions)),
            ("code", _listed(place.get("code") for place in places)),
            ("limits of one fit", run.config.get("limits")),
        ],
    )


def _most_memory(run: Run) -> float:
    return max((record.memory_mb or 0 for record in run.records), default=0)


def _claims(run: Run) -> Table:
    """What the paper says whose table this run is about, and the command that puts both side by side."""
    name = run.config.get("paper")
    if not name:
        return _pairs("Claims", [])
    claims = papers.load(str(name).partition(":")[0]).get("claims") or []
    rows = [(claim.get("where", ""), claim["text"] + _figure(claim)) for claim in claims]
    return _pairs(f"Claims of the paper ({name})", rows, [f"judge them by: svmreduce report RUN --paper {name}"])


def _figure(claim: dict) -> str:
    """The claimed number with its unit; a trend has none."""
    return "" if claim.get("value") is None else f": {claim['value']} {claim.get('unit', '')}".rstrip()
