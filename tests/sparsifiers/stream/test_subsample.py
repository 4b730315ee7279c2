"""Samples with a given number of edges."""

import numpy as np
import pytest

from graphsqueak import EdgeList, sources, sparsify


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
