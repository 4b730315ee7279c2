"""Every backend solves every kind of graph, against closed forms and the dense reference."""

import numpy as np
import pytest
import scipy.sparse

from graphsqueak.graph import EdgeList
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.solvers.matrix import build_laplacian, multiply
from graphsqueak.sources.synthetic import closed_forms as synthetic
from graphsqueak.sources.synthetic import random_graphs
from tests import reference

BACKENDS = ("auto", "jacobi", "cholesky", "amg", "direct")
RNG_SEED = 618_033_988


def balanced(graph, n_columns, dtype=np.float64):
    """Gaussian right-hand sides that sum to zero over every component."""
    label = graph.components()
    b = np.random.default_rng(RNG_SEED).standard_normal((graph.n_nodes, n_columns))
    for component in range(label.max() + 1):
        b[label == component] -= b[label == component].mean(axis=0)
    return b.astype(dtype)


def random_graph(n_nodes=60, n_edges=150, decades=0.0):
    """Random edges, a few of them parallel, weights over +-`decades` powers of ten."""
    plain = random_graphs.erdos_renyi(n_nodes, n_edges, random_state=RNG_SEED).to_edge_list()
    exponent = np.random.default_rng(RNG_SEED).uniform(-decades, decades, n_edges)
    return EdgeList(tail=plain.tail, head=plain.head, weight=10**exponent, n_nodes=n_nodes)


def two_parts_and_isolated_nodes():
    grid = synthetic.grid(6, 7).to_edge_list()
    part = random_graph(n_nodes=30, n_edges=90)
    return EdgeList(
        tail=np.concatenate([grid.tail + 1, part.tail + 44]),
        head=np.concatenate([grid.head + 1, part.head + 44]),
        weight=np.concatenate([grid.weight, part.weight]),
        n_nodes=80,
    )


