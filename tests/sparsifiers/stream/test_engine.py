"""The practical engine: units of weights, large counts, precision, and compaction."""

import numpy as np
import pytest

from graphsqueak import EdgeList, StreamOptions, StreamSparsifier, TimedEdges, sources
from graphsqueak.sources.files.splitting import split
from graphsqueak.sparsifiers.stream.timed_sparsifier import TimedSparsifier
from graphsqueak.sparsifiers.tree.parts import grow_tree
from tests.comparison import differences
from tests.sparsifiers.stream import engine_state
from tests.sparsifiers.stream.graphs import scaled, weighted_graph

pytestmark = pytest.mark.filterwarnings("ignore::graphsqueak.errors.AccuracyWarning")

VARIANTS = {
    "by solving": {"chunk_size": 64},
    "from degrees": {"chunk_size": 64, "degree_approx_min_nodes": 10},
    "in place": {"chunk_size": 64, "degree_approx_min_nodes": 10, "inplace_min_edges": 10},
    "without a filter": {"chunk_size": 64, "filter_arrivals": False},
}


@pytest.mark.parametrize("factor", [2.0**-30, 2.0**9])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_unit_of_the_weights_changes_only_the_weights(variant, factor):
    """Weights and ridge times a power of two: the same edges with exactly scaled weights."""
    options = StreamOptions(**VARIANTS[variant])
    graph = weighted_graph()
    results = []
    for times in (1.0, factor):
        stream = StreamSparsifier(
            n_edges=220, ridge=3.0 * times, options=options, random_state=5
        ).partial_fit(scaled(graph, times))
        other = StreamSparsifier(
            n_edges=220, ridge=1.0 * times, options=options, random_state=6
        ).partial_fit(scaled(weighted_graph(seed=13), times))
        results.append((stream.sparsifier(), stream.merge(other).sparsifier()))
        assert stream.n_resparsifications_ > 1
    for one, other in zip(*results, strict=True):
        assert differences(scaled(one, factor), other) == []


def test_the_unit_of_the_weights_changes_only_the_weights_of_windows_and_trees():
    factor = 2.0**-21
    options = StreamOptions(chunk_size=64)
    graph = weighted_graph()
    results = []
    for times in (1.0, factor):
        edges = TimedEdges.from_edges(scaled(graph, times), np.linspace(0, 8, graph.n_edges))
        window = TimedSparsifier(
            n_edges=120, window=4.0, half_life=2.0, n_panes=4, options=options, random_state=5
        )
        tree = grow_tree(
            split(scaled(graph, times), 4),
            settings={"n_edges": 150},
            options=options,
            seed=5,
            shape="guided",
        )
        results.append((window.partial_fit(edges).sparsifier(), tree.stream.sparsifier()))
    for one, other in zip(*results, strict=True):
        assert differences(scaled(one, factor), other) == []


def test_more_than_2_to_the_32_edges_are_counted():
    stream = StreamSparsifier(n_edges=300, random_state=3, options=StreamOptions(chunk_size=64))
    graph = weighted_graph(n_nodes=40)
    engine_state(stream).n_seen = 2**33
    stream.partial_fit(graph)
    assert stream.n_edges_seen_ == 2**33 + graph.n_edges
    assert (stream.sparsifier().weight > 0).all()


@pytest.mark.parametrize("n_single", [1500, 2000])
def test_a_graph_within_the_budget_is_returned_exactly(n_single):
    """The first weights, but not all of their sums, fit single precision; the others do not."""
    graph = sources.erdos_renyi(300, 2000, random_state=1).to_edge_list()
    weight = np.random.default_rng(5).lognormal(size=graph.n_edges)
    weight[:n_single] = weight[:n_single].astype(np.float32)
    graph = EdgeList(tail=graph.tail, head=graph.head, weight=weight, n_nodes=300)
    options = StreamOptions(inplace_min_edges=1, degree_approx_min_nodes=1, chunk_size=2**11)
    stream = StreamSparsifier(n_edges=3000, random_state=1, options=options)
    result = stream.partial_fit(graph.part(0, 700)).partial_fit(graph.part(700)).sparsifier()
    exact = graph.simplified()
    order, exact_order = (np.lexsort((g.head, g.tail)) for g in (result, exact))
    low_ends = np.minimum(exact.tail, exact.head)
    np.testing.assert_array_equal(result.tail[order], low_ends[exact_order])
    np.testing.assert_allclose(result.weight[order], exact.weight[exact_order], rtol=1e-15)


@pytest.mark.parametrize("is_leader", [False, True])
def test_a_compacted_stream_keeps_its_filter_only_if_it_is_a_leader(is_leader):
    stream = StreamSparsifier(
        n_edges=220, options=StreamOptions(chunk_size=64), random_state=5
    ).partial_fit(weighted_graph())
    if is_leader:
        stream.lead()
    assert engine_state(stream).filter is not None
    stream.to_bytes()
    assert (engine_state(stream).filter is not None) == is_leader
