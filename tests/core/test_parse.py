"""Numbers read from bytes are the doubles that Python's ``float`` gives, bit for bit."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svmreduce.core import parse


def read_labels(tokens):
    """Each token through the compiled reader, as a row that has only a label."""
    data = "".join(token + "\n" for token in tokens).encode()
    text = np.frombuffer(data, np.uint8)
    labels, sizes = np.empty(len(tokens)), np.empty(len(tokens), np.int64)
    values, indices = np.empty(1), np.empty(1, np.int32)
    row, slot, left_over, outcome, _, _ = parse.fill_libsvm(
        text,
        0,
        len(text),
        0,
        0,
        10,
        labels,
        labels.view(np.int64),
        sizes,
        indices,
        values,
        values.view(np.int64),
    )
    assert (row, slot, outcome) == (len(tokens), 0, parse.FINE)
    assert left_over == np.isnan(labels).sum()
    return data, labels


def assert_exact(tokens):
    """Every number is exact, or a mark that leads back to its text. Returns how many are marks."""
    data, labels = read_labels(tokens)
    bits = labels.view(np.int64)
    marks = np.isnan(labels)
    expected = np.array([float(token) for token in tokens])
    np.testing.assert_array_equal(bits[~marks], expected[~marks].view(np.int64))
    for k in np.flatnonzero(marks):
        start, length = parse.offset_in(bits[k]), parse.length_in(bits[k])
        assert data[start : start + length].decode() == tokens[k]
        assert parse.NUMBER.match(data, start).group().decode() == tokens[k]
    return marks.sum()


def test_shortest_form_of_any_double():
    rng = np.random.default_rng(0)
    doubles = rng.integers(0, 2**64, 50_000, dtype=np.uint64).view(np.float64)
    tokens = [repr(value) for value in doubles.tolist() if math.isfinite(value)]
    assert assert_exact(tokens) < 100  # only those near the ends of the range are left over


def test_halfway_between_two_doubles():
    rng = np.random.default_rng(1)
    tokens = []
    for _ in range(5_000):
        odd = 2 * (int(rng.integers(2**52)) | 2**52) + 1  # 54 bits: exactly between two doubles
        tens = int(rng.integers(0, 5))
        tokens += [str(odd), f"{odd * 5**tens}e-{tens}", f"{odd}e{tens}", str(odd * 2**9), str(odd + 1)]
    assert_exact(tokens)


@pytest.mark.parametrize(
    "token",
    [
        *("0", "-0", "+0.0", ".5", "5.", "-.5e-3", "1E+5", "8.41e21", "1e22", "1e23", "0e50"),
        *("9007199254740992", "9007199254740993", "18446744073709551615"),
        *("18446744073709551616", "36893488147419103232"),  # 2^64 and 2^65: nothing left in 64 bits
        *("0000000000000000000000001", "0.00000000000000000000000123", "123456789012345678901234567890"),
        *("2.2250738585072014e-308", "2.2250738585072011e-308", "4.9e-324", "1e-400"),
        *("1.7976931348623157e308", "0e999999999999999999999", "1e-99999999999999999999"),
    ],
)
def test_numbers_at_the_edges(token):
    assert_exact([token])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-(10**20), 10**20), st.integers(0, 10**12), st.integers(-330, 285)),
        min_size=1,
        max_size=20,
    )
)
def test_any_digits_and_exponent(parts):
    assert_exact([f"{whole}.{fraction}e{exponent}" for whole, fraction, exponent in parts])


def test_every_power_of_ten():
    assert_exact([f"{digits}e{power}" for power in range(-345, 309) for digits in (1, 9, 1234567)
                  if math.isfinite(float(f"{digits}e{power}"))])  # fmt: skip


def test_a_double_is_never_mistaken_for_a_mark():
    largest = struct.unpack("d", struct.pack("Q", 0x7FEFFFFFFFFFFFFF))[0]
    _, labels = read_labels([repr(largest), repr(-largest)])
    assert labels.tolist() == [largest, -largest]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 50))
def test_count_bytes(data, start):
    text = np.frombuffer(data + b"\n", np.uint8)
    start = min(start, len(data))
    expected = data[start:].count(b":"), data[start:].count(b"\n") + 1
    assert parse.count_bytes(text, start, len(text), 58) == expected
