"""What a column holds: numbers or words; and the columns that look like something else.

Numbers with a comma for the point are read as numbers. Dates, sums of money, names and row numbers are refused or
warned about, because each of them would otherwise become a useless feature without a word.
"""

from __future__ import annotations

import re
import warnings

import numpy as np

from svmreduce.data.columns import Table, WordCells
from svmreduce.errors import DataWarning, InputError

NUMBERS, WORDS, EMPTY = "numbers", "words", "empty"
_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T]\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(?::\d{2}.*)?")
_LIKE_A_NUMBER = re.compile(r"[-+]?[$€£]?\s?\d[\d.,' \u00a0]*\s?[%€$£]?")
_WITH_UNIT = re.compile(r"[-+]?\d[\d.,']*\s?[^\W\d_]{1,5}\.?")
_MONTH = re.compile(r"(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2]|Q[1-4])|(?:0?[1-9]|1[0-2])[-/.](?:19|20)\d\d", re.IGNORECASE)
_INFINITE = re.compile(r"[-+]?inf(?:inity)?", re.IGNORECASE)
_LIKE_A_NUMBERING = re.compile(r"(?:.*[_ ])?(?:id|index|no|nr|number)|unnamed_\d+|row.*", re.IGNORECASE)
_MANY_WORDS, _SEVERAL_WORDS = 50, 6
EXACT = 2.0**53  # from here on whole numbers are rounded; ids of 64 bits are below 2⁶⁴
_FIRST_DAY, _DAY = 19000000, re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")


def kind_of(table: Table, column: int, *, is_label: bool = False) -> str:
    """NUMBERS, WORDS or EMPTY; an error where it cannot be either."""
    cells = table.words.get(column)
    if cells is None:
        return NUMBERS
    present = np.bincount(cells.codes, minlength=len(cells.words)) > 0
    missing = cells.missing(in_numbers=True)
    others = [code for code in np.flatnonzero(present) if code not in set(missing)]
    n_numbers = table.n_rows - len(cells.rows)
    if not others:
        return NUMBERS if n_numbers else EMPTY
    words = [cells.words[code] for code in others]
    if _are_decimal_commas(table, words):
        return NUMBERS
    if all(map(_INFINITE.fullmatch, words)):
        raise refusal(table, column, cells, others[0], "is not finite", "give a number")
    if sum(map(bool, map(_DATE.fullmatch, words))) > len(words) / 2 and not is_label:
        raise refusal(table, column, cells, others[0], "is a date or a time",
                      f"leave the column out by --drop {table.title(column)}, or turn it into numbers")  # fmt: skip
    if sum(map(bool, map(_LIKE_A_NUMBER.fullmatch, words))) > len(words) / 2:
        raise refusal(table, column, cells, others[0], "is not written as a number",
                      "write digits and a point only, as in 1234.5")  # fmt: skip
    if n_numbers and len(np.unique(table.values[~np.isnan(table.values[:, column]), column])) >= len(words):
        header = "; if line 1 is a header, use --header" if table.names is None and cells.rows[0] == 0 else ""
        other = "" if is_label else f", or read the column as words by --categories {table.title(column)}"
        raise refusal(table, column, cells, others[0], "is not a number", f"correct it{other}{header}")
    if not is_label and len(words) > _MANY_WORDS and len(words) > table.n_rows / 2:
        raise InputError(
            f"{table.name}: column {table.title(column)!r} has {len(words)} different words in {table.n_rows} rows, as "
            f"names or free text have; leave it out by --drop {table.title(column)}"
        )
    return WORDS


def numbers_of(table: Table, column: int) -> tuple[np.ndarray, np.ndarray]:
    """A column of numbers, and the rows in which they are missing; any other word is an error."""
    values = table.values[:, column]
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise InputError(f"{table.place(row, column)}: {values[row]} is not finite; give a number")
    _refuse_points_beside_commas(table, column)
    cells = table.words.get(column)
    if cells is None:
        return values, np.empty(0, np.intp)
    values = values.copy()
    used, missing = np.unique(cells.codes), set(cells.missing(in_numbers=True))
    others = [code for code in used if code not in missing]
    if others and not _are_decimal_commas(table, [cells.words[code] for code in others]):
        wrong = next((code for code in others if not _COMMA.fullmatch(cells.words[code])), others[0])
        what = "is not finite" if _INFINITE.fullmatch(cells.words[wrong]) else "is not a number"
        raise refusal(table, column, cells, wrong, what, "the column had numbers in training; correct it")
    for code in others:
        values[cells.pick([code])] = float(cells.words[code].replace(",", "."))
    return values, cells.pick(missing)


