"""Streams: unbiased, connected, within budget, independent of batches and of threads."""

import json
from dataclasses import replace

import numba
import numpy as np
import pytest

from graphsqueak import (
    EdgeList,
    InputError,
    StreamOptions,
    StreamSparsifier,
    effective_resistance,
    sources,
    sparsify,
)
from graphsqueak.cli import run
from graphsqueak.graph.forest import find_all
from graphsqueak.sources import read_edges
from graphsqueak.sparsifiers.budget import stream_bytes
from tests import reference
from tests.sparsifiers.stream import engine_state

# Small streams are resparsified as well.
SHORT = StreamOptions(chunk_size=64)
# Watermarks close to the budget: many resparsifications.
PLAIN = StreamOptions(
    rescale_to_degrees=False, high_watermark=1.5, low_watermark=1.25, chunk_size=64
)


def small_graph(n_nodes=16, n_edges=600, seed=901_447):
    """Two uneven clusters, heavy-tailed weights, edges repeated and in both directions."""
    rng = np.random.default_rng(seed)
    tail = rng.integers(n_nodes, size=n_edges)
    near = tail < n_nodes // 3
    head = np.where(
        near & (rng.random(n_edges) < 0.97),
        rng.integers(n_nodes // 3, size=n_edges),
        rng.integers(n_nodes, size=n_edges),
    )
    return EdgeList(
        tail=tail, head=head, weight=rng.lognormal(sigma=0.5, size=n_edges), n_nodes=n_nodes
    )


def fed(stream, graph, batch_size=10**6):
    for start in range(0, graph.n_edges, batch_size):
        stream.partial_fit(graph.part(start, start + batch_size))
    return stream


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "n_read", "n_edges"),
    [
        (PLAIN, 600, 60),
        (PLAIN, 1500, 95),
        (replace(PLAIN, dependent_rounding=False), 600, 60),
        (replace(PLAIN, filter_arrivals=False), 600, 60),
    ],
    ids=["default", "sampled forest", "independent sampling", "no filter"],
)
def test_the_mean_laplacian_is_that_of_the_graph(options, n_read, n_edges, tmp_path):
    """Every entry is within six standard deviations over many seeds, with merges and checkpoints.

    With 95 edges on 16 nodes the scale is above 4, so that the forest is sampled at the end.
    """
    graph = small_graph(n_edges=n_read)
    expected = graph.laplacian().toarray()
    cut, n_runs = graph.n_edges // 3, 2000 if options == PLAIN else 400
    total, square = np.zeros_like(expected), np.zeros_like(expected)
    n_resparsifications = 0
    for number in range(n_runs):
        seed = 104_729 * number + 31
        first = StreamSparsifier(n_edges=n_edges, options=options, random_state=seed)
        second = StreamSparsifier(n_edges=n_edges, options=options, random_state=seed + 1)
        first.partial_fit(graph.part(0, cut))
        second.partial_fit(graph.part(cut, 2 * cut))
        stream = first.merge(second)
        if number % 50 == 0:
            stream.save(tmp_path / "run.ckpt")
            stream = StreamSparsifier.load(tmp_path / "run.ckpt")
        laplacian = stream.partial_fit(graph.part(2 * cut)).sparsifier().laplacian().toarray()
        total += laplacian
        square += laplacian**2
        n_resparsifications += stream.n_resparsifications_
    mean = total / n_runs
    sigma = np.sqrt(np.maximum(square / n_runs - mean**2, 0) / n_runs)
    assert n_resparsifications > 3 * n_runs
    assert np.all(np.abs(mean - expected) <= 6 * sigma + 1e-9)


