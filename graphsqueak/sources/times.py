"""Times of edges: numbers in any unit, or dates, which become seconds since 1970.

    parse_times     times of a column of text: numbers unchanged, ISO dates and date-times in
                    seconds (UTC, unless they have a time zone)
    arrow_times     the same for a column of a Parquet or Arrow file, with timestamps and dates
    as_time_span    a span of time: a number in any unit, or a text such as "7d" in seconds
    unit_of_times   the unit of numbers that can only be Unix times
    TimeOrder       check that times are ascending, up to the allowed lateness

Times are in double precision: Unix seconds are exact to a fraction of a microsecond, and Unix
nanoseconds to about 200 ns.
"""

import math
import re
from datetime import UTC, datetime

import numpy as np

from graphsqueak.errors import InputError, Parameter

_SECONDS_PER_UNIT = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_DURATION = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+) *([smhdw])")

# Smallest and largest Unix time in each unit, for the years 1973 to 2103.
UNIX_TIMES = {
    "seconds": (1e8, 4.2e9),
    "milliseconds": (1e11, 4.2e12),
    "microseconds": (1e14, 4.2e15),
    "nanoseconds": (1e17, 4.2e18),
}
_PER_SECOND = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}


class Duration(float):
    """Span of time that was given with a unit, in seconds; it needs times in seconds."""


def as_time_span(name, value):
    """Return a span of time as a number; a text with a unit as a `Duration`.

    >>> as_time_span("window", 12.5), as_time_span("window", "7d"), as_time_span("window", "30m")
    (12.5, 604800.0, 1800.0)
    >>> as_time_span("window", "12"), as_time_span("window", None)
    (12.0, None)
    """
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value.strip())
    if match is not None:
        number, unit = match.groups()
        return Duration(float(number) * _SECONDS_PER_UNIT[unit])
    try:
        return float(value)
    except ValueError:
        raise InputError(
            Parameter(name, value),
            " is not a span of time; give a number in the unit of the times, or one with a unit: "
            "45s, 30m, 12h, 7d, 2w",
        ) from None


def unit_of_times(times):
    """Return the unit of Unix times from 1973 to 2103; None if they may be something else.

    >>> unit_of_times(np.array([1.6e9, 1.7e9])), unit_of_times(np.array([17.0, 18.0]))
    ('seconds', None)
    """
    for unit, (low, high) in UNIX_TIMES.items():
        if times.size and low <= times.min() and times.max() < high:
            return unit
    return None


def refuse_other_units(times, name):
    """Refuse numbers that are not Unix seconds, if a span of time was given with a unit."""
    unit = unit_of_times(times)
    if unit == "seconds" or times.size == 0:
        return
    problem = "of an unknown unit"
    fix = "a plain number in their unit"
    if unit is not None:
        problem = f"in {unit}"
        fix = f"a plain number in their unit, in which an hour is {3600 * _PER_SECOND[unit]:,}"
    raise InputError(
        f"{name}: times such as {times[0]:.15g} are numbers {problem}, and a span such as 7d needs "
        f"dates or Unix seconds; give {fix}"
    )


def parse_time(text):
    """Return the time that a text means, or None.

    >>> parse_time("12.5"), parse_time("1970-01-02"), parse_time("1970-01-01T01:00+01:00")
    (12.5, 86400.0, 0.0)
    >>> parse_time("soon"), parse_time("nan"), parse_time("1_000")
    (None, None, None)
    """
    # Python reads "1_000" as a number.
    if "_" in text:
        return None
    try:
        value = float(text)
        return value if math.isfinite(value) else None
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Otherwise the result would depend on the time zone of the machine.
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def parse_times(tokens):
    """Return the times of an Arrow array of text, NaN for texts that are not times.

    >>> import pyarrow as pa
    >>> parse_times(pa.array(["1970-01-01 00:00:02.5", "1970-01-02", "x"], pa.large_string()))
    array([2.50e+00, 8.64e+04,      nan])
    """
    import pyarrow as pa

    for kind in (pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            # The first value is tried alone, since a failed cast of a column takes long.
            tokens[:1].cast(kind)
            column = tokens.cast(kind)
        except pa.ArrowInvalid:
            continue
        return arrow_times(column)
    # Mixed spellings: text by text, in Python.
    times = [None if text is None else parse_time(text) for text in tokens.to_pylist()]
    return np.array([np.nan if time is None else time for time in times])


def are_dates(column):
    """Return whether an Arrow array has dates or timestamps, maybe as text, and not numbers."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return True
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return False
    # The first text decides: "12.5" is a number, "2024-01-01" a date.
    first = next((text for text in column[:1].to_pylist() if text is not None), "")
    try:
        float(first)
    except ValueError:
        return True
    return False


def arrow_times(column):
    """Return the times of an Arrow array of numbers, texts, dates or timestamps; NaN for null."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return arrow_times(column.dictionary_decode())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return parse_times(column.cast(pa.large_string()))
    # Timestamps are cast to microseconds, the finest unit that holds all years of ISO dates.
    per_second = 1
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        zone = kind.tz if pa.types.is_timestamp(kind) else None
        column = column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
        per_second = 10**6
    times = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) / per_second
    return np.where(np.isfinite(times), times, np.nan)


class TimeOrder:
    """Check that times are ordered, up to an allowed lateness.

    >>> order = TimeOrder(allowed_lateness=2.0)
    >>> order.check(np.array([1.0, 5.0, 3.0]), None)
    >>> order.check(np.array([7.0, 4.0]), lambda row: f"line {4 + row}")
    Traceback (most recent call last):
    graphsqueak.errors.InputError: line 5: time 4 comes after 7, later than allowed_lateness=2.0 ...
    """

    def __init__(self, allowed_lateness):
        self._allowed_lateness = allowed_lateness
        # Latest time of the edges so far.
        self._latest = -math.inf

    def check(self, time, where):
        """Take the times of the next edges; `where(row)` names the place of one of them."""
        if time.size == 0:
            return
        # Before each edge, the latest time of those before it.
        latest = np.maximum.accumulate(np.maximum(time, self._latest))
        late = time < latest - self._allowed_lateness
        if late.any():
            row = int(np.argmax(late))
            raise InputError(
                f"{where(row)}: time {time[row]:.15g} comes after {latest[row]:.15g}, later than ",
                Parameter("allowed_lateness", self._allowed_lateness),
                " allows; allow more (inf takes any order), or sort the edges by time",
            )
        self._latest = latest[-1]
