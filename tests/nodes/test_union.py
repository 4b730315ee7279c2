"""Test that the nodes of several streams are numbered as one, the first stream first."""

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.nodes.integer_ids import IntegerIds
from graphsqueak.nodes.text_ids import TextIds
from graphsqueak.nodes.union import merge_ids, pack_ids, unpack_ids


def text_ids(*names):
    ids = TextIds()
    ends = np.cumsum([len(name) for name in names])
    ids.number_packed(np.frombuffer("".join(names).encode(), dtype=np.uint8), ends)
    return ids


@pytest.mark.parametrize(
    ("first", "second", "kind", "merged"),
    [
        (np.array([7, 3]), np.array([5, 7]), IntegerIds, [7, 3, 5]),
        (text_ids("b", "a"), text_ids("c", "b"), TextIds, ["b", "a", "c"]),
        (np.array([7, 3]), text_ids("c", "b"), np.ndarray, [7, 3, "c", "b"]),
        (np.array([7, 3], dtype=np.uint64), np.array([5, 7]), np.ndarray, [7, 3, 5]),
    ],
)
def test_ids_of_two_streams_are_merged(first, second, kind, merged):
    ids, nodes = merge_ids([(first, 2), (None, 0), (second, 2)])
    assert isinstance(ids, kind)
    assert np.asarray(ids).tolist() == merged
    assert nodes[0].tolist() == [0, 1]
    assert nodes[1].size == 0
    names = np.asarray(second).tolist()
    assert [merged[node] for node in nodes[2]] == names
    assert {node.dtype for node in nodes} == {np.dtype(np.int32)}


def test_plain_numbers_do_not_change():
    ids, nodes = merge_ids([(None, 2), (None, 3)])
    assert ids is None
    assert [node.tolist() for node in nodes] == [[0, 1], [0, 1, 2]]
    with pytest.raises(InputError, match="streams with ids and streams without"):
        merge_ids([(None, 2), (np.array([1]), 1)])


@pytest.mark.parametrize("ids", [None, np.array([3, 9]), text_ids("zoe", "b")])
def test_packed_ids_are_unpacked(ids):
    back = unpack_ids(pack_ids(ids, 2))
    assert (back is None) == (ids is None)
    assert np.asarray(back).tolist() == np.asarray(ids).tolist()
