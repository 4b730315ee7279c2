"""Priority nodes: their edges are kept within the budget, and expectations do not change."""

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak import effective_resistance
from graphsqueak.graph import EdgeList
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.priority_nodes import PriorityNodes
from tests.sparsifiers.stream import engine_state
from tests.sparsifiers.stream.graphs import weighted_graph

N_NODES = 400
NODES = [3, 50, 399]


@pytest.fixture(scope="module")
def dense():
    edges = gs.sources.erdos_renyi(N_NODES, 60_000, random_state=9_321).to_edge_list()
    again = [edges.part(i, i + 7_000) for i in range(0, edges.n_edges, 7_000)]
    return edges.simplified(), again * 6  # 360,000 edges in total: several chunks


def stream_of(batches, **settings):
    stream = gs.StreamSparsifier(n_edges=4_000, random_state=7, **settings)
    for batch in batches:
        stream.partial_fit(batch)
    return stream


def neighbors(graph, node):
    return np.sort(np.concatenate([graph.head[graph.tail == node], graph.tail[graph.head == node]]))


def test_all_edges_of_a_few_priority_nodes_are_kept(dense):
    graph, batches = dense
    H = stream_of(batches, priority_nodes=NODES).sparsifier().simplified()
    assert 3_600 <= H.n_edges <= 4_000
    for node in NODES:
        assert neighbors(H, node).tolist() == neighbors(graph, node).tolist()


def test_many_priority_nodes_get_their_fraction_of_the_budget(dense):
    _, batches = dense
    nodes = np.arange(0, N_NODES, 4)
    H = stream_of(batches, priority_nodes=nodes, priority_fraction=0.6).sparsifier()
    fraction = np.mean(np.isin(H.tail, nodes) | np.isin(H.head, nodes))
    assert H.n_edges <= 4_000
    assert 0.5 < fraction < 0.7


def test_degrees_are_met_with_priority_nodes(dense):
    graph, batches = dense
    nodes = np.arange(0, N_NODES, 4)
    H = stream_of(batches, priority_nodes=nodes).sparsifier()
    np.testing.assert_allclose(H.degrees(), 6 * graph.degrees(), rtol=0.1)


def test_edges_at_priority_nodes_are_unbiased(dense):
    """The mean of their total weight over seeds is within six standard errors."""
    graph, batches = dense
    nodes = np.arange(0, N_NODES, 4)
    plain = gs.StreamOptions(rescale_to_degrees=False)
    is_priority = np.isin(graph.tail, nodes) | np.isin(graph.head, nodes)
    totals = []
    for seed in range(12):
        stream = gs.StreamSparsifier(
            n_edges=4_000, random_state=seed, priority_nodes=nodes, options=plain
        )
        for batch in batches:
            stream.partial_fit(batch)
        H = stream.sparsifier()
        totals.append(H.weight[np.isin(H.tail, nodes) | np.isin(H.head, nodes)].sum())
    expected = 6 * graph.weight[is_priority].sum()
    error = np.std(totals, ddof=1) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - expected) < 6 * max(error, 1e-3 * expected)


def test_batches_and_checkpoints_do_not_change_the_result(dense, tmp_path):
    _, batches = dense
    whole = stream_of(batches, priority_nodes=NODES).sparsifier()
    stream = stream_of(batches[:30], priority_nodes=NODES)
    stream.sparsifier()
    stream.save(tmp_path / "half")
    stream = gs.StreamSparsifier.load(tmp_path / "half")
    for batch in batches[30:]:
        stream.partial_fit(batch.part(0, 1_234)).partial_fit(batch.part(1_234))
    again = stream.sparsifier()
    assert np.array_equal(whole.weight, again.weight)
    assert np.array_equal(whole.tail, again.tail)


def test_priority_nodes_are_given_by_id():
    names = np.array([f"n{i}" for i in range(60)], dtype=object)
    full = gs.sources.complete(60).to_edge_list()
    named = EdgeList(tail=full.tail, head=full.head, ids=names)
    stream = gs.StreamSparsifier(n_edges=500, priority_nodes=["n7"], random_state=7)
    H = stream.partial_fit(named).sparsifier()
    assert neighbors(H, 7).size == 59


def test_merged_streams_have_the_priority_nodes_of_both(dense):
    _, batches = dense
    first = stream_of(batches[:30], priority_nodes=[3])
    second = stream_of(batches[30:], priority_nodes=[50])
    both = first.merge(second)
    assert set(both.priority_nodes) == {3, 50}
    assert engine_state(both).priority.mask[[3, 50]].all()


def test_the_kelner_levin_method_has_no_priority_nodes():
    with pytest.raises(gs.InputError, match="priority_nodes need method='stream'"):
        gs.StreamSparsifier(method="kelner-levin", epsilon=0.5, priority_nodes=[1])


@pytest.mark.parametrize(("nodes", "fraction"), [([1, 2, 3, 4, 5, 6], 0.4), ([9], 0.5)])
def test_oversampling_gives_priority_edges_their_fraction_or_all_edges_they_have(nodes, fraction):
    """Expected numbers of edges at the scale that meets the budget."""
    graph = weighted_graph().simplified()
    resistance = effective_resistance(graph, method="exact")
    edges = SampledEdges(graph.tail, graph.head, graph.weight, np.zeros(graph.n_edges, bool))
    budget = 400
    priority = PriorityNodes(np.isin(np.arange(50), nodes), fraction=fraction)
    factor = priority.oversampling_for(edges, resistance, budget)
    oversampled = priority.oversample(edges, resistance, factor)
    is_priority = priority.touches(edges)
    np.testing.assert_array_equal(
        is_priority, np.isin(edges.tail, nodes) | np.isin(edges.head, nodes)
    )
    np.testing.assert_allclose(oversampled[~is_priority], resistance[~is_priority])
    np.testing.assert_allclose(oversampled[is_priority], factor * resistance[is_priority])
    leverage = edges.weight * oversampled
    low, high = 1e-6, 1e6
    for _ in range(200):
        scale = np.sqrt(low * high)
        total = np.minimum(1.0, scale * leverage).sum()
        low, high = (scale, high) if total < budget else (low, scale)
    expected = np.minimum(1.0, scale * leverage[is_priority]).sum()
    wanted = min(fraction * budget, np.count_nonzero(is_priority))
    assert expected == pytest.approx(wanted, rel=1e-3)
    assert factor > 1.0


@pytest.mark.parametrize("min_nodes", [10, 10_000], ids=["from degrees", "by solving"])
def test_edges_at_priority_nodes_leave_the_rest_of_the_budget_to_others(min_nodes):
    """A tenth of the nodes, in a stream that is refiltered many times.

    With a factor from the beginning of the stream they took 90 % of the budget, and the error of
    the sparsifier was above 3 instead of about 0.56.
    """
    graph = gs.sources.erdos_renyi(200, 40_000, random_state=1).to_edge_list()
    nodes = np.arange(0, 200, 10)
    options = gs.StreamOptions(chunk_size=512, degree_approx_min_nodes=min_nodes)
    stream = gs.StreamSparsifier(
        n_edges=1600, priority_nodes=nodes, options=options, random_state=7
    )
    result = stream.partial_fit(graph).sparsifier()
    is_priority = np.isin(result.tail, nodes) | np.isin(result.head, nodes)
    assert 0.4 < is_priority.mean() < 0.6
    assert gs.certify(graph, result).epsilon_upper < 0.8
