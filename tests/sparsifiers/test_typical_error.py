"""Typical errors match their definition, and for random edges simulated samples."""

import math

import numpy as np
import pytest

from graphsqueak import EdgeList, StreamOptions, StreamSparsifier, TimedSparsifier, sources
from graphsqueak.graph import TimedEdges
from graphsqueak.sparsifiers import SparsifyConfig, run_sparsify
from graphsqueak.sparsifiers.typical_error import (
    MedianErrors,
    TypicalError,
    measure_resistances,
    random_cut_error,
    random_degree_error,
)

N_SAMPLES = 200


def dense():
    return sources.erdos_renyi(200, 8_000, random_state=3).to_edge_list()


def mostly_leaves():
    """Equal weights and few edges at most nodes, so that errors are far from normal."""
    return sources.chung_lu(1_000, 5_000, random_state=4).to_edge_list()


def heavy_tailed():
    """Degrees and weights with heavy tails."""
    edges = sources.chung_lu(500, 6_000, random_state=4).to_edge_list()
    weight = np.random.default_rng(5).lognormal(sigma=1.0, size=edges.n_edges)
    return EdgeList(tail=edges.tail, head=edges.head, weight=weight, n_nodes=500)


def heavy_hubs():
    """The edges at some nodes are a hundred times as heavy as others."""
    edges = sources.erdos_renyi(300, 4_000, random_state=6).to_edge_list()
    is_heavy = (edges.tail < 30) | (edges.head < 30)
    return EdgeList(tail=edges.tail, head=edges.head, weight=np.where(is_heavy, 100.0, 1.0))


def uniform_samples(graph, fraction):
    """Samples of the edges without replacement, reweighted."""
    rng = np.random.default_rng(8)
    n_sampled = round(fraction * graph.n_edges)
    for _ in range(N_SAMPLES):
        kept = rng.choice(graph.n_edges, n_sampled, replace=False)
        weight = graph.weight[kept] * graph.n_edges / n_sampled
        yield EdgeList.from_validated(graph.tail[kept], graph.head[kept], weight, graph.n_nodes)


def weight_of_cuts(graph, sides):
    return graph.weight @ (sides[graph.tail] != sides[graph.head])


def seen(graph, **budget):
    return StreamSparsifier(**budget or {"keep": 0.5}, random_state=7).partial_fit(graph)


@pytest.mark.parametrize(
    ("make", "rtol"),
    [(dense, 0.05), (mostly_leaves, 0.05), (heavy_tailed, 0.2), (heavy_hubs, 0.35)],
)
@pytest.mark.parametrize("fraction", [0.05, 0.2, 0.6])
def test_the_error_of_random_edges_is_that_of_simulated_samples(make, rtol, fraction):
    graph = make()
    stream = seen(graph)
    sides = np.random.default_rng(9).random((graph.n_nodes, 20)) < 0.5
    exact_cuts = weight_of_cuts(graph, sides)
    has_edges = graph.degrees() > 0
    cut_errors = []
    degree_errors = []
    for sample in uniform_samples(graph, fraction):
        cut_errors.append(np.abs(weight_of_cuts(sample, sides) / exact_cuts - 1))
        degree_errors.append(np.abs(sample.degrees()[has_edges] / graph.degrees()[has_edges] - 1))
    effective = stream.effective_edges_[has_edges]
    found = random_cut_error(
        stream.degrees_[has_edges], effective, fraction=fraction, n_edges=graph.n_edges
    )
    # The median of 4,000 errors of cuts, whose samples they share, is known within 10 %.
    assert found == pytest.approx(np.median(cut_errors), rel=0.15)
    # Sums of unequal weights are not quite binomial.
    found = random_degree_error(effective, fraction=fraction)
    assert found == pytest.approx(np.median(degree_errors), rel=rtol)


def test_effective_edges_are_edges_for_equal_weights_and_fewer_for_others():
    edges = EdgeList(tail=[0, 0, 0], head=[1, 2, 3], weight=[2.0, 2.0, 4.0], n_nodes=5)
    # (2 + 2 + 4)^2 / (4 + 4 + 16)
    np.testing.assert_allclose(seen(edges).effective_edges_, [64 / 24, 1, 1, 1, 0])
    tiny = EdgeList(tail=edges.tail, head=edges.head, weight=1e-200 * edges.weight, n_nodes=5)
    np.testing.assert_allclose(seen(tiny).effective_edges_, [64 / 24, 1, 1, 1, 0])


@pytest.mark.parametrize("n_unweighted", [0, 1, 40, 120])
def test_effective_edges_of_streams_whose_first_weights_are_equal(n_unweighted, tmp_path):
    """Squares of weights are summed only from the first weight on that is not 1."""
    rng = np.random.default_rng(77)
    tail = rng.integers(31, size=120)
    head = (tail + rng.integers(1, 31, size=120)) % 31
    weight = rng.choice([0.5, 1.0, 3.0], size=120)
    weight[:n_unweighted] = 4.0
    edges = EdgeList(tail=tail, head=head, weight=weight)
    sums = [np.zeros(edges.n_nodes) for _ in range(2)]
    for power, total in enumerate(sums, start=1):
        np.add.at(total, edges.tail, edges.weight**power)
        np.add.at(total, edges.head, edges.weight**power)
    expected = np.divide(sums[0] ** 2, sums[1], out=np.zeros(edges.n_nodes), where=sums[1] > 0)

    halves = (edges.part(0, 50), edges.part(50))
    stream = StreamSparsifier(n_edges=400, options=StreamOptions(chunk_size=7), random_state=1)
    stream.partial_fit(halves[0])
    stream.save(tmp_path / "half.ckpt")
    stream = StreamSparsifier.load(tmp_path / "half.ckpt").partial_fit(halves[1])
    np.testing.assert_allclose(stream.effective_edges_, expected, rtol=1e-12)
    apart = [StreamSparsifier(n_edges=400, random_state=1).partial_fit(half) for half in halves]
    np.testing.assert_allclose(apart[0].merge(apart[1]).effective_edges_, expected, rtol=1e-12)


