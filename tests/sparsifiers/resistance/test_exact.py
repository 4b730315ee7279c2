"""Exact resistances: every method agrees with the dense reference."""

import numpy as np
import pytest

from graphsqueak import EdgeList
from graphsqueak.sparsifiers.resistance import exact
from graphsqueak.sparsifiers.resistance.exact import exact_resistances
from tests import reference
from tests.sparsifiers.resistance.graphs import weighted_graph


@pytest.mark.parametrize("n_pairs", [None, 9], ids=["solve per node", "solve per pair"])
@pytest.mark.parametrize("use_dense", [False, True], ids=["solves", "dense"])
def test_all_methods_agree_with_the_dense_reference(n_pairs, use_dense, monkeypatch):
    monkeypatch.setattr(exact, "MAX_BLOCK_ENTRIES", 60 * 7)
    graph = weighted_graph()
    pairs = np.argwhere(np.triu(np.ones((60, 60)), 1))[:n_pairs]
    found = exact_resistances(
        graph,
        graph.components(),
        pairs[:, 0],
        pairs[:, 1],
        use_dense=use_dense,
    )
    np.testing.assert_allclose(found, reference.resistances(graph, pairs), rtol=1e-7)


@pytest.mark.parametrize("use_dense", [False, True], ids=["solves", "dense"])
def test_components_and_isolated_nodes(use_dense):
    """Two paths of weights 2 and 3, and a node without edges."""
    graph = EdgeList(tail=[0, 1, 3, 4], head=[1, 2, 4, 5], weight=[2.0, 2.0, 3.0, 3.0], n_nodes=7)
    tail = np.array([0, 0, 1, 3, 3])
    head = np.array([1, 2, 2, 4, 5])
    found = exact_resistances(graph, graph.components(), tail, head, use_dense=use_dense)
    np.testing.assert_allclose(found, [1 / 2, 1, 1 / 2, 1 / 3, 2 / 3])
