"""Parts of the stream engine, one by one, against what their definitions say."""

import numpy as np
import pytest

from graphsqueak import EdgeList, StreamOptions, StreamSparsifier, TimedEdges
from graphsqueak.graph.forest import join, roots
from graphsqueak.sources.files.splitting import split
from graphsqueak.sparsifiers.error_prediction import sampling_error
from graphsqueak.sparsifiers.resistance.effective import effective_resistance
from graphsqueak.sparsifiers.stream import finalize
from graphsqueak.sparsifiers.stream.arrival_filter import ArrivalFilter, PriorityNodes
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.resparsify import lead, make_guide
from graphsqueak.sparsifiers.tree.parts import grow_tree
from tests.comparison import differences

pytestmark = pytest.mark.filterwarnings("ignore::graphsqueak.errors.AccuracyWarning")

WAYS = {
    "by solving": {"chunk_size": 64},
    "by degrees": {"chunk_size": 64, "degree_approx_min_nodes": 10},
    "in place": {"chunk_size": 64, "degree_approx_min_nodes": 10, "inplace_min_edges": 10},
    "copies": {"chunk_size": 64, "n_copies": 4},
    "without a filter": {"chunk_size": 64, "filter_arrivals": False},
}


def weighted(n_nodes=50, n_edges=4000, seed=12, factor=1.0):
    rng = np.random.default_rng(seed)
    tail = rng.integers(n_nodes, size=n_edges)
    head = (tail + rng.integers(1, n_nodes, size=n_edges)) % n_nodes
    weight = factor * rng.lognormal(sigma=0.8, size=n_edges)
    return EdgeList(tail=tail, head=head, weight=weight, n_nodes=n_nodes)


def scaled(graph, factor):
    return EdgeList.from_clean(graph.tail, graph.head, graph.weight * factor, graph.n_nodes)


@pytest.mark.parametrize("factor", [2.0**-30, 2.0**9])
@pytest.mark.parametrize("way", WAYS)
def test_the_unit_of_the_weights_changes_nothing_but_the_weights(way, factor):
    """Weights and ridge times a power of two: the same edges, their weights times that, exactly."""
    options, graph = StreamOptions(**WAYS[way]), weighted()
    results = []
    for times in (1.0, factor):
        stream = StreamSparsifier(
            n_edges=220, ridge=3.0 * times, options=options, random_state=5
        ).partial_fit(scaled(graph, times))
        other = StreamSparsifier(
            n_edges=220, ridge=1.0 * times, options=options, random_state=6
        ).partial_fit(scaled(weighted(seed=13), times))
        results.append((stream.sparsifier(), stream.merge(other).sparsifier()))
        assert stream.n_shrinks_ > 1
    for one, other in zip(*results, strict=True):
        assert differences(scaled(one, factor), other) == []


