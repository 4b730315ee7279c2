"""Means over neighbors, P X = D^-1 A X, for features that are matched to nodes by row.

P is the transition matrix of the random walk; a node without neighbors is its own neighbor. For a
graph in memory P X is a sparse matrix product. For a stream, each product is one pass over the
edges. The first pass also counts the degrees, so that k products take k passes. A source with a
product of its own, such as an entity-attribute table, is multiplied exactly, without its edges.

If X is sparse, so is P X: `limit_row_entries` keeps it so after many steps.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import with_explicit_order
from graphsqueak.nodes.numbering import NodeMatching
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sources.tables import is_table

__all__ = ["Neighborhood", "limit_row_entries", "split_features"]

# Columns of sparse features that are multiplied at a time by a source with a product of its own,
# which needs a dense block: 8 bytes per node and column.
COLUMNS_PER_DENSE_BLOCK = 256


def split_features(features: Any, ids: ArrayLike | None) -> tuple[Any, ArrayLike | None]:
    """Separate the features from the column or index that says which node each row describes.

    Parameters
    ----------
    features : array, data frame or sparse matrix of shape (n_nodes, n_features)
    ids : array of shape (n_nodes,), optional
        The node of each row.

    Returns
    -------
    features : array, data frame or sparse matrix
    ids : array or None
        `ids` or, if it is None, the column node of a table or the index of a pandas frame. None if
        rows are matched by position; a pandas index 0, 1, 2, ... is a default, not a choice.

    Examples
    --------
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
        without_nodes = features.drop(columns="node") if is_pandas else features.drop("node")
        return without_nodes, nodes
    if ids is not None or not is_pandas:
        return features, ids
    # A default index does not name nodes.
    index = features.index.to_numpy()
    return features, None if np.array_equal(index, np.arange(len(index))) else index


def _column_names(table):
    return list(table.column_names if hasattr(table, "column_names") else table.columns)


class Neighborhood:
    """Averages over neighbors in a graph whose nodes are the rows of a table of features.

    Parameters
    ----------
    graph : GraphLike
    n_rows : int
        Number of rows of the table, one per node.
    ids : array of shape (n_rows,), optional
        The node of each row. Required if the nodes have ids, unless these are exactly 0, ...,
        n_rows - 1, or were listed by the caller (`graphsqueak.ssl.alignment`).

    Attributes
    ----------
    source : EdgeList or EdgeSource
    is_in_memory : bool
        Whether `source` is an `EdgeList`.
    nodes : EdgeList
        The nodes in the order of the rows, without edges.

    Examples
    --------
    >>> path = EdgeList(tail=[0, 1], head=[1, 2])
    >>> Neighborhood(path, 3).means(np.array([[1.0], [0.0], [3.0]])).ravel()
    array([0., 2., 0.])
    """

    def __init__(self, graph: GraphLike, n_rows: int, ids: ArrayLike | None = None) -> None:
        source = as_stream(graph)
        self.is_in_memory = isinstance(source, EdgeList)
        self.source: Any = source.in_id_order() if isinstance(source, EdgeList) else source
        if not self.source.is_rereadable:
            raise InputError("a pipe can be read only once; write it to a file first")
        row_ids, self._is_position_id = self._match_rows(n_rows, ids)
        self.nodes = EdgeList.from_validated([], [], [], n_rows, row_ids)
        self._laplacian = StreamedLaplacian(self.source, self.nodes)
        self._adjacency: Any = None
        self._degrees: Any = None

    def _match_rows(self, n_rows, ids):
        """Return the id of the node of each row, and whether it is assumed to be the position.

        The first is in the form of `EdgeList.node_ids`. The integer ids of a stream are known when
        it has been read once: `_read_degrees` checks the assumption.
        """
        if ids is not None:
            ids = with_explicit_order(ids)
            if len(ids) != n_rows:
                raise InputError(f"{len(ids)} ids for {n_rows} rows of features")
            if len(set(ids.tolist())) < n_rows:
                raise InputError("two rows of features are about one node; give each node one row")
            return ids, False
        first = self.source
        if not self.is_in_memory:
            # The first batch shows what kind of ids the stream has.
            first = next(self.source.batches(), EdgeList.from_validated([], [], [], 0))
        if first.has_explicit_order:
            n_nodes = first.n_nodes if first.node_ids is None else len(first.node_ids)
            # More nodes may follow in a stream without ids.
            is_complete = self.is_in_memory or first.node_ids is not None
            if is_complete and n_nodes != n_rows:
                raise InputError(
                    f"{n_rows} rows of features for {n_nodes} nodes: give a row for every "
                    "node, in the order of the graph, or ids=..."
                )
            return first.node_ids, False
        some_ids = first.ids
        may_be_positions = some_ids.dtype.kind in "iu" and bool(
            ((some_ids >= 0) & (some_ids < n_rows)).all()
        )
        if may_be_positions and not self.is_in_memory:
            return None, True
        hint = _range_hint(n_rows) if may_be_positions else ""
        raise InputError(
            f"the nodes of this graph have ids (such as {some_ids.tolist()[0]!r}): say which node "
            f"each row of features is about, by ids=...{hint}, a column node, or the index of a "
            "data frame"
        )

    def to_edge_list(self) -> EdgeList:
        """Return a graph in memory with its nodes in the order of the rows."""
        # Without ids given, the rows are the nodes of the source.
        is_same_order = self.source.node_ids is self.nodes.node_ids
        if is_same_order and self.source.n_nodes == self.nodes.n_nodes:
            return self.source
        return self.renumber(self.source)[0]

    def renumber(self, graph: EdgeList) -> tuple[EdgeList, np.ndarray]:
        """Return `graph` with its nodes in the order of the rows, and the row of each node.

        Parameters
        ----------
        graph : EdgeList
            The source itself or its sparsifier.
        """
        with _report_missing_rows():
            row = NodeMatching(self.nodes).nodes(graph)
        edges = EdgeList.from_validated(
            row[graph.tail],
            row[graph.head],
            graph.weight,
            self.nodes.n_nodes,
            self.nodes.node_ids,
        )
        return edges, row

    def means(self, X: Any) -> Any:
        """Return P X: a matrix product in memory, one pass over a stream.

        Parameters
        ----------
        X : ndarray or sparse array of shape (n_rows, K)

        Returns
        -------
        ndarray, or sparse array if X is sparse
        """
        if self.is_in_memory:
            if self._adjacency is None:
                self._adjacency = self.to_edge_list().to_scipy().tocsr()
                self._degrees = np.asarray(self._adjacency.sum(axis=1)).ravel()
            sums = self._adjacency @ X
        elif not self.source.is_materialized:
            if self._degrees is None:
                # The edges of such a source are a sample with exact degrees; its product is exact.
                self._read_sums(X[:, :0])
            sums = self._multiply_by_source(X)
        elif self._degrees is None or scipy.sparse.issparse(X):
            sums = self._read_sums(X)
        else:
            sums = self._multiply_dense(X)
        has_neighbors = self._degrees > 0
        inverse = 1 / np.where(has_neighbors, self._degrees, 1.0)
        if scipy.sparse.issparse(X):
            isolated = scipy.sparse.diags_array(np.where(has_neighbors, 0.0, 1.0))
            return (scipy.sparse.diags_array(inverse) @ sums + isolated @ X).tocsr()
        return np.where(has_neighbors[:, None], sums * inverse[:, None], X)

    def _multiply_by_source(self, X):
        """Return A X by the product of the source, which is dense."""
        if not scipy.sparse.issparse(X):
            return self._multiply_dense(X)
        columns = X.tocsc()
        blocks = [
            scipy.sparse.csr_array(self._multiply_dense(columns[:, start:stop].toarray()))
            for start, stop in _column_ranges(X.shape[1])
        ]
        return scipy.sparse.hstack(blocks, format="csr")

    def _multiply_dense(self, X):
        # A X = D X - L X
        with _report_missing_rows():
            return self._degrees[:, None] * X - self._laplacian.multiply(X)

    def _read_sums(self, X):
        """Return A X in one pass over the edges, which also counts the degrees."""
        n_rows = self.nodes.n_nodes
        degrees = np.zeros(n_rows)
        sums = scipy.sparse.csr_array(X.shape) if scipy.sparse.issparse(X) else np.zeros(X.shape)
        with _report_missing_rows():
            for tail, head, weight in self._laplacian.edges():
                part = scipy.sparse.csr_array((weight, (tail, head)), shape=(n_rows, n_rows))
                # Each edge is listed once, and counts in both directions.
                sums = sums + part @ X + part.T @ X
                degrees += np.bincount(tail, weight, n_rows) + np.bincount(head, weight, n_rows)
        if self._is_position_id and self.source.n_nodes != n_rows:
            raise InputError(
                f"{n_rows} rows of features for {self.source.n_nodes} nodes, whose ids are not "
                f"exactly 0, ..., {n_rows - 1}: say which node each row is about "
                f"(ids=...){_range_hint(n_rows)}"
            )
        self._degrees = degrees
        return sums


