"""What solvers and eigenpairs promise for weights of any size, and after a change of the ridge."""

import numpy as np
import pytest

from graphsqueak import EdgeList, LaplacianSolver, sources
from graphsqueak.outofcore import Pencil
from graphsqueak.outofcore.eigenpairs import NormalizedPencil
from graphsqueak.solvers.chebyshev import eigenpairs_below_gap, find_gap
from graphsqueak.solvers.eigenpairs import project_out_constants, smallest_eigenpairs
from graphsqueak.solvers.matrix import build_laplacian
from graphsqueak.sources import StreamedLaplacian
from tests import reference


def weighted(n_nodes=60, n_edges=400, factor=1.0, seed=5):
    rng = np.random.default_rng(seed)
    ends = rng.integers(n_nodes, size=(2, n_edges))
    weight = factor * rng.lognormal(sigma=1.0, size=n_edges)
    return EdgeList(tail=ends[0], head=ends[1], weight=weight, n_nodes=n_nodes)


def blocks(factor):
    graph = sources.block_model(800, 16_000, n_blocks=5, random_state=3).to_edge_list()
    return EdgeList(
        tail=graph.tail, head=graph.head, weight=factor * graph.weight, n_nodes=graph.n_nodes
    )


@pytest.mark.parametrize("name", ["cholesky", "amg", "direct"])
def test_another_ridge_has_a_preconditioner_of_its_own(name):
    """A factor of the old ridge would only take more steps, and nobody would see it."""
    graph = weighted()
    rhs = np.random.default_rng(1).normal(size=(60, 3))
    first = LaplacianSolver(graph, solver=name, ridge=1e-3, random_state=3)
    first.solve(rhs)
    other = first.with_ridge(50.0)
    fresh = LaplacianSolver(graph, solver=name, ridge=50.0, random_state=3)
    np.testing.assert_allclose(other.solve(rhs), reference.pseudo_solve(graph, rhs, ridge=50.0))
    np.testing.assert_array_equal(other.solve(rhs), fresh.solve(rhs))
    assert other.n_iter_ == fresh.n_iter_
    np.testing.assert_allclose(first.solve(rhs), reference.pseudo_solve(graph, rhs, ridge=1e-3))
    looser = first.with_tol(1e-3)
    assert looser.backend(name)[2] is first.backend(name)[2]


@pytest.mark.parametrize("factor", [1e-7, 1.0, 1e7])
def test_residuals_are_relative_to_the_eigenvalues(factor):
    """For weights of any size, by the filter below the gap and by the public function."""
    graph, tol = blocks(factor), 1e-6
    component, ones = graph.components(), np.ones(graph.n_nodes)
    rows, rng = build_laplacian(graph, np.zeros(graph.n_nodes)), np.random.default_rng(4)

    def centered(block):
        return project_out_constants(block, component, ones)

    gap = find_gap(rows, 4, centered, tol=tol, rng=rng)
    laplacian = graph.laplacian()
    assert gap.high >= np.linalg.eigvalsh(laplacian.toarray())[-1]
    found = [
        eigenpairs_below_gap(rows, 4, gap, centered, tol=tol, rng=rng),
        smallest_eigenpairs(graph, 4, tol=tol, random_state=4),
    ]
    for values, vectors in found:
        residual = np.linalg.norm(laplacian @ vectors - vectors * values, axis=0)
        assert (residual <= 2 * tol * values).all()


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


def test_products_of_a_graph_that_is_read_are_those_of_its_matrices():
    graph = weighted()
    X = np.random.default_rng(2).normal(size=(60, 3))
    laplacian, degree = graph.laplacian().toarray(), graph.degrees()
    read = StreamedLaplacian(graph, graph)
    np.testing.assert_allclose(read.degrees(), degree)
    np.testing.assert_allclose(read.to_dense(), laplacian, atol=1e-12)
    np.testing.assert_allclose(read.multiply(X), laplacian @ X, atol=1e-10)
    pencil = NormalizedPencil(Pencil(graph, graph, np.zeros(60), seed=3), degree)
    scale = 1 / np.sqrt(degree)
    normalized = scale[:, None] * laplacian * scale
    np.testing.assert_allclose(pencil.multiply(X), normalized @ X, atol=1e-9)
    centered = pencil.centered(X)
    np.testing.assert_allclose(np.sqrt(degree) @ centered, 0.0, atol=1e-9)
    solved = pencil.precondition(normalized @ centered)
    np.testing.assert_allclose(solved, centered, atol=0.05 * np.abs(centered).max())