def test_the_unit_changes_nothing_in_windows_and_trees():
    factor, options, graph = 2.0**-21, StreamOptions(chunk_size=64), weighted()
    results = []
    for times in (1.0, factor):
        edges = TimedEdges.of(scaled(graph, times), np.linspace(0, 8, graph.n_edges))
        window = StreamSparsifier(
            n_edges=120, window=4.0, half_life=2.0, buckets=4, options=options, random_state=5
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


def test_resistances_are_those_of_a_grounded_graph():
    """With a ridge every node is joined to the ground: degrees, filter and scores have it."""
    graph, ridge = weighted(factor=0.01), 4.0
    stream = StreamSparsifier(
        n_edges=220, ridge=ridge, options=StreamOptions(chunk_size=64), random_state=5
    ).partial_fit(graph)
    engine = stream._engine
    grounded = (graph.degrees() + ridge) / engine.unit
    np.testing.assert_allclose(engine.grounded_degree, grounded, rtol=1e-12)
    engine._refresh_filter()
    np.testing.assert_allclose(engine.filter.near[0], 1 / grounded, rtol=1e-6)
    edges = engine.coalesced(engine.buffer.edges())
    resistance, sketch = engine.score(edges, 4000, 7)
    kept = EdgeList.from_clean(edges.tail, edges.head, edges.weight, 50)
    laplacian = kept.laplacian().toarray() + ridge / engine.unit * np.eye(50)
    inverse = np.linalg.inv(laplacian)
    exact = inverse[edges.tail, edges.tail] + inverse[edges.head, edges.head]
    exact -= 2 * inverse[edges.tail, edges.head]
    np.testing.assert_allclose(resistance, exact, rtol=0.1)
    np.testing.assert_allclose(resistance.sum(), exact.sum(), rtol=0.01)
    np.testing.assert_allclose(sketch.degree, kept.degrees() + ridge / engine.unit, rtol=1e-12)


def test_the_scale_of_a_filter_grows_with_a_share():
    graph = weighted(n_edges=12_000)
    options = StreamOptions(chunk_size=200, min_budget=200)
    stream = StreamSparsifier(keep=0.05, options=options, random_state=5)
    engine = stream.partial_fit(graph.part(0, 4000))._engine
    engine._refresh_filter()
    scale, per_node = engine.filter.scale, engine.per_node
    assert per_node == engine._budget_now() / 50
    engine.n_seen = 10_000
    engine._refresh_filter()
    assert engine.per_node == pytest.approx(0.05 * 10_000 / 50)
    assert engine.filter.scale / scale == pytest.approx(engine.per_node / per_node)
    number = StreamSparsifier(n_edges=200, options=options, random_state=5)
    engine = number.partial_fit(graph)._engine
    scale = engine.filter.scale
    engine.n_seen = 100_000
    engine._refresh_filter()
    assert engine.filter.scale == scale


def test_merging_adds_counts_and_keeps_what_each_stream_knows():
    graph, options = weighted(), StreamOptions(chunk_size=64)
    streams = [
        StreamSparsifier(
            n_edges=220,
            favored_nodes=favored,
            favored_share=0.3,
            ridge=ridge,
            options=options,
            random_state=seed,
        ).partial_fit(graph.part(start, stop))
        for seed, (favored, ridge, start, stop) in enumerate(
            [([1, 2], 0.5, 0, 1500), ([2, 7], 0.25, 1500, 2500), (None, 0.125, 2500, None)]
        )
    ]
    streams[1]._engine.cut_error = 0.375
    merged = streams[0].merge(*streams[1:])
    engine = merged._engine
    assert merged.n_edges_seen_ == graph.n_edges
    assert (merged.ridge, engine.ridge) == (0.875, 0.875)
    assert np.flatnonzero(engine.favored.mask).tolist() == [1, 2, 7]
    assert merged.favored_nodes == {1, 2, 7}
    assert (merged.favored_share, engine.favored.share) == (0.3, 0.3)
    assert engine.cut_error >= 0.375
    assert merged.n_shrinks_ >= sum(stream.n_shrinks_ for stream in streams)
    np.testing.assert_allclose(merged.degrees_, graph.degrees(), rtol=1e-12)
    tables = np.sum([stream._probes.table for stream in streams], axis=0)
    np.testing.assert_allclose(merged._probes.table, tables, rtol=1e-12)
    merged.sparsifier()
    assert merged.probe_error_ >= 0.375


@pytest.mark.parametrize("unit", [1.0, 2.0**-12])
def test_a_leader_hands_on_its_filter_and_a_guide_its_degrees(unit):
    graph = weighted(factor=unit)
    stream = StreamSparsifier(
        n_edges=220,
        favored_nodes=[3, 4],
        ridge=2.0 * unit,
        options=StreamOptions(chunk_size=64),
        random_state=5,
    ).partial_fit(graph)
    engine = stream._engine
    engine.shrink(250)  # so that what is merged fits, and no shrink makes another filter
    lead(engine)
    other = StreamSparsifier(n_edges=220, options=StreamOptions(chunk_size=64), random_state=6)
    other.partial_fit(weighted(seed=14, n_edges=100, factor=unit))
    merged = stream.merge(other)._engine
    assert merged.leads == 1
    assert merged.favored.boost == engine.favored.boost > 1.0
    assert merged.per_node == engine.per_node
    assert merged.filter.scale == engine.filter.scale
    guide = make_guide(engine)
    assert guide.unit == engine.unit
    np.testing.assert_allclose(guide.base * guide.unit, graph.degrees() + 2.0 * unit, rtol=1e-12)
    np.testing.assert_allclose(guide.filter.near[0], 1 / guide.base, rtol=1e-6)
    assert not guide.degree.any()
    assert guide.n_before == graph.n_edges
    assert (guide.n_joins, guide.leads, guide.n_seen) == (engine.n_joins, 1, 0)
    assert guide.favored is engine.favored
    assert guide.per_node == engine.per_node


@pytest.mark.parametrize("way", ["by solving", "by degrees", "in place", "copies"])
def test_a_shrink_leaves_about_as_many_edges_as_it_should(way):
    """The forest is a half of them, and counts."""
    graph = weighted(n_nodes=200, n_edges=2500).simplified()
    options = StreamOptions(**WAYS[way] | {"chunk_size": 10**4})
    stream = StreamSparsifier(n_edges=2000, options=options, random_state=5).partial_fit(graph)
    engine = stream._engine
    assert engine.n_kept == graph.n_edges
    engine.shrink(420)
    assert np.count_nonzero(engine.buffer.edges().pinned) == 199
    assert abs(engine.n_kept - 420) < 6 * np.sqrt(221) + 5


def test_a_settled_stream_keeps_its_filter_only_if_it_leads():
    graph = weighted()
    for leads in (False, True):
        stream = StreamSparsifier(
            n_edges=220, options=StreamOptions(chunk_size=64), random_state=5
        ).partial_fit(graph)
        if leads:
            lead(stream._engine)
        assert stream._engine.filter is not None
        stream.to_bytes()
        assert (stream._engine.filter is not None) == leads


def test_favored_edges_get_their_share_and_all_of_it_if_they_are_few():
    """Expected numbers of edges at the scale that meets the budget, and the boost itself."""
    graph = weighted().simplified()
    resistance = effective_resistance(graph, method="exact")
    ones = np.ones(graph.n_edges, np.int32)
    edges = SampledEdges(graph.tail, graph.head, graph.weight, ones, ones == 0)
    budget = 400
    for nodes, share in (([1, 2, 3, 4, 5, 6], 0.4), ([9], 0.5)):
        favored = PriorityNodes(np.isin(np.arange(50), nodes), share=share)
        raised, boost = favored.boost_edges(edges, resistance, budget)
        chosen = favored.edges(edges.tail, edges.head)
        np.testing.assert_allclose(raised[~chosen], resistance[~chosen])
        np.testing.assert_allclose(raised[chosen], boost * resistance[chosen])
        leverage = edges.weight * raised
        low, high = 1e-6, 1e6
        for _ in range(200):
            scale = np.sqrt(low * high)
            total = np.minimum(1.0, scale * leverage).sum()
            low, high = (scale, high) if total < budget else (low, scale)
        expected = np.minimum(1.0, scale * leverage[chosen]).sum()
        wanted = min(share * budget, np.count_nonzero(chosen))
        assert expected == pytest.approx(wanted, rel=1e-3)
        assert boost > 1.0


def test_leverages_of_a_filter_are_those_it_samples_by():
    """Both ends of an edge, both degrees; unknown nodes and other components are certain."""
    rng = np.random.default_rng(8)
    stream = StreamSparsifier(
        n_edges=220, options=StreamOptions(chunk_size=64), random_state=5
    ).partial_fit(weighted())
    known = stream._engine.filter
    tail, head = rng.integers(50, size=(2, 300))
    tail, head = tail[tail != head], head[tail != head]
    weight = rng.lognormal(size=tail.size)
    step = known.points[tail] - known.points[head]
    expected = weight * (known.near[0, tail] + known.near[0, head] + (step**2).sum(axis=1))
    np.testing.assert_allclose(known.leverages(tail, head, weight), expected, rtol=1e-5)
    back = ArrivalFilter.from_arrays(known.to_arrays())
    assert differences(tuple(back), tuple(known)) == []
    assert known.leverages(np.array([0]), np.array([77]), np.ones(1))[0] > 1e20


@pytest.mark.parametrize("n_seen", [None, 40_000])
@pytest.mark.parametrize("n_edges", [70, 500])
def test_the_predicted_error_is_that_of_the_formula(n_edges, n_seen):
    """V_u = sum_v (w_uv / d_u) max(1 / c - t_uv, 0) at the 99th percentile of the nodes.

    The error is sqrt(2 V) up to 1 (500 edges), and 2 V above (70 edges).
    """
    graph = weighted().simplified()
    leverage = np.minimum(graph.weight * effective_resistance(graph, method="exact"), 1.0)
    pinned = join(roots(50), graph.tail, graph.head)
    found = sampling_error(
        graph.tail,
        graph.head,
        graph.weight,
        leverage / graph.weight,
        pinned,
        n_edges,
        n_nodes=50,
        n_seen=n_seen,
    )

    def scale_of(scores, budget):
        low, high = 1e-9, 1e9
        for _ in range(300):
            middle = np.sqrt(low * high)
            is_low = np.minimum(1.0, middle * scores).sum() < budget
            low, high = (middle, high) if is_low else (low, middle)
        return low

    scale, free = scale_of(leverage, n_edges), np.ones(graph.n_edges, dtype=bool)
    assert (scale < 4) == (n_edges == 70)
    if scale < 4:
        free = ~pinned
        scale = scale_of(leverage[free], n_edges - np.count_nonzero(pinned))
    free &= scale * leverage < 1
    if n_seen is not None:
        n_before = n_seen - np.count_nonzero(~free)
        leverage = np.minimum(leverage, leverage[free].sum() / n_before)
    loss = np.where(free, graph.weight * np.maximum(1 / scale - leverage, 0.0), 0.0)
    lost = np.bincount(graph.tail, loss, 50) + np.bincount(graph.head, loss, 50)
    variance = np.quantile(lost / graph.degrees(), 0.99)
    expected = 2 * variance if n_edges == 70 else np.sqrt(2 * variance)
    assert (expected > 1) == (n_edges == 70)
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("n_read", [900, 4000])
def test_the_prediction_of_a_result_knows_how_many_edges_were_read(n_read, monkeypatch):
    """Of kept edges that were sampled before, the leverages in the graph were smaller."""
    calls = []

    def recorded(*arguments, **named):
        calls.append((named["n_seen"], arguments[5], sampling_error(*arguments, **named)))
        return calls[-1][-1]

    monkeypatch.setattr(finalize, "sampling_error", recorded)
    graph, options = weighted().part(0, n_read), StreamOptions(chunk_size=64, high_watermark=6.0)
    stream = StreamSparsifier(n_edges=200, options=options, random_state=5).partial_fit(graph)
    assert (stream.n_shrinks_ > 0) == (n_read == 4000)
    stream.sparsifier()
    ((n_seen, budget, error),) = calls
    assert n_seen == (4000 if stream.n_shrinks_ else None)
    assert budget == 200
    assert stream.epsilon_predicted_ == error > 0
