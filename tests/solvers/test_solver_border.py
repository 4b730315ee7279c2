"""What the solver refuses, what it warns of, and that the same seed gives the same bits."""

import subprocess
import sys

import numba
import numpy as np
import pytest

from graphsqueak.errors import ConvergenceWarning, InputError
from graphsqueak.graph import EdgeList
from graphsqueak.solvers import LaplacianSolver, laplacian_solver
from graphsqueak.solvers.approximate_cholesky import ApproximateCholesky
from graphsqueak.solvers.conjugate_gradient import conjugate_gradient
from graphsqueak.solvers.matrix import build_laplacian, build_laplacian_from_batches, multiply
from graphsqueak.sources.synthetic import closed_forms as synthetic
from graphsqueak.sources.synthetic import random_graphs

BACKENDS = ("auto", "jacobi", "cholesky", "amg", "direct")


@pytest.mark.parametrize("backend", BACKENDS)
def test_inconsistent_right_hand_side_names_the_component(backend):
    graph = EdgeList(tail=[0, 2, 3], head=[1, 3, 4])
    b = np.array([1.0, -1.0, 2.0, 1.0, 0.0])
    with pytest.raises(InputError, match=r"sums to 3 .* of node 2 \(3 nodes\).* subtract the mean"):
        LaplacianSolver(graph, solver=backend).solve(b)
    x = LaplacianSolver(graph, solver=backend, ridge=[0, 0, 1.0, 0, 0]).solve(b)
    np.testing.assert_allclose(x, [0.5, -0.5, 3.0, 4.0, 4.0], atol=1e-6)


def test_isolated_node_with_a_load_is_inconsistent():
    with pytest.raises(InputError, match="node 2 "):
        LaplacianSolver(EdgeList(tail=[0], head=[1], n_nodes=3)).solve(np.array([1.0, -1.0, 1.0]))


def test_sums_of_the_size_of_rounding_are_projected_away():
    graph = synthetic.cycle(1000).to_edge_list()
    b = np.random.default_rng(271_828_182).standard_normal(1000)
    b -= b.mean()
    solver = LaplacianSolver(graph)
    np.testing.assert_allclose(solver.solve(b + 1e-13), solver.solve(b), atol=1e-4)
    assert abs(solver.solve(b).sum()) < 1e-6
    narrow = (b + 3e-6).astype(np.float32)
    assert LaplacianSolver(graph, tol=1e-3).solve(narrow).dtype == np.float32


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(bad):
    b = np.zeros((4, 2))
    b[2, 1] = bad
    with pytest.raises(InputError, match="at node 2, column 1"):
        LaplacianSolver(synthetic.path(4).to_edge_list()).solve(b)


