"""Means over neighbors, P X = D^-1 A X, of a graph in memory, in a file or of pairs.

A node without neighbors is its own. In memory P is a sparse matrix. Of a stream every product is
one pass over the edges; the first one counts the degrees, too, so that k hops take k passes. A
projection of an entity-attribute table has an exact product of its own (`sources.projections`).
"""

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import with_explicit_order
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sources.tables import is_table

__all__ = ["Neighborhood", "split_features"]


def split_features(features: Any, ids: ArrayLike | None) -> tuple[Any, ArrayLike | None]:
    """The features alone, and the node of each row; None if rows go by position.

    The nodes are `ids` or, if it is None, the column node of a table or the index of a pandas
    frame. An index 0, 1, 2, ... is that of a frame without one: its rows go by position.

    >>> import pandas as pd
    >>> split_features(pd.DataFrame({"age": [31, 25]}, index=["ann", "bob"]), None)[1].tolist()
    ['ann', 'bob']
    >>> table = pd.DataFrame({"node": ["bob", "ann"], "age": [25, 31]})
    >>> features, ids = split_features(table, None)
    >>> features.columns.tolist(), ids.tolist()
    (['age'], ['bob', 'ann'])
    """
    is_pandas = hasattr(features, "iloc")
    if is_table(features) and "node" in _column_names(features):
        if ids is not None:
            raise InputError("features have a column node, and ids= is given; pass one of them")
        nodes = np.asarray(features["node"])
        rest = features.drop(columns="node") if is_pandas else features.drop("node")
        return rest, nodes
    if ids is not None or not is_pandas:
        return features, ids
    index = features.index.to_numpy()
    return features, None if np.array_equal(index, np.arange(len(index))) else index


def _column_names(table):
    return list(table.column_names if hasattr(table, "column_names") else table.columns)


