"""What a column holds is inferred from its values."""

import numpy as np
import pytest

from graphsqueak.sources.files.contents import Content, content_of, contents_of, time_unit


@pytest.mark.parametrize(
    ("fields", "content"),
    [
        ([], Content.OTHER),
        ([b"", b""], Content.NOTHING),
        ([b"1", b"-2", b"7.0"], Content.INTEGERS),
        ([b"1", b"0.5", b"1e3"], Content.FRACTIONS),
        ([b"ann", b"7"], Content.TEXTS),
        ([b"2024-01-01", b"2024-01-02T10:00"], Content.TIMES),
        # A day in January or in February.
        ([b"01/02/2024", b"03/02/2024"], Content.DATES),
        ([b"10:30", b"11:45:10.5"], Content.DATES),
        ([b"Mon Jan 12 10:30:00 2024"] * 2, Content.DATES),
    ],
)
def test_content_of_a_column(fields, content):
    assert content_of(fields) is content


def test_one_field_in_twenty_may_be_of_another_kind():
    numbers = [b"%d" % k for k in range(40)]
    assert content_of([*numbers, b"?"]) is Content.INTEGERS
    assert content_of([*numbers[:18], b"?"]) is Content.TEXTS


def test_the_first_two_columns_are_not_unix_times():
    rows = [[b"%d" % (1_600_000_000 + 60 * k)] * 3 for k in range(5)]
    assert contents_of(rows, 3) == [Content.INTEGERS, Content.INTEGERS, Content.TIMES]


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([1.6e9, 1.7e9, 1.65e9], "seconds"),
        ([1.6e12, 1.7e12], "milliseconds"),
        ([1.6e15, 1.7e15], "microseconds"),
        ([1.6e18, 1.7e18], "nanoseconds"),
        ([20040417, 20031231], "days"),
        # Month 13.
        ([20041317, 20031231], None),
        ([1.6e9, 1.6e9], None),
        # A factor of more than four, and not sorted.
        ([2e9, 1e8, 1.5e9], None),
        # The same, sorted in either direction.
        ([1e8, 1.5e9, 2e9], "seconds"),
        ([2e9, 1.5e9, 1e8], "seconds"),
        ([5.0, 7.0], None),
    ],
)
def test_unit_of_times(values, unit):
    assert time_unit(np.array(values)) == unit


def test_sorted_times_may_have_a_few_steps_back():
    times = np.linspace(1e8, 4e9, 101)
    for n_back, unit in ((2, "seconds"), (10, None)):
        values = times.copy()
        values[5 : 5 + n_back] = values[5 : 5 + n_back][::-1]
        assert time_unit(values) == unit
