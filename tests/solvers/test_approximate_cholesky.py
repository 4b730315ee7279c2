"""The approximate factor as a preconditioner."""

import numpy as np
import pytest

from graphsqueak.graph import EdgeList
from graphsqueak.solvers import LaplacianSolver, approximate_cholesky
from graphsqueak.solvers.approximate_cholesky import ApproximateCholesky
from graphsqueak.solvers.matrix import build_laplacian
from graphsqueak.sources.synthetic import closed_forms as synthetic


def weighted(source, ridge_every):
    graph = source.to_edge_list()
    weight = np.random.default_rng(299_792_458).uniform(0.5, 2.0, graph.n_edges)
    ridge = np.where(np.arange(graph.n_nodes) % ridge_every == 1, 0.7, 0.0)
    return EdgeList(tail=graph.tail, head=graph.head, weight=weight), ridge


@pytest.mark.parametrize("n_columns", [1, 2, 9])
def test_steps_on_a_grid_stay_few(n_columns):
    graph = synthetic.grid(60, 60).to_edge_list()
    b = np.random.default_rng(137_035_999).standard_normal((3600, n_columns))
    solver = LaplacianSolver(graph, solver="cholesky", random_state=11)
    solver.solve(b - b.mean(axis=0))
    assert solver.n_iter_ <= 40


@pytest.mark.parametrize("n_columns", [1, 5])
def test_one_step_solves_a_weighted_tree(n_columns):
    graph, ridge = weighted(synthetic.path(500), ridge_every=50)
    b = np.random.default_rng(891_011_213).standard_normal((500, n_columns))
    solver = LaplacianSolver(graph, solver="cholesky", ridge=ridge)
    solver.solve(b)
    assert solver.n_iter_ == 1


@pytest.mark.parametrize("n_columns", [1, 3, 4, 7, 8, 13, 21])
def test_columns_are_swept_alike_alone_and_beside_others(n_columns):
    rng = np.random.default_rng(662_607_015)
    graph, ridge = weighted(synthetic.grid(9, 8), ridge_every=10)
    factor = ApproximateCholesky(build_laplacian(graph, ridge), seed=7)
    r = rng.standard_normal((72, n_columns))
    alone = np.column_stack([factor(r[:, [k]]).copy() for k in range(n_columns)])
    np.testing.assert_allclose(factor(r), alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("n_columns", "is_shared"), [(1, False), (8, False), (9, True), (16, True)]
)
def test_a_single_group_of_columns_is_swept_by_one_thread(monkeypatch, n_columns, is_shared):
    graph, ridge = weighted(synthetic.path(60), ridge_every=7)
    factor = ApproximateCholesky(build_laplacian(graph, ridge), seed=7)
    works = []
    monkeypatch.setattr(
        approximate_cholesky, "run_kernel", lambda _, work, *rest, **how: works.append(work)
    )
    factor(np.ones((60, n_columns)))
    assert [work > 0 for work in works] == [is_shared]
