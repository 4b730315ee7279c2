"""Conversion gives the matrices of networkx, and networkx graphs."""

import networkx as nx
import numpy as np
import pytest

from graphsqueak.integrations.networkx_backend import convert_from_nx, convert_to_nx
from tests.integrations.networkx_backend.graphs import connected_graph


def odd_graphs():
    """Nodes out of order, of other kinds, hidden by a view; loops, parallel edges, few weights."""
    G = nx.Graph([(2, 0, {"weight": 2.5}), (0, 1), (1, 1, {"weight": 4.0}), (3, 2)])
    M = nx.MultiGraph([(1, 0, {"weight": 2.0}), (0, 1), (1, 1), (2, 0)])
    line = nx.path_graph(4)
    yield from (G, nx.relabel_nodes(G, str), M, line, nx.Graph())
    yield from (line.subgraph([3, 2, 0]), M.subgraph([0, 1]), nx.freeze(G))


@pytest.mark.parametrize("number", range(8))
def test_conversion_gives_the_matrix_of_networkx(number):
    G = list(odd_graphs())[number]
    found = convert_from_nx(G, edge_attrs={"weight": 1})
    assert list(found) == list(G)
    if len(G):
        expected = nx.to_scipy_sparse_array(G).toarray()
        assert np.array_equal(found.adjacency("weight").toarray(), expected)


def test_converted_graphs_are_converted_back():
    G = connected_graph(37)
    back = convert_to_nx(convert_from_nx(G))
    assert nx.is_isomorphic(back, G)
    assert {frozenset(e): d for *e, d in back.edges(data="weight")} == {
        frozenset(e): d for *e, d in G.edges(data="weight")
    }
    assert convert_to_nx(3.5) == 3.5
