"""Smallest eigenpairs: dense, by a filter and by LOBPCG, on connected graphs and others."""

import warnings
from functools import partial

import numpy as np
import pytest

from graphsqueak import ConvergenceWarning, EdgeList, sources
from graphsqueak.solvers import eigenpairs
from graphsqueak.solvers.eigenpairs import laplacian_eigenpairs, project_out_constants
from graphsqueak.solvers.lobpcg import lobpcg


def two_grids():
    grid = sources.grid(29, 19).to_edge_list()
    tail = np.concatenate([grid.tail, grid.tail + grid.n_nodes])
    head = np.concatenate([grid.head, grid.head + grid.n_nodes])
    return EdgeList(tail=tail, head=head, weight=np.linspace(1, 2, tail.size), n_nodes=1103)


@pytest.mark.parametrize("graph", [sources.grid(36, 29).to_edge_list(), two_grids()])
def test_lobpcg_finds_the_eigenpairs_of_dense_algebra(graph):
    dense = np.linalg.eigvalsh(graph.laplacian().toarray())
    values, vectors = laplacian_eigenpairs(graph, 6, random_state=5)
    np.testing.assert_allclose(values, dense[dense > 1e-9][:6])
    np.testing.assert_allclose(graph.laplacian() @ vectors, vectors * values, atol=1e-4)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-9)


def test_the_eigenvalues_of_a_long_path_are_known():
    graph = sources.path(1_500).to_edge_list()
    values, _ = laplacian_eigenpairs(graph, 3, random_state=9)
    np.testing.assert_allclose(values, 4 * np.sin(np.pi * np.arange(1, 4) / 3_000) ** 2, rtol=1e-5)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("n_pairs", [5, 12])
def test_eigenvalues_that_come_twice_are_given_twice(n_pairs, normalized):
    """Those of a ring are 2 - 2 cos(2 pi j / n), twice each."""
    graph = sources.cycle(1_100).to_edge_list()
    values, vectors = laplacian_eigenpairs(graph, n_pairs, normalized=normalized, random_state=1)
    known = 4 * np.sin(np.pi * (np.arange(n_pairs) // 2 + 1) / 1_100) ** 2
    np.testing.assert_allclose(values, known / (2 if normalized else 1), rtol=1e-5)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_pairs), atol=1e-6)


def test_no_more_are_given_than_there_are():
    values, vectors = laplacian_eigenpairs(EdgeList(tail=[0, 2], head=[1, 3], n_nodes=5), 9)
    np.testing.assert_allclose(values, [2.0, 2.0])
    assert vectors.shape == (5, 2)


def test_few_edges_among_many_isolated_nodes_are_found():
    graph = EdgeList(tail=[0, 2, 4], head=[1, 3, 5], weight=[1.0, 2.0, 3.0], n_nodes=1_200)
    values, vectors = laplacian_eigenpairs(graph, 2, random_state=1)
    np.testing.assert_allclose(values, [2.0, 4.0])
    assert np.abs(vectors[6:]).max() < 1e-9


def test_a_large_graph_without_edges_has_no_positive_eigenvalue():
    values, vectors = laplacian_eigenpairs(EdgeList(tail=[], head=[], n_nodes=1_500), 2)
    assert values.shape == (0,)
    assert vectors.shape == (1_500, 0)


def blocks(factor=1.0):
    graph = sources.block_model(1_200, 24_000, n_blocks=10, random_state=618_034).to_edge_list()
    return EdgeList(
        tail=graph.tail, head=graph.head, weight=factor * graph.weight, n_nodes=graph.n_nodes
    )


@pytest.mark.parametrize("n_pairs", [2, 5, 9, 12])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-7])
def test_the_filter_finds_the_eigenpairs_of_dense_algebra(n_pairs, tol, monkeypatch):
    """Ten clusters: fewer pairs than lie below the gap of the spectrum, all of them, and more."""
    monkeypatch.delattr(eigenpairs, "lobpcg")
    graph = blocks()
    root = np.sqrt(graph.degrees())
    matrix = graph.laplacian().toarray() / np.outer(root, root)
    exact, exact_vectors = np.linalg.eigh(matrix)
    values, vectors = laplacian_eigenpairs(graph, n_pairs, normalized=True, tol=tol, random_state=6)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_pairs), atol=1e-9)
    np.testing.assert_allclose(values, exact[1 : n_pairs + 1], rtol=tol)
    residual = np.linalg.norm(matrix @ vectors - vectors * values, axis=0)
    assert (residual <= 1.001 * tol * values).all()
    clusters = exact_vectors[:, 1:10]
    outside = vectors[:, :9] - clusters @ (clusters.T @ vectors[:, :9])
    bound = tol * values[:9] / (exact[10] - values[:9])
    assert (np.linalg.norm(outside, axis=0) <= 2 * bound + 1e-7).all()


