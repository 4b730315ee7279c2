"""Effective resistances of all edges: seconds and error, beside networkit and networkx.

    python benchmarks/bench_resistance.py [--quick] [--json]

The error is the mean of |r / exact - 1|, over all edges where one dense inverse fits and over 300
random edges (one exact solve each) elsewhere. Foster's sum is |sum of w r / (n - components) - 1|.
A peer that is not installed, or that a graph is too large for, is left out.
"""

import argparse
import json
import time
from importlib.util import find_spec

import numpy as np
from real_data import add_data_option
from zoo import ZOO, load

from graphsqueak import effective_resistance, sources

SEED = 314_159
DENSE_NODES = 5000
PEER_EDGES = 120_000
NETWORKX_NODES = 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three graphs, under 60 s")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_data_option(parser)
    arguments = parser.parse_args()
    effective_resistance(sources.grid(40, 40), random_state=SEED)  # compile
    effective_resistance(sources.grid(20, 20), random_state=SEED)
    small = {
        "Erdos-Renyi 1000 x 5e4": sources.erdos_renyi(1000, 50_000, random_state=SEED),
        "Erdos-Renyi 2000 x 1e5": sources.erdos_renyi(2000, 100_000, random_state=SEED),
        "grid 60x60": sources.grid(60, 60),
    }
    graphs = [(name, source.to_edge_list()) for name, source in small.items()]
    graphs += load(["ca-AstroPh"] if arguments.quick else [n for n in ZOO if "star" not in n])
    rows = []
    for name, graph in graphs[1:] if arguments.quick else graphs:
        rows.append(measure(name, graph.simplified()))
        if not arguments.json:
            print_row(rows[-1], header=len(rows) == 1)
    if arguments.json:
        print(json.dumps({"benchmark": "resistance", "rows": rows}))


def measure(name, graph):
    """One row: our default call, and every peer that fits."""
    exact, sample = exact_values(graph)
    row = {"graph": name, "nodes": graph.n_nodes, "edges": graph.n_edges}
    seconds, r = timed(effective_resistance, graph, method="sketch", random_state=SEED)
    row |= {"seconds": seconds, "error": error(r[sample], exact)}
    n_independent = graph.n_nodes - graph.components().max() - 1
    row["foster"] = abs(graph.weight @ r / n_independent - 1)
    for peer, (fits, run) in PEERS.items():
        if fits(graph) and find_spec(peer):
            peer_seconds, r = timed(run, graph)
            row |= {
                f"{peer}_seconds": peer_seconds,
                f"{peer}_error": error(r[sample], exact),
                f"{peer}_speedup": peer_seconds / seconds,
            }
    return row


def exact_values(graph):
    if graph.n_nodes <= DENSE_NODES:
        sample = np.arange(graph.n_edges)
        return effective_resistance(graph, method="exact"), sample
    sample = np.random.default_rng(SEED).choice(graph.n_edges, 300, replace=False)
    pairs = np.column_stack([graph.tail[sample], graph.head[sample]])
    return effective_resistance(graph, pairs, method="exact"), sample


def networkit_approximation(graph):
    """Sketched spanning edge centrality at tolerance 0.1, its fastest method."""
    import networkit as nk

    g = nk.Graph(graph.n_nodes, weighted=True)
    for u, v, w in zip(graph.tail, graph.head, graph.weight, strict=True):
        g.addEdge(int(u), int(v), float(w))
    g.indexEdges()
    centrality = nk.centrality.SpanningEdgeCentrality(g, 0.1)
    centrality.runParallelApproximation()
    scores = np.array(centrality.scores())
    return np.array([scores[g.edgeId(u, v)] for u, v in zip(graph.tail, graph.head, strict=True)])


def networkx_exact(graph):
    import networkx as nx

    distance = nx.resistance_distance(graph.to_networkx(), weight="weight", invert_weight=False)
    ends = zip(graph.tail.tolist(), graph.head.tolist(), strict=True)
    return np.array([distance[u][v] for u, v in ends])


PEERS = {
    "networkit": (lambda graph: graph.n_edges <= PEER_EDGES, networkit_approximation),
    "networkx": (lambda graph: graph.n_nodes <= NETWORKX_NODES, networkx_exact),
}


def timed(function, *arguments, **options):
    began = time.perf_counter()
    result = function(*arguments, **options)
    return time.perf_counter() - began, result


def error(r, exact):
    return float(np.abs(r / exact - 1).mean())


def print_row(row, *, header):
    if header:
        print(f"{'graph':<24}{'edges':>9}{'seconds':>9}{'error':>9}{'foster':>9}  peers")
    peers = "  ".join(
        f"{peer} {row[f'{peer}_seconds']:.2f} s, error {row[f'{peer}_error']:.4f}, "
        f"ours {row[f'{peer}_speedup']:.0f}x faster"
        for peer in PEERS
        if f"{peer}_seconds" in row
    )
    print(
        f"{row['graph']:<24}{row['edges']:>9}{row['seconds']:>9.3f}{row['error']:>9.4f}"
        f"{row['foster']:>9.0e}  {peers}",
        flush=True,
    )


if __name__ == "__main__":
    main()
