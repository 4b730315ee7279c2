"""sparsify(): what one call does beyond the stream."""

import numpy as np
import pytest

from graphsqueak import InputError, sources, sparsify
from tests.sparsifiers.stream.test_stream import small_graph


def test_small_graphs_come_back_whole():
    graph = small_graph()
    result = sparsify(graph, n_edges=10_000)
    np.testing.assert_allclose(result.laplacian().toarray(), graph.laplacian().toarray())


def test_too_small_a_budget_is_refused():
    with pytest.raises(InputError, match="cannot hold 50 nodes together"):
        sparsify(sources.complete(50), n_edges=30)


def test_a_graph_in_memory_gets_its_share():
    graph = sources.erdos_renyi(1000, 1_500_000, random_state=31).to_edge_list()
    assert 0.9 * 75_000 <= sparsify(graph, keep=0.05, random_state=31).n_edges <= 75_000
