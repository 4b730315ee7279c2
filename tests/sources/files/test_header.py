"""Rules that decide whether the first line names the columns."""

import pytest

from graphsqueak import InputError
from graphsqueak.sources.files.header import FirstLine, has_header, lacks_name_of_row_names


def lines(text):
    return [line.encode().split(b",") for line in text.split()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("source,target 1,2 2,3", True),
        ("user_id,item_id u1,i1 u2,i2", True),
        ("a,b 1,2 2,3", True),
        ("ann,bob bob,cy cy,dan", False),
        ("1,2 2,3 3,4", False),
    ],
)
def test_first_lines(text, expected):
    first, *below = lines(text)
    assert has_header(FirstLine(first, below)) is expected


def test_names_that_the_user_chose_are_a_header():
    first, *below = lines("ann,bob bob,cy")
    assert has_header(FirstLine(first, below, chosen=("ann", "bob")))


def test_names_of_ends_that_occur_below_are_refused():
    first, *below = lines("from,to ann,from to,bob")
    with pytest.raises(InputError, match="may name the columns or be an edge"):
        has_header(FirstLine(first, below))


def test_r_writes_no_name_for_row_names():
    assert lacks_name_of_row_names(lines("from,to 1,ann,bob 2,bob,cy"))
    assert not lacks_name_of_row_names(lines("1,2 1,2,3 2,3,4"))
    assert not lacks_name_of_row_names(lines("from,to ann,bob"))
