"""Eigenvectors below a gap: those of dense algebra, or none where there is no such gap."""

import numpy as np
import pytest

from graphsqueak import EdgeList, sources
from graphsqueak.solvers.chebyshev import eigenpairs_below_gap, find_gap
from graphsqueak.solvers.eigenpairs import normalized_weights, project_out_constants
from graphsqueak.solvers.matrix import build_laplacian

SEED = 618_034
N_BLOCKS = 10


@pytest.fixture(scope="module")
def blocks():
    """Rows of D^-1/2 L D^-1/2, what centers blocks, and the eigenpairs of dense algebra."""
    source = sources.block_model(1_200, 24_000, n_blocks=N_BLOCKS, random_state=SEED)
    graph = source.to_edge_list()
    root = np.sqrt(graph.degrees())
    weight = normalized_weights(graph.tail, graph.head, graph.weight, root**2)
    scaled = EdgeList(tail=graph.tail, head=graph.head, weight=weight, n_nodes=graph.n_nodes)
    rows = build_laplacian(scaled, 1.0 - scaled.degrees())
    whole = graph.components()
    values, vectors = np.linalg.eigh(graph.laplacian().toarray() / np.outer(root, root))
    return rows, lambda X: project_out_constants(X, whole, root), values[1:], vectors[:, 1:]


@pytest.mark.parametrize("n_pairs", [2, 5, 9])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-7])
def test_vectors_below_the_gap_are_those_of_dense_algebra(blocks, n_pairs, tol):
    """In single precision and in double; as few as wanted, or all that are there."""
    rows, centered, exact, exact_vectors = blocks
    rng = np.random.default_rng(SEED)
    gap = find_gap(rows, n_pairs, centered, tol=tol, rng=rng)
    assert exact[8] < gap.low <= 1.05 * exact[9]
    values, vectors = eigenpairs_below_gap(rows, n_pairs, gap, centered, tol=tol, rng=rng)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_pairs), atol=1e-9)
    np.testing.assert_allclose(values, exact[:n_pairs], rtol=tol)
    residual = np.linalg.norm(rows.to_scipy() @ vectors - vectors * values, axis=0)
    assert (residual <= 2 * tol * values).all()
    inside = exact_vectors[:, : N_BLOCKS - 1].T @ vectors
    off = np.sqrt(np.maximum(1 - (inside**2).sum(axis=0), 0.0))  # what is not of the clusters
    assert (off <= 2 * tol * values / (exact[9] - values) + 1e-7).all()


def test_no_more_are_given_than_lie_below_the_gap(blocks):
    rows, centered, *_ = blocks
    rng = np.random.default_rng(SEED)
    gap = find_gap(rows, N_BLOCKS + 2, centered, tol=1e-3, rng=rng)
    options = {"tol": 1e-3, "rng": rng}
    assert gap is None or (
        eigenpairs_below_gap(rows, N_BLOCKS + 2, gap, centered, **options) is None
    )


def test_a_block_that_is_too_small_grows(blocks):
    """Nine eigenvalues lie below the gap: four columns cannot hold all, and see that."""
    rows, centered, exact, _ = blocks
    rng = np.random.default_rng(SEED)
    gap = find_gap(rows, 2, centered, tol=1e-4, rng=rng)._replace(n_columns=4)
    values, _ = eigenpairs_below_gap(rows, 2, gap, centered, tol=1e-4, rng=rng)
    np.testing.assert_allclose(values, exact[:2], rtol=1e-4)


@pytest.mark.parametrize(
    "source", [sources.cycle(2_000), sources.path(2_000), sources.complete(400)]
)
def test_there_is_no_gap_on_rings_and_none_is_needed_on_cliques(source):
    graph = source.to_edge_list()
    rows, whole = build_laplacian(graph, np.zeros(graph.n_nodes)), graph.components()
    ones, rng = np.ones(graph.n_nodes), np.random.default_rng(SEED)
    options = {"tol": 1e-3, "rng": rng}
    assert find_gap(rows, 2, lambda X: project_out_constants(X, whole, ones), **options) is None
