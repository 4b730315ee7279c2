"""A weighted undirected graph as a list of edges.

`EdgeList` is the one currency of the package: what is read, what is streamed and what a
sparsifier returns are all edge lists. Edge e joins tail[e] and head[e] with weight[e] > 0, a
similarity (a conductance, not a distance). With b_e = 1_tail - 1_head the Laplacian is

    L = sum_e weight[e] * b_e b_e^T = D - A.

Edges may repeat: parallel edges act as one whose weight is their sum.
"""

import copy
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.graph import forest
from graphsqueak.graph.conversions import Exchange
from graphsqueak.graph.id_arrays import (
    as_ids,
    as_permutation,
    has_explicit_order,
    with_attributes,
    with_explicit_order,
)
from graphsqueak.validation import check_adjacency, check_count, check_edges

__all__ = ["EdgeList"]


class EdgeList(Exchange):
    """An immutable list of weighted, undirected edges between nodes 0, ..., n_nodes - 1.

    Self-loops and edges of weight zero say nothing about a Laplacian: they are dropped and counted.
    Negative, infinite and NaN weights are errors.

    Parameters
    ----------
    tail, head : array of int, shape (n_edges,)
        The two ends of each edge; their order carries no meaning.
    weight : array of float, shape (n_edges,), optional
        Default: every edge weighs 1.
    n_nodes : int, optional
        Default: one more than the largest end. Larger values add isolated nodes.
    ids : array of int or str, shape (n_nodes,), optional
        The user's own name of each node. Default: 0, ..., n_nodes - 1. The order of the nodes is
        explicit then: position i of an array of labels is about node ids[i].

    Attributes
    ----------
    tail, head, weight, n_nodes, n_edges, ids
        As above, the arrays as read-only views; parallel edges count singly.
    node_ids : object or None
        The ids as they were given, shared by the batches of one source; None for numbers.
    n_self_loops, n_zero_weights : int
        What was dropped. A self-loop of weight zero counts as a self-loop.
    certificate : Certificate or None
        Of a sparsifier that was certified.

    Examples
    --------
    >>> triangle = EdgeList(tail=[0, 1, 2], head=[1, 2, 0])
    >>> triangle
    EdgeList(n_nodes=3, n_edges=3, total_weight=3)
    >>> triangle.laplacian().toarray()
    array([[ 2., -1., -1.],
           [-1.,  2., -1.],
           [-1., -1.,  2.]])
    """

    n_nodes: int
    tail: np.ndarray
    head: np.ndarray
    weight: np.ndarray
    node_ids: Any
    n_self_loops: int
    n_zero_weights: int
    certificate: Any

    def __init__(
        self,
        *,
        tail: ArrayLike,
        head: ArrayLike,
        weight: ArrayLike | None = None,
        n_nodes: int | None = None,
        ids: Any = None,
    ) -> None:
        tail, head, weight = check_edges(tail, head, weight)
        highest = int(max(tail.max(initial=-1), head.max(initial=-1)))
        if n_nodes is None:
            n_nodes = highest + 1 if ids is None else len(ids)
        n_nodes = check_count("n_nodes", n_nodes, least=0)
        if highest >= n_nodes:
            raise InputError(f"node {highest} does not exist in a graph of n_nodes={n_nodes}")
        if ids is not None and len(ids) != n_nodes:
            raise InputError(f"ids has {len(ids)} entries for n_nodes={n_nodes}")
        loops, zeros = tail == head, weight == 0
        keep = ~(loops | zeros)
        if not keep.all():
            tail, head, weight = tail[keep], head[keep], weight[keep]
        n_loops = int(np.count_nonzero(loops))
        n_zeros = int(np.count_nonzero(zeros & ~loops))
        ids = None if ids is None else with_explicit_order(ids)
        self._set(tail, head, weight, n_nodes, ids, n_loops, n_zeros)

    @classmethod
    def from_validated(
        cls,
        tail: ArrayLike,
        head: ArrayLike,
        weight: ArrayLike,
        n_nodes: int,
        ids: Any = None,
        *,
        n_self_loops: int = 0,
        n_zero_weights: int = 0,
    ) -> "EdgeList":
        """Wrap arrays that are known to be valid, without checks and without a copy: for streams.

        Parameters
        ----------
        tail, head, weight : array, shape (n_edges,)
            Ends in range and different, weights finite and positive.
        n_nodes : int
        ids : object, optional
            Anything that `numpy.asarray` turns into at least n_nodes ids.
        n_self_loops, n_zero_weights : int
            What was dropped on the way here.
        """
        edges = cls.__new__(cls)
        edges._set(tail, head, weight, n_nodes, ids, n_self_loops, n_zero_weights)
        return edges

    def _set(self, tail, head, weight, n_nodes, ids, n_self_loops, n_zero_weights):
        index = np.int32 if n_nodes <= np.iinfo(np.int32).max else np.int64
        self.__dict__.update(  # past __setattr__, which refuses
            n_nodes=int(n_nodes),
            tail=_frozen(tail, index),
            head=_frozen(head, index),
            weight=_frozen(weight, np.float64),
            node_ids=ids,
            n_self_loops=n_self_loops,
            n_zero_weights=n_zero_weights,
            certificate=None,
        )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an EdgeList is immutable: {name} cannot be assigned")

    def with_certificate(self, certificate: Any) -> "EdgeList":
        """The same edges, carrying a `Certificate` of how well they stand for another graph."""
        edges = copy.copy(self)
        edges.__dict__["certificate"] = certificate
        return edges

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple]) -> "EdgeList":
        """Build from tuples with any hashable ids.

        Nodes are numbered in order of first appearance, or by id if the ids are exactly 0, ...,
        n_nodes - 1.

        >>> EdgeList.from_pairs([("ann", "bob"), ("bob", "cy", 2.5)]).ids
        array(['ann', 'bob', 'cy'], dtype=object)

        Parameters
        ----------
        pairs : iterable of (source, target) or (source, target, weight)
        """
        number: dict[Any, int] = {}
        tail, head, weight = [], [], []
        for index, pair in enumerate(pairs):
            if len(pair) not in (2, 3):
                raise InputError(
                    f"pair {index} has {len(pair)} entries; give (source, target) or "
                    "(source, target, weight)"
                )
            tail.append(number.setdefault(pair[0], len(number)))
            head.append(number.setdefault(pair[1], len(number)))
            weight.append(pair[2] if len(pair) == 3 else 1.0)
        return cls._by_appearance(tail, head, weight, as_ids(list(number)))

    @classmethod
    def _by_appearance(cls, tail, head, weight, ids):
        """Build with checks, from ids in the order in which they appear: not an explicit order."""
        edges = cls(tail=tail, head=head, weight=weight, n_nodes=len(ids))
        edges.__dict__["node_ids"] = ids
        return edges.in_id_order()

    @classmethod
    def from_scipy(cls, adjacency: Any, *, ids: Any = None) -> "EdgeList":
        """Build from a symmetric adjacency matrix, sparse or dense.

        >>> EdgeList.from_scipy(scipy.sparse.coo_array([[0, 2.0], [2.0, 0]])).weight
        array([2.])

        Parameters
        ----------
        adjacency : scipy sparse matrix or array, or ndarray, shape (n_nodes, n_nodes)
            Entry (i, j) is the weight of the edge between i and j, 0 where there is none.
        ids : array of int or str, shape (n_nodes,), optional
            The user's own name of each node. Default: 0, ..., n_nodes - 1.
        """
        matrix = scipy.sparse.coo_array(adjacency).tocsr().astype(np.float64)
        matrix.sum_duplicates()
        check_adjacency(matrix)
        upper = scipy.sparse.triu(matrix, format="coo")
        return cls(
            tail=upper.row, head=upper.col, weight=upper.data, n_nodes=matrix.shape[0], ids=ids
        )

    @property
    def n_edges(self) -> int:
        """Number of edges, parallel ones counted singly."""
        return self.tail.size

    @cached_property
    def ids(self) -> np.ndarray:
        """The user's own name of each node, shape (n_nodes,)."""
        if self.node_ids is None:
            return _frozen(np.arange(self.n_nodes), np.int64)
        ids = np.asarray(self.node_ids)[: self.n_nodes]
        return _frozen(ids, ids.dtype)

    @property
    def has_explicit_order(self) -> bool:
        """Whether position i of an array can be about node i: by `ids=`, or without ids.

        Nodes of files, tables, networkx and igraph graphs are numbered as they appear instead.

        >>> EdgeList(tail=[0], head=[1], ids=["ann", "bob"]).has_explicit_order
        True
        >>> EdgeList.from_pairs([("ann", "bob")]).has_explicit_order
        False
        """
        return has_explicit_order(self.node_ids)

    def in_id_order(self) -> "EdgeList":
        """The same graph with node i numbered i, if the ids are exactly 0, ..., n_nodes - 1.

        With other ids, the graph itself. Graphs that are converted (from files, tables, networkx,
        igraph) or returned by `sparsify` are in this order already.

        >>> path = EdgeList(tail=[0, 1], head=[1, 2], ids=[2, 0, 1])
        >>> path.tail, path.in_id_order().tail
        (array([0, 1], dtype=int32), array([2, 0], dtype=int32))
        """
        numbers = as_permutation(self.node_ids, self.n_nodes)
        if numbers is None:
            return self
        ids = np.arange(self.n_nodes)
        is_in_order = np.array_equal(numbers, ids)
        if is_in_order and self.has_explicit_order:
            return self
        numbers = numbers.astype(self.tail.dtype)
        if self.node_attributes is not None:
            node_of_id = np.argsort(numbers)
            ids = with_attributes(ids, [self.node_attributes[node] for node in node_of_id])
        ids = with_explicit_order(ids)
        edges = copy.copy(self)
        edges.__dict__.update(
            tail=self.tail if is_in_order else _frozen(numbers[self.tail], self.tail.dtype),
            head=self.head if is_in_order else _frozen(numbers[self.head], self.head.dtype),
            node_ids=ids,
        )
        edges.__dict__.pop("ids", None)  # cached, in the order before
        return edges

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Symmetric adjacency matrix (CSR), parallel edges summed."""
        shape = (self.n_nodes, self.n_nodes)
        half = scipy.sparse.coo_array((self.weight, (self.tail, self.head)), shape=shape).tocsr()
        return (half + half.T).tocsr()

    def laplacian(self) -> scipy.sparse.csr_array:
        """L = D - A as a CSR matrix with sorted indices."""
        laplacian = (scipy.sparse.diags_array(self.degrees()) - self.to_scipy()).tocsr()
        laplacian.sort_indices()
        return laplacian

    def incidence(self) -> scipy.sparse.csr_array:
        """B of shape (n_edges, n_nodes) with rows b_e, so that L = B^T diag(weight) B."""
        edge, sign = np.tile(np.arange(self.n_edges), 2), np.repeat([1.0, -1.0], self.n_edges)
        ends, shape = np.concatenate([self.tail, self.head]), (self.n_edges, self.n_nodes)
        return scipy.sparse.coo_array((sign, (edge, ends)), shape=shape).tocsr()

    def degrees(self) -> np.ndarray:
        """Weighted degree of every node.

        >>> EdgeList(tail=[0, 0], head=[1, 2], weight=[1.0, 4.0]).degrees()
        array([5., 1., 4.])
        """
        into = np.bincount(self.head, self.weight, self.n_nodes)
        return into + np.bincount(self.tail, self.weight, self.n_nodes) + 0.0  # float when empty

    def components(self) -> np.ndarray:
        """Number of the connected component of each node, numbered by their first node.

        >>> EdgeList(tail=[1], head=[2], n_nodes=4).components()
        array([0, 1, 1, 2], dtype=int32)
        """
        first = forest.make_sets(self.n_nodes)
        forest.union_edges(first, self.tail, self.head)
        first = forest.find_all(first)
        return (np.cumsum(first == forest.make_sets(self.n_nodes), dtype=first.dtype) - 1)[first]

    def simplified(self) -> "EdgeList":
        """The same graph with parallel edges summed, tail < head, sorted by (tail, head).

        >>> twice = EdgeList(tail=[0, 1], head=[1, 0], weight=[1.0, 2.0])
        >>> twice.simplified().weight
        array([3.])
        """
        low, high = np.minimum(self.tail, self.head), np.maximum(self.tail, self.head)
        shape = (self.n_nodes,) * 2
        upper = scipy.sparse.coo_array((self.weight, (low, high)), shape=shape).tocsr()
        upper.sum_duplicates()
        upper = upper.tocoo()
        return EdgeList.from_validated(
            upper.row, upper.col, upper.data, self.n_nodes, self.node_ids
        )

    def part(self, start: int, stop: int | None = None) -> "EdgeList":
        """Edges start, ..., stop - 1 on the same nodes, as views."""
        cut = slice(start, stop)
        columns = (self.tail[cut], self.head[cut], self.weight[cut])
        return EdgeList.from_validated(*columns, self.n_nodes, self.node_ids)

    def __iter__(self) -> Iterator["EdgeList"]:
        """An edge list is a stream of one batch: itself."""
        yield self

    def plot(
        self, *, color: Any = None, beside: Any = None, places: Any = None, random_state: Any = None
    ) -> Any:
        """Draw the graph, of at most 5,000 nodes; arguments are those of `analysis.draw`."""
        import graphsqueak  # its layout is computed above this layer

        how = {"color": color, "beside": beside, "places": places, "random_state": random_state}
        return graphsqueak.analysis.draw(self, **how)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(n_nodes={self.n_nodes}, n_edges={self.n_edges}, "
            f"total_weight={self.weight.sum():.6g})"
        )

    def _repr_html_(self):
        from graphsqueak.report.table import edge_table

        ends = [self.ids[side[:5]].tolist() for side in (self.tail, self.head)]
        n_neighbors = np.bincount(np.concatenate([self.tail, self.head]), minlength=self.n_nodes)
        return edge_table(ends, self.weight, n_neighbors, known=self.certificate)


def _frozen(array, dtype):
    array = np.ascontiguousarray(array, dtype=dtype).view()
    array.flags.writeable = False
    return array
