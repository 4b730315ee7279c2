"""Cross-validation folds on a graph: labels are hidden, the graph stays whole.

scikit-learn's splitters select rows of a matrix. Without some rows of an adjacency matrix, their
edges are missing as well, so that the score is that of a sparser graph. Here every fold has all
nodes and all edges, and only the labels of its test nodes are hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from graphsqueak.errors import InputError, Parameter
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import as_edge_list
from graphsqueak.ssl.alignment import Labels, is_series, split_by_id
from graphsqueak.ssl.labels import class_labels, is_missing, is_unlabeled
from graphsqueak.ssl.selection.graph_nodes import GraphNodes
from graphsqueak.validation import check_count

__all__ = ["GraphSplit"]


class GraphSplit(BaseCrossValidator):
    """Cross-validation splitter of the labeled nodes of a graph.

    Use it as the `cv` of scikit-learn's `cross_val_score` or `GridSearchCV`, with
    `GraphNodes(graph)` as X. Nodes without a label are in no fold.

    Parameters
    ----------
    n_splits : int
        Number of folds, at least 2.
    stratify : bool
        Whether every fold has about the same fraction of each class, or, for regression, similar
        values. A class with a single label is in all training sets and in no test set, since a
        model cannot predict a class that it was not fitted to.
    random_state : int, Generator or None
        Seed of the assignment of labels to folds.

    Examples
    --------
    >>> y = [0, 0, 1, 1, -1, -1]
    >>> for train, test in GraphSplit(n_splits=2, random_state=7).split(None, y):
    ...     print(train, test)
    [1 3] [0 2]
    [0 2] [1 3]
    """

    def __init__(
        self, n_splits: int = 5, *, stratify: bool = True, random_state: RandomState = None
    ) -> None:
        self.n_splits = n_splits
        self.stratify = stratify
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds; the arguments are ignored."""
        return check_count("n_splits", self.n_splits, least=2)

    def split(
        self, X: Any, y: Labels | None = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the training nodes and the test nodes of each fold.

        Parameters
        ----------
        X : graph, or None
            Needed if y is a mapping: the graph whose nodes it labels. Nodes are numbered as
            `graphsqueak.ssl.alignment` describes.
        y : array of shape (n_nodes,), or mapping from node ids to labels
            -1 (or NaN, None, "") where there is no label; NaN if y has fractions, which are values
            of regression. Without a graph, and with `GraphNodes`, a Series is matched by position.
        groups : None
            Not used.
        """
        n_splits = self.get_n_splits()
        nodes, values = _labeled(y, X)
        rng = np.random.default_rng(self.random_state)
        order = rng.permutation(nodes.size)
        if self.stratify:
            # Consecutive labels are of the same class, or of similar values, and go to different
            # folds.
            order = order[np.argsort(values[order], kind="stable")]
            if values.dtype.kind == "i":
                order = order[np.bincount(values)[values[order]] > 1]
        if order.size < n_splits:
            raise InputError(
                Parameter("n_splits", n_splits),
                f" needs as many labels that can be hidden, and y has {order.size}; give "
                "fewer splits, or more labels",
            )
        fold = np.full(nodes.size, -1)
        fold[order] = np.arange(order.size) % n_splits
        for number in range(n_splits):
            yield nodes[fold != number], nodes[fold == number]


def _labeled(y, X):
    """Return the labeled nodes, ascending, and the numbers of their classes or their values."""
    if y is None:
        raise InputError("GraphSplit needs y: a label per node, -1 where there is none")
    names, values = split_by_id(y)
    # The tools of scikit-learn select rows of X and of y.
    selects_rows = X is None or hasattr(X, "shape")
    if names is not None and not (is_series(y) and selects_rows):
        if X is None:
            raise InputError(
                "labels by id need the graph: give split(graph, y) the graph, or y as an array"
            )
        graph = X.graph if isinstance(X, GraphNodes) else as_edge_list(X).in_id_order()
        labels = class_labels(y, graph)
        return labels.nodes, labels.code
    if isinstance(X, GraphNodes):
        values = X.values(y)
    values = np.asarray(values)
    hidden = is_missing(values)
    is_real = values.dtype.kind == "f" and bool((values[~hidden] % 1 != 0).any())
    nodes = np.flatnonzero(~(hidden if is_real else is_unlabeled(values)))
    if nodes.size == 0:
        raise InputError("y labels no node at all; label at least one")
    if is_real:
        return nodes, values[nodes]
    texts = values[nodes].astype(str) if values.dtype.kind == "O" else values[nodes]
    return nodes, np.unique(texts, return_inverse=True)[1]
