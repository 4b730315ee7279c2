"""Graphs as they come: many nodes, skewed degrees, hard geometry.

    python benchmarks/bench_scale.py [--quick] [--json]

*rmat*: R-MAT graphs of 27 edges an id (uneven degrees, ids in any order) from Parquet, a quarter
of the edges kept, beside pyarrow scanning the same file: seconds, nanoseconds an edge, peak memory,
and how many bytes that is for a kept edge, beyond 350 MiB and 64 bytes a node.
*ring*: every node joined to some of the next few hundred, from text, 8 edges a node kept, beside
polars scanning the same file.
*dense*: a random graph of 400 edges a node from Parquet, 10 edges a node kept.

Every case runs in a process of its own; graphs are made from fixed seeds. A scan is the best of
three after a first one, and so are our runs of the graphs that are compared with scans, *ring* and
*dense*; the first run, which loads compiled code, is told as well. Memory is that of the first run.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numba
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from graphsqueak import AccuracyWarning, StreamSparsifier, read_edges, sources
from graphsqueak.randomness import uniform
from graphsqueak.sparsifiers.run import run_stream
from graphsqueak.system.memory import peak_rss

SEED = 160_217
BASE = 350 << 20  # bytes of Python, its libraries and a batch
RMAT = (0.57, 0.19, 0.19)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller graphs, under 90 s")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(measure(arguments.case[0], int(arguments.case[1]))))
        return
    scales = (14, 16, 18) if arguments.quick else (18, 20, 22)
    cases = [("rmat", scale) for scale in scales]
    cases += [("ring", 10**6 if arguments.quick else 10**7)]
    cases += [("dense", 10_000 if arguments.quick else 100_000)]
    rows = []
    for name, size in cases:
        command = [sys.executable, __file__, "--case", name, str(size)]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        if not arguments.json:
            print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    if arguments.json:
        print(json.dumps({"benchmark": "scale", "rows": rows}))


def measure(name, size):
    """One row: the graph is written to a file, scanned by a peer, and sparsified."""
    warnings.simplefilter("ignore", AccuracyWarning)
    warm_up()
    with tempfile.TemporaryDirectory() as folder:
        suffix = ".tsv" if name == "ring" else ".parquet"
        path = Path(folder) / f"edges{suffix}"
        budget = {"rmat": write_rmat, "ring": write_ring, "dense": write_dense}[name](path, size)
        scan = scan_text if name == "ring" else scan_parquet
        scan(path)
        peer = min(timed(scan, path) for _ in range(3))
        first, peak = sparsify(path, budget), peak_rss()
        more = [] if name == "rmat" else [sparsify(path, budget) for _ in range(3)]
    stream, result, seconds, processor = min(more or [first], key=lambda run: run[2])
    n_edges, over = stream.n_edges_seen_, max(peak - BASE, 0)
    return {
        "case": f"{name} {size}",
        "nodes": result.n_nodes,
        "edges": n_edges,
        "kept": result.n_edges,
        "resparsifications": stream.n_resparsifications_,
        "first run": round(first[2], 2),
        "seconds": round(seconds, 2),
        "processor seconds": round(processor, 2),
        "ns/edge": round(1e9 * seconds / n_edges, 1),
        "scan": round(peer, 2),
        "times the scan": round(seconds / peer, 2),
        "peak MiB": round(peak / 2**20),
        "bytes a kept edge": round(max(over - 64 * result.n_nodes, 0) / result.n_edges, 1),
    }


def sparsify(path, budget):
    """The stream, its result, and the time and processor time that they took."""
    stream = StreamSparsifier(n_edges=budget, random_state=SEED)
    processor, began = time.process_time(), time.perf_counter()
    result = run_stream(stream, read_edges(path)).sparsifier(consume=True)
    return stream, result, time.perf_counter() - began, time.process_time() - processor


def warm_up():
    batch = sources.erdos_renyi(5000, 600_000, random_state=SEED).to_edge_list()
    StreamSparsifier(n_edges=50_000, random_state=SEED).partial_fit(batch).sparsifier()


def write_rmat(path, scale):
    """27 edges for each of 2^scale ids (16 from 2^22 on, 64 million); returns a quarter."""
    n_edges = (27 if scale < 22 else 16) << scale
    name = np.random.default_rng(SEED).permutation(1 << scale)
    schema = pa.schema([("source", pa.int64()), ("target", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_edges, 10**6):
            tail, head = np.empty((2, min(10**6, n_edges - start)), dtype=np.int64)
            _draw_rmat(SEED + start, scale, *np.cumsum(RMAT), tail, head)
            writer.write_table(pa.table([name[tail], name[head]], schema=schema))
    return n_edges // 4


def write_ring(path, n_edges):
    rng = np.random.default_rng(SEED)
    n_nodes = n_edges // 125
    tail = rng.integers(n_nodes, size=n_edges)
    head = (tail + rng.geometric(0.002, size=n_edges)) % n_nodes
    table = pl.DataFrame({"source": tail, "target": head})
    table.write_csv(path, separator="\t", include_header=False)
    return 8 * n_nodes


def write_dense(path, n_nodes):
    rng = np.random.default_rng(SEED)
    tail = rng.integers(n_nodes, size=400 * n_nodes)
    head = (tail + rng.integers(1, n_nodes, size=tail.size)) % n_nodes
    pq.write_table(pa.table({"source": tail, "target": head}), path)
    return 10 * n_nodes


def scan_text(path):
    frame = pl.scan_csv(path, separator="\t", has_header=False)
    frame.select(pl.all().sum()).collect(engine="streaming")


def scan_parquet(path):
    for batch in pq.ParquetFile(path).iter_batches(10**6):
        batch.column(0).to_numpy().sum() + batch.column(1).to_numpy().sum()


def timed(function, *arguments):
    began = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - began


@numba.njit(cache=True)
def _draw_rmat(seed, scale, a, b, c, tail, head):
    """Each bit of an edge's two ids falls into one of four quadrants."""
    for e in range(tail.size):
        u = v = 0
        for bit in range(scale):
            coin = uniform(np.uint64(seed), np.uint64(e), np.uint64(bit))
            if coin >= a:
                u |= np.int64(coin >= b) << bit
                v |= np.int64(coin < b or coin >= c) << bit
        tail[e], head[e] = u, v


if __name__ == "__main__":
    main()
