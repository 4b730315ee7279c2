"""Dependent rounding: exact probabilities, and degrees close to their expectation."""

import numpy as np

from graphsqueak import certify, sources, sparsify
from graphsqueak.sparsifiers.stream import dependent_rounding as module
from graphsqueak.sparsifiers.stream.dependent_rounding import count_std, dependent_rounding


def test_every_edge_is_kept_with_its_probability():
    rng = np.random.default_rng(118_264_301)
    n_nodes, n_edges, n_runs = 12, 40, 20_000
    tail = rng.integers(n_nodes, size=n_edges)
    head = (tail + rng.integers(1, n_nodes, size=n_edges)) % n_nodes
    prob = rng.random(n_edges)
    prob[:3] = 0.0, 1.0, 0.5
    count = np.zeros(n_edges)
    for seed in range(n_runs):
        count += dependent_rounding(tail, head, prob, n_nodes, seed=7_000_003 * seed + 11)
    sigma = np.sqrt(prob * (1 - prob) / n_runs)
    assert np.all(np.abs(count / n_runs - prob) <= 6 * sigma)


def test_degrees_vary_less_than_with_independent_sampling():
    graph = sources.complete(400).to_edge_list()
    prob = np.full(graph.n_edges, 0.05)
    kept = dependent_rounding(graph.tail, graph.head, prob, 400, seed=5_150)
    degree = np.bincount(np.r_[graph.tail[kept], graph.head[kept]], minlength=400)
    independent_std = np.sqrt(399 * 0.05 * 0.95)  # 4.4
    assert degree.std() < 0.5 * independent_std
    assert abs(kept.sum() - 0.05 * graph.n_edges) < 0.01 * graph.n_edges * 0.05


def test_every_node_of_an_even_graph_keeps_half_of_its_edges():
    graph = sources.complete(9).to_edge_list()  # all degrees 8
    for seed in range(50):
        kept = dependent_rounding(graph.tail, graph.head, np.full(36, 0.5), 9, seed=seed)
        degree = np.bincount(np.r_[graph.tail[kept], graph.head[kept]], minlength=9)
        assert np.abs(degree - 4).max() <= 2  # an odd tour leaves two at the node where it closes
        assert np.abs(degree - 4).sum() <= 6


def test_probabilities_of_0_and_1_and_empty_graphs():
    tail, head = np.array([0, 1]), np.array([1, 2])
    assert not dependent_rounding(tail, head, np.zeros(2), 3, seed=1).any()
    assert dependent_rounding(tail, head, np.ones(2), 3, seed=1).all()
    assert dependent_rounding(tail[:0], head[:0], np.zeros(0), 3, seed=1).size == 0


def test_odd_tours_do_not_change_the_number_of_edges():
    """Three thousand triangles, half of each: every tour is odd."""
    first = 3 * np.arange(3000)
    tail = np.concatenate([first, first + 1, first + 2])
    head = np.concatenate([first + 1, first + 2, first])
    count = np.zeros(9000)
    for seed in range(200):
        kept = dependent_rounding(tail, head, np.full(9000, 0.5), 9000, seed=31 * seed + 5)
        assert abs(kept.sum() - 4500) <= 1
        count += kept
    assert abs(count.mean() / 200 - 0.5) <= 1e-3
    assert np.abs(count / 200 - 0.5).max() <= 6 * np.sqrt(0.25 / 200)


def test_degrees_and_counts_vary_as_the_first_rounding_does():
    graph = sources.complete(300).to_edge_list()
    prob = np.full(graph.n_edges, 0.3)
    degrees, counts = [], []
    for seed in range(40):
        kept = dependent_rounding(graph.tail, graph.head, prob, 300, seed=seed, n_bits=4)
        degrees.append(np.bincount(np.r_[graph.tail[kept], graph.head[kept]], minlength=300))
        counts.append(kept.sum())
    fraction = (0.3 * 16) % 1
    dither_std = np.sqrt(299 * fraction * (1 - fraction)) / 16
    assert dither_std <= np.std(degrees) <= np.sqrt(dither_std**2 + 4)
    expected_std = count_std(prob, n_bits=4)
    assert abs(np.std(counts) / expected_std - 1) <= 6 / np.sqrt(2 * 40)
    assert np.abs(np.array(counts) - prob.sum()).max() <= 6 * expected_std + 1


def test_half_of_a_complete_graph_has_the_smallest_possible_error():
    """The limit is 2 sqrt((1 - p) / (p d)). Tours in the order of the list exceed it by a third."""
    graph = sources.complete(300).to_edge_list()
    small = sparsify(graph, keep=0.5, random_state=73_205)
    limit = 2 * np.sqrt(0.5 / (0.5 * 299))
    assert certify(graph, small).epsilon_upper < 1.1 * limit


def test_indices_of_64_bits_give_the_same_edges(monkeypatch):
    """The code path of more than 2^30 edges, forced on a few."""
    rng = np.random.default_rng(9)
    tail = rng.integers(40, size=4000)
    head = (tail + rng.integers(1, 40, size=4000)) % 40
    prob = rng.random(4000)
    expected = dependent_rounding(tail, head, prob, 40, seed=3)
    monkeypatch.setattr(module, "get_index_dtype", lambda maxval: np.int64)
    np.testing.assert_array_equal(dependent_rounding(tail, head, prob, 40, seed=3), expected)
