"""Effective resistances: time and mean relative error."""

from functools import partial

import numpy as np

from benchmarks import graphs
from benchmarks.cases.solve import scipy_splu
from benchmarks.runner import OURS, Run, case
from graphsqueak import effective_resistance, sources

SEED = 314_159
# Exact values of all edges come from a dense inverse up to this number of nodes; beyond, 300 edges
# are compared with solves.
MAX_DENSE_NODES = 5000
N_CHECKED_EDGES = 300
N_PAIRS = 1000
# Larger graphs take networkit and networkx minutes.
MAX_NETWORKIT_EDGES = 120_000
MAX_NETWORKX_NODES = 1000
SMALL = {
    "Erdos-Renyi 1000 x 5e4": lambda: sources.erdos_renyi(1000, 50_000, random_state=SEED),
    "Erdos-Renyi 2000 x 1e5": lambda: sources.erdos_renyi(2000, 100_000, random_state=SEED),
    "grid 60x60": lambda: sources.grid(60, 60),
}
LARGE = (
    "grid 500x500",
    "grid 300x300 rough",
    "grid 64^3",
    "Delaunay 3e5",
    "Erdos-Renyi 1e5 x 1e6",
    "Chung-Lu 1e5 x 2e6",
    "R-MAT 2^16",
    "Gaussian 50-NN 4e4",
    "4elt",
    "wing",
    "ca-AstroPh",
)


@case(
    "resistance",
    short=("Erdos-Renyi 2000 x 1e5", "grid 60x60"),
    full=(*SMALL, *LARGE),
)
def all_edges(run: Run, name: str) -> None:
    """Approximate the effective resistances of all edges."""
    graph = _load(name)
    sample = np.arange(graph.n_edges)
    if graph.n_nodes > MAX_DENSE_NODES:
        rng = np.random.default_rng(run.seed)
        sample = rng.choice(graph.n_edges, min(N_CHECKED_EDGES, graph.n_edges), replace=False)
    pairs = np.column_stack([graph.tail[sample], graph.head[sample]])
    exact = effective_resistance(graph, pairs, method="exact")
    contenders = {
        OURS: partial(effective_resistance, graph, method="sketch", random_state=run.seed)
    }
    if graph.n_edges <= MAX_NETWORKIT_EDGES:
        contenders["networkit"] = partial(_networkit_sketch, graph)
    if graph.n_nodes <= MAX_NETWORKX_NODES:
        contenders["networkx"] = partial(_networkx_exact, graph)
    for contender, values in run.time(contenders).items():
        _record_error(run, contender, values[sample], exact)


@case(
    "resistance",
    short=("Erdos-Renyi 2000 x 1e5", "grid 60x60"),
    full=(*SMALL, *LARGE),
)
def random_pairs(run: Run, name: str) -> None:
    """Approximate the effective resistances of 1,000 random pairs of nodes to 1 %."""
    graph = _load(name)
    rng = np.random.default_rng(run.seed)
    first = rng.integers(graph.n_nodes, size=N_PAIRS)
    second = (first + rng.integers(1, graph.n_nodes, size=N_PAIRS)) % graph.n_nodes
    component = graph.components()
    is_connected = component[first] == component[second]
    pairs = np.column_stack([first, second])[is_connected]
    exact = effective_resistance(graph, pairs, method="exact")
    contenders = {
        OURS: partial(effective_resistance, graph, pairs, rtol=0.01, random_state=run.seed)
    }
    mean_degree = 2 * graph.n_edges / graph.n_nodes
    if graph.n_nodes <= MAX_DENSE_NODES:
        contenders["numpy inv"] = partial(_numpy_inverse, graph, pairs)
    if graph.n_nodes <= MAX_DENSE_NODES or mean_degree < 7:
        contenders["scipy splu"] = partial(_scipy_solves, graph, pairs)
    if graph.n_nodes <= MAX_NETWORKX_NODES:
        contenders["networkx"] = partial(_networkx_pairs, graph, pairs)
    for contender, values in run.time(contenders).items():
        _record_error(run, contender, values, exact)


def _load(name):
    if name in SMALL:
        return SMALL[name]().to_edge_list().simplified()
    return graphs.GRAPHS[name]().simplified()


def _record_error(run, contender, values, exact):
    error = float(np.abs(values / exact - 1).mean())
    run.record(contender, "mean relative error", 100 * error, unit="%")


def _networkit_sketch(graph):
    """Approximate spanning edge centralities at tolerance 0.1, networkit's fastest method."""
    import networkit as nk

    g = nk.Graph(graph.n_nodes, weighted=True)
    for u, v, w in zip(graph.tail, graph.head, graph.weight, strict=True):
        g.addEdge(int(u), int(v), float(w))
    g.indexEdges()
    centrality = nk.centrality.SpanningEdgeCentrality(g, 0.1)
    centrality.runParallelApproximation()
    scores = np.array(centrality.scores())
    ids = [g.edgeId(u, v) for u, v in zip(graph.tail, graph.head, strict=True)]
    return scores[ids]


def _networkx_exact(graph):
    return _networkx_pairs(graph, np.column_stack([graph.tail, graph.head]))


def _networkx_pairs(graph, pairs):
    import networkx as nx

    distance = nx.resistance_distance(graph.to_networkx(), weight="weight", invert_weight=False)
    return np.array([distance[u][v] for u, v in pairs.tolist()])


def _numpy_inverse(graph, pairs):
    component = graph.components()
    # The projection on the null space makes the Laplacian invertible, and cancels in a resistance.
    is_same = component[:, None] == component
    inverse = np.linalg.inv(graph.laplacian().toarray() + is_same / is_same.sum(axis=1))
    first, second = pairs.T
    return inverse[first, first] + inverse[second, second] - 2 * inverse[first, second]


def _scipy_solves(graph, pairs):
    solve = scipy_splu(graph.laplacian())
    first, second = pairs.T
    values = np.empty(len(pairs))
    for start in range(0, len(pairs), 16):
        block = slice(start, start + 16)
        u = first[block]
        v = second[block]
        columns = np.arange(u.size)
        b = np.zeros((graph.n_nodes, u.size))
        b[u, columns] = 1.0
        b[v, columns] = -1.0
        x = solve(b)
        values[block] = x[u, columns] - x[v, columns]
    return values
