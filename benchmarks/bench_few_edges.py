"""Few edges: what is preserved at hardly more edges than nodes, by method.

    python -m benchmarks.bench_few_edges [--quick] [--json] [--kappa] [--per-node R] [--only NAME]

The median relative errors of `auto` (the default of `sparsify`, which is the stream), `subgraph`
and `uniform` at the same number of edges:

    total        total weight, over that of the graph, minus 1
    cuts         weights of cuts between random halves of the nodes
    balls        weights of cuts around breadth-first balls, of 10 nodes up to half of them
    degrees      weighted degrees of all nodes
    resistances  effective resistances of random pairs of nodes; infinite if components differ
    pagerank     PageRank of all nodes, damping 0.85
    kappa        lambda_max / lambda_min of the pencil (L_H, L_G), by Lanczos, from inside

Graphs are real ones, meshes, circuits (grids whose weights are lognormal) and social graphs:
heavy-tailed degrees, communities and pendant trees, of the sizes of real ones.

With --kappa, kappa alone at 1.13 edges per node, both ends by Lanczos (ARPACK) with an exact
factor: what matters for a preconditioner, whatever the common factor. The spectral subgraphs of the
circuit literature (GRASS and its kin) have about 105 on fe_4elt2 at 1.13 edges per node, and 72 to
125 on circuits and Delaunay meshes. Compared at the same number of edges: `subgraph` and `stream`
(methods of `sparsify`), `forest` (the first spanning forest in order of arrival and random edges),
`uniform` (which falls apart: infinite) and, where networkit is installed, its local degree and
forest fire sparsifiers. `times` is the time of `subgraph` over that of the stream.
"""

import argparse
import contextlib
import json
import time
import warnings

import numpy as np
import scipy.sparse.csgraph
import scipy.sparse.linalg
import scipy.spatial

from benchmarks import graphs as shared
from benchmarks.cases.quality import networkit_sparsifiers
from benchmarks.graphs import pairs_of
from benchmarks.real_data import add_data_option, data_file, load_present
from graphsqueak import EdgeList, analysis, sources, sparsify
from graphsqueak.errors import AccuracyWarning
from graphsqueak.graph.forest import make_sets, union_edges
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.sparsifiers.subgraph.subgraph import largest_ratio

SEED = 137_035
PER_NODE = 1.13
METHODS = ("auto", "subgraph", "uniform")
SAMPLES = 60  # cuts of each kind, and pairs of nodes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small graphs only")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--kappa", action="store_true", help="kappa alone, and baselines")
    add_data_option(parser)
    parser.add_argument("--per-node", type=float, help="edges per node to keep")
    parser.add_argument("--only", action="append", help="a graph by its name; may be repeated")
    arguments = parser.parse_args()
    rows = []
    warnings.simplefilter("ignore", AccuracyWarning)
    sparsify(sources.grid(20, 20), keep=0.6, random_state=SEED)  # compiles
    for row in (kappa_rows if arguments.kappa else preserved_rows)(arguments):
        rows.append(row)
        if not arguments.json:
            print_row(row)
    if arguments.json:
        print(json.dumps({"benchmark": "few_edges", "rows": rows}))


def kappa_rows(arguments):
    per_node = arguments.per_node or PER_NODE
    for name, graph in meshes(quick=arguments.quick):
        if not arguments.only or name in arguments.only:
            yield {"graph": name} | compare_kappa(graph, per_node)


def preserved_rows(arguments):
    """One row per graph, number of edges and method."""
    for name, graph, per_node in graphs_and_edges(quick=arguments.quick):
        if arguments.only and name not in arguments.only:
            continue
        preserved = Preserved(graph)
        for edges_per_node in [arguments.per_node] if arguments.per_node else per_node:
            n_edges = int(edges_per_node * graph.n_nodes)
            if n_edges >= graph.n_edges:
                continue
            about = {"graph": name, "nodes": graph.n_nodes, "edges": graph.n_edges}
            about |= {"per_node": round(edges_per_node, 3)}
            for method in METHODS:
                made = sparsify(graph, n_edges=n_edges, method=method, random_state=SEED)
                yield about | {"method": method} | preserved.errors(made)


