"""The sampled factor is exact on trees and cycles, and unbiased on all graphs."""

import numpy as np
import pytest

from graphsqueak.graph import EdgeList
from graphsqueak.solvers.elimination import eliminate
from graphsqueak.solvers.matrix import build_laplacian
from graphsqueak.sources.synthetic import closed_forms as synthetic


def product(steps):
    """(I - F) P (I - F)^T as a dense matrix over the nodes."""
    n = steps.order.size
    lower = np.eye(n)
    for column, node in enumerate(steps.order):
        entries = slice(int(steps.start[column]), int(steps.start[column + 1]))
        lower[steps.target[entries], node] = -steps.fraction[entries]
    pivot = np.zeros(n)
    pivot[steps.order] = steps.pivot
    return lower @ np.diag(pivot) @ lower.T


def weighted(source, ridge_every):
    graph = source.to_edge_list()
    weight = np.random.default_rng(299_792_458).uniform(0.5, 2.0, graph.n_edges)
    ridge = np.where(np.arange(graph.n_nodes) % ridge_every == 1, 0.7, 0.0)
    return EdgeList(tail=graph.tail, head=graph.head, weight=weight), ridge


@pytest.mark.parametrize("source", [synthetic.path(40), synthetic.star(30), synthetic.cycle(50)])
@pytest.mark.parametrize("ridge_every", [3, 1000])
def test_trees_and_cycles_are_eliminated_exactly(source, ridge_every):
    graph, ridge = weighted(source, ridge_every)
    ridge = ridge if ridge_every < 1000 else np.zeros_like(ridge)
    matrix = graph.laplacian().toarray() + np.diag(ridge)
    steps = eliminate(build_laplacian(graph, ridge), seed=7)
    np.testing.assert_allclose(product(steps), matrix, atol=1e-13)


@pytest.mark.parametrize("ridge_every", [2, 1000])
def test_the_factor_is_unbiased(ridge_every):
    graph, ridge = weighted(synthetic.complete(6), ridge_every)
    rows = build_laplacian(graph, ridge)
    samples = np.array([product(eliminate(rows, seed=seed)) for seed in range(3000)])
    matrix = graph.laplacian().toarray() + np.diag(ridge)
    sigma = samples.std(axis=0) / np.sqrt(len(samples))
    assert sigma.max() > 1e-3  # it is random at all
    assert np.all(np.abs(samples.mean(axis=0) - matrix) < 6 * sigma + 1e-12)


def test_hubs_and_parallel_edges_are_eliminated():
    """A star with more leaves than there are buckets of degrees, every edge twice."""
    n_leaves = 1500
    leaves = np.tile(np.arange(1, n_leaves + 1), 2)
    star = EdgeList(tail=np.zeros(2 * n_leaves, dtype=int), head=leaves)
    steps = eliminate(build_laplacian(star, np.zeros(n_leaves + 1)), seed=7)
    np.testing.assert_allclose(product(steps), star.laplacian().toarray(), atol=1e-9)
