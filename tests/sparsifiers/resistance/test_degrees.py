"""Resistances from degrees: used if they are accurate, refused if the graph has bottlenecks."""

import numpy as np
import pytest

from graphsqueak import EdgeList, StreamOptions, StreamSparsifier, sources
from graphsqueak.sparsifiers.resistance.degrees import (
    coarse_sparsifier,
    degree_resistances,
    degree_sketch,
    leverages_fit,
)
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from tests import reference
from tests.sparsifiers.resistance.graphs import connected_lognormal, spanning_forest


def sketch_of(graph, seed=11, **options):
    """Resistances from degrees and the embedding; None if degrees are refused."""
    edges = SampledEdges(graph.tail, graph.head, graph.weight, spanning_forest(graph))
    degrees = graph.degrees()
    embedding = degree_sketch(edges, degrees, seed=seed, **options)
    if embedding is None:
        return None
    return degree_resistances(embedding.points / 2, degrees, *edges[:3]), embedding


@pytest.mark.parametrize(
    "graph",
    [
        sources.erdos_renyi(300, 12_000, random_state=5).to_edge_list().simplified(),
        sources.block_model(300, 9_000, random_state=5).to_edge_list().simplified(),
        sources.gaussian_neighbors(300, 60, random_state=5).to_edge_list().simplified(),
    ],
    ids=["random", "blocks", "neighbors"],
)
def test_accepted_degrees_are_accurate(graph):
    resistance, sketch = sketch_of(graph)
    exact = reference.resistances(graph, np.column_stack([graph.tail, graph.head]))
    off = np.log(resistance / exact)
    leverage = graph.weight * exact
    assert np.sqrt((leverage * off**2).sum() / leverage.sum()) <= 0.12
    assert not sketch.has_bottlenecks


@pytest.mark.parametrize("weight", [1.0, 1e-3, 1e-9])
@pytest.mark.parametrize("n_small", [25, 100])
def test_links_of_bottlenecks_are_never_underestimated(weight, n_small):
    """Two links to a part of any size, over many seeds of the sample and of the probes."""
    large = sources.erdos_renyi(400, 12_000, random_state=2).to_edge_list()
    small = sources.erdos_renyi(n_small, 20 * n_small, random_state=3).to_edge_list()
    graph = EdgeList(
        tail=np.r_[large.tail, small.tail + 400, 0, 1],
        head=np.r_[large.head, small.head + 400, 400, 401],
        weight=np.r_[large.weight, small.weight, weight, weight],
    ).simplified()
    links = np.flatnonzero((graph.tail < 400) != (graph.head < 400))
    exact = 1 / (2 * weight)  # and a little more
    for seed in range(60):
        scored = sketch_of(graph, seed=seed)
        assert scored is None or np.all(scored[0][links] >= exact)


def test_bottlenecks_between_low_degree_nodes_are_preserved():
    """Two parts with as many low-degree nodes each, and four links between the others.

    The resistance of a link is a little above 1 / 4; degrees give about 1 / 25.
    """
    half = sources.erdos_renyi(200, 10_000, random_state=2).to_edge_list()
    rng = np.random.default_rng(6)
    tail = np.concatenate([half.tail, np.repeat(np.arange(200, 400), 3)])
    head = np.concatenate([half.head, rng.integers(200, size=600)])
    links = np.arange(4)
    graph = EdgeList(
        tail=np.r_[tail, tail + 400, links], head=np.r_[head, head + 400, links + 400]
    ).simplified()
    across = (graph.tail < 400) != (graph.head < 400)
    for seed in range(20):
        scored = sketch_of(graph, seed=seed)
        assert scored is None or scored[0][across].min() >= 0.25


def test_sparse_graphs_and_uneven_weights_are_refused():
    assert sketch_of(sources.grid(20, 20).to_edge_list()) is None
    assert sketch_of(connected_lognormal(3.0)) is None


def test_streams_from_degrees_are_as_accurate_and_resumable(tmp_path):
    graph = sources.erdos_renyi(300, 30_000, random_state=9).to_edge_list()
    simple = graph.simplified()
    from_degrees = StreamOptions(degree_approx_min_nodes=1, chunk_size=2**12)
    errors = []
    for options in (from_degrees, StreamOptions(chunk_size=2**12)):
        stream = StreamSparsifier(n_edges=3000, random_state=4, options=options)
        stream.partial_fit(graph.part(0, 20_000))
        stream.save(tmp_path / "run.ckpt")
        resumed = StreamSparsifier.load(tmp_path / "run.ckpt").partial_fit(graph.part(20_000))
        result = stream.partial_fit(graph.part(20_000)).sparsifier()
        np.testing.assert_array_equal(resumed.sparsifier().weight, result.weight)
        errors.append(reference.epsilon(simple, result))
    assert stream.n_resparsifications_ > 0
    assert errors[0] <= 1.1 * errors[1]


