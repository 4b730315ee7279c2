"""Many edges: added up, thinned and drawn where they stand, to results as good as those of few."""

import numba
import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, StreamOptions, StreamSparsifier, sources
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.pivotal_sampling import (
    pivotal_sample,
    coalesce_in_place,
    select_in_place,
    scale_for_edges,
)
from tests import reference

MANY = StreamOptions(inplace_min_edges=1, degree_approx_min_nodes=1, chunk_size=2**11)


def parallel_edges(n_nodes, n_edges, dtype=np.float64):
    rng = np.random.default_rng(40_925)
    tail = rng.integers(n_nodes, size=n_edges).astype(np.int32)
    head = ((tail + rng.integers(1, n_nodes, size=n_edges)) % n_nodes).astype(np.int32)
    weight = rng.integers(1, 5, size=n_edges).astype(dtype)
    return SampledEdges(tail, head, weight, np.ones(n_edges, np.uint8), rng.random(n_edges) < 0.01)


def test_sums_and_pins_are_those_of_a_dictionary_on_any_number_of_threads():
    allowed, results = numba.get_num_threads(), []
    try:
        for n_threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(n_threads)
            edges = parallel_edges(3000, 400_000)
            results.append(edges.select(slice(0, coalesce_in_place(edges, 3000))))
    finally:
        numba.set_num_threads(allowed)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*results, strict=True))
    result, sums = results[0], {}
    columns = (column.tolist() for column in parallel_edges(3000, 400_000))
    for u, v, w, _, pinned in zip(*columns, strict=True):
        old = sums.get((min(u, v), max(u, v)), (0.0, False))
        sums[min(u, v), max(u, v)] = (old[0] + w, old[1] or pinned)
    pairs = list(zip(result.tail.tolist(), result.head.tolist(), strict=True))
    assert (np.diff(result.head) >= 0).all()
    assert len(pairs) == len(sums)
    assert result.weight.tolist() == [sums[pair][0] for pair in pairs]
    assert result.pinned.tolist() == [sums[pair][1] for pair in pairs]
    assert (result.copies == 1).all()


def drawn_in_order(edges, resistance, *, seed):
    chosen = pivotal_sample(edges, resistance, 1.0, seed=seed)
    own = SampledEdges(*(column.copy() for column in edges))
    return select_in_place(own, resistance, 1.0, chosen)


def test_every_edge_is_kept_with_its_probability():
    """Draws in order, over 2,000 seeds: shares and mean weights within six sigmas."""
    edges, n_runs = parallel_edges(30, 200), 2000
    resistance = np.random.default_rng(3).uniform(0.02, 0.4, size=200)
    prob = np.where(edges.pinned, 1.0, np.minimum(edges.weight * resistance, 1.0))
    kept, total = np.zeros(200), np.zeros(200)
    named = edges._replace(tail=np.arange(200, dtype=np.int32))
    for seed in range(n_runs):
        thin = drawn_in_order(named, resistance, seed=seed)
        assert abs(thin.tail.size - prob.sum()) < 1
        kept[thin.tail] += 1
        total[thin.tail] += thin.weight
    sigma = np.sqrt(prob * (1 - prob) / n_runs)
    assert (np.abs(kept / n_runs - prob) <= 6 * sigma + 1e-12).all()
    assert (np.abs(total / n_runs - edges.weight) <= 6 * edges.weight / prob * sigma + 1e-9).all()


def test_nodes_get_the_number_of_edges_that_they_expect():
    """Drawn in order of heads, a node's edges are off by less than two; coins are off by five."""
    n_heads, n_each = 400, 100
    head = np.repeat(np.arange(n_each, n_each + n_heads), n_each).astype(np.int32)
    tail = np.tile(np.arange(n_each), n_heads).astype(np.int32)
    free = np.zeros(head.size, np.bool_)
    edges = SampledEdges(tail, head, np.ones(head.size), np.ones(head.size, np.uint8), free)
    resistance = np.random.default_rng(8).uniform(0.2, 0.8, size=head.size)
    drawn = drawn_in_order(edges, resistance, seed=77)
    off = np.bincount(drawn.head) - np.bincount(head, resistance)
    assert np.abs(off).max() < 2


