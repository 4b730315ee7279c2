"""Solve Laplacian systems to a relative residual of 1e-8, set-up included."""

import time
from functools import partial

import numpy as np
import scipy.sparse.csgraph
import scipy.sparse.linalg

from benchmarks import graphs
from benchmarks.runner import OURS, Run, Timed, case
from graphsqueak.solvers import LaplacianSolver

TOL = 1e-8
# Baselines test a residual of their own, which may be a little below the true one.
BASELINE_TOL = 0.95 * TOL
MAX_BASELINE_ITERATIONS = 200
# Baselines solve column by column. After this time the other columns are extrapolated.
MAX_SECONDS_OF_COLUMNS = 4.0
BACKENDS = ("jacobi", "cholesky", "amg", "direct")
MAX_ITERATIONS = {"jacobi": 1000, "amg": 100}
SHORT = ("grid 300x300 rough", "path 1e5", "R-MAT 2^16")
FULL = (
    "grid 500x500",
    "grid 700x700",
    "grid 500x500 rough",
    *SHORT,
    "barbell 2 x 500",
    "star 1e5",
    "grid 64^3",
    "grid 64^3 rough",
    "Delaunay 3e5",
    "road-like 3e5",
    "small world 2e5",
    "Erdos-Renyi 1e5 x 1e6",
    "Erdos-Renyi 2e4 x 2e6",
    "Chung-Lu 1e5 x 2e6",
    "Chung-Lu 1e5 x 1.5e5",
    "R-MAT 2^18",
    "Gaussian 50-NN 4e4",
    "4elt",
    "fe_4elt2",
    "wing",
    "minnesota",
    "ca-AstroPh",
)


@case("solve", short=SHORT, full=FULL)
def one_column(run: Run, name: str) -> None:
    """Solve for one random right-hand side."""
    _measure(run, graphs.GRAPHS[name](), n_columns=1)


@case("solve", short=SHORT, full=FULL)
def sixteen_columns(run: Run, name: str) -> None:
    """Solve for 16 random right-hand sides, which baselines solve one after the other."""
    _measure(run, graphs.GRAPHS[name](), n_columns=16)


@case("solve", full=("com-Amazon", "as-Skitter", "com-LiveJournal", "com-Orkut"))
def large_one_column(run: Run, name: str) -> None:
    """Solve for one random right-hand side on large graphs of SNAP."""
    _measure(run, graphs.GRAPHS[name](), n_columns=1)


@case("solve", full=FULL)
def backends(run: Run, name: str) -> None:
    """Solve for 16 right-hand sides with each backend: is the automatic choice the fastest?"""
    graph = graphs.GRAPHS[name]()
    b = right_hand_sides(graph, 16, run.seed)
    contenders = {OURS: partial(_solve, run, graph, b, "auto")}
    for backend in BACKENDS:
        if _is_feasible(backend, graph):
            contenders[f"solver={backend}"] = partial(_solve, run, graph, b, backend)
    run.time(contenders)


def _measure(run, graph, *, n_columns):
    laplacian = graph.laplacian()
    b = right_hand_sides(graph, n_columns, run.seed)
    calls = {OURS: partial(_solve, run, graph, b, "auto")}
    for name, factorize in BASELINES.items():
        if _is_feasible(name, graph):
            calls[name] = partial(_solve_by_column, run.clock, factorize, laplacian, b)
    run.time(calls)


def right_hand_sides(graph, n_columns: int, seed: int) -> np.ndarray:
    """Return Gaussian columns that sum to zero over every component."""
    component = graph.components()
    size = np.bincount(component)
    b = np.random.default_rng(seed).standard_normal((graph.n_nodes, n_columns))
    for column in b.T:
        column -= (np.bincount(component, column) / size)[component]
    return b


def _solve(run, graph, b, solver):
    max_iter = MAX_ITERATIONS.get(solver, 20_000)
    began = run.clock()
    fitted = LaplacianSolver(
        graph, solver=solver, tol=TOL, max_iter=max_iter, random_state=run.seed
    )
    x = fitted.solve(b)
    seconds = run.clock() - began
    _check_residual(graph.laplacian(), x, b)
    return Timed(seconds)


