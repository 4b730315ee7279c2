"""Clusters of a sparsifier beside those of the graph, and beside random edges of the same number.

    python -m benchmarks.bench_clusters [--quick] [--json] [--only NAME]

Louvain's method (networkx) finds clusters in the graph, in its sparsifier and in as many edges
drawn at random. Figures are the adjusted mutual information (AMI) with the clusters of the whole
graph: 1 is the same clusters, 0 is chance. `again` is Louvain on the whole graph with other seeds:
no method can be expected to do better than the clusters agree with themselves. Means over seeds. A
budget that cannot hold the nodes together is a dash.
"""

import argparse
import json
import statistics

import networkx as nx
import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from benchmarks import graphs as shared
from benchmarks.real_data import add_data_option, data_file, load_present
from graphsqueak import EdgeList, InputError, sources, sparsify
from graphsqueak.analysis.community import find_labels

SEED = 430_719
KEEPS = (0.5, 0.2, 0.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, the small graphs")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_data_option(parser)
    parser.add_argument("--only", action="append", help="a graph by its name; may be repeated")
    arguments = parser.parse_args()
    names = arguments.only or [name for name in GRAPHS if not arguments.quick or name in QUICK]
    rows = []
    for name, graph in load_present(GRAPHS, names):
        for row in compare(graph, n_seeds=1 if arguments.quick else 3):
            rows.append({"graph": name, "nodes": graph.n_nodes, "edges": graph.n_edges} | row)
            if not arguments.json:
                print_row(rows[-1], header=len(rows) == 1)
    if arguments.json:
        print(json.dumps({"benchmark": "clusters", "rows": rows}))


def compare(graph, *, n_seeds):
    """A row for every share of the edges."""
    whole = find_labels(graph, method="louvain", seed=SEED)
    seeds = range(SEED + 1, SEED + 1 + n_seeds)
    again = mean(agreement(whole, graph, seed) for seed in seeds)
    for keep in KEEPS:
        row = {"keep": keep, "again": again, "sparsifier": None, "random": None}
        try:
            kept = [sparsify(graph, keep=keep, random_state=seed) for seed in seeds]
        except InputError:  # not enough edges to hold the nodes together
            yield row
            continue
        row["sparsifier"] = mean(map(agreement, [whole] * n_seeds, kept, seeds))
        drawn = [
            sparsify(graph, n_edges=some.n_edges, method="uniform", random_state=seed)
            for some, seed in zip(kept, seeds, strict=True)
        ]
        row["random"] = mean(map(agreement, [whole] * n_seeds, drawn, seeds))
        yield row


def agreement(whole, graph, seed):
    return adjusted_mutual_info_score(whole, find_labels(graph, method="louvain", seed=seed))


def mean(values):
    return statistics.fmean(values)


def dense_blocks():
    return sources.block_model(1000, 100_000, n_blocks=10, random_state=SEED).to_edge_list()


def uneven_clusters():
    """Forty clusters of 20 to 200 nodes, 11 edges a node, three of four inside a cluster."""
    sizes = np.geomspace(20, 200, 40).astype(int).tolist()
    made = nx.random_partition_graph(sizes, 0.15, 0.002, seed=SEED)
    return EdgeList.from_networkx(nx.Graph(made.edges()))


def friends():
    path = data_file("facebook_combined", "facebook_combined.txt")
    return sources.read_edges(path, header=True).to_edge_list()


def authors():
    return sources.read_edges(data_file("ca-GrQc", "CA-GrQc.txt")).to_edge_list()


GRAPHS = {
    "block model": dense_blocks,
    "uneven clusters": uneven_clusters,
    "facebook_combined": friends,
    "ca-GrQc": authors,
    "ca-AstroPh": shared.GRAPHS["ca-AstroPh"],
}
QUICK = ("block model", "uneven clusters", "ca-GrQc")


def print_row(row, *, header):
    if header:
        print(
            f"{'graph':<18} {'edges a node':>12} {'keep':>5} {'again':>6} {'ours':>6} {'random':>6}"
        )
    shown = [row["again"], row["sparsifier"], row["random"]]
    cells = " ".join(f"{'-' if value is None else format(value, '.2f'):>6}" for value in shown)
    print(f"{row['graph']:<18} {row['edges'] / row['nodes']:>12.1f} {row['keep']:>5} {cells}")


if __name__ == "__main__":
    main()