def graphs_and_edges(*, quick):
    """Name, graph and the edges per node to keep; real graphs only where their files are."""
    few = (1.13, 1.7, 2.5)
    if quick:
        yield "social 3000", largest_component(social(3_000, 24_000)), few
        for name, graph in meshes(quick=True):
            yield name, graph, (1.13,)
        return
    for n_nodes, n_edges, keep in (
        (37_700, 289_003, (0.2,)),
        (81_306, 1_342_296, (0.1,)),
        (33_695, 180_810, (0.2, 0.3)),
        (18_000, 72_000, (0.5,)),
        (28_000, 84_000, (0.5,)),
    ):
        graph = largest_component(social(n_nodes, n_edges))
        mean = graph.n_edges / graph.n_nodes
        yield f"social {n_nodes}", graph, [1.13, *(mean * fraction for fraction in keep)]
    files = {
        "facebook_combined": lambda: pairs_of("facebook_combined", "facebook_combined.txt", 1),
        "ca-GrQc": lambda: pairs_of("ca-GrQc", "CA-GrQc.txt", 4),
        "polblogs": polblogs,
    }
    for name, graph in load_present(files):
        yield name, largest_component(graph), few
    for name, graph in shared.load(["ca-AstroPh"]):
        yield name, largest_component(graph.simplified()), few
    for name, graph in meshes(quick=False):
        yield name, graph, (1.13, 1.7)


def meshes(*, quick):
    """Name and graph, the largest component of it; real ones only where their files are."""
    if quick:
        yield "Delaunay 2000", delaunay(2000)
        yield "grid 40", sources.grid(40, 40).to_edge_list()
        yield "circuit 40", circuit(40)
        return
    for name, graph in shared.load(["minnesota", "fe_4elt2", "4elt", "wing"]):
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


def polblogs():
    with np.load(data_file("polblogs", "polblogs.npz")) as file:
        columns = tuple(file[f"adj_{name}"] for name in ("data", "indices", "indptr"))
        adjacency = scipy.sparse.csr_array(columns, shape=tuple(file["adj_shape"]))
    one_way = scipy.sparse.triu(adjacency.maximum(adjacency.T), k=1).tocoo()
    return EdgeList(tail=one_way.row, head=one_way.col, n_nodes=adjacency.shape[0])


