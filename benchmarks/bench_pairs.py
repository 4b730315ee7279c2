"""The graph of shared attributes: cost per pair beside the cost per edge of an ordinary file.

    python benchmarks/bench_pairs.py [--quick] [--json]

A Parquet table of ten million pairs of a million entities, the k-th attribute drawn with a chance
of 1 / k: a graph of more than 10^11 edges, which is sparsified to 8 edges an entity, certified to
5 % and labeled. Beside it, an ordinary file: random edges on as many nodes, as many rows of that
format and kind of ids, sparsified to as many; and one of four times the rows, of which an edge is
cheaper, since most are dropped as they come. The costs of these three are processor time of one
thread, reading included. Each case has a process of its own; tables are made from a fixed seed.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from graphsqueak import (
    SparseHFSClassifier,
    certify,
    read_edges,
    read_projection,
    sources,
    sparsify,
    write_edges,
)
from graphsqueak.system.memory import peak_rss

SEED = 577_215
PER_NODE = 8


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of everything")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(CASES[arguments.case[0]](Path(arguments.case[1]))))
        return
    n_nodes = 50_000 if arguments.quick else 1_000_000
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder), n_nodes, 10 * n_nodes)
        for name in CASES:
            command = [sys.executable, __file__, "--case", name, folder]
            threads = {"NUMBA_NUM_THREADS": "1"} if name in COMPARED else {}
            done = subprocess.run(
                command, capture_output=True, check=True, text=True, env=os.environ | threads
            )
            rows[name] = json.loads(done.stdout.splitlines()[-1])
            if not arguments.json:
                figures = (f"{key} {value:,.4g}" for key, value in rows[name].items())
                print(f"{name:<10}", "  ".join(figures), flush=True)
    cost = rows["pairs"]["us_per_pair"]
    ratios = {name: cost / rows[name]["us_per_edge"] for name in ("edges", "dense")}
    if arguments.json:
        print(json.dumps({"benchmark": "pairs", **rows, "pair_over_edge": ratios}))
    else:
        print(
            f"a pair costs {ratios['edges']:.2f} times an edge of a file of as many rows, "
            f"{ratios['dense']:.2f} times one of four times the rows"
        )


def write_tables(folder, n_nodes, n_pairs):
    rng = np.random.default_rng(SEED)
    entity = rng.integers(n_nodes, size=n_pairs)
    attribute = np.floor((0.4 * n_nodes) ** rng.random(n_pairs)).astype(np.int64)
    pl.DataFrame({"entity": entity, "attribute": attribute}).write_parquet(folder / "pairs.parquet")
    for name, times in (("edges", 1), ("dense", 4)):
        edges = sources.erdos_renyi(n_nodes, times * n_pairs, random_state=SEED)
        write_edges(edges, folder / f"{name}.parquet")


def of_edges(folder, name="edges"):
    warm_up()
    n_nodes = sources.info(read_edges(folder / f"{name}.parquet")).nodes
    began = time.process_time()
    source = read_edges(folder / f"{name}.parquet")
    sparsify(source, n_edges=PER_NODE * n_nodes, random_state=SEED)
    seconds = time.process_time() - began
    return {
        "seconds": seconds,
        "us_per_edge": 1e6 * seconds / source.n_edges_read,
        "peak_MiB": peak_rss() / 2**20,
    }


def of_many_edges(folder):
    return of_edges(folder, "dense")


def of_pairs(folder):
    warm_up()
    n_nodes = pairs_nodes(read_projection(folder / "pairs.parquet"))
    began = time.process_time()
    pairs = read_projection(folder / "pairs.parquet", random_state=SEED)
    sparsify(pairs, n_edges=PER_NODE * n_nodes, random_state=SEED)
    seconds = time.process_time() - began
    return {
        "pairs": pairs.n_pairs,
        "projected_edges": pairs.n_projected_edges,
        "seconds": seconds,
        "us_per_pair": 1e6 * seconds / pairs.n_pairs,
        "peak_MiB": peak_rss() / 2**20,
    }


def certified(folder):
    pairs = read_projection(folder / "pairs.parquet", random_state=SEED)
    small = sparsify(pairs, n_edges=PER_NODE * pairs_nodes(pairs), random_state=SEED)
    began = time.process_time()
    found = certify(pairs, small, rtol=0.05, random_state=SEED)
    return {
        "epsilon_lower": found.epsilon_lower,
        "epsilon_upper": found.epsilon_upper,
        "passes": found.passes,
        "seconds": time.process_time() - began,
        "peak_MiB": peak_rss() / 2**20,
    }


def labeled(folder):
    pairs = read_projection(folder / "pairs.parquet", random_state=SEED)
    y = {int(name): number % 2 for number, name in enumerate(pairs_ids(pairs)[:100])}
    began = time.process_time()
    model = SparseHFSClassifier(n_edges=PER_NODE * pairs_nodes(pairs), random_state=SEED)
    model.fit(pairs, y)
    return {
        "reached": int(np.count_nonzero(model.has_label_in_component_)),
        "seconds": time.process_time() - began,
        "peak_MiB": peak_rss() / 2**20,
    }


def pairs_nodes(pairs):
    return pairs.describe()["entities"]


def pairs_ids(pairs):
    pairs.describe()
    return pairs.ids


def warm_up():
    """Compile first."""
    graph = sources.erdos_renyi(5000, 600_000, random_state=1).to_edge_list()
    sparsify(graph, n_edges=40_000, random_state=1)
    table = "".join(f"{entity},{entity % 7}\n" for entity in range(300)).encode()
    sparsify(read_projection(io.BytesIO(table)), n_edges=1200, random_state=1)


COMPARED = {"edges": of_edges, "dense": of_many_edges, "pairs": of_pairs}
CASES = COMPARED | {"certified": certified, "labeled": labeled}

if __name__ == "__main__":
    main()
