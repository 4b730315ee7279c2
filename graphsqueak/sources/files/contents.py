"""What the values of a column are: integers, texts, fractions, times, dates or nothing.

The content of a column is inferred from the sampled lines of a text file. Times are Unix times in
seconds, milli-, micro- or nanoseconds, days such as 20040417, and dates. Numbers in the range of
Unix times are weights if they are all equal, or if they span more than a factor of four and are
not sorted.
"""

import re
from enum import Enum

import numpy as np

from graphsqueak.sources.files.fields import is_number
from graphsqueak.sources.times import UNIX_TIMES, parse_time

__all__ = ["Content", "content_of", "contents_of", "time_unit"]

_WIDEST = 4.0  # largest over smallest of what is not sorted and yet taken for times
_MOSTLY = 0.95  # share of the values that must agree
_SORTED = 0.9  # share of the steps in one direction
_MONTH = rb"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DAYS = [
    rb"\d{4}[-/.]\d\d?[-/.]\d\d?",
    rb"\d\d?[-/.]\d\d?[-/.]\d{4}",
    rb"\d\d?/\d\d?/\d\d",
    rb"\d\d?[- ]%b[- ]\d{2,4}" % _MONTH,
    rb"%b \d\d?,? \d{4}" % _MONTH,
    rb"(?:18|19|20)\d\d-(?:0[1-9]|1[0-2])",
]
_DATE = re.compile(
    rb"(?:%b)([T ]\d\d?:\d\d.*)?|\d{8}T\d{4}.*|[a-z]{3} %b +\d\d? \d\d:\d\d.*"
    % (b"|".join(_DAYS), _MONTH),
    re.IGNORECASE,
)
_INTEGER = re.compile(rb"[+-]?\d+(\.0*)?")
_CLOCK = re.compile(rb"\d\d?:\d\d(:\d\d([.,]\d+)?)?")


class Content(Enum):
    """What the values of a column are."""

    INTEGERS = "integers"
    TEXTS = "texts"
    FRACTIONS = "numbers that are not all integers"
    TIMES = "dates and Unix times, which can be read as times"
    DATES = "dates and times of day, which cannot"
    NOTHING = "nothing: all its fields are empty"
    OTHER = "something else"


def contents_of(rows, n_columns):
    """What each column of some rows of text holds: a list of Content.

    >>> rows = [[b"2024-01-01", b"ann", b"0.5"], [b"2024-01-02", b"bob", b"2"]]
    >>> [content.name for content in contents_of(rows, 3)]
    ['TIMES', 'TEXTS', 'FRACTIONS']
    """
    rows = [row for row in rows if len(row) == n_columns]
    columns = [[row[column] for row in rows] for column in range(n_columns)]
    # Ids of ten digits look like Unix times, so the first two columns are not taken for them.
    return [
        content_of(fields, may_be_unix_times=column >= 2) for column, fields in enumerate(columns)
    ]


def content_of(fields, *, may_be_unix_times=False):
    if not fields:
        return Content.OTHER
    if not any(fields):
        return Content.NOTHING
    if _are_mostly(fields, _DATE.fullmatch):
        # Only ISO dates are read as times: 01/02/2024 is a day in January or in February.
        is_iso = _are_mostly(fields, lambda field: parse_time(field.decode("latin-1")) is not None)
        return Content.TIMES if is_iso else Content.DATES
    if _are_mostly(fields, _CLOCK.fullmatch):
        return Content.DATES
    if _are_mostly(fields, is_number):
        numbers = [field for field in fields if is_number(field)]
        if may_be_unix_times and time_unit(np.array(numbers, dtype=float)) is not None:
            return Content.TIMES
        are_integers = all(_INTEGER.fullmatch(field) for field in numbers)
        return Content.INTEGERS if are_integers else Content.FRACTIONS
    return Content.TEXTS


def _are_mostly(fields, test):
    return np.mean([bool(test(field)) for field in fields]) > _MOSTLY


def time_unit(values):
    """What unit of time the values are in; None if they are weights."""
    if values.min() == values.max():
        return None
    if _are_days(values):
        return "days"
    for unit, (low, high) in UNIX_TIMES.items():
        inside = (values >= low) & (values < high)
        if inside.mean() < _MOSTLY:
            continue
        times = values[inside]
        steps = np.sign(np.diff(times))
        steps = steps[steps != 0]
        is_sorted = steps.size > 0 and abs(steps.mean()) >= 2 * _SORTED - 1
        low, high = np.quantile(times, [0.02, 0.98])
        is_whole = bool((times == np.floor(times)).all())
        if is_sorted or (is_whole and high < _WIDEST * low):
            return unit
    return None


def _are_days(values):
    """Numbers such as 20040417."""
    if not ((values > 1e7) & (values < 1e8) & (values == np.floor(values))).all():
        return False
    day = values.astype(np.int64)
    years, months, days = day // 10_000, day // 100 % 100, day % 100
    fits = (years >= 1800) & (years < 2200) & (months >= 1) & (months <= 12)
    return bool((fits & (days >= 1) & (days <= 31)).all())
