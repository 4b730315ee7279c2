"""Parallel edges made one, as by a dictionary, on any number of threads; degrees matched."""

import numba
import numpy as np
import pytest

from graphsqueak import sources
from graphsqueak.graph.forest import append_growable
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges, coalesce, repeated_fraction
from graphsqueak.sparsifiers.stream.finalize import calibrate


def many_parallel_edges(n_nodes, n_edges):
    rng = np.random.default_rng(8_675_309)
    tail = rng.integers(n_nodes, size=n_edges).astype(np.int32)
    head = ((tail + rng.integers(1, n_nodes, size=n_edges)) % n_nodes).astype(np.int32)
    weight, copies = rng.lognormal(size=n_edges), np.ones(n_edges, np.int32)
    return SampledEdges(tail, head, weight, copies, rng.random(n_edges) < 0.01)


@pytest.mark.parametrize("few", [0, 2**62])
def test_sums_pins_and_copies_are_those_of_a_dictionary(few):
    edges = many_parallel_edges(700, 60_000)
    sums = {}
    for u, v, w, copies, pinned in zip(*(column.tolist() for column in edges), strict=True):
        old = sums.get((min(u, v), max(u, v)), (0.0, 0, False))
        sums[min(u, v), max(u, v)] = (old[0] + w, min(old[1] + copies, 2), old[2] or pinned)
    result = coalesce(edges, 700, n_copies=2, few=few)
    pairs = list(zip(result.tail.tolist(), result.head.tolist(), strict=True))
    assert (np.diff(result.tail) >= 0).all()
    assert len(pairs) == len(sums)
    expected = [sums[pair] for pair in pairs]
    assert result.weight.tolist() == [weight for weight, _, _ in expected]
    assert result.copies.tolist() == [copies for _, copies, _ in expected]
    assert result.pinned.tolist() == [pinned for _, _, pinned in expected]


def test_threads_do_not_matter():
    edges = many_parallel_edges(3000, 400_000)
    allowed = numba.get_num_threads()
    try:
        results = []
        for n_threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(n_threads)
            results.append(coalesce(edges, 3000, few=0))
    finally:
        numba.set_num_threads(allowed)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*results, strict=True))


@pytest.mark.parametrize(("n_nodes", "n_edges"), [(700, 60_000), (5_000, 6_000), (3, 1), (3, 0)])
def test_edges_without_kernels_are_the_same_in_the_same_order(n_nodes, n_edges):
    edges = many_parallel_edges(n_nodes, n_edges)
    edges = edges._replace(copies=edges.copies.astype(np.uint8))
    compiled, plain = (coalesce(edges, n_nodes, n_copies=3, few=few) for few in (0, 2**62))
    for one, other in zip(compiled, plain, strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


def test_calibration_finds_the_weights_around_a_bridge_that_stays():
    """Two cliques of ten and a heavy bridge; weights inside come scaled by s_u s_v.

    Scales are unique. Steps end when degrees are amiss by less than 0.3 % of their sum: so may be
    all of one node's, a twentieth of it.
    """
    clique = sources.complete(10).to_edge_list()
    tail = np.concatenate([clique.tail, clique.tail + 10, [0]]).astype(np.int32)
    head = np.concatenate([clique.head, clique.head + 10, [10]]).astype(np.int32)
    true, bridge = np.ones(tail.size), np.arange(tail.size) == tail.size - 1
    true[bridge] = 7.0
    degree = np.bincount(np.r_[tail, head], np.r_[true, true])
    log_scale = np.random.default_rng(60_601).uniform(-0.3, 0.3, size=20)
    scaled = np.where(bridge, true, np.exp(log_scale[tail] + log_scale[head]))
    edges = SampledEdges(tail, head, scaled, np.ones(tail.size, np.int32), bridge)
    found = calibrate(edges, degree, bridge).weight
    assert found[bridge] == 7.0
    np.testing.assert_allclose(np.log(found[~bridge]), 0.0, atol=20 * 0.003)


@pytest.mark.parametrize("n_left", [0, 600])
def test_calibration_meets_degrees_in_few_steps(n_left):
    """Of sixteen edges a node, whose weights are noise, all within the steps that are allowed.

    In the second graph all edges join two sides, where errors of opposite signs fade slowest.
    """
    rng = np.random.default_rng(76_801)
    low, high = ((0, n_left), (n_left, 1_200)) if n_left else ((0, 1_200), (0, 1_200))
    tail, head = (rng.integers(*side, size=9_600).astype(np.int32) for side in (low, high))
    ends, noise = np.r_[tail, head], rng.lognormal(sigma=0.7, size=tail.size)
    edges = SampledEdges(tail, head, noise, np.ones(tail.size, np.int32), np.zeros(tail.size, bool))
    degree = np.bincount(ends, minlength=1_200).astype(float)
    weight = calibrate(edges, degree).weight
    found = np.bincount(ends, np.r_[weight, weight], 1_200)
    assert np.abs(found - degree).sum() <= 0.003 * degree.sum()


def test_a_sample_of_pairs_tells_the_share_of_repeats():
    """Of 600,000 edges, either way round, one in eight repeats another; 37,500 are looked at."""
    rng = np.random.default_rng(196_418)
    pair = rng.choice(4000 * 4000, size=525_000, replace=False)
    pair = rng.permutation(np.concatenate([pair, pair[:75_000]]))
    tail, head = (pair // 4000).astype(np.int32), (pair % 4000 + 4000).astype(np.int32)
    turned = rng.random(pair.size) < 0.5
    share = repeated_fraction(np.where(turned, head, tail), np.where(turned, tail, head))
    assert abs(share - 0.125) <= 6 * np.sqrt(0.125 * 0.875 / 30_000)


def test_values_that_were_extended_stay_as_they_are():
    first = append_growable(np.zeros(0), np.ones(10))
    longer, other = append_growable(first, np.full(2, 2.0)), append_growable(first, np.full(3, 3.0))
    assert np.shares_memory(first, longer)
    assert not np.shares_memory(longer, other)
    assert longer.tolist() == [1.0] * 10 + [2.0] * 2
    assert other.tolist() == [1.0] * 10 + [3.0] * 3
    assert append_growable(other[:4], np.zeros(1)).tolist() == [1.0] * 4 + [0.0]
    assert other.tolist() == [1.0] * 10 + [3.0] * 3
