"""Speed and memory of the stream sparsifier.

    python benchmarks/bench_stream.py [--quick] [--json]

*memory*: edges already in memory with integer ids, through `StreamSparsifier` and its last shrink.
*file*: end to end from a TSV and a Parquet file, beside polars and pyarrow scanning the same file.
*growth*: time per edge, number of shrinks and peak memory as the stream grows tenfold and again;
each length runs in a process of its own, edges made on the fly.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from graphsqueak import EdgeList, StreamSparsifier, read_edges, sources, write_edges
from graphsqueak.sparsifiers.run import run_stream
from graphsqueak.system.memory import peak_rss

SEED = 662_607


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the edges")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--growth", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.growth:
        print(json.dumps(growth(arguments.growth)))
        return
    size = 10 if arguments.quick else 1
    warm_up()
    rows = [in_memory(40_000_000 // size, 100_000 // size, 1_000_000 // size)]
    rows += from_files(20_000_000 // size, 100_000 // size)
    for n_edges in (10**6, 10**7, 2 * 10**7, 10**8):
        if n_edges <= 10**8 // size:
            command = [sys.executable, __file__, "--growth", str(n_edges)]
            rows.append(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
    if arguments.json:
        print(json.dumps({"benchmark": "stream", "rows": rows}))
    else:
        for row in rows:
            print(
                "  ".join(
                    f"{key} {value:,.4g}" if not isinstance(value, str) else f"{value:<8}"
                    for key, value in row.items()
                )
            )


def warm_up():
    batch = sources.erdos_renyi(1000, 600_000, random_state=SEED).to_edge_list()
    StreamSparsifier(n_edges=10_000).partial_fit(batch).sparsifier()


def in_memory(n_edges, n_nodes, budget):
    rng = np.random.default_rng(SEED)
    tail = rng.integers(n_nodes, size=n_edges, dtype=np.int32)
    head = ((tail + rng.integers(1, n_nodes, size=n_edges)) % n_nodes).astype(np.int32)
    graph = EdgeList.from_validated(tail, head, np.ones(n_edges), n_nodes)
    began = time.perf_counter()
    stream = StreamSparsifier(n_edges=budget, random_state=SEED)
    for start in range(0, n_edges, 10**6):
        stream.partial_fit(graph.part(start, start + 10**6))
    kept = stream.sparsifier().n_edges
    seconds = time.perf_counter() - began
    return {
        "what": "memory",
        "edges": n_edges,
        "kept": kept,
        "resparsifications": stream.n_resparsifications_,
        "seconds": seconds,
        "million edges/s": n_edges / seconds / 1e6,
    }


def from_files(n_edges, n_nodes):
    with tempfile.TemporaryDirectory() as folder:
        for suffix, scan in ((".tsv", scan_text), (".parquet", scan_parquet)):
            path = Path(folder) / f"edges{suffix}"
            write_edges(sources.erdos_renyi(n_nodes, n_edges, random_state=SEED), path)
            scan(path)
            peer, ours = [], []
            for _ in range(3):
                peer.append(timed(scan, path))
                ours.append(timed(sparsify_file, path, Path(folder) / f"out{suffix}"))
            yield {
                "what": suffix,
                "edges": n_edges,
                "seconds": np.median(ours),
                "bare scan": np.median(peer),
                "ratio": np.median(ours) / np.median(peer),
            }


def sparsify_file(path, out):
    stream = StreamSparsifier(n_edges=1_000_000, random_state=SEED)
    write_edges(run_stream(stream, read_edges(path)).sparsifier(), out)


def scan_text(path):
    names = {"source": pl.Int64, "target": pl.Int64}
    frame = pl.scan_csv(path, separator="\t", comment_prefix="#", schema=names)
    frame.select(pl.col("source").sum() + pl.col("target").sum()).collect(engine="streaming")


def scan_parquet(path):
    for batch in pq.ParquetFile(path).iter_batches(10**6):
        batch.column(0).to_numpy().sum() + batch.column(1).to_numpy().sum()


def growth(n_edges):
    """One length of the stream, n and the budget fixed; batches are made as they are needed."""
    warm_up()
    stream = StreamSparsifier(n_edges=200_000, random_state=SEED)
    source = sources.erdos_renyi(20_000, n_edges, random_state=SEED)
    making = timed(lambda: [None for _ in source])
    seconds = timed(lambda: run_stream(stream, source).sparsifier()) - making
    return {
        "what": "growth",
        "edges": n_edges,
        "seconds": seconds,
        "ns/edge": 1e9 * seconds / n_edges,
        "resparsifications": stream.n_resparsifications_,
        "peak MiB": peak_rss() / 2**20,
    }


def timed(function, *arguments):
    began = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
