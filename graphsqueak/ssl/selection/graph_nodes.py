"""What users hand in for X and y that is neither a graph nor an array.

GraphNodes   some nodes of a graph that stays whole, for scikit-learn's tools, which pick rows of X
as_labels    labels in the columns of other libraries
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.sources.tables import is_table, table_columns

__all__ = ["GraphNodes", "as_labels", "cut_error"]


class GraphNodes:
    """The nodes of a graph as samples: a row per node, of which one may pick some.

    scikit-learn's `cross_val_score`, `GridSearchCV` and `learning_curve` pick rows of X and of y.
    Picked from an adjacency matrix these lose their edges; picked from here they are nodes of the
    same, whole graph. A classifier that is fitted to some nodes and their labels learns on the
    whole graph from these labels alone, and answers for those that `predict` is given.

    Parameters
    ----------
    graph : any graph that `sparsify` takes
        Held in memory, since it is fitted to again and again.
    nodes : array of int, optional
        Numbers of the nodes. Default: all.

    Attributes
    ----------
    graph : EdgeList
    nodes : ndarray
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
    array([1. , 1. , 0.5, 1. ])
    """

    def __init__(self, graph: GraphLike, nodes: Any = None) -> None:
        self.graph: EdgeList = as_edge_list(graph)
        self.nodes = np.arange(self.graph.n_nodes) if nodes is None else np.asarray(nodes)
        self.shape = self.nodes.shape

    def __len__(self) -> int:
        return self.nodes.size

    def __getitem__(self, picked: Any) -> "GraphNodes":
        """Those nodes of the same graph."""
        return GraphNodes(self.graph, np.atleast_1d(self.nodes[picked]))

    def __repr__(self) -> str:
        return f"<{self.nodes.size} nodes of {self.graph!r}>"

    def spread(self, y: Any, nothing: Any) -> np.ndarray:
        """Labels of these nodes as labels of all; `nothing` is the mark of none."""
        values = np.ma.asarray(as_labels(y))
        if values.shape != self.shape:
            raise InputError(f"y has shape {values.shape} for {self.nodes.size} nodes")
        if values.dtype.kind in "iuf" and isinstance(nothing, int | float):
            spread = np.full(self.graph.n_nodes, nothing, np.result_type(values, type(nothing)))
        else:
            spread = np.full(self.graph.n_nodes, None, dtype=object)
        spread[self.nodes] = values.filled(nothing)
        return spread


def as_labels(y: Any) -> Any:
    """`y` as an array or a mapping, whatever library it comes from.

    A frame has the columns node and label, or two others in this order. A Series is an array; one
    of pandas whose index is not 0, 1, 2, ... goes by its index.

    >>> import polars as pl
    >>> as_labels(pl.DataFrame({"label": ["spam", None], "node": ["ann", "bob"]}))
    {'ann': 'spam', 'bob': None}
    """
    if y is None or isinstance(y, Mapping | np.ndarray | list | tuple):
        return y
    if hasattr(y, "index") and hasattr(y, "iloc") and y.ndim == 1:
        is_by_id = not np.array_equal(y.index, np.arange(len(y)))
        return dict(zip(y.index.tolist(), y.tolist(), strict=True)) if is_by_id else y.to_numpy()
    if not is_table(y) or len(getattr(y, "shape", (0, 0))) == 1:
        return y
    columns = table_columns(y)
    names = [name for name in ("node", "label") if name in columns]
    if len(names) < 2 and len(columns) != 2:
        raise InputError(
            f"y has the columns {', '.join(columns)}; give two, node and label, for example "
            "y[['node', 'label']]"
        )
    node, label = names if len(names) == 2 else columns
    if len(set(columns[node])) < len(columns[node]):
        raise InputError(f"y names a node twice in its column {node!r}; keep one label of each")
    return dict(zip(columns[node], columns[label], strict=True))


def cut_error(shape: tuple) -> InputError:
    """What to say of rows cut out of an adjacency matrix: what to do instead."""
    return InputError(
        f"X has shape {shape}, and an adjacency matrix is square. If cross-validation cut it: "
        "without their rows nodes lose their edges; hide labels instead, by "
        "cross_val_score(model, GraphNodes(graph), y, cv=GraphSplit()), both of graphsqueak.ssl"
    )
