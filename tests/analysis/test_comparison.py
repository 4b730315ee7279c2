"""compare(): the quantities are those of networkx and of dense linear algebra."""

import itertools
import types

import matplotlib
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
import scipy.stats

from graphsqueak import EdgeList, certify, compare, sources, sparsify
from graphsqueak.analysis import community, comparison
from graphsqueak.analysis.comparison import Comparison
from tests import reference
from tests.analysis.graphs import SEED, examples

matplotlib.use("agg")


@pytest.fixture(scope="module")
def pair():
    graph = sources.block_model(300, 9_000, random_state=11).to_edge_list().simplified()
    return graph, sparsify(graph, keep=0.4, random_state=11)


def test_quantities_are_what_they_say(pair):
    graph, sparsifier = pair
    found = compare(graph, sparsifier, max_seconds=None, random_state=2)
    for place, one in enumerate(pair):
        values = np.linalg.eigvalsh(one.laplacian().toarray())
        assert np.allclose(found.values["eigenvalues"][place], values[1:21])
        rank = nx.pagerank(one.to_networkx(), tol=1e-12)
        assert np.allclose(found.values["PageRank"][place], [rank[node] for node in range(300)])
    assert {row[0] for row in found.rows()} == {*found.values, "clusters (AMI)"}


def test_errors_stay_below_epsilon(pair):
    found = compare(*pair, n_runs=0, max_seconds=None, random_state=3)
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
    found = compare(*pair, max_seconds=None, random_state=5)
    assert "cluster cuts" in found._repr_html_()
    figure = found.plot()
    axes = figure.axes
    assert [ax.get_title() for ax in axes[:6]] == list(found.values)
    assert axes[6].get_title() == "clusters, agreement (AMI)"
    for ax, (whole, sparse) in zip(axes, found.values.values(), strict=False):
        offsets = np.asarray(ax.collections[1].get_offsets())
        low, high = ax.get_ylim()
        np.testing.assert_allclose(offsets[:, 1], np.clip(sparse / whole, low, high), rtol=1e-6)
        assert low <= 0.75
        assert high >= 1.4  # a deviation of a percent must look like one
    plt.close(figure)


def test_bounds_contain_the_values_of_the_graph(pair):
    graph, sparsifier = pair
    certified = sparsifier.with_certificate(certify(graph, sparsifier, random_state=9))
    found = compare(graph, certified, n_runs=0, max_seconds=None, random_state=9)
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
        found = compare(graph, kept, n_runs=0, max_seconds=None, random_state=seed)
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
    found = compare(graph, graph, max_seconds=None, random_state=6)
    for name, _, most, _, said in found.rows():
        assert said.startswith("kept"), name
        if name not in ("clusters (AMI)", "conductance of clusters"):
            assert most < 1e-5
    double = EdgeList(tail=graph.tail, head=graph.head, weight=2 * graph.weight)
    found = compare(graph, double, uniform=False, max_seconds=None, random_state=6)
    rows = {row[0]: row for row in found.rows()}
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
    found = compare(graph, other, uniform=False, n_runs=2, max_seconds=None, random_state=8)
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


def test_quantities_whose_predicted_time_exceeds_the_limit_are_left_out(monkeypatch):
    graph = sources.erdos_renyi(300, 20_001, random_state=9).to_edge_list()
    monkeypatch.setattr(community, "find_spec", lambda name: None)
    options = {"uniform": False, "n_samples": 5, "n_eigenvalues": 2, "n_runs": 1}
    found = compare(graph, graph, max_seconds=30.0, **options, random_state=9)
    assert found.agreement == {}
    assert found.left_out[0] == "no runs for communities"
    assert "time limit: no runs for communities" in str(found)
    # Cuts and PageRank are computed with any limit.
    found = compare(graph, graph, max_seconds=1e-9, **options, random_state=9)
    assert set(found.values) == {"random cuts", "PageRank"}
    assert len(found.left_out) == 3
    found = compare(graph, graph, max_seconds=None, **options, random_state=9)
    assert set(found.agreement) == {"graph", "sparsifier"}
    assert found.left_out == ()
    assert "time limit" not in str(found)


