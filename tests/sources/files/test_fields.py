"""Rules for the fields of one line, and what is wrong with a line."""

import pytest

from graphsqueak import InputError
from graphsqueak.sources.files import fields
from graphsqueak.sources.files.schema import TextSchema

TRIPLE = ("source", "target", "weight")


def schema(kind="int64", roles=TRIPLE, **options):
    return TextSchema(",", roles, kind, True, ("#",), 0, 1, **options)


@pytest.mark.parametrize(
    ("lines", "separator"),
    [
        ([b"1\t2", b"2\t3"], "\t"),
        ([b"1;2,5;3", b"2;3,5;4"], ";"),
        ([b"1,2", b"2,3"], ","),
        ([b"1  2", b"2 3"], ""),
        # Every line ends with a separator.
        ([b"1,2,", b"2,3,"], ","),
        # Most lines decide.
        ([b"1,2", b"2 3", b"3,4"], ","),
    ],
)
def test_the_separator_splits_most_lines_alike(lines, separator):
    assert fields.find_separator(lines) == separator


@pytest.mark.parametrize(
    ("lines", "message"),
    [([b"1::2", b"2::3"], "separated by two characters"), ([b"1|2", b"2|3"], r"delimiter='\|'")],
)
def test_other_separators_are_suggested(lines, message):
    with pytest.raises(InputError, match=message):
        fields.refuse_unknown_separator(lines)


@pytest.mark.parametrize(
    ("line", "topic", "words"),
    [
        (b"1,2", "columns", "2 columns where 3 were expected"),
        (b'1,"2,3', "columns", "do not match"),
        (b",2,3", "columns", "a node id is empty"),
        (b"x,2,3", "id", "is not an integer from"),
        (b"007,2,3", "id", "would be written back as 7"),
        (b"9007199254740993.0,2,3", "id", "a float beyond 2^53"),
        (b"1,2,", "weight", "the weight is empty"),
        (b"1,2,x", "weight", "is not a number; repair it"),
        (b"1,2,nan", "weight", "is not finite"),
        (b"1,2,-1", "weight", "is negative"),
        (b"1,2,1e308", "weight", "too large"),
    ],
)
def test_a_fault_is_explained(line, topic, words):
    found, message = fields.find_fault(line, schema())
    assert found == topic
    assert words in str(message)


def test_good_lines_have_no_fault():
    assert fields.find_fault(b"1,-2,0.5", schema()) is None
    assert fields.find_fault(b'"a,b",c,1e-3', schema("text")) is None


def test_distances_have_a_finite_inverse():
    smallest = fields.SMALLEST_DISTANCE
    assert 1 / smallest < 1e308
    assert fields.find_fault(f"1,2,{smallest!r}".encode(), schema(are_distances=True)) is None
    for distance in (b"0", b"1e-310"):
        _, message = fields.find_fault(b"1,2," + distance, schema(are_distances=True))
        assert "is zero or below" in str(message)


def test_times_are_numbers_or_dates():
    timed = schema(roles=("source", "target", "time"))
    assert fields.find_fault(b"1,2,2024-01-01", timed) is None
    topic, message = fields.find_fault(b"1,2,soon", timed)
    assert topic == "time"
    assert "is not a time" in str(message)