def refusal(table: Table, column: int, cells: WordCells, code: int, what: str, remedy: str) -> InputError:
    """The error for the first cell with this word."""
    row = int(cells.rows[np.argmax(cells.codes == code)])
    word = cells.words[code] if len(cells.words[code]) <= 40 else f"{cells.words[code][:37]}..."
    return InputError(f"{table.place(row, column)}: {word!r} {what} in column {table.title(column)}; {remedy}")


def warn_of_names(table: Table, column: int) -> None:
    """Numbers that only name rows separate training rows perfectly and say nothing about others; dates nearly so."""
    values, title = table.values[:, column], table.title(column)
    if table.n_rows < 10 or np.isnan(values[:3]).any():
        return
    if _counts(values) or (_LIKE_A_NUMBERING.fullmatch(title) and _are_different(values)):
        what = "only numbers the rows"
    elif EXACT <= np.nanmax(np.abs(values)) < EXACT * 2**11 and (values == np.rint(values)).all():
        what = "has whole numbers beyond 2⁵³, as ids have, which are not read exactly"
    elif values.min() > _FIRST_DAY and all(_DAY.fullmatch(f"{value:.0f}") for value in np.unique(values)):
        what = "looks like dates written as year, month and day without a sign between them"
    else:
        return
    shown = ", ".join(f"{value:.17g}" for value in values[:3])
    warnings.warn(f"{table.name}: column {title!r} {what} ({shown} …); leave it out by --drop {title}",
                  DataWarning, stacklevel=2)  # fmt: skip


def warn_of_quantities(table: Table, column: int, words: list[str]) -> None:
    """Numbers with a unit and months are read as words, which know no order."""
    for pattern, what in ((_WITH_UNIT, "numbers with a unit"), (_MONTH, "months")):
        if len(words) >= _SEVERAL_WORDS and sum(map(bool, map(pattern.fullmatch, words))) > len(words) / 2:
            title = table.title(column)
            warnings.warn(
                f"{table.name}: column {title!r} has {what} ({', '.join(words[:2])} …), read as words without an "
                f"order; turn it into numbers, or leave it out by --drop {title}",
                DataWarning,
                stacklevel=2,
            )


def _counts(values: np.ndarray) -> bool:
    return bool((np.diff(values[:10]) == 1).all() and (np.diff(values) == 1).all())


def _are_different(values: np.ndarray) -> bool:
    return bool((values == np.rint(values)).all()) and len(np.unique(values)) == len(values)


def _are_decimal_commas(table: Table, words: list[str]) -> bool:
    """Whether all are numbers with a comma for the point; ``1,234`` is one only next to others such as ``0,5``."""
    if not all(map(_COMMA.fullmatch, words)):
        return False
    everywhere = (word for cells in table.words.values() for word in cells.words)
    return any(_COMMA.fullmatch(word) and not _GROUPED.fullmatch(word) for word in everywhere)


def _refuse_points_beside_commas(table: Table, column: int) -> None:
    """Where ``0,5`` is a number, nobody knows whether ``3.303`` is between 3 and 4 or above 3000."""
    values = table.values[:, column]
    with_point = values[(values != np.rint(values)) & ~np.isnan(values)]
    if not with_point.size:
        return
    for other, cells in table.words.items():
        missing = set(cells.missing(in_numbers=True))
        used = [code for code in np.unique(cells.codes) if code not in missing]
        if used and _are_decimal_commas(table, [cells.words[code] for code in used]):
            points = f"column {table.title(column)} has points, as in {with_point[0]:.15g}"
            raise refusal(
                table, other, cells, used[0], "has a decimal comma", f"{points}: write all numbers in one way"
            )