@pytest.mark.parametrize(
    "b", [np.zeros(3), np.zeros((5, 2)), np.zeros((4, 1, 1)), np.zeros(4, complex), 0.0]
)
def test_wrong_shapes_and_types_are_refused(b):
    with pytest.raises(InputError, match=r"shape \(4,\) or \(4, K\)"):
        LaplacianSolver(synthetic.path(4).to_edge_list()).solve(b)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ridge": -1.0}, "ridge=-1.0"),
        ({"ridge": [0.0, 1.0]}, r"shape \(2,\); give a number or 4 numbers"),
        ({"ridge": [0.0, 1.0, np.nan, 0.0]}, "ridge of node 2 is nan"),
        ({"solver": "magic"}, "solver='magic' is not one of"),
        ({"tol": 0.0}, "tol=0.0"),
        ({"max_iter": 0}, "max_iter=0"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        LaplacianSolver(synthetic.path(4).to_edge_list(), **arguments)


def test_not_converging_is_a_warning_that_carries_the_residual():
    graph = synthetic.path(500).to_edge_list()
    b = np.zeros(500)
    b[0], b[-1] = 1.0, -1.0
    solver = LaplacianSolver(graph, solver="jacobi", max_iter=7)
    with pytest.warns(ConvergenceWarning, match="max_iter=7 was reached") as caught:
        x = solver.solve(b)
    residual = np.linalg.norm(b - graph.laplacian() @ x) / np.linalg.norm(b)
    np.testing.assert_allclose(caught[0].message.residual, residual)
    assert solver.n_iter_ == 7
    assert solver.residual_ > solver.tol


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("backend", ["auto", "jacobi", "cholesky"])
def test_what_was_reached_is_returned_when_the_steps_run_out(backend, dtype):
    graph = random_graphs.small_world(40, 40, 100, random_state=577_215).to_edge_list()
    b = np.zeros(1600, dtype)
    b[3], b[1500] = 1.0, -1.0
    solver = LaplacianSolver(graph, solver=backend, max_iter=10, tol=2e-5, random_state=3)
    with pytest.warns(ConvergenceWarning, match="max_iter=10 was reached"):
        x = solver.solve(b)
    residual = np.linalg.norm(b - graph.laplacian() @ x) / np.linalg.norm(b)
    np.testing.assert_allclose(solver.residual_, residual, rtol=1e-3)
    assert x.any()


def test_a_recursion_that_stops_too_early_is_restarted(monkeypatch):
    def stop_early(matrix, r, x, *, target, **rest):
        target = np.maximum(target, 1e-3 * np.linalg.norm(r, axis=0))
        return conjugate_gradient(matrix, r, x, target=target, **rest)

    monkeypatch.setattr(laplacian_solver, "conjugate_gradient", stop_early)
    graph = synthetic.grid(20, 20).to_edge_list()
    b = np.random.default_rng(602_214_076).standard_normal((400, 3))
    b -= b.mean(axis=0)
    solver = LaplacianSolver(graph, solver="jacobi")
    x = solver.solve(b)
    assert solver.residual_ <= 1e-8
    residual = np.linalg.norm(b - graph.laplacian() @ x, axis=0) / np.linalg.norm(b, axis=0)
    assert residual.max() <= 1e-8


def test_a_graph_without_nodes():
    assert LaplacianSolver(EdgeList(tail=[], head=[])).solve(np.zeros((0, 3))).shape == (0, 3)


def test_a_residual_that_float64_cannot_write_is_a_warning():
    graph = EdgeList(tail=[0, 1, 2], head=[1, 2, 3], weight=[1.0, 1e-14, 1.0])
    with pytest.warns(ConvergenceWarning, match=r"rounding of x, whose largest entry is 5\.2e\+13"):
        LaplacianSolver(graph, tol=1e-12).solve(np.array([3.0, 0.1, -1.1, -2.0]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_solving_again_gives_the_same_bits(backend):
    graph, b = small_world_problem()
    solver = LaplacianSolver(graph, solver=backend, tol=1e-6, random_state=57_721)
    other = LaplacianSolver(graph, solver=backend, tol=1e-6, random_state=57_721)
    first = solver.solve(b)
    np.testing.assert_array_equal(solver.solve(b), first)
    np.testing.assert_array_equal(other.solve(b), first)


@pytest.mark.parametrize("n_tenths", [0, 1])
def test_rows_of_batches_are_those_of_the_graph(n_tenths):
    """Weights of many edges are held in half of the room, unless one of them would change."""
    graph, b = small_world_problem()
    weight = np.ones(graph.n_edges)
    weight[-n_tenths:] = 0.1 if n_tenths else 1.0
    parts = [slice(start, start + 1000) for start in range(0, graph.n_edges, 1000)]
    columns = (graph.tail, graph.head, weight)
    batches = [tuple(column[part] for column in columns) for part in parts]
    found = build_laplacian_from_batches(
        iter(batches), graph.n_nodes, 2**30, min_edges_for_float32=0
    )
    assert found.weight.dtype == (np.float64 if n_tenths else np.float32)
    whole = EdgeList(tail=graph.tail, head=graph.head, weight=weight, n_nodes=graph.n_nodes)
    product, expected = np.empty_like(b), np.empty_like(b)
    multiply(found, b, product)
    multiply(build_laplacian(whole, np.zeros(graph.n_nodes)), b, expected)
    np.testing.assert_allclose(product, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    entry = found.neighbor.itemsize + found.weight.itemsize
    left = iter(batches)
    assert (
        build_laplacian_from_batches(
            left, graph.n_nodes, 2 * graph.n_edges * entry - 1, min_edges_for_float32=0
        )
        is None
    )
    assert next(left, None) is None


@pytest.mark.parametrize("with_factor", [False, True])
def test_one_thread_or_two_give_the_same_bits(with_factor):
    """With worth_sharing=0 every loop is shared, however short."""
    graph, b = small_world_problem()
    rows = build_laplacian(graph, np.zeros(graph.n_nodes))
    factor = ApproximateCholesky(rows, seed=57_721, worth_sharing=0)
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
                worth_sharing=0,
            )
            answers.append(x)
    finally:
        numba.set_num_threads(allowed)
    np.testing.assert_array_equal(answers[-1], answers[0])


def small_world_problem():
    graph = random_graphs.small_world(20, 25, 1500, random_state=161_803).to_edge_list()
    b = np.random.default_rng(141_421).standard_normal((500, 9))
    return graph, b - b.mean(axis=0)


def test_seeds_matter_only_to_the_factor():
    graph = synthetic.grid(30, 30).to_edge_list()
    b = np.zeros(900)
    b[0], b[-1] = 1.0, -1.0
    one, two = (LaplacianSolver(graph, solver="cholesky", random_state=s).solve(b) for s in (5, 6))
    assert (one != two).any()
    np.testing.assert_allclose(one, two, atol=1e-6)


def test_import_is_light():
    code = (
        "import sys, graphsqueak.solvers; "
        "print([m for m in ('pyamg', 'sklearn', 'networkx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