def limit_row_entries(matrix: Any, *, max_entries: int = 1_000) -> Any:
    """Return a sparse matrix without the smallest entries of its long rows.

    Means over many steps have an entry for nearly each node and column. A row with more than
    `max_entries` entries keeps those that are larger than a fraction 1 / `max_entries` of the sum
    of their absolute values, which are fewer.

    Parameters
    ----------
    matrix : sparse array, or ndarray, which is returned as it is
    max_entries : int

    Examples
    --------
    >>> rows = scipy.sparse.csr_array([[6.0, 1.0, 3.0, 0.0], [0.0, 0.0, 9.0, 1.0]])
    >>> limit_row_entries(rows, max_entries=2).toarray()
    array([[6., 0., 0., 0.],
           [0., 0., 9., 1.]])
    """
    if not scipy.sparse.issparse(matrix):
        return matrix
    matrix = matrix.tocsr(copy=True)
    n_entries = np.diff(matrix.indptr)
    cutoff = abs(matrix).sum(axis=1) / max_entries
    cutoff[n_entries <= max_entries] = 0.0
    matrix.data[abs(matrix.data) < np.repeat(cutoff, n_entries)] = 0.0
    matrix.eliminate_zeros()
    return matrix


def _column_ranges(n_columns):
    starts = range(0, n_columns, COLUMNS_PER_DENSE_BLOCK)
    return [(start, min(start + COLUMNS_PER_DENSE_BLOCK, n_columns)) for start in starts]


def _range_hint(n_rows):
    return f" (ids=range({n_rows}) if row i is about the node with id i)"


@contextmanager
def _report_missing_rows():
    """Report a node without a row as such, not as missing in a sparsifier."""
    try:
        yield
    except InputError as error:
        if "is not in the sparsifier" not in str(error):
            raise
        node = str(error).split(" of the graph")[0]
        raise InputError(f"{node} of the graph has no row of features; add one") from None
