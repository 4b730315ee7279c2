"""networkx's functions by our backend and by networkx itself, on one graph in one run.

    python benchmarks/bench_networkx.py [--nodes 2000] [--edges 50000] [--quick]

The first call converts the graph; networkx keeps what was converted for the next. Both times are
given, in seconds of one processor. Answers are compared: the largest relative difference is
printed. For Fiedler vectors networkx runs its Lanczos method: its default was stopped after some
minutes on this graph, and its other methods were not tried.
"""

import argparse
import time
import warnings

import networkx as nx
import numpy as np
from networkx.algorithms import node_classification
from threadpoolctl import threadpool_limits

SEED = 20_577


def make_graph(n_nodes, n_edges):
    """A random graph in two blocks of which a tenth of the edges lies between, with labels."""
    rng = np.random.default_rng(SEED)
    G = nx.Graph()
    G.add_nodes_from(range(n_nodes))
    G.add_edges_from((i, i + 1) for i in range(n_nodes - 1))
    half = n_nodes // 2
    while G.number_of_edges() < n_edges:
        u, v = rng.integers(half, size=2)
        side = rng.integers(2)
        other = side if rng.random() < 0.9 else 1 - side
        if u != v:
            G.add_edge(int(u + side * half), int(v + other * half))
    for node in rng.choice(n_nodes, 40, replace=False).tolist():
        G.nodes[node]["label"] = "low" if node < half else "high"
    return G


STUDIES = {  # name: (function, arguments, wanted ratio)
    "resistance_distance, all pairs": (nx.resistance_distance, {}, 50),
    "resistance_distance, one to all": (nx.resistance_distance, {"nodeA": 0}, None),
    "resistance_distance, a pair": (nx.resistance_distance, {"nodeA": 0, "nodeB": 7}, None),
    "effective_graph_resistance": (nx.effective_graph_resistance, {}, None),
    "kemeny_constant": (nx.kemeny_constant, {}, None),
    "current_flow_closeness": (nx.current_flow_closeness_centrality, {}, 50),
    "harmonic_function": (node_classification.harmonic_function, {}, 20),
    "local_and_global_consistency": (node_classification.local_and_global_consistency, {}, None),
    "fiedler_vector": (nx.fiedler_vector, {"seed": 7, "method": "lanczos"}, 5),
    "algebraic_connectivity": (nx.algebraic_connectivity, {"seed": 7, "method": "lanczos"}, None),
    "number_of_spanning_trees": (nx.number_of_spanning_trees, {}, None),
    "laplacian_spectrum": (nx.laplacian_spectrum, {}, None),
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--nodes", type=int, default=2000)
    arguments.add_argument("--edges", type=int, default=50_000)
    arguments.add_argument("--quick", action="store_true", help="a tenth of nodes and edges")
    given = arguments.parse_args()
    shrink = 10 if given.quick else 1
    G = make_graph(given.nodes // shrink, given.edges // shrink)
    nx.config.warnings_to_ignore.add("cache")
    warm = make_graph(400, 3000)
    print(f"{len(G):,} nodes, {G.number_of_edges():,} edges\n")
    head = f"{'':34}{'networkx':>10}{'ours':>10}{'again':>10}{'ratio':>8}{'again':>8}"
    print(f"{head}{'wanted':>8}{'differ':>10}")
    for name, (function, settings, wanted) in STUDIES.items():
        function(warm, **settings, backend="graphsqueak")  # compiles
        G.__networkx_cache__.clear()
        first, ours = timed(function, G, settings, "graphsqueak")
        again, _ = timed(function, G, settings, "graphsqueak")
        theirs, expected = timed(function, G, settings, "networkx")
        difference = compare(ours, expected)
        print(
            f"{name:34}{theirs:9.3f}s{first:9.3f}s{again:9.3f}s{theirs / first:8.1f}"
            f"{theirs / again:8.1f}{wanted or '':>8}{difference:10.1e}",
            flush=True,
        )


def timed(function, G, settings, backend):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        with threadpool_limits(1):
            answer = function(G, **settings, backend=backend)
        return time.process_time() - began, answer


def compare(ours, expected):
    """The largest relative difference; the share of other labels; vectors up to their sign."""
    if isinstance(expected, list):
        return float(np.mean([a != b for a, b in zip(ours, expected, strict=True)]))
    if isinstance(expected, dict) and isinstance(next(iter(expected.values())), dict):
        ours, expected = (
            np.array([[row[v] for v in table] for row in table.values()])
            for table in (ours, expected)
        )
    elif isinstance(expected, dict):
        ours, expected = (np.array([table[v] for v in expected]) for table in (ours, expected))
    ours, expected = np.atleast_1d(ours), np.atleast_1d(expected)
    if not np.isfinite(expected).all():
        return float(not np.array_equal(ours, expected))
    scale = np.abs(expected).max()
    return float(min(np.abs(ours - expected).max(), np.abs(ours + expected).max()) / scale)


if __name__ == "__main__":
    main()
