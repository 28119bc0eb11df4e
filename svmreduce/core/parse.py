"""Numbers and rows out of raw bytes, at the speed of a table scan and still exact to the last bit.

Every number comes out as the double nearest to what is written, as Python's ``float`` gives it. Short
ones need one multiplication or division of two exact doubles; longer ones a 64 × 128 bit product with a
table of powers of five (D. Lemire, *Number parsing at a gigabyte per second*, 2021). The very few that
are left over, and fields that are not numbers, are stored as a NaN that carries the field's offset and
length in the text: the caller looks at those, one by one. Text never yields a NaN of its own, so nothing
is confused.

Each stretch of text given to a loop must end with a line end; no scan can then run past it.
"""

from __future__ import annotations

import re

import numpy as np

from svmreduce.core.jit import njit

NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

# What a row loop returns: success, or the kind of error
FINE, BAD_LABEL, BAD_INDEX, BAD_ORDER, BAD_VALUE, TOO_FEW, TOO_MANY = range(7)

_READ, _LEFT_OVER, _NO_NUMBER = range(3)
_OTHER, _BLANK, _LINE_END, _COMMENT = range(4)
_BYTE_KIND = np.zeros(256, np.uint8)
_BYTE_KIND[[9, 11, 12, 13, 32]] = _BLANK
_BYTE_KIND[10] = _LINE_END
_BYTE_KIND[35] = _COMMENT

_MARK = 0x7FF8 << 48  # a quiet NaN; of its 51 free bits, 40 hold an offset and 11 a length
LONG_FIELD = 0x7FF  # the length that stands for "this or more"
_MANY_DIGITS = 19  # as many decimal digits as always fit 64 bits
_EXACT_TENS = np.array([10.0**k for k in range(23)])  # 10^22 is the last power of ten a double holds
_FIVES_LOW, _FIVES_HIGH = -342, 308


def offset_in(marks: np.ndarray) -> np.ndarray:
    """The text offsets that NaN marks (seen as int64) carry."""
    return marks & ((1 << 40) - 1)


def length_in(marks: np.ndarray) -> np.ndarray:
    """The lengths of the marked fields, up to ``LONG_FIELD``."""
    return (marks >> 40) & LONG_FIELD


def _powers_of_five() -> np.ndarray:
    """The leading 128 bits of 5^q as (high, low) words, cut off; rounded up where 5^-q fits 64 bits."""
    table = np.empty((_FIVES_HIGH - _FIVES_LOW + 1, 2), np.uint64)
    for q in range(_FIVES_LOW, _FIVES_HIGH + 1):
        power = 5 ** abs(q)
        if q < 0:
            leading = (1 << (power.bit_length() + 127)) // power + (q >= -27)
        else:
            leading = (power << 128) >> power.bit_length()
        table[q - _FIVES_LOW] = leading >> 64, leading & (2**64 - 1)
    return table


_FIVES = _powers_of_five()
_U0, _U1, _U9, _U32, _U52, _U63 = (np.uint64(k) for k in (0, 1, 9, 32, 52, 63))
_LOW_HALF = np.uint64(0xFFFFFFFF)
_ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_UNSURE = np.uint64(0x1FF)  # the nine bits of the product below the 55 that decide the rounding
_HIDDEN_BIT = np.uint64(1 << 52)


@njit()
def _wide_product(a, b):
    """High and low word of a 64 × 64 bit product."""
    a_low, a_high, b_low, b_high = a & _LOW_HALF, a >> _U32, b & _LOW_HALF, b >> _U32
    low = a_low * b_low
    middle = a_high * b_low + (low >> _U32)
    other = a_low * b_high + (middle & _LOW_HALF)
    return a_high * b_high + (middle >> _U32) + (other >> _U32), (other << _U32) | (low & _LOW_HALF)


