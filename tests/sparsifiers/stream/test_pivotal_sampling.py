"""Ordered pivotal sampling: probabilities, degrees and scales."""

import numpy as np
import pytest

from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.pivotal_sampling import (
    pivotal_sample,
    scale_for_edges,
    select_in_place,
)


def random_edges(n_nodes, n_edges, dtype=np.float64):
    rng = np.random.default_rng(40_925)
    tail = rng.integers(n_nodes, size=n_edges).astype(np.int32)
    head = ((tail + rng.integers(1, n_nodes, size=n_edges)) % n_nodes).astype(np.int32)
    weight = rng.integers(1, 5, size=n_edges).astype(dtype)
    return SampledEdges(tail, head, weight, rng.random(n_edges) < 0.01)


def sample(edges, resistance, *, seed):
    chosen = pivotal_sample(edges, resistance, 1.0, seed=seed)
    return select_in_place(edges.copy(), resistance, 1.0, chosen)


def test_every_edge_is_sampled_with_its_probability():
    """Frequencies and mean weights over 2,000 seeds are within six standard deviations."""
    edges = random_edges(30, 200)
    n_runs = 2000
    resistance = np.random.default_rng(3).uniform(0.02, 0.4, size=200)
    prob = np.where(edges.in_forest, 1.0, np.minimum(edges.weight * resistance, 1.0))
    count = np.zeros(200)
    total = np.zeros(200)
    numbered = edges._replace(tail=np.arange(200, dtype=np.int32))
    for seed in range(n_runs):
        sampled = sample(numbered, resistance, seed=seed)
        assert abs(sampled.n_edges - prob.sum()) < 1
        count[sampled.tail] += 1
        total[sampled.tail] += sampled.weight
    std = np.sqrt(prob * (1 - prob) / n_runs)
    assert (np.abs(count / n_runs - prob) <= 6 * std + 1e-12).all()
    assert (np.abs(total / n_runs - edges.weight) <= 6 * edges.weight / prob * std + 1e-9).all()


def test_the_selected_edges_use_the_memory_of_all_edges():
    edges = random_edges(30, 200)
    resistance = np.full(200, 0.1)
    chosen = pivotal_sample(edges, resistance, 1.0, seed=5)
    sampled = select_in_place(edges, resistance, 1.0, chosen)
    assert all(map(np.shares_memory, sampled, edges))


def test_nodes_get_their_expected_number_of_edges():
    """Edges are sorted by head: counts are off by less than two; independent ones by five."""
    n_heads, n_tails = 400, 100
    head = np.repeat(np.arange(n_tails, n_tails + n_heads), n_tails).astype(np.int32)
    tail = np.tile(np.arange(n_tails), n_heads).astype(np.int32)
    edges = SampledEdges(tail, head, np.ones(head.size), np.zeros(head.size, np.bool_))
    resistance = np.random.default_rng(8).uniform(0.2, 0.8, size=head.size)
    sampled = sample(edges, resistance, seed=77)
    error = np.bincount(sampled.head) - np.bincount(head, resistance)
    assert np.abs(error).max() < 2


def test_probabilities_at_the_scale_sum_to_the_budget():
    edges = random_edges(300, 5000, np.float32)
    resistance = np.full(5000, 0.1, np.float32)
    for budget in (200.0, 2000.0):
        scale = scale_for_edges(edges, resistance, budget)
        assert np.minimum(scale * edges.weight * resistance, 1).sum() == pytest.approx(budget)
        scale = scale_for_edges(edges, resistance, budget, with_forest=False)
        leverage = (edges.weight * resistance)[~edges.in_forest]
        assert np.minimum(scale * leverage, 1).sum() == pytest.approx(budget)
