"""Solve, and compute resistances and eigenvectors, of a graph that stays in a file.

The baselines load the graph into memory. A graph has 400 edges per node, and the sparsifier that
preconditions it 10.
"""

from functools import partial

import numpy as np
import scipy.sparse.linalg

from benchmarks.cases.solve import right_hand_sides
from benchmarks.runner import OURS, Run, case
from graphsqueak import (
    LaplacianSolver,
    StreamedSolver,
    effective_resistance,
    read_edges,
    smallest_eigenpairs,
    sources,
    sparsify,
    write_edges,
)

EDGES_PER_NODE = 400
KEPT_FRACTION = 1 / 40
N_COLUMNS = 16
N_PAIRS = 1000
N_CHECKED_PAIRS = 16
N_EIGENVECTORS = 10
SHORT = (1_000_000,)
FULL = (4_000_000, 40_000_000)


@case("outofcore", short=SHORT, full=FULL)
def solve(run: Run, n_edges: int) -> None:
    """Solve 16 Laplacian systems to 1e-6, sparsifier included."""
    path = _write(run, n_edges)
    contenders = {
        OURS: partial(_solve_streamed, path, run.seed),
        "graphsqueak, in memory": partial(_solve_in_memory, path, run.seed),
    }
    solver = run.time(contenders, n_rounds=1)[OURS]
    run.record(OURS, "passes", 1 + solver.n_passes_, unit="")
    run.memory(contenders)


@case("outofcore", short=SHORT, full=FULL)
def resistances(run: Run, n_edges: int) -> None:
    """Compute the effective resistances of 1,000 random pairs of nodes to 1 %."""
    path = _write(run, n_edges)
    n_nodes = n_edges // EDGES_PER_NODE
    rng = np.random.default_rng(run.seed)
    first = rng.integers(n_nodes, size=N_PAIRS)
    pairs = np.column_stack([first, (first + rng.integers(1, n_nodes, size=N_PAIRS)) % n_nodes])
    contenders = {
        OURS: partial(_resistances_streamed, path, pairs, run.seed),
        "graphsqueak, in memory": partial(_resistances_in_memory, path, pairs, run.seed),
    }
    outputs = run.time(contenders, n_rounds=1)
    run.record(OURS, "passes", outputs[OURS][1], unit="")
    checked = pairs[:N_CHECKED_PAIRS]
    exact = effective_resistance(read_edges(path).to_edge_list(), checked, method="exact")
    for contender, (values, _) in outputs.items():
        error = np.abs(values[:N_CHECKED_PAIRS] / exact - 1).max()
        run.record(contender, "largest relative error", 100 * float(error), unit="%")
    run.memory(contenders)


@case("outofcore", short=SHORT, full=FULL)
def eigenvectors(run: Run, n_edges: int) -> None:
    """Compute the ten smallest eigenvectors."""
    path = _write(run, n_edges)
    contenders = {
        OURS: partial(_eigenvectors_streamed, path, run.seed),
        "scipy eigsh, in memory": partial(_eigenvectors_scipy, path),
    }
    outputs = run.time(contenders, n_rounds=1)
    run.record(OURS, "passes", outputs[OURS][1], unit="")
    run.memory(contenders)


def _write(run, n_edges):
    path = run.folder / "edges.parquet"
    n_nodes = n_edges // EDGES_PER_NODE
    write_edges(sources.erdos_renyi(n_nodes, n_edges, random_state=run.seed), path)
    return path


def _solve_streamed(path, seed):
    edges = read_edges(path)
    kept = sparsify(edges, keep=KEPT_FRACTION, random_state=seed)
    solver = StreamedSolver(edges, sparsifier=kept, tol=1e-6, random_state=seed)
    solver.solve(right_hand_sides(kept, N_COLUMNS, seed))
    return solver


def _solve_in_memory(path, seed):
    graph = read_edges(path).to_edge_list()
    solver = LaplacianSolver(graph, tol=1e-6, random_state=seed)
    solver.solve(right_hand_sides(graph, N_COLUMNS, seed))


def _resistances_streamed(path, pairs, seed):
    edges = CountedPasses(read_edges(path))
    kept = sparsify(edges, keep=KEPT_FRACTION, random_state=seed)
    values = effective_resistance(edges, pairs, rtol=0.01, sparsifier=kept, random_state=seed)
    return values, edges.n_passes


def _resistances_in_memory(path, pairs, seed):
    graph = read_edges(path).to_edge_list()
    return effective_resistance(graph, pairs, rtol=0.01, random_state=seed), 1


def _eigenvectors_streamed(path, seed):
    edges = CountedPasses(read_edges(path))
    kept = sparsify(edges, keep=KEPT_FRACTION, random_state=seed)
    values, _ = smallest_eigenpairs(edges, N_EIGENVECTORS, sparsifier=kept, random_state=seed)
    return values, edges.n_passes


def _eigenvectors_scipy(path):
    laplacian = read_edges(path).to_edge_list().laplacian()
    values, _ = scipy.sparse.linalg.eigsh(laplacian, N_EIGENVECTORS + 1, which="SA", tol=1e-4)
    return values, 1


class CountedPasses(sources.EdgeSource):
    """A source that counts how often it is read."""

    def __init__(self, edges):
        super().__init__()
        self.edges = edges
        self.n_passes = 0

    def _batches(self):
        self.n_passes += 1
        yield from self.edges.batches()
