"""Nodes are matched by id, whatever the ids are and however they are numbered."""

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError
from graphsqueak.nodes.numbering import NodeMatching, Numbering, make_node_finder


@pytest.mark.parametrize(
    ("known", "asked", "nodes"),
    [
        (None, np.array([2, 0, 3, -1]), [2, 0, -1, -1]),
        (None, np.array([2, 2**63], dtype=np.uint64), [2, -1]),
        (None, np.array(["a"], dtype=object), [-1]),
        (np.array([7, -3, 5]), np.array([5, 6, 7]), [2, -1, 0]),
        (np.array([7, -3, 5]), np.array(["a"], dtype=object), [-1]),
        (np.array(["b", "a", 9], dtype=object), np.array(["a", "c"], dtype=object), [1, -1]),
        (np.array(["b", "a", 9], dtype=object), np.array([9, 8]), [2, -1]),
    ],
)
def test_ids_are_found(known, asked, nodes):
    assert make_node_finder(known, 3)(asked).tolist() == nodes


def test_large_ids_are_not_compared_as_floats():
    known = np.arange(2**53, 2**53 + 4, dtype=np.uint64)
    find = make_node_finder(known, 4)
    assert find(known.astype(np.int64)).tolist() == [0, 1, 2, 3]
    assert find(np.array([-1, 2**53 + 1])).tolist() == [-1, 1]
    assert make_node_finder(known.astype(np.int64), 4)(known[::-1]).tolist() == [3, 2, 1, 0]
    assert make_node_finder(np.array([-1]), 1)(np.array([2**64 - 1], dtype=np.uint64)).tolist() == [
        -1
    ]


def test_a_stream_in_the_numbering_of_a_graph():
    graph = EdgeList.from_pairs([("cy", "bob"), ("bob", "ann")])
    matching = NodeMatching(graph)
    for batch in (EdgeList.from_pairs([("ann", "bob")]), EdgeList.from_pairs([("ann", "cy")])):
        matching = NodeMatching(graph)
        tail, head = matching.ends(batch)
        assert graph.ids[tail].tolist() == batch.ids[batch.tail].tolist()
        assert graph.ids[head].tolist() == batch.ids[batch.head].tolist()
    with pytest.raises(InputError, match="node 'dee' of the graph is not in the sparsifier"):
        matching.ends(EdgeList.from_pairs([("ann", "cy"), ("ann", "dee")]))


def test_one_numbering_of_many_batches():
    numbering = Numbering()
    batches = [EdgeList.from_pairs(pairs) for pairs in ([("a", "b")], [("c", "b")], [("d", "a")])]
    found = [numbering.apply(batch) for batch in batches]
    assert [(tail.tolist(), head.tolist(), n) for tail, head, n in found] == [
        ([0], [1], 2),
        ([2], [1], 3),
        ([3], [0], 4),
    ]
    assert numbering.ids.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(InputError, match="batches with ids and batches without"):
        numbering.apply(EdgeList(tail=[0], head=[1]))


def test_batches_of_one_source_stay_as_they_are():
    edges = EdgeList.from_pairs([("a", "b"), ("b", "c")])
    numbering = Numbering()
    for part in (edges.part(0, 1), edges.part(1, 2)):
        tail, _, n_nodes = numbering.apply(part)
        assert tail is part.tail
        assert n_nodes == 3
    assert numbering.ids is edges.node_ids