def social(n_nodes, n_edges):
    """Heavy-tailed degrees, communities of uneven sizes, and pendant trees on a fifth of the nodes.

    Six edges of ten stay within a community of about 60 nodes. Edges are in random order.
    """
    rng = np.random.default_rng(SEED)
    n_pendant = n_nodes // 5
    n_core, n_core_edges = n_nodes - n_pendant, n_edges - n_pendant
    activity = (rng.permutation(n_core) + 3.0) ** (-1 / 1.3)  # degrees fall as d^-2.3
    n_communities = max(n_core // 60, 2)
    popularity = (np.arange(n_communities) + 3.0) ** -0.8
    community = rng.choice(n_communities, n_core, p=popularity / popularity.sum())
    by_community = np.argsort(community, kind="stable")
    everyone = np.cumsum(activity)
    members = np.concatenate([[0.0], np.cumsum(activity[by_community])])
    begin = np.searchsorted(community[by_community], np.arange(n_communities + 1))
    pairs = np.zeros(0, dtype=np.int64)
    while pairs.size < n_core_edges:
        size = n_core_edges - pairs.size + 100
        tail, head = np.searchsorted(everyone, rng.random((2, size)) * everyone[-1])
        low, high = members[begin[community[tail]]], members[begin[community[tail] + 1]]
        position = np.searchsorted(members, low + rng.random(size) * (high - low), side="right") - 1
        friend = by_community[np.minimum(position, n_core - 1)]
        head = np.where(rng.random(size) < 0.6, friend, head)
        code = np.minimum(tail, head) * n_core + np.maximum(tail, head)
        pairs = np.unique(np.concatenate([pairs, code[tail != head]]))
    tail, head = np.divmod(rng.permutation(pairs)[:n_core_edges], n_core)
    pendant = np.arange(n_core, n_nodes)
    popular = tail[rng.integers(n_core_edges, size=n_pendant)]
    any_before = (rng.random(n_pendant) * pendant).astype(np.int64)
    anchor = np.where(rng.random(n_pendant) < 0.75, popular, any_before)
    order = rng.permutation(n_edges)
    ends = np.concatenate([tail, anchor])[order], np.concatenate([head, pendant])[order]
    return EdgeList(tail=ends[0], head=ends[1], n_nodes=n_nodes)


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
    return EdgeList.from_validated(*ends, int(inside.sum()))


class Preserved:
    """Median relative errors of any number of sparsifiers of one connected graph."""

    def __init__(self, graph):
        self._graph = graph
        rng = np.random.default_rng(SEED)
        self._halves = rng.random((SAMPLES, graph.n_nodes)) < 0.5
        self._balls = np.zeros((SAMPLES, graph.n_nodes), dtype=bool)
        adjacency = graph.to_scipy().tocsr()
        for ball in self._balls:
            start = rng.integers(graph.n_nodes)
            order = scipy.sparse.csgraph.breadth_first_order(
                adjacency, start, directed=False, return_predecessors=False
            )
            ball[order[: int(10 * (graph.n_nodes / 20) ** rng.random())]] = True
        self._pairs = np.array(
            [rng.choice(graph.n_nodes, size=2, replace=False) for _ in range(SAMPLES)]
        )
        self._own = self._values(graph)

    def errors(self, sparsifier):
        found = self._values(sparsifier)
        row = {"total": float(sparsifier.weight.sum() / self._graph.weight.sum() - 1)}
        for name, own in self._own.items():
            row[name] = float(np.median(np.abs(found[name] / own - 1)))
        if sparsifier.components().any():
            return row | {"kappa": float("inf")}
        ends = (self._graph, sparsifier)
        ratios = [largest_ratio(*pair, seed=SEED) for pair in (ends, ends[::-1])]
        return row | {"kappa": ratios[0] * ratios[1]}

    def _values(self, graph):
        return {
            "cuts": _cuts(graph, self._halves),
            "balls": _cuts(graph, self._balls),
            "degrees": graph.degrees(),
            "resistances": _resistances(graph, self._pairs),
            "pagerank": np.asarray(analysis.rank(graph, by="pagerank")),
        }


def _cuts(graph, sides):
    return np.array([graph.weight[side[graph.tail] != side[graph.head]].sum() for side in sides])


def _resistances(graph, pairs):
    if graph.components().any():
        return np.full(len(pairs), np.inf)
    current = np.zeros((graph.n_nodes, len(pairs)))
    column = np.arange(len(pairs))
    current[pairs[:, 0], column] = 1.0
    current[pairs[:, 1], column] = -1.0
    potential = LaplacianSolver(graph, tol=1e-6, random_state=SEED).solve(current)
    return potential[pairs[:, 0], column] - potential[pairs[:, 1], column]


def compare_kappa(graph, per_node):
    n_edges = int(per_node * graph.n_nodes)
    methods = {
        "subgraph": lambda: sparsify(graph, n_edges=n_edges, method="subgraph", random_state=SEED),
        "stream": lambda: sparsify(graph, n_edges=n_edges, method="stream", random_state=SEED),
        "forest": lambda: forest_and_random_edges(graph, n_edges),
        "uniform": lambda: sparsify(graph, n_edges=n_edges, method="uniform", random_state=SEED),
    }
    if graph.n_edges <= 150_000:
        with contextlib.suppress(ImportError):
            baselines = networkit_sparsifiers(graph, n_edges)
            methods |= {name: lambda run=run: run(SEED) for name, run in baselines.items()}
    kappa, row = Kappa(graph), {"nodes": graph.n_nodes, "edges": graph.n_edges, "kept": n_edges}
    seconds = {}
    for name, make in methods.items():
        began = time.perf_counter()
        made = make()
        seconds[name] = time.perf_counter() - began
        row[name] = kappa(made)
    times = seconds["subgraph"] / seconds["stream"]
    return row | {"seconds": seconds["subgraph"], "times": times}


def forest_and_random_edges(graph, n_edges):
    """Unbiased weights for the edges beside a forest in the order of arrival."""
    order = np.random.default_rng(SEED).permutation(graph.n_edges)
    mask = np.zeros(graph.n_edges, dtype=bool)
    mask[order] = union_edges(make_sets(graph.n_nodes), graph.tail[order], graph.head[order])
    rest = order[~mask[order]]
    some = rest[: n_edges - int(mask.sum())]
    weight = graph.weight.copy()
    weight[some] *= rest.size / max(some.size, 1)
    mask[some] = True
    return EdgeList.from_validated(graph.tail[mask], graph.head[mask], weight[mask], graph.n_nodes)


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
    shown = [
        f"{key} {value if isinstance(value, str) else format(value, '.4g')}"
        for key, value in row.items()
        if key != "graph"
    ]
    print(f"{row['graph']:<18}" + "  ".join(shown), flush=True)


if __name__ == "__main__":
    main()
