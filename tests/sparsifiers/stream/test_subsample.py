"""Samples with a given number of edges."""

import numpy as np
import pytest

from graphsqueak import EdgeList, sources, sparsify
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.subsample import sample_edges, sample_to_budget


def random_edges(n_nodes, n_edges):
    rng = np.random.default_rng(40_925)
    tail = rng.integers(n_nodes, size=n_edges).astype(np.int32)
    head = ((tail + rng.integers(1, n_nodes, size=n_edges)) % n_nodes).astype(np.int32)
    weight = rng.integers(1, 5, size=n_edges).astype(np.float64)
    return SampledEdges(tail, head, weight, rng.random(n_edges) < 0.01)


def test_independent_samples_preserve_expected_weights():
    """Mean weights over 2,000 seeds are within six standard deviations."""
    edges = random_edges(30, 200)._replace(tail=np.arange(200, dtype=np.int32))
    n_runs = 2000
    leverage = edges.weight * np.random.default_rng(3).uniform(0.02, 0.4, size=200)
    prob = np.where(edges.in_forest, 1.0, np.minimum(leverage, 1.0))
    total = np.zeros(200)
    for seed in range(n_runs):
        sampled = sample_edges(edges.copy(), leverage, 1.0, seed=seed)
        total[sampled.tail] += sampled.weight
    std = edges.weight / prob * np.sqrt(prob * (1 - prob) / n_runs)
    assert (np.abs(total / n_runs - edges.weight) <= 6 * std + 1e-9).all()


@pytest.mark.parametrize("method", ["rounding", "pivotal", "independent"])
def test_samples_use_the_memory_of_all_edges(method):
    edges = random_edges(30, 2000)
    sampled, _ = sample_to_budget(
        edges,
        np.full(2000, 0.015),
        400,
        30,
        bridge=np.zeros(2000, dtype=np.bool_),
        method=method,
        seed=5,
    )
    assert all(map(np.shares_memory, sampled, edges))
    assert 300 <= sampled.n_edges <= 400


def triangles(n):
    first = 3 * np.arange(n)
    ends = [(first, first + 1), (first + 1, first + 2), (first + 2, first)]
    tail, head = (np.concatenate(column) for column in zip(*ends, strict=True))
    return EdgeList(tail=tail, head=head)


@pytest.mark.parametrize(
    ("graph", "n_edges", "n_seeds"),
    [
        (triangles(3000), 7500, 40),
        (sources.complete(12).to_edge_list(), 40, 300),
        (sources.complete(60).to_edge_list(), 200, 100),
        (sources.star(50).to_edge_list(), 49, 20),
        (sources.complete(4).to_edge_list(), 5, 100),
    ],
    ids=["triangles", "K12", "K60", "star", "K4"],
)
@pytest.mark.filterwarnings("ignore::graphsqueak.errors.AccuracyWarning")
def test_results_have_at_most_the_budget_and_at_least_90_percent_of_it(graph, n_edges, n_seeds):
    """Small budgets are at least a spanning forest."""
    n_forest = graph.n_nodes - graph.components().max() - 1
    least = 0.9 * n_edges if n_edges >= 40 else n_forest
    for seed in range(n_seeds):
        result = sparsify(graph, n_edges=n_edges, random_state=1_000_003 * seed + 7)
        assert least <= result.n_edges <= n_edges
