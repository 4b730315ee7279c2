"""Merged parallel edges compared with a dictionary, on any number of threads."""

import numba
import numpy as np
import pytest

from graphsqueak.sparsifiers.stream.coalesce import (
    coalesce,
    coalesce_in_place,
    repeated_fraction,
)
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges

ALWAYS_COMPILED = 0
NEVER_COMPILED = 2**62


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


@pytest.mark.parametrize("max_edges_uncompiled", [ALWAYS_COMPILED, NEVER_COMPILED])
def test_weights_and_forest_edges_match_a_dictionary(max_edges_uncompiled):
    edges = parallel_edges(700, 60_000)
    result = coalesce(edges, 700, max_edges_uncompiled=max_edges_uncompiled)
    assert (np.diff(result.tail) >= 0).all()
    check_merged(result, merged_by_dictionary(edges))


def test_threads_do_not_change_the_result():
    edges = parallel_edges(3000, 400_000)
    results = on_one_and_two_threads(
        lambda: coalesce(edges, 3000, max_edges_uncompiled=ALWAYS_COMPILED)
    )
    check_same_bytes(*results)


@pytest.mark.parametrize(("n_nodes", "n_edges"), [(700, 60_000), (5_000, 6_000), (3, 1), (3, 0)])
def test_sorting_and_kernels_give_the_same_edges_in_the_same_order(n_nodes, n_edges):
    edges = parallel_edges(n_nodes, n_edges)
    compiled = coalesce(edges, n_nodes, max_edges_uncompiled=ALWAYS_COMPILED)
    by_sorting = coalesce(edges, n_nodes, max_edges_uncompiled=NEVER_COMPILED)
    check_same_bytes(compiled, by_sorting)


@pytest.mark.parametrize("in_place", [False, True])
def test_indices_of_64_bits_give_the_same_edges(in_place):
    """The code path of more than 2^31 edges, forced on a few."""
    edges = parallel_edges(40, 4000)
    results = []
    for largest_index in (2**31 - 1, 10):
        if in_place:
            own = edges.copy()
            n_left = coalesce_in_place(own, 40, largest_index=largest_index)
            results.append(own.select(slice(0, n_left)))
        else:
            result = coalesce(
                edges,
                40,
                largest_index=largest_index,
                max_edges_uncompiled=ALWAYS_COMPILED,
            )
            results.append(result)
    check_same_bytes(*results)


def test_merging_in_place_matches_a_dictionary_on_any_number_of_threads():
    """Weights are small integers, whose sums are exact in any order."""
    edges = parallel_edges(3000, 400_000)
    edges = edges._replace(weight=np.ceil(np.minimum(edges.weight, 4.0)))

    def merge():
        own = edges.copy()
        return own.select(slice(0, coalesce_in_place(own, 3000)))

    results = on_one_and_two_threads(merge)
    check_same_bytes(*results)
    assert (np.diff(results[0].head) >= 0).all()
    check_merged(results[0], merged_by_dictionary(edges))


def test_the_repeated_fraction_is_estimated_from_a_sample_of_pairs():
    """Of 600,000 edges, in either direction, 75,000 repeat another; 37,500 are sampled."""
    rng = np.random.default_rng(196_418)
    pair = rng.choice(4000 * 4000, size=525_000, replace=False)
    pair = rng.permutation(np.concatenate([pair, pair[:75_000]]))
    tail = (pair // 4000).astype(np.int32)
    head = (pair % 4000 + 4000).astype(np.int32)
    is_turned = rng.random(pair.size) < 0.5
    found = repeated_fraction(np.where(is_turned, head, tail), np.where(is_turned, tail, head))
    assert abs(found - 0.125) <= 6 * np.sqrt(0.125 * 0.875 / 30_000)
