"""Weights of neighbor graphs: closed forms, and the graph of points in memory."""

import numpy as np
import pytest

from graphsqueak.sources.neighbors.weights import local_scale, neighbor_graph, weigh_pairs

SEED = 61_409_733


@pytest.mark.parametrize("form", ["thesis", "gaussian", "local", "cosine", "unit"])
def test_equal_points_have_weight_one(form):
    weight = weigh_pairs(
        form,
        np.array([[0, 1]]),
        np.zeros(1),
        sigma=2.0,
        scale=np.ones(2),
        norms=np.full(2, 3.0),
    )
    assert weight == [1.0]


def test_the_cosine_is_neither_negative_nor_above_one():
    nodes = np.array([[0, 1], [0, 2], [0, 0]])
    norms = np.array([1.0, 1.0, 0.0])
    # Opposite points, the origin, and a squared distance that is negative by rounding.
    weight = weigh_pairs("cosine", nodes, np.array([4.0, 1.0, -1e-12]), norms=norms)
    assert weight.tolist() == [0.0, 0.0, 1.0]


def test_equal_points_get_the_mean_scale_of_the_others():
    scale = local_scale(np.array([0.0, 2.0, 0.0]), np.array([0.0, 9.0, 4.0]))
    assert scale.tolist() == [3.0, 2.0, 4.0]


def test_the_graph_of_an_estimator_averages_the_weights_of_both_directions():
    """exp(-c d^2 / s_i^2), s_i the last distance; 0 from an end that does not list the other."""
    points, k = np.random.default_rng(SEED).standard_normal((40, 6)), 4
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    listed = np.argsort(distance, axis=1)[:, 1 : k + 1]
    nearest, furthest = (np.sort(distance, axis=1)[:, column] for column in (1, k))
    sharpness = np.log(20) / (1 - np.median((nearest / furthest) ** 2))
    half = np.zeros((40, 40))
    for i in range(40):
        half[i, listed[i]] = np.exp(-sharpness * (distance[i, listed[i]] / furthest[i]) ** 2)
    graph, _ = neighbor_graph(points, n_neighbors=k, metric="euclidean")
    np.testing.assert_allclose(graph.to_scipy().toarray(), (half + half.T) / 2, atol=1e-12)


def test_new_points_get_the_weights_of_the_graph():
    points = np.array([[0.0], [1.0], [3.0]])
    _, index = neighbor_graph(points, n_neighbors=2, metric="euclidean")
    weights = index.weights_to(np.array([[0.0]])).toarray()
    # The last of its two neighbors has the weight exp(-c), a point at the same place 1.
    np.testing.assert_allclose(weights, [[1.0, np.exp(-index.sharpness), 0.0]])


def test_a_single_point_has_no_edges():
    graph, _ = neighbor_graph(np.zeros((1, 2)), n_neighbors=5, metric="euclidean")
    assert (graph.n_nodes, graph.n_edges) == (1, 0)
