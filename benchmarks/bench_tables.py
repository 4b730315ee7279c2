"""Edges from tables of other libraries beside the same edges from a file: time and memory.

    python benchmarks/bench_tables.py [--edges 100000000] [--nodes 5000000] [--quick]

Every row is a process of its own that reads all edges once, in batches, as a sparsifier does. Time
is that of the pass; memory is the peak of the process, less what it held before the first edge
(imports, and, where a whole frame is handed in, the frame).
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 90_173
FORMS = ("file", "reader", "dataset", "lazy", "duckdb")  # nothing is held
HELD = ("polars", "pandas")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--edges", type=int, default=100_000_000)
    arguments.add_argument("--nodes", type=int, default=5_000_000)
    arguments.add_argument("--quick", action="store_true", help="a fiftieth of edges and nodes")
    arguments.add_argument("--rounds", type=int, default=1)
    arguments.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.one:
        print(json.dumps(read_once(*given.one)))
        return
    shrink = 50 if given.quick else 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.parquet"
        write_edges(path, given.edges // shrink, given.nodes // shrink)
        print(f"{given.edges // shrink:,} edges of {given.nodes // shrink:,} nodes, weighted\n")
        print(f"{'':10}{'seconds':>9}{'x file':>8}{'peak MB':>9}{'x file':>8}")
        first = None
        for form in (*FORMS, *HELD):
            runs = [measure(form, path) for _ in range(given.rounds)]
            seconds, grown = (min(run[key] for run in runs) for key in ("seconds", "grown"))
            first = first or (seconds, grown)
            print(
                f"{form:10}{seconds:9.2f}{seconds / first[0]:8.2f}"
                f"{grown / 1e6:9.0f}{grown / first[1]:8.2f}",
                flush=True,
            )


def write_edges(path, n_edges, n_nodes):
    rng = np.random.default_rng(SEED)
    schema = pa.schema([("source", pa.int64()), ("target", pa.int64()), ("weight", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_edges, 1 << 20):
            n = min(1 << 20, n_edges - start)
            ends = rng.integers(n_nodes, size=(2, n))
            columns = [pa.array(ends[0]), pa.array(ends[1]), pa.array(rng.random(n) + 0.5)]
            writer.write_table(pa.table(columns, schema=schema))


def measure(form, path):
    code = [sys.executable, __file__, "--one", form, str(path)]
    done = subprocess.run(code, capture_output=True, text=True, check=True, env=dict(os.environ))
    return json.loads(done.stdout)


def read_once(form, path):
    import graphsqueak as gs

    small = pa.table({"source": [0, 1], "target": [1, 2], "weight": [1.0, 1.0]})
    list(gs.read_edges(small))  # compiles
    table = open_table(form, path)
    before, began = peak(), time.perf_counter()
    source = gs.read_edges(table)
    total = sum(float(batch.weight.sum()) for batch in source)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "grown": peak() - before, "total": total}


def open_table(form, path):
    import polars as pl
    import pyarrow.dataset

    if form == "file":
        return path
    if form == "reader":
        file = pq.ParquetFile(path, pre_buffer=False)
        return pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(1 << 19))
    if form == "dataset":
        return pyarrow.dataset.dataset(path)
    if form == "duckdb":
        import duckdb

        return duckdb.sql(f"select * from read_parquet('{path}')")
    lazy = pl.scan_parquet(path)
    if form == "lazy":
        return lazy
    return lazy.collect() if form == "polars" else lazy.collect().to_pandas()


def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
