"""compare(): the quantities are those of networkx and of dense linear algebra."""

import matplotlib
import networkx as nx
import numpy as np
import pytest

from graphsqueak import EdgeList, compare, sources, sparsify
from tests import reference

matplotlib.use("agg")


@pytest.fixture(scope="module")
def pair():
    graph = sources.block_model(300, 9_000, random_state=11).to_edge_list().simplified()
    return graph, sparsify(graph, keep=0.4, random_state=11)


def test_quantities_are_what_they_say(pair):
    graph, sparsifier = pair
    found = compare(graph, sparsifier, random_state=2)
    for place, one in enumerate(pair):
        values = np.linalg.eigvalsh(one.laplacian().toarray())
        assert np.allclose(found.pairs["eigenvalues"][place], values[1:21])
        rank = nx.pagerank(one.to_networkx(), tol=1e-12)
        assert np.allclose(found.pairs["PageRank"][place], [rank[node] for node in range(300)])
    assert {name for name, _, _ in found.rows()} == set(found.pairs)


def test_errors_stay_below_epsilon(pair):
    found = compare(*pair, random_state=3)
    epsilon = reference.epsilon(*pair)
    worst = {name: most for name, _, most in found.rows()}
    assert max(worst["random cuts"], worst["cluster cuts"], worst["eigenvalues"]) <= epsilon
    assert worst["resistances"] <= 1 / (1 - epsilon) - 1
    assert found.rank_correlation > 0.9


def test_nodes_are_matched_by_id(pair):
    graph, sparsifier = pair
    turned = 299 - np.arange(300)
    other = EdgeList(
        tail=turned[sparsifier.tail],
        head=turned[sparsifier.head],
        weight=sparsifier.weight,
        ids=turned,
    )
    one = compare(graph, sparsifier, random_state=4)
    two = compare(graph, other, random_state=4)
    assert np.allclose(one.pairs["random cuts"], two.pairs["random cuts"])


def test_tables_and_figures(pair):
    found = compare(*pair, random_state=5)
    assert "cluster cuts" in found._repr_html_()
    assert len(found.plot().axes) == len(found.pairs)
