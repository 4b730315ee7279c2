"""Means and standard deviations of the neighbors' features, as columns for any tabular model.

    X,  P X,  P^2 X,  ...,     and the deviations (P^k X^2 - (P^k X)^2)^(1/2),

where P averages over neighbors (`neighborhood`) and X^2 is the elementwise square. A tree model of
these columns needs no homophily: it also learns that nodes of a class differ from their neighbors.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    validate_data,
)

from graphsqueak.errors import InputError
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.ssl.features.neighborhood import Neighborhood, split_features
from graphsqueak.validation import check_count, explain_keywords

__all__ = ["NeighborMeans"]


_NO_GRAPH = (
    "NeighborMeans needs the graph; call fit_transform(X, graph=graph) or transform(X, graph)"
)


@explain_keywords()
class NeighborMeans(TransformerMixin, BaseEstimator):
    """Transformer that appends means and deviations of the features over each node's neighbors.

    Use it before a model of node features that cannot read a graph, such as gradient boosting,
    and if homophily is low. For probabilities that are smoothed over the graph, see `Smoothed`.

    Parameters
    ----------
    hops : int
        Number of steps: 2 appends means over neighbors, and over their neighbors.
    deviations : bool
        Also append the standard deviations.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of the features.

    Examples
    --------
    >>> import networkx as nx
    >>> NeighborMeans(hops=1).fit_transform([[0.0], [2.0], [4.0]], graph=nx.path_graph(3))
    array([[0., 2., 0.],
           [2., 2., 2.],
           [4., 2., 0.]])
    """

    def __init__(self, *, hops: int = 2, deviations: bool = True) -> None:
        self.hops = hops
        self.deviations = deviations

    def fit(self, X: ArrayLike, y: object = None, graph: GraphLike | None = None) -> Self:
        """Validate the features and count their columns.

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
        """Return the features and their means and deviations over neighbors.

        Parameters
        ----------
        X : array or data frame of shape (n_nodes, n_features)
            One row per node.
        graph : GraphLike
            A file is read once per hop.
        ids : array of shape (n_nodes,), optional
            The node of each row. Default: the column node of a table, else the index of a pandas
            frame, else position if that is unambiguous (`graphsqueak.ssl.alignment`).

        Returns
        -------
        ndarray of shape (n_nodes, n_features (1 + 2 hops)), or (1 + hops) without deviations
        """
        check_is_fitted(self)
        X, ids = split_features(X, ids)
        # Names and number of columns must be those of `fit`.
        X = np.asarray(validate_data(self, X, dtype=np.float64, reset=False))
        if graph is None:
            raise InputError(_NO_GRAPH)
        neighborhood = Neighborhood(graph, len(X), ids)
        n_features = X.shape[1]
        # Centered: otherwise P X^2 - (P X)^2 cancels if the mean is large.
        center = X.mean(axis=0)
        block = X - center
        if self.deviations:
            block = np.column_stack([block, block**2])
        columns = [X]
        for _ in range(self.hops):
            # Both moments in one product, or one pass.
            block = neighborhood.means(block)
            mean = block[:, :n_features]
            columns.append(mean + center)
            if self.deviations:
                # E x^2 - (E x)^2, which rounding may make negative.
                variance = block[:, n_features:] - mean**2
                columns.append(np.sqrt(np.maximum(variance, 0.0)))
        return np.column_stack(columns)

    def fit_transform(
        self,
        X: ArrayLike,
        y: object = None,
        graph: GraphLike | None = None,
        *,
        ids: ArrayLike | None = None,
    ) -> np.ndarray:
        """Apply `fit` and `transform`.

        Parameters
        ----------
        X : array of shape (n_nodes, n_features)
        y
            Not used.
        graph, ids
            As in `transform`.
        """
        # The graph may have been passed as y, or before X.
        if graph is None:
            raise InputError(_NO_GRAPH)
        return self.fit(X).transform(X, graph, ids=ids)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names of the columns: x0, mean1_x0, deviation1_x0, mean2_x0, ...

        Parameters
        ----------
        input_features : array of str, optional
            Default: the names of the columns in `fit`, else x0, x1, ...
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features).tolist()
        kinds = ("mean", "deviation") if self.deviations else ("mean",)
        appended = [
            f"{kind}{hop}_{name}"
            for hop in range(1, self.hops + 1)
            for kind in kinds
            for name in names
        ]
        return np.array(names + appended, dtype=object)
