"""Seeded damage: to bytes, to words, to lines, and to values of nested data."""

import random
import string

NUMBERS = ["nan", "-inf", "1e999", "-1e-999", "0", "-1", "2147483647", "2147483648", "9" * 400, "9" * 5000, "1_0",
           "0x10", "1e", "+", "1,5", "1:30", "2^99999", "0^-1", "2^-4", "1e-3", "00012", "٣", "1.5"]  # fmt: skip
WORDS = ["", "#", ":", "::", "qid:1", "1:", ":1", "null", "~", "true", "[]", "{}", "\x1b[31mred", "=cmd()", "ä",
         "\u202e", "../../x", "/etc/passwd", "&a", "*a", "!!bool zz", "!!int x", "<<", "? [a]",
         "-", "|", "%", '"', "'", "name"]  # fmt: skip
BYTES = [b"\0", b"\r", b"\r\n", b"\t", b"\x0b", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\x1b[2J", b"\n", b" ", b""]
VALUES = [None, True, False, 0, -1, 1, 2**31, 10**9, 10**400, 0.5, float("inf"), float("nan"), "", "x", "1", "../../x",
          "\x1b[31m", "=1+1", "2001-01-01", [], [1], ["x"], {}, {"x": 1}, [[]], {"a": {"b": []}}]  # fmt: skip


def text(rng: random.Random, data: bytes, times: int) -> bytes:
    """Damage to lines, words and bytes of a text."""
    for _ in range(times):
        data = rng.choice(_TEXT)(rng, data)
    return data


def binary(rng: random.Random, data: bytes, times: int) -> bytes:
    for _ in range(times):
        data = rng.choice((_bytes, _cut, _flip, _flip))(rng, data)
    return data


def nested(rng: random.Random, value, times: int):
    """Damage to one place of nested dicts and lists, as JSON and YAML hold them."""
    for _ in range(times):
        value = _nested(rng, value)
    return value


def _nested(rng, value):
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        kind = rng.random()
        if kind < 0.1:
            return {name: entry for name, entry in value.items() if name != key}
        if kind < 0.15:
            return value | {rng.choice([*WORDS, *string.ascii_lowercase]): rng.choice(VALUES)}
        if kind < 0.2:
            return {(rng.choice(WORDS) if name == key else name): entry for name, entry in value.items()}
        return value | {key: _nested(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.randrange(len(value))
        if rng.random() < 0.2:
            return value[:place] + value[place + 1 :] + [value[place]] * rng.choice((0, 2))
        return [*value[:place], _nested(rng, value[place]), *value[place + 1 :]]
    return rng.choice(VALUES)


def _place(rng, data):
    return rng.randrange(len(data) + 1)


def _bytes(rng, data):
    start = _place(rng, data)
    return data[:start] + rng.choice(BYTES) + data[start + rng.choice((0, 1, 1, 3)) :]


def _cut(rng, data):
    return data[: _place(rng, data)]


def _flip(rng, data):
    if not data:
        return data
    place = rng.randrange(len(data))
    return data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]


def _lines(rng, data):
    """A line lost, doubled, moved, or joined with the next."""
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    line = lines.pop(place)
    lines[place:place] = rng.choice(([], [line, line], [line + b" " + lines.pop(place)] if place < len(lines) else []))
    if rng.random() < 0.3:
        lines.insert(rng.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def _words(rng, data):
    """A word replaced by one that is hard to take."""
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    words = lines[place].split(b" ")
    which = rng.randrange(len(words))
    new = rng.choice(NUMBERS if rng.random() < 0.6 else WORDS).encode("utf-8", "surrogatepass")
    head, colon, _ = words[which].partition(b":")
    words[which] = head + colon + new if colon and rng.random() < 0.5 else new
    lines[place] = b" ".join(words)
    return b"\n".join(lines)


_TEXT = (_bytes, _cut, _flip, _lines, _words, _words, _words)