@njit()
def _nearest_bits(digits, q):
    """Bits of the double nearest to digits·10^q (digits > 0), or 0 where this method cannot decide."""
    shift = 0
    for step in (32, 16, 8, 4, 2, 1):
        if digits >> np.uint64(64 - step) == _U0:
            digits <<= np.uint64(step)
            shift += step
    high, low = _wide_product(digits, _FIVES[q - _FIVES_LOW, 0])
    if high & _UNSURE == _UNSURE:
        carry, _ = _wide_product(digits, _FIVES[q - _FIVES_LOW, 1])
        low += carry
        if low < carry:
            high += _U1
        if low == _ALL_ONES:
            return _U0
    top = high >> _U63
    drop = top + _U9
    mantissa = high >> drop
    # floor(q·log2(5)) + q, the binary exponent of 10^q, by a 16-bit fraction of log2(5)
    exponent = ((217706 * q) >> 16) + 63 + np.int64(top) - shift + 1023
    if exponent <= 0:
        return _U0
    # exactly halfway, which only small powers can be: round to even
    if low <= _U1 and -4 <= q <= 23 and mantissa & np.uint64(3) == _U1 and mantissa << drop == high:
        mantissa &= ~_U1
    mantissa = (mantissa + (mantissa & _U1)) >> _U1
    if mantissa == _HIDDEN_BIT << _U1:
        mantissa = _HIDDEN_BIT
        exponent += 1
    if exponent >= 2047:
        return _U0
    return (mantissa & ~_HIDDEN_BIT) | (np.uint64(exponent) << _U52)


@njit()
def _mark(start, stop):
    return _MARK | min(stop - start, LONG_FIELD) << 40 | start


@njit(inline="always")
def _scan_number(text, pos, values, bits, slot):
    """Read a number at ``pos`` into ``values[slot]``; return where it ended and the outcome."""
    start = pos
    negative = text[pos] == 45
    if negative or text[pos] == 43:
        pos += 1
    mantissa = _U0
    exponent = 0
    first = pos
    digit = np.int64(text[pos]) - 48
    while 0 <= digit <= 9:
        mantissa = mantissa * np.uint64(10) + np.uint64(digit)
        pos += 1
        digit = np.int64(text[pos]) - 48
    seen = pos - first
    if text[pos] == 46:
        pos += 1
        first = pos
        digit = np.int64(text[pos]) - 48
        while 0 <= digit <= 9:
            mantissa = mantissa * np.uint64(10) + np.uint64(digit)
            pos += 1
            digit = np.int64(text[pos]) - 48
        exponent = first - pos
        seen += pos - first
    if seen == 0:
        return pos, _NO_NUMBER
    if text[pos] == 101 or text[pos] == 69:
        pos += 1
        down = text[pos] == 45
        if down or text[pos] == 43:
            pos += 1
        first = pos
        given = 0
        digit = np.int64(text[pos]) - 48
        while 0 <= digit <= 9:
            if given < 10**17:  # more than any file has digits, and no overflow
                given = given * 10 + digit
            pos += 1
            digit = np.int64(text[pos]) - 48
        if pos == first:
            return pos, _NO_NUMBER
        exponent += -given if down else given

    if seen > _MANY_DIGITS:  # zeros in front do not count
        first = start + (negative or text[start] == 43)
        while text[first] == 48 or text[first] == 46:
            seen -= text[first] == 48
            first += 1
    if seen <= _MANY_DIGITS:
        if mantissa <= _HIDDEN_BIT << _U1 and -22 <= exponent <= 22:
            value = np.float64(mantissa)
            value = value / _EXACT_TENS[-exponent] if exponent < 0 else value * _EXACT_TENS[exponent]
            values[slot] = -value if negative else value
            return pos, _READ
        if mantissa != _U0 and _FIVES_LOW <= exponent <= _FIVES_HIGH:
            nearest = _nearest_bits(mantissa, exponent)
            if nearest != _U0:
                bits[slot] = np.int64(nearest)
                if negative:
                    values[slot] = -values[slot]
                return pos, _READ
    bits[slot] = _mark(start, pos)
    return pos, _LEFT_OVER


@njit()
def count_bytes(text, start, stop, wanted):
    """How often the byte ``wanted`` and the line end occur in a stretch of text."""
    wanted = np.uint8(wanted)
    found = 0
    lines = 0
    for byte in text[start:stop]:
        found += byte == wanted
        lines += byte == np.uint8(10)
    return found, lines


@njit()
def _line_end(text, pos):
    while text[pos] != 10:
        pos += 1
    return pos


