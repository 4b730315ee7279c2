"""A graph in memory and the same graph streamed have the same degrees, components and vectors."""

import numpy as np
import pytest

from graphsqueak import InputError, sources
from graphsqueak.analysis.analyzed_graph import AnalyzedGraph, induced_subgraph, on_nodes_of
from tests.analysis.graphs import SEED, as_file, certified_sparsifier, examples


@pytest.fixture
def both(tmp_path):
    """A graph with components of 400, 3, 2 and 1 nodes, in memory and from a file of its edges."""
    graph = examples()["pieces"]
    streamed = AnalyzedGraph(as_file(graph, tmp_path), n_edges=4_000, random_state=SEED)
    return AnalyzedGraph(graph, random_state=SEED), streamed


def test_degrees_and_components_do_not_depend_on_streaming(both):
    in_memory, streamed = both
    assert streamed.is_streamed
    assert not in_memory.is_streamed
    np.testing.assert_allclose(streamed.degrees, in_memory.degrees[streamed.ids])
    for analyzed in both:
        sizes = np.bincount(analyzed.components)
        assert sorted(sizes[sizes > 1].tolist()) == [2, 3, 400]


def test_eigenvectors_of_selected_components_are_zero_elsewhere(both):
    values = []
    for analyzed in both:
        is_large = analyzed.large_components(3)
        assert np.count_nonzero(is_large) == 400
        found, vectors = analyzed.eigenpairs(2, normalized=True, tol=1e-5, nodes=is_large)
        assert not vectors[~is_large].any()
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(2), atol=1e-6)
        values.append(found)
    np.testing.assert_allclose(values[0], values[1], rtol=1e-6)


def test_bounds_exist_for_certified_sparsifiers_only():
    graph, kept = certified_sparsifier()
    assert AnalyzedGraph(graph).bounds_on([1.0], "cuts") == (None, None)
    lower, upper = AnalyzedGraph(kept).bounds_on([0.9], "conductances", largest=1.0)
    assert lower[0] < 0.9
    assert upper[0] == 1.0


def test_subgraphs_and_graphs_on_the_nodes_of_another():
    path = sources.path(5).to_edge_list()
    part = induced_subgraph(path, np.array([1, 2, 4]))
    assert (part.n_nodes, part.tail.tolist(), part.head.tolist()) == (3, [0], [1])
    with pytest.raises(InputError):
        on_nodes_of(path, sources.path(6).to_edge_list())
