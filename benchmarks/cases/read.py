"""Read all edges of a file, next to a bare scan that adds up the columns."""

import gzip
from functools import partial

import numpy as np
import polars as pl
import pyarrow.compute as pc
import pyarrow.parquet as pq
import zstandard

from benchmarks.runner import OURS, Run, case
from graphsqueak.sources import info, read_edges

SHORT = (2_000_000,)
FULL = (2_000_000, 20_000_000)
EDGES_PER_PIECE = 1_000_000
N_NODES = 1_000_000
N_DENSE_NODES = 100_000


@case("read", short=SHORT, full=FULL)
def integers(run: Run, n_edges: int) -> None:
    """Read tab-separated text with ids 0 to n - 1."""
    _measure(run, n_edges, ".tsv", _consecutive_ids, _scan_integers, "polars")


@case("read", short=SHORT, full=FULL)
def large_integers(run: Run, n_edges: int) -> None:
    """Read tab-separated text with random ids of 64 bits."""
    _measure(run, n_edges, ".tsv", _random_ids, _scan_integers, "polars")


@case("read", short=SHORT, full=FULL)
def weights(run: Run, n_edges: int) -> None:
    """Read tab-separated text with ids 0 to n - 1 and weights."""
    _measure(run, n_edges, ".weighted.tsv", _consecutive_ids, _scan_weights, "polars")


@case("read", short=SHORT, full=FULL)
def names(run: Run, n_edges: int) -> None:
    """Read tab-separated text whose nodes have names such as user-123."""
    _measure(run, n_edges, ".tsv", _names, _scan_names, "polars")


@case("read", short=SHORT, full=FULL)
def gzipped(run: Run, n_edges: int) -> None:
    """Read gzip-compressed text with ids 0 to n - 1."""
    _measure(run, n_edges, ".tsv.gz", _consecutive_ids, _scan_integers, "polars")


@case("read", short=SHORT, full=FULL)
def zstandard_compressed(run: Run, n_edges: int) -> None:
    """Read zstandard-compressed text with ids 0 to n - 1."""
    _measure(run, n_edges, ".tsv.zst", _consecutive_ids, _scan_integers, "polars")


@case("read", short=SHORT, full=FULL)
def parquet(run: Run, n_edges: int) -> None:
    """Read Parquet with ids 0 to n - 1."""
    _measure(run, n_edges, ".parquet", _consecutive_ids, _scan_parquet, "pyarrow")


@case("read", short=SHORT, full=FULL)
def parquet_large_integers(run: Run, n_edges: int) -> None:
    """Read Parquet with random ids of 64 bits."""
    _measure(run, n_edges, ".parquet", _random_ids, _scan_parquet, "pyarrow")


def _measure(run, n_edges, suffix, make_ids, scan, library):
    path = run.folder / f"edges{suffix}"
    rng = np.random.default_rng(run.seed)
    _write(path, make_ids(rng), n_edges, rng)
    contenders = {OURS: partial(_stream, path), library: partial(scan, path)}
    n_read = run.time(contenders)[OURS]
    if n_read != n_edges:
        raise AssertionError(f"{path.name}: {n_read} of {n_edges} edges were read")
    run.memory({OURS: partial(_info, path), library: partial(scan, path)})


def _stream(path):
    return sum(batch.n_edges for batch in read_edges(path))


def _info(path):
    info(read_edges(path))


def _consecutive_ids(rng):
    return np.arange(N_DENSE_NODES)


def _random_ids(rng):
    return rng.integers(-(2**63), 2**63 - 1, size=N_NODES)


def _names(rng):
    return "user-" + rng.permutation(N_NODES).astype(str).astype(object)


def _write(path, ids, n_edges, rng):
    """Write edges between random, different ids."""
    ids = pl.Series(ids)
    pieces = []
    for start in range(0, n_edges, EDGES_PER_PIECE):
        size = min(EDGES_PER_PIECE, n_edges - start)
        tail = rng.integers(len(ids), size=size)
        head = (tail + rng.integers(1, len(ids), size=size)) % len(ids)
        columns = {"source": ids[tail], "target": ids[head]}
        if ".weighted" in path.name:
            columns["weight"] = rng.random(size)
        pieces.append(pl.DataFrame(columns))
    if path.suffix == ".parquet":
        pl.concat(pieces).write_parquet(path, row_group_size=EDGES_PER_PIECE)
        return
    with _open(path) as file:
        for piece in pieces:
            file.write(piece.write_csv(separator="\t", include_header=False).encode())


def _open(path):
    if path.suffix == ".gz":
        return gzip.open(path, "wb", compresslevel=1)
    if path.suffix == ".zst":
        return zstandard.open(path, "wb")
    return path.open("wb")


def _scan_integers(path):
    _sum(path, {"source": pl.Int64, "target": pl.Int64}, pl.all().sum())


def _scan_weights(path):
    schema = {"source": pl.Int64, "target": pl.Int64, "weight": pl.Float64}
    _sum(path, schema, pl.all().sum())


def _scan_names(path):
    _sum(path, {"source": pl.String, "target": pl.String}, pl.all().str.len_bytes().sum())


def _sum(path, schema, expression):
    frame = pl.scan_csv(path, separator="\t", has_header=False, schema=schema)
    frame.select(expression).collect(engine="streaming")


def _scan_parquet(path):
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(EDGES_PER_PIECE):
            for column in batch.columns:
                pc.sum(column, skip_nulls=False)