@njit()
def fill_libsvm(text, start, stop, row, slot, max_index, labels, label_bits, row_sizes, indices, values, value_bits):
    """Write the rows of ``text[start:stop]`` from ``row`` and ``slot`` on; indices become 0-based.

    Returns the next row and slot, how many numbers were left over as marks, and the outcome: a code, where
    it happened, and the index before it in that row.
    """
    left_over = 0
    pos = start
    while pos < stop:
        # Step 1 – to the label; a line without one is blank or a comment
        while _BYTE_KIND[text[pos]] == _BLANK:
            pos += 1
        if _BYTE_KIND[text[pos]] != _OTHER:
            pos = _line_end(text, pos) + 1
            continue
        token = pos
        pos, state = _scan_number(text, token, labels, label_bits, row)
        if state == _NO_NUMBER or _BYTE_KIND[text[pos]] == _OTHER:
            return row, slot, left_over, BAD_LABEL, token, 0
        left_over += state

        # Step 2 – index:value pairs up to the line's end
        previous = 0
        row_start = slot
        before_pairs = True
        while True:
            while _BYTE_KIND[text[pos]] == _BLANK:
                pos += 1
            if _BYTE_KIND[text[pos]] != _OTHER:
                break
            if before_pairs:
                before_pairs = False
                if text[pos] == 113 and text[pos + 1] == 105 and text[pos + 2] == 100 and text[pos + 3] == 58:
                    while _BYTE_KIND[text[pos]] == _OTHER:  # qid:…, of use in ranking only
                        pos += 1
                    continue
            token = pos
            index = 0
            digit = np.int64(text[pos]) - 48
            while 0 <= digit <= 9:
                if index <= max_index:
                    index = index * 10 + digit
                pos += 1
                digit = np.int64(text[pos]) - 48
            if pos == token or text[pos] != 58:
                return row, slot, left_over, BAD_INDEX, token, previous
            if index <= previous or index > max_index:
                return row, slot, left_over, BAD_ORDER, token, previous
            token = pos + 1
            digit = np.int64(text[token]) - 48
            if 0 <= digit <= 9 and _BYTE_KIND[text[token + 1]] != _OTHER:  # the most frequent value
                values[slot] = digit
                pos, state = token + 1, _READ
            else:
                pos, state = _scan_number(text, token, values, value_bits, slot)
            if state == _NO_NUMBER or _BYTE_KIND[text[pos]] == _OTHER:
                return row, slot, left_over, BAD_VALUE, token, previous
            left_over += state
            indices[slot] = index - 1
            previous = index
            slot += 1
        row_sizes[row] = slot - row_start
        row += 1
        pos = _line_end(text, pos) + 1
    return row, slot, left_over, FINE, pos, 0


@njit()
def fill_table(text, start, stop, row, separator, values, bits):
    """Write the rows of ``text[start:stop]`` from ``row`` on; words and left-over numbers become marks.

    ``separator`` is one byte, or 0 for any run of blanks.
    Returns the next row, the outcome, where it happened, and how many fields were seen there.
    """
    n_columns = values.shape[1]
    pos = start
    while pos < stop:
        while _BYTE_KIND[text[pos]] == _BLANK and text[pos] != separator:
            pos += 1
        if text[pos] == 10:
            pos += 1
            continue
        row_values, row_bits = values[row], bits[row]
        for column in range(n_columns):
            token = pos
            state = _NO_NUMBER
            if text[token] == 34:  # a quoted field may hold separators; a doubled quote goes on
                pos += 1
                while text[pos] != 10 and (text[pos] != 34 or text[pos + 1] == 34):
                    pos += 2 if text[pos] == 34 else 1
            else:
                pos, state = _scan_number(text, token, row_values, row_bits, column)
            read_to = pos
            if separator == 0:
                while _BYTE_KIND[text[pos]] == _OTHER or _BYTE_KIND[text[pos]] == _COMMENT:
                    pos += 1
                field_end = pos
                whole = read_to == pos
                while _BYTE_KIND[text[pos]] == _BLANK:
                    pos += 1
                more = text[pos] != 10
            else:
                while _BYTE_KIND[text[pos]] == _BLANK and text[pos] != separator:
                    pos += 1
                whole = text[pos] == separator or text[pos] == 10
                while text[pos] != separator and text[pos] != 10:
                    pos += 1
                field_end = pos
                more = text[pos] == separator
            if state == _NO_NUMBER or not whole:
                row_bits[column] = _mark(token, field_end)
            if more != (column + 1 < n_columns):
                return row, TOO_MANY if more else TOO_FEW, pos, column + 1
            if more and separator != 0:
                pos += 1
                while _BYTE_KIND[text[pos]] == _BLANK and text[pos] != separator:
                    pos += 1
        row += 1
        pos += 1
    return row, FINE, pos, 0
