"""Spectral clusters are planted blocks, with conductances measured on the graph."""

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, sources
from graphsqueak.analysis import spectral_clusters
from tests.analysis.graphs import SEED, as_file, certified_sparsifier, conductance


def test_the_gap_gives_the_number_of_blocks(tmp_path):
    """Also on a file, and with components of two nodes and of one."""
    for n_blocks in (2, 3, 5):
        n_nodes = 100 * n_blocks
        graph = sources.block_model(
            n_nodes, 30 * n_nodes, n_blocks=n_blocks, within=0.7, random_state=SEED
        ).to_edge_list()
        small = [n_nodes, n_nodes + 1]
        tail, head = np.append(graph.tail, small[0]), np.append(graph.head, small[1])
        graph = EdgeList(tail=tail, head=head, n_nodes=n_nodes + 3)
        found = spectral_clusters(graph, random_state=SEED)
        assert found.n_clusters == n_blocks
        assert found.labels[n_nodes:].tolist() == [-1, -1, -1]
        blocks = [found.labels[block:n_nodes:n_blocks] for block in range(n_blocks)]
        assert sorted(int(one[0]) for one in blocks) == list(range(n_blocks))
        assert all((one == one[0]).all() for one in blocks)
        for label in range(n_blocks):
            known = conductance(graph, found.labels == label)
            assert found.conductance[label] == pytest.approx(known)
        assert found.gap > 0.1
    read = spectral_clusters(as_file(graph, tmp_path), n_edges=4_000, random_state=SEED)
    order = np.argsort(read.ids)
    assert read.n_clusters == 5
    assert (
        len({*zip(read.labels[order].tolist(), found.labels[: order.size].tolist(), strict=True)})
        == 6
    )


def test_components_are_clusters_if_they_are_large():
    blocks = [sources.complete(30).to_edge_list()] * 3
    tail = np.concatenate([one.tail + 30 * i for i, one in enumerate(blocks)])
    head = np.concatenate([one.head + 30 * i for i, one in enumerate(blocks)])
    found = spectral_clusters(EdgeList(tail=tail, head=head), random_state=SEED)
    assert found.n_clusters == 3
    assert len(set(zip(np.repeat([0, 1, 2], 30).tolist(), found.labels.tolist(), strict=True))) == 3
    assert found.conductance.tolist() == [0.0] * 3


def test_bounds_contain_the_conductances_of_the_graph():
    graph, kept = certified_sparsifier()
    clusters = spectral_clusters(kept, 4, random_state=SEED)
    known = [conductance(graph, clusters.labels == label) for label in range(4)]
    assert (clusters.lower < known).all()
    assert (known < clusters.upper).all()
    assert "upper bound" in clusters._repr_html_()


def test_a_number_of_clusters_out_of_range_is_an_error():
    path = sources.path(5).to_edge_list()
    with pytest.raises(InputError, match="n_clusters=1 must be at least 2"):
        spectral_clusters(path, 1)
    with pytest.raises(InputError, match="7 clusters are too many for the 5 nodes"):
        spectral_clusters(path, 7)


def test_a_graph_with_fewer_nodes_than_the_largest_number_of_clusters():
    triangles = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)]
    found = spectral_clusters(EdgeList.from_pairs(triangles), random_state=SEED)
    assert found.n_clusters == 2
    assert len(set(found.labels[:3])) == len(set(found.labels[3:])) == 1
