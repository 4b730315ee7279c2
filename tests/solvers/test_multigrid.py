"""Multigrid on graphs whose coarse levels are singular, or refuse to become small."""

import numpy as np
import pytest

from graphsqueak.graph import EdgeList
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.sources.synthetic import closed_forms as synthetic
from graphsqueak.sources.synthetic import random_graphs


def copies_of_a_grid(side, n_copies, n_isolated):
    grid = synthetic.grid(side, side).to_edge_list()
    shift = np.repeat(np.arange(n_copies) * side**2, grid.n_edges)
    return EdgeList(
        tail=np.tile(grid.tail, n_copies) + shift,
        head=np.tile(grid.head, n_copies) + shift,
        n_nodes=n_copies * side**2 + n_isolated,
    )


@pytest.mark.parametrize(("side", "n_copies", "n_isolated"), [(30, 1, 0), (25, 3, 7), (2, 2000, 3)])
def test_singular_coarse_levels(side, n_copies, n_isolated):
    graph = copies_of_a_grid(side, n_copies, n_isolated)
    b = np.random.default_rng(662_607_015).standard_normal((n_copies, side**2, 3))
    b = (b - b.mean(axis=1, keepdims=True)).reshape(-1, 3)
    b = np.concatenate([b, np.zeros((n_isolated, 3))])
    solver = LaplacianSolver(graph, solver="amg")
    x = solver.solve(b)
    assert solver.n_iter_ <= 25
    np.testing.assert_allclose(graph.laplacian() @ x, b, atol=1e-6)
    means = x[: n_copies * side**2].reshape(n_copies, side**2, 3).mean(axis=1)
    np.testing.assert_allclose(means, 0.0, atol=1e-9)


def test_a_coarsest_level_of_one_node_has_no_inverse():
    """Its only entry is rounding errors of the finer levels; a solve does not divide by them."""
    graph = random_graphs.erdos_renyi(16_000, 96_000, random_state=3).to_edge_list()
    weight = np.random.default_rng(3).uniform(0.8, 1.0, graph.n_edges)
    graph = EdgeList(tail=graph.tail, head=graph.head, weight=weight, n_nodes=graph.n_nodes)
    solver = LaplacianSolver(graph, solver="amg")
    solver.solve(solver.centered(np.random.default_rng(1).standard_normal((graph.n_nodes, 1))))
    assert solver.n_iter_ <= 25
    assert solver.residual_ <= solver.tol
