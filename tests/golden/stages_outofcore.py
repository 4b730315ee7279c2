"""Results of the out-of-core solvers on graphs that are read several times."""

import tempfile
from pathlib import Path

import numpy as np

import graphsqueak as gs
from tests.golden.arrays import up_to_sign
from tests.golden.graphs import block_graph, components_graph, ring_lattice

__all__ = ["STAGES"]

# Vectors are recorded at every third node.
SAMPLED_NODES = slice(None, None, 3)
# Tight enough that the results do not depend on the iteration that found them.
TIGHT_TOL = 1e-9


def right_hand_sides(graph, *, n_columns, seed):
    """Random columns that sum to zero over every component."""
    block = np.random.default_rng(seed).standard_normal((graph.n_nodes, n_columns))
    label = graph.components()
    mean = [np.bincount(label, column) / np.bincount(label) for column in block.T]
    return block - np.array(mean).T[label]


def streamed_solver():
    """Solutions with several budgets, ridges and tolerances, and the passes they took."""
    dense, _ = block_graph([60, 60], n_edges=4000, within=0.8, seed=71)
    parted, _ = components_graph(72)
    found = {}
    for name, graph, settings in (
        ("n_edges", dense, {"n_edges": 600}),
        ("keep", dense, {"keep": 0.3}),
        ("epsilon", dense, {"epsilon": 0.8}),
        ("ridge", dense, {"n_edges": 600, "ridge": 0.5}),
        ("components", parted, {"n_edges": 400}),
        ("loose", dense, {"n_edges": 600, "tol": 1e-3}),
    ):
        settings = {"tol": TIGHT_TOL} | settings
        solver = gs.StreamedSolver(graph, **settings, random_state=1)
        x = solver.solve(right_hand_sides(graph, n_columns=2, seed=73))
        if name != "loose":
            found[name] = x[SAMPLED_NODES]
        found[f"{name}_passes"] = np.array(solver.n_passes_)
        found[f"{name}_n_edges"] = np.array(solver.sparsifier_.n_edges)
    given = gs.sparsify(dense, n_edges=700, random_state=3)
    solver = gs.StreamedSolver(dense, sparsifier=given, tol=TIGHT_TOL)
    found["sparsifier"] = solver.solve(right_hand_sides(dense, n_columns=1, seed=74))[SAMPLED_NODES]
    found["preconditioned"] = solver.precondition(right_hand_sides(dense, n_columns=1, seed=75))[
        SAMPLED_NODES
    ]
    relative = [step.relative.max() for step in solver.iterate(
        right_hand_sides(dense, n_columns=1, seed=76))]  # fmt: skip
    found["first_residuals"] = np.array(relative[:4])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "solver.ckpt"
        rhs = right_hand_sides(dense, n_columns=1, seed=77)
        settings = {"n_edges": 600, "tol": TIGHT_TOL, "checkpoint": path, "random_state": 1}
        gs.StreamedSolver(dense, **settings).solve(rhs)
        resumed = gs.StreamedSolver(dense, **settings, resume=True)
        found["resumed"] = resumed.solve(rhs)[SAMPLED_NODES]
        found["resumed_passes"] = np.array(resumed.n_passes_)
    return found


def smallest_eigenpairs():
    """Eigenvalues and eigenvectors up to sign, in memory and streamed, below and above the limit
    of the dense solver."""
    small, _ = block_graph([50, 40, 30], n_edges=2400, within=0.85, seed=78)
    parted, _ = components_graph(79)
    large = ring_lattice(1200, n_chords=3600, seed=80)
    found = {}
    for name, graph, settings in (
        ("memory", small, {}),
        ("normalized", small, {"normalized": True}),
        ("streamed", small, {"n_edges": 700}),
        ("streamed_normalized", small, {"n_edges": 700, "normalized": True}),
        ("components", parted, {}),
        ("components_streamed", parted, {"n_edges": 500}),
        ("large", large, {}),
        ("large_streamed", large, {"n_edges": 4000}),
    ):
        values, vectors = gs.smallest_eigenpairs(graph, 3, tol=1e-8, random_state=1, **settings)
        found[f"{name}_values"] = values
        step = 1 + graph.n_nodes // 60
        found[f"{name}_vectors"] = up_to_sign(vectors)[::step]
    values, _ = gs.smallest_eigenpairs(small, 3, n_edges=700, random_state=1)
    found["default_tolerance_values"] = values
    return found


def effective_resistances():
    """Resistances of edges and pairs: exact, sketched, streamed and with bounds."""
    graph, _ = block_graph([60, 60], n_edges=3000, within=0.8, seed=81)
    parted, _ = components_graph(82)
    pairs = np.random.default_rng(83).integers(120, size=(30, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    step = graph.n_edges // 100
    found = {}
    for name, which, settings in (
        ("exact", graph, {"method": "exact"}),
        ("sketch", graph, {"method": "sketch", "n_probes": 64}),
        ("streamed", graph, {"n_edges": 600, "n_probes": 64}),
        ("bounds", graph, {"n_edges": 600, "bounds": True}),
        ("components", parted, {"method": "exact"}),
    ):
        found[name] = gs.effective_resistance(which, random_state=1, **settings)[::step]
    for name, settings in (
        ("pairs", {}),
        ("pairs_streamed", {"n_edges": 600, "rtol": 1e-6}),
        ("pairs_streamed_default", {"n_edges": 600}),
        ("pairs_bounds", {"n_edges": 600, "bounds": True}),
    ):
        found[name] = gs.effective_resistance(graph, pairs, random_state=1, **settings)
    across = [(0, 120), (120, 122), (5, 123)]
    found["pairs_components"] = gs.effective_resistance(parted, across, random_state=1)
    return found


STAGES = {
    stage.__name__: stage for stage in (streamed_solver, smallest_eigenpairs, effective_resistances)
}
