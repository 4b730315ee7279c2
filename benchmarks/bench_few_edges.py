"""Few edges: kappa at hardly more edges than nodes, the subgraph beside the stream and peers.

    python benchmarks/bench_few_edges.py [--quick] [--json] [--per-node R] [--only NAME]

kappa = lambda_max / lambda_min of the pencil (L_H, L_G), both ends by Lanczos (ARPACK) with an
exact factor: what a preconditioner feels, whatever the common factor. The spectral subgraphs of the
circuit literature (GRASS and its kin) have about 105 on fe_4elt2 at 1.13 edges a node, and 72 to
125 on circuits and Delaunay meshes. Compared at the same number of edges: `subgraph` and `auto`
(methods of `sparsify`), `stream` (the default elsewhere), `forest` (the first spanning forest in
order of arrival and random edges), `uniform` (which falls apart: infinite) and, where networkit is
installed, its local degree and forest fire sparsifiers. `times` is the time of `auto` over that of
the stream. Circuits are grids whose weights are lognormal.
"""

import argparse
import contextlib
import json
import time
import warnings

import numpy as np
import scipy.sparse.linalg
import scipy.spatial
import zoo
from bench_quality import networkit_peers
from real_data import add_data_option

from graphsqueak import EdgeList, sources, sparsify
from graphsqueak.errors import AccuracyWarning
from graphsqueak.graph.forest import join, roots

SEED = 137_035
PER_NODE = 1.13


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small graphs only")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_data_option(parser)
    parser.add_argument("--per-node", type=float, default=PER_NODE, help="edges a node to keep")
    parser.add_argument("--only", action="append", help="a graph by its name; may be repeated")
    arguments = parser.parse_args()
    rows = []
    warnings.simplefilter("ignore", AccuracyWarning)
    sparsify(sources.grid(20, 20), keep=0.6, random_state=SEED)  # compiles
    for name, graph in graphs(quick=arguments.quick):
        if arguments.only and name not in arguments.only:
            continue
        rows.append({"graph": name} | compare(graph, arguments.per_node))
        if not arguments.json:
            print_row(rows[-1])
    if arguments.json:
        print(json.dumps({"benchmark": "few_edges", "rows": rows}))


def graphs(*, quick):
    """Name and graph, the largest component of it; real ones only where their files are."""
    if quick:
        yield "Delaunay 2000", delaunay(2000)
        yield "grid 40", sources.grid(40, 40).to_edge_list()
        yield "circuit 40", circuit(40)
        return
    for name, graph in zoo.load(["minnesota", "fe_4elt2", "4elt", "wing"]):
        yield name, largest_component(graph.simplified())
    yield "Delaunay 11000", delaunay(11_000)
    yield "Delaunay 100000", delaunay(100_000)
    yield "grid 300", sources.grid(300, 300).to_edge_list()
    yield "circuit 300", circuit(300)
    yield (
        "Chung-Lu",
        largest_component(
            sources.chung_lu(5000, 40_000, random_state=SEED).to_edge_list().simplified()
        ),
    )


def delaunay(n_nodes):
    points = np.random.default_rng(SEED).random((n_nodes, 2))
    corner = scipy.spatial.Delaunay(points).simplices
    pairs = np.sort(np.concatenate([corner[:, :2], corner[:, 1:], corner[:, [0, 2]]]), axis=1)
    tail, head = np.unique(pairs, axis=0).T
    return EdgeList(tail=tail, head=head, n_nodes=n_nodes)


def circuit(side):
    grid = sources.grid(side, side).to_edge_list()
    weight = np.random.default_rng(SEED).lognormal(sigma=1.5, size=grid.n_edges)
    return EdgeList(tail=grid.tail, head=grid.head, weight=weight, n_nodes=grid.n_nodes)


def largest_component(graph):
    component = graph.components()
    inside = component == np.bincount(component).argmax()
    number = np.cumsum(inside) - 1
    kept = inside[graph.tail]
    ends = (number[graph.tail[kept]], number[graph.head[kept]], graph.weight[kept])
    return EdgeList.from_clean(*ends, int(inside.sum()))


def compare(graph, per_node):
    n_edges = int(per_node * graph.n_nodes)
    methods = {
        "subgraph": lambda: sparsify(graph, n_edges=n_edges, method="subgraph", random_state=SEED),
        "auto": lambda: sparsify(graph, n_edges=n_edges, random_state=SEED),
        "stream": lambda: sparsify(graph, n_edges=n_edges, method="fast", random_state=SEED),
        "forest": lambda: forest_and_random_edges(graph, n_edges),
        "uniform": lambda: sparsify(graph, n_edges=n_edges, method="uniform", random_state=SEED),
    }
    if graph.n_edges <= 150_000:
        with contextlib.suppress(ImportError):
            peers = networkit_peers(graph, n_edges)
            methods |= {name: lambda run=run: run(SEED) for name, run in peers.items()}
    kappa, row = Kappa(graph), {"nodes": graph.n_nodes, "edges": graph.n_edges, "kept": n_edges}
    seconds = {}
    for name, make in methods.items():
        began = time.perf_counter()
        made = make()
        seconds[name] = time.perf_counter() - began
        row[name] = kappa(made)
    times = seconds["auto"] / seconds["stream"]
    return row | {"seconds": seconds["auto"], "times": times}


def forest_and_random_edges(graph, n_edges):
    """Unbiased weights for the edges beside a forest in the order of arrival."""
    order = np.random.default_rng(SEED).permutation(graph.n_edges)
    mask = np.zeros(graph.n_edges, dtype=bool)
    mask[order] = join(roots(graph.n_nodes), graph.tail[order], graph.head[order])
    rest = order[~mask[order]]
    some = rest[: n_edges - int(mask.sum())]
    weight = graph.weight.copy()
    weight[some] *= rest.size / max(some.size, 1)
    mask[some] = True
    return EdgeList.from_clean(graph.tail[mask], graph.head[mask], weight[mask], graph.n_nodes)


class Kappa:
    """kappa of any number of sparsifiers of one connected graph."""

    def __init__(self, graph):
        self._graph = grounded(graph)
        self._solve = factor(self._graph)

    def __call__(self, sparsifier):
        """Infinite where the sparsifier falls apart."""
        if sparsifier.components().any():
            return float("inf")
        own = grounded(sparsifier)
        return largest(self._graph, own, factor(own)) * largest(own, self._graph, self._solve)


def grounded(graph):
    """The Laplacian without node 0."""
    return scipy.sparse.csc_array(graph.laplacian()[1:, 1:])


def factor(matrix):
    solve = scipy.sparse.linalg.splu(
        matrix,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    ).solve
    return scipy.sparse.linalg.LinearOperator(matrix.shape, matvec=solve, dtype=np.float64)


def largest(matrix, other, solve_other):
    """The largest eigenvalue of matrix x = value other x."""
    found = scipy.sparse.linalg.eigsh(
        matrix, k=1, M=other, Minv=solve_other, which="LM", tol=1e-3, return_eigenvectors=False
    )
    return float(found[0])


def print_row(row):
    shown = [f"{key} {row[key]:.4g}" for key in row if key != "graph"]
    print(f"{row['graph']:<16}" + "  ".join(shown), flush=True)


if __name__ == "__main__":
    main()