class Neighborhood:
    """The nodes of a graph in the order of a table of features, and means over their neighbors.

    Parameters
    ----------
    graph : EdgeList, EdgeSource, scipy adjacency matrix or networkx graph
    n_rows : int
        Rows of the table, one for every node.
    ids : array of shape (n_rows,), optional
        The node of each row. Needed if the nodes have ids, unless these are exactly 0, ...,
        n_rows - 1, or were listed by the caller (`graphsqueak.ssl.alignment`).

    Attributes
    ----------
    names : EdgeList
        All nodes, in the order of the rows, and no edge.
    is_held : bool
        Whether the graph is in memory.

    Examples
    --------
    >>> path = EdgeList(tail=[0, 1], head=[1, 2])
    >>> Neighborhood(path, 3).means(np.array([[1.0], [0.0], [3.0]])).ravel()
    array([0., 2., 0.])
    """

    def __init__(self, graph: GraphLike, n_rows: int, ids: ArrayLike | None = None) -> None:
        source = as_stream(graph)
        self.is_held = isinstance(source, EdgeList)
        self.source: Any = source.in_id_order() if isinstance(source, EdgeList) else source
        if not self.source.is_rereadable:
            raise InputError("a pipe can be read once only; write it to a file first")
        self._are_rows_numbers = False  # of nodes of a stream whose ids are integers
        self.names = EdgeList.from_validated([], [], [], n_rows, self._row_ids(n_rows, ids))
        self._laplacian = StreamedLaplacian(self.source, self.names)
        self._matrix: Any = None
        self._degrees: Any = None

    def _row_ids(self, n_rows, ids):
        """The node of each row, as `EdgeList.node_ids`."""
        if ids is not None:
            ids = with_explicit_order(ids)
            if len(ids) != n_rows:
                raise InputError(f"{len(ids)} ids for {n_rows} rows of features")
            if len(set(ids.tolist())) < n_rows:
                raise InputError("two rows of features are about one node; give each node one row")
            return ids
        if self.is_held:
            nodes = self.source
        else:
            nodes = next(iter(self.source), EdgeList.from_validated([], [], [], 0))
        if not nodes.has_explicit_order:
            # The ids of a stream are known when it has been read: `_first_pass` checks them all.
            some_ids = nodes.ids
            may_be_numbers = some_ids.dtype.kind in "iu" and bool(
                ((some_ids >= 0) & (some_ids < n_rows)).all()
            )
            if self.is_held or not may_be_numbers:
                hint = f" (ids=range({n_rows}) if row i is about the node with id i)"
                raise InputError(
                    f"the nodes of this graph have ids (such as {some_ids.tolist()[0]!r}): say "
                    f"which node each row of features is about, by ids=...{hint * may_be_numbers}"
                    ", a column node, or the index of a data frame"
                )
            self._are_rows_numbers = True
            return None
        if self.is_held and nodes.n_nodes != n_rows:
            raise InputError(
                f"{n_rows} rows of features for {nodes.n_nodes} nodes: give a row for every "
                "node, in the order of the graph, or ids=..."
            )
        if nodes.node_ids is not None and len(nodes.node_ids) != n_rows:
            raise InputError(f"{n_rows} rows of features for {len(nodes.node_ids)} nodes")
        return nodes.node_ids

    def held(self) -> EdgeList:
        """The graph on the nodes in the order of the rows, where it is in memory."""
        if (
            self.source.node_ids is self.names.node_ids
            and self.source.n_nodes == self.names.n_nodes
        ):
            return self.source
        tail, head, weight = next(self._edges())
        return EdgeList.from_validated(tail, head, weight, self.names.n_nodes, self.names.node_ids)

    def means(self, X: np.ndarray) -> np.ndarray:
        """P X for X of shape (n_rows, K): in memory a product, of a stream one pass.

        Parameters
        ----------
        X : ndarray
        """
        if self.is_held:
            if self._matrix is None:
                self._matrix = self.held().to_scipy().tocsr()
                self._degrees = np.asarray(self._matrix.sum(axis=1)).ravel()
            return self._scaled(self._matrix @ X, X)
        if self._degrees is None:
            sums = self._first_pass(X)
            if not hasattr(self.source, "multiply"):
                return self._scaled(sums, X)
        sums = self._degrees[:, None] * X - self._laplacian.multiply(X)
        return self._scaled(sums, X)

    def spread(self, blocks: list, n_hops: int, gammas: tuple) -> list:
        """For each gamma the blocks after walks that stop with probability 1 - gamma a step.

        Parameters
        ----------
        blocks : list of ndarrays with n_rows rows
        n_hops : int
            Most steps of a walk: products, of all blocks together.
        gammas : tuple of float
        """
        width = [block.shape[1] for block in blocks]
        power = np.column_stack(blocks)
        sums = [(1 - gamma) * power for gamma in gammas]
        for hop in range(1, n_hops + 1):
            power = self.means(power)
            for total, gamma in zip(sums, gammas, strict=True):
                total += (1.0 if hop == n_hops else 1 - gamma) * gamma**hop * power
        return [np.split(total, np.cumsum(width)[:-1], axis=1) for total in sums]

    def _scaled(self, sums, X):
        degrees = self._degrees[:, None]
        return np.where(degrees > 0, sums / np.where(degrees > 0, degrees, 1.0), X)

    def _first_pass(self, X):
        """A X, and the degrees beside it."""
        n_rows = self.names.n_nodes
        degrees, sums = np.zeros(n_rows), np.zeros(X.shape)
        for tail, head, weight in self._edges():
            part = scipy.sparse.csr_array((weight, (tail, head)), shape=(n_rows, n_rows))
            sums += part @ X + part.T @ X
            degrees += np.bincount(tail, weight, n_rows) + np.bincount(head, weight, n_rows)
        if self._are_rows_numbers and self.source.n_nodes != n_rows:
            raise InputError(
                f"{n_rows} rows of features for {self.source.n_nodes} nodes, whose ids are not "
                f"exactly 0, ..., {n_rows - 1}: say which node each row is about (ids=...; "
                f"ids=range({n_rows}) if row i is about the node with id i)"
            )
        self._degrees = degrees
        return sums

    def _edges(self):
        try:
            yield from self._laplacian.edges()
        except InputError as error:
            if "is not in the sparsifier" not in str(error):
                raise
            name = str(error).split(" of the graph")[0]
            raise InputError(f"{name} of the graph has no row of features; add one") from None
