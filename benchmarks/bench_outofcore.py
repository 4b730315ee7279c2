"""Exact answers about a graph on disk: passes, memory, time per pass, accuracy.

    python benchmarks/bench_outofcore.py [--quick] [--json]

A random graph of 400 edges a node in a Parquet file, and a sparsifier of 10 edges a node.
*sparsify*: the sparsifier alone, whose memory the others are compared with, and one bare pass that
multiplies the Laplacian by 16 columns. *solve*: 16 right-hand sides to 1e-6. *resistances*: of
1,000 random pairs to 1 %, a sample of them compared with solves to 1e-9. *eigenvectors*: the ten
smallest. Every case runs in a process of its own; the graph is made from a fixed seed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from graphsqueak import (
    StreamedSolver,
    effective_resistance,
    read_edges,
    smallest_eigenpairs,
    sources,
    sparsify,
    write_edges,
)
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.system.memory import peak_rss

SEED = 161_803
COLUMNS = 16
PAIRS = 1000
CHECKED = 16


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the nodes")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(CASES[arguments.case[0]](read_edges(arguments.case[1]))))
        return
    n_nodes = 10_000 if arguments.quick else 100_000
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.parquet"
        write_edges(sources.erdos_renyi(n_nodes, 400 * n_nodes, random_state=SEED), path)
        for name in CASES:
            command = [sys.executable, __file__, "--case", name, str(path)]
            done = subprocess.run(command, capture_output=True, check=True, text=True)
            rows[name] = json.loads(done.stdout.splitlines()[-1])
            if not arguments.json:
                figures = (f"{key} {value:,.4g}" for key, value in rows[name].items())
                print(f"{name:<14}", "  ".join(figures), flush=True)
    shares = {
        "memory_over_sparsifier": rows["solve"]["peak_MiB"] / rows["sparsify"]["peak_MiB"],
        "step_over_product": rows["solve"]["seconds_per_pass"]
        / rows["sparsify"]["product_seconds"],
    }
    if arguments.json:
        print(json.dumps({"benchmark": "outofcore", **rows, **shares}))
        return
    for name, value in shares.items():
        print(f"{name:<28} {value:.2f}")


def kept_of(edges):
    """The sparsifier of 10 edges a node; the number of nodes is not known beforehand."""
    return sparsify(edges, keep=1 / 40, random_state=SEED)


def sparsifier_alone(edges):
    compile_all()
    began = time.perf_counter()
    kept = kept_of(edges)
    seconds, peak = time.perf_counter() - began, peak_rss()
    block = np.random.default_rng(SEED).standard_normal((kept.n_nodes, COLUMNS))
    laplacian = StreamedLaplacian(edges, kept)
    began = time.perf_counter()
    laplacian.multiply(block)
    return {
        "edges": laplacian.n_edges,
        "kept": kept.n_edges,
        "seconds": seconds,
        "product_seconds": time.perf_counter() - began,
        "peak_MiB": peak / 2**20,
    }


def solve(edges):
    compile_all()
    kept = kept_of(edges)
    block = np.random.default_rng(SEED).standard_normal((kept.n_nodes, COLUMNS))
    began = time.perf_counter()
    solver = StreamedSolver(edges, sparsifier=kept, tol=1e-6, random_state=SEED)
    solver.solve(block - block.mean(axis=0))
    seconds = time.perf_counter() - began
    return {
        "passes": 1 + solver.n_passes_,
        "residual": solver.residual_,
        "seconds": seconds,
        "seconds_per_pass": seconds / solver.n_passes_,
        "peak_MiB": peak_rss() / 2**20,
    }


def resistances(edges):
    compile_all()
    kept = kept_of(edges)
    rng = np.random.default_rng(SEED)
    first = rng.integers(kept.n_nodes, size=PAIRS)
    pairs = np.column_stack([first, (first + rng.integers(1, kept.n_nodes, PAIRS)) % kept.n_nodes])
    began = time.perf_counter()
    counted = Counted(edges)
    found = effective_resistance(counted, pairs, rtol=0.01, sparsifier=kept, random_state=SEED)
    seconds, peak = time.perf_counter() - began, peak_rss()
    known = pairs[:CHECKED]
    truth = effective_resistance(edges, known, rtol=1e-9, sparsifier=kept, random_state=SEED)
    return {
        "passes": counted.n_begun,
        "worst_error": float(np.abs(found[:CHECKED] / truth - 1).max()),
        "seconds": seconds,
        "peak_MiB": peak / 2**20,
    }


def eigenvectors(edges):
    compile_all()
    kept, counted = kept_of(edges), Counted(edges)
    began = time.perf_counter()
    values, _ = smallest_eigenpairs(counted, 10, sparsifier=kept, random_state=SEED)
    return {
        "passes": counted.n_begun,
        "smallest": float(values[0]),
        "seconds": time.perf_counter() - began,
        "peak_MiB": peak_rss() / 2**20,
    }


class Counted(sources.EdgeSource):
    """A source that counts how often it is read."""

    def __init__(self, edges):
        super().__init__()
        self.edges, self.n_begun = edges, 0

    def _batches(self):
        self.n_begun += 1
        yield from self.edges.batches()


def compile_all():
    """What is compiled once on a machine is not measured."""
    graph = sources.erdos_renyi(1200, 60_000, random_state=SEED)
    solver = StreamedSolver(graph, keep=0.2, random_state=SEED)
    block = np.random.default_rng(SEED).standard_normal((1200, COLUMNS))
    solver.solve(solver.precondition(block))


CASES = {
    "sparsify": sparsifier_alone,
    "solve": solve,
    "resistances": resistances,
    "eigenvectors": eigenvectors,
}

if __name__ == "__main__":
    main()
