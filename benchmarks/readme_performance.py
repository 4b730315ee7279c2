"""Measure processor time and peak memory of four tasks: the table of performance in README.md.

    python benchmarks/readme_performance.py [--task NAME] [--edges N] [--rounds N]

Each task runs in a process of its own, after a small run that loads compiled code, and so does its
baseline: DuckDB's reservoir sample for `shrink`, scikit-network for `label` and networkx for
`resistance`. A baseline that is not installed is left out. Files are made from a fixed seed before
the clock starts. Times are processor time of all threads, the least of the rounds.
"""

import argparse
import importlib.util
import multiprocessing
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import graphsqueak as gs

SEED = 7
EDGES_PER_NODE = 200
EDGES_KEPT_PER_NODE = 8
N_CLASSES = 4
LABELS_PER_CLASS = 25


def main():
    """Print a line per task and contender."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=TASKS, action="append", help="default: all")
    parser.add_argument("--edges", type=int, default=20_000_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        large = write_graph(path / "large", arguments.edges)
        small = write_graph(path / "small", 200_000)
        for task in arguments.task or TASKS:
            for function in TASKS[task]:
                needed = BASELINES.get(function.__name__)
                if needed is not None and importlib.util.find_spec(needed) is None:
                    print(f"{task:12} {needed} is not installed")
                    continue
                runs = [in_own_process(function, small, large) for _ in range(arguments.rounds)]
                seconds = min(seconds for seconds, _ in runs)
                memory = min(memory for _, memory in runs)
                print(f"{task:12} {function.__name__:24} {seconds:8.1f} s {memory:8.2f} GB")


def write_graph(folder, n_edges):
    """Write a graph of four communities, a sparsifier of it and labels; return the folder."""
    folder.mkdir()
    n_nodes = n_edges // EDGES_PER_NODE
    graph = gs.sources.block_model(n_nodes, n_edges, n_blocks=N_CLASSES, random_state=SEED)
    gs.write_edges(graph, folder / "edges.tsv")
    n_kept = EDGES_KEPT_PER_NODE * n_nodes
    sparsifier = gs.sparsify(graph, n_edges=n_kept, random_state=SEED)
    gs.write_edges(sparsifier, folder / "sparse.parquet")
    return folder


def in_own_process(function, small, large):
    """Return seconds of processor time and peak memory in GB of function(large)."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(measure, function, small, large).result()


def measure(function, small, large):
    """Run on a small graph first, which loads compiled code, then on the large graph."""
    function(small)
    start = time.process_time()
    function(large)
    seconds = time.process_time() - start
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return seconds, kilobytes * 1024 / 1e9


def count_nodes(folder):
    """Return the number of nodes of a graph that `write_graph` wrote."""
    return gs.read_edges(folder / "sparse.parquet").to_edge_list().n_nodes


# Shrink a text file of edges, and write the result.


def shrink(folder):
    edges = gs.read_edges(folder / "edges.tsv")
    n_kept = EDGES_KEPT_PER_NODE * count_nodes(folder)
    sparsifier = gs.sparsify(edges, n_edges=n_kept, random_state=SEED)
    gs.write_edges(sparsifier, folder / "out.tsv")


def duckdb_reservoir(folder):
    import duckdb

    n_kept = EDGES_KEPT_PER_NODE * count_nodes(folder)
    query = f"SELECT * FROM '{folder}/edges.tsv' USING SAMPLE reservoir({n_kept} ROWS)"
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{folder}/out.tsv' (DELIMITER '\t')")


# Bound the error of the sparsifier with one pass over the file.


def certify(folder):
    gs.certify(
        gs.read_edges(folder / "edges.tsv"),
        gs.read_edges(folder / "sparse.parquet"),
        random_state=SEED,
    )


# Label all nodes from 25 per class. Node i is in class i mod 4.


def known_labels(folder):
    n_nodes = count_nodes(folder)
    label = np.full(n_nodes, -1)
    chosen = np.random.default_rng(SEED).choice(
        n_nodes, size=N_CLASSES * LABELS_PER_CLASS, replace=False
    )
    label[chosen] = chosen % N_CLASSES
    return label


def label(folder):
    known = known_labels(folder)
    edges = gs.read_edges(folder / "edges.tsv", ids="integer")
    classifier = gs.SparseHFSClassifier(n_edges=EDGES_KEPT_PER_NODE * known.size, random_state=SEED)
    return classifier.fit(edges, dict(enumerate(known))).transduction_


def scikit_network_pagerank(folder):
    import polars as pl
    import scipy.sparse
    from sknetwork.classification import PageRankClassifier

    known = known_labels(folder)
    frame = pl.read_csv(folder / "edges.tsv", separator="\t", comment_prefix="#")
    tail = frame.to_series(0).to_numpy()
    head = frame.to_series(1).to_numpy()
    ones = np.ones(tail.size)
    adjacency = scipy.sparse.coo_array((ones, (tail, head)), shape=(known.size, known.size))
    adjacency = scipy.sparse.csr_matrix(adjacency + adjacency.T)
    return PageRankClassifier().fit_predict(adjacency, known)


# Effective resistances of all edges of a social graph in memory: 2,000 nodes, 25,091 edges.


def social_graph(folder):
    n_people = 200 if folder.name == "small" else 2_000
    return gs.datasets.social_graph(n_people)


def resistance(folder):
    gs.effective_resistance(social_graph(folder), random_state=SEED)


def networkx_resistance(folder):
    import networkx as nx

    graph = social_graph(folder).to_networkx()
    nx.resistance_distance(graph, weight="weight", invert_weight=False)


TASKS = {
    "shrink": (shrink, duckdb_reservoir),
    "certify": (certify,),
    "label": (label, scikit_network_pagerank),
    "resistance": (resistance, networkx_resistance),
}
BASELINES = {
    "duckdb_reservoir": "duckdb",
    "scikit_network_pagerank": "sknetwork",
    "networkx_resistance": "networkx",
}

if __name__ == "__main__":
    main()