def test_scales_are_those_of_all_leverages():
    edges, resistance = parallel_edges(300, 5000, np.float32), np.full(5000, 0.1, np.float32)
    for budget in (200.0, 2000.0):
        scale = scale_for_edges(edges, resistance, budget)
        assert np.minimum(scale * edges.weight * resistance, 1).sum() == pytest.approx(budget)
        scale = scale_for_edges(edges, resistance, budget, pinned=False)
        free = ~edges.pinned
        kept = np.minimum(scale * (edges.weight * resistance)[free], 1).sum()
        assert kept == pytest.approx(budget)


def sparsify(graph, *, seed, options=MANY, cuts=(), **how):
    stream = StreamSparsifier(n_edges=3000, random_state=seed, options=options)
    for start, stop in zip((0, *cuts), (*cuts, graph.n_edges), strict=True):
        stream.partial_fit(graph.part(start, stop))
    return stream, stream.sparsifier(**how)


def test_results_of_many_edges_are_as_good_as_those_of_few():
    graph = sources.erdos_renyi(300, 30_000, random_state=9).to_edge_list()
    simple, usual = graph.simplified(), StreamOptions(chunk_size=2**11)
    errors = np.empty((2, 5))
    for seed in range(5):
        for kind, options in enumerate((MANY, usual)):
            stream, result = sparsify(graph, seed=seed, options=options)
            assert 0.9 * 3000 <= result.n_edges <= 3000
            assert result.weight.dtype == np.float64
            errors[kind, seed] = reference.epsilon(simple, result)
    assert stream.n_shrinks_ > 0
    assert np.median(errors[0]) <= 1.1 * np.median(errors[1])


def test_weights_keep_their_expectation():
    """Total weight across a cut, without calibration, over 200 seeds, within six sigmas."""
    graph = sources.erdos_renyi(100, 8000, random_state=2).to_edge_list()
    options = StreamOptions(
        inplace_min_edges=1, degree_approx_min_nodes=1, chunk_size=2**10, rescale_to_degrees=False
    )
    across = (graph.tail < 50) != (graph.head < 50)
    cuts = []
    for seed in range(200):
        stream = StreamSparsifier(n_edges=1500, random_state=seed, options=options)
        result = stream.partial_fit(graph).sparsifier()
        cuts.append(result.weight[(result.tail < 50) != (result.head < 50)].sum())
    expected = graph.weight[across].sum()
    assert abs(np.mean(cuts) - expected) <= 6 * np.std(cuts) / np.sqrt(len(cuts))


def test_batches_stops_and_using_up_do_not_matter(tmp_path):
    graph = sources.erdos_renyi(300, 30_000, random_state=9).to_edge_list()
    stream, result = sparsify(graph, seed=4)
    again = stream.sparsifier()  # the stream was left as it is
    _, in_parts = sparsify(graph, seed=4, cuts=(777, 20_000))
    used, of_its_own = sparsify(graph, seed=4, consume=True)
    first = StreamSparsifier(n_edges=3000, random_state=4, options=MANY)
    first.partial_fit(graph.part(0, 21_111)).save(tmp_path / "run.ckpt")
    resumed = StreamSparsifier.load(tmp_path / "run.ckpt").partial_fit(graph.part(21_111))
    for other in (again, in_parts, of_its_own, resumed.sparsifier()):
        for column in ("tail", "head", "weight"):
            np.testing.assert_array_equal(getattr(other, column), getattr(result, column))
    assert used.n_edges_seen_ == graph.n_edges
    for goes_on in (lambda: used.partial_fit(graph), used.sparsifier, used.to_bytes):
        with pytest.raises(InputError, match="consume"):
            goes_on()


@pytest.mark.parametrize("n_single", [1500, 2000])
def test_a_graph_that_fits_is_given_back_to_the_last_digit(n_single):
    """Single precision holds the first weights, but not all sums of them, and then others come."""
    graph = sources.erdos_renyi(300, 2000, random_state=1).to_edge_list()
    weight = np.random.default_rng(5).lognormal(size=graph.n_edges)
    weight[:n_single] = weight[:n_single].astype(np.float32)
    graph = EdgeList(tail=graph.tail, head=graph.head, weight=weight, n_nodes=300)
    _, result = sparsify(graph, seed=1, cuts=(700,))
    whole = graph.simplified()
    order, own = (np.lexsort((g.head, g.tail)) for g in (result, whole))
    np.testing.assert_array_equal(result.tail[order], np.minimum(whole.tail, whole.head)[own])
    np.testing.assert_allclose(result.weight[order], whole.weight[own], rtol=1e-15)
