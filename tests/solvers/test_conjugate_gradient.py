"""Block conjugate gradients, with and without a preconditioner."""

import numba
import numpy as np
import pytest

from graphsqueak.solvers import approximate_cholesky
from graphsqueak.solvers import conjugate_gradient as conjugate_gradient_module
from graphsqueak.solvers import matrix as matrix_module
from graphsqueak.solvers.approximate_cholesky import ApproximateCholesky
from graphsqueak.solvers.conjugate_gradient import column_norms, conjugate_gradient
from graphsqueak.solvers.matrix import build_laplacian
from graphsqueak.sources.synthetic import random_graphs
from tests import reference


def small_world_problem():
    graph = random_graphs.small_world(20, 25, 1500, random_state=161_803).to_edge_list()
    b = np.random.default_rng(141_421).standard_normal((500, 9))
    return graph, b - b.mean(axis=0)


@pytest.mark.parametrize("with_factor", [False, True])
def test_one_thread_or_two_give_the_same_bits(with_factor, monkeypatch):
    """Every loop is shared, however short."""
    for module in (approximate_cholesky, conjugate_gradient_module, matrix_module):
        monkeypatch.setattr(
            module, "run_kernel", lambda kernel, work, *arguments: kernel.parallel(*arguments)
        )
    graph, b = small_world_problem()
    rows = build_laplacian(graph, np.zeros(graph.n_nodes))
    factor = ApproximateCholesky(rows, seed=57_721)
    allowed = numba.get_num_threads()
    answers = []
    try:
        for n_threads in sorted({1, min(2, allowed)}):
            numba.set_num_threads(n_threads)
            r, x = b[factor.order] if with_factor else b.copy(), np.zeros_like(b)
            conjugate_gradient(
                factor.matrix if with_factor else rows,
                r,
                x,
                target=np.full(b.shape[1], 1e-6),
                max_iter=1000,
                precondition=factor if with_factor else None,
            )
            answers.append(x)
    finally:
        numba.set_num_threads(allowed)
    np.testing.assert_array_equal(answers[-1], answers[0])


@pytest.mark.parametrize("n_columns", [1, 2, 4, 9])
def test_columns_are_solved_as_by_dense_algebra(n_columns):
    graph, b = small_world_problem()
    b = b[:, :n_columns].copy()
    expected = reference.pseudo_solve(graph, b)
    x = np.zeros_like(b)
    target = np.full(n_columns, 1e-10)
    matrix = build_laplacian(graph, np.zeros(graph.n_nodes))
    conjugate_gradient(matrix, b, x, target=target, max_iter=1000)
    np.testing.assert_allclose(x - x.mean(axis=0), expected, atol=1e-9)


def test_residuals_by_degree_are_those_of_the_scaled_norm():
    graph, b = small_world_problem()
    matrix = build_laplacian(graph, np.zeros(graph.n_nodes))
    x = np.zeros_like(b)
    target = np.full(b.shape[1], 1e-3)
    conjugate_gradient(matrix, b.copy(), x, target=target, max_iter=1000, by_degree=True)
    residual = b - graph.laplacian() @ x
    scaled = np.sqrt((residual**2 / graph.degrees()[:, None]).sum(axis=0))
    assert (scaled <= 1.001e-3).all()


def test_a_column_without_a_target_is_iterated_with_the_others():
    graph, b = small_world_problem()
    matrix = build_laplacian(graph, np.zeros(graph.n_nodes))
    with_target = b[:, :1].copy()
    n_alone = conjugate_gradient(
        matrix, with_target, np.zeros_like(with_target), target=np.array([1e-6]), max_iter=1000
    )
    both = b[:, :2].copy()
    x = np.zeros_like(both)
    target = np.array([1e-6, -1.0])
    assert conjugate_gradient(matrix, both, x, target=target, max_iter=1000) == n_alone
    assert x[:, 1].any()


def test_a_watch_is_called_from_the_start_and_stops_the_iteration():
    graph, b = small_world_problem()
    matrix = build_laplacian(graph, np.zeros(graph.n_nodes))
    seen = []

    def watch(iteration, norms, target):
        seen.append((iteration, norms[: b.shape[1]].copy()))
        return iteration == 3

    target = np.full(b.shape[1], 1e-9)
    n_iter = conjugate_gradient(
        matrix, b.copy(), np.zeros_like(b), target=target, max_iter=100, watch=watch
    )
    assert n_iter == 3
    assert [iteration for iteration, _ in seen] == [0, 1, 2, 3]
    np.testing.assert_allclose(seen[0][1], column_norms(b))
