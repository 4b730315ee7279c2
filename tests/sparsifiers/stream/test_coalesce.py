"""Merged parallel edges compared with a dictionary, on any number of threads."""

import numba
import numpy as np
import pytest

from graphsqueak.sparsifiers.stream import coalesce as module
from graphsqueak.sparsifiers.stream.coalesce import coalesce
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges


def parallel_edges(n_nodes, n_edges):
    rng = np.random.default_rng(8_675_309)
    tail = rng.integers(n_nodes, size=n_edges).astype(np.int32)
    head = ((tail + rng.integers(1, n_nodes, size=n_edges)) % n_nodes).astype(np.int32)
    weight = rng.lognormal(size=n_edges)
    return SampledEdges(tail, head, weight, rng.random(n_edges) < 0.01)


def merged_by_dictionary(edges):
    """Weight and forest membership of every pair of nodes."""
    merged = {}
    for u, v, w, in_forest in zip(*(column.tolist() for column in edges), strict=True):
        pair = (min(u, v), max(u, v))
        weight, was_in_forest = merged.get(pair, (0.0, False))
        merged[pair] = (weight + w, was_in_forest or in_forest)
    return merged


def check_merged(result, expected):
    pairs = list(zip(result.tail.tolist(), result.head.tolist(), strict=True))
    assert len(pairs) == len(expected)
    assert result.weight.tolist() == [expected[pair][0] for pair in pairs]
    assert result.in_forest.tolist() == [expected[pair][1] for pair in pairs]


def on_one_and_two_threads(compute):
    allowed = numba.get_num_threads()
    try:
        results = []
        for n_threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(n_threads)
            results.append(compute())
    finally:
        numba.set_num_threads(allowed)
    return results


def check_same_bytes(one, other):
    for column, expected in zip(one, other, strict=True):
        assert column.dtype == expected.dtype
        assert column.tobytes() == expected.tobytes()


def merged(edges, n_nodes):
    own = edges.copy()
    return own.select(slice(0, coalesce(own, n_nodes)))


@pytest.mark.parametrize(("n_nodes", "n_edges"), [(700, 60_000), (5_000, 6_000), (3, 1), (3, 0)])
def test_weights_and_forest_edges_match_a_dictionary(n_nodes, n_edges):
    """Weights are small integers, whose sums are exact in any order."""
    edges = parallel_edges(n_nodes, n_edges)
    edges = edges._replace(weight=np.ceil(np.minimum(edges.weight, 4.0)))
    result = merged(edges, n_nodes)
    assert (np.diff(result.head) >= 0).all()
    check_merged(result, merged_by_dictionary(edges))


def test_threads_do_not_change_the_result():
    edges = parallel_edges(3000, 400_000)
    check_same_bytes(*on_one_and_two_threads(lambda: merged(edges, 3000)))


def test_indices_of_64_bits_give_the_same_edges(monkeypatch):
    """The code path of more than 2^31 edges, forced on a few."""
    edges = parallel_edges(40, 4000)
    expected = merged(edges, 40)
    monkeypatch.setattr(module, "get_index_dtype", lambda maxval: np.int64)
    check_same_bytes(merged(edges, 40), expected)
