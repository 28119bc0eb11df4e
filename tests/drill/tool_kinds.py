"""Files that a command leaves for a later one: ranges of ``scale``, journals of ``tune``."""

import json
import random
import re
from functools import cache

from tests.drill import mutate
from tests.drill.outcomes import REFUSED, RIGHT, STRICT, WRONG, Outcome, command

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
ROWS = [(1, {1: 0.5, 2: -3.0, 4: 2.5}), (-1, {1: 2.0, 3: 7.0}), (1, {2: 1.5, 3: -1.0, 4: 0.25})]


def ranges(rng, folder):
    """Values scaled by a damaged file of ranges, against the formula."""
    ends = [sorted(rng.uniform(-9, 9) for _ in range(2)) for _ in range(4)]
    lines = ["x", "-1 1", *(f"{k} {least:.4g} {most:.4g}" for k, (least, most) in enumerate(ends, 1))]
    if rng.random() < 0.3:
        lines[:0] = ["y", "0 1", "-1 1"]
    data = mutate.text(rng, "".join(f"{line}\n" for line in lines).encode(), times := rng.choice((0, 1, 1, 1, 2)))
    (folder / "ranges").write_bytes(data)
    rows = (f"{label} " + " ".join(f"{k}:{value}" for k, value in row.items()) for label, row in ROWS)
    (folder / "data").write_text("".join(f"{row}\n" for row in rows))
    result = command("scale", "-r", folder / "ranges", folder / "data", folder / "out")
    if isinstance(result, Outcome):
        return result if times or result.kind != REFUSED else Outcome(STRICT, result.why)
    expected, found = _scaled(data), (folder / "out").read_text()
    if expected is None:
        return Outcome(WRONG, "taken, though it is no file of ranges")
    return Outcome(RIGHT) if found == expected else Outcome(WRONG, f"{found!r}, by another reader {expected!r}")


def _scaled(data) -> str | None:
    """The scaled rows as svm-scale prints them; None if a line is not what it should be."""
    try:
        lines = [line.split() for line in data.decode("ascii").split("\n") if line.strip()]
    except UnicodeDecodeError:
        return None
    labels = None
    if lines[:1] == [["y"]]:
        labels, lines = [_read(line, 2) for line in lines[1:3]], lines[3:]
        if len(labels) != 2 or None in labels or labels[1][0] == labels[1][1]:
            return None
    if lines[:1] != [["x"]] or None in (found := [_read(line, 2 + (k > 0)) for k, line in enumerate(lines[1:])]):
        return None
    if not found or len({entry[0] for entry in found[1:]}) < len(found) - 1:
        return None
    lower, upper = found[0]
    known = {int(k): ends for k, *ends in found[1:] if k == int(k) >= 1}
    if len(known) < len(found) - 1:
        return None
    text = ""
    for label, row in ROWS:
        target = _between(label, *labels[1], *labels[0]) if labels else label
        values = {k: _between(row.get(k, 0.0), *known[k], lower, upper) for k in sorted(known)
                  if known[k][0] != known[k][1]}  # fmt: skip
        text += f"{target:.17g} " + "".join(f"{k}:{value:g} " for k, value in values.items() if value != 0) + "\n"
    return text


def _read(words, count) -> list[float] | None:
    if len(words) != count or not all(map(_NUMBER.fullmatch, words)):
        return None
    values = [float(word) for word in words]
    return values if all(abs(value) < float("inf") for value in values) else None


def _between(value, least, most, lower, upper):
    if value in (least, most):
        return lower if value == least else upper
    return lower + (upper - lower) * (value - least) / (most - least)


_GRID = ("--C", "1,8", "--gamma", "0.25,2", "--folds", "2", "--threads", "1", "--json", "-q")


@cache
def _search(folder) -> tuple[bytes, bytes, dict]:
    """Rows, the whole journal of a search on them, and the cells that it found."""
    rng = random.Random(1)
    rows = [(y, y * 0.7 + rng.gauss(0, 1), rng.gauss(0, 1)) for y in (1, -1) * 12]
    (folder / "rows").write_text("".join(f"{y} 1:{a:.4f} 2:{b:.4f}\n" for y, a, b in rows))
    result = command("tune", *_GRID, "--state", folder / "state", folder / "rows")
    return (folder / "rows").read_bytes(), (folder / "state").read_bytes(), _cells(result)


def _cells(result) -> dict:
    return {
        (cell["C"], cell["gamma"]): cell for cell in json.loads(result.stdout)["grid"] if cell["status"] == "finished"
    }


def journal(rng, folder):
    """A search that goes on from a damaged journal, sometimes with no time left: no cell may differ."""
    rows, whole, expected = _search(folder)
    (folder / "rows").write_bytes(rows)
    (folder / "state").write_bytes(mutate.text(rng, whole, times := rng.choice((0, 1, 1, 2, 4))))
    budget = ("--budget", "1e-9") if rng.random() < 0.3 else ()
    result = command("tune", *_GRID, *budget, "--state", folder / "state", folder / "rows")
    if isinstance(result, Outcome):
        return result if times or result.kind != REFUSED else Outcome(STRICT, result.why)
    found = _cells(result)
    if any(cell != expected[key] for key, cell in found.items()) or not (budget or len(found) == len(expected)):
        return Outcome(WRONG, f"cells {found}, without damage {expected}")
    return Outcome(RIGHT)
