"""Test numberings of many batches, and matching of nodes by id."""

import pickle

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, read_edges
from graphsqueak.nodes.integer_ids import IntegerIds
from graphsqueak.nodes.numbering import (
    NodeMatching,
    Numbering,
    ObjectIds,
    make_id_table,
    make_node_finder,
)
from graphsqueak.nodes.text_ids import TextIds


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


def test_all_nodes_of_a_batch_are_found_after_pickling():
    matching = NodeMatching(EdgeList.from_pairs([("cy", "bob"), ("bob", "ann")]))
    stream = EdgeList.from_pairs([("ann", "bob"), ("ann", "cy")])
    assert matching.nodes(stream).tolist() == [2, 1, 0]
    copied = pickle.loads(pickle.dumps(matching))  # noqa: S301 - our own bytes
    assert copied.nodes(stream).tolist() == [2, 1, 0]


def test_objects_are_numbered_in_order_of_first_appearance():
    ids = ObjectIds()
    assert ids.number([(1, 2), "a", (1, 2), None]).tolist() == [0, 1, 0, 2]
    assert np.asarray(ids).tolist() == [(1, 2), "a", None]
    assert len(ids) == 3


def test_a_table_of_the_kind_of_all_ids_is_made():
    assert isinstance(make_id_table([np.array([7]), np.array([8])]), IntegerIds)
    assert isinstance(make_id_table([TextIds(), TextIds()]), TextIds)
    assert isinstance(make_id_table([np.array([7]), TextIds()]), ObjectIds)


@pytest.mark.parametrize("kind", ["integers", "texts", "both"])
def test_several_sources_are_numbered_as_one(tmp_path, kind):
    """Three files of overlapping nodes, in batches: every id once, in order of appearance."""
    rng, lines = np.random.default_rng(61_403), []
    numbering, found = Numbering(), []
    for part in range(3):
        ends = rng.integers(60 * part, 60 * part + 120, size=(300, 2))
        word = "n{}" if kind == "texts" or (kind == "both" and part == 1) else "{}"
        own = [[word.format(u), word.format(v)] for u, v in ends if u != v]
        path = tmp_path / f"{part}.tsv"
        path.write_text("".join("\t".join(pair) + "\n" for pair in own))
        lines += own if word == "n{}" else [[int(u), int(v)] for u, v in own]
        for batch in read_edges(path, batch_size=100):
            tail, head, n_nodes = numbering.apply(batch)
            found += zip(tail.tolist(), head.tolist(), strict=True)
            assert n_nodes == 1 + max(map(max, found))
    names = np.asarray(numbering.ids).tolist()
    assert [[names[u], names[v]] for u, v in found] == lines
    assert names == list(dict.fromkeys(name for pair in lines for name in pair))
    assert isinstance(numbering.ids, np.ndarray) == (kind == "both")
