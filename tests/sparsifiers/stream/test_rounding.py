"""Rounding keeps marginals exactly and degrees closely."""

import numpy as np

from graphsqueak import sources
from graphsqueak.sparsifiers.stream.thinning import round_keeping_degrees


def test_every_edge_is_kept_with_its_own_probability():
    rng = np.random.default_rng(118_264_301)
    n_nodes, n_edges, n_runs = 12, 40, 20_000
    tail = rng.integers(n_nodes, size=n_edges)
    head = (tail + rng.integers(1, n_nodes, size=n_edges)) % n_nodes
    prob = rng.random(n_edges)
    prob[:3] = 0.0, 1.0, 0.5
    count = np.zeros(n_edges)
    for seed in range(n_runs):
        count += round_keeping_degrees(tail, head, prob, n_nodes, seed=7_000_003 * seed + 11)
    sigma = np.sqrt(prob * (1 - prob) / n_runs)
    assert np.all(np.abs(count / n_runs - prob) <= 6 * sigma)


def test_degrees_stay_where_independent_coins_would_scatter_them():
    graph = sources.complete(400).to_edge_list()
    prob = np.full(graph.n_edges, 0.05)
    kept = round_keeping_degrees(graph.tail, graph.head, prob, 400, seed=5_150)
    degree = np.bincount(np.r_[graph.tail[kept], graph.head[kept]], minlength=400)
    coins = np.sqrt(399 * 0.05 * 0.95)  # 4.4
    assert degree.std() < 0.5 * coins
    assert abs(kept.sum() - 0.05 * graph.n_edges) < 0.01 * graph.n_edges * 0.05


def test_half_of_every_node_of_an_even_graph():
    graph = sources.complete(9).to_edge_list()  # all degrees 8
    for seed in range(50):
        kept = round_keeping_degrees(graph.tail, graph.head, np.full(36, 0.5), 9, seed=seed)
        degree = np.bincount(np.r_[graph.tail[kept], graph.head[kept]], minlength=9)
        assert np.abs(degree - 4).max() <= 1


def test_nothing_and_everything():
    tail, head = np.array([0, 1]), np.array([1, 2])
    assert not round_keeping_degrees(tail, head, np.zeros(2), 3, seed=1).any()
    assert round_keeping_degrees(tail, head, np.ones(2), 3, seed=1).all()
    assert round_keeping_degrees(tail[:0], head[:0], np.zeros(0), 3, seed=1).size == 0
