"""What every source shares: passes, counters, ids."""

import numpy as np
import pytest

import graphsqueak.sources
from graphsqueak.graph import EdgeList
from graphsqueak.sources import EdgeSource
from graphsqueak.sources.edge_source import Batcher


class Path(EdgeSource):
    def __init__(self, n_edges, ids=None):
        super().__init__()
        self._n_edges, self._ids = n_edges, ids

    def _batches(self):
        for e in range(self._n_edges):
            self.n_self_loops += 1
            yield EdgeList.from_validated([e], [e + 1], [2.0], n_nodes=e + 2)


def test_counters_begin_anew_with_each_pass():
    path = Path(3)
    for _ in range(2):
        list(path)
        assert (path.n_nodes, path.n_edges_read, path.n_self_loops) == (4, 3, 3)
        assert path.fraction_read == 1.0


def test_ids_are_the_node_numbers_or_those_given():
    path = Path(2)
    assert path.to_edge_list().ids.tolist() == path.ids.tolist() == [0, 1, 2]
    named = Path(2, ids=np.array(["a", "b", "c", "d"]))
    assert named.to_edge_list().ids.tolist() == named.ids.tolist() == ["a", "b", "c"]
    assert named.ids_between(1, 3).tolist() == ["b", "c"]


def test_to_edge_list_carries_everything():
    edges = Path(2).to_edge_list()
    assert (edges.n_self_loops, edges.n_zero_weights) == (2, 0)
    assert edges.weight.tolist() == [2.0, 2.0]


def test_node_numbers_of_64_bits_change_nothing():
    nodes = np.random.default_rng(77).integers(50, size=(3000, 2))
    narrow = Batcher(1000, None)
    wide = Batcher(1000, None, n_nodes=2**31)
    for first, second in zip(narrow.add(nodes, None), wide.add(nodes, None), strict=True):
        assert np.array_equal(first.tail, second.tail)
        assert np.array_equal(first.head, second.head)
        assert first.tail.dtype == np.int32
        assert second.tail.dtype == np.int64


def test_the_base_class_has_no_edges_of_its_own():
    with pytest.raises(NotImplementedError):
        list(EdgeSource())


def test_the_table_of_contents_is_true():
    for name in graphsqueak.sources.__all__:
        assert getattr(graphsqueak.sources, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'read_nodes'"):
        _ = graphsqueak.sources.read_nodes
