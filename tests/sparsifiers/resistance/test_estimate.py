"""The choice between degrees and the sketch."""

import numpy as np
import pytest

from graphsqueak import sources
from graphsqueak.sparsifiers.resistance.degrees import FOSTER_TOLERANCE
from graphsqueak.sparsifiers.resistance.estimate import estimate, resistances_if_current
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from tests import reference
from tests.sparsifiers.resistance.graphs import spanning_forest

DENSE = sources.erdos_renyi(300, 12_000, random_state=5).to_edge_list().simplified()
GRID = sources.grid(17, 18).to_edge_list()


def sampled(graph):
    return SampledEdges(graph.tail, graph.head, graph.weight, spanning_forest(graph))


def estimate_edges(graph, *, min_nodes=2000, **options):
    return estimate(
        sampled(graph), graph.degrees(), n_probes=64, min_nodes=min_nodes, seed=31, **options
    )


@pytest.mark.parametrize(
    ("graph", "min_nodes", "is_from_degrees"),
    [(DENSE, 1, True), (DENSE, 301, False), (GRID, 1, False)],
    ids=["dense", "too few nodes", "grid"],
)
def test_choice_and_accuracy(graph, min_nodes, is_from_degrees):
    found = estimate_edges(graph, min_nodes=min_nodes)
    assert found.is_from_degrees == is_from_degrees
    exact = reference.resistances(graph, np.column_stack([graph.tail, graph.head]))
    leverage = graph.weight * exact
    error = np.log(found.resistance / exact)
    assert np.sqrt((leverage * error**2).sum() / leverage.sum()) <= 0.15
    total = graph.weight @ found.resistance
    assert total <= FOSTER_TOLERANCE * graph.n_nodes


def test_earlier_points_are_valid_until_leverages_exceed_fosters_sum():
    found = estimate_edges(DENSE, min_nodes=1)
    points = found.embedding.points / np.float32(2)
    current = resistances_if_current(sampled(DENSE), DENSE.degrees(), points)
    np.testing.assert_array_equal(current, found.resistance)
    far = 10 * np.random.default_rng(3).standard_normal(points.shape).astype(np.float32)
    assert resistances_if_current(sampled(DENSE), DENSE.degrees(), far) is None
