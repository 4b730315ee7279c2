"""Nodes of a graph as samples, for the tools of scikit-learn that select rows of X.

Selected rows of an adjacency matrix lose their edges to other rows. A `GraphNodes` keeps the whole
graph, and selects nodes.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.ssl.alignment import ambiguous_order, split_by_id

__all__ = ["GraphNodes", "cut_error"]


class GraphNodes:
    """The nodes of a graph as samples, a row per node.

    Use it as the X of scikit-learn's `cross_val_score`, `GridSearchCV` and `learning_curve`, which
    select rows of X and of y. The selected rows are nodes of the same, whole graph. A classifier
    that is fitted to some nodes and their labels uses the whole graph and these labels only, and
    predicts the nodes that are passed to `predict`.

    Parameters
    ----------
    graph : any graph that `sparsify` takes
        Loaded into memory, since models are fitted to it many times.
    nodes : array of int, optional
        Numbers of the nodes. Default: all.

    Attributes
    ----------
    graph : EdgeList
    nodes : ndarray
    ids : ndarray
        Ids of these nodes. If `y` is a Series, its index must be the ids in this order:
        `labels.reindex(nodes.ids)`. An array is matched by position, by the rule of
        `graphsqueak.ssl.alignment`.
    shape : tuple of one int

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from graphsqueak.datasets import load_karate
    >>> from graphsqueak.ssl import GraphSplit, HFSClassifier
    >>> y = np.full(34, -1)
    >>> y[[0, 1, 2, 3, 8, 30, 32, 33]] = 0, 0, 0, 0, 1, 1, 1, 1
    >>> folds = GraphSplit(n_splits=4, random_state=7)
    >>> cross_val_score(HFSClassifier(), GraphNodes(load_karate()), y, cv=folds)
    array([1., 1., 1., 1.])
    """

    def __init__(self, graph: GraphLike, nodes: Any = None) -> None:
        self.graph: EdgeList = as_edge_list(graph).in_id_order()
        self.nodes = np.arange(self.graph.n_nodes) if nodes is None else np.asarray(nodes)
        self.shape = self.nodes.shape

    @property
    def ids(self) -> np.ndarray:
        """Ids of these nodes."""
        return self.graph.ids[self.nodes]

    def __len__(self) -> int:
        return self.nodes.size

    def __getitem__(self, rows: Any) -> GraphNodes:
        """Return the selected nodes of the same graph."""
        # The graph is shared, not copied.
        selected = copy.copy(self)
        selected.nodes = np.atleast_1d(self.nodes[rows])
        selected.shape = selected.nodes.shape
        return selected

    def __repr__(self) -> str:
        return f"<{self.nodes.size} nodes of {self.graph!r}>"

    def values(self, given: Any, name: str = "y") -> np.ndarray:
        """Return values for these nodes, in their order.

        Parameters
        ----------
        given : array, or Series or table with the ids of these nodes in their order
        name : str
            Name of the argument, for messages.
        """
        names, values = split_by_id(given, name)
        # Rows are in the order of the graph, which the caller must have determined.
        if names is None and not self.graph.has_explicit_order:
            raise ambiguous_order(name, len(values), self.graph.ids[:1].tolist()[0])
        if len(values) != self.nodes.size:
            raise InputError(f"{name} has shape ({len(values)},) for {self.nodes.size} nodes")
        if names is not None and names != self.ids.tolist():
            raise InputError(
                f"{name} lists other nodes than X, or in another order, and scikit-learn selects "
                f"rows of both; pass {name}.reindex(X.ids), with X = GraphNodes(graph)"
            )
        return values

    def by_id(self, given: Any, name: str = "y") -> dict:
        """Return values for these nodes, as a mapping from their ids.

        Parameters
        ----------
        given, name
            As in `values`.
        """
        # Masked entries become None.
        values = np.ma.asarray(self.values(given, name)).tolist()
        return dict(zip(self.ids.tolist(), values, strict=True))


def cut_error(shape: tuple) -> InputError:
    """Return the error for rows that were selected from an adjacency matrix."""
    return InputError(
        f"X has shape {shape}, and an adjacency matrix is square. If cross-validation cut it: "
        "without their rows nodes lose their edges; hide labels instead, by "
        "cross_val_score(model, GraphNodes(graph), y, cv=GraphSplit()), both of graphsqueak.ssl"
    )
