"""How fast edge files stream, against polars and pyarrow reading the same files in the same run.

    python benchmarks/bench_read.py [--quick] [--json]

Each line is one file of random edges. `peer` is what the named library alone needs to read all of
the file and add up its columns (text: the lengths of the ids); `ours` is the time to go through all
batches of `read_edges`, ids numbered, loops dropped. Both are run in turn and the medians compared:
a ratio above 1 means that we are faster. Peak memory is that of a process that does nothing else,
for the whole file and for one of a quarter of its edges. All edges must arrive, or it fails.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.compute as pc
import pyarrow.parquet as pq
import zstandard

from graphsqueak.sources import info, read_edges

SEED = 718_281


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--quick", action="store_true", help="2 instead of 20 million edges")
    arguments.add_argument("--json", action="store_true", help="print one JSON object")
    arguments.add_argument("--measure", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.measure:
        print(json.dumps(measure_memory(options.measure)))
        return
    n_edges = 2_000_000 if options.quick else 20_000_000
    with tempfile.TemporaryDirectory() as folder:
        rows = list(run(Path(folder), n_edges, n_repeats=3 if options.quick else 5))
    if options.json:
        print(json.dumps({"benchmark": "read", "edges": n_edges, "rows": rows}))
        return
    print(table(rows))


def run(folder, n_edges, *, n_repeats):
    """Make, measure and remove one file after the other."""
    for ids, suffix, peer, target in CASES:
        rng = np.random.default_rng(SEED)
        names = ids(rng)
        path, small = folder / f"edges{suffix}", folder / f"small{suffix}"
        make_file(path, names, n_edges, rng)
        make_file(small, names, n_edges // 4, rng)
        peer(small)
        stream(small)
        peer_seconds, our_seconds = [], []
        for _ in range(n_repeats):
            peer_seconds.append(timed(peer, path)[0])
            seconds, n_read = timed(stream, path)
            our_seconds.append(seconds)
            if n_read != n_edges:
                raise SystemExit(f"{path.name}: {n_read} of {n_edges} edges arrived")
        ours, theirs = float(np.median(our_seconds)), float(np.median(peer_seconds))
        yield {
            "ids": ids.__doc__,
            "file": suffix,
            "edges": n_edges,
            "peer": peer.__doc__,
            "peer_seconds": round(theirs, 3),
            "our_seconds": round(ours, 3),
            "edges_per_second": round(n_edges / ours),
            "ratio": round(theirs / ours, 2),
            "target": target,
            "peak_rss_bytes": peak_memory(path),
            "peak_rss_bytes_quarter": peak_memory(small),
        }
        path.unlink()
        small.unlink()


def dense(rng):
    """0..n-1, n = 100k"""
    return np.arange(100_000)


def scattered_few(rng):
    """64-bit, n = 100k"""
    return rng.integers(-(2**63), 2**63 - 1, size=100_000)


def scattered(rng):
    """64-bit, n = 1M"""
    return rng.integers(-(2**63), 2**63 - 1, size=1_000_000)


def words(rng):
    """text, n = 1M"""
    return "user-" + rng.permutation(1_000_000).astype(str).astype(object)


def make_file(path, ids, n_edges, rng):
    """Edges between random, different ids, in pieces of a million."""
    ids = pl.Series(ids)
    pieces = []
    for start in range(0, n_edges, 1_000_000):
        size = min(1_000_000, n_edges - start)
        tail = rng.integers(len(ids), size=size)
        head = (tail + rng.integers(1, len(ids), size=size)) % len(ids)
        columns = {"source": ids[tail], "target": ids[head]}
        if ".weighted" in path.name:
            columns["weight"] = rng.random(size)
        pieces.append(pl.DataFrame(columns))
    frame = pl.concat(pieces)
    if path.suffix == ".parquet":
        frame.write_parquet(path, row_group_size=1_000_000)
        return
    with opened(path) as file:
        for piece in frame.iter_slices(1_000_000):
            file.write(piece.write_csv(separator="\t", include_header=False).encode())


def opened(path):
    if path.suffix == ".gz":
        return gzip.open(path, "wb", compresslevel=1)
    if path.suffix == ".zst":
        return zstandard.open(path, "wb")
    return open(path, "wb")


def stream(path):
    return sum(batch.n_edges for batch in read_edges(path))


def polars_integers(path):
    """polars"""
    frame = polars_scan(path, {"source": pl.Int64, "target": pl.Int64})
    frame.select(pl.col("source", "target").sum()).collect(engine="streaming")


def polars_weights(path):
    """polars"""
    frame = polars_scan(path, {"source": pl.Int64, "target": pl.Int64, "weight": pl.Float64})
    frame.select(pl.col("source", "target", "weight").sum()).collect(engine="streaming")


def polars_text(path):
    """polars"""
    frame = polars_scan(path, {"source": pl.String, "target": pl.String})
    frame.select(pl.col("source", "target").str.len_bytes().sum()).collect(engine="streaming")


def polars_scan(path, schema):
    return pl.scan_csv(path, separator="\t", has_header=False, schema=schema)


def pyarrow_integers(path):
    """pyarrow"""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(1_000_000):
            for column in batch.columns:
                pc.sum(column, skip_nulls=False)


def timed(function, path):
    started = time.perf_counter()
    result = function(path)
    return time.perf_counter() - started, result


def peak_memory(path):
    command = [sys.executable, __file__, "--measure", str(path)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def measure_memory(path):
    """Peak memory of this process: info reads all batches too, with O(n) memory of its own."""
    return info(read_edges(path)).peak_rss_bytes


def table(rows):
    head = "ids|file|peer|peer s|ours s|M edges/s|ratio|target|peak MiB|of a quarter"
    lines = [head.replace("|", " | "), "|".join(["---"] * 3 + ["--:"] * 7)]
    for row in rows:
        cells = [
            row["ids"],
            row["file"],
            row["peer"],
            f"{row['peer_seconds']:.2f}",
            f"{row['our_seconds']:.2f}",
            f"{row['edges_per_second'] / 1e6:.1f}",
            f"{row['ratio']:.2f}",
            str(row["target"] or ""),
            f"{row['peak_rss_bytes'] / 2**20:.0f}",
            f"{row['peak_rss_bytes_quarter'] / 2**20:.0f}",
        ]
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


CASES = [
    (dense, ".tsv", polars_integers, 0.7),
    (scattered_few, ".tsv", polars_integers, 0.35),
    (scattered, ".tsv", polars_integers, 0.35),
    (dense, ".weighted.tsv", polars_weights, None),
    (words, ".tsv", polars_text, None),
    (dense, ".tsv.gz", polars_integers, None),
    (dense, ".tsv.zst", polars_integers, None),
    (dense, ".parquet", pyarrow_integers, None),
    (scattered, ".parquet", pyarrow_integers, None),
]


if __name__ == "__main__":
    main()
