"""Configs, cards, records and plans, against yaml.safe_load and json."""

import json
import math
import os

import yaml

from svmreduce.experiments import store
from tests.drill import mutate
from tests.drill.outcomes import FAULT, REFUSED, RIGHT, STRICT, UNCONFIRMED, WRONG, Outcome, command
from tests.reports import made_up


def _damaged_yaml(rng, content) -> tuple[bytes, int]:
    """Damage to the values, to the text, or to neither."""
    of_values, of_text = rng.choice(((0, 0), (1, 0), (1, 0), (2, 0), (0, 1), (0, 2), (1, 1)))
    content = mutate.nested(rng, content, of_values)
    try:
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True).encode("utf-8", "surrogatepass")
    except ValueError:  # a number of more digits than Python writes
        text = b"name: x\n"
    return mutate.text(rng, text, of_text), of_values + of_text


def config(rng, folder):
    content = {
        "name": "drill", "title": "A drill", "datasets": [{"generator": "checkerboard", "rows": 50, "as": "board"}],
        "grid": {"C": [1, "2^3"], "gamma": [0.5, 2]}, "solvers": ["smo", {"name": "libsvm", "as": "other"}],
        "seeds": [0, 1], "repeats": 2, "split": {"folds": 3}, "limits": {"seconds": 60}, "baseline": "smo",
    }  # fmt: skip
    data, times = _damaged_yaml(rng, content)
    (folder / "c.yaml").write_bytes(data)
    result = command("plan", folder / "c.yaml", "-o", folder / "run", "--json")
    if isinstance(result, Outcome):
        return result if times or result.kind != REFUSED else Outcome(STRICT, result.why)
    plan = json.loads(result.stdout)
    try:
        read = yaml.safe_load(data)
    except yaml.YAMLError:  # a tab before a colon, which YAML allows and libyaml reads
        return Outcome(UNCONFIRMED)
    if plan["name"] != read["name"]:
        return Outcome(WRONG, f"name {plan['name']!r}, by another reader {read['name']!r}")
    expected = _fits(read)
    if expected is None:
        return Outcome(UNCONFIRMED)
    return Outcome(RIGHT) if plan["fits"] == expected else Outcome(WRONG, f"{plan['fits']} fits, not {expected}")


def _fits(read):
    """How many fits a config of plain solvers has; None if it has reducers, or values that stand in other places."""
    solvers, datasets = read["solvers"], read["datasets"]
    if read.get("reducers") or read.get("scales") or read.get("extends") or read.get("fits") is False:
        return None
    grid = read.get("grid") or {}
    total = 0
    for solver in solvers:
        own = (
            {key: value for key, value in solver.items() if key not in ("name", "as")}
            if isinstance(solver, dict)
            else {}
        )
        if "reducer" in own or own.keys() & grid.keys():
            return None
        mine = math.prod(len(value) for value in own.values() if isinstance(value, list))
        # equal values, and parameters that a solver does not have, are one point
        total += mine * math.prod(len(set(map(str, values))) for values in grid.values())
        if set(grid) - {"C", "gamma", "tol"} or any(len(set(map(float_or_text, v))) != len(v) for v in grid.values()):
            return None
    folds = sum((dataset.get("split") or read.get("split") or {}).get("folds") or 1
                for dataset in datasets if isinstance(dataset, dict))  # fmt: skip
    if not all(isinstance(dataset, dict) for dataset in datasets):
        return None
    return total * folds * len(set(map(int, read.get("seeds", [0])))) * int(read.get("repeats", 1))


def float_or_text(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)


ROWS = b"1 1:0.5 2:1\n-1 2:2\n1 1:1\n-1 1:3 2:4\n"


