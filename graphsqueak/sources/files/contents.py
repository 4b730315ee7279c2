"""Infer what a column holds from its values: integers, texts, fractions, times, dates or nothing.

The values are those of the sampled lines of a text file. Times are Unix times in seconds, milli-,
micro- or nanoseconds, days such as 20040417, and dates. Numbers in the range of Unix times are
weights if they are all equal, or if they span more than a factor of four and are not sorted.
"""

import re
from enum import Enum

import numpy as np

from graphsqueak.sources.files.fields import is_integer, is_number
from graphsqueak.sources.times import UNIX_TIMES, parse_time

# Largest ratio of values that are taken for times without being sorted: Unix times of 1984 and 2024
# differ by a factor of four. Halved or doubled, no test file is read differently.
_MAX_RATIO_OF_TIMES = 4.0
# Fraction of the values that must be of one kind, and of the steps between sorted values that go
# in one direction; the others are missing or mistaken. With 0.9, no test file is read differently;
# with 0.975, times are missed if two of 62 are 0.
_MIN_FRACTION_ALIKE = 0.95
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
_CLOCK = re.compile(rb"\d\d?:\d\d(:\d\d([.,]\d+)?)?")


class Content(Enum):
    """Kind of the values of a column."""

    INTEGERS = "integers"
    TEXTS = "texts"
    FRACTIONS = "numbers that are not all integers"
    TIMES = "dates and Unix times, which can be read as times"
    DATES = "dates and times of day, which cannot"
    NOTHING = "nothing: all its fields are empty"
    OTHER = "something else"


def contents_of(rows, n_columns):
    """Return a list with the `Content` of each column of some rows of text.

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
    """Return the `Content` of a column.

    Parameters
    ----------
    fields : list of bytes
    may_be_unix_times : bool
        Whether numbers in the range of Unix times are taken for times.
    """
    if not fields:
        return Content.OTHER
    if not any(fields):
        return Content.NOTHING
    if _are_mostly(fields, _DATE.fullmatch):
        # Only ISO dates are read as times: 01/02/2024 is a day in January or in February.
        is_iso = _are_mostly(fields, lambda field: parse_time(field.decode("latin-1")) is not None)
        return Content.TIMES if is_iso else Content.DATES
    # A time of day without its date.
    if _are_mostly(fields, _CLOCK.fullmatch):
        return Content.DATES
    if _are_mostly(fields, is_number):
        # A few fields may be empty or damaged.
        numbers = [field for field in fields if is_number(field)]
        if may_be_unix_times and time_unit(np.array(numbers, dtype=float)) is not None:
            return Content.TIMES
        are_integers = all(map(is_integer, numbers))
        return Content.INTEGERS if are_integers else Content.FRACTIONS
    return Content.TEXTS


def _are_mostly(fields, test):
    return np.mean([bool(test(field)) for field in fields]) > _MIN_FRACTION_ALIKE


def time_unit(values):
    """Return the unit in which numbers are times, such as "seconds"; None if they are weights."""
    # Edges have different times; equal numbers are weights.
    if values.min() == values.max():
        return None
    if _are_days(values):
        return "days"
    for unit, (low, high) in UNIX_TIMES.items():
        is_inside = (values >= low) & (values < high)
        if is_inside.mean() < _MIN_FRACTION_ALIKE:
            continue
        times = values[is_inside]
        steps = np.sign(np.diff(times))
        steps = steps[steps != 0]
        # The mean of a fraction f of steps up and 1 - f down is 2 f - 1.
        is_sorted = steps.size > 0 and abs(steps.mean()) >= 2 * _MIN_FRACTION_ALIKE - 1
        # A few outliers do not count.
        low, high = np.quantile(times, [0.02, 0.98])
        is_narrow = high < _MAX_RATIO_OF_TIMES * low
        are_whole = bool((times == np.floor(times)).all())
        if is_sorted or (are_whole and is_narrow):
            return unit
    return None


def _are_days(values):
    """Whether all numbers are days such as 20040417, from 1800 to 2199."""
    # 18000101 to 21991231; other numbers may not fit into an integer.
    days = values[(values >= 18_000_101) & (values <= 21_991_231)].astype(np.int64)
    if not np.array_equal(days, values):
        return False
    month = days // 100 % 100
    day = days % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())
