"""The matrix of a graph in CSR format, and its products."""

import numpy as np
import pytest

from graphsqueak.graph import EdgeList
from graphsqueak.solvers.matrix import (
    N_PARTS,
    build_laplacian,
    build_laplacian_from_batches,
    multiply,
    split_by_work,
)
from graphsqueak.sources.synthetic import random_graphs
from graphsqueak.system.kernels import parts


def small_world_problem():
    graph = random_graphs.small_world(20, 25, 1500, random_state=161_803).to_edge_list()
    b = np.random.default_rng(141_421).standard_normal((500, 9))
    return graph, b - b.mean(axis=0)


@pytest.mark.parametrize("n_columns", [1, 2, 4, 6, 8, 11, 21])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_every_width_are_those_of_the_matrix(n_columns, dtype):
    rng = np.random.default_rng(602_214_076)
    ends = rng.integers(50, size=(2, 300))
    tail, head = ends[:, ends[0] != ends[1]]
    graph = EdgeList(tail=tail, head=head, weight=rng.uniform(0.5, 2.0, tail.size), n_nodes=50)
    rows = build_laplacian(graph, rng.uniform(size=50)).astype(dtype)
    x = rng.standard_normal((50, n_columns)).astype(dtype)
    out = np.full_like(x, np.nan)
    dots = multiply(rows, x, out)
    right = rows.to_scipy() @ x
    rounding = 50 * np.finfo(dtype).eps * abs(rows.to_scipy()) @ abs(x)
    assert (np.abs(out - right) <= rounding).all()
    rounding = (np.abs(x) * rounding).sum(axis=0)
    assert (np.abs(dots - (x * right).sum(axis=0)) <= rounding).all()


@pytest.mark.parametrize("n_tenths", [0, 1])
def test_the_matrix_of_batches_is_that_of_the_graph(n_tenths):
    """Weights are kept in single precision, unless one of them would change."""
    graph, b = small_world_problem()
    weight = np.ones(graph.n_edges)
    weight[-n_tenths:] = 0.1 if n_tenths else 1.0
    parts = [slice(start, start + 1000) for start in range(0, graph.n_edges, 1000)]
    columns = (graph.tail, graph.head, weight)
    batches = [tuple(column[part] for column in columns) for part in parts]
    found = build_laplacian_from_batches(iter(batches), graph.n_nodes, 2**30)
    assert found.weight.dtype == (np.float64 if n_tenths else np.float32)
    whole = EdgeList(tail=graph.tail, head=graph.head, weight=weight, n_nodes=graph.n_nodes)
    product, expected = np.empty_like(b), np.empty_like(b)
    multiply(found, b, product)
    multiply(build_laplacian(whole, np.zeros(graph.n_nodes)), b, expected)
    np.testing.assert_allclose(product, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    entry = found.neighbor.itemsize + found.weight.itemsize
    left = iter(batches)
    max_bytes = 2 * graph.n_edges * entry - 1
    assert build_laplacian_from_batches(left, graph.n_nodes, max_bytes) is None
    assert next(left, None) is None


def test_the_matrix_is_the_laplacian_plus_the_ridge():
    graph, _ = small_world_problem()
    ridge = np.random.default_rng(3).uniform(size=graph.n_nodes)
    matrix = build_laplacian(graph, ridge)
    dense = graph.laplacian().toarray() + np.diag(ridge)
    np.testing.assert_allclose(matrix.to_scipy().toarray(), dense, atol=1e-12)
    np.testing.assert_allclose(matrix.diagonal(), np.diag(dense))


@pytest.mark.parametrize("n_nodes", [0, 1, 5, 1000])
def test_parts_cover_all_nodes(n_nodes):
    start = np.cumsum(np.append(0, np.arange(n_nodes))).astype(np.uint64)
    for bounds in (parts(n_nodes, N_PARTS), split_by_work(start)):
        assert bounds.size == N_PARTS + 1
        assert bounds[0] == 0
        assert bounds[-1] == n_nodes
        assert (np.diff(bounds) >= 0).all()


def test_weights_beyond_single_precision_are_kept_without_a_warning():
    """All of numpy's warnings are errors in tests."""
    weight = np.array([1e200, 3.0, 1e-200])
    batch = (np.array([0, 1, 2]), np.array([1, 2, 0]), weight)
    matrix = build_laplacian_from_batches(iter([batch]), 3, 2**20)
    assert matrix.weight.dtype == np.float64
    np.testing.assert_array_equal(np.sort(matrix.weight), np.sort(np.tile(weight, 2)))
