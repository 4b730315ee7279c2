"""Shrink a file of edges: time and memory, next to samples by a database and a bare scan."""

import warnings
from functools import partial

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.graphs import rmat_ends
from benchmarks.runner import OURS, Run, case
from graphsqueak import AccuracyWarning, sources, sparsify, write_edges
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


@case("shrink", short=(2**16,), full=(2**18, 2**20, 2**22))
def rmat(run: Run, n_nodes: int) -> None:
    """Shrink a Parquet file of an R-MAT graph, with random ids, to a quarter of its edges."""
    # 27 edges per node fit on the disk of a laptop up to 2^20 nodes, 16 beyond.
    edges_per_node = 27 if n_nodes < 2**22 else 16
    n_edges = edges_per_node * n_nodes
    path = run.folder / "edges.parquet"
    _write_rmat(path, n_nodes.bit_length() - 1, n_edges, run.seed)
    _compare(run, path, n_edges, n_edges // 4, polars_scan=_scan_parquet)


@case("shrink", short=(1_000_000,), full=(10_000_000,))
def ring(run: Run, n_edges: int) -> None:
    """Shrink text whose nodes have edges to some of the next few hundred, to 8 edges per node."""
    n_nodes = n_edges // 125
    rng = np.random.default_rng(run.seed)
    tail = rng.integers(n_nodes, size=n_edges)
    head = (tail + rng.geometric(0.002, size=n_edges)) % n_nodes
    path = run.folder / "edges.tsv"
    frame = pl.DataFrame({"source": tail, "target": head})
    frame.write_csv(path, separator="\t")
    _compare(run, path, n_edges, EDGES_KEPT_PER_NODE * n_nodes, polars_scan=_scan_text)


@case("shrink", short=(4_000_000,), full=(40_000_000,))
def in_memory(run: Run, n_edges: int) -> None:
    """Shrink arrays in memory to 10 edges per node."""
    n_nodes = n_edges // 400
    graph = sources.erdos_renyi(n_nodes, n_edges, random_state=run.seed).to_edge_list()
    n_kept = 10 * n_nodes
    contenders = {
        OURS: partial(sparsify, graph, n_edges=n_kept, random_state=run.seed),
        "numpy random choice": partial(_choose, graph, n_kept, run.seed),
    }
    run.time(contenders)


def _choose(graph, n_kept, seed):
    chosen = np.random.default_rng(seed).choice(graph.n_edges, n_kept, replace=False)
    return graph.tail[chosen], graph.head[chosen], graph.weight[chosen]


def _measure(run, n_edges, suffix, **scans):
    n_nodes = n_edges // EDGES_PER_NODE
    path = run.folder / f"edges{suffix}"
    write_edges(sources.erdos_renyi(n_nodes, n_edges, random_state=run.seed), path)
    _compare(run, path, n_edges, EDGES_KEPT_PER_NODE * n_nodes, **scans)


def _compare(run, path, n_edges, n_kept, **scans):
    out = path.with_name(f"sample{path.suffix}")
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
    with warnings.catch_warnings():
        # A quarter of a sparse graph is less than the accuracy that is promised needs.
        warnings.simplefilter("ignore", AccuracyWarning)
        write_edges(run_sparsify(path, config).sparsifier, out)


def _sample(path, out, method):
    """Sample rows, uniformly, and write them in the format of the input."""
    options = "FORMAT parquet" if out.suffix == ".parquet" else "DELIMITER '\t'"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT * FROM '{path}' USING SAMPLE {method}) TO '{out}' ({options})"
        )


def _scan_text(path):
    frame = pl.scan_csv(
        path,
        separator="\t",
        comment_prefix="#",
        schema={"source": pl.Int64, "target": pl.Int64},
    )
    _sum(frame)


def _scan_parquet(path):
    _sum(pl.scan_parquet(path))


def _sum(frame):
    frame.select(pl.col("source").sum() + pl.col("target").sum()).collect(engine="streaming")


def _scan_arrow(path):
    for batch in pq.ParquetFile(path).iter_batches(batch_size=10**6):
        np.add(batch.column(0).to_numpy().sum(), batch.column(1).to_numpy().sum())


def _write_rmat(path, scale, n_edges, seed):
    """Write an R-MAT graph in pieces, with ids in random order."""
    names = np.random.default_rng(seed).permutation(1 << scale)
    schema = pa.schema([("source", pa.int64()), ("target", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for number, start in enumerate(range(0, n_edges, 10**6)):
            piece = rmat_ends(scale, min(10**6, n_edges - start), seed=[seed, number])
            writer.write_table(pa.table([names[end] for end in piece], schema=schema))
