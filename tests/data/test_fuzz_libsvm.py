"""Ten thousand damaged LIBSVM files: each is parsed as a plain reference does, or refused in one line."""

import math
import random
import re

import numpy as np
import pytest

from svmreduce.data import chunks
from svmreduce.data.libsvm_text import parse_libsvm
from svmreduce.errors import InputError

FILES = 10_000
SPICE = [
    *b"nan inf -inf 1e999 1e-400 0x1p3 1_0 1e 1e+ . - + 1,2 1.2.3 --1 \xff\xfe \xc3\xa9 # qid:7 qid:".split(b" "),
    *b"0:1 -1:2 +2:1 2147483647:1 2147483648:1 99999999999999999999:1 00000000000000000001:1".split(b" "),
    *b": :: 1: :1 1:2:3".split(b" "),
    *(b"\0", b"\n", b"\r\n", b"\r", b"\t", b"\x0b", b"\x0c", b"  ", b""),
]


class Refused(Exception):
    pass


def reference_number(token):
    if not token or set(token) - set(b"+-.0123456789eE"):
        raise Refused
    try:
        number = float(token)
    except ValueError:
        raise Refused from None
    if not math.isfinite(number):
        raise Refused
    return number


def reference_row(tokens):
    label = reference_number(tokens[0])
    pairs = tokens[1:]
    if pairs and pairs[0].startswith(b"qid:"):
        pairs = pairs[1:]
    row = []
    for token in pairs:
        index, colon, value = token.partition(b":")
        if not colon or not index.isdigit() or len(index) > 1000:
            raise Refused
        if not (row[-1][0] if row else 0) < int(index) < 2**31:
            raise Refused
        row.append((int(index), reference_number(value)))
    return label, row


def reference_parse(data):
    """Rows, and the numbers of the lines that are wrong."""
    rows, wrong = [], []
    for number, line in enumerate(data.split(b"\n"), 1):
        tokens = line.partition(b"#")[0].split()
        try:
            if b"\0" in line:
                raise Refused
            if tokens:
                rows.append(reference_row(tokens))
        except Refused:
            wrong.append(number)
    return rows, wrong


def some_file(rng):
    lines = []
    for _ in range(rng.randrange(1, 7)):
        label = rng.choice(["+1", "-1", "3", "0.25", "-1.5e-3", repr(rng.gauss(0, 1))])
        indices = sorted(rng.sample(range(1, 60), rng.randrange(0, 6)))
        pairs = [f"{i}:{rng.choice(['1', '0', '-0.5', '1e3', repr(rng.gauss(0, 10))])}" for i in indices]
        if rng.random() < 0.1:
            pairs.insert(0, "qid:3")
        if rng.random() < 0.1:
            pairs.append("# note: 1:2")
        lines.append(" ".join([label, *pairs]))
    return bytearray(rng.choice(["\n", "\n", "\r\n"]).join(lines) + rng.choice(["\n", ""]), "ascii")


def damage(data, rng):
    kind = rng.randrange(7)
    at = rng.randrange(len(data) + 1)
    if kind == 0 and at < len(data):
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 1 and at < len(data):
        data[at] = rng.randrange(256)
    elif kind == 2:
        data[at:at] = rng.choice(SPICE)
    elif kind == 3:  # cut a stretch, a line's end, or everything from here on
        del data[at : at + rng.choice([1, 2, 10, len(data)])]
    elif kind == 4:  # swell a number
        digits = [match.start() for match in re.finditer(rb"\d", data)]
        if digits:
            at = rng.choice(digits)
            data[at:at] = rng.choice([b"9" * 25, b"0" * 30, b"123456789" * 40, b"1e300", b"7e-", b"1."])
    elif kind == 5:  # a token where it does not belong
        data[at:at] = b" " + rng.choice(SPICE) + b" "
    else:  # a line twice, or elsewhere
        lines = bytes(data).split(b"\n")
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
        data[:] = rng.choice([b"\n", b" ", b"\r"]).join(lines)


@pytest.mark.parametrize("chunk_bytes", [chunks.CHUNK_BYTES, 16], ids=["whole", "in small chunks"])
def test_damaged_files(chunk_bytes, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_BYTES", chunk_bytes)
    rng = random.Random(f"damage {chunk_bytes}")
    refused = 0
    for _ in range(FILES):
        data = some_file(rng)
        for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
            damage(data, rng)
        data = bytes(data)
        rows, wrong = reference_parse(data)
        try:
            parsed = parse_libsvm(data, "f")
        except InputError as error:
            refused += 1
            place = re.fullmatch(r"f:(\d+):(\d+): [^\n]+; [^\n]+", str(error))
            assert place, (data, str(error))
            line, column = map(int, place.groups())
            assert line in wrong or not (rows or wrong), (data, str(error))
            assert 1 <= column <= len((data + b"\n").split(b"\n")[line - 1]) + 1, (data, str(error))
        else:
            assert not wrong and rows, data
            assert parsed["labels"].tolist() == [label for label, _ in rows], data
            assert np.diff(parsed["row_starts"]).tolist() == [len(row) for _, row in rows], data
            pairs = [pair for _, row in rows for pair in row]
            assert (parsed["indices"] + 1).tolist() == [index for index, _ in pairs], data
            assert parsed["values"].tobytes() == np.array([value for _, value in pairs]).tobytes(), data
    assert FILES // 5 < refused < FILES - FILES // 5  # both outcomes were put to the test
