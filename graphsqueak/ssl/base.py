"""What all estimators on graphs share: their input, and how scores become answers."""

import warnings

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.edge_source import as_edge_list
from graphsqueak.ssl.labels import class_labels
from graphsqueak.ssl.points import links_to_neighbors, neighbor_graph
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["GraphClassifier", "GraphEstimator", "GraphRegressor", "UnreachedWarning"]


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
            return links_to_neighbors(points, self._index)
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
        number = {name: place for place, name in enumerate(self.ids_.tolist())}
        rows, columns, weights, new = [], [], [], {}
        for name, known, *weight in triples:
            if known not in number:
                raise InputError(f"a new node is joined to {known!r}, which is not in the graph")
            rows.append(new.setdefault(name, len(new)))
            columns.append(number[known])
            weights.append(float(weight[0]) if weight else 1.0)
        shape = (len(new), len(number))
        return scipy.sparse.coo_array((weights, (rows, columns)), shape=shape)

    def _averages(self, links, values):
        """The harmonic extension to new nodes: weighted means over reached neighbors."""
        links = links @ scipy.sparse.diags_array(self.reached_.astype(np.float64))
        total = np.asarray(links.sum(axis=1)).ravel()
        mean = (links @ values) / np.where(total > 0, total, 1.0)[:, None]
        return mean, total > 0


class GraphClassifier(ClassifierMixin, GraphEstimator):
    """Turns decision scores into labels and distributions."""

    def fit(self, X, y):
        """Learn from the graph (or points) X and the labels y, -1 where there is none."""
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
        self.transduction_ = self._decided(scores, reached)
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

    def _decided(self, scores, reached):
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

    def predict(self, X=None):
        """Labels of the nodes of the graph (no argument), or of new points."""
        check_is_fitted(self, "transduction_")
        if X is None:
            return self.transduction_
        return self._decided(*self._averages(self._links(X), self.scores_))

    def predict_proba(self, X=None):
        """Class shares, columns in the order of `classes_`."""
        check_is_fitted(self, "transduction_")
        if X is None:
            return self.label_distributions_
        return self._distributions(*self._averages(self._links(X), self.scores_))

    def predict_new(self, links):
        """Labels of new nodes from their edges to known ones, without a new fit.

        Parameters
        ----------
        links : array or sparse matrix (n_new, n_nodes), or triples (new node, known id, weight)
            In the order in which new nodes first appear.
        """
        return self.predict(links)

    def score(self, X, y, sample_weight=None):
        """Accuracy; with a graph, over those of its nodes that `y` gives a label."""
        check_is_fitted(self, "transduction_")
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

    def predict(self, X=None):
        """Values of the nodes of the graph (no argument), or of new points or nodes."""
        check_is_fitted(self, "transduction_")
        if X is None:
            return self.transduction_
        mean, reached = self._averages(self._links(X), self.transduction_[:, None])
        return np.where(reached, mean.ravel(), self.mean_)

    def predict_new(self, links):
        """Values of new nodes from their edges to known ones, without a new fit."""
        return self.predict(links)

    def score(self, X, y, sample_weight=None):
        """Coefficient of determination; with a graph, over nodes where `y` is not NaN."""
        check_is_fitted(self, "transduction_")
        if self.affinity == "knn":
            return super().score(X, y, sample_weight)
        from sklearn.metrics import r2_score

        known = np.isfinite(np.asarray(y, dtype=np.float64))
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return r2_score(np.asarray(y)[known], self.transduction_[known], sample_weight=weight)


def check_eta(eta):
    """`eta` as a positive number or "auto"."""
    return eta if eta == "auto" else check_real("eta", eta, above=0.0, below=np.inf)
