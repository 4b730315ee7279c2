"""What all estimators on graphs share: their input, and how scores become answers.

X is a graph, or points, each of which is joined to its nearest neighbors. The weight between a
point i and its neighbor j at distance d_ij is exp(-c d_ij^2 / s_i^2), s_i the distance to the
furthest of i's neighbors: the scale adapts to the density. The distances to all neighbors are
nearly the same in high dimension, so that a fixed c would tell near from far in the plane and
nothing there; c is such that, in the median point, the nearest neighbor weighs twenty times as much
as the furthest. Both directions are averaged, a missing one counts as zero.

A new node is answered for by the harmonic extension: the weighted mean over its neighbors.
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.matching import node_finder
from graphsqueak.sources.edge_source import GraphLike, as_edge_list
from graphsqueak.ssl.labels import as_objects, class_labels, real_labels
from graphsqueak.validation import check_choice, check_count

__all__ = [
    "GraphClassifier",
    "GraphEstimator",
    "GraphRegressor",
    "UnreachedWarning",
    "neighbor_graph",
]

_CONTRAST = 20.0  # of the nearest neighbor's weight to the furthest's
_LEAST_SPREAD = 0.1


class UnreachedWarning(UserWarning):
    """Some nodes lie in components without a label; nothing is known about them."""


class GraphEstimator(BaseEstimator):
    """Reads graphs, or points when `affinity="knn"`; answers for known and for new nodes."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _read(self, X):
        """The graph to learn on, as an EdgeList."""
        check_choice("affinity", self.affinity, ("precomputed", "knn"))
        if self.affinity == "precomputed":
            return as_edge_list(X)
        return self._read_points(X)

    def _read_points(self, X):
        check_count("n_neighbors", self.n_neighbors)
        points = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        graph, self._index = neighbor_graph(
            points, n_neighbors=self.n_neighbors, metric=self.metric
        )
        return graph

    def _links(self, X):
        """Weights between new nodes (rows) and known ones (columns)."""
        if self.affinity == "knn":
            points = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
            distance, neighbor = self._index.kneighbors(points)
            return _neighbor_weights(
                distance, neighbor, self._index.n_samples_fit_, self._index.sharpness_
            )
        if isinstance(X, EdgeList):
            raise InputError(
                "new nodes are described by a matrix of weights, a row per new node and a column "
                "per known one, or by triples (new node, known id, weight)"
            )
        if not scipy.sparse.issparse(X) and not isinstance(X, np.ndarray):
            X = self._links_of_triples(X)
        links = scipy.sparse.csr_array(X).astype(np.float64)
        if links.shape[1] != len(self.ids_):
            raise InputError(f"links have {links.shape[1]} columns for {len(self.ids_)} nodes")
        if links.nnz and not (links.data >= 0).all():
            raise InputError("links to new nodes are similarities; remove negative weights")
        return links

    def _links_of_triples(self, triples):
        triples = [(new, known, *weight, 1.0)[:3] for new, known, *weight in triples]
        known = as_objects([name for _, name, _ in triples])
        columns = node_finder(self.ids_.astype(object), len(self.ids_))(known)
        if (columns < 0).any():
            name = known[int(np.argmin(columns))]
            raise InputError(f"a new node is joined to {name!r}, which is not in the graph")
        row_of = {}
        rows = [row_of.setdefault(new, len(row_of)) for new, _, _ in triples]
        weights = [float(weight) for _, _, weight in triples]
        shape = (len(row_of), len(self.ids_))
        return scipy.sparse.coo_array((weights, (rows, columns)), shape=shape)

    def _check_fitted(self):
        """Refuse to answer before a fit; where edges keep coming, fit to the newest ones first."""
        check_is_fitted(self, "transduction_")

    def _averages(self, links, values):
        """The harmonic extension to new nodes: weighted means over reached neighbors."""
        links = links @ scipy.sparse.diags_array(self.reached_.astype(np.float64))
        total = np.asarray(links.sum(axis=1)).ravel()
        mean = (links @ values) / np.where(total > 0, total, 1.0)[:, None]
        return mean, total > 0


