"""compare(): the quantities are those of networkx and of dense linear algebra."""

import matplotlib
import networkx as nx
import numpy as np
import pytest
import scipy.stats

from graphsqueak import EdgeList, certify, compare, sources, sparsify
from graphsqueak.analysis import community
from graphsqueak.analysis.comparison import Comparison
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
        assert np.allclose(found.values["eigenvalues"][place], values[1:21])
        rank = nx.pagerank(one.to_networkx(), tol=1e-12)
        assert np.allclose(found.values["PageRank"][place], [rank[node] for node in range(300)])
    assert {row[0] for row in found.rows()} == {*found.values, "clusters (AMI)"}


def test_errors_stay_below_epsilon(pair):
    found = compare(*pair, n_runs=0, random_state=3)
    epsilon = reference.epsilon(*pair)
    worst = {name: most for name, _, most, _, _ in found.rows()}
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
    one = compare(graph, sparsifier, n_runs=0, random_state=4)
    two = compare(graph, other, n_runs=0, random_state=4)
    assert np.allclose(one.values["random cuts"], two.values["random cuts"])


def test_tables_and_figures(pair):
    found = compare(*pair, random_state=5)
    assert "cluster cuts" in found._repr_html_()
    axes = found.plot().axes
    assert [ax.get_title() for ax in axes[:6]] == list(found.values)
    assert axes[6].get_title() == "clusters, agreement (AMI)"
    for ax, (whole, sparse) in zip(axes, found.values.values(), strict=False):
        offsets = np.asarray(ax.collections[1].get_offsets())
        low, high = ax.get_ylim()
        np.testing.assert_allclose(offsets[:, 1], np.clip(sparse / whole, low, high), rtol=1e-6)
        assert low <= 0.75
        assert high >= 1.4  # a deviation of a percent must look like one


def test_bounds_contain_the_values_of_the_graph(pair):
    graph, sparsifier = pair
    certified = sparsifier.with_certificate(certify(graph, sparsifier, random_state=9))
    found = compare(graph, certified, n_runs=0, random_state=9)
    assert set(found.bounds) == {"random cuts", "cluster cuts", "resistances", "eigenvalues"}
    for name, (lower, upper) in found.bounds.items():
        expected = found.values[name][0]
        assert (lower <= expected * (1 + 1e-6)).all()
        assert (expected <= upper * (1 + 1e-6)).all()
    assert "resistances            proved: the graph has 0." in str(found)
    assert not compare(graph, sparsifier, n_runs=0, random_state=9).bounds


def test_uniform_edges_lose_a_bridge_and_keep_what_a_sparsifier_keeps_elsewhere():
    """Half of the edges of a barbell: the bridge goes with probability 1/2."""
    graph = sources.barbell(40).to_edge_list()
    kept = sparsify(graph, keep=0.5, random_state=8)
    verdicts = set()
    for seed in range(6):
        found = compare(graph, kept, n_runs=0, random_state=seed)
        rows = {row[0]: row for row in found.rows()}
        assert rows["resistances"][1] < 0.1
        assert rows["resistances"][4].startswith("kept")
        verdicts.add(np.isinf(found.uniform["resistances"]).any())
    assert verdicts == {True, False}  # chance of one alone: 2^-5
    dense = sources.erdos_renyi(150, 9_000, random_state=8).to_edge_list()
    found = compare(dense, sparsify(dense, keep=0.5, random_state=8), random_state=8)
    said = {row[0]: row[4] for row in found.rows()}
    assert said["random cuts"] == "kept; uniform is as good"
    assert found.n_edges[1] == pytest.approx(found.n_edges[2], rel=0.1)


