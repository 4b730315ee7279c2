"""The arrival filter: leverages, sampling probabilities, and expectations."""

import numpy as np
import pytest

from graphsqueak import StreamOptions, StreamSparsifier
from graphsqueak.sparsifiers.resistance.sketch import ResistanceEmbedding
from graphsqueak.sparsifiers.stream.arrival_filter import ArrivalFilter
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.priority_nodes import PriorityNodes
from tests.comparison import differences
from tests.sparsifiers.stream import engine_state
from tests.sparsifiers.stream.graphs import weighted_graph


def sampled_edges(tail, head, weight):
    return SampledEdges(tail, head, weight, np.zeros(tail.size, dtype=bool))


def test_leverages_are_those_of_the_formula():
    """Both degrees and the embedding of both ends; unknown nodes are kept with probability 1."""
    rng = np.random.default_rng(8)
    stream = StreamSparsifier(
        n_edges=220, options=StreamOptions(chunk_size=64), random_state=5
    ).partial_fit(weighted_graph())
    known = engine_state(stream).filter
    tail, head = rng.integers(50, size=(2, 300))
    tail, head = tail[tail != head], head[tail != head]
    weight = rng.lognormal(size=tail.size)
    step = known.points[tail] - known.points[head]
    resistance = known.inv_degree[tail] + known.inv_degree[head] + (step**2).sum(axis=1)
    found = known.leverages(sampled_edges(tail, head, weight))
    np.testing.assert_allclose(found, weight * resistance, rtol=1e-5)
    restored = ArrivalFilter.from_arrays(known.to_arrays())
    assert differences(tuple(restored), tuple(known)) == []
    to_new_node = sampled_edges(np.array([0]), np.array([77]), np.ones(1))
    assert known.leverages(to_new_node)[0] > 1e20


@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_every_edge_is_kept_with_its_probability(offset):
    """Frequencies and mean weights over 1,000 seeds are within six standard deviations.

    Some edges have priority, a new node, ends in two components, or are always kept. If all points
    are far from the origin, bounds from their norms decide nothing.
    """
    rng = np.random.default_rng(12)
    degree = np.append(0.0, rng.uniform(20, 200, size=39))  # node 0 has no edges
    sketch = ResistanceEmbedding(
        rng.normal(scale=0.2, size=(40, 4)).astype(np.float32), degree, 1.0
    )
    sketch.points[0] = 0.0
    sketch.points[:] += offset
    component = np.repeat([0, 30], [30, 10])
    known = ArrivalFilter.from_sketch(sketch, component, scale=3.0)
    pairs = rng.choice(38 * 39, size=590, replace=False)
    tail = 1 + np.append(pairs // 39, np.arange(10))
    head = 1 + np.append(pairs % 39, [44] * 10)
    weight = rng.uniform(0.1, 4.0, size=600)
    priority = PriorityNodes(np.isin(np.arange(46), [5, 6]), oversampling=7.0)
    known_head = np.minimum(head, 39)
    distance = ((sketch.points[tail] - sketch.points[known_head]) ** 2).sum(axis=1) / 4
    prob = 3.0 * weight * (1 / degree[tail] + 1 / degree[known_head] + distance)
    prob[priority.touches(sampled_edges(tail, head, weight))] *= 7.0
    prob[(head >= 40) | (component[tail] != component[known_head])] = 1.0
    prob = np.minimum(prob, 1.0)
    keep_always = np.arange(600) % 50 == 7
    prob[keep_always] = 1.0
    new_weight = np.zeros((1000, 600))
    edges = SampledEdges(tail, head, weight, keep_always)
    edge_of_pair = {pair: edge for edge, pair in enumerate(zip(tail, head, strict=True))}
    for seed, row in enumerate(new_weight):
        kept = known.sample_edges(edges, 9, seed=seed, priority=priority)
        index = [edge_of_pair[pair] for pair in zip(kept.tail, kept.head, strict=True)]
        row[index] = kept.weight
    assert (new_weight[:, keep_always] == weight[keep_always]).all()
    frequency = (new_weight > 0).mean(axis=0)
    std = np.sqrt(prob * (1 - prob) / len(new_weight))
    assert (np.abs(frequency - prob) <= 6 * std + 1e-12).all()
    error = np.abs(new_weight.mean(axis=0) - weight)
    assert (error <= 6 * weight / prob * std + 1e-5).all()
    assert 0.2 < prob.mean() < 0.8
