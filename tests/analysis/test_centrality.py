"""rank(): PageRank, closeness and spanning edges are those of dense algebra and of networkx."""

import networkx as nx
import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, certify, sources, sparsify
from graphsqueak.analysis import rank
from tests.analysis.graphs import SEED, as_file, examples

NAMES = pytest.mark.parametrize("name", ["dense", "blocks", "heavy", "grid", "pieces"])


def dense_closeness(graph):
    """(n - 1) / sum of resistances over the component, by a pseudo-inverse."""
    pinv = np.linalg.pinv(graph.laplacian().toarray())
    component = graph.components()
    scores = np.zeros(graph.n_nodes)
    for u in range(graph.n_nodes):
        own = np.flatnonzero(component == component[u])
        far = (pinv[u, u] + pinv[own, own] - 2 * pinv[u, own]).sum()
        scores[u] = (own.size - 1) / far if own.size > 1 else 0.0
    return scores


@NAMES
def test_pagerank_is_that_of_networkx(name, tmp_path):
    graph = examples()[name]
    known = nx.pagerank(graph.to_networkx(), tol=1e-13, max_iter=1000)
    known = np.array([known[node] for node in range(graph.n_nodes)])
    found = rank(graph)
    np.testing.assert_allclose(found.scores, known, rtol=1e-6)
    best = int(np.argmax(known))
    assert found.top(1) == [(best, pytest.approx(known[best], rel=1e-6))]


def test_pagerank_of_a_file_is_that_of_the_graph(tmp_path):
    graph = examples()["blocks"]
    read = rank(as_file(graph, tmp_path), n_edges=2_000, random_state=SEED)
    held = rank(graph, damping=0.85)
    np.testing.assert_allclose(read.scores, held.scores[read.ids], rtol=1e-5)


@NAMES
def test_closeness_is_that_of_the_pseudo_inverse(name):
    graph = examples()[name]
    np.testing.assert_allclose(rank(graph, "closeness").scores, dense_closeness(graph), rtol=1e-6)


@NAMES
def test_a_sketch_of_closeness_is_within_six_sigma(name):
    """1 / closeness is a sum of n p_u and the mean of p: no noisier than p_u is."""
    graph = examples()[name]
    n_probes = 400
    found = rank(graph, "closeness", n_probes=n_probes, random_state=SEED)
    known = dense_closeness(graph)
    joined = known > 0
    ratio = known[joined] / found.scores[joined]
    assert np.abs(ratio - 1).max() < 6 * np.sqrt(2 / n_probes)
    assert 0 < found.error <= np.sqrt(2 / n_probes)
    if name == "dense":  # nearly all of it is known beforehand
        assert np.abs(ratio - 1).max() < 0.2 * np.sqrt(2 / n_probes)


def test_closeness_of_a_file_is_within_six_sigma(tmp_path):
    graph = examples()["blocks"]
    source = as_file(graph, tmp_path)
    found = rank(source, "closeness", n_probes=256, n_edges=3_000, random_state=SEED)
    ratio = dense_closeness(graph)[found.ids] / found.scores
    assert np.abs(ratio - 1).max() < 6 * np.sqrt(2 / 256)
    assert found.kirchhoff == pytest.approx(rank(graph, "closeness").kirchhoff, rel=0.05)


@pytest.mark.parametrize("name", ["dense", "heavy", "grid"])
def test_kirchhoff_and_kemeny_are_sums_over_eigenvalues(name):
    graph = examples()[name]
    inside = np.flatnonzero(graph.components() == 0)
    number = np.full(graph.n_nodes, -1)
    number[inside] = np.arange(inside.size)
    kept = number[graph.tail] >= 0
    graph = EdgeList(
        tail=number[graph.tail[kept]], head=number[graph.head[kept]], weight=graph.weight[kept]
    )
    found = rank(graph, "closeness")
    values = np.linalg.eigvalsh(graph.laplacian().toarray())[1:]
    assert found.kirchhoff == pytest.approx(graph.n_nodes * (1 / values).sum(), rel=1e-6)
    root = 1 / np.sqrt(graph.degrees())
    values = np.linalg.eigvalsh(root[:, None] * graph.laplacian().toarray() * root)[1:]
    assert found.kemeny == pytest.approx((1 / values).sum(), rel=1e-6)
    assert rank(examples()["pieces"], "closeness").kemeny == np.inf


def test_spanning_edges_sum_to_the_edges_of_a_tree(tmp_path):
    graph = examples()["blocks"]
    for one, options in ((graph, {}), (as_file(graph, tmp_path), {"n_edges": 3_000})):
        found = rank(one, "spanning", random_state=SEED, **options)
        assert found.scores.sum() == pytest.approx(graph.n_nodes - 1, rel=0.01)
        assert found.edges.shape == (graph.n_edges, 2)
        assert len(found.top(3)[0][0]) == 2


def test_a_certificate_bounds_the_closeness_of_the_graph():
    graph = examples()["blocks"]
    kept = sparsify(graph, keep=0.5, random_state=SEED)
    kept = kept.with_certificate(certify(graph, kept, random_state=SEED))
    found, known = rank(kept, "closeness"), dense_closeness(graph)
    assert (found.lower < known).all()
    assert (known < found.upper).all()
    assert (found.lower < found.scores).all()
    assert "upper bound" in str(found)
    assert "Kirchhoff" in found._repr_html_()
    assert rank(graph, "closeness").lower is None


def test_what_is_wrong_is_said(tmp_path):
    graph = sources.path(5).to_edge_list()
    with pytest.raises(InputError, match="by='degree' is not one of 'pagerank', 'closeness'"):
        rank(graph, "degree")
    with pytest.raises(InputError, match=r"damping=1.0 must be above 0.0 and below 1.0"):
        rank(graph, damping=1.0)
    np.testing.assert_allclose(rank(EdgeList(tail=[], head=[], n_nodes=4)).scores, 0.25)
    assert rank(EdgeList(tail=[], head=[], n_nodes=4), "closeness").scores.tolist() == [0.0] * 4