def card(rng, folder):
    content = {
        "name": "tiny", "title": "A tiny set", "features": 2, "classes": 2, "home": "a drawer", "licence": "none",
        "papers": {"aesvm": "Tiny"}, "notes": "nothing", "aliases": ["small"],
        "splits": {"train": {"file": "tiny", "rows": 4, "label_counts": {"-1": 2, "1": 2}, "notes": "x"},
                   "half": {"part_of": "train", "slice": [0, 2], "rows": 2}},
        "variants": {"rest": {"about": "one against the other", "positive": [1], "divide": 2.0, "scale": "none"}},
    }  # fmt: skip
    if rng.random() < 0.3:
        content |= {"members": {"tiny": {"title": "Tiny"}, "other": {"variants": {"rest": {"about": "x"}}}}}
    data, times = _damaged_yaml(rng, content)
    places = {name: folder / name for name in ("cards", "mirror", "cache")}
    for place in places.values():
        place.mkdir(exist_ok=True)
    (places["cards"] / "tiny.yaml").write_bytes(data)
    (places["mirror"] / "tiny").write_bytes(ROWS)
    names = {"DATASETS": "cards", "MIRROR": "mirror", "CACHE": "cache"}
    before = dict(os.environ)
    os.environ.update({f"SVMREDUCE_{name}": str(places[place]) for name, place in names.items()})
    try:
        listed = command("data", "list")
        shown = command("data", "info", "tiny")
        variant = rng.choice(("tiny", "tiny", "tiny:rest"))
        result = command("data", "get", variant, "--split", "train", "--json")
    finally:
        os.environ.clear()
        os.environ.update(before)
    if (folder.parent / "x").exists() or (folder / "x").exists():
        return Outcome(WRONG, "wrote outside of its folders")
    for outcome in (listed, shown, result):
        if isinstance(outcome, Outcome):
            return outcome if times or outcome.kind != REFUSED else Outcome(STRICT, outcome.why)
    if "\x1b" in listed.stdout + shown.stdout:
        return Outcome(FAULT, "escapes of the card on the terminal")
    found = json.loads(result.stdout)["datasets"][0]
    if times == 0 and (found["rows"], found["features"], found["label_counts"]) != (4, 2, {"-1": 2, "1": 2}):
        return Outcome(WRONG, f"{found}")
    if found["rows"] != 4 and "distinct_rows" not in str(data) and "keep" not in str(data):
        return Outcome(WRONG, f"{found['rows']} rows of a file of 4")
    return Outcome(RIGHT)


def _run_folder(rng, folder, records):
    folder = made_up.write(folder / "run", records)
    names = ("id", "kind", "method", "point", "fold", "seed", "repeat", "reduction", "size_of", "dataset")
    tasks = [{name: entry.get(name) for name in names} for entry in records]
    plan = {"experiment": "made-up", "scale": "smoke", "baseline": "libsvm", "tasks": tasks}
    return folder, plan


def records(rng, folder):
    lines = [*made_up.run(), made_up.failed(method="lost")]
    times = rng.choice((0, 1, 1, 2))
    which = rng.randrange(len(lines))
    damaged = mutate.nested(rng, lines[which], times)
    run, plan = _run_folder(rng, folder, lines)
    texts = [json.dumps(damaged if k == which else entry).encode() for k, entry in enumerate(lines)]
    if of_text := rng.random() < 0.3:
        texts[which] = mutate.text(rng, texts[which], 1)
    (run / "records.jsonl").write_bytes(b"\n".join(texts) + b"\n")
    if rng.random() < 0.5:
        (run / "plan.json").write_text(json.dumps(plan))
    outcome = _reported(run)
    if outcome.kind != RIGHT:
        return outcome if times or of_text or outcome.kind != REFUSED else Outcome(STRICT, outcome.why)
    found = {record.id: record for record in store.read(run, planned_only=False).records}
    for k, entry in enumerate(lines):
        if k == which or entry["id"] == _id(damaged):
            continue
        if entry["id"] not in found or found[entry["id"]].scores != entry["scores"]:
            return Outcome(WRONG, f"the record {entry['id']} was whole and is not there as it was")
    return Outcome(RIGHT)


def _id(damaged):
    return damaged.get("id") if isinstance(damaged, dict) else None


def plan(rng, folder):
    lines = made_up.run()
    run, content = _run_folder(rng, folder, lines)
    times, of_text = rng.choice(((0, 0), (1, 0), (1, 0), (2, 0), (0, 1)))
    data = mutate.text(rng, json.dumps(mutate.nested(rng, content, times)).encode(), of_text)
    (run / "plan.json").write_bytes(data)
    outcome = _reported(run)
    if outcome.kind != RIGHT:
        return outcome if times + of_text or outcome.kind != REFUSED else Outcome(STRICT, outcome.why)
    ids = {entry["id"] for entry in json.loads(data)["tasks"]} & {entry["id"] for entry in lines}
    found = {record.id for record in store.read(run).records}
    return Outcome(RIGHT) if found == ids else Outcome(WRONG, f"{len(found)} records, {len(ids)} are planned")


def _reported(run) -> Outcome:
    """All that reads a run, one after the other: the first that is not well decides."""
    refused = None
    for arguments in (
        ("report", run),
        ("report", run, "--json"),
        ("report", run, "--format", "csv"),
        ("compare", run, run),
    ):
        result = command(*arguments, fine=(0, 1, 4) if arguments[0] == "compare" else (0,))
        if isinstance(result, Outcome) and result.kind != REFUSED:
            return result
        if isinstance(result, Outcome):
            refused = result
        elif "\x1b" in result.stdout:
            return Outcome(FAULT, "escapes of a record on the terminal")
    return refused or Outcome(RIGHT)
