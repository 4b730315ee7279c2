"""Sparsify the graph of shared attributes of an entity-attribute table.

The k-th attribute has a frequency of 1 / k: a million entities have more than 10^11 edges, which no
baseline can list. polars does, on a small table; on larger ones the time is compared with that of
an ordinary file of edges.
"""

from functools import partial

import numpy as np
import polars as pl

from benchmarks.runner import OURS, Run, case
from graphsqueak import (
    EdgeList,
    certify,
    read_edges,
    read_projection,
    sources,
    sparsify,
    write_edges,
)

ROWS_PER_ENTITY = 10
EDGES_KEPT_PER_ENTITY = 8


@case("project", short=(20_000,), full=(20_000, 1_000_000, 10_000_000))
def shrink(run: Run, n_rows: int) -> None:
    """Shrink the graph of a Parquet table to 8 edges per entity."""
    n_entities = n_rows // ROWS_PER_ENTITY
    table = run.folder / "table.parquet"
    edges = run.folder / "edges.parquet"
    _write_table(table, n_entities, n_rows, run.seed)
    write_edges(sources.erdos_renyi(n_entities, n_rows, random_state=run.seed), edges)
    n_kept = EDGES_KEPT_PER_ENTITY * n_entities
    contenders = {
        OURS: partial(_shrink_table, table, n_kept, run.seed),
        "graphsqueak, as many edges": partial(_shrink_edges, edges, n_kept, run.seed),
    }
    if n_rows <= 20_000:
        contenders["polars join, then graphsqueak"] = partial(_join, table, n_kept, run.seed)
    run.time(contenders)
    run.memory(contenders)
    projection = read_projection(table, random_state=run.seed)
    projection.describe()
    run.record(OURS, "edges of the graph", projection.n_projected_edges, unit="")


@case("project", short=(20_000,), full=(1_000_000, 10_000_000))
def certified(run: Run, n_rows: int) -> None:
    """Certify a sparsifier of the graph of a Parquet table to a gap of 5 %."""
    n_entities = n_rows // ROWS_PER_ENTITY
    table = run.folder / "table.parquet"
    _write_table(table, n_entities, n_rows, run.seed)
    sparsifier = _shrink_table(table, EDGES_KEPT_PER_ENTITY * n_entities, run.seed)
    projection = read_projection(table, random_state=run.seed)
    contender = partial(certify, projection, sparsifier, rtol=0.05, random_state=run.seed)
    found = run.time({OURS: contender}, n_rounds=1)[OURS]
    run.record(OURS, "lower bound of epsilon", found.epsilon_lower, unit="")
    run.record(OURS, "upper bound of epsilon", found.epsilon_upper, unit="")
    run.record(OURS, "passes", found.passes, unit="")


def _write_table(path, n_entities, n_rows, seed):
    rng = np.random.default_rng(seed)
    entity = rng.integers(n_entities, size=n_rows)
    attribute = np.floor((0.4 * n_entities) ** rng.random(n_rows)).astype(np.int64)
    pl.DataFrame({"entity": entity, "attribute": attribute}).write_parquet(path)


def _shrink_table(path, n_kept, seed):
    return sparsify(read_projection(path, random_state=seed), n_edges=n_kept, random_state=seed)


def _shrink_edges(path, n_kept, seed):
    return sparsify(read_edges(path), n_edges=n_kept, random_state=seed)


def _join(path, n_kept, seed):
    """List all pairs that share an attribute, and sparsify the list."""
    table = pl.read_parquet(path).unique()
    joined = table.join(table, on="attribute")
    joined = joined.filter(pl.col("entity") < pl.col("entity_right"))
    pairs = joined.group_by("entity", "entity_right").len()
    graph = EdgeList(
        tail=pairs["entity"].to_numpy(),
        head=pairs["entity_right"].to_numpy(),
        weight=pairs["len"].to_numpy().astype(np.float64),
    )
    return sparsify(graph, n_edges=n_kept, random_state=seed)
