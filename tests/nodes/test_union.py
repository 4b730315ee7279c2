"""The nodes of several streams are numbered as one, the first stream's first."""

import numpy as np
import pytest

from graphsqueak import InputError, read_edges
from graphsqueak.nodes.integer_ids import IntegerIds
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.nodes.text_ids import TextIds
from graphsqueak.nodes.union import merge_ids, pack_ids, unpack_ids


def text_ids(*names):
    ids = TextIds()
    ends = np.cumsum([len(name) for name in names])
    ids.number_packed(np.frombuffer("".join(names).encode(), dtype=np.uint8), ends)
    return ids


@pytest.mark.parametrize(
    ("first", "second", "kind", "united"),
    [
        (np.array([7, 3]), np.array([5, 7]), IntegerIds, [7, 3, 5]),
        (text_ids("b", "a"), text_ids("c", "b"), TextIds, ["b", "a", "c"]),
        (np.array([7, 3]), text_ids("c", "b"), np.ndarray, [7, 3, "c", "b"]),
        (np.array([7, 3], dtype=np.uint64), np.array([5, 7]), np.ndarray, [7, 3, 5]),
    ],
)
def test_two_streams(first, second, kind, united):
    ids, nodes = merge_ids([(first, 2), (None, 0), (second, 2)])
    assert isinstance(ids, kind)
    assert np.asarray(ids).tolist() == united
    assert nodes[0].tolist() == [0, 1]
    assert nodes[1].size == 0
    names = np.asarray(second).tolist()
    assert [united[node] for node in nodes[2]] == names
    assert {node.dtype for node in nodes} == {np.dtype(np.int32)}


def test_plain_numbers_stay():
    ids, nodes = merge_ids([(None, 2), (None, 3)])
    assert ids is None
    assert [node.tolist() for node in nodes] == [[0, 1], [0, 1, 2]]
    with pytest.raises(InputError, match="streams with ids and streams without"):
        merge_ids([(None, 2), (np.array([1]), 1)])


@pytest.mark.parametrize("ids", [None, np.array([3, 9]), text_ids("zoe", "b")])
def test_packed_ids_come_back(ids):
    back = unpack_ids(pack_ids(ids, 2))
    assert (back is None) == (ids is None)
    assert np.asarray(back).tolist() == np.asarray(ids).tolist()


@pytest.mark.parametrize("kind", ["integers", "texts", "both"])
def test_sources_one_after_the_other_are_numbered_as_one(tmp_path, kind):
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
