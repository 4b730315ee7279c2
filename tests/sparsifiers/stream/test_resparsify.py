"""Resparsification: resistances with a ridge, scales of filters, and numbers of edges."""

import numpy as np
import pytest

from graphsqueak import EdgeList, StreamOptions, StreamSparsifier
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.resparsify import (
    estimate_resistances,
    refilter,
    resparsify,
    resparsify_if_full,
)
from tests.sparsifiers.stream import engine_state, stream_config
from tests.sparsifiers.stream.graphs import weighted_graph

VARIANTS = {
    "by solving": {},
    "from degrees": {"degree_approx_min_nodes": 10},
    "in place": {"degree_approx_min_nodes": 10, "inplace_min_edges": 10},
}


def test_resistances_are_those_of_the_grounded_graph():
    """With a ridge every node is joined to the ground, in degrees, filter and resistances."""
    graph = weighted_graph(factor=0.01)
    ridge = 4.0
    stream = StreamSparsifier(
        n_edges=220, ridge=ridge, options=StreamOptions(chunk_size=64), random_state=5
    ).partial_fit(graph)
    state = engine_state(stream)
    scaled_ridge = ridge / state.weight_scale
    grounded = (graph.degrees() + ridge) / state.weight_scale
    np.testing.assert_allclose(state.grounded_degrees(), grounded, rtol=1e-12)
    resparsify_if_full(state, stream_config(stream))
    np.testing.assert_allclose(state.filter.inv_degree, 1 / grounded, rtol=1e-6)
    edges = state.coalesce()
    found = estimate_resistances(state, stream_config(stream), edges, n_probes=4000, key=7)
    resistance = found.resistance
    sketch = found.embedding
    sample = EdgeList.from_validated(edges.tail, edges.head, edges.weight, 50)
    inverse = np.linalg.inv(sample.laplacian().toarray() + scaled_ridge * np.eye(50))
    exact = inverse[edges.tail, edges.tail] + inverse[edges.head, edges.head]
    exact -= 2 * inverse[edges.tail, edges.head]
    np.testing.assert_allclose(resistance, exact, rtol=0.1)
    np.testing.assert_allclose(resistance.sum(), exact.sum(), rtol=0.01)
    np.testing.assert_allclose(sketch.degree, sample.degrees() + scaled_ridge, rtol=1e-12)


def test_the_scale_of_a_filter_grows_with_a_fraction_of_the_edges():
    graph = weighted_graph(n_edges=12_000)
    options = StreamOptions(chunk_size=200, min_budget=200)
    stream = StreamSparsifier(keep=0.05, options=options, random_state=5)
    state = engine_state(stream.partial_fit(graph.part(0, 4000)))
    config = stream_config(stream)
    resparsify_if_full(state, config)
    scale = state.filter.scale
    edges_per_node = state.filter.edges_per_node
    assert edges_per_node == config.current_budget(state) / 50
    state.append(SampledEdges.empty(), n_arrived=6000)
    resparsify_if_full(state, config)
    assert state.filter.edges_per_node == pytest.approx(0.05 * 10_000 / 50)
    growth = state.filter.edges_per_node / edges_per_node
    assert state.filter.scale / scale == pytest.approx(growth)
    assert growth > 1


def test_the_scale_of_a_filter_does_not_change_with_a_fixed_number_of_edges():
    options = StreamOptions(chunk_size=200, min_budget=200)
    stream = StreamSparsifier(n_edges=200, options=options, random_state=5)
    state = engine_state(stream.partial_fit(weighted_graph(n_edges=12_000)))
    scale = state.filter.scale
    n_resparsifications = state.n_resparsifications
    state.append(SampledEdges.empty(), n_arrived=88_000)
    resparsify_if_full(state, stream_config(stream))
    assert state.n_resparsifications == n_resparsifications
    assert state.filter.scale == scale


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_resparsification_leaves_about_the_requested_number_of_edges(variant):
    """The forest is half of them and is included in the number."""
    graph = weighted_graph(n_nodes=200, n_edges=2500).simplified()
    options = StreamOptions(**VARIANTS[variant], chunk_size=10**4)
    stream = StreamSparsifier(n_edges=2000, options=options, random_state=5).partial_fit(graph)
    state = engine_state(stream)
    assert stream.n_kept_ == graph.n_edges
    resparsify(state, stream_config(stream), 420)
    assert np.count_nonzero(state.buffer.edges().in_forest) == 199
    assert abs(stream.n_kept_ - 420) < 6 * np.sqrt(221) + 5
    assert stream.n_resparsifications_ == 1


def test_refiltering_leaves_about_the_requested_number_of_edges():
    """With a filter that is up to date no linear system is solved, and the forest stays."""
    graph = weighted_graph(n_nodes=200, n_edges=20_000)
    options = StreamOptions(chunk_size=1000)
    stream = StreamSparsifier(n_edges=2000, options=options, random_state=5).partial_fit(graph)
    state = engine_state(stream)
    points = state.filter.points
    n_before = stream.n_kept_
    refilter(state, stream_config(stream), 1000)
    assert n_before > 1500
    assert np.count_nonzero(state.buffer.edges().in_forest) == 199
    assert abs(stream.n_kept_ - 1000) < 6 * np.sqrt(1000)
    assert state.filter.points is points


@pytest.mark.parametrize("is_new", [True, False])
def test_a_refilter_counts_edges_at_priority_nodes_as_it_samples_them(is_new):
    """Probabilities, those at priority nodes with their oversampling, add up to the target."""
    graph = weighted_graph(n_edges=9000)
    stream = StreamSparsifier(
        n_edges=400,
        priority_nodes=range(0, 50, 8),
        options=StreamOptions(chunk_size=64),
        random_state=5,
    )
    stream.partial_fit(graph)
    state = engine_state(stream)
    resparsify(state, stream_config(stream), 600)
    edges = state.buffer.edges().copy()
    refilter(state, stream_config(stream), 300, is_new=is_new)
    assert 1.5 < state.priority.oversampling < 10
    leverage = state.filter.leverages(edges)
    leverage[state.priority.touches(edges)] *= state.priority.oversampling
    prob = np.minimum(state.filter.scale * leverage, 1.0)
    expected = np.where(edges.in_forest, 1.0, prob).sum()
    assert expected == pytest.approx(300, rel=1e-3)
