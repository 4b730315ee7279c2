"""A stream of batches of edges that can be read again and counts what it drops.

Every source of edges (a file, a synthetic graph, the neighbors of points) subclasses `EdgeSource`
and writes one generator, `_batches`. Whoever consumes edges needs only

    for batch in source: ...

where each batch is an `EdgeList` over the nodes seen so far.

The border: every form in which users hold a graph becomes an `EdgeList` or a stream of them.
"""

from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np
import scipy.sparse

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList

if TYPE_CHECKING:
    import networkx

__all__ = ["EdgeSource", "GraphLike", "as_edge_list", "as_stream"]

GraphLike: TypeAlias = Union[
    EdgeList,
    "EdgeSource",
    "networkx.Graph",
    scipy.sparse.sparray,
    scipy.sparse.spmatrix,
    np.ndarray,
]


class EdgeSource:
    """A re-iterable stream of edges; subclasses write `_batches`.

    Each iteration is one pass and yields the same batches with the same numbering. The counters
    tell of the current pass, up to where it has come; run one pass at a time to trust them.

    Attributes
    ----------
    n_nodes : int
        Nodes seen so far, or all of them where the source knows beforehand.
    n_edges_read : int
        Edges handed out: every line of a file is one, so parallel edges count singly.
    n_self_loops, n_zero_weights, n_bad_lines : int
        What was dropped. A self-loop of weight zero counts as a self-loop.
    fraction_read : float
        Share of the source that is behind us, in [0, 1]; NaN where its size is unknown.
    is_rereadable : bool
        False for a pipe, which can be read once.
    id_kind : {"integer", "text"}
        What `ids` holds.

    Examples
    --------
    >>> class Star(EdgeSource):
    ...     def _batches(self):
    ...         for leaf in (1, 2, 3):
    ...             yield EdgeList.from_clean([0], [leaf], [1.0], n_nodes=leaf + 1)
    >>> star = Star()
    >>> [batch.n_nodes for batch in star]
    [2, 3, 4]
    >>> star.to_edge_list().degrees()
    array([3., 1., 1., 1.])
    >>> star.n_edges_read
    3
    """

    is_rereadable = True
    id_kind = "integer"

    def __init__(self):
        self.n_nodes = 0
        self._ids = None
        self._reset()

    def _reset(self):
        self.n_edges_read = self.n_self_loops = self.n_zero_weights = self.n_bad_lines = 0
        self.fraction_read = 0.0

    def __iter__(self):
        self._reset()
        for batch in self._batches():
            self.n_nodes = batch.n_nodes
            self.n_edges_read += batch.n_edges
            yield batch
        self.fraction_read = 1.0

    def _batches(self):
        """Yield one `EdgeList` after the other.

        Nodes and edges are counted here in the base class. What was dropped, `fraction_read` and
        `_ids` (an array or alike, None for 0, ..., n_nodes - 1) are the subclass's to set. At least
        one batch is yielded, an empty one if there are no edges.
        """
        raise NotImplementedError

    @property
    def ids(self):
        """The user's own name of each node seen so far, shape (n_nodes,)."""
        return self.ids_between(0, self.n_nodes)

    def ids_between(self, start, stop):
        """The ids of nodes start, ..., stop - 1, without looking at the others."""
        return np.arange(start, stop) if self._ids is None else np.asarray(self._ids[start:stop])

    def to_edge_list(self):
        """Read everything into one `EdgeList` in memory."""
        parts = [EdgeList.from_clean([], [], [], n_nodes=0), *self]
        tail = np.concatenate([batch.tail for batch in parts])
        head = np.concatenate([batch.head for batch in parts])
        weight = np.concatenate([batch.weight for batch in parts])
        ids = None if self._ids is None else self.ids
        return EdgeList.from_clean(
            tail,
            head,
            weight,
            self.n_nodes,
            ids,
            n_self_loops=self.n_self_loops,
            n_zero_weights=self.n_zero_weights,
        )


def as_edge_list(graph):
    """The whole graph in memory.

    Takes an EdgeList, an EdgeSource, a scipy sparse or dense symmetric adjacency matrix, or an
    undirected networkx graph.

    >>> as_edge_list(np.array([[0, 3], [3, 0]]))
    EdgeList(n_nodes=2, n_edges=1, total_weight=3)
    """
    stream = as_stream(graph)
    return stream if isinstance(stream, EdgeList) else stream.to_edge_list()


def as_stream(graph):
    """The graph as batches: an EdgeSource as it is, anything else as one batch, its EdgeList."""
    if isinstance(graph, EdgeList | EdgeSource):
        return graph
    if scipy.sparse.issparse(graph) or isinstance(graph, np.ndarray):
        return EdgeList.from_scipy(graph)
    if hasattr(graph, "is_directed") and hasattr(graph, "edges"):
        return EdgeList.from_networkx(graph)
    raise InputError(
        f"a graph of type {type(graph).__name__} is not understood; give an EdgeList, "
        "graphsqueak.read_edges(...), a scipy adjacency matrix or a networkx graph"
    )
