"""NeighborMeans: features of the neighbors beside a node's own, for any model of tables.

    X,  P X,  P^2 X,  ...,     and their spreads, (P^k X^2 - (P^k X)^2)^(1/2),

where P averages over neighbors. Trees on these columns need no homophily: that a fraudster's
neighbors are *unlike* him is as good a sign as any.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsqueak.errors import InputError
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.ssl.features.neighborhood import Neighborhood, split_features
from graphsqueak.validation import check_count

__all__ = ["NeighborMeans"]


class NeighborMeans(TransformerMixin, BaseEstimator):
    """Append the means of the neighbors' features, hop by hop.

    Parameters
    ----------
    hops : int
        How far to look: 2 appends means over neighbors, and over their neighbors.
    spreads : bool
        Append the standard deviations over them, too.

    Attributes
    ----------
    n_features_in_ : int
        Columns of the features.

    Examples
    --------
    >>> import networkx as nx
    >>> NeighborMeans(hops=1).fit_transform([[0.0], [2.0], [4.0]], graph=nx.path_graph(3))
    array([[0., 2., 0.],
           [2., 2., 2.],
           [4., 2., 0.]])
    """

    def __init__(self, *, hops: int = 2, spreads: bool = True) -> None:
        self.hops, self.spreads = hops, spreads

    def fit(self, X: ArrayLike, y: object = None, graph: GraphLike | None = None) -> Self:
        """Count the columns; nothing else is learned.

        Parameters
        ----------
        X : array of shape (n_nodes, n_features)
        y, graph
            Not used.
        """
        check_count("hops", self.hops)
        features, _ = split_features(X, None)
        validate_data(self, features, dtype=np.float64)
        return self

    def transform(
        self, X: ArrayLike, graph: GraphLike | None = None, *, ids: ArrayLike | None = None
    ) -> np.ndarray:
        """The features, and those of the neighbors.

        Parameters
        ----------
        X : array or data frame of shape (n_nodes, n_features)
            A row for every node.
        graph : EdgeList, EdgeSource, scipy adjacency matrix or networkx graph
            A file is read once a hop.
        ids : array of shape (n_nodes,), optional
            The node of each row. Default: the column node of a table, else the index of a pandas
            frame, else position if that says which node is meant (`graphsqueak.ssl.alignment`).

        Returns
        -------
        ndarray of shape (n_nodes, n_features (1 + hops)), or (1 + 2 hops) with spreads
        """
        check_is_fitted(self)
        X, ids = split_features(X, ids)
        X = np.asarray(validate_data(self, X, dtype=np.float64, reset=False))
        if graph is None:
            raise InputError("NeighborMeans needs the graph, too: transform(X, graph)")
        around = Neighborhood(graph, len(X), ids)
        center = X.mean(axis=0)
        block = X - center  # of a large mean the square would be the larger part of P X^2
        block = np.column_stack([block, block**2]) if self.spreads else block
        columns = [X]
        for _ in range(self.hops):
            block = around.means(block)
            mean = block[:, : X.shape[1]]
            columns.append(mean + center)
            if self.spreads:
                columns.append(np.sqrt(np.maximum(block[:, X.shape[1] :] - mean**2, 0.0)))
        return np.column_stack(columns)

    def fit_transform(
        self,
        X: ArrayLike,
        y: object = None,
        graph: GraphLike | None = None,
        *,
        ids: ArrayLike | None = None,
    ) -> np.ndarray:
        """`fit` and `transform`.

        Parameters
        ----------
        X : array of shape (n_nodes, n_features)
        y
            Not used.
        graph, ids
            As of `transform`.
        """
        return self.fit(X).transform(X, graph, ids=ids)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns: x0, mean1_x0, spread1_x0, mean2_x0, ...

        Parameters
        ----------
        input_features : array of str, optional
        """
        check_is_fitted(self)
        names = input_features
        if names is None:
            default = [f"x{number}" for number in range(self.n_features_in_)]
            names = getattr(self, "feature_names_in_", default)
        names = list(np.asarray(names, dtype=object))
        kinds = ("mean", "spread") if self.spreads else ("mean",)
        more = [
            f"{kind}{hop}_{name}"
            for hop in range(1, self.hops + 1)
            for kind in kinds
            for name in names
        ]
        return np.array(names + more, dtype=object)