GRAPHS = {
    "connected": random_graph(),
    "grid": synthetic.grid(9, 11).to_edge_list(),
    "disconnected": two_parts_and_isolated_nodes(),
    "parallel edges": EdgeList(
        tail=[0, 1, 1, 2, 0], head=[1, 0, 2, 3, 3], weight=[1, 2, 3, 4, 5.0]
    ),
    "weights 1e-6 to 1e6": random_graph(n_edges=400, decades=6),
}
RIDGES = {
    "no ridge": lambda n: 0.0,
    "scalar": lambda n: 0.3,
    "vector": lambda n: np.where(np.arange(n) % 5 == 3, 2.0, 0.0),
}


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_agrees_with_the_dense_reference(backend, name, ridge):
    graph, ridge = GRAPHS[name], RIDGES[ridge](GRAPHS[name].n_nodes)
    b = balanced(graph, 5)
    solver = LaplacianSolver(graph, solver=backend, ridge=ridge, tol=1e-9, random_state=RNG_SEED)
    x = solver.solve(b)
    matrix = graph.laplacian() + np.diag(np.broadcast_to(ridge, graph.n_nodes))
    residual = np.linalg.norm(b - matrix @ x, axis=0) / np.linalg.norm(b, axis=0)
    assert solver.residual_ <= 1e-9
    np.testing.assert_allclose(solver.residual_, residual.max(), atol=1e-9)
    expected = reference.pseudo_solve(graph, b, ridge)
    np.testing.assert_allclose(x, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("backend", BACKENDS)
def test_float32_in_float32_out(backend):
    graph = random_graph()
    b = balanced(graph, 3, np.float32)
    solver = LaplacianSolver(graph, solver=backend, tol=1e-3, random_state=RNG_SEED)
    x = solver.solve(b)
    assert x.dtype == np.float32
    assert solver.residual_ <= 1e-3
    residual = np.linalg.norm(b - graph.laplacian() @ x, axis=0) / np.linalg.norm(b, axis=0)
    assert residual.max() <= 1.1e-3


@pytest.mark.parametrize("backend", BACKENDS)
def test_float32_that_float32_cannot_solve_is_solved_in_float64(backend):
    graph = synthetic.path(3000).to_edge_list()
    b = balanced(graph, 2, np.float32)
    solver = LaplacianSolver(graph, solver=backend, tol=2e-5, random_state=RNG_SEED)
    exact = b - b.mean(axis=0, dtype=np.float64)
    expected = LaplacianSolver(graph, solver="direct").solve(exact)
    x = solver.solve(b)
    assert solver.residual_ <= 2e-5
    np.testing.assert_allclose(x, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("backend", BACKENDS)
def test_path_potentials_are_linear(backend):
    n = 300
    b = np.zeros(n)
    b[0], b[-1] = 1.0, -1.0
    x = LaplacianSolver(synthetic.path(n).to_edge_list(), solver=backend).solve(b)
    np.testing.assert_allclose(x, (n - 1) / 2 - np.arange(n), atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("source", "u", "v", "resistance"),
    [
        (synthetic.cycle(50), 3, 18, 15 * 35 / 50),
        (synthetic.complete(40), 0, 39, 2 / 40),
        (synthetic.star(70), 1, 2, 2.0),
        (synthetic.star(70), 0, 9, 1.0),
    ],
)
def test_effective_resistances_in_closed_form(backend, source, u, v, resistance):
    b = np.zeros(source.n_nodes)
    b[u], b[v] = 1.0, -1.0
    x = LaplacianSolver(source.to_edge_list(), solver=backend, tol=1e-10).solve(b)
    np.testing.assert_allclose(x[u] - x[v], resistance, rtol=1e-8)


@pytest.mark.parametrize("backend", BACKENDS)
def test_isolated_nodes_give_zero_or_b_over_ridge(backend):
    graph = EdgeList(tail=[1], head=[2], n_nodes=5)
    b = np.array([0.0, 1.0, -1.0, 0.0, 0.0])
    np.testing.assert_allclose(
        LaplacianSolver(graph, solver=backend).solve(b), [0, 0.5, -0.5, 0, 0], atol=1e-9
    )
    ridge = np.array([4.0, 0.0, 0.0, 0.0, 0.5])
    b[[0, 4]] = 1.0, 3.0
    np.testing.assert_allclose(
        LaplacianSolver(graph, solver=backend, ridge=ridge).solve(b),
        [0.25, 0.5, -0.5, 0, 6.0],
        atol=1e-7,
    )


def test_the_trial_of_jacobi_looks_at_columns_that_are_not_zero():
    """Clusters in a chain: Jacobi is tried first, and takes longer than its trial."""
    rng, firsts = np.random.default_rng(40_129), np.arange(0, 4000, 250)
    ends = [rng.integers(250, size=(10_000, 2)) + first for first in firsts]
    ends = np.concatenate([*ends, np.column_stack([firsts[:-1], firsts[1:]])])
    ends = ends[ends[:, 0] != ends[:, 1]]
    graph = EdgeList(tail=ends[:, 0], head=ends[:, 1], n_nodes=4000)
    block = rng.normal(size=(4000, 3))
    block[:, 0] = 0.0
    block -= block.mean(axis=0)
    solver = LaplacianSolver(graph, random_state=7)
    x = solver.solve(block)
    assert solver.solver_ != "jacobi"
    np.testing.assert_array_equal(x[:, 0], 0.0)
    np.testing.assert_allclose(graph.laplacian() @ x, block, atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "graph", [EdgeList(tail=[], head=[], n_nodes=3), synthetic.path(2).to_edge_list()]
)
def test_zero_columns_give_zeros(backend, graph):
    solver = LaplacianSolver(graph, solver=backend)
    np.testing.assert_array_equal(solver.solve(np.zeros((graph.n_nodes, 2))), 0.0)
    assert solver.n_iter_ == 0
    assert solver.solve(np.zeros((graph.n_nodes, 0))).shape == (graph.n_nodes, 0)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_size_of_the_right_hand_side_does_not_matter(scale):
    graph = random_graph()
    b = balanced(graph, 2)
    once = LaplacianSolver(graph, solver="cholesky", random_state=RNG_SEED).solve(b)
    scaled = LaplacianSolver(graph, solver="cholesky", random_state=RNG_SEED).solve(scale * b)
    np.testing.assert_allclose(scaled / scale, once, rtol=1e-6, atol=1e-9)


def test_long_path_reaches_1e_8():
    graph = synthetic.path(100_000).to_edge_list()
    b = balanced(graph, 2)
    solver = LaplacianSolver(graph)
    x = solver.solve(b)
    residual = np.linalg.norm(b - graph.laplacian() @ x, axis=0) / np.linalg.norm(b, axis=0)
    assert solver.solver_ == "cholesky"
    assert residual.max() <= 1e-8


def test_columns_that_converge_early_leave_the_block():
    graph = synthetic.grid(20, 20).to_edge_list()
    eigenvector = np.cos(np.pi * (np.arange(20) + 0.5) / 20)[:, None] * np.ones(20)
    b = np.column_stack([np.repeat(eigenvector.reshape(-1, 1), 3, axis=1), balanced(graph, 1)])
    solver = LaplacianSolver(graph, solver="jacobi", tol=1e-10)
    expected = reference.pseudo_solve(graph, b)
    np.testing.assert_allclose(solver.solve(b), expected, atol=1e-7 * np.abs(expected).max())


def test_many_columns_are_not_tried_with_jacobi_where_one_shows_that_it_loses():
    graph = random_graphs.gaussian_neighbors(20_000, 20, random_state=5_309).to_edge_list()
    graph = EdgeList(
        tail=graph.tail, head=graph.head, weight=np.maximum(graph.weight, 1e-3), n_nodes=20_000
    )
    b = np.random.default_rng(86_028_157).standard_normal((20_000, 8))
    b -= b.mean(axis=0)
    auto = LaplacianSolver(graph, random_state=1)
    own = LaplacianSolver(graph, solver="cholesky", random_state=1)
    np.testing.assert_array_equal(auto.solve(b), own.solve(b))
    assert auto.solver_ == "cholesky"
    assert auto.n_iter_ == own.n_iter_


def test_a_settled_backend_is_kept_and_can_be_named():
    """What was settled on solves the next block as a solver of that name does, bit by bit."""
    graph = random_graphs.small_world(60, 60, 500, random_state=98_001).to_edge_list()
    rng = np.random.default_rng(98_002)
    first, second = (rng.standard_normal((3600, k)) for k in (8, 1))
    auto = LaplacianSolver(graph, ridge=1e-4, random_state=98_003)
    auto.solve(first)
    name = auto.fix_backend()
    named = LaplacianSolver(graph, solver=name, ridge=1e-4, random_state=98_003)
    assert auto.solve(second).tobytes() == named.solve(second).tobytes()
    assert auto.solver_ == name


def test_a_first_column_of_zeros_is_no_mistake():
    """The watch over the first steps learns nothing from it, and the other columns are solved."""
    graph = random_graphs.small_world(40, 40, 300, random_state=1).to_edge_list()
    B = np.zeros((1_600, 3))
    B[[0, -1], 1], B[[5, 900], 2] = (1.0, -1.0), (1.0, -1.0)
    x = LaplacianSolver(graph, tol=1e-9, random_state=7).solve(B)
    assert not x[:, 0].any()
    exact = np.linalg.pinv(graph.laplacian().toarray()) @ B
    np.testing.assert_allclose(x, exact, atol=1e-6)


def test_a_first_guess_another_ridge_and_another_tolerance_share_one_graph():
    """Against a dense solve; a guess that is the solution takes no step at all."""
    rng = np.random.default_rng(51_203)
    graph = random_graph(n_nodes=40)
    ridge, b = rng.random(40), rng.normal(size=(40, 3))
    first = LaplacianSolver(graph, tol=1e-3)
    solver = first.with_ridge(ridge).with_tol(1e-10)
    exact = reference.pseudo_solve(graph, b, ridge)
    np.testing.assert_allclose(solver.solve(b), exact, atol=1e-7 * np.abs(exact).max())
    assert solver.n_iter_ > 0
    np.testing.assert_allclose(solver.solve(b, start=exact), exact, rtol=1e-7)
    assert solver.n_iter_ == 0
    assert first.tol == 1e-3
    assert not first.matrix.ridge.any()


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


def test_a_start_that_is_near_is_corrected_to_the_tolerance_of_float64():
    graph = synthetic.grid(30, 30).to_edge_list()
    rng = np.random.default_rng(380_649)
    b, ridge = rng.standard_normal((900, 5)), np.full(900, 1e-3)
    rough = LaplacianSolver(graph, ridge=ridge, tol=1e-8, random_state=7)
    x = rough.with_tol(1e-5).solve(b)
    near = rough.solve(b, start=x)
    matrix = graph.laplacian() + scipy.sparse.diags_array(ridge)
    assert near.dtype == np.float64
    assert (np.linalg.norm(b - matrix @ near, axis=0) <= 1e-8 * np.linalg.norm(b, axis=0)).all()
    wrong = rough.solve(b, start=1e4 * x)  # and from far away
    assert (np.linalg.norm(b - matrix @ wrong, axis=0) <= 1e-8 * np.linalg.norm(b, axis=0)).all()


def test_what_float32_cannot_correct_is_left_to_float64():
    """The slowest wave of a path: its potentials, rounded to float32, are off by more than b."""
    n = 50_000
    graph = synthetic.path(n).to_edge_list()
    angle = np.pi / n
    b = np.cos(angle * (np.arange(n) + 0.5))[:, None]
    solver = LaplacianSolver(graph, solver="cholesky", tol=2e-4, random_state=RNG_SEED)
    x = solver.solve(b, start=np.zeros_like(b))
    assert solver.residual_ <= 2e-4
    expected = b / (2 - 2 * np.cos(angle))
    np.testing.assert_allclose(x, expected, atol=1e-3 * np.abs(expected).max())


def test_a_pivot_that_is_rounded_to_zero_does_not_stop_the_direct_solver():
    """Behind an edge of weight 1e-20 the exact factor has a pivot of 1e-20 = 1 - 1 + 1e-20."""
    path = EdgeList(tail=[0, 1, 2], head=[1, 2, 3], weight=[1.0, 1e-20, 1.0])
    x = LaplacianSolver(path, solver="direct").solve(np.array([1.0, -1.0, 2.0, -2.0]))
    assert x[0] - x[1] == pytest.approx(1.0)
    assert x[2] - x[3] == pytest.approx(2.0)
