"""Columns for any tabular model: means of the features over the neighbors of each node.

    X,  P X,  P^2 X,  ...,     and the deviations (P^k X^2 - (P^k X)^2)^(1/2),

where P averages over neighbors (`neighborhood`) and X^2 is the elementwise square. A tree model of
these columns needs no homophily: it also learns that nodes of a class differ from their neighbors.

With homophily, means over more distant nodes are better. Random walks of at most K steps, which go
on with probability gamma after each, give the personalized PageRank smoothing of [GBG19],

    Z = sum over k < K of (1 - gamma) gamma^k P^k X  +  gamma^K P^K X.

References
----------
[GBG19] Gasteiger, Bojchevski, Guennemann. Predict then propagate: graph neural networks meet
        personalized PageRank. ICLR 2019.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    validate_data,
)

from graphsqueak.errors import InputError
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.ssl.features.neighborhood import (
    Neighborhood,
    limit_row_entries,
    split_features,
)
from graphsqueak.validation import check_count, explain_keywords

__all__ = ["NeighborMeans", "neighbor_features"]


_NO_GRAPH = (
    "NeighborMeans needs the graph; call fit_transform(X, graph=graph) or transform(X, graph)"
)


@explain_keywords()
class NeighborMeans(TransformerMixin, BaseEstimator):
    """Transformer that appends means and deviations of the features over each node's neighbors.

    Use it before a model of node features that cannot read a graph, such as gradient boosting,
    and if homophily is low. `GraphStacking` combines such a model with the labels of neighbors.

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
        X : array, data frame or sparse matrix of shape (n_nodes, n_features)
        y, graph
            Not used.
        """
        check_count("hops", self.hops)
        features, _ = split_features(X, None)
        validate_data(self, features, accept_sparse="csr", dtype=np.float64)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def transform(
        self, X: ArrayLike, graph: GraphLike | None = None, *, ids: ArrayLike | None = None
    ) -> Any:
        """Return the features and their means and deviations over neighbors.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_nodes, n_features)
            One row per node.
        graph : GraphLike
            A file is read once per hop.
        ids : array of shape (n_nodes,), optional
            The node of each row. Default: the column node of a table, else the index of a pandas
            frame, else position if that is unambiguous (`graphsqueak.ssl.alignment`).

        Returns
        -------
        ndarray of shape (n_nodes, n_features (1 + 2 hops)), or (1 + hops) without deviations
            A sparse array if X is sparse. Its rows have at most 1,000 means per hop, and as many
            deviations: in longer rows the smallest ones are 0.
        """
        check_is_fitted(self)
        features, ids = split_features(X, ids)
        # Names and number of columns must be those of `fit`.
        features = validate_data(self, features, accept_sparse="csr", dtype=np.float64, reset=False)
        if graph is None:
            raise InputError(_NO_GRAPH)
        neighborhood = Neighborhood(graph, features.shape[0], ids)
        return neighbor_features(
            neighborhood, features, hops=self.hops, deviations=self.deviations
        ).neighbors

    def fit_transform(
        self,
        X: ArrayLike,
        y: object = None,
        graph: GraphLike | None = None,
        *,
        ids: ArrayLike | None = None,
    ) -> Any:
        """Apply `fit` and `transform`.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_nodes, n_features)
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


class NeighborFeatures(NamedTuple):
    """Features of each node and of those near it, sparse if the features are.

    Attributes
    ----------
    neighbors : array of shape (n_nodes, n_features (1 + hops)), or (1 + 2 hops) with deviations
        The features, and their means and deviations.
    propagated : array of shape (n_nodes, n_features), or None
        Z of the module's formula.
    """

    neighbors: Any
    propagated: Any


def neighbor_features(neighborhood, X, *, hops, deviations, n_steps=0):
    """Return means and deviations over up to `hops` steps, and the propagated features.

    Both have the same products, so that a file is read once per step.

    Parameters
    ----------
    neighborhood : Neighborhood
    X : ndarray or sparse array of shape (n_nodes, n_features)
    hops : int
    deviations : bool
    n_steps : int
        K of the module's formula, at least `hops`; 0 for no propagated features. gamma is
        K / (K + 1): without the limit, a walk would have K + 1 steps on average.
    """
    n_features = X.shape[1]
    center: Any = 0
    if scipy.sparse.issparse(X):
        # In sparse arrays, * is the elementwise product.
        X = scipy.sparse.csr_array(X)
    else:
        # Otherwise P X^2 - (P X)^2 cancels if the mean is large.
        center = X.mean(axis=0)
    mean = X - center
    square = mean * mean
    gamma = n_steps / (n_steps + 1)
    propagated = (1 - gamma) * mean
    columns = [X]
    for step in range(1, max(hops, n_steps) + 1):
        if deviations and step <= hops:
            # Both moments in one product, or one pass.
            both = neighborhood.means(_side_by_side([mean, square]))
            mean = limit_row_entries(both[:, :n_features])
            square = limit_row_entries(both[:, n_features:])
        else:
            mean = limit_row_entries(neighborhood.means(mean))
        if step <= hops:
            columns.append(mean + center)
            if deviations:
                # Rounding may make E x^2 - (E x)^2 negative.
                columns.append(np.sqrt(abs(square - mean * mean)))
        weight = gamma**step if step == n_steps else (1 - gamma) * gamma**step
        propagated = propagated + weight * mean
    return NeighborFeatures(
        neighbors=_side_by_side(columns),
        propagated=limit_row_entries(propagated) + center if n_steps else None,
    )


def _side_by_side(blocks):
    if scipy.sparse.issparse(blocks[0]):
        return scipy.sparse.hstack(blocks, format="csr")
    return np.column_stack(blocks)
