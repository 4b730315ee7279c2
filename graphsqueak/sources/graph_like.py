"""The border: every form in which users hold a graph becomes a stream of edges, or an EdgeList.

What is understood is converted here, once; whoever hands in something else is told the line that
converts it.
"""

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

__all__ = ["ArrowTable", "GraphLike", "as_edge_list", "as_stream"]


class ArrowTable(Protocol):
    """A table of edges that speaks Arrow: of polars, pandas, pyarrow, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


GraphLike: TypeAlias = Union[
    EdgeList,
    EdgeSource,
    "networkx.Graph",
    "igraph.Graph",
    "polars.LazyFrame",
    ArrowTable,
    scipy.sparse.sparray,
    scipy.sparse.spmatrix,
    np.ndarray,
]

_READ = "graphsqueak.read_edges({})"
_CONVERTING = {  # package, and the line for a graph of its
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
    """The whole graph in memory.

    Parameters
    ----------
    graph : EdgeList, EdgeSource, table, scipy sparse matrix, ndarray, networkx or igraph graph
        A matrix is a symmetric adjacency matrix; graphs are undirected; of a table the columns are
        found by their names, as in files.

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
    """The graph as batches of edges.

    Parameters
    ----------
    graph : EdgeList, EdgeSource, table, scipy sparse matrix, ndarray, networkx or igraph graph
        A matrix is a symmetric adjacency matrix; graphs are undirected; of a table the columns are
        found by their names, as in files (`read_edges` takes others).

    Returns
    -------
    EdgeSource or EdgeList
        An EdgeSource as it is, a table as one; anything else as one batch, its EdgeList.

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

    if is_table(graph):
        return read_edges(graph)
    raise InputError(
        f"a graph of type {type(graph).__name__} is not understood; give {_line(graph, package)}"
    )


def _line(graph: Any, package: str) -> str:
    """What converts it, where that is known; else all that is understood."""
    if package in _CONVERTING:
        return _CONVERTING[package]
    if isinstance(graph, str) or hasattr(graph, "__fspath__"):
        return _READ.format(repr(str(graph)))
    if hasattr(graph, "read"):
        return _READ.format("file")
    if isinstance(graph, list | tuple | set) or hasattr(graph, "__next__"):
        return "graphsqueak.EdgeList.from_pairs(edges), with (source, target, weight) for each edge"
    if isinstance(graph, dict):
        return "graphsqueak.EdgeList.from_networkx(networkx.Graph(neighbors))"
    return (
        "an EdgeList, graphsqueak.read_edges(...), a data frame or Arrow table of edges, a scipy "
        "adjacency matrix, or a networkx or igraph graph"
    )
