"""L_G X for a graph that is read from its source, edge by edge, in one pass.

The product is taken in the numbering of another graph, the sparsifier: nodes are matched by id.
The first pass looks, in addition, for the connected components.
"""

import numba
import numpy as np

from graphsqueak.solvers.threads import run
from graphsqueak.sources.forest import join, labels, roots
from graphsqueak.validation import InputError

__all__ = ["StreamedLaplacian"]

_MOST_BYTES = 2**29  # for the sums of the parts


class StreamedLaplacian:
    """The Laplacian of a stream as an operator on the nodes of `sparsifier`.

    Every pass cuts each batch into a fixed number of parts that are added up apart from each other,
    so that the sum does not depend on the number of threads.

    Attributes
    ----------
    n_passes, n_edges : int
        How often the source has been read, and how many edges a pass has.
    component : ndarray or None
        After the first pass: the smallest node of each node's component.

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy", 2.0)])
    >>> other = EdgeList.from_pairs([("cy", "bob"), ("bob", "ann")])
    >>> StreamedLaplacian(path, other).multiply(np.array([[1.0], [0.0], [0.0]]))
    array([[ 2.],
           [-2.],
           [ 0.]])
    """

    def __init__(self, source, sparsifier):
        self._source = source
        self._places = _Places(sparsifier)
        self._parent = roots(sparsifier.n_nodes)
        self.n_passes = self.n_edges = 0
        self.component = None

    def multiply(self, X, report=None):
        """L_G X, in one pass over the source."""
        n_parts = 4 if 4 * X.nbytes <= _MOST_BYTES else 2
        partial = np.zeros((n_parts, *X.shape))
        for tail, head, weight in self._edges(report):
            bounds = np.linspace(0, tail.size, n_parts + 1).astype(np.int64)
            work = tail.size * X.shape[1]
            run(_add_products, work, bounds, tail, head, weight, X, partial)
        return partial.sum(axis=0)

    def to_dense(self, report=None):
        """L_G as an array, in one pass over the source."""
        n_nodes = self._parent.size
        matrix = np.zeros((n_nodes, n_nodes))
        for tail, head, weight in self._edges(report):
            _add_edges(tail, head, weight, matrix)
        return matrix

    def _edges(self, report):
        """One pass: the ends of all edges as nodes of the sparsifier, and their weights."""
        n_edges = 0
        for batch in self._source:
            tail, head = self._places.of(batch)
            if self.component is None:
                join(self._parent, tail, head)
            n_edges += batch.n_edges
            if report is not None:
                report(n_edges, getattr(self._source, "fraction_read", 1.0))
            yield tail, head, batch.weight
        self.n_edges, self.n_passes = n_edges, self.n_passes + 1
        if self.component is None:
            self.component = labels(self._parent)


class _Places:
    """Where the nodes of a stream are among those of a graph whose nodes may be ordered otherwise.

    Nodes seen before are not looked up again.
    """

    def __init__(self, graph):
        self._graph = graph
        self._place = np.zeros(0, dtype=np.int64)
        self._is_identity = True
        self._find = None

    def of(self, batch):
        """Both ends of the edges of a batch, as nodes of the graph."""
        n_old = self._place.size
        if batch.n_nodes > n_old:
            self._look_up(batch, n_old)
        if self._is_identity:
            return batch.tail, batch.head
        tail, head = self._place[batch.tail], self._place[batch.head]
        for end, found in ((batch.tail, tail), (batch.head, head)):
            if found.min(initial=0) < 0:
                name = batch.ids.tolist()[end[int(np.argmin(found))]]
                raise InputError(
                    f"node {name!r} of the graph is not in the sparsifier; it belongs to another "
                    "graph, or has lost a node"
                )
        return tail, head

    def _look_up(self, batch, n_old):
        if batch.own_ids is None:
            new = np.arange(n_old, batch.n_nodes)
        else:
            new = np.asarray(batch.own_ids[n_old : batch.n_nodes])
        if self._find is None:
            self._find = _finder(self._graph)
        place = self._find(new)
        self._is_identity &= np.array_equal(place, np.arange(n_old, batch.n_nodes))
        self._place = np.concatenate([self._place, place])


def _finder(graph):
    """A function from ids to node numbers; -1 for an id that is not there."""
    if graph.own_ids is None:
        return lambda ids: np.where(_is_below(ids, graph.n_nodes), ids, -1)
    known = graph.ids
    if known.dtype.kind not in "iu":
        number = {name: node for node, name in enumerate(known.tolist())}
        return lambda ids: np.array([number.get(name, -1) for name in ids.tolist()], dtype=np.int64)
    order = np.argsort(known)
    ordered = known[order]

    def find(ids):
        if ids.dtype.kind not in "iu" or ordered.size == 0:
            return np.full(ids.size, -1)
        found = np.minimum(np.searchsorted(ordered, ids), ordered.size - 1)
        return np.where(ordered[found] == ids, order[found], -1)

    return find


def _is_below(ids, n_nodes):
    if ids.dtype.kind not in "iu":
        return np.zeros(ids.size, dtype=bool)
    return (ids >= 0) & (ids < n_nodes)


@numba.njit(cache=True, nogil=True, parallel=True)
def _add_products(bounds, tail, head, weight, X, partial):
    for part in numba.prange(bounds.size - 1):
        sums = partial[part]
        for e in range(bounds[part], bounds[part + 1]):
            u, v, w = tail[e], head[e], weight[e]
            for k in range(X.shape[1]):
                flow = w * (X[u, k] - X[v, k])
                sums[u, k] += flow
                sums[v, k] -= flow


@numba.njit(cache=True, nogil=True)
def _add_edges(tail, head, weight, matrix):
    for e in range(tail.size):
        u, v, w = tail[e], head[e], weight[e]
        matrix[u, u] += w
        matrix[v, v] += w
        matrix[u, v] -= w
        matrix[v, u] -= w
