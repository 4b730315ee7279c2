"""Budgets: refused settings, fractions of streams of unknown length, and predicted errors."""

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, StreamOptions, StreamSparsifier, sources
from graphsqueak.graph.forest import make_sets, union_edges
from graphsqueak.sparsifiers.budget import sampling_error
from graphsqueak.sparsifiers.resistance.effective import effective_resistance
from tests import reference
from tests.sparsifiers.stream.graphs import weighted_graph


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one"),
        ({"n_edges": 5, "keep": 0.1}, "n_edges and keep"),
        ({"keep": 1.5}, "at most 1"),
        ({"epsilon": 0.0}, "above 0"),
        ({"epsilon": 1.0}, "below 1"),
        ({"n_edges": 0}, "at least 1"),
        ({"n_edges": 5, "ridge": -1.0}, "ridge"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        StreamSparsifier(**arguments)


@pytest.mark.parametrize("order", ["random", "sorted"])
def test_a_fraction_of_a_stream_of_unknown_length_is_as_accurate_as_the_number(order):
    """The scale of the first resparsification alone would leave too few edges."""
    options = StreamOptions(chunk_size=4096, min_budget=2000)
    graph = sources.erdos_renyi(400, 160_000, random_state=60_113).to_edge_list()
    if order == "sorted":
        order = np.argsort(graph.tail, kind="stable")
        columns = (graph.tail[order], graph.head[order], graph.weight[order])
        graph = EdgeList.from_validated(*columns, graph.n_nodes)
    share = run(graph, options, keep=0.05)
    number = run(graph, options, n_edges=8000)
    assert 0.97 * 8000 <= share.n_edges <= 8000
    assert reference.epsilon(graph, share) < 1.1 * reference.epsilon(graph, number)


def run(graph, options, **budget):
    stream = StreamSparsifier(**budget, options=options, random_state=5)
    return stream.partial_fit(graph).sparsifier()


@pytest.mark.parametrize("n_seen", [None, 40_000])
@pytest.mark.parametrize("n_edges", [70, 500])
def test_the_predicted_error_is_that_of_the_formula(n_edges, n_seen):
    """V_u = sum_v (w_uv / d_u) max(1 / c - t_uv, 0) at the 99th percentile of the nodes.

    The error is sqrt(2 V) up to 1 (500 edges), and 2 V above (70 edges).
    """
    graph = weighted_graph().simplified()
    leverage = np.minimum(graph.weight * effective_resistance(graph, method="exact"), 1.0)
    in_forest = union_edges(make_sets(50), graph.tail, graph.head)
    found = sampling_error(
        graph.tail,
        graph.head,
        graph.weight,
        leverage / graph.weight,
        in_forest,
        n_edges,
        n_nodes=50,
        n_seen=n_seen,
    )

    def scale_of(scores, budget):
        low, high = 1e-9, 1e9
        for _ in range(300):
            middle = np.sqrt(low * high)
            is_low = np.minimum(1.0, middle * scores).sum() < budget
            low, high = (middle, high) if is_low else (low, middle)
        return low

    scale = scale_of(leverage, n_edges)
    free = np.ones(graph.n_edges, dtype=bool)
    assert (scale < 4) == (n_edges == 70)
    if scale < 4:
        free = ~in_forest
        scale = scale_of(leverage[free], n_edges - np.count_nonzero(in_forest))
    free &= scale * leverage < 1
    if n_seen is not None:
        n_before = n_seen - np.count_nonzero(~free)
        leverage = np.minimum(leverage, leverage[free].sum() / n_before)
    loss = np.where(free, graph.weight * np.maximum(1 / scale - leverage, 0.0), 0.0)
    lost = np.bincount(graph.tail, loss, 50) + np.bincount(graph.head, loss, 50)
    variance = np.quantile(lost / graph.degrees(), 0.99)
    expected = 2 * variance if n_edges == 70 else np.sqrt(2 * variance)
    assert (expected > 1) == (n_edges == 70)
    assert found == pytest.approx(expected, rel=1e-6)
