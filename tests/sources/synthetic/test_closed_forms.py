"""Deterministic graphs have the spectra that networkx computes, whatever the batch size."""

import networkx as nx
import numpy as np
import pytest

from graphsqueak import InputError, sources


@pytest.mark.parametrize(
    ("source", "reference"),
    [
        (sources.path(7), nx.path_graph(7)),
        (sources.path(1), nx.path_graph(1)),
        (sources.cycle(6), nx.cycle_graph(6)),
        (sources.star(6), nx.star_graph(5)),
        (sources.complete(9), nx.complete_graph(9)),
        (sources.complete_bipartite(3, 4), nx.complete_bipartite_graph(3, 4)),
        (sources.grid(4, 5), nx.grid_2d_graph(4, 5)),
        (sources.grid(1, 5), nx.path_graph(5)),
        (sources.grid(5, 1), nx.path_graph(5)),
        (sources.barbell(4, 3), nx.barbell_graph(4, 2)),
        (sources.barbell(2), nx.path_graph(4)),
        (sources.hypercube(4), nx.hypercube_graph(4)),
    ],
)
def test_spectrum_equals_networkx(source, reference):
    graph = source.to_edge_list()
    assert graph.n_edges == source.n_edges == reference.number_of_edges()
    np.testing.assert_allclose(
        np.linalg.eigvalsh(graph.laplacian().toarray()),
        nx.laplacian_spectrum(reference),
        atol=1e-10,
    )


@pytest.mark.parametrize(
    ("make", "arguments"), [(sources.complete, (200,)), (sources.grid, (30, 40))]
)
def test_batches_do_not_change_the_stream(make, arguments):
    whole = make(*arguments).to_edge_list()
    pieces = make(*arguments, batch_size=997)
    for _ in range(2):
        batches = list(pieces)
        np.testing.assert_array_equal(np.concatenate([b.tail for b in batches]), whole.tail)
        np.testing.assert_array_equal(np.concatenate([b.head for b in batches]), whole.head)
    assert not (whole.tail == whole.head).any()
    assert pieces.n_edges_read == whole.n_edges


@pytest.mark.parametrize(
    "call",
    [
        lambda: sources.path(0),
        lambda: sources.cycle(2),
        lambda: sources.path(5, batch_size=0),
    ],
)
def test_impossible_sizes_are_refused(call):
    with pytest.raises(InputError):
        call()
