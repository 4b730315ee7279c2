"""A weighted undirected graph as a list of edges.

`EdgeList` is the graph type of the package: readers, streams and sparsifiers all return it. Edge e
connects tail[e] and head[e] with weight[e] > 0, a similarity (a conductance, not a distance). With
b_e = 1_tail - 1_head the Laplacian is

    L = sum_e weight[e] * b_e b_e^T = D - A.

Edges may repeat: parallel edges act as one edge whose weight is their sum.

Conversions from and to networkx and igraph keep the names of the nodes, which may be any hashable
object, and their attributes. A sparsifier of a converted graph keeps both. Edge attributes other
than the weight are dropped, because a sparsifier has edge weights of its own.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.forest import find_all, make_sets, union_edges
from graphsqueak.graph.id_arrays import (
    as_ids,
    as_permutation,
    has_explicit_order,
    node_attributes,
    with_attributes,
    with_explicit_order,
)
from graphsqueak.system.frames import ArrowExport
from graphsqueak.validation import (
    check_adjacency,
    check_count,
    check_edges,
    explain_keywords,
)

if TYPE_CHECKING:
    import igraph
    import networkx
    import polars


# What networkx and pandas call what a graph H has.
_OTHER_NAMES = {
    "add_edge": "EdgeList.from_pairs([*H, (u, v)]), since graphs are immutable",
    "adj": "H.to_networkx().adj",
    "adjacency_matrix": "H.to_scipy()",
    "columns": "H.edges.columns",
    "copy": "H itself, since graphs are immutable",
    "degree": "H.degrees()",
    "density": "H.n_edges and H.n_nodes",
    "describe": "graphsqueak.info(H)",
    "draw": "H.plot()",
    "filter": "H.edges.filter(...)",
    "groupby": "H.to_pandas().groupby(...)",
    "has_edge": "H.to_networkx().has_edge(u, v)",
    "has_node": "node in H.nodes",
    "iloc": "H.edges[:5]",
    "info": "graphsqueak.info(H)",
    "is_directed": "H as it is, since edges have no direction",
    "iterrows": "for source, target, weight in H",
    "loc": "H[ids]",
    "nbunch_iter": "H.to_networkx() as an argument of functions of networkx",
    "neighbors": "H.to_networkx().neighbors(node)",
    "number_of_edges": "H.n_edges",
    "number_of_nodes": "H.n_nodes",
    "order": "H.n_nodes",
    "sample": "H.edges.sample(...)",
    "shape": "H.n_nodes and H.n_edges",
    "size": "H.n_edges",
    "sort_values": "H.edges.sort('weight')",
    "subgraph": "H[ids]",
    "sum": "H.weights.sum()",
    "to_csv": "H.save('edges.csv')",
    "to_dense": "H.to_scipy().toarray()",
    "to_dict": "H.edges.to_dict()",
    "to_edge_list": "H itself, which is in memory",
    "to_numpy": "H.edges.to_numpy()",
    "to_parquet": "H.save('edges.parquet')",
    "to_undirected": "H as it is, since edges have no direction",
    "toarray": "H.to_scipy().toarray()",
    "values": "H.edges.to_numpy()",
    "write": "H.save(path)",
}


@explain_keywords(
    positional="read_edges(path_or_table).to_edge_list() or EdgeList.from_networkx(graph)"
)
class EdgeList(ArrowExport):
    """Immutable list of weighted, undirected edges between nodes 0, ..., n_nodes - 1.

    Self-loops and edges of weight zero do not change a Laplacian: they are dropped and counted.
    Negative, infinite and NaN weights are errors.

    Parameters
    ----------
    tail, head : array of int, shape (n_edges,)
        The two ends of each edge, in either order.
    weight : array of float, shape (n_edges,), optional
        Default: every edge has weight 1.
    n_nodes : int, optional
        Default: one more than the largest end. Larger values add isolated nodes.
    ids : array of int or str, shape (n_nodes,), optional
        The user's own name of each node. Default: 0, ..., n_nodes - 1. The order of the nodes is
        then explicit: position i of an array of labels refers to node ids[i].

    Attributes
    ----------
    tail, head, weight, n_nodes, n_edges, ids
        As above, the arrays as read-only views. Each of several parallel edges is counted.
    node_ids : object or None
        The ids as they were given, shared by the batches of one source; None for numbers.
    n_self_loops, n_zero_weights : int
        Number of edges that were dropped. A self-loop of weight zero counts as a self-loop.
    certificate : Certificate or None
        Certified approximation error, if the graph is a certified sparsifier.

    Notes
    -----
    `len(H)` is the number of edges, and iteration yields them as (source, target, weight).
    `H.edges` is a data frame, `H[ids]` a subgraph, and `H == G` compares graphs, not numberings.

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

    # An edge list is a source of one batch: it has the attributes of `sources.EdgeSource`.
    _other_names = _OTHER_NAMES

    is_rereadable = True
    is_materialized = True
    is_exact = True
    fraction_read = 1.0
    n_bad_lines = 0

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
            raise InputError(
                f"node {highest} does not exist in a graph of ",
                Parameter("n_nodes", n_nodes),
                "; pass ",
                Parameter("n_nodes", highest + 1),
                " or more",
            )
        if ids is not None and len(ids) != n_nodes:
            raise InputError(
                f"ids has {len(ids)} entries for ",
                Parameter("n_nodes", n_nodes),
                "; pass one per node",
            )
        # Neither changes the Laplacian: b_e of a self-loop is zero.
        is_loop = tail == head
        is_zero = weight == 0
        keep = ~(is_loop | is_zero)
        if not keep.all():
            tail, head, weight = tail[keep], head[keep], weight[keep]
        self._set_fields(
            tail=tail,
            head=head,
            weight=weight,
            n_nodes=n_nodes,
            node_ids=None if ids is None else with_explicit_order(ids),
            n_self_loops=int(np.count_nonzero(is_loop)),
            n_zero_weights=int(np.count_nonzero(is_zero & ~is_loop)),
        )

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
    ) -> EdgeList:
        """Wrap arrays that are known to be valid, without checks and without a copy.

        Parameters
        ----------
        tail, head, weight : array, shape (n_edges,)
            Ends in range and different, weights finite and positive.
        n_nodes : int
        ids : object, optional
            Any object that `numpy.asarray` converts to at least n_nodes ids.
        n_self_loops, n_zero_weights : int
            Number of edges that the caller dropped.
        """
        edges = cls.__new__(cls)
        edges._set_fields(
            tail=tail,
            head=head,
            weight=weight,
            n_nodes=n_nodes,
            node_ids=ids,
            n_self_loops=n_self_loops,
            n_zero_weights=n_zero_weights,
        )
        return edges

    def _set_fields(self, *, tail, head, weight, n_nodes, **fields):
        index_dtype = np.int32 if n_nodes <= np.iinfo(np.int32).max else np.int64
        # Fields are written to __dict__ because __setattr__ raises.
        self.__dict__.update(
            n_nodes=int(n_nodes),
            tail=_read_only(tail, index_dtype),
            head=_read_only(head, index_dtype),
            weight=_read_only(weight, np.float64),
            certificate=None,
            **fields,
        )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an EdgeList is immutable: {name} cannot be assigned")

    def _replace(self, **fields):
        """Return a copy with other values of some fields."""
        edges = copy.copy(self)
        edges.__dict__.update(fields)
        if "node_ids" in fields:
            # The cached array holds the old ids.
            edges.__dict__.pop("ids", None)
        return edges

    def with_certificate(self, certificate: Any) -> EdgeList:
        """Return the same edges with a `Certificate` of their approximation error."""
        return self._replace(certificate=certificate)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple]) -> Self:
        """Build from tuples with any hashable ids.

        Nodes are numbered in order of first appearance, or by id if the ids are exactly 0, ...,
        n_nodes - 1.

        >>> EdgeList.from_pairs([("ann", "bob"), ("bob", "cy", 2.5)]).ids
        array(['ann', 'bob', 'cy'], dtype=object)

        Parameters
        ----------
        pairs : iterable of (source, target) or (source, target, weight)
        """
        number_of_name: dict[Any, int] = {}
        tail, head, weight = _number_ends(pairs, number_of_name)
        return cls._from_appearance_order(tail, head, weight, as_ids(list(number_of_name)))

    @classmethod
    def _from_appearance_order(cls, tail, head, weight, ids):
        """Build with checks. The ids are in order of first appearance, not in an explicit order."""
        edges = cls(tail=tail, head=head, weight=weight, n_nodes=len(ids))
        return edges._replace(node_ids=ids).in_id_order()

    @classmethod
    def from_scipy(cls, adjacency: Any, *, ids: Any = None) -> EdgeList:
        """Build from a symmetric adjacency matrix, sparse or dense.

        >>> EdgeList.from_scipy(scipy.sparse.coo_array([[0, 2.0], [2.0, 0]])).weight
        array([2.])

        Parameters
        ----------
        adjacency : scipy sparse matrix or array, or ndarray, shape (n_nodes, n_nodes)
            Entry (i, j) is the weight of the edge between i and j, 0 if there is none.
        ids : array of int or str, shape (n_nodes,), optional
            The user's own name of each node. Default: 0, ..., n_nodes - 1.
        """
        matrix = scipy.sparse.coo_array(adjacency).tocsr().astype(np.float64)
        matrix.sum_duplicates()
        check_adjacency(matrix)
        # A symmetric matrix has every edge twice.
        upper = scipy.sparse.triu(matrix, format="coo")
        return cls(
            tail=upper.row, head=upper.col, weight=upper.data, n_nodes=matrix.shape[0], ids=ids
        )

    @classmethod
    def from_networkx(cls, graph: networkx.Graph, *, weight: str = "weight") -> Self:
        """Build from an undirected networkx graph; its node attributes are kept.

        >>> import networkx as nx
        >>> EdgeList.from_networkx(nx.path_graph(4))
        EdgeList(n_nodes=4, n_edges=3, total_weight=3)

        Parameters
        ----------
        graph : networkx.Graph or networkx.MultiGraph
        weight : str
            Edge attribute with the weight. Edges without it have weight 1.
        """
        _check_undirected(graph, "networkx", fix="graph.to_undirected()")
        names = list(graph)
        number_of_name = {name: node for node, name in enumerate(names)}
        edges = graph.edges(data=weight, default=1.0)
        tail, head, weights = _number_ends(edges, number_of_name)
        attributes = [row for _, row in graph.nodes(data=True)]
        ids = with_attributes(as_ids(names), attributes)
        return cls._from_appearance_order(tail, head, _as_weights(weights, weight), ids)

    @classmethod
    def from_igraph(cls, graph: igraph.Graph, *, weight: str = "weight") -> Self:
        """Build from an undirected igraph graph; its vertex attributes are kept.

        The vertex attribute `name` gives the ids. Without it, nodes are numbers.

        Parameters
        ----------
        graph : igraph.Graph
        weight : str
            Edge attribute with the weight. Without it, all edges have weight 1.
        """
        _check_undirected(graph, "igraph", fix="graph.as_undirected()")
        columns = {name: graph.vs[name] for name in graph.vs.attributes()}
        names = columns.pop("name", list(range(graph.vcount())))
        if len(set(names)) < len(names):
            raise InputError("two vertices of the igraph graph have one name; rename one")
        rows = zip(*columns.values(), strict=True)
        attributes = [dict(zip(columns, row, strict=True)) for row in rows]
        ids = with_attributes(as_ids(names), attributes)
        weights = None
        if weight in graph.es.attributes():
            weights = _as_weights(graph.es[weight], weight)
        ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
        return cls._from_appearance_order(ends[:, 0], ends[:, 1], weights, ids)

    @property
    def n_edges(self) -> int:
        """Number of edges. Each of several parallel edges is counted."""
        return self.tail.size

    @cached_property
    def ids(self) -> np.ndarray:
        """The user's own name of each node, shape (n_nodes,)."""
        if self.node_ids is None:
            return _read_only(np.arange(self.n_nodes), np.int64)
        # The object of ids may have more entries: later batches of the source share it.
        ids = np.asarray(self.node_ids)[: self.n_nodes]
        return _read_only(ids, ids.dtype)

    @property
    def has_explicit_order(self) -> bool:
        """Whether position i of an array refers to node i: with `ids=`, or without ids.

        Nodes of files, tables, networkx and igraph graphs are numbered as they appear instead.

        >>> EdgeList(tail=[0], head=[1], ids=["ann", "bob"]).has_explicit_order
        True
        >>> EdgeList.from_pairs([("ann", "bob")]).has_explicit_order
        False
        """
        return has_explicit_order(self.node_ids)

    @property
    def node_attributes(self) -> list[dict[str, Any]] | None:
        """Attributes of each node if the graph was converted from one with attributes."""
        return node_attributes(self.node_ids)

    def in_id_order(self) -> Self:
        """Return the same graph with node i numbered i, if the ids are exactly 0, ..., n_nodes - 1.

        With other ids, return the graph itself. Graphs that are converted (from files, tables,
        networkx, igraph) or returned by `sparsify` are in this order already.

        >>> path = EdgeList(tail=[0, 1], head=[1, 2], ids=[2, 0, 1])
        >>> path.tail, path.in_id_order().tail
        (array([0, 1], dtype=int32), array([2, 0], dtype=int32))
        """
        numbers = as_permutation(self.node_ids, self.n_nodes)
        if numbers is None:
            return self
        ids = np.arange(self.n_nodes)
        if self.has_explicit_order and np.array_equal(numbers, ids):
            return self
        if self.node_attributes is not None:
            # Attributes are listed by node and move to its new number.
            node_of_id = np.argsort(numbers)
            ids = with_attributes(ids, [self.node_attributes[node] for node in node_of_id])
        return self._replace(
            tail=_read_only(numbers[self.tail], self.tail.dtype),
            head=_read_only(numbers[self.head], self.head.dtype),
            node_ids=with_explicit_order(ids),
        )

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Return the symmetric adjacency matrix (CSR), parallel edges summed."""
        shape = (self.n_nodes, self.n_nodes)
        half = scipy.sparse.coo_array((self.weight, (self.tail, self.head)), shape=shape).tocsr()
        return (half + half.T).tocsr()

    def to_networkx(self) -> networkx.Graph:
        """Return a `networkx.Graph` over the user's ids, parallel edges summed into `weight`.

        >>> import networkx as nx
        >>> graph = nx.Graph([("ann", "bob")])
        >>> graph.nodes["ann"]["age"] = 31
        >>> EdgeList.from_networkx(graph).to_networkx().nodes["ann"]
        {'age': 31}
        """
        import networkx as nx

        # A networkx.Graph would keep the last of several parallel edges.
        simple = self.simplified()
        names = self.ids.tolist()
        graph = nx.Graph()
        graph.add_nodes_from(zip(names, self._attribute_rows(), strict=True))
        columns = (simple.tail.tolist(), simple.head.tolist(), simple.weight.tolist())
        rows = zip(*columns, strict=True)
        graph.add_weighted_edges_from((names[u], names[v], weight) for u, v, weight in rows)
        return graph

    def to_igraph(self) -> igraph.Graph:
        """Return an `igraph.Graph`, parallel edges summed into `weight`.

        Vertices have the attribute `name`, unless nodes are plain numbers.
        """
        try:
            import igraph
        except ModuleNotFoundError:
            raise InputError("igraph is not installed: pip install igraph") from None
        simple = self.simplified()
        rows = self._attribute_rows()
        columns = {} if self.node_ids is None else {"name": simple.ids.tolist()}
        # igraph stores a column per attribute; nodes without it get None.
        for name in sorted({name for row in rows for name in row}):
            columns[name] = [row.get(name) for row in rows]
        return igraph.Graph(
            n=simple.n_nodes,
            edges=np.column_stack([simple.tail, simple.head]),
            edge_attrs={"weight": simple.weight.tolist()},
            vertex_attrs=columns,
        )

    def _attribute_rows(self):
        """Return a copy of the attributes of each node, empty if there are none."""
        return [dict(row) for row in self.node_attributes or [{}] * self.n_nodes]

    def _number_of_id(self):
        return {name: node for node, name in enumerate(self.ids.tolist())}

    def _columns(self):
        return {
            "source": self.ids[self.tail],
            "target": self.ids[self.head],
            "weight": self.weight,
        }

    def laplacian(self) -> scipy.sparse.csr_array:
        """Return L = D - A as a CSR matrix with sorted indices."""
        laplacian = (scipy.sparse.diags_array(self.degrees()) - self.to_scipy()).tocsr()
        laplacian.sort_indices()
        return laplacian

    def incidence(self) -> scipy.sparse.csr_array:
        """Return B of shape (n_edges, n_nodes) with rows b_e, so that L = B^T diag(weight) B."""
        row = np.tile(np.arange(self.n_edges), 2)
        column = np.concatenate([self.tail, self.head])
        sign = np.repeat([1.0, -1.0], self.n_edges)
        shape = (self.n_edges, self.n_nodes)
        return scipy.sparse.coo_array((sign, (row, column)), shape=shape).tocsr()

    def degrees(self) -> np.ndarray:
        """Return the weighted degree of every node.

        >>> EdgeList(tail=[0, 0], head=[1, 2], weight=[1.0, 4.0]).degrees()
        array([5., 1., 4.])
        """
        from_head = np.bincount(self.head, self.weight, self.n_nodes)
        from_tail = np.bincount(self.tail, self.weight, self.n_nodes)
        # For a graph without edges bincount returns integers; adding 0.0 makes them floats.
        return from_head + from_tail + 0.0

    def components(self) -> np.ndarray:
        """Return the connected component of each node, numbered in order of their first nodes.

        >>> EdgeList(tail=[1], head=[2], n_nodes=4).components()
        array([0, 1, 1, 2], dtype=int32)
        """
        nodes = make_sets(self.n_nodes)
        parent = nodes.copy()
        union_edges(parent, self.tail, self.head)
        first_node = find_all(parent)
        # A node is the first of its component if it is its own root.
        number = np.cumsum(first_node == nodes, dtype=nodes.dtype) - 1
        return number[first_node]

    def simplified(self) -> EdgeList:
        """Return the graph with parallel edges summed, tail < head, sorted by (tail, head).

        >>> twice = EdgeList(tail=[0, 1], head=[1, 0], weight=[1.0, 2.0])
        >>> twice.simplified().weight
        array([3.])
        """
        # With one direction per edge, parallel edges are the same matrix entry.
        low = np.minimum(self.tail, self.head)
        high = np.maximum(self.tail, self.head)
        shape = (self.n_nodes, self.n_nodes)
        upper = scipy.sparse.coo_array((self.weight, (low, high)), shape=shape).tocsr()
        upper.sum_duplicates()
        upper = upper.tocoo()
        return EdgeList.from_validated(
            upper.row, upper.col, upper.data, self.n_nodes, self.node_ids
        )

    def part(self, start: int, stop: int | None = None) -> EdgeList:
        """Return edges start, ..., stop - 1 on the same nodes, as views."""
        return EdgeList.from_validated(
            self.tail[start:stop],
            self.head[start:stop],
            self.weight[start:stop],
            self.n_nodes,
            self.node_ids,
        )

    def batches(self) -> Iterator[EdgeList]:
        """Yield the graph itself, as the only batch of a stream."""
        yield self

    def __len__(self) -> int:
        return self.n_edges

    def __bool__(self) -> bool:
        # A graph without edges is still a graph.
        return True

    def __iter__(self) -> Iterator[tuple[Any, Any, float]]:
        """Iterate over the edges, as tuples (source id, target id, weight).

        >>> list(EdgeList.from_pairs([("ann", "bob"), ("bob", "cy", 2.5)]))
        [('ann', 'bob', 1.0), ('bob', 'cy', 2.5)]
        """
        columns = (column.tolist() for column in self._columns().values())
        return zip(*columns, strict=True)

    @property
    def edges(self) -> polars.DataFrame:
        """The edges as a data frame with the columns source, target and weight.

        >>> EdgeList.from_pairs([("ann", "bob"), ("bob", "cy", 2.5)]).edges.rows()
        [('ann', 'bob', 1.0), ('bob', 'cy', 2.5)]
        """
        return self.to_polars()

    @property
    def nodes(self) -> np.ndarray:
        """The ids of the nodes, under the name that networkx has for them."""
        return self.ids

    @property
    def weights(self) -> np.ndarray:
        """The weights of the edges, in the order of `edges`."""
        return self.weight

    def __contains__(self, item: object) -> bool:
        # Python would look among the edges with their weights, and not find a node or a pair.
        raise InputError(
            f"`{item!r} in H` may mean a node or an edge; use `{item!r} in H.nodes` or "
            "`H.to_networkx().has_edge(u, v)`"
        )

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same graph: same node ids, and same weights of all edges.

        Order of nodes and edges does not matter, and parallel edges are summed.

        >>> path = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")])
        >>> path == EdgeList.from_pairs([("cy", "bob"), ("bob", "ann")])
        True
        """
        if not isinstance(other, EdgeList):
            return NotImplemented
        if self is other:
            return True
        if self.n_nodes != other.n_nodes:
            return False
        number_of_id = self._number_of_id()
        numbers = np.array([number_of_id.get(name, -1) for name in other.ids.tolist()], dtype=int)
        if (numbers < 0).any():
            return False
        renumbered = other._replace(tail=numbers[other.tail], head=numbers[other.head])
        ours = self.simplified()
        theirs = renumbered.simplified()
        return all(
            np.array_equal(getattr(ours, name), getattr(theirs, name))
            for name in ("tail", "head", "weight")
        )

    def __hash__(self) -> int:
        # Equal graphs have equally many nodes; their edges may be in any order.
        return hash(self.n_nodes)

    def __getitem__(self, ids: Any) -> EdgeList:
        """Return the subgraph of some nodes, given by their ids: the edges between them.

        >>> path = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy"), ("cy", "dan")])
        >>> list(path[["cy", "bob"]])
        [('bob', 'cy', 1.0)]

        Parameters
        ----------
        ids : list or array of node ids
            The nodes of the subgraph, in this order.
        """
        if isinstance(ids, slice):
            raise InputError(
                "a graph is indexed by a list of node ids; for rows of edges use H.edges["
                f"{_slice_text(ids)}], where H is the graph"
            )
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            raise InputError(
                f"a graph is indexed by a list of node ids: use H[[{ids!r}]], where H is the "
                "graph; for one edge use H.edges.row(i)"
            )
        names = as_ids(ids.tolist() if isinstance(ids, np.ndarray) else list(ids))
        number_of_id = self._number_of_id()
        absent = [name for name in names.tolist() if name not in number_of_id]
        if absent:
            raise InputError(f"node {absent[0]!r} is not in the graph; see H.nodes for its nodes")
        if len(set(names.tolist())) < len(names):
            raise InputError("a node is listed twice; list each node once")
        nodes = np.array([number_of_id[name] for name in names.tolist()], dtype=np.int64)
        number = np.full(self.n_nodes, -1)
        number[nodes] = np.arange(nodes.size)
        tail = number[self.tail]
        head = number[self.head]
        is_inside = (tail >= 0) & (head >= 0)
        if self.node_attributes is not None:
            names = with_attributes(names, [self.node_attributes[node] for node in nodes])
        return EdgeList.from_validated(
            tail[is_inside],
            head[is_inside],
            self.weight[is_inside],
            nodes.size,
            with_explicit_order(names),
        )

    def save(self, path: str | Path) -> None:
        """Write the edges to a file, in the format that its suffix determines.

        `write_edges` has more options, and lists the formats.

        Parameters
        ----------
        path : str or Path
        """
        # Imported here: files are written in a layer above this one.
        import graphsqueak

        graphsqueak.write_edges(self, path)

    def plot(
        self,
        *,
        color: Any = None,
        other: Any = None,
        positions: Any = None,
        random_state: Any = None,
    ) -> Any:
        """Draw the graph, of at most 5,000 nodes; arguments are those of `analysis.draw`."""
        # Imported here: the layout is computed in a layer above this one.
        import graphsqueak

        return graphsqueak.analysis.draw(
            self, color=color, other=other, positions=positions, random_state=random_state
        )

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


