"""A networkx graph as arrays: its rows end to end, with a column of values per edge attribute.

networkx keeps what is converted beside the graph, and converts again when edges or nodes change.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from graphsqueak.graph.edge_list import EdgeList

if TYPE_CHECKING:
    import networkx

__all__ = ["BackendGraph", "convert_from_nx", "convert_to_nx"]


class BackendGraph:
    """An undirected graph of networkx, as its backend holds it.

    Attributes
    ----------
    names : list
        The nodes, in networkx's order.
    values : dict of str to ndarray
        Of each edge attribute its value on every entry of the rows, NaN where there is none; None
        where some value is no number.
    labels : dict of str to dict
        Of each node attribute its values by number of node.
    """

    __networkx_backend__ = "graphsqueak"

    def __init__(
        self,
        names: list,
        starts: np.ndarray,
        heads: np.ndarray,
        values: dict[str, np.ndarray | None],
        labels: dict[str, dict[int, Any]],
        *,
        is_multigraph: bool,
    ) -> None:
        self.names, self.values, self.labels = names, values, labels
        self._starts, self._heads, self._is_multigraph = starts, heads, is_multigraph
        self._adjacency: dict[str | None, scipy.sparse.csr_array] = {}

    def is_directed(self) -> bool:
        """No: directed graphs are passed back to networkx."""
        return False

    def is_multigraph(self) -> bool:
        """Whether it came from a MultiGraph."""
        return self._is_multigraph

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def weights(self, attribute: str | None, *, default: float = 1.0) -> np.ndarray:
        """The values of an edge attribute, `default` where there is none; ones for None."""
        if attribute is None:
            return np.ones(self._heads.size)
        if attribute not in self.values:
            return np.full(self._heads.size, default)
        values = self.values[attribute]
        if values is None:
            raise NotImplementedError(f"the edge attribute {attribute!r} is no number everywhere")
        return np.where(np.isnan(values), default, values)

    def adjacency(self, attribute: str | None) -> scipy.sparse.csr_array:
        """Symmetric matrix of an edge attribute, 1 where there is none; made once."""
        if attribute not in self._adjacency:
            self._adjacency[attribute] = self.matrix(self.weights(attribute))
        return self._adjacency[attribute]

    def matrix(self, values: np.ndarray) -> scipy.sparse.csr_array:
        """Symmetric matrix of values on the entries, those of parallel edges summed."""
        rows = (values, self._heads, self._starts)
        matrix = scipy.sparse.csr_array(rows, shape=(len(self), len(self)), copy=True)
        matrix.sum_duplicates()  # in place
        return matrix

    def n_parts(self) -> int:
        """Number of connected components, zero weights or not."""
        return connected_components(self.adjacency(None), directed=False)[0]

    def conductances(self, weight: str | None, *, invert: bool = False) -> EdgeList:
        """The graph without loops; `invert` says that weights are resistances."""
        values = self.weights(weight, default=np.nan if invert else 1.0)
        if invert and weight is not None:
            if np.isnan(values).any():
                raise KeyError(weight)  # as networkx does
            with np.errstate(divide="ignore"):
                values = 1 / values
        if not ((values > 0) & (values < np.inf)).all():
            raise NotImplementedError("weights are positive and finite here")
        matrix = self.matrix(values) if invert else self.adjacency(weight)
        upper = scipy.sparse.triu(matrix, k=1, format="coo")
        return EdgeList.from_validated(upper.row, upper.col, upper.data, len(self))

    def number(self, name: Any) -> int:
        """The number of a node."""
        return self.names.index(name)


def convert_from_nx(
    graph: "networkx.Graph",
    *,
    edge_attrs: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, Any] | None = None,
    preserve_edge_attrs: bool | Mapping = False,
    preserve_node_attrs: bool | Mapping = False,
    preserve_graph_attrs: bool = False,
    preserve_all_attrs: bool = False,
    name: str | None = None,
    graph_name: str | None = None,
) -> BackendGraph:
    """Convert a graph of networkx, as networkx asks a backend to.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
    edge_attrs, node_attrs : mapping of str to default, optional
        Attributes that the function reads; `weight` is always taken along.
    preserve_edge_attrs, preserve_node_attrs, preserve_graph_attrs, preserve_all_attrs
        Not used: the functions answer with numbers, not with graphs.
    name, graph_name : str
        The function, and its argument.
    """
    if graph.is_directed():
        raise NotImplementedError("the graph is directed")
    names = list(graph)
    number = {node: index for index, node in enumerate(names)}
    rows = list(graph._adj.values())
    heads: Iterator
    if graph.is_multigraph():
        heads = (head for row in rows for head, keys in row.items() for _ in keys)
        data = [known for row in rows for keys in row.values() for known in keys.values()]
        sizes = [sum(map(len, row.values())) for row in rows]
    else:
        heads, sizes = chain.from_iterable(rows), list(map(len, rows))
        data = list(chain.from_iterable(row.values() for row in rows))
    is_numbered = names == list(range(len(names)))
    ends = heads if is_numbered else map(number.__getitem__, heads)
    wanted = {"weight", *(edge_attrs or ())} if any(data) else ()
    values = {key: _column(data, key) for key in wanted}
    labels = {
        key: {number[node]: known[key] for node, known in graph.nodes(data=True) if key in known}
        for key in node_attrs or ()
    }
    return BackendGraph(
        names,
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
        np.fromiter(ends, np.int64, len(data)),
        values,
        labels,
        is_multigraph=graph.is_multigraph(),
    )


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """What networkx gets back: numbers as they are, a `BackendGraph` as `networkx.Graph`."""
    if not isinstance(result, BackendGraph):
        return result
    import networkx as nx

    rows = scipy.sparse.triu(result.matrix(result.weights("weight")), format="coo")
    names, graph = result.names, nx.Graph()
    graph.add_nodes_from(names)
    entries = zip(rows.row.tolist(), rows.col.tolist(), rows.data.tolist(), strict=True)
    graph.add_weighted_edges_from((names[u], names[v], w) for u, v, w in entries)
    return graph


def _column(data, key):
    try:
        return np.fromiter(map(itemgetter(key), data), float, len(data))
    except (KeyError, TypeError, ValueError):  # where it is not there, or no number
        pass
    try:
        return np.fromiter((known.get(key, np.nan) for known in data), float, len(data))
    except (TypeError, ValueError):
        return None