def test_components_are_those_of_the_graph_at_any_time():
    rng = np.random.default_rng(5_120_077)
    tail = rng.integers(80, size=3000)
    head = (tail // 20) * 20 + rng.integers(20, size=3000)  # four parts of twenty nodes
    graph = EdgeList(tail=tail, head=head, n_nodes=83)
    stream = StreamSparsifier(n_edges=150, random_state=46_368, options=SHORT)
    for start in range(0, graph.n_edges, 100):
        stream.partial_fit(graph.part(start, start + 100))
        so_far = graph.part(0, start + 100)
        np.testing.assert_array_equal(stream.sparsifier().components(), so_far.components())
        assert stream.n_components_ == so_far.components().max() + 1
    assert stream.n_resparsifications_ >= 2


@pytest.mark.parametrize("n_edges", [450, 2000, 8000])
@pytest.mark.filterwarnings("ignore::graphsqueak.errors.AccuracyWarning")  # 450 edges, 400 nodes
def test_results_are_within_the_budget(n_edges):
    result = sparsify(sources.erdos_renyi(400, 60_000, random_state=8), n_edges=n_edges)
    assert 0.9 * n_edges <= result.n_edges <= n_edges


@pytest.mark.parametrize(
    ("source", "n_edges"),
    [
        (sources.complete(300), 8 * 300),
        (sources.erdos_renyi(300, 80_000, random_state=3), 20 * 300),
        (sources.barbell(150), 8 * 300),
        (sources.block_model(300, 60_000, random_state=9), 8 * 300),
    ],
)
def test_errors_of_dense_graphs_are_within_10_percent_of_the_ramanujan_limit(source, n_edges):
    graph = source.to_edge_list()
    result = sparsify(graph, n_edges=n_edges, random_state=27_644_437, options=SHORT)
    limit = 2 / np.sqrt(2 * n_edges / graph.n_nodes)
    assert reference.epsilon(graph, result) < 1.1 * limit


def test_degrees_are_exact_and_met_by_the_result():
    graph = small_graph(60, 20_000)
    stream = StreamSparsifier(n_edges=600, random_state=1_597).partial_fit(graph)
    np.testing.assert_allclose(stream.degrees_, graph.degrees())
    np.testing.assert_allclose(stream.sparsifier().degrees(), graph.degrees(), rtol=0.02)


@pytest.mark.parametrize("batch_size", [1, 17, 64, 1000])
def test_batches_do_not_change_the_result(batch_size):
    graph = small_graph(40, 2500)
    whole = fed(
        StreamSparsifier(n_edges=100, random_state=514_229, options=SHORT), graph
    ).sparsifier()
    pieces = fed(
        StreamSparsifier(n_edges=100, random_state=514_229, options=SHORT), graph, batch_size
    )
    assert same_bytes(whole, pieces.sparsifier())


def test_threads_do_not_change_the_result():
    graph = sources.erdos_renyi(500, 600_000, random_state=2).to_edge_list()
    results = []
    allowed = numba.get_num_threads()
    try:
        for n_threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(n_threads)
            results.append(sparsify(graph, n_edges=5000, random_state=832_040))
    finally:
        numba.set_num_threads(allowed)
    assert same_bytes(*results)
    assert not same_bytes(results[0], sparsify(graph, n_edges=5000, random_state=832_041))


def test_intermediate_results_do_not_change_the_stream():
    graph = small_graph(40, 2500)
    watched = StreamSparsifier(n_edges=100, random_state=1_346_269, options=SHORT)
    for start in range(0, graph.n_edges, 500):
        watched.partial_fit(graph.part(start, start + 500)).sparsifier()
    alone = fed(StreamSparsifier(n_edges=100, random_state=1_346_269, options=SHORT), graph)
    assert same_bytes(watched.sparsifier(), alone.sparsifier())


def test_sampled_edges_stay_below_the_high_watermark_and_one_chunk():
    stream = StreamSparsifier(n_edges=400, random_state=5, options=SHORT)
    for batch in sources.erdos_renyi(100, 60_000, random_state=4, batch_size=500):
        stream.partial_fit(batch)
        assert stream.n_kept_ <= 3 * 400 + 64
    assert stream.n_resparsifications_ <= 4 * np.log2(60_000 / 1200)


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e9, 1e300])
def test_degrees_are_met_at_any_scale_of_the_weights(size):
    graph = small_graph(40, 1500)
    scaled = EdgeList.from_validated(graph.tail, graph.head, graph.weight * size, 40)
    plain = sparsify(graph, n_edges=100, random_state=31, options=SHORT)
    result = sparsify(scaled, n_edges=100, random_state=31, options=SHORT)
    assert result.n_edges <= 100
    np.testing.assert_allclose(result.degrees() / size, plain.degrees(), rtol=0.05)


def test_nodes_may_appear_at_any_time():
    stream = StreamSparsifier(n_edges=300, random_state=6, options=SHORT)
    graph = sources.complete(60).to_edge_list()
    order = np.argsort(graph.tail, kind="stable")
    for start in range(0, graph.n_edges, 100):
        part = graph.tail[order][start : start + 100], graph.head[order][start : start + 100]
        stream.partial_fit(EdgeList(tail=part[0], head=part[1]))
    assert stream.n_nodes_ == 60
    assert stream.sparsifier().components().max() == 0


