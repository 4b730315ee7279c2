"""Labels find their nodes: by number, by id, and by ids that only look like numbers."""

import networkx as nx
import numpy as np
import pytest

from graphsqueak import EdgeList, InputError
from graphsqueak.ssl.labels import (
    GivenLabels,
    class_labels,
    encode_classes,
    is_unlabeled,
    real_labels,
)

NAMED = EdgeList.from_pairs([("7", "ann"), ("ann", "12"), ("12", "bob")])


def test_numbers_stand_for_their_digits_where_nodes_are_named_by_text():
    labels = class_labels({12: "b", 7: "a", "bob": "b"}, NAMED)
    assert labels.nodes.tolist() == [0, 2, 3]
    assert labels.classes[labels.code].tolist() == ["a", "b", "b"]


def test_text_does_not_stand_for_a_number():
    graph = EdgeList(tail=[0], head=[1], ids=np.array([7, 12]))
    with pytest.raises(InputError, match="node '7', which is not in the graph"):
        class_labels({"7": "a"}, graph)


@pytest.mark.parametrize("name", [2**70, (3, 4), 2.0])
def test_any_id_that_the_graph_has_is_found(name):
    graph = EdgeList.from_networkx(nx.Graph([(1, "x"), ("x", name)]))
    labels = class_labels({name: "a", 1: "b"}, graph)
    assert [graph.ids.tolist()[node] for node in labels.nodes] == [1, name]


def test_ids_above_the_signed_integers():
    ids = np.array([2**63 + 1, 5, 2**63 + 2], dtype=np.uint64)
    graph = EdgeList(tail=[0, 1], head=[1, 2], ids=ids)
    assert class_labels({2**63 + 2: "a", 5: "b"}, graph).nodes.tolist() == [1, 2]


@pytest.mark.parametrize(("cut", "y"), [(1, ["a", -1, "b", -1]), (3, {"ann": "a", 12: "b"})])
def test_nodes_may_be_asked_for_in_pieces(cut, y):
    given = GivenLabels(y, is_unlabeled)
    pieces = [given.find(NAMED.ids, 0, cut), given.find(NAMED.ids, cut, 4)]
    whole = given.find(NAMED.ids, 0, 4)
    np.testing.assert_array_equal(np.concatenate(pieces), whole)
    np.testing.assert_array_equal(given.values[whole[whole >= 0]], ["a", "b"])


def test_an_array_is_by_number_even_where_nodes_have_ids():
    assert class_labels([-1, 5, -1, 6], NAMED).nodes.tolist() == [1, 3]
    assert GivenLabels([-1, 5, -1, 6], is_unlabeled).by_id(NAMED.ids) == {"ann": 5, "bob": 6}


def test_classes_of_several_types_are_sorted_as_text():
    encoded = encode_classes({0: "b", 1: 3, 2: "a"})
    assert encoded.classes.tolist() == [3, "a", "b"]
    assert encoded.code.tolist() == [2, 0, 1]


def test_values_are_those_of_their_nodes():
    labels = real_labels({"bob": 2.5, "7": None, 12: -1}, NAMED)
    assert (labels.nodes.tolist(), labels.value.tolist()) == ([2, 3], [-1.0, 2.5])
