"""Which backend "auto" chooses, and why."""

import numpy as np
import pytest

from graphsqueak.graph import EdgeList
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.solvers.backend_choice import (
    JacobiWatch,
    ProblemSize,
    choose_factorization,
    choose_first_backend,
    jacobi_iteration_limit,
)
from graphsqueak.sources.synthetic import closed_forms, random_graphs

SMALL_WORLD = ProblemSize(
    n_nodes=10_000, n_edges=100_000, depth=5, level_cubes=1e12, n_columns=4, n_digits=8.0
)


def solid_grid(side):
    node = np.arange(side**3).reshape(side, side, side)
    pairs = [(node[1:], node[:-1]), (node[:, 1:], node[:, :-1]), (node[..., 1:], node[..., :-1])]
    tail, head = (np.concatenate([pair[end].ravel() for pair in pairs]) for end in (0, 1))
    return EdgeList(tail=tail, head=head)


def right_hand_sides(graph, n_columns):
    solver = LaplacianSolver(graph)
    return solver.centered(np.random.default_rng(9_412).standard_normal((graph.n_nodes, n_columns)))


def watch_geometric_decay(size, rate, n_iterations):
    """Return the iteration at which residuals rate^i stop a watch, or None."""
    watch = JacobiWatch(size)
    target = np.array([10.0**-size.n_digits])
    for iteration in range(n_iterations):
        if watch(iteration, np.array([rate**iteration]), target):
            return iteration
    return None


def test_the_limit_grows_with_digits_and_falls_with_columns_and_solves():
    limit = jacobi_iteration_limit(SMALL_WORLD)
    assert jacobi_iteration_limit(SMALL_WORLD._replace(n_digits=4.0)) < limit
    assert jacobi_iteration_limit(SMALL_WORLD._replace(n_columns=1)) > limit
    assert jacobi_iteration_limit(SMALL_WORLD._replace(n_solves=50)) < limit


def test_fast_convergence_is_not_stopped_and_slow_convergence_is_stopped_at_once():
    limit = jacobi_iteration_limit(SMALL_WORLD)
    fast = 10.0 ** (-8 / (0.9 * limit))
    slow = 10.0 ** (-8 / (2.0 * limit))
    assert watch_geometric_decay(SMALL_WORLD, fast, 200) is None
    assert watch_geometric_decay(SMALL_WORLD, slow, 200) <= 12


def test_a_residual_that_stalls_is_stopped():
    watch = JacobiWatch(SMALL_WORLD)
    target = np.array([1e-8])
    norms = [max(0.3**iteration, 1e-5) for iteration in range(1000)]
    stopped = [i for i, norm in enumerate(norms) if watch(i, np.array([norm]), target)]
    assert watch.has_stopped
    assert stopped[0] < 4 * jacobi_iteration_limit(SMALL_WORLD)


def test_columns_without_a_target_and_padding_are_ignored():
    watch = JacobiWatch(SMALL_WORLD)
    target = np.array([-1.0, 1e-3, np.inf])
    for iteration in range(30):
        assert not watch(iteration, np.array([1e9, 0.5**iteration, 0.0]), target)


def test_a_restart_begins_a_new_forecast():
    watch = JacobiWatch(SMALL_WORLD)
    target = np.array([1e-8])
    for norm in (1.0, 1e-6):
        for iteration in range(8):
            assert not watch(iteration, np.array([norm * 0.3**iteration]), target)


def test_an_exact_factorization_is_chosen_for_small_levels_only():
    ladder = SMALL_WORLD._replace(n_edges=15_000, level_cubes=8.0 * 5_000)
    assert choose_factorization(ladder) == "direct"
    assert choose_factorization(SMALL_WORLD) == "cholesky"
    path = SMALL_WORLD._replace(n_edges=9_999, level_cubes=10_000.0)
    assert choose_factorization(path) == "cholesky"


@pytest.mark.parametrize(
    ("graph", "n_columns", "expected"),
    [
        (closed_forms.path(10_000).to_edge_list(), 4, "cholesky"),
        (closed_forms.barbell(100, 100).to_edge_list(), 1, "direct"),
        (closed_forms.grid(60, 60).to_edge_list(), 16, "direct"),
        (solid_grid(25), 1, "cholesky"),
        (closed_forms.hypercube(10).to_edge_list(), 4, "jacobi"),
        (random_graphs.chung_lu(10_000, 15_000, random_state=77).to_edge_list(), 16, "cholesky"),
        (random_graphs.erdos_renyi(5_000, 50_000, random_state=78).to_edge_list(), 16, "jacobi"),
    ],
)
def test_graphs_get_the_fastest_backend(graph, n_columns, expected):
    solver = LaplacianSolver(graph, random_state=5)
    solver.solve(right_hand_sides(graph, n_columns))
    assert solver.solver_ == expected


def test_deep_graphs_are_factorized_without_a_trial():
    size = LaplacianSolver(solid_grid(40)).problem_size(1, n_digits=8.0)
    assert choose_first_backend(size) == "cholesky"


@pytest.mark.parametrize("n_columns", [1, 16])
def test_well_connected_graphs_with_few_ridges_are_solved(n_columns):
    """One eigenvalue is far below all others; the residual stalls until it is found."""
    graph = random_graphs.erdos_renyi(20_000, 200_000, random_state=9_409).to_edge_list()
    ridge = np.zeros(graph.n_nodes)
    ridge[::500] = 10.0
    solver = LaplacianSolver(graph, ridge=ridge, tol=1e-6)
    solver.solve(np.random.default_rng(9_408).standard_normal((graph.n_nodes, n_columns)))
    assert solver.solver_ == "jacobi"
    assert solver.residual_ <= 1e-6