def test_a_graph_is_as_good_as_itself_and_a_scaled_one_is_lost(pair):
    graph, _ = pair
    found = compare(graph, graph, random_state=6)
    for name, _, most, _, said in found.rows():
        assert said.startswith("kept"), name
        if name not in ("clusters (AMI)", "conductance of clusters"):
            assert most < 1e-5
    double = EdgeList(tail=graph.tail, head=graph.head, weight=2 * graph.weight)
    rows = {row[0]: row for row in compare(graph, double, uniform=False, random_state=6).rows()}
    assert rows["eigenvalues"][1] == pytest.approx(1.0)
    assert rows["eigenvalues"][4] == "lost"
    assert rows["PageRank"][4] == "kept"
    assert rows["clusters (AMI)"][4].startswith("kept")
    assert compare(graph, graph, n_runs=0, random_state=6).agreement == {}


def test_a_barbell_is_what_it_is_by_hand():
    """Two cliques of 8 and a bridge: the best cut is the bridge, and so are the clusters."""
    graph = sources.barbell(8).to_edge_list()
    heavy = np.where((graph.tail < 8) != (graph.head < 8), 3.0, 1.0)
    other = EdgeList(tail=graph.tail, head=graph.head, weight=heavy)
    found = compare(graph, other, uniform=False, n_runs=2, random_state=8)
    whole, sparse = found.values["cluster cuts"]
    assert whole.min() == pytest.approx(1.0)
    assert sparse[whole.argmin()] == pytest.approx(3.0)
    inside = 2 * 28
    np.testing.assert_allclose(found.values["conductance of clusters"][0], 1 / (inside + 1))
    np.testing.assert_allclose(found.values["conductance of clusters"][1], 1 / (inside + 1))
    assert found.agreement == pytest.approx({"graph": 1.0, "sparsifier": 1.0})
    assert found.communities_by.endswith("2 times on each graph")
    ranks = [scipy.stats.rankdata(one.round(12)) for one in found.values["PageRank"]]
    assert found.rank_correlation == pytest.approx(np.corrcoef(ranks)[0, 1], abs=0.02)


def test_the_top_nodes_are_those_of_highest_pagerank():
    """A ring of 40 with a heavy clique of four, at different places or with two in common."""
    ring = sources.cycle(40).to_edge_list()
    tail, head = np.triu_indices(4, 1)

    def with_clique(first):
        ends = np.append(ring.tail, tail + first), np.append(ring.head, head + first)
        weight = np.append(ring.weight, np.full(tail.size, 50.0))
        return EdgeList(tail=ends[0], head=ends[1], weight=weight)

    options = {"uniform": False, "n_runs": 0, "n_samples": 5, "random_state": 8}
    found = [compare(with_clique(0), with_clique(k), **options).top_overlap for k in (0, 2, 20)]
    assert found == [1.0, 0.5, 0.0]


def test_communities_of_large_graphs_are_not_compared_by_default(monkeypatch):
    graph = sources.erdos_renyi(300, 20_001, random_state=9).to_edge_list()
    monkeypatch.setattr(community, "find_spec", lambda name: None)
    assert community.default_n_runs(graph.part(0, 20_000)) == 3
    found = compare(graph, graph, uniform=False, n_samples=5, n_eigenvalues=2, random_state=9)
    assert found.agreement == {}
    assert "clusters not compared, because the graph is large" in str(found)


@pytest.mark.parametrize(
    ("error", "other", "said"),
    [
        (0.05, 0.05, "kept; uniform is as good"),
        (0.001, 0.009, "kept; uniform is as good"),  # both below a percent
        (0.2, 0.05, "roughly kept; uniform is better"),
        (0.5, 2.0, "lost; uniform has 4.0 times the error"),
        (0.05, np.inf, "kept; uniform disconnects nodes"),
        (0.05, np.nan, "kept"),
    ],
)
def test_the_verdict_says_what_is_kept_and_what_uniform_edges_keep(error, other, said):
    whole = np.ones(3)
    uniform = {} if np.isnan(other) else {"cuts": whole + other}
    found = Comparison({"cuts": (whole, whole + error)}, 1.0, 1.0, uniform=uniform)
    assert found.rows()[0][4] == said