def test_effective_edges_survive_merges_checkpoints_and_decay(tmp_path):
    graph = heavy_tailed()
    whole = seen(graph, n_edges=1_000)
    expected = whole.effective_edges_
    half = graph.n_edges // 2
    first = EdgeList.from_validated(
        graph.tail[:half], graph.head[:half], graph.weight[:half], graph.n_nodes
    )
    second = EdgeList.from_validated(
        graph.tail[half:], graph.head[half:], graph.weight[half:], graph.n_nodes
    )
    merged = seen(first, n_edges=1_000).merge(seen(second, n_edges=1_000))
    np.testing.assert_allclose(merged.effective_edges_, expected)
    whole.save(tmp_path / "run.ckpt")
    loaded = StreamSparsifier.load(tmp_path / "run.ckpt")
    np.testing.assert_array_equal(loaded.effective_edges_, expected)
    # Weights 1/2 and 1: (3/2)^2 / (5/4).
    timed = TimedSparsifier(n_edges=100, half_life=2)
    timed.partial_fit(TimedEdges(tail=[0, 1], head=[1, 2], time=[3, 5]))
    np.testing.assert_allclose(timed.effective_edges_, [1, 9 / 5, 1])


def test_the_error_of_a_sparsifier_is_that_of_its_cuts_and_degrees():
    graph = dense()
    result = run_sparsify(graph, SparsifyConfig(keep=0.2, random_state=1))
    error = result.typical_error.sparsifier
    ratio = result.sparsifier.degrees() / graph.degrees()
    assert error.degrees == pytest.approx(np.median(np.abs(ratio - 1)))
    assert 0 < error.cuts <= result.cut_error_lower
    assert error.resistances is None
    assert [name for name, *_ in result.typical_error.rows()] == ["cuts", "degrees"]


def test_a_whole_graph_has_no_error():
    error = run_sparsify(dense(), SparsifyConfig(keep=1.0)).typical_error
    assert error.sparsifier.degrees == error.sparsifier.cuts == 0.0
    one = EdgeList(tail=[0], head=[1])
    assert run_sparsify(one, SparsifyConfig(n_edges=5)).typical_error.largest == 0.0


def test_cuts_are_left_out_if_streams_numbered_their_nodes_differently():
    names = [f"n{i}" for i in range(40)]
    pairs = [(a, b) for a in names for b in names if a < b]
    one = StreamSparsifier(n_edges=300).partial_fit(EdgeList.from_pairs(pairs[:400]))
    two = StreamSparsifier(n_edges=300).partial_fit(EdgeList.from_pairs(pairs[:399:-1]))
    both = one.merge(two)
    assert np.isnan(both.cut_errors(both.sparsifier())).all()


@pytest.mark.parametrize("make", [dense, heavy_tailed])
def test_resistances_are_compared_with_those_of_the_graph(make):
    graph = make()
    nothing = TypicalError(MedianErrors(), MedianErrors())
    same = measure_resistances(nothing, graph, graph, seed=2)
    assert same.sparsifier.resistances == pytest.approx(0.0, abs=1e-6)
    # Twice the weights are half the resistances.
    double = EdgeList(
        tail=graph.tail, head=graph.head, weight=2 * graph.weight, n_nodes=graph.n_nodes
    )
    halved = measure_resistances(nothing, graph, double, seed=2)
    assert halved.sparsifier.resistances == pytest.approx(0.5, rel=1e-6)
    assert halved.random_edges.resistances == pytest.approx(0.0, abs=1e-6)


def test_random_edges_that_disconnect_most_pairs_have_an_infinite_error():
    graph = sources.path(200).to_edge_list()
    nothing = TypicalError(MedianErrors(), MedianErrors())
    error = measure_resistances(nothing, graph, graph.part(0, 100), seed=2)
    assert math.isinf(error.random_edges.resistances)


def test_resistances_are_those_of_pairs_in_one_component():
    graph = sources.cycle(30).to_edge_list()
    two = EdgeList(
        tail=np.concatenate([graph.tail, graph.tail + 30]),
        head=np.concatenate([graph.head, graph.head + 30]),
        n_nodes=61,
    )
    nothing = TypicalError(MedianErrors(), MedianErrors())
    error = measure_resistances(nothing, two, two, seed=3)
    assert error.sparsifier.resistances == pytest.approx(0.0, abs=1e-6)
    isolated = EdgeList(tail=[], head=[], n_nodes=3)
    assert measure_resistances(nothing, isolated, isolated, seed=3) == nothing


def test_the_median_of_resistances_matches_a_dense_inverse():
    graph = sources.erdos_renyi(15, 80, random_state=12).to_edge_list()
    sparse = run_sparsify(graph, SparsifyConfig(n_edges=40, random_state=2)).sparsifier
    inverses = [np.linalg.pinv(one.laplacian().toarray()) for one in (graph, sparse)]
    first, second = np.triu_indices(15, k=1)
    expected, found = (
        inverse[first, first] + inverse[second, second] - 2 * inverse[first, second]
        for inverse in inverses
    )
    nothing = TypicalError(MedianErrors(), MedianErrors())
    error = measure_resistances(nothing, graph, sparse, seed=4)
    assert error.sparsifier.resistances == pytest.approx(np.median(np.abs(found / expected - 1)))