def test_no_block_is_begun_after_the_limit_and_the_others_do_not_change(pair, monkeypatch):
    """A clock that is read before each block of 20 pairs, and advances by a second each time."""
    complete = compare(*pair, max_seconds=None, random_state=10)
    seconds = itertools.count()
    clock = types.SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr(comparison, "time", clock)
    found = compare(*pair, max_seconds=3.5, random_state=10)
    assert found.left_out == (
        "60 of 100 resistances of node pairs",
        "no runs for communities",
        "no eigenvalues and cluster cuts",
    )
    for name, values in found.values.items():
        for one, expected in zip(values, complete.values[name], strict=True):
            np.testing.assert_array_equal(one, expected[: one.size])
    assert found.values["resistances"][0].size == 60
    # 5 blocks of pairs, 3 runs, and 2 blocks of eigenvalues
    seconds = itertools.count()
    found = compare(*pair, max_seconds=9.5, random_state=10)
    assert found.left_out == ("5 of 20 eigenvalues and cluster cuts",)
    assert found.communities_by.endswith("3 times on each graph")


@pytest.mark.parametrize("name", ["dense", "heavy", "grid", "pieces"])
def test_resistances_are_exact_to_a_thousandth(name):
    graph = examples()[name]
    options = {"uniform": False, "n_samples": 50, "n_runs": 0, "max_seconds": None}
    scaled = EdgeList(
        tail=graph.tail, head=graph.head, weight=1e-9 * graph.weight, n_nodes=graph.n_nodes
    )
    found = compare(graph, scaled, **options, random_state=SEED)
    inverse = np.linalg.pinv(graph.laplacian().toarray(), hermitian=True)
    whole, sparse = found.values["resistances"]
    np.testing.assert_allclose(sparse, 1e9 * whole, rtol=2e-3)
    diagonal = inverse.diagonal()
    known = diagonal[:, None] + diagonal - 2 * inverse
    # Every value is the resistance of some pair.
    distance = np.abs(known[:, :, None] / whole[:8] - 1).min(axis=(0, 1))
    assert distance.max() < 1e-3


def test_eigenvalues_of_a_grid_are_within_a_percent():
    graph = sources.grid(40, 40).to_edge_list()
    found = compare(graph, graph, uniform=False, n_runs=0, max_seconds=None, random_state=SEED)
    angles = np.pi * np.arange(40) / 40
    side = 2 - 2 * np.cos(angles)
    known = np.sort(np.add.outer(side, side).ravel())[1:21]
    for values in found.values["eigenvalues"]:
        np.testing.assert_allclose(values, known, rtol=0.01)


def test_cuts_are_sums_of_weights():
    graph = examples()["heavy"]
    sides = np.random.default_rng(SEED).random((graph.n_nodes, 7)) < 0.5
    found = comparison._cut_weights([graph], sides)[0]
    known = graph.weight @ (sides[graph.tail] != sides[graph.head])
    np.testing.assert_allclose(found, known)


@pytest.mark.parametrize("n_nodes", [1, 2, 3])
def test_tiny_graphs_and_graphs_without_edges_are_compared(n_nodes):
    empty = EdgeList(tail=[], head=[], n_nodes=n_nodes)
    assert list(compare(empty, empty, random_state=SEED).values) == ["PageRank"]
    graph = sources.path(n_nodes).to_edge_list() if n_nodes > 1 else empty
    found = compare(graph, graph, random_state=SEED)
    assert all(verdict.startswith(("kept", "no stable")) for *_, verdict in found.rows())


def test_progress_names_the_quantities_and_ends_at_1(pair):
    calls = []
    compare(*pair, n_samples=40, progress=lambda *call: calls.append(call), random_state=SEED)
    fractions = [fraction for _, fraction, _ in calls]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    assert "resistances of node pairs" in {note for *_, note in calls}


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


def test_progress_is_at_least_the_fraction_of_the_time_that_is_over(pair, monkeypatch):
    """A clock that advances by a second at each block; two of eight blocks are computed."""
    seconds = itertools.count()
    monkeypatch.setattr(comparison, "time", types.SimpleNamespace(monotonic=lambda: next(seconds)))
    calls = []
    compare(*pair, max_seconds=3.5, progress=lambda *call: calls.append(call), random_state=SEED)
    fractions = [fraction for _, fraction, _ in calls]
    assert fractions == sorted(fractions)
    # The second block began two seconds after the start, or later.
    assert 2 / 3.5 <= fractions[2] < 1.0
    assert fractions[-1] == 1.0