def test_batches_with_different_numbering_are_matched_by_id():
    stream = StreamSparsifier(n_edges=100)
    stream.partial_fit(EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")]))
    stream.partial_fit(EdgeList.from_pairs([("cy", "ann"), ("dan", "bob")]))
    result = stream.sparsifier()
    assert result.ids.tolist() == ["ann", "bob", "cy", "dan"]
    assert result.degrees().tolist() == [2.0, 3.0, 2.0, 1.0]
    with pytest.raises(InputError, match="batches without"):
        stream.partial_fit(sources.path(3))


def test_merging_streams_with_ids_and_forests():
    graph = small_graph(30, 1500)
    names = np.array([f"node {i}" for i in range(30)], dtype=object)
    flipped = EdgeList(
        tail=29 - graph.tail, head=29 - graph.head, weight=graph.weight, ids=names[::-1]
    )
    one = StreamSparsifier(n_edges=100, random_state=1, options=SHORT).partial_fit(
        EdgeList(tail=graph.tail, head=graph.head, weight=graph.weight, n_nodes=30, ids=names)
    )
    two = StreamSparsifier(n_edges=100, random_state=2, options=SHORT).partial_fit(flipped)
    both = one.merge(two)
    assert both.n_edges_seen_ == 2 * graph.n_edges
    np.testing.assert_allclose(both.degrees_, 2 * graph.degrees())
    assert both.n_components_ == graph.components().max() + 1
    result = both.sparsifier()
    assert result.n_edges <= 100
    assert result.ids.tolist() == names.tolist()
    np.testing.assert_array_equal(result.components(), graph.components())
    with pytest.raises(InputError, match="different options"):
        one.merge(StreamSparsifier(n_edges=100, options=PLAIN))


@pytest.mark.parametrize("factor", [2.0**-12, 2.0**12])
def test_streams_with_different_weight_scales_are_merged_in_one_unit(factor):
    """Degrees are exact, and the total weight of the sparsifier is that of the graph."""
    graph = small_graph(30, 1500)
    parts = [
        EdgeList(tail=graph.tail, head=graph.head, weight=w * graph.weight) for w in (1.0, factor)
    ]
    one, two = (
        StreamSparsifier(n_edges=150, random_state=seed, options=SHORT).partial_fit(part)
        for seed, part in enumerate(parts)
    )
    exact = (1 + factor) * graph.degrees()
    for both in (one.merge(two), two.merge(one)):
        np.testing.assert_allclose(both.degrees_, exact, rtol=1e-12)
        assert both.sparsifier().weight.sum() == pytest.approx(exact.sum() / 2, rel=1e-3)


def test_a_ridge_has_a_smaller_error_with_the_same_number_of_edges():
    graph = sources.erdos_renyi(200, 30_000, random_state=12).to_edge_list()
    plain = sparsify(graph, n_edges=1600, random_state=9)
    ridge = sparsify(graph, n_edges=1600, ridge=300.0, random_state=9)
    assert reference.epsilon(graph, ridge, ridge=300.0) < reference.epsilon(graph, plain)


def test_an_empty_stream_has_no_sparsifier():
    with pytest.raises(InputError, match="no edges have been seen"):
        StreamSparsifier(n_edges=5).sparsifier()


def test_the_union_find_structure_has_the_components_of_the_graph():
    graph = small_graph(50, 40)
    stream = StreamSparsifier(n_edges=100).partial_fit(graph)
    found = find_all(engine_state(stream).parent)
    expected = graph.components()
    assert len(set(zip(found.tolist(), expected.tolist(), strict=True))) == len(set(found.tolist()))


def same_bytes(one, two):
    columns = ("tail", "head", "weight")
    return all(getattr(one, name).tobytes() == getattr(two, name).tobytes() for name in columns)


def test_ridges_of_merged_streams_add_up(tmp_path, capsys):
    """Parts that are accurate up to gamma each are accurate up to their sum, which is reported."""
    graph = sources.erdos_renyi(60, 1500, random_state=5).to_edge_list()
    paths = []
    for number, part in enumerate((graph.part(0, 500), graph.part(500, 900), graph.part(900))):
        stream = StreamSparsifier(n_edges=400, ridge=0.5, random_state=number).partial_fit(part)
        paths.append(str(tmp_path / f"{number}.ckpt"))
        stream.save(paths[-1])
    first, second, third = map(StreamSparsifier.load, paths)
    merged = first.merge(second).merge(third)
    assert (merged.ridge, engine_state(merged).ridge) == (1.5, 1.5)
    assert run(["merge", *paths, "-o", str(tmp_path / "all.tsv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ridge"] == 1.5
    assert run(["merge", *paths, "-o", str(tmp_path / "again.tsv")]) == 0
    assert "up to a ridge of 1.5" in capsys.readouterr().out


@pytest.mark.parametrize("times", [1, 2])
def test_parallel_edges_are_merged_in_to_bytes(times):
    """Few of 80,000 edges are parallel, and all of 160,000."""
    ends = np.random.default_rng(21_001).integers(20_000, size=(2, 80_000))
    ends = np.tile(ends[:, ends[0] != ends[1]], times)
    stream = StreamSparsifier(n_edges=200_000, random_state=3)
    stream.partial_fit(EdgeList(tail=ends[0], head=ends[1], n_nodes=20_000))
    stream = StreamSparsifier.from_bytes(stream.to_bytes())
    weight = engine_state(stream).buffer.edges().weight
    n_pairs = len(np.unique(np.sort(ends.T), axis=0))
    assert weight.size == n_pairs
    assert weight.sum() == ends.shape[1]
    np.testing.assert_array_equal(stream.degrees_, np.bincount(ends.ravel(), minlength=20_000))
    assert stream.sparsifier().n_edges == n_pairs


def random_graph(weight, n_nodes=40, n_edges=4000, seed=351_887):
    rng = np.random.default_rng(seed)
    tail = rng.integers(n_nodes, size=n_edges)
    head = (tail + rng.integers(1, n_nodes, size=n_edges)) % n_nodes
    return EdgeList(tail=tail, head=head, weight=weight(rng, n_edges), n_nodes=n_nodes)


@pytest.mark.parametrize("unit", [1e-300, 1e-8, 1e8, 1e300])
def test_weights_times_a_power_of_two_give_the_same_edges(unit):
    """The weights of the result are multiplied exactly."""
    unit = 2.0 ** np.round(np.log2(unit))
    graph = random_graph(lambda rng, n: rng.lognormal(size=n))
    scaled = EdgeList(tail=graph.tail, head=graph.head, weight=graph.weight * unit)
    one, other = (
        sparsify(edges, n_edges=300, random_state=3, options=SHORT) for edges in (graph, scaled)
    )
    assert np.array_equal(one.tail, other.tail)
    np.testing.assert_array_equal(one.weight * unit, other.weight)


@pytest.mark.slow
@pytest.mark.parametrize("decades", [8, 20, 50])
def test_degrees_of_weights_that_differ_by_many_decades(decades):
    graph = random_graph(lambda rng, n: 10.0 ** rng.uniform(-decades, decades, n))
    result = sparsify(graph, n_edges=300, random_state=3, options=SHORT)
    assert (result.weight > 0).all()
    np.testing.assert_allclose(result.degrees(), graph.degrees(), rtol=0.01)
    leverage = graph.weight * effective_resistance(graph)
    assert leverage.sum() == pytest.approx(39, rel=1e-6)


def test_weights_that_differ_by_too_many_decades_are_refused():
    graph = random_graph(lambda rng, n: 10.0 ** rng.uniform(-300, 300, n))
    for work in (effective_resistance, lambda edges: sparsify(edges, n_edges=300, options=SHORT)):
        with pytest.raises(InputError, match=r"more than 1e\+120 apart"):
            work(graph)


def test_one_edge_a_star_parallel_edges_and_isolated_nodes(tmp_path):
    one = sparsify(EdgeList(tail=[0], head=[1]), n_edges=5, options=SHORT)
    assert (one.n_nodes, one.weight.tolist()) == (2, [1.0])
    leaves = np.arange(1, 100_001)
    star = sparsify(
        EdgeList(tail=0 * leaves, head=leaves), n_edges=100_000, random_state=3, options=SHORT
    )
    assert star.n_edges == 100_000
    twins = EdgeList(tail=np.zeros(300_000, int), head=np.ones(300_000, int))
    assert sparsify(twins, n_edges=5, random_state=3, options=SHORT).weight.sum() == pytest.approx(
        300_000
    )
    path = tmp_path / "alone.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n100000 100000 1\n2 1\n")
    alone = sparsify(read_edges(path), n_edges=5, options=SHORT)
    assert (alone.n_nodes, alone.n_edges) == (100_000, 1)


def test_a_memory_limit_lowers_the_high_watermark():
    """The limit allows 3,000 sampled edges instead of three times 2,000."""
    options = StreamOptions(chunk_size=1000, memory_limit=stream_bytes(100, 3000))
    stream = StreamSparsifier(n_edges=2000, options=options, random_state=3)
    kept = []
    graph = sources.erdos_renyi(100, 60_000, random_state=7).to_edge_list()
    for start in range(0, graph.n_edges, 1000):
        kept.append(stream.partial_fit(graph.part(start, start + 1000)).n_kept_)
    assert max(kept) <= 3000 + 1000
    assert max(kept) > 1500
    assert stream.sparsifier().n_edges <= 2000
