"""Communities are planted blocks, with the modularity of networkx."""

import importlib.util

import networkx as nx
import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, sources, sparsify
from graphsqueak.analysis import communities
from tests.analysis.graphs import SEED, as_file, examples


def test_communities_are_the_blocks_and_their_modularity_is_networkxs(tmp_path):
    graph = examples()["blocks"]
    kept = sparsify(graph, keep=0.6, random_state=SEED)
    found = communities(kept, method="louvain", against=graph, random_state=SEED)
    assert found.n_communities == 4
    assert len(set(zip((np.arange(400) % 4).tolist(), found.labels.tolist(), strict=True))) == 4
    assert found.ami == pytest.approx(1.0)
    assert "AMI 1.000" in str(found)
    groups = [set(np.flatnonzero(found.labels == label).tolist()) for label in range(4)]
    known = nx.community.modularity(kept.to_networkx(), groups)
    assert found.modularity == pytest.approx(known)
    read = communities(as_file(graph, tmp_path), method="louvain", n_edges=4_000, random_state=SEED)
    groups = [set(read.ids[read.labels == label].tolist()) for label in range(4)]
    known = nx.community.modularity(graph.to_networkx(), groups)
    assert read.modularity == pytest.approx(known)  # the graph's, not the sparsifier's


def test_leiden_is_used_if_igraph_is_installed():
    graph = sources.barbell(8).to_edge_list()
    if importlib.util.find_spec("igraph") is None:
        assert communities(graph, random_state=SEED).method == "louvain"
        with pytest.raises(InputError, match="method='leiden' needs igraph"):
            communities(graph, method="leiden")
    else:
        assert communities(graph, random_state=SEED).method == "leiden"


def test_a_second_graph_must_share_nodes():
    other = EdgeList.from_pairs([("a", "b"), ("b", "c")])
    with pytest.raises(InputError, match="no node in common"):
        communities(sources.barbell(4).to_edge_list(), method="louvain", against=other)