def _slice_text(rows):
    """Return a slice as it was typed.

    >>> _slice_text(slice(None, 10))
    ':10'
    """
    start, stop, step = (
        "" if end is None else str(end) for end in (rows.start, rows.stop, rows.step)
    )
    return f"{start}:{stop}" + (f":{step}" if step else "")


def _read_only(array, dtype):
    # A view, so that an array of the caller stays writable.
    array = np.ascontiguousarray(array, dtype=dtype).view()
    array.flags.writeable = False
    return array


def _number_ends(pairs, number_of_name):
    """Return tails, heads and weights of tuples of names; new names get the next numbers."""
    tail = []
    head = []
    weight = []
    for index, pair in enumerate(pairs):
        if len(pair) not in (2, 3):
            raise InputError(
                f"pair {index} has {len(pair)} entries; give (source, target) or "
                "(source, target, weight)"
            )
        tail.append(number_of_name.setdefault(pair[0], len(number_of_name)))
        head.append(number_of_name.setdefault(pair[1], len(number_of_name)))
        weight.append(pair[2] if len(pair) == 3 else 1.0)
    return tail, head, weight


def _as_weights(values, attribute):
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"the edge attribute {attribute!r} is not a number everywhere; choose another (",
            Parameter("weight"),
            ")",
        ) from None


def _check_undirected(graph, library, *, fix):
    if graph.is_directed():
        raise InputError(
            f"the {library} graph is directed; call {fix} first, or add the weights of both "
            "directions yourself"
        )