@pytest.mark.parametrize("inplace_min_edges", [1, 2**20])
def test_outdated_embeddings_are_replaced(inplace_min_edges):
    """A ring whose edges come in its order: resistances of the first half decrease later.

    With an embedding that is never replaced, epsilon is 1.4 instead of 0.4.
    """
    rng = np.random.default_rng(5)
    tail = np.sort(rng.integers(500, size=60_000))
    head = (tail + rng.geometric(0.03, size=tail.size)) % 500
    graph = EdgeList(tail=tail, head=head, n_nodes=500)
    options = StreamOptions(
        degree_approx_min_nodes=1, inplace_min_edges=inplace_min_edges, chunk_size=2**11
    )
    stream = StreamSparsifier(n_edges=5000, random_state=3, options=options)
    assert reference.epsilon(graph.simplified(), stream.partial_fit(graph).sparsifier()) <= 0.6
    assert stream.n_resparsifications_ > 5


def test_results_have_no_parallel_edges():
    """Resparsification of more than a million edges from degrees does not merge parallel edges."""
    source = sources.erdos_renyi(5000, 2_500_000, random_state=3)
    stream = StreamSparsifier(n_edges=400_000, random_state=6)
    for batch in source:
        stream.partial_fit(batch)
    result = stream.sparsifier()
    assert stream.n_resparsifications_ > 0
    assert result.n_edges == result.simplified().n_edges <= 400_000
    np.testing.assert_allclose(result.degrees(), stream.degrees_, rtol=0.02)


def test_leverages_fit_if_they_sum_to_fosters_value():
    graph = sources.erdos_renyi(300, 12_000, random_state=5).to_edge_list().simplified()
    resistance, _ = sketch_of(graph)
    assert leverages_fit(resistance, graph.weight, 300)
    assert not leverages_fit(1.2 * resistance, graph.weight, 300)


def test_single_edge():
    pair = EdgeList(tail=[0], head=[1], n_nodes=2)
    assert sketch_of(pair) is None or sketch_of(pair)[0] == pytest.approx([1.0])


def test_mean_of_all_coarse_sparsifiers_is_the_graph():
    """Edges outside the forest within six sigma over 300 samples; the forest is always kept."""
    n_samples = 300
    rng = np.random.default_rng(71_003)
    complete = sources.complete(40).to_edge_list()
    weight = rng.lognormal(sigma=0.5, size=complete.n_edges)
    graph = EdgeList(tail=complete.tail, head=complete.head, weight=weight)
    in_forest = graph.tail == 0
    found = []
    for seed in range(n_samples):
        edges = SampledEdges(graph.tail, graph.head, graph.weight, in_forest)
        coarse = coarse_sparsifier(edges, 1 / graph.degrees(), edges_per_node=6.0, seed=seed)
        found.append(coarse.to_scipy().toarray()[graph.tail, graph.head])
    found = np.array(found)
    sigma = found.std(axis=0) / np.sqrt(n_samples)
    deviation = np.abs(found.mean(axis=0) - weight)
    assert np.all(deviation[~in_forest] <= 6 * sigma[~in_forest] + 1e-6)
    np.testing.assert_allclose(found[:, in_forest], np.tile(weight[in_forest], (n_samples, 1)))
    assert np.count_nonzero(sigma[~in_forest]) > 300


def test_coarse_sparsifier_is_connected():
    graph = sources.chung_lu(400, 3000, random_state=8).to_edge_list().simplified()
    coarse = coarse_sparsifier(
        SampledEdges(graph.tail, graph.head, graph.weight, spanning_forest(graph)),
        1 / np.maximum(graph.degrees(), 1.0),
        edges_per_node=0.5,
        seed=8,
    )
    np.testing.assert_array_equal(coarse.components(), graph.components())


def test_resistances_are_at_most_those_of_single_edges():
    """Distant points add any amount; the result is at most 1 / w."""
    graph = sources.erdos_renyi(50, 600, random_state=4).to_edge_list().simplified()
    points = 10 * np.random.default_rng(71_005).standard_normal((50, 4)).astype(np.float32)
    columns = (graph.tail, graph.head, graph.weight)
    found = degree_resistances(points, graph.degrees(), *columns)
    np.testing.assert_allclose(found, 1 / graph.weight)
