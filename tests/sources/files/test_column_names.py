"""Names of columns show what they hold."""

import pytest

from graphsqueak.sources.files import column_names


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        (["source", "target"], (0, 1)),
        (["weight", "dst", "src"], (2, 1)),
        (["FromNodeId", "To Node Id"], (0, 1)),
        (["time", "from_station", "to_station"], (1, 2)),
        (["source", "target", "target"], None),
        (["ann", "bob"], None),
        # Names of nodes may end in numbers.
        (["user1", "user2"], None),
    ],
)
def test_ends_are_found_by_name(names, ends):
    assert column_names.find_ends(names) == ends


@pytest.mark.parametrize("name", ["id", "rowid", "edge_id", "amount", "Total Cost", "ts", ""])
def test_columns_that_are_not_ends(name):
    assert column_names.excludes_ends(name)


@pytest.mark.parametrize("name", ["user_id", "merchant", "station", "costume"])
def test_columns_that_may_be_ends(name):
    assert not column_names.excludes_ends(name)


def test_two_kinds_of_entities_are_two_different_words():
    assert column_names.name_two_entities(["users", "MovieID"])
    assert not column_names.name_two_entities(["user", "user_id"])
    assert not column_names.name_two_entities(["user", "friend"])


def test_weights_distances_and_indices():
    assert column_names.is_weight_name(" Weight ")
    assert not column_names.is_weight_name("distance")
    assert column_names.is_distance_name("distance_km")
    assert column_names.is_quantity_name("distance_km")
    assert column_names.is_index_name("Unnamed: 0", 0)
    assert not column_names.is_index_name("Unnamed: 0", 1)
    assert column_names.is_index_name("__index_level_0__", 3)
