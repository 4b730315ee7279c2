"""Conversion of the graphs that users have to a stream of edges, or to an EdgeList.

Every public function that takes a graph takes a `GraphLike`: an `EdgeList`, a path of a file of
edges, a table, a networkx or igraph graph, a scipy matrix or an edge source. Graphs of other
libraries that need a conversion by the user raise an error that shows it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union

import numpy as np
import scipy.sparse

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.edge_source import EdgeSource

if TYPE_CHECKING:
    import igraph
    import networkx
    import polars


class ArrowTable(Protocol):
    """Table of edges with the Arrow C stream interface: of polars, pandas, pyarrow or DuckDB."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


GraphLike: TypeAlias = Union[
    EdgeList,
    EdgeSource,
    str,
    os.PathLike,
    "networkx.Graph",
    "igraph.Graph",
    "polars.LazyFrame",
    ArrowTable,
    scipy.sparse.sparray,
    scipy.sparse.spmatrix,
    np.ndarray,
]

# Conversions that the error message shows, by package.
CONVERSIONS = {
    "torch": "graphsqueak.EdgeList.from_scipy(scipy.sparse.coo_array(matrix.to_dense().numpy()))",
    "torch_geometric": (
        "graphsqueak.EdgeList.from_networkx("
        "torch_geometric.utils.to_networkx(data, to_undirected=True)), or apply "
        "graphsqueak.integrations.Sparsify(keep=...)(data)"
    ),
    "dgl": "graphsqueak.EdgeList.from_networkx(graph.to_networkx().to_undirected())",
    "networkit": "graphsqueak.EdgeList.from_pairs(graph.iterEdgesWeights())",
    "graph_tool": "graphsqueak.EdgeList.from_pairs(graph.get_edges().tolist())",
    "pyspark": "graphsqueak.read_edges(frame.toArrow())",
    "dask": "graphsqueak.read_edges(frame.compute())",
    "cudf": "graphsqueak.read_edges(frame.to_arrow())",
    "cugraph": "graphsqueak.read_edges(graph.view_edge_list().to_arrow())",
    "scipy": "graphsqueak.EdgeList.from_scipy(matrix)",
}


def as_edge_list(graph: GraphLike) -> EdgeList:
    """Convert a graph to an EdgeList in memory.

    Parameters
    ----------
    graph : GraphLike
        As in `as_stream`.

    Returns
    -------
    EdgeList

    Examples
    --------
    >>> as_edge_list(np.array([[0, 3], [3, 0]]))
    EdgeList(n_nodes=2, n_edges=1, total_weight=3)
    """
    stream = as_stream(graph)
    return stream if isinstance(stream, EdgeList) else stream.to_edge_list()


def as_stream(graph: GraphLike) -> EdgeList | EdgeSource:
    """Convert a graph to batches of edges.

    Parameters
    ----------
    graph : GraphLike
        EdgeList, EdgeSource, path of a file, table, scipy sparse matrix, ndarray, networkx or
        igraph graph. A matrix is a symmetric adjacency matrix. Graphs are undirected. Files and
        tables are read with the default options of `read_edges`, which has options for others.

    Returns
    -------
    EdgeSource or EdgeList
        An EdgeSource unchanged; a file or a table as an EdgeSource; anything else as an EdgeList,
        which is one batch.

    Examples
    --------
    >>> import polars as pl
    >>> as_stream(pl.DataFrame({"source": ["ann", "bob"], "target": ["bob", "cy"]}))
    <edges of the polars DataFrame>
    """
    if isinstance(graph, EdgeList | EdgeSource):
        return graph
    if scipy.sparse.issparse(graph) or isinstance(graph, np.ndarray):
        return EdgeList.from_scipy(graph)
    package = type(graph).__module__.partition(".")[0]
    if package == "igraph":
        return EdgeList.from_igraph(graph)
    if hasattr(graph, "is_directed") and hasattr(graph, "edges"):
        return EdgeList.from_networkx(graph)
    from graphsqueak.sources.files.reading import read_edges
    from graphsqueak.sources.tables import is_table

    if isinstance(graph, str | os.PathLike) or is_table(graph):
        return read_edges(graph)
    raise InputError(
        f"a graph of type {type(graph).__name__} is not supported; pass "
        f"{_conversion(graph, package)}"
    )


def _conversion(graph: Any, package: str) -> str:
    """Return the call that converts a graph, or a list of supported types."""
    if package in CONVERSIONS:
        return CONVERSIONS[package]
    if hasattr(graph, "read"):
        return "graphsqueak.read_edges(file)"
    if isinstance(graph, dict):
        return "graphsqueak.EdgeList.from_networkx(networkx.Graph(neighbors))"
    if isinstance(graph, list | tuple | set) or hasattr(graph, "__iter__"):
        return "graphsqueak.EdgeList.from_pairs(edges), with (source, target, weight) per edge"
    return (
        "an EdgeList, the path of a file of edges, graphsqueak.read_edges(...), a data frame or "
        "Arrow table of edges, a scipy adjacency matrix, or a networkx or igraph graph"
    )
