"""Times of edges: numbers in any unit, or dates, which become seconds since 1970.

    parse_times     a column of text: numbers as they are, ISO dates and date-times in seconds
                    (UTC, unless they name another zone)
    arrow_times     the same of a column of a Parquet or Arrow file, with timestamps and dates
    TimeOrder       whether times come in order, up to a slack

Times are held in double precision: seconds to a fraction of a microsecond, Unix nanoseconds to
about 200 of them.
"""

import math
from datetime import UTC, datetime

import numpy as np

from graphsqueak.errors import InputError

__all__ = ["TimeOrder", "arrow_times", "parse_time", "parse_times"]

_MICRO = 1e6


def parse_time(text):
    """One time, None if it is none.

    >>> parse_time("12.5"), parse_time("1970-01-02"), parse_time("1970-01-01T01:00+01:00")
    (12.5, 86400.0, 0.0)
    >>> parse_time("soon"), parse_time("nan"), parse_time("1_000")
    (None, None, None)
    """
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
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def parse_times(tokens):
    """Times of an Arrow array of text, NaN where there is none.

    >>> import pyarrow as pa
    >>> parse_times(pa.array(["1970-01-01 00:00:02.5", "1970-01-02", "x"], pa.large_string()))
    array([2.50e+00, 8.64e+04,      nan])
    """
    import pyarrow as pa

    for kind in (pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            tokens[:1].cast(kind)  # a column that cannot be cast takes long to say so
            column = tokens.cast(kind)
        except pa.ArrowInvalid:
            continue
        return arrow_times(column)
    times = [None if text is None else parse_time(text) for text in tokens.to_pylist()]
    return np.array([np.nan if time is None else time for time in times])


def arrow_times(column):
    """Times of an Arrow array of numbers, texts, dates or timestamps, NaN where there is none."""
    import pyarrow as pa

    held = column.type
    if pa.types.is_dictionary(held):
        return arrow_times(column.dictionary_decode())
    if pa.types.is_string(held) or pa.types.is_large_string(held) or pa.types.is_string_view(held):
        return parse_times(column.cast(pa.large_string()))
    if pa.types.is_timestamp(held) or pa.types.is_date(held):
        zone = held.tz if pa.types.is_timestamp(held) else None
        micro = column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
        times = micro.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) / _MICRO
    else:
        times = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.where(np.isfinite(times), times, np.nan)


class TimeOrder:
    """Edges in the order of their times, none earlier than the latest before it by over `slack`.

    >>> order = TimeOrder(slack=2.0)
    >>> order.check(np.array([1.0, 5.0, 3.0]), None)
    >>> order.check(np.array([7.0, 4.0]), lambda row: f"line {4 + row}")
    Traceback (most recent call last):
    graphsqueak.errors.InputError: line 5: time 4 comes after 7, later than slack=2 allows; ...
    """

    def __init__(self, slack):
        self._slack, self._latest = slack, -math.inf

    def check(self, time, where):
        """Take the times of the next edges; `where(row)` names the place of one of them."""
        if time.size == 0:
            return
        latest = np.maximum.accumulate(np.maximum(time, self._latest))
        late = time < latest - self._slack
        if late.any():
            row = int(np.argmax(late))
            raise InputError(
                f"{where(row)}: time {time[row]:.15g} comes after {latest[row]:.15g}, later than "
                f"slack={self._slack:g} allows; give a larger slack (inf takes any order), or sort "
                "the edges by time"
            )
        self._latest = latest[-1]