@pytest.mark.parametrize("source", [sources.cycle(1_100), sources.grid(40, 30)])
def test_the_filter_gives_up_if_many_eigenvalues_are_close_to_zero(source, monkeypatch):
    calls = []

    def note(*arguments, **options):
        calls.append(arguments)
        return lobpcg(*arguments, **options)

    monkeypatch.setattr(eigenpairs, "lobpcg", note)
    laplacian_eigenpairs(source.to_edge_list(), 3, random_state=2)
    assert len(calls) == 1


def test_a_tolerance_below_rounding_is_not_an_error():
    """The smallest eigenvalues of a long ring are 1e-9 of the largest."""
    graph = sources.cycle(50_000).to_edge_list()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values, _ = laplacian_eigenpairs(graph, 2, tol=1e-10, random_state=1)
    np.testing.assert_allclose(values, 4 * np.sin(np.pi / 50_000) ** 2, rtol=1e-6)


def test_a_limit_of_iterations_is_reported(monkeypatch):
    monkeypatch.setattr(eigenpairs, "lobpcg", partial(lobpcg, max_iter=2))
    with pytest.warns(ConvergenceWarning, match=r"after 2 iterations, above tol=1e-06; allow"):
        laplacian_eigenpairs(sources.grid(40, 30).to_edge_list(), 3, random_state=2)


@pytest.mark.parametrize("factor", [1e-7, 1.0, 1e7])
def test_residuals_are_relative_to_the_eigenvalues(factor):
    """For weights of any size."""
    graph = blocks(factor)
    tol = 1e-6
    values, vectors = laplacian_eigenpairs(graph, 4, tol=tol, random_state=4)
    residual = np.linalg.norm(graph.laplacian() @ vectors - vectors * values, axis=0)
    assert (residual <= 1.001 * tol * values).all()


def test_what_is_left_is_orthogonal_to_the_constants_of_every_component():
    """In the scale of the normalized Laplacian, whose constants are the roots of the degrees."""
    rng = np.random.default_rng(8)
    component = np.repeat([0, 1, 2], [20, 15, 1])
    scale = rng.uniform(0.5, 5.0, size=36)
    for labels in (component, np.zeros(36, dtype=int)):
        X = rng.normal(size=(36, 4))
        rest = project_out_constants(X, labels, scale)
        for number in np.unique(labels):
            own = labels == number
            np.testing.assert_allclose(scale[own] @ rest[own], 0.0, atol=1e-12)
            taken = (X - rest)[own] / scale[own, None]
            np.testing.assert_allclose(taken, np.tile(taken[0], (own.sum(), 1)), atol=1e-12)
        np.testing.assert_allclose(project_out_constants(rest, labels, scale), rest, atol=1e-12)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("method", ["filter", "lobpcg"])
def test_isolated_nodes_have_no_eigenvalue_but_zero(method, normalized, monkeypatch):
    """Five nodes without an edge: the values are those of dense algebra, the vectors 0 there."""
    random = sources.erdos_renyi(1100, 5000, random_state=3).to_edge_list()
    graph = EdgeList(tail=random.tail, head=random.head, n_nodes=1105)
    if method == "lobpcg":
        monkeypatch.setattr(eigenpairs, "MAX_ROUNDS", 1)
    values, vectors = laplacian_eigenpairs(graph, 3, normalized=normalized, random_state=1)
    matrix = graph.laplacian().toarray()
    degree = graph.degrees()
    if normalized:
        root = np.sqrt(np.where(degree > 0, degree, 1.0))
        matrix /= np.outer(root, root)
    n_zero = graph.components().max() + 1
    expected = np.linalg.eigvalsh(matrix)[n_zero : n_zero + 3]
    np.testing.assert_allclose(values, expected, rtol=1e-5)
    assert np.abs(vectors[degree == 0]).max() < 1e-9
