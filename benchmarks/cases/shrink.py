"""Shrink a file of edges: time and memory, next to samples by a database and a bare scan."""

from functools import partial

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq

from benchmarks.runner import OURS, Run, case
from graphsqueak import sources, write_edges
from graphsqueak.sparsifiers.config import SparsifyConfig
from graphsqueak.sparsifiers.run import run_sparsify

EDGES_PER_NODE = 200
EDGES_KEPT_PER_NODE = 8
SHORT = (2_000_000,)
FULL = (1_000_000, 20_000_000, 100_000_000)


@case("shrink", short=SHORT, full=FULL)
def text(run: Run, n_edges: int) -> None:
    """Shrink a tab-separated file of random edges to 8 edges per node."""
    _measure(run, n_edges, ".tsv", polars_scan=_scan_text)


@case("shrink", short=SHORT, full=FULL)
def parquet(run: Run, n_edges: int) -> None:
    """Shrink a Parquet file of random edges to 8 edges per node."""
    _measure(run, n_edges, ".parquet", polars_scan=_scan_parquet, pyarrow_scan=_scan_arrow)


def _measure(run, n_edges, suffix, **scans):
    n_nodes = n_edges // EDGES_PER_NODE
    n_kept = EDGES_KEPT_PER_NODE * n_nodes
    path = run.folder / f"edges{suffix}"
    out = run.folder / f"sample{suffix}"
    write_edges(sources.erdos_renyi(n_nodes, n_edges, random_state=run.seed), path)
    contenders = {
        OURS: partial(_sparsify, path, out, n_kept, run.seed),
        "DuckDB reservoir sample": partial(_sample, path, out, f"reservoir({n_kept} ROWS)"),
        "DuckDB Bernoulli sample": partial(
            _sample, path, out, f"bernoulli({100 * n_kept / n_edges} PERCENT)"
        ),
    }
    for name, scan in scans.items():
        contenders[f"{name.replace('_', ' ')}, no result"] = partial(scan, path)
    run.time(contenders)
    run.memory(contenders)


def _sparsify(path, out, n_kept, seed):
    config = SparsifyConfig(n_edges=n_kept, random_state=seed)
    write_edges(run_sparsify(path, config).sparsifier, out)


def _sample(path, out, method):
    """Sample rows, uniformly, and write them in the format of the input."""
    options = "FORMAT parquet" if out.suffix == ".parquet" else "DELIMITER '\t'"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT * FROM '{path}' USING SAMPLE {method}) TO '{out}' ({options})"
        )


def _scan_text(path):
    schema = {"source": pl.Int64, "target": pl.Int64}
    _sum(pl.scan_csv(path, separator="\t", comment_prefix="#", schema=schema))


def _scan_parquet(path):
    _sum(pl.scan_parquet(path))


def _sum(frame):
    frame.select(pl.col("source").sum() + pl.col("target").sum()).collect(engine="streaming")


def _scan_arrow(path):
    for batch in pq.ParquetFile(path).iter_batches(batch_size=10**6):
        np.add(batch.column(0).to_numpy().sum(), batch.column(1).to_numpy().sum())
