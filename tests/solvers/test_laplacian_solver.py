"""Every backend solves every kind of graph, against closed forms and the dense reference."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

from graphsqueak.errors import ConvergenceWarning, InputError
from graphsqueak.graph import EdgeList
from graphsqueak.solvers import LaplacianSolver, laplacian_solver
from graphsqueak.solvers.conjugate_gradient import conjugate_gradient
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


def test_a_fixed_backend_is_kept_and_can_be_named():
    """The fixed backend solves the next block as a solver of that name does, bit for bit."""
    graph = random_graphs.small_world(60, 60, 500, random_state=98_001).to_edge_list()
    rng = np.random.default_rng(98_002)
    first, second = (rng.standard_normal((3600, k)) for k in (8, 1))
    auto = LaplacianSolver(graph, ridge=1e-4, random_state=98_003)
    auto.solve(first)
    name = auto.fix_backend()
    named = LaplacianSolver(graph, solver=name, ridge=1e-4, random_state=98_003)
    assert auto.solve(second).tobytes() == named.solve(second).tobytes()
    assert auto.solver_ == name


def test_a_first_column_of_zeros_is_solved():
    """It has no residual to forecast from; the other columns are solved."""
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
        ({"ridge": [0.0, 1.0]}, r"shape \(2,\); pass a number or 4 numbers"),
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


def weighted(n_nodes=60, n_edges=400, factor=1.0, seed=5):
    rng = np.random.default_rng(seed)
    ends = rng.integers(n_nodes, size=(2, n_edges))
    weight = factor * rng.lognormal(sigma=1.0, size=n_edges)
    return EdgeList(tail=ends[0], head=ends[1], weight=weight, n_nodes=n_nodes)


@pytest.mark.parametrize("name", ["cholesky", "amg", "direct"])
def test_another_ridge_has_a_preconditioner_of_its_own(name):
    """A factor of the old ridge would only take more iterations, which no result shows."""
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
