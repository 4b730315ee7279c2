"""A networkx graph as arrays: its adjacency lists, with one array per edge attribute.

networkx caches the converted graph, and converts it again when its edges or nodes change.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from graphsqueak.graph.edge_list import EdgeList

if TYPE_CHECKING:
    import networkx


class BackendGraph:
    """An undirected networkx graph in the form that the backend uses.

    Parameters
    ----------
    names : list
        Nodes, in the order of networkx.
    starts, heads : ndarray
        Adjacency lists: the neighbors of node i are heads[starts[i] : starts[i + 1]].
    values : dict of str to ndarray
        For each edge attribute its value per entry of `heads`, NaN if an edge does not have it;
        None if some value is not a number.
    labels : dict of str to dict
        For each node attribute its values by node number.
    is_multigraph : bool
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
        self.names = names
        self.values = values
        self.labels = labels
        self._starts = starts
        self._heads = heads
        self._is_multigraph = is_multigraph
        self._adjacency: dict[str | None, scipy.sparse.csr_array] = {}

    def is_directed(self) -> bool:
        """Return False: directed graphs are left to networkx."""
        return False

    def is_multigraph(self) -> bool:
        """Return whether it was a MultiGraph."""
        return self._is_multigraph

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def number(self, name: Any) -> int:
        """Return the number of a node."""
        return self.names.index(name)

    def by_name(self, values: np.ndarray) -> dict:
        """Return a value per node as a dictionary, as networkx functions do."""
        return dict(zip(self.names, values.tolist(), strict=True))

    def weights(self, attribute: str | None, *, default: float = 1.0) -> np.ndarray:
        """Return the values of an edge attribute, `default` for edges without it; ones for None."""
        if attribute is None:
            return np.ones(self._heads.size)
        if attribute not in self.values:
            return np.full(self._heads.size, default)
        values = self.values[attribute]
        if values is None:
            raise NotImplementedError(f"the edge attribute {attribute!r} has other than numbers")
        return np.where(np.isnan(values), default, values)

    def adjacency(self, attribute: str | None) -> scipy.sparse.csr_array:
        """Return the symmetric matrix of an edge attribute, which is computed once."""
        if attribute not in self._adjacency:
            self._adjacency[attribute] = self.matrix(self.weights(attribute))
        return self._adjacency[attribute]

    def matrix(self, values: np.ndarray) -> scipy.sparse.csr_array:
        """Return the symmetric matrix of values per entry; those of parallel edges are summed."""
        shape = (len(self), len(self))
        rows = (values, self._heads, self._starts)
        matrix = scipy.sparse.csr_array(rows, shape=shape, copy=True)
        # In place, hence the copy of the shared adjacency lists.
        matrix.sum_duplicates()
        return matrix

    def n_components(self) -> int:
        """Return the number of connected components; edges of weight zero count."""
        return connected_components(self.adjacency(None), directed=False)[0]

    def conductances(self, weight: str | None, *, invert: bool = False) -> EdgeList:
        """Return the graph without loops; with `invert`, the weights are resistances."""
        if weight is None:
            invert = False
        values = self.weights(weight, default=np.nan if invert else 1.0)
        if invert:
            if np.isnan(values).any():
                # The error of networkx.
                raise KeyError(weight)
            with np.errstate(divide="ignore"):
                values = 1 / values
        if not ((values > 0) & (values < np.inf)).all():
            raise NotImplementedError("weights must be positive and finite")
        matrix = self.matrix(values) if invert else self.adjacency(weight)
        upper = scipy.sparse.triu(matrix, k=1, format="coo")
        return EdgeList.from_validated(upper.row, upper.col, upper.data, len(self))


def convert_from_nx(
    graph: "networkx.Graph",
    *,
    edge_attrs: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, Any] | None = None,
    **unused: Any,
) -> BackendGraph:
    """Convert a networkx graph. networkx calls this function before it calls another one.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
    edge_attrs, node_attrs : mapping of str to default, optional
        Attributes that the function reads. `weight` is always converted.
    **unused
        What networkx passes besides: attributes to preserve, which matter for functions that return
        graphs, and the names of the function and of its argument.
    """
    if graph.is_directed():
        raise NotImplementedError("the graph is directed")
    names = list(graph)
    number = {node: index for index, node in enumerate(names)}
    rows = list(graph._adj.values())
    heads: Iterable
    # Chained iterators, because a loop over the edges would take longer than most functions.
    if graph.is_multigraph():
        heads = (head for row in rows for head, keys in row.items() for _ in keys)
        data = [attributes for row in rows for keys in row.values() for attributes in keys.values()]
        sizes = [sum(map(len, row.values())) for row in rows]
    else:
        heads = chain.from_iterable(rows)
        data = list(chain.from_iterable(row.values() for row in rows))
        sizes = list(map(len, rows))
    # Nodes 0, 1, ... need no dictionary.
    if names != list(range(len(names))):
        heads = map(number.__getitem__, heads)
    wanted = {"weight", *(edge_attrs or ())} if any(data) else ()
    return BackendGraph(
        names,
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
        np.fromiter(heads, np.int64, len(data)),
        {key: _edge_values(data, key) for key in wanted},
        {
            key: {
                number[node]: attributes[key]
                for node, attributes in graph.nodes(data=True)
                if key in attributes
            }
            for key in node_attrs or ()
        },
        is_multigraph=graph.is_multigraph(),
    )


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """Return a `BackendGraph` as `networkx.Graph`, and any other result as it is."""
    if not isinstance(result, BackendGraph):
        return result
    import networkx as nx

    # One direction per edge, with the diagonal for loops.
    upper = scipy.sparse.triu(result.matrix(result.weights("weight")), format="coo")
    names = result.names
    graph = nx.Graph()
    graph.add_nodes_from(names)
    entries = zip(upper.row.tolist(), upper.col.tolist(), upper.data.tolist(), strict=True)
    graph.add_weighted_edges_from((names[u], names[v], w) for u, v, w in entries)
    return graph


def _edge_values(data, key):
    """Return the values of an attribute; None if some value is not a number."""
    try:
        # 15 % faster than with a default, which is needed for edges without the attribute.
        return np.fromiter(map(itemgetter(key), data), float, len(data))
    except KeyError:
        pass
    except (TypeError, ValueError):
        return None
    try:
        return np.fromiter((attributes.get(key, np.nan) for attributes in data), float, len(data))
    except (TypeError, ValueError):
        return None
