"""Smallest eigenpairs: dense and by Lanczos, on connected graphs and others."""

import numpy as np
import pytest

from graphsqueak import EdgeList, sources
from graphsqueak.solvers.eigenpairs import _by_solves, smallest_eigenpairs


def two_grids():
    grid = sources.grid(7, 5).to_edge_list()
    tail = np.concatenate([grid.tail, grid.tail + grid.n_nodes])
    head = np.concatenate([grid.head, grid.head + grid.n_nodes])
    return EdgeList(tail=tail, head=head, weight=np.linspace(1, 2, tail.size), n_nodes=71)


@pytest.mark.parametrize("graph", [sources.grid(12, 9).to_edge_list(), two_grids()])
def test_lanczos_finds_the_eigenpairs_of_dense_algebra(graph):
    dense, _ = smallest_eigenpairs(graph, 6)
    values, vectors = _by_solves(graph, 6, random_state=5)
    np.testing.assert_allclose(values, dense)
    np.testing.assert_allclose(graph.laplacian() @ vectors, vectors * values, atol=1e-4)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-9)


def test_the_eigenvalues_of_a_long_path_are_known():
    graph = sources.path(1_500).to_edge_list()
    values, _ = smallest_eigenpairs(graph, 3, random_state=9)
    np.testing.assert_allclose(values, 4 * np.sin(np.pi * np.arange(1, 4) / 3_000) ** 2, rtol=1e-5)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("n_pairs", [5, 12])
def test_eigenvalues_that_come_twice_are_given_twice(n_pairs, normalized):
    """Those of a ring are 2 - 2 cos(2 pi j / n), twice each."""
    graph = sources.cycle(1_100).to_edge_list()
    values, vectors = smallest_eigenpairs(graph, n_pairs, normalized=normalized, random_state=1)
    known = 4 * np.sin(np.pi * (np.arange(n_pairs) // 2 + 1) / 1_100) ** 2
    np.testing.assert_allclose(values, known / (2 if normalized else 1), rtol=1e-5)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_pairs), atol=1e-6)


def test_no_more_are_given_than_there_are():
    values, vectors = smallest_eigenpairs(EdgeList(tail=[0, 2], head=[1, 3], n_nodes=5), 9)
    np.testing.assert_allclose(values, [2.0, 2.0])
    assert vectors.shape == (5, 2)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("search", ["auto", "solves"])
def test_isolated_nodes_have_no_eigenvalue_but_zero(search, normalized):
    """Five nodes without an edge: the values are those of dense algebra, the vectors 0 there."""
    random = sources.erdos_renyi(1100, 5000, random_state=3).to_edge_list()
    graph = EdgeList(tail=random.tail, head=random.head, n_nodes=1105)
    if search == "auto":
        values, vectors = smallest_eigenpairs(graph, 3, normalized=normalized, random_state=1)
    else:
        values, vectors = _by_solves(graph, 3, normalized=normalized, random_state=1)
    matrix = graph.laplacian().toarray()
    degree = graph.degrees()
    if normalized:
        root = np.sqrt(np.where(degree > 0, degree, 1.0))
        matrix /= np.outer(root, root)
    n_zero = graph.components().max() + 1
    expected = np.linalg.eigvalsh(matrix)[n_zero : n_zero + 3]
    np.testing.assert_allclose(values, expected, rtol=1e-5)
    assert np.abs(vectors[degree == 0]).max() < 1e-9
