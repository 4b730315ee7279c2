"""Which backend "auto" takes, and by what it is decided."""

import numpy as np
import pytest

from graphsqueak.graph import EdgeList
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.solvers.conjugate_gradient import conjugate_gradient
from graphsqueak.solvers.costs import TRIAL_STEPS, JacobiTrial, cheapest, first_choice, jacobi_limit
from graphsqueak.sources.synthetic import random_graphs


def solid_grid(side):
    node = np.arange(side**3).reshape(side, side, side)
    pairs = [(node[1:], node[:-1]), (node[:, 1:], node[:, :-1]), (node[..., 1:], node[..., :-1])]
    tail, head = (np.concatenate([pair[end].ravel() for pair in pairs]) for end in (0, 1))
    return EdgeList(tail=tail, head=head)


def right_hand_sides(graph, n_columns):
    solver = LaplacianSolver(graph)
    return solver.centered(np.random.default_rng(9_412).standard_normal((graph.n_nodes, n_columns)))


@pytest.mark.parametrize("n_columns", [1, 3])
def test_the_ritz_values_of_a_trial_become_eigenvalues(n_columns):
    graph = random_graphs.erdos_renyi(80, 300, random_state=9_411).to_edge_list()
    solver = LaplacianSolver(graph)
    large = {"n_nodes": 10**5, "n_edges": 10**6, "separator": 10**5, "cubes": 1e15}
    trial = JacobiTrial(solver.shape(n_columns, digits=13.0)._replace(**large))
    r = right_hand_sides(graph, n_columns)
    target = 1e-13 * np.linalg.norm(r, axis=0)
    conjugate_gradient(solver.matrix, r, np.zeros_like(r), target=target, max_iter=79, watch=trial)
    root = np.sqrt(graph.degrees())
    values = np.linalg.eigvalsh(graph.laplacian().toarray() / np.outer(root, root))
    np.testing.assert_allclose(trial.ritz()[[0, -1]], values[[1, -1]], rtol=1e-3)


def test_small_solid_grids_of_one_column_stay_with_jacobi():
    graph = solid_grid(10)
    solver = LaplacianSolver(graph)
    solver.solve(right_hand_sides(graph, 1))
    assert solver.solver_ == "jacobi"


def test_large_solid_grids_of_one_column_are_factored_at_once():
    """They are so deep that Jacobi needs more steps than a factorization costs."""
    assert first_choice(LaplacianSolver(solid_grid(64)).shape(1, digits=8.0)) == "cholesky"


def test_isolated_nodes_make_no_graph_a_forest():
    graph = random_graphs.erdos_renyi(2_000, 4_000, random_state=9_414).to_edge_list()
    beside = EdgeList(tail=graph.tail, head=graph.head, n_nodes=6_000)
    alone, together = (LaplacianSolver(g).shape(1, digits=8.0) for g in (graph, beside))
    assert cheapest(together)[1] > cheapest(alone)[1]


@pytest.mark.parametrize("n_columns", [1, 16])
def test_well_connected_graphs_with_few_ridges_stay_with_jacobi(n_columns):
    """One eigenvalue lies far below all others; the residual stalls until it is found."""
    graph = random_graphs.erdos_renyi(20_000, 200_000, random_state=9_409).to_edge_list()
    ridge = np.zeros(graph.n_nodes)
    ridge[::500] = 10.0
    solver = LaplacianSolver(graph, ridge=ridge, tol=1e-6)
    solver.solve(np.random.default_rng(9_408).standard_normal((graph.n_nodes, n_columns)))
    assert solver.solver_ == "jacobi"
    assert solver.residual_ <= 1e-6


def test_sparse_graphs_with_hubs_are_factored_for_many_columns():
    graph = random_graphs.chung_lu(50_000, 75_000, random_state=77).to_edge_list()
    solver = LaplacianSolver(graph)
    solver.solve(right_hand_sides(graph, 16))
    assert solver.solver_ == "cholesky"


def test_a_factorization_is_dearer_where_threads_do_not_share_it_and_cheaper_with_hubs():
    graph = random_graphs.erdos_renyi(2_000, 4_000, random_state=9_410).to_edge_list()
    shape = LaplacianSolver(graph).shape(16, digits=8.0)
    assert jacobi_limit(shape._replace(skew=20.0)) < jacobi_limit(shape)
    assert jacobi_limit(shape._replace(n_columns=1)) > jacobi_limit(shape)
    assert jacobi_limit(shape._replace(n_solves=50)) < jacobi_limit(shape)


def test_a_trial_of_one_column_ends_early_where_jacobi_is_far_ahead():
    graph = random_graphs.erdos_renyi(20_000, 200_000, random_state=9_413).to_edge_list()
    solver = LaplacianSolver(graph)
    trial = JacobiTrial(solver.shape(16, digits=8.0), from_scratch=True)
    r = right_hand_sides(graph, 1)
    target = 1e-8 * np.linalg.norm(r, axis=0)
    how = {"target": target, "max_iter": 40, "watch": trial}
    assert conjugate_gradient(solver.matrix, r, np.zeros_like(r), **how) < TRIAL_STEPS
    assert not trial.lost
