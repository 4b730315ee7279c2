"""Messages suggest the columns that can be meant."""

import pytest

from graphsqueak.sources.files.contents import Content
from graphsqueak.sources.files.suggestions import (
    Suggestion,
    columns_parameter,
    suggest_columns,
    suggestion_in_words,
    time_parameter,
)

KINDS = {
    "i": Content.INTEGERS,
    "x": Content.TEXTS,
    "f": Content.FRACTIONS,
    "t": Content.TIMES,
    "d": Content.DATES,
}


@pytest.mark.parametrize(
    ("names", "contents", "suggestion"),
    [
        ("id user friend", "iii", Suggestion((1, 2))),
        ("user amount merchant ts", "iiit", Suggestion((0, 2), weight=1, time=3)),
        ("line from_city to_city depot", "ixxx", Suggestion((1, 2))),
        ("x y z", "xxx", Suggestion(None)),
        (None, "xxf", Suggestion((0, 1), weight=2)),
        # The date and the time of day in two columns cannot be read.
        (None, "xxtd", Suggestion((0, 1))),
        # Two possible weights.
        (None, "xxff", Suggestion((0, 1))),
    ],
)
def test_columns_that_remain_are_suggested(names, contents, suggestion):
    kinds = [KINDS[kind] for kind in contents]
    assert suggest_columns(names and names.split(), kinds) == suggestion


def test_columns_are_given_by_name_if_names_are_plain():
    assert str(columns_parameter((0, 1), ["a", "b"])) == "columns=('a', 'b')"
    # On the command line, "3" is a position and a comma separates names.
    for names in (["a", "3"], ["a", "b,c"], ["a", "a"], ["a", ""], None):
        assert str(columns_parameter((0, 1), names)) == "columns=(0, 1)"
    assert str(time_parameter(1, ["a", "when"])) == "time='when'"


def test_words_of_a_suggestion():
    words = str(suggestion_in_words(Suggestion((0, 1), weight=2, time=3), ["u", "v", "cost", "t"]))
    assert words.startswith("give columns=('u', 'v') if these are source and target, or ")
    assert "columns=('u', 'v', 'cost') for the weights as well" in words
    assert "weights_are='distance' if small is close; time='t' reads the times" in words
    assert "by name or by number from 0" in str(suggestion_in_words(Suggestion(None), None))
