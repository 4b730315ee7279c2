"""What all estimators on graphs share: their input, and how scores become answers.

X is a graph, or points, each of which is joined to its nearest neighbors.

A new node is answered for by the harmonic extension: the weighted mean over its neighbors.
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import as_object_array
from graphsqueak.nodes.numbering import make_node_finder
from graphsqueak.report.shown import FittedReprMixin
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.sources.neighbors.weights import link_weights, neighbor_graph
from graphsqueak.ssl.alignment import values_of_rows
from graphsqueak.ssl.conformal import assign_folds, conformal_sets, refit_without_folds
from graphsqueak.ssl.decisions.calibration import sigmoid_probabilities
from graphsqueak.ssl.decisions.homophily import measure_homophily, warn_of_homophily
from graphsqueak.ssl.decisions.label_weights import node_weights
from graphsqueak.ssl.labels import class_labels
from graphsqueak.ssl.selection.graph_nodes import GraphNodes, cut_error
from graphsqueak.system.frames import ArrowExport
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = [
    "GraphClassifier",
    "GraphEstimator",
    "LateLabelsWarning",
    "UnreachedWarning",
]

_LINKS = (
    "new nodes are described by a matrix of weights, a row per new and a column per known node, or "
    "by triples (new node, known id, weight); for nodes of the graph itself, take them from "
    "predict() without an argument, in the order of ids_"
)
# Fits without one label each; with more labels, folds are left out.
MAX_SINGLE_REFITS = 64


class LateLabelsWarning(UserWarning):
    """Labels came after edges had been dropped; those edges were sampled as any other."""


class UnreachedWarning(UserWarning):
    """Some nodes lie in components without a label; nothing is known about them."""


class GraphEstimator(FittedReprMixin, ArrowExport, BaseEstimator):
    """Reads graphs, or points when `affinity="knn"`; answers for known and for new nodes.

    As a table (`to_arrow`, `to_polars`, `to_pandas`) it has a row for each node of the graph.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _read(self, X):
        """The graph to learn on, as an EdgeList."""
        check_choice("affinity", self.affinity, ("precomputed", "knn"))
        if self.affinity == "precomputed":
            return as_edge_list(X).in_id_order()
        return self._read_points(X)

    def _graph_of(self, X):
        """The graph or the points that X stands for."""
        if isinstance(X, GraphNodes):
            return X.graph
        is_matrix = isinstance(X, np.ndarray) or scipy.sparse.issparse(X)
        if is_matrix and self.affinity == "precomputed" and len(set(X.shape)) > 1:
            raise cut_error(X.shape)
        return X

    def _values_for(self, X, given, name="y"):
        """Values per node of the graph, in a form that `NodeValues` matches to its nodes."""
        if given is None:
            return None
        if isinstance(X, GraphNodes):
            return X.by_id(given, name)
        return values_of_rows(given, X, name) if self.affinity == "knn" else given

    def _remember_nodes(self, graph):
        self.ids_ = graph.ids
        self.n_nodes_ = graph.n_nodes
        # Nodes without edges: what values per node are matched to when the model is scored.
        self._nodes = EdgeList.from_validated([], [], [], graph.n_nodes, graph.node_ids)

    def _answers_for(self, X, *given):
        """Predictions to be scored, their nodes, and for each of `given` values to be matched."""
        if isinstance(X, GraphNodes):
            values = [None if one is None else X.values(one, name) for name, one in given]
        elif self.affinity == "knn":
            values = [None if one is None else values_of_rows(one, X, name) for name, one in given]
        else:
            return self.transduction_, self._nodes, [one for _, one in given]
        answers = self.predict(X)
        return answers, EdgeList.from_validated([], [], [], len(answers)), values

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
            return link_weights(
                distance, neighbor, self._index.n_samples_fit_, self._index.sharpness_
            )
        if not scipy.sparse.issparse(X) and not isinstance(X, np.ndarray | EdgeList):
            return self._links_of_triples(X)
        if getattr(X, "ndim", 0) != 2:
            raise InputError(_LINKS)
        if not self._nodes.has_explicit_order:
            raise InputError(
                f"the columns of links do not say which nodes of the graph (one is "
                f"{self.ids_[:1].tolist()[0]!r}) they are about; pass triples "
                "(new node, known id, weight)"
            )
        return self._checked_links(scipy.sparse.csr_array(X).astype(np.float64))

    def _checked_links(self, links):
        if links.shape[1] != len(self.ids_):
            raise InputError(f"links have {links.shape[1]} columns for {len(self.ids_)} nodes")
        if links.nnz and not (links.data >= 0).all():
            raise InputError("links to new nodes are similarities; remove negative weights")
        return links

    def _links_of_triples(self, triples):
        rows = [triples] if isinstance(triples, str) else list(triples)
        if not all(isinstance(row, tuple | list) and len(row) in (2, 3) for row in rows):
            raise InputError(_LINKS)
        triples = [(*row, 1.0)[:3] for row in rows]
        known = as_object_array([name for _, name, _ in triples])
        columns = make_node_finder(self.ids_.astype(object), len(self.ids_))(known)
        if (columns < 0).any():
            name = known[int(np.argmin(columns))]
            raise InputError(f"a new node is joined to {name!r}, which is not in the graph")
        row_of = {}
        rows = [row_of.setdefault(new, len(row_of)) for new, _, _ in triples]
        weights = [float(weight) for _, _, weight in triples]
        shape = (len(row_of), len(self.ids_))
        links = scipy.sparse.coo_array((weights, (rows, columns)), shape=shape).tocsr()
        return self._checked_links(links)

    def _check_fitted(self):
        """Refuse to answer before a fit; where edges keep coming, fit to the newest ones first."""
        check_is_fitted(self, "transduction_")

    def _columns(self):
        self._check_fitted()
        return {"node": self.ids_, "label": self.transduction_}

    def _averages(self, links, values):
        """The harmonic extension to new nodes: weighted means over reached neighbors."""
        links = links @ scipy.sparse.diags_array(self.reached_.astype(np.float64))
        total = np.asarray(links.sum(axis=1)).ravel()
        mean = (links @ values) / np.where(total > 0, total, 1.0)[:, None]
        return mean, total > 0


