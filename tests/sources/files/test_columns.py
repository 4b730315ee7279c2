"""Roles of the columns, chosen by the user, by name or by position."""

import pytest

from graphsqueak import InputError
from graphsqueak.sources.files.columns import choose_columns
from graphsqueak.sources.files.contents import Content


@pytest.mark.parametrize(
    ("names", "options", "roles"),
    [
        (None, {}, "source target weight"),
        (["a", "b", "weight"], {}, "source target weight"),
        (["w", "dst", "src"], {}, "weight target source"),
        (["", "from", "to"], {}, "skip source target"),
        (None, {"weighted": False}, "source target skip"),
        (None, {"columns": (2, 0)}, "target skip source"),
        (["x", "y", "z"], {"columns": ("z", "x", "y")}, "target weight source"),
        (["x", "y", "when"], {"time": "when"}, "source target time"),
        (["x", "y", "cost"], {"weights_are": "distance"}, "source target weight"),
    ],
)
def test_roles_of_three_columns(names, options, roles):
    assert choose_columns(3, names, **options) == tuple(roles.split())


@pytest.mark.parametrize(
    ("n_columns", "names", "options", "message"),
    [
        (1, None, {}, "one column where an edge needs two"),
        (4, None, {}, "no header says which are source, target and weight"),
        (3, ["a", "b", "c"], {}, "none of them is called weight"),
        (2, None, {"weighted": True}, "no weight column"),
        (3, None, {"columns": (0, 3)}, "no column 3: 3 columns are counted from 0"),
        (3, None, {"columns": ("a", "b")}, "no column named 'a'"),
        (3, None, {"columns": (0, 0)}, "names a column twice"),
        (3, None, {"columns": (0,)}, "two or three entries"),
        (3, None, {"columns": (0, 1), "time": 1}, "choose another"),
        (3, None, {"weighted": False, "weights_are": "distance"}, "needs weights"),
    ],
)
def test_choices_that_cannot_be_are_refused(n_columns, names, options, message):
    with pytest.raises(InputError, match=message):
        choose_columns(n_columns, names, **options)


def test_empty_columns_are_skipped():
    contents = [Content.NOTHING, Content.TEXTS, Content.TEXTS]
    assert choose_columns(3, None, contents=contents) == ("skip", "source", "target")
