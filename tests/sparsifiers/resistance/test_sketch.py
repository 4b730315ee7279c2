"""Sketched resistances: unbiased, solved far enough, and in the precision that they need."""

import numpy as np
import pytest

from graphsqueak import EdgeList, sources, sparsify
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.sparsifiers.resistance.bounds import degree_terms
from graphsqueak.sparsifiers.resistance.sketch import (
    ResistanceEmbedding,
    embed,
    precise_embedding,
    sketch_resistances,
    solve_random_rhs,
    squared_distances,
)
from tests import reference
from tests.sparsifiers.resistance.graphs import (
    connected_lognormal,
    two_blocks,
    two_triangles,
    weighted_graph,
)


def test_sketch_is_within_six_sigma_of_exact():
    graph = weighted_graph().simplified()
    n_probes = 400
    embedding = embed(graph, n_probes=n_probes, seed=730_418_256, dtype=np.float64)
    degree = graph.degrees()
    known, _, _ = degree_terms(degree[graph.tail], degree[graph.head], graph.weight)
    sketched = squared_distances(embedding.points, graph.tail, graph.head)
    expected = reference.resistances(graph, np.column_stack([graph.tail, graph.head]))
    sigma = (expected - known) * np.sqrt(2 / n_probes)
    assert np.all(np.abs(known + sketched - expected) < 6 * sigma + 1e-9)
    # Over many edges the mean error is far below one sigma: there is no bias.
    z = (known + sketched - expected) / sigma
    assert abs(z.mean()) < 6 / np.sqrt(graph.n_nodes)


def test_known_part_follows_the_identity():
    """r = known + |P^T b|^2 in the norm of L^+, for adjacent and for distant nodes."""
    graph = weighted_graph()
    adjacency = graph.to_scipy().toarray()
    pseudo_inverse = np.linalg.pinv(graph.laplacian().toarray())
    degree = adjacency.sum(axis=1)
    walk = adjacency / degree[:, None]
    for u, v in [(0, 1), (4, 17), (int(graph.tail[0]), int(graph.head[0]))]:
        b = np.eye(60)[u] - np.eye(60)[v]
        known = (degree[u] + degree[v] - 2 * adjacency[u, v]) / (degree[u] * degree[v])
        sketched = (walk.T @ b) @ pseudo_inverse @ (walk.T @ b)
        np.testing.assert_allclose(known + sketched, b @ pseudo_inverse @ b)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_mean_inverse_eigenvalue(ridge):
    """Over some seeds, within 10 % of the dense value."""
    graph = connected_lognormal(0.5, n_nodes=80, n_edges=500)
    laplacian = graph.laplacian().toarray() + ridge * np.eye(80)
    scale = 1 / np.sqrt(np.diag(laplacian))
    eigenvalues = np.linalg.eigvalsh(scale[:, None] * laplacian * scale)
    expected = (1 / eigenvalues[eigenvalues > 1e-9]).sum() / 80
    found = [
        embed(graph, n_probes=64, seed=seed, ridge=ridge).mean_inverse_eigenvalue
        for seed in range(8)
    ]
    assert np.mean(found) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(
    "graph",
    [
        two_blocks(
            sources.erdos_renyi(60, 600, random_state=1).to_edge_list(),
            sources.erdos_renyi(60, 600, random_state=2).to_edge_list(),
            n_links=1,
            weight=1e-6,
        ),
        connected_lognormal(2.0, n_nodes=120, n_edges=900),
    ],
    ids=["bottleneck", "lognormal"],
)
def test_potential_differences_have_the_requested_error(graph):
    """|b^T (x - x')| <= e sqrt(r) for every edge and every column, up to a factor of 4."""
    rng = np.random.default_rng(90_001)
    flow = rng.choice((-1.0, 1.0), (graph.n_edges, 8)) * np.sqrt(graph.weight)[:, None]
    rhs = np.zeros((graph.n_nodes, 8))
    np.add.at(rhs, graph.tail, flow)
    np.add.at(rhs, graph.head, -flow)
    solved = solve_random_rhs(LaplacianSolver(graph), rhs, seed=8)
    error = reference.pseudo_solve(graph, rhs) - solved.points
    difference = np.abs(error[graph.tail] - error[graph.head])
    r = reference.resistances(graph, np.column_stack([graph.tail, graph.head]))
    assert (difference / np.sqrt(r)[:, None]).max() <= 4 * 0.05


def test_links_of_a_bottleneck_have_at_least_the_resistance_of_the_cut():
    """Two edges of weight 0.001 have a resistance of 500, whatever the embedding."""
    graph = two_triangles(1e-3)
    for mean_inverse_eigenvalue, least in ((10.0, 500.0), (1.0, 0.9)):
        embedding = ResistanceEmbedding(
            np.zeros((6, 8), np.float32), graph.degrees(), mean_inverse_eigenvalue
        )
        found = sketch_resistances(embedding, graph.tail, graph.head, graph.weight)
        assert found[6:] == pytest.approx([least, least], rel=0.15)


@pytest.mark.parametrize(("weight", "dtype"), [(1e-3, np.float32), (1e-12, np.float64)])
def test_precision_follows_the_range_of_weights(weight, dtype):
    graph = two_triangles(weight)
    embedding = precise_embedding(graph, n_probes=8, seed=5)
    assert embedding.points.dtype == dtype


def test_sparsifier_of_heavy_squares_joined_by_light_edges():
    first = 4 * np.arange(100)
    ring = [(first + k, first + (k + 1) % 4) for k in range(4)]
    light = (first[:-1], first[1:])
    tail, head = (np.concatenate(ends) for ends in zip(*ring, light, strict=True))
    weight = np.repeat([1e10, 1.0], [400, 99])
    graph = EdgeList(tail=tail, head=head, weight=weight)
    small = sparsify(graph, n_edges=450, method="stream", random_state=5)
    assert small.components().max() == 0
    assert small.weight.sum() == pytest.approx(weight.sum(), rel=0.1)