def _solve_by_column(clock, factorize, laplacian, b):
    """Return set-up plus solves; slow solves are extrapolated from the first columns."""
    began = clock()
    solve = factorize(laplacian)
    setup = clock() - began
    solved = []
    began_wall = time.perf_counter()
    began = clock()
    while len(solved) < b.shape[1]:
        solved.append(solve(b[:, len(solved)]))
        if time.perf_counter() - began_wall > MAX_SECONDS_OF_COLUMNS:
            break
    per_column = (clock() - began) / len(solved)
    _check_residual(laplacian, np.column_stack(solved), b)
    return Timed(setup + per_column * b.shape[1])


def _check_residual(laplacian, x, b):
    """Raise an error if |b - L x| / |b| of a column is above the tolerance."""
    b = b[:, : x.shape[1]]
    residual = np.linalg.norm(b - laplacian @ x, axis=0) / np.linalg.norm(b, axis=0)
    if not residual.max() <= TOL:
        raise ArithmeticError(f"residual {residual.max():.1e}")


def _is_feasible(solver, graph):
    """Leave out what takes minutes: factorizations that fill in, multigrid on expanders."""
    mean_degree = 2 * graph.n_edges / graph.n_nodes
    has_hubs = graph.degrees().max() >= 500 * graph.weight.mean()
    is_tree_like = graph.n_edges < graph.n_nodes
    is_tame = is_tree_like or not has_hubs
    if solver in ("direct", "scipy splu"):
        is_planar_like = mean_degree < 7 and graph.n_nodes <= 500_000
        return graph.n_nodes < 3000 or (is_planar_like and is_tame)
    if solver in ("amg", "pyamg"):
        return mean_degree < 25 and graph.n_edges < 1_200_000 and is_tame
    return True


def _pyamg(laplacian):
    import pyamg

    hierarchy = pyamg.smoothed_aggregation_solver(laplacian)
    return _conjugate_gradient(laplacian, hierarchy.aspreconditioner().matvec)


def _approx_chol(laplacian):
    import approx_chol

    return _conjugate_gradient(laplacian, approx_chol.factorize(laplacian).solve)


def _apxchol(laplacian):
    import apxchol

    factor = apxchol.factorize(laplacian)
    return lambda b: factor.solve(b, rtol=BASELINE_TOL, maxiter=MAX_BASELINE_ITERATIONS).x


def _scipy_cg(laplacian):
    """Conjugate gradients with the diagonal as preconditioner."""
    diagonal = laplacian.diagonal()
    inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
    return _conjugate_gradient(laplacian, lambda r: inverse * r.ravel(), max_iter=5000)


def _conjugate_gradient(laplacian, precondition, max_iter=MAX_BASELINE_ITERATIONS):
    operator = scipy.sparse.linalg.LinearOperator(
        laplacian.shape, matvec=precondition, dtype=np.float64
    )

    def solve(b):
        x, _ = scipy.sparse.linalg.cg(laplacian, b, rtol=BASELINE_TOL, maxiter=max_iter, M=operator)
        return x

    return solve


def scipy_splu(laplacian):
    """Return a function that solves with the first node of every component at zero."""
    component = scipy.sparse.csgraph.connected_components(laplacian, directed=False)[1]
    first_nodes = np.unique(component, return_index=True)[1]
    kept = np.delete(np.arange(component.size), first_nodes)
    factor = scipy.sparse.linalg.splu(
        laplacian[kept][:, kept].tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )

    def solve(b):
        x = np.zeros(b.shape)
        x[kept] = factor.solve(b[kept])
        return x

    return solve


BASELINES = {
    "scipy splu": scipy_splu,
    "scipy cg": _scipy_cg,
    "pyamg": _pyamg,
    "approx-chol": _approx_chol,
    "apxchol": _apxchol,
}