class GraphClassifier(ClassifierMixin, GraphEstimator):
    """Base of all classifiers: turns scores into labels and distributions.

    A subclass stores its arguments and has `_scores(graph, labels)`, which returns scores of shape
    (n_nodes, C) whose rows sum to zero, and which nodes are in a component with a label.
    """

    # Sigmoids of calibrated probabilities, or None.
    _curves: np.ndarray | None = None

    def fit(self, X: GraphLike | ArrayLike, y: ArrayLike | Mapping) -> Self:
        """Learn the labels of all nodes.

        Parameters
        ----------
        X : EdgeList, EdgeSource, table of edges, scipy adjacency matrix, networkx graph, or points
        y : array of shape (n_nodes,), or mapping from node ids to labels
            -1 where there is no label. A pandas Series, or a table with the columns node and
            label, is a mapping. Arrays go by position if that says which node is meant
            (`graphsqueak.ssl.alignment`).

        Returns
        -------
        self
        """
        graph = self._read(self._graph_of(X))
        return self._fit_graph(graph, class_labels(self._values_for(X, y), graph))

    def _fit_graph(self, graph, labels):
        """Fit to a graph in memory."""
        scores, reached = self._scores(graph, labels)
        return self._set_answers(graph, labels, scores, reached)

    def _set_answers(self, graph, labels, scores, reached, loo=None):
        """Set the fitted attributes.

        `loo` are scores of labeled nodes without their own labels, and their classes.
        """
        self._remember_nodes(graph)
        self._graph = graph
        self._labels = labels
        self.classes_ = labels.classes
        self.scores_ = scores
        self.reached_ = reached
        self.label_distributions_ = self._distributions(scores, reached)
        self.transduction_ = self._decide(scores, reached)
        homophily = measure_homophily(graph, labels, loo)
        self.homophily_ = homophily.value
        self.homophily_error_ = homophily.error
        warn_of_homophily(homophily, stacklevel=4)
        n_lost = int(np.count_nonzero(~reached))
        if n_lost:
            warnings.warn(
                UnreachedWarning(
                    f"{n_lost} of {reached.size} nodes lie in components without a label; "
                    "they are predicted as ",
                    Parameter("unknown", self.unknown),
                    " (see reached_)",
                ),
                stacklevel=4,
            )
        return self

    def _columns(self):
        columns = super()._columns()
        return columns | {"confidence": self.label_distributions_.max(axis=1)}

    def _distributions(self, scores, reached):
        """Return class probabilities: calibrated, or shares of the clipped scores."""
        if self._curves is not None:
            shares = sigmoid_probabilities(scores, self._curves)
        else:
            shares = np.clip(scores + 1 / scores.shape[1], 0.0, None)
            shares /= shares.sum(axis=1, keepdims=True)
        shares[~reached] = 1 / scores.shape[1]
        return shares

    def _decide(self, scores, reached):
        """Return the class of the largest score, and `unknown` where there is no label."""
        if self._curves is not None:
            scores = sigmoid_probabilities(scores, self._curves)
        decided = self.classes_[scores.argmax(axis=1)]
        if reached.all():
            return decided
        if isinstance(self.unknown, str) and self.unknown == "prior":
            most_frequent = np.bincount(self._labels.code).argmax()
            decided[~reached] = self.classes_[most_frequent]
            return decided
        unknown = np.array([self.unknown])
        if unknown.dtype.kind != decided.dtype.kind:
            decided = decided.astype(object)
            unknown = unknown.astype(object)
        return np.where(reached, decided, unknown)

    def predict(self, X: ArrayLike | Iterable | None = None) -> np.ndarray:
        """Labels of the nodes of the graph (no argument), or of new points or nodes.

        Parameters
        ----------
        X : points, GraphNodes, or links as in `predict_new`, optional
        """
        self._check_fitted()
        if X is None or isinstance(X, GraphNodes):
            return self.transduction_ if X is None else self.transduction_[X.nodes]
        return self._decide(*self._averages(self._links(X), self.scores_))

    def predict_proba(self, X: ArrayLike | Iterable | None = None) -> np.ndarray:
        """Class shares of nodes or new points, as in `predict`; columns in order of `classes_`."""
        self._check_fitted()
        if X is None or isinstance(X, GraphNodes):
            shares = self.label_distributions_
            return shares if X is None else shares[X.nodes]
        return self._distributions(*self._averages(self._links(X), self.scores_))

    def predict_new(self, links: ArrayLike | Iterable) -> np.ndarray:
        """Labels of new nodes from their edges to known ones, without a new fit.

        Parameters
        ----------
        links : array or sparse matrix (n_new, n_nodes), or triples (new node, known id, weight)
            Columns of a matrix are matched to nodes as an array `y` in `fit`. Triples give the
            new nodes in the order in which they first appear.
        """
        return self.predict(links)

    def prediction_sets(self, alpha: float) -> np.ndarray:
        """Classes that each node may have: the true one is among them 1 - 2 `alpha` of the time.

        That holds for the nodes that a label reaches, if the labeled nodes were drawn at random and
        every class has a label; in practice it is rather 1 - `alpha`. Labels are left out one by
        one or, where there are many, in folds, and scored without themselves (jackknife+ and
        cross-conformal prediction, see `graphsqueak.ssl.conformal`). Below 1 / `alpha` - 1 labels
        every set holds all classes.

        Parameters
        ----------
        alpha : float in (0, 0.5)

        Returns
        -------
        ndarray of bool, shape (n_nodes, C)
            A column per class, in order of `classes_`. The class predicted is always in the set, a
            labeled node has its label alone, and a node that no label reaches has all classes.

        Examples
        --------
        >>> from graphsqueak.datasets import load_karate
        >>> from graphsqueak.ssl import HFSClassifier
        >>> y = np.full(34, -1)
        >>> y[[0, 1, 2, 4, 6, 8, 23, 28, 30, 33]] = 0, 0, 0, 0, 0, 1, 1, 1, 1, 1
        >>> HFSClassifier().fit(load_karate(), y).prediction_sets(0.2)[[3, 32]]
        array([[ True, False],
               [False,  True]])
        """
        self._check_fitted()
        alpha = check_real("alpha", alpha, above=0.0, below=0.5)
        labels = self._labels
        if labels.classes.size == 1:
            return np.ones((self.n_nodes_, 1), dtype=bool)
        sets = conformal_sets(self._rounds(alpha), alpha)
        sets[np.arange(self.n_nodes_), self.label_distributions_.argmax(axis=1)] = True
        sets[~self.reached_] = True
        sets[labels.nodes] = labels.one_hot() > 0
        return sets

    def _rounds(self, alpha):
        """Return fits without some labels, one after the other."""
        return self._refit_folds(
            lambda some: self._scores(self._graph, some), alpha, max_single=MAX_SINGLE_REFITS
        )

    def _refit_folds(self, refit, alpha, *, max_single):
        """Return rounds of refit(labels), without one label each or without folds of them."""
        rng = np.random.default_rng(self.random_state)
        folds = assign_folds(self._labels.nodes.size, alpha, max_single, rng)
        return refit_without_folds(refit, self._labels, folds)

    def score(
        self,
        X: ArrayLike | None,
        y: ArrayLike | Mapping,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Accuracy over the points, or the nodes of the graph, that `y` gives a label.

        Parameters
        ----------
        X : points, or None where the model was fitted to a graph
        y : array of shape (n_nodes,), or mapping from node ids to labels
            Matched to nodes as in `fit`, and so is `sample_weight`.
        sample_weight : array of shape (n_nodes,), or mapping from node ids to weights, optional
        """
        self._check_fitted()
        given = ("y", y), ("sample_weight", sample_weight)
        answers, nodes, (y, weights) = self._answers_for(X, *given)
        known = class_labels(y, nodes)
        truth = known.classes[known.code]
        right = np.array([a == b for a, b in zip(answers[known.nodes], truth, strict=True)])
        weight = None if weights is None else node_weights(weights, known.nodes, nodes)
        return float(np.average(right, weights=weight))
