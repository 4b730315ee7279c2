"""Spectral embeddings are eigenvectors of dense algebra, with bounds from certificates."""

import numpy as np
import pytest
import scipy.linalg

from graphsqueak import EdgeList, InputError, smallest_eigenpairs, sources
from graphsqueak.analysis import spectral_embedding
from tests.analysis.graphs import (
    SEED,
    as_file,
    certified_sparsifier,
    examples,
    normalized_laplacian,
)


@pytest.mark.parametrize("name", ["dense", "blocks", "heavy", "grid", "pieces"])
def test_points_are_eigenvectors(name):
    """L x = mu D x, on a graph that is diagonalized."""
    graph = examples()[name]
    found = spectral_embedding(graph, 3)
    residual = (
        graph.laplacian() @ found.points - graph.degrees()[:, None] * found.points * found.values
    )
    assert np.abs(residual).max() < 1e-7 * graph.degrees().max() * np.abs(found.points).max()
    n_zero = int(graph.components().max()) + 1
    known = np.linalg.eigvalsh(normalized_laplacian(graph))[n_zero : n_zero + 3]
    np.testing.assert_allclose(found.values, known, rtol=1e-6)
    plain = spectral_embedding(graph, 3, normalized=False)
    known = np.linalg.eigvalsh(graph.laplacian().toarray())[n_zero : n_zero + 3]
    np.testing.assert_allclose(plain.values, known, rtol=1e-6)


@pytest.mark.parametrize("is_normalized", [True, False])
def test_a_large_graph_in_memory_and_streamed_have_the_same_space(is_normalized, tmp_path):
    """Beyond dense algebra: the largest angle is about tol * value / gap."""
    graph = sources.block_model(1_500, 45_000, n_blocks=3, random_state=SEED).to_edge_list()
    matrix = normalized_laplacian(graph) if is_normalized else graph.laplacian().toarray()
    values, exact = scipy.linalg.eigh(matrix, subset_by_index=[1, 3])
    exact, gap = exact[:, :2], values[2] - values[1]
    source = as_file(graph, tmp_path)
    for one, options in ((graph, {}), (source, {"n_edges": 9_000})):
        found = spectral_embedding(
            one, 2, normalized=is_normalized, tol=1e-4, random_state=SEED, **options
        )
        scale = np.sqrt(graph.degrees()) if is_normalized else np.ones(graph.n_nodes)
        points = np.empty_like(found.points)
        points[found.ids] = found.points
        basis = np.linalg.qr(scale[:, None] * points)[0]
        angle = scipy.linalg.subspace_angles(exact, basis).max()
        assert angle < 3 * 1e-4 * values[1] / gap
        np.testing.assert_allclose(found.values, values[:2], rtol=1e-4)


@pytest.mark.parametrize("name", ["clusters", "grid", "weights", "pieces"])
@pytest.mark.parametrize("is_normalized", [True, False])
def test_products_and_solves_find_the_pairs_of_dense_algebra(name, is_normalized):
    rng = np.random.default_rng(SEED)
    graph = {
        "clusters": lambda: sources.block_model(1_200, 20_000, random_state=SEED).to_edge_list(),
        "grid": lambda: sources.grid(40, 30).to_edge_list(),
        "weights": lambda: sources.small_world(35, 35, 4_000, random_state=SEED).to_edge_list(),
        "pieces": lambda: sources.block_model(1_200, 20_000, random_state=SEED).to_edge_list(),
    }[name]()
    n_nodes = 1_300 if name == "pieces" else graph.n_nodes
    weight = 10.0 ** rng.uniform(-1, 1, graph.n_edges)
    graph = EdgeList(tail=graph.tail, head=graph.head, weight=weight, n_nodes=n_nodes)
    matrix = normalized_laplacian(graph) if is_normalized else graph.laplacian().toarray()
    n_zero = int(graph.components().max()) + 1
    known = np.linalg.eigvalsh(matrix)[n_zero : n_zero + 4]
    values, vectors = smallest_eigenpairs(
        graph, 4, normalized=is_normalized, tol=1e-5, random_state=3
    )
    np.testing.assert_allclose(values, known, rtol=1e-6)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-6)
    residual = np.linalg.norm(matrix @ vectors - vectors * values, axis=0)
    assert (residual < 2e-4 * np.maximum(values, 1e-3)).all()


def test_bounds_contain_the_eigenvalues_of_the_graph():
    graph, kept = certified_sparsifier()
    laplacian = graph.laplacian().toarray()
    for is_normalized, matrix in ((True, normalized_laplacian(graph)), (False, laplacian)):
        found = spectral_embedding(kept, 5, normalized=is_normalized)
        known = np.linalg.eigvalsh(matrix)[1:6]
        assert (found.lower < known).all()
        assert (known < found.upper).all()
        assert "upper bound" in found._repr_html_()


def test_normalized_points_have_the_typical_size_one():
    """D^-1/2 y sqrt(total degree): their squares, weighed by degrees, have the mean one."""
    graph = sources.block_model(60, 900, random_state=3).to_edge_list()
    points = spectral_embedding(graph, 3, random_state=3).points
    share = graph.degrees() / graph.degrees().sum()
    np.testing.assert_allclose(share @ points**2, 1.0, rtol=1e-4)
    np.testing.assert_allclose(share @ points, 0.0, atol=1e-4)


def test_more_columns_than_positive_eigenvalues_are_an_error():
    with pytest.raises(InputError, match="n_components=5 is more than the 4 positive eigenvalues"):
        spectral_embedding(sources.path(5).to_edge_list(), 5)
