"""Stacking of a model of node features and the labels of a graph.

Each node has scores of four models, the *parts* of a mixture:

    features      an estimator, from the features of the node
    propagated    the estimator, from features that random walks average over distant nodes [GBG19]
    neighbors     the estimator, from the features of the node, means over its neighbors and means
                  over their neighbors: it learns also if neighbors differ
    graph         Stable-HFS, from the labels of other nodes

The weights of the mixture (`mixture`) are those that predict left-out labels best (stacked
generalization [W92]): labels are left out in folds, of all parts, so that no score of a label
depends on it. A part that does not predict them gets the weight 0 or a small one.

References
----------
[GBG19] Gasteiger, Bojchevski, Guennemann. Predict then propagate: graph neural networks meet
        personalized PageRank. ICLR 2019.
[W92]   Wolpert. Stacked generalization. Neural Networks 5 (1992).
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _num_samples, check_array, check_is_fitted

from graphsqueak.errors import InputError
from graphsqueak.graph.id_arrays import as_permutation
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.ssl.alignment import Labels
from graphsqueak.ssl.base import UnreachedWarning
from graphsqueak.ssl.decisions.homophily import HomophilyWarning
from graphsqueak.ssl.decisions.label_weights import node_weights
from graphsqueak.ssl.features.mixture import ClassMixture, ValueMixture
from graphsqueak.ssl.features.neighbor_means import neighbor_features
from graphsqueak.ssl.features.neighborhood import Neighborhood, split_features
from graphsqueak.ssl.labels import class_labels, real_labels
from graphsqueak.ssl.model_selection import MIN_LOO_LABELS
from graphsqueak.ssl.new_nodes import find_nodes
from graphsqueak.validation import check_count, explain_keywords

__all__ = ["GraphStacking"]

# Parts of the mixture, in the order of the weights. The last one is the same for all nodes.
PARTS = ("features", "propagated", "neighbors", "graph", "prior")
# Weights if there are fewer than MIN_LOO_LABELS labels, too few to fit them: as much for the graph
# as for the three fits of the estimator together.
DEFAULT_WEIGHTS = (1 / 3, 1 / 3, 1 / 3, 1.0, 0.0)
# Steps over which `neighbors` has means. The features of more distant nodes are in `propagated`.
NEIGHBOR_HOPS = 2


@explain_keywords()
class GraphStacking(BaseEstimator):
    """Classifier or regressor of nodes from their features, those of their neighbors and the graph.

    Use it if nodes have features and a graph joins them, whether or not neighbors are alike. It
    mixes an estimator of the features, the same estimator of the features of neighbors, and
    the labels of neighbors (Stable-HFS), with weights fitted by cross-validation. With fewer than
    about 50 labels these are uncertain: compare with the single models by `cross_validate`.

    Parameters
    ----------
    estimator : classifier or regressor with the interface of scikit-learn
        Fitted to the features of the labeled nodes. A classifier needs `predict_proba`.
    hops : int
        Number of steps that features are propagated, each of them a pass over a file.
    n_folds : int
        Number of folds of the labels, by which the weights of the mixture are fitted. The estimator
        is fitted 3 (`n_folds` + 1) times: `n_folds` + 1 times each to the features, to the
        propagated features and to three times as many columns, those of the neighbors.
    random_state : int or None
        Seeds the folds, and the sparsifier of a file.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_nodes,)
        Predicted class, or value, of each node.
    label_distributions_ : ndarray of shape (n_nodes, C)
        Probabilities of the classes; for classifiers.
    weights_ : dict
        Weight of each part of the mixture: "features", "propagated" and "neighbors" of the
        estimator, "graph", and "prior", the class frequencies.
    estimators_ : dict
        The estimators of the first three parts, fitted to all labels.
    classes_, ids_ : ndarray

    Examples
    --------
    Two blocks, and a feature that is right for three of four nodes:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from graphsqueak.sources import block_model
    >>> graph = block_model(400, 3_000, n_blocks=2, within=0.75, random_state=7).to_edge_list()
    >>> rng = np.random.default_rng(7)
    >>> truth = np.arange(400) % 2
    >>> X = np.where(rng.random(400) < 0.75, truth, 1 - truth)[:, None]
    >>> y = np.where(np.arange(400) < 100, truth, -1)
    >>> model = GraphStacking(LogisticRegression(), random_state=7).fit(graph, y, X)
    >>> bool((model.transduction_ == truth).mean() > 0.9)
    True
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        hops: int = 6,
        n_folds: int = 5,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.hops = hops
        self.n_folds = n_folds
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = get_tags(self.estimator).estimator_type
        tags.target_tags.required = True
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags

    def fit(
        self,
        graph: GraphLike,
        y: Labels,
        features: ArrayLike,
        *,
        ids: ArrayLike | None = None,
    ) -> Self:
        """Fit to the labeled nodes and predict all nodes.

        Parameters
        ----------
        graph : GraphLike
        y : Labels
            Array, mapping from node ids to labels or values, pandas Series, table with the columns
            node and label, or path of such a table. -1 marks a node without a class and NaN one
            without a value. Arrays are matched by position if that is unambiguous
            (`graphsqueak.ssl.alignment`): to the rows of `features`, unless the ids are exactly 0,
            ..., n_nodes - 1.
        features : array, data frame or sparse matrix of shape (n_nodes, n_features)
            Numbers, one row per node. Propagated features stay sparse, with at most 1,000 entries
            per node: the smallest of longer rows are 0.
        ids : array of shape (n_nodes,), optional
            The node of each row. Default: the column node of a table, else the index of a pandas
            frame, else position, as for y.

        Returns
        -------
        self
        """
        features, ids = split_features(features, ids)
        n_rows = _num_samples(features)
        position = None if ids is None else as_permutation(np.asarray(ids), n_rows)
        if position is not None:
            # Ids 0, ..., n - 1: results are in their order, as those of all estimators.
            features = _safe_indexing(features, np.argsort(position))
            ids = np.arange(n_rows)
        neighborhood = Neighborhood(graph, n_rows, ids)
        # A classifier is mixed by probabilities, a regressor by values.
        is_class = is_classifier(self.estimator)
        if is_class and not hasattr(self.estimator, "predict_proba"):
            raise InputError(
                "a classifier needs predict_proba for a mixture; wrap it in "
                "sklearn.calibration.CalibratedClassifierCV"
            )
        mixture: Any = (ClassMixture if is_class else ValueMixture)(y, neighborhood.nodes)
        folds = self._split(mixture.y)
        left_out, scores = self._fit_parts(features, neighborhood, mixture, folds)
        weights = mixture.fit_weights(left_out) if folds else np.array(DEFAULT_WEIGHTS)

        self.weights_ = dict(zip(PARTS, weights.tolist(), strict=True))
        # Nodes without edges: values per node are matched to them when the model is scored.
        self._nodes = neighborhood.nodes
        self.ids_ = neighborhood.nodes.ids
        self.transduction_, probability = mixture.decide(np.tensordot(weights, scores, 1))
        if is_class:
            self.classes_ = mixture.labels.classes
            self.label_distributions_ = probability
        return self

    def _split(self, y):
        """Return pairs of the labels to fit to and those left out, as in scikit-learn.

        Folds have classes, or large and small values, in equal proportions. With few labels there
        are none.
        """
        n_labels = y.size
        n_folds = min(check_count("n_folds", self.n_folds, least=2), n_labels // 2)
        if n_labels < MIN_LOO_LABELS:
            return []
        shuffled = np.random.default_rng(self.random_state).permutation(n_labels)
        stratified = shuffled[np.argsort(y[shuffled], kind="stable")]
        fold = np.empty(n_labels, dtype=np.int64)
        fold[stratified] = np.arange(n_labels) % n_folds
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]

    def _fit_parts(self, features, neighborhood, mixture, folds):
        """Fit all parts to all labels, and to those of each fold.

        Returns
        -------
        left_out : ndarray of shape (n_parts, l, C)
            Scores of each label by the fits without it.
        scores : ndarray of shape (n_parts, n_nodes, C)
            Scores of all nodes by the fits to all labels.
        """
        n_hops = check_count("hops", self.hops)
        try:
            numbers = check_array(features, accept_sparse="csr", dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                "features are averaged over neighbors and must be finite numbers: "
                f"{str(error).splitlines()[0]}; encode texts and fill in missing values first"
            ) from None
        near = neighbor_features(
            neighborhood,
            numbers,
            hops=min(NEIGHBOR_HOPS, n_hops),
            deviations=False,
            n_steps=n_hops,
        )
        tables = {
            "features": features,
            "propagated": _with_names(near.propagated, features),
            "neighbors": _with_names(near.neighbors, features),
        }
        nodes = mixture.labels.nodes
        all_labels = np.arange(nodes.size)
        n_columns = mixture.prior.size
        left_out = np.empty((len(PARTS), nodes.size, n_columns))
        scores = np.empty((len(PARTS), neighborhood.nodes.n_nodes, n_columns))
        self.estimators_ = {}
        for part, (name, table) in enumerate(tables.items()):
            for train, test in folds:
                fitted = self._fit_estimator(table, mixture, train)
                rows = _safe_indexing(table, nodes[test])
                left_out[part, test] = mixture.standardize(mixture.predict(fitted, rows))
            self.estimators_[name] = self._fit_estimator(table, mixture, all_labels)
            scores[part] = mixture.standardize(mixture.predict(self.estimators_[name], table))
        graph = _graph_in_memory(neighborhood, mixture, self.random_state)
        part = PARTS.index("graph")
        for train, test in folds:
            left_out[part, test] = mixture.graph_scores(graph, train)[nodes[test]]
        scores[part] = mixture.graph_scores(graph, all_labels)
        left_out[-1] = mixture.prior
        scores[-1] = mixture.prior
        return left_out, scores

    def _fit_estimator(self, table, mixture, train):
        """Return the estimator, fitted to some of the labels, or a constant if they are equal."""
        named = mixture.named[train]
        # Many classifiers refuse a single class, and some regressors a single row.
        is_constant = (named[1:] == named[:-1]).all()
        estimator: Any = clone(self.estimator)
        if is_constant:
            is_class = is_classifier(self.estimator)
            estimator = DummyClassifier() if is_class else DummyRegressor()
        return estimator.fit(_safe_indexing(table, mixture.labels.nodes[train]), named)

    def predict(self, X: ArrayLike | None = None) -> np.ndarray:
        """Return the class, or value, of some nodes.

        Parameters
        ----------
        X : list or array of node ids, optional
            Default: all nodes, in the order of `ids_`.
        """
        return self.transduction_[self._find(X)]

    def predict_proba(self, X: ArrayLike | None = None) -> np.ndarray:
        """Return the class probabilities of some nodes; columns in the order of `classes_`.

        Parameters
        ----------
        X : list or array of node ids, optional
            Default: all nodes, in the order of `ids_`.
        """
        check_is_fitted(self, "label_distributions_")
        return self.label_distributions_[self._find(X)]

    def score(self, X: Any, y: Labels, sample_weight: Labels | None = None) -> float:
        """Return the accuracy of a classifier, or the coefficient of determination of a regressor.

        Parameters
        ----------
        X : graph or None
            Not used: the nodes are those of the graph that the model was fitted to.
        y, sample_weight : Labels
            Matched to nodes as y in `fit`. Nodes without a label are not counted.
        """
        check_is_fitted(self, "transduction_")
        read = class_labels if is_classifier(self.estimator) else real_labels
        labels = read(y, self._nodes)
        if sample_weight is not None:
            sample_weight = node_weights(sample_weight, labels.nodes, self._nodes)
        return labels.score(self.transduction_[labels.nodes], sample_weight)

    def _find(self, X):
        """Return which nodes X selects."""
        check_is_fitted(self, "transduction_")
        nodes = slice(None) if X is None else find_nodes(X, self._nodes)
        if nodes is None:
            raise InputError(
                f"{type(self).__name__} predicts nodes of the graph that it was fitted to: pass a "
                "list of their ids, predict([id, ...])"
            )
        return nodes