class GraphClassifier(ClassifierMixin, GraphEstimator):
    """Turns decision scores into labels and distributions."""

    def fit(self, X: GraphLike | ArrayLike, y: ArrayLike | Mapping) -> Self:
        """Learn the labels of all nodes.

        Parameters
        ----------
        X : EdgeList, EdgeSource, scipy adjacency matrix, networkx graph, or points
        y : array of shape (n_nodes,), or mapping from node ids to labels
            In an array, -1 where there is no label.

        Returns
        -------
        self
        """
        graph = self._read(X)
        return self._fit_graph(graph, class_labels(y, graph))

    def _fit_graph(self, graph, labels):
        self._remember(graph, labels)
        return self._answer(*self._scores(graph, labels))

    def _remember(self, graph, labels):
        self.classes_ = labels.classes
        self.ids_ = graph.ids
        self.n_nodes_ = graph.n_nodes
        self._prior = int(np.bincount(labels.code, minlength=labels.classes.size).argmax())

    def _answer(self, scores, reached):
        """Set the attributes; `scores` (n, C) rows sum to zero."""
        self.scores_ = scores
        self.reached_ = reached
        self.label_distributions_ = self._distributions(scores, reached)
        self.transduction_ = self._decide(scores, reached)
        n_lost = int(np.count_nonzero(~reached))
        if n_lost:
            warnings.warn(
                UnreachedWarning(
                    f"{n_lost} of {reached.size} nodes lie in components without a label; they are "
                    f"predicted as unknown={self.unknown!r} (see reached_)"
                ),
                stacklevel=4,
            )
        return self

    def _distributions(self, scores, reached):
        shares = np.clip(scores + 1 / scores.shape[1], 0.0, None)
        shares /= shares.sum(axis=1, keepdims=True)
        shares[~reached] = 1 / scores.shape[1]
        return shares

    def _decide(self, scores, reached):
        decided = self.classes_[scores.argmax(axis=1)]
        if reached.all():
            return decided
        if isinstance(self.unknown, str) and self.unknown == "prior":
            decided[~reached] = self.classes_[self._prior]
            return decided
        unknown = np.array([self.unknown])
        if unknown.dtype.kind != decided.dtype.kind:
            decided, unknown = decided.astype(object), unknown.astype(object)
        return np.where(reached, decided, unknown)

    def predict(self, X: ArrayLike | Iterable | None = None) -> np.ndarray:
        """Labels of the nodes of the graph (no argument), or of new points or nodes.

        Parameters
        ----------
        X : points, or links as in `predict_new`, optional
        """
        self._check_fitted()
        if X is None:
            return self.transduction_
        return self._decide(*self._averages(self._links(X), self.scores_))

    def predict_proba(self, X: ArrayLike | Iterable | None = None) -> np.ndarray:
        """Class shares of nodes or new points, as in `predict`; columns in order of `classes_`."""
        self._check_fitted()
        if X is None:
            return self.label_distributions_
        return self._distributions(*self._averages(self._links(X), self.scores_))

    def predict_new(self, links: ArrayLike | Iterable) -> np.ndarray:
        """Labels of new nodes from their edges to known ones, without a new fit.

        Parameters
        ----------
        links : array or sparse matrix (n_new, n_nodes), or triples (new node, known id, weight)
            In the order in which new nodes first appear.
        """
        return self.predict(links)

    def score(
        self,
        X: ArrayLike | None,
        y: ArrayLike | Mapping,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Accuracy; with a graph, over those of its nodes that `y` gives a label.

        Parameters
        ----------
        X : points, or None where the model was fitted to a graph
        y : array of shape (n_nodes,), or mapping from node ids to labels
        sample_weight : array of shape (n_nodes,), optional
        """
        self._check_fitted()
        if self.affinity == "knn":
            return super().score(X, y, sample_weight)
        known = class_labels(y, EdgeList.from_clean([], [], [], self.n_nodes_, self.ids_))
        truth = known.classes[known.code]
        right = np.array(
            [a == b for a, b in zip(self.transduction_[known.nodes], truth, strict=True)]
        )
        weight = None if sample_weight is None else np.asarray(sample_weight)[known.nodes]
        return float(np.average(right, weights=weight))


class GraphRegressor(RegressorMixin, GraphEstimator):
    """Values of nodes; NaN in y means none."""

    def fit(self, X: GraphLike | ArrayLike, y: ArrayLike | Mapping) -> Self:
        """Learn the values of all nodes.

        Parameters
        ----------
        X : EdgeList, EdgeSource, scipy adjacency matrix, networkx graph, or points
        y : array of shape (n_nodes,), or mapping from node ids to values
            In an array, NaN where there is no value.

        Returns
        -------
        self
        """
        graph = self._read(X)
        return self._fit_graph(graph, real_labels(y, graph))

    def predict(self, X: ArrayLike | Iterable | None = None) -> np.ndarray:
        """Values of the nodes of the graph (no argument), or of new points or nodes.

        Parameters
        ----------
        X : points, or links as in `predict_new`, optional
        """
        self._check_fitted()
        if X is None:
            return self.transduction_
        mean, reached = self._averages(self._links(X), self.transduction_[:, None])
        return np.where(reached, mean.ravel(), self.mean_)

    def predict_new(self, links: ArrayLike | Iterable) -> np.ndarray:
        """Values of new nodes from their edges to known ones, without a new fit.

        Parameters
        ----------
        links : array or sparse matrix (n_new, n_nodes), or triples (new node, known id, weight)
        """
        return self.predict(links)

    def score(
        self, X: ArrayLike | None, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Coefficient of determination; with a graph, over nodes where `y` is not NaN.

        Parameters
        ----------
        X : points, or None where the model was fitted to a graph
        y : array of shape (n_nodes,)
        sample_weight : array of shape (n_nodes,), optional
        """
        self._check_fitted()
        if self.affinity == "knn":
            return super().score(X, y, sample_weight)
        from sklearn.metrics import r2_score

        known = np.isfinite(np.asarray(y, dtype=np.float64))
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return r2_score(np.asarray(y)[known], self.transduction_[known], sample_weight=weight)


def neighbor_graph(points, *, n_neighbors, metric):
    """The weighted neighbor graph of `points`, and the fitted index of neighbors.

    >>> line = np.array([[0.0], [1.0], [2.0]])
    >>> graph, _ = neighbor_graph(line, n_neighbors=1, metric="euclidean")
    >>> graph.n_edges
    2
    """
    from sklearn.neighbors import NearestNeighbors

    n_points = points.shape[0]
    index = NearestNeighbors(n_neighbors=max(min(n_neighbors, n_points - 1), 1), metric=metric)
    index.fit(points)
    if n_points == 1:
        index.sharpness_ = 1.0
        return EdgeList.from_clean([], [], [], n_nodes=1), index
    distance, neighbor = index.kneighbors()
    index.sharpness_ = _sharpness(distance)
    half = _neighbor_weights(distance, neighbor, n_points, index.sharpness_)
    both = scipy.sparse.triu((half + half.T) / 2, format="coo")
    graph = EdgeList(tail=both.row, head=both.col, weight=both.data, n_nodes=n_points)
    return graph, index


def _sharpness(distance):
    """c of the weights; bounded, for points that are all equally far."""
    nearest = _ratios(distance)[:, 0]
    return np.log(_CONTRAST) / max(1 - np.median(nearest**2), _LEAST_SPREAD)


def _ratios(distance):
    scale = distance.max(axis=1, keepdims=True)
    return np.divide(distance, scale, out=np.zeros_like(distance), where=scale > 0)


def _neighbor_weights(distance, neighbor, n_known, sharpness):
    weight = np.exp(-sharpness * _ratios(distance) ** 2)
    row = np.repeat(np.arange(len(distance)), distance.shape[1])
    shape = (len(distance), n_known)
    return scipy.sparse.coo_array((weight.ravel(), (row, neighbor.ravel())), shape=shape).tocsr()
