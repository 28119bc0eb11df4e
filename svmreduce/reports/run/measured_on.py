"""Where the records of a run were measured: machines, versions, load, code, and the outcomes of the records."""

from __future__ import annotations

from collections import Counter

from svmreduce.experiments.recorded_run import Run


def environment_facts(run: Run) -> dict:
    """The same facts as :func:`environment_lines`, for programs."""
    found = run.records
    places = [record.environment for record in found]
    started = sorted(record.started for record in found if record.started)
    return {
        "records": len(found),
        "statuses": dict(Counter(record.status for record in found).most_common()),
        "runs": len({record.run for record in found}),
        "planned_not_made": run.missing,
        "of_other_settings": run.other,
        "unreadable_lines": run.unreadable,
        "hosts": _hosts(places),
        "threads": _counted(place.get("threads") for place in places),
        "versions": _versions(places),
        "code": _counted(place.get("code") for place in places),
        "limits": _counted(place.get("limits") for place in places),
        "engines": _counted(record.engine for record in found),
        "first_started": started[0] if started else None,
        "last_started": started[-1] if started else None,
    }


def environment_lines(run: Run) -> list[str]:
    """The footer of a report. A value that differs between records is shown with its number of records."""
    facts = environment_facts(run)
    statuses = ", ".join(f"{count} {status}" for status, count in facts["statuses"].items())
    made = f", made in {facts['runs']} runs" if facts["runs"] > 1 else ""
    lines = [f"Records: {facts['records']} ({statuses}){made}"]
    if facts["planned_not_made"]:
        planned = facts["records"] + facts["planned_not_made"]
        lines.append(f"Not complete: {facts['planned_not_made']} of {planned} planned records are still to be made")
    if facts["of_other_settings"]:
        lines.append(f"Not shown: {facts['of_other_settings']} records of other settings in the same folder")
    if facts["unreadable_lines"]:
        lines.append(f"Unreadable lines skipped: {facts['unreadable_lines']}, in {run.path}")
    for host, known in facts["hosts"].items():
        load = f", load {known['load_min']:.2f} to {known['load_max']:.2f}" if known["load_min"] is not None else ""
        lines.append(f"Host {host}: {known['cpu'] or 'unknown CPU'}{load}, {known['records']} records")
    pairs = [("Threads", facts["threads"]), ("Engine", facts["engines"]), ("Code", facts["code"])]
    lines += [f"{title}: {_shown(counts)}" for title, counts in pairs if counts]
    if len(facts["limits"]) > 1:
        lines.append(f"Made under different limits, which decide what failed: {_shown(facts['limits'])}")
    elif facts["limits"]:
        lines.append(f"Limits of a reduction or fit: {_shown(facts['limits'])}")
    if facts["versions"]:
        lines.append("Versions: " + ", ".join(f"{name} {_shown(known)}" for name, known in facts["versions"].items()))
    if facts["first_started"]:
        lines.append(f"Started: {facts['first_started']} to {facts['last_started']}")
    return lines


def _hosts(places: list[dict]) -> dict:
    hosts: dict[str, dict] = {}
    for place in places:
        if not place.get("host"):
            continue
        known = hosts.setdefault(
            place["host"], {"cpu": place.get("cpu"), "load_min": None, "load_max": None, "records": 0}
        )
        known["records"] += 1
        load = place.get("load")
        if load is not None:
            known["load_min"] = load if known["load_min"] is None else min(known["load_min"], load)
            known["load_max"] = load if known["load_max"] is None else max(known["load_max"], load)
    return hosts


def _versions(places: list[dict]) -> dict:
    names = dict.fromkeys(name for place in places for name in place.get("versions") or {})
    return {name: _counted((place.get("versions") or {}).get(name) for place in places) for name in names}


def _counted(values) -> dict:
    """How many records have which value; records without a value are left out."""
    return dict(Counter(str(value) for value in values if value is not None).most_common())


def _shown(counts: dict) -> str:
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{value} ({count} records)" for value, count in counts.items())