def _with_names(values, features):
    """Return means over neighbors as a data frame if the features are one.

    An estimator may select columns by name.
    """
    if isinstance(features, np.ndarray) or issparse(features) or not hasattr(features, "columns"):
        return values
    own = list(features.columns)
    if not all(isinstance(name, str) for name in own):
        # The default names 0, 1, ... of pandas, which scikit-learn ignores.
        return values
    n_means = values.shape[1] // len(own) - 1
    names = own + [f"mean{hop}_{name}" for hop in range(1, n_means + 1) for name in own]
    # pandas and polars call the same parameter differently.
    parameter = "columns" if hasattr(features, "iloc") else "schema"
    return type(features)(values, **{parameter: names})


def _graph_in_memory(neighborhood, mixture, random_state):
    """Return the graph or, of a stream, the sparsifier that Sparse-HFS makes for these labels."""
    if neighborhood.is_in_memory:
        return neighborhood.to_edge_list()
    ids = neighborhood.nodes.ids[mixture.labels.nodes]
    labels = dict(zip(ids.tolist(), mixture.named.tolist(), strict=True))
    model = mixture.streamed_model(random_state=random_state)
    with warnings.catch_warnings():
        for category in (UnreachedWarning, HomophilyWarning):
            warnings.simplefilter("ignore", category)
        model.fit(neighborhood.source, labels)
    return neighborhood.renumber(model.sparsifier_)[0]
