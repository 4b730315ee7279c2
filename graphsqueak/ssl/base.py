"""Base classes of the estimators of node labels: input, predictions, prediction sets.

`GraphEstimator` reads the input and predicts. The input is a graph in any form that graphsqueak
reads, or an array of points (`affinity="knn"`), which are joined to their nearest neighbors.
New nodes and points get the weighted mean of their neighbors (`new_nodes`).

`GraphClassifier` turns scores f (n x C), whose rows sum to zero, into

    labels              argmax_c f_c
    distributions       max(f_c + 1/C, 0), scaled to sum to one, or calibrated sigmoids of f_c
    prediction sets     jackknife+ and cross-conformal sets of classes (`conformal`)

Nodes in a component without a label get the option `unknown` and the uniform distribution.

Parameters of estimators are the fields of dataclasses, so that each is written once, in the class
that uses it, and `inspect.signature` shows all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsqueak.errors import Message, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.report.shown import FittedReprMixin
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.sources.neighbors.weights import neighbor_graph
from graphsqueak.ssl.alignment import Labels, values_of_rows
from graphsqueak.ssl.conformal import assign_folds, conformal_sets, refit_without_folds
from graphsqueak.ssl.decisions.calibration import sigmoid_probabilities
from graphsqueak.ssl.decisions.homophily import measure_homophily, warn_of_homophily
from graphsqueak.ssl.decisions.label_weights import node_weights
from graphsqueak.ssl.labels import class_labels
from graphsqueak.ssl.new_nodes import extend_to_new_nodes, find_nodes, read_links
from graphsqueak.ssl.selection.graph_nodes import GraphNodes, cut_error
from graphsqueak.system.frames import FRAME_NAMES, ArrowExport
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = [
    "GraphClassifier",
    "GraphEstimator",
    "LateLabelsWarning",
    "UnreachedWarning",
    "warn_of_unlabeled_components",
]

# Largest number of labels that are left out one by one for prediction sets, each with a fit of its
# own; with more labels, folds are left out. The sensitivity was not measured.
MAX_SINGLE_REFITS = 64


class LateLabelsWarning(UserWarning):
    """Labels were given after edges had been dropped; edges at these nodes had no priority."""


class UnreachedWarning(Message, UserWarning):
    """Some nodes lie in components without a label; nothing is known about them."""


@dataclass(kw_only=True, eq=False, repr=False)
class GraphEstimator(FittedReprMixin, ArrowExport, BaseEstimator):
    """Base of all estimators of node labels: reads graphs or points, predicts for nodes.

    As a table (`to_arrow`, `to_polars`, `to_pandas`) an estimator has a row per node of the graph.

    A subclass has `fit`, which calls `_remember_nodes`, and sets the attributes `transduction_` (a
    prediction per node) and `has_label_in_component_`. It also has the methods

    `_read_labels(y, graph)`
        The labels of the nodes of a graph (`graphsqueak.ssl.labels`).
    `_node_values()`
        Values that are averaged for new nodes, of shape (n_nodes, C).
    `_decide(values, has_label)`
        The predictions for such values.
    """

    affinity: str = "precomputed"
    n_neighbors: int = 10
    metric: str = "euclidean"
    random_state: RandomState = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _read(self, X):
        """Return the graph to learn on, as an EdgeList."""
        check_choice("affinity", self.affinity, ("precomputed", "knn"))
        # Nodes are numbered by id where possible, so that arrays can be matched by position.
        if self.affinity == "precomputed":
            return as_edge_list(X).in_id_order()
        return self._read_points(X)

    def _graph_of(self, X):
        """Return the graph or the points that X stands for."""
        if isinstance(X, GraphNodes):
            return X.graph
        is_matrix = isinstance(X, np.ndarray) or scipy.sparse.issparse(X)
        # scikit-learn has selected rows of an adjacency matrix, but not columns.
        if is_matrix and self.affinity == "precomputed" and len(set(X.shape)) > 1:
            raise cut_error(X.shape)
        return X

    def _read_points(self, X):
        """Return the graph of nearest neighbors of the points X."""
        check_count("n_neighbors", self.n_neighbors)
        self._points = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        graph, self._index = neighbor_graph(
            self._points, n_neighbors=self.n_neighbors, metric=self.metric
        )
        return graph

    def _values_for(self, X, given, name="y"):
        """Return values per node of X in a form that `NodeValues` matches to the graph."""
        if given is None:
            return None
        if isinstance(X, GraphNodes):
            return X.by_id(given, name)
        return values_of_rows(given, X, name) if self.affinity == "knn" else given

    def _remember_nodes(self, graph):
        self.ids_ = graph.ids
        self.n_nodes_ = graph.n_nodes
        # Nodes without edges: values per node are matched to them when the model is scored.
        self._nodes = EdgeList.from_validated([], [], [], graph.n_nodes, graph.node_ids)

    def _check_fitted(self):
        """Raise an error if nothing was fitted. Subclasses bring the fit up to date."""
        check_is_fitted(self, "transduction_")

    def _columns(self):
        self._check_fitted()
        return {"node": self.ids_, "label": self.transduction_}

    def _extend(self, X, values):
        """Return the mean of `values` over the neighbors of new nodes or points, if they have any.

        Both arrays are as in `extend_to_new_nodes`.
        """
        if self.affinity == "knn":
            points = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
            links = self._index.weights_to(points)
        else:
            links = read_links(X, self._nodes)
        return extend_to_new_nodes(links, values, self.has_label_in_component_)

    def _known_nodes(self, X):
        """Return which nodes of the graph X selects; None if X describes new nodes or points."""
        if X is None:
            return slice(None)
        if isinstance(X, GraphNodes):
            return X.nodes
        return None if self.affinity == "knn" else find_nodes(X, self._nodes)

    _other_names = FRAME_NAMES | {
        "classify": "predict(ids)",
        "fit_predict": "fit(graph, y).predict()",
        "fit_transform": "fit(graph, y).to_pandas()",
        "labels_": "transduction_",
        "predictions_": "transduction_",
        "probabilities_": "label_distributions_",
        "transform": "to_pandas()",
    }

    def predict(self, X: ArrayLike | Iterable | None = None) -> np.ndarray:
        """Predict the labels of the nodes of the graph, or of new nodes or points.

        Parameters
        ----------
        X : list or array of node ids, GraphNodes, points, or links as in `predict_new`, optional
            Default: all nodes of the graph.
        """
        self._check_fitted()
        nodes = self._known_nodes(X)
        if nodes is not None:
            return self.transduction_[nodes]
        values, has_label = self._extend(X, self._node_values())
        return self._decide(values, has_label)

    def predict_new(self, links: ArrayLike | Iterable) -> np.ndarray:
        """Predict the labels of new nodes from their edges to known ones, without a new fit.

        Parameters
        ----------
        links : array or sparse matrix (n_new, n_nodes), or triples (new node, known id, weight)
            Columns of a matrix are matched to nodes as an array `y` in `fit`. With triples, new
            nodes are in the order in which they first appear.
        """
        return self.predict(links)

    def score(
        self,
        X: ArrayLike | None,
        y: Labels,
        sample_weight: Labels | None = None,
    ) -> float:
        """Return the accuracy of a classifier, or the coefficient of determination of a regressor.

        Parameters
        ----------
        X : points, GraphNodes, or the graph or None if the model was fitted to a graph
        y : Labels
            Nodes without a label are not counted. Values are matched to nodes as in `fit`, and so
            is `sample_weight`.
        sample_weight : array of shape (n_nodes,), or mapping from node ids to weights, optional
        """
        self._check_fitted()
        predictions = self.transduction_
        nodes = self._nodes
        # Points and picked nodes are scored row by row, the graph itself by node id.
        if isinstance(X, GraphNodes) or self.affinity == "knn":
            predictions = self.predict(X)
            nodes = EdgeList.from_validated([], [], [], len(predictions))
            y = self._values_by_row(X, y, "y")
            sample_weight = self._values_by_row(X, sample_weight, "sample_weight")
        labels = self._read_labels(y, nodes)
        if sample_weight is not None:
            sample_weight = node_weights(sample_weight, labels.nodes, nodes)
        return labels.score(predictions[labels.nodes], sample_weight)

    def _values_by_row(self, X, given, name):
        if given is None:
            return None
        if isinstance(X, GraphNodes):
            return X.values(given, name)
        return values_of_rows(given, X, name)


@dataclass(kw_only=True, eq=False, repr=False)
class GraphClassifier(ClassifierMixin, GraphEstimator):
    """Base of all classifiers: turns scores into labels, distributions and prediction sets.

    A subclass has `_scores(graph, labels)`, which returns scores of shape (n_nodes, C) whose rows
    sum to zero, and which nodes are in a component with a label.
    """

    unknown: object = "prior"

    # Sigmoids of calibrated probabilities, or None.
    _curves = None

    _read_labels = staticmethod(class_labels)
    # Instead of that of ClassifierMixin, which does not match labels to nodes.
    score = GraphEstimator.score

    def fit(self, X: GraphLike | ArrayLike, y: Labels) -> Self:
        """Fit the model to a graph and to the labels of some of its nodes.

        Parameters
        ----------
        X : GraphLike, or array of points
        y : Labels
            Array of shape (n_nodes,) with -1 where there is no label; or mapping from node ids to
            labels, pandas Series, table with the columns node and label, or path of such a table.
            Arrays are matched by position if that determines the node
            (`graphsqueak.ssl.alignment`).

        Returns
        -------
        self
        """
        graph = self._read(self._graph_of(X))
        labels = self._read_labels(self._values_for(X, y), graph)
        scores, has_label = self._scores(graph, labels)
        return self._set_answers(graph, labels, scores, has_label)

    def _set_answers(self, graph, labels, scores, has_label, loo=None):
        """Set the fitted attributes.

        `loo` is a pair of the scores of labeled nodes without their own labels, and their classes.
        """
        self._remember_nodes(graph)
        self._graph = graph
        self._labels = labels
        self.classes_ = labels.classes
        self.scores_ = scores
        self.has_label_in_component_ = has_label
        self.label_distributions_ = self._distributions(scores, has_label)
        self.transduction_ = self._decide(scores, has_label)
        homophily = measure_homophily(graph, labels, loo)
        self.homophily_ = homophily.value
        self.homophily_error_ = homophily.error
        warn_of_homophily(homophily, stacklevel=4)
        warn_of_unlabeled_components(
            has_label, "label; they are predicted as ", Parameter("unknown", self.unknown)
        )
        return self

    def _columns(self):
        columns = super()._columns()
        return columns | {"confidence": self.label_distributions_.max(axis=1)}

    def _distributions(self, scores, has_label):
        """Return class probabilities: calibrated, or proportional to the clipped scores."""
        if self._curves is not None:
            fractions = sigmoid_probabilities(scores, self._curves)
        else:
            # Rows of scores sum to zero: at least one entry is positive.
            fractions = np.clip(scores + 1 / scores.shape[1], 0.0, None)
            fractions /= fractions.sum(axis=1, keepdims=True)
        fractions[~has_label] = 1 / scores.shape[1]
        return fractions

    def _node_values(self):
        return self.scores_

    def _decide(self, scores, has_label):
        """Return the class of the largest score, and `unknown` in components without a label."""
        if self._curves is not None:
            scores = sigmoid_probabilities(scores, self._curves)
        decided = self.classes_[scores.argmax(axis=1)]
        if has_label.all():
            return decided
        if isinstance(self.unknown, str) and self.unknown == "prior":
            # The prior alone is known there.
            most_frequent = np.bincount(self._labels.code).argmax()
            decided[~has_label] = self.classes_[most_frequent]
            return decided
        unknown = np.array([self.unknown])
        # numpy would convert both to text if one of them is.
        if unknown.dtype.kind != decided.dtype.kind:
            decided = decided.astype(object)
            unknown = unknown.astype(object)
        return np.where(has_label, decided, unknown)

    def predict_proba(self, X: ArrayLike | Iterable | None = None) -> np.ndarray:
        """Return class probabilities of the nodes of the graph, or of new nodes or points.

        Parameters
        ----------
        X : list or array of node ids, GraphNodes, points, or links as in `predict_new`, optional
            Default: all nodes of the graph.

        Returns
        -------
        ndarray of shape (n, C)
            Columns in the order of `classes_`.
        """
        self._check_fitted()
        nodes = self._known_nodes(X)
        if nodes is not None:
            return self.label_distributions_[nodes]
        scores, has_label = self._extend(X, self.scores_)
        return self._distributions(scores, has_label)

    def prediction_sets(self, alpha: float) -> np.ndarray:
        """Return the classes that each node may have, with a guaranteed coverage.

        The true class is in the set with probability at least 1 - 2 `alpha`, in practice about
        1 - `alpha`. This holds for nodes in a component with a label, if the labeled nodes were
        drawn at random and every class has a label. Labels are left out one by one or, if there
        are many, in folds, and scored without themselves (jackknife+ and cross-conformal
        prediction, see `graphsqueak.ssl.conformal`). With fewer than 1 / `alpha` - 1 labels every
        set contains all classes.

        Parameters
        ----------
        alpha : float in (0, 0.5)

        Returns
        -------
        ndarray of bool, shape (n_nodes, C)
            A column per class, in the order of `classes_`. The predicted class is always in the
            set. The set of a labeled node is its label, and that of a node in a component without
            a label is all classes.

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
        # The only class is in every set.
        if labels.classes.size == 1:
            return np.ones((self.n_nodes_, 1), dtype=bool)
        sets = conformal_sets(self._fits_without_labels(alpha), alpha)
        # More classes in a set only raise its coverage.
        sets[np.arange(self.n_nodes_), self.label_distributions_.argmax(axis=1)] = True
        sets[~self.has_label_in_component_] = True
        sets[labels.nodes] = labels.one_hot() > 0
        return sets

    def _fits_without_labels(self, alpha):
        """Yield a `conformal.Round` per label or fold of labels that is left out."""

        def refit(labels):
            return self._scores(self._graph, labels)

        return self._refit_folds(refit, alpha, max_single=MAX_SINGLE_REFITS)

    def _refit_folds(self, refit, alpha, *, max_single):
        """Yield rounds of refit(labels): up to `max_single` labels one by one, else in folds."""
        rng = np.random.default_rng(self.random_state)
        folds = assign_folds(self._labels.nodes.size, alpha, max_single, rng)
        return refit_without_folds(refit, self._labels, folds)


def warn_of_unlabeled_components(has_label, *predicted_as):
    """Warn if nodes lie in components without a label; `predicted_as` continues the message."""
    n_unlabeled = int(np.count_nonzero(~has_label))
    if n_unlabeled:
        warnings.warn(
            UnreachedWarning(
                f"{n_unlabeled} of {has_label.size} nodes lie in components without a ",
                *predicted_as,
                " (see has_label_in_component_)",
            ),
            stacklevel=5,
        )
