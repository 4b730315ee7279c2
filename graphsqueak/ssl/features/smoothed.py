"""Node features and a graph together: predictions of a model, smoothed over the graph.

There are three kinds of scores: p, the predictions of an estimator from the features of each node;
f, Stable-HFS from the labels and the graph; and Z, the labels where they are known and p elsewhere,
propagated by random walks [GBG19] (`neighborhood`).

*The mixture* of all (`mixture`) has the weights that predict left-out labels best: labels are left
out in folds, both of the estimator and of the graph, so that no score of a label depends on it.

*Model selection.* The mixture is used if it is clearly better on the left-out labels than the
better one of estimator and graph, which is used otherwise. If homophily is low, the mixture must
be better than the estimator by twice the standard error, and the graph alone is never used.

References
----------
[GBG19] Gasteiger, Bojchevski, Guennemann. Predict then propagate: graph neural networks meet
        personalized PageRank. ICLR 2019.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from graphsqueak.errors import InputError
from graphsqueak.graph.id_arrays import as_permutation
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.ssl.alignment import Labels
from graphsqueak.ssl.base import UnreachedWarning
from graphsqueak.ssl.decisions.homophily import HomophilyWarning, measure_homophily
from graphsqueak.ssl.decisions.label_weights import node_weights
from graphsqueak.ssl.features.mixture import ClassMixture, ValueMixture
from graphsqueak.ssl.features.neighborhood import Neighborhood, split_features
from graphsqueak.ssl.labels import class_labels, real_labels
from graphsqueak.ssl.model_selection import MIN_LOO_LABELS
from graphsqueak.ssl.new_nodes import find_nodes
from graphsqueak.validation import check_count, explain_keywords

__all__ = ["Smoothed"]

# Parts of the mixture, in the order of the weights.
PARTS = ("estimator", "graph", "smoothed", "prior")
# Weights if there are too few labels to fit them. Equal weights of the first three lose 0.5 points
# on average over nine graphs, and 8 points with homophily 0.9 and two labels per class.
DEFAULT_WEIGHTS = (0.5, 1.0, 0.5, 0.0)


@explain_keywords()
class Smoothed(BaseEstimator):
    """Predictions of a model of node features, smoothed over a graph as far as that helps.

    Use it if nodes have features and a graph joins them. For labels that depend on both, it is
    usually better than a model of the features (`estimator`) or of the graph alone
    (`StableHFSClassifier`). Without homophily it predicts like `estimator`; try `NeighborMeans`.

    Parameters
    ----------
    estimator : classifier or regressor with the interface of scikit-learn
        Fitted to the features of the labeled nodes. A classifier needs `predict_proba`.
    hops : int
        Number of steps that predictions are propagated, each of them a pass over a file. With more
        than four, accuracy hardly changes: the graph's own scores (`"graph"`) reach all nodes.
    n_folds : int
        Number of folds of the labels, by which the weights of the mixture are fitted. The estimator
        is fitted once per fold and once to all labels.
    random_state : int or None
        Seeds the folds, and the sparsifier of a file.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_nodes,)
        Predicted class, or value, of each node.
    label_distributions_ : ndarray of shape (n_nodes, C)
        Probabilities of the classes; for classifiers.
    weights_ : dict
        Weight of each part of the mixture.
    chosen_ : {"mixture", "estimator", "graph"}
        Origin of `transduction_`.
    homophily_, homophily_error_ : float
        As in `HFSClassifier`; for classifiers.
    estimator_ : estimator
        Fitted to all labels.
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
    >>> model = Smoothed(LogisticRegression(), random_state=7).fit(graph, y, X)
    >>> bool((model.transduction_ == truth).mean() > 0.9), model.chosen_
    (True, 'mixture')
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        hops: int = 4,
        n_folds: int = 5,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.hops = hops
        self.n_folds = n_folds
        self.random_state = random_state

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
            One row per node.
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
                "a classifier needs predict_proba to be smoothed; wrap it in "
                "sklearn.calibration.CalibratedClassifierCV"
            )
        mixture: Any = (ClassMixture if is_class else ValueMixture)(y, neighborhood.nodes)
        graph_model = _GraphModel(neighborhood, mixture, self.random_state)
        fold, train_sets = self._split(mixture.y)
        parts = self._fit_parts(features, neighborhood, mixture, graph_model, fold, train_sets)

        # Scores of each label by the fits without it.
        left_out = parts[:, fold, mixture.labels.nodes]
        has_low_homophily = False
        if is_class:
            held_out = None
            if len(train_sets) > 1:
                held_out = left_out[PARTS.index("graph")], mixture.y
            homophily = measure_homophily(graph_model.edges, mixture.labels, held_out)
            has_low_homophily = homophily.is_little
            self.homophily_ = homophily.value
            self.homophily_error_ = homophily.error
            self.classes_ = mixture.labels.classes
        if len(train_sets) > 1:
            self.chosen_, weights = _select(mixture, left_out, has_low_homophily=has_low_homophily)
        else:
            self.chosen_ = "mixture"
            weights = np.array(DEFAULT_WEIGHTS)
        self.weights_ = dict(zip(PARTS, weights.tolist(), strict=True))

        # Nodes without edges: values per node are matched to them when the model is scored.
        self._nodes = neighborhood.nodes
        self.ids_ = neighborhood.nodes.ids
        # The last fit is that to all labels.
        scores = np.tensordot(weights, parts[:, -1], 1)
        self.transduction_, probability = mixture.decide(scores)
        if self.chosen_ == "graph":
            model, rows = graph_model.fitted()
            self.transduction_[rows] = model.transduction_
            if is_class:
                probability[rows] = model.label_distributions_
        if is_class:
            self.label_distributions_ = probability
        return self

    def _split(self, y):
        """Return a fold per label, and the labels to fit to without each fold, and all of them.

        Folds have classes, or large and small values, in equal proportions. With few labels there
        are none: `fold` is -1, which is the fit to all labels.
        """
        n_labels = y.size
        n_folds = min(check_count("n_folds", self.n_folds, least=2), n_labels // 2)
        fold = np.full(n_labels, -1)
        if n_labels >= MIN_LOO_LABELS:
            shuffled = np.random.default_rng(self.random_state).permutation(n_labels)
            stratified = shuffled[np.argsort(y[shuffled], kind="stable")]
            fold[stratified] = np.arange(n_labels) % n_folds
        train_sets = [np.flatnonzero(fold != number) for number in range(fold.max() + 1)]
        return fold, [*train_sets, np.arange(n_labels)]

    def _fit_parts(self, features, neighborhood, mixture, graph_model, fold, train_sets):
        """Return the parts of the mixture, shape (n_parts, n_fits, n_nodes, C)."""
        labels = mixture.labels
        n_hops = check_count("hops", self.hops)
        predictions = []
        for train in train_sets:
            rows = _safe_indexing(features, labels.nodes[train])
            self.estimator_ = clone(self.estimator).fit(rows, mixture.named[train])
            predictions.append(mixture.predict(self.estimator_, features))
        predictions = np.array(predictions)
        starts = self._correct(neighborhood, labels, predictions, fold, train_sets, n_hops)
        for start, train in zip(starts, train_sets, strict=True):
            # Known labels replace predictions before they are propagated.
            start[labels.nodes[train]] = labels.targets[train]
        # In the order of PARTS.
        return np.array(
            [
                mixture.standardize(predictions),
                [mixture.graph_scores(graph_model.edges, train) for train in train_sets],
                mixture.standardize(neighborhood.propagate(starts, n_hops)),
                np.broadcast_to(mixture.prior, predictions.shape),
            ]
        )

    def _correct(self, neighborhood, labels, predictions, fold, train_sets, n_hops):
        """Return the predictions that are propagated; `CorrectAndSmooth` corrects them first."""
        return predictions.copy()

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


def _select(mixture, left_out, *, has_low_homophily):
    """Choose the mixture, or the better one of estimator and graph.

    Parameters
    ----------
    mixture : ClassMixture or ValueMixture
    left_out : array of shape (n_parts, l, C)
        Scores of the labels by the fits without them.
    has_low_homophily : bool

    Returns
    -------
    chosen : {"mixture", "estimator", "graph"}
    weights : ndarray of shape (n_parts,)
    """
    weights, losses = mixture.fit_weights(left_out)
    scores = dict(zip(PARTS, left_out, strict=True))
    errors = {
        "estimator": mixture.error(scores["estimator"]),
        "graph": mixture.graph_error(scores["graph"]),
    }
    best = "estimator" if has_low_homophily else min(errors, key=errors.get)
    # Compared with the best single model, whose scores are also scaled and shifted to fit.
    _, best_losses = mixture.fit_weights(np.array([scores[best], scores["prior"]]))
    gain = best_losses - losses
    is_better = gain.sum() > mixture.chance_gain(losses)
    if has_low_homophily:
        standard_error = np.sqrt(gain.size) * gain.std()
        is_better &= gain.sum() > 2 * standard_error
    if is_better:
        return "mixture", weights
    return best, (np.array(PARTS) == best).astype(float)


class _GraphModel:
    """Stable-HFS on a graph in memory, or Sparse-HFS on a stream, for the labels of a mixture.

    Attributes
    ----------
    edges : EdgeList
        The graph, or the sparsifier of a stream, with nodes in the order of the features.
    """

    def __init__(self, neighborhood, mixture, random_state):
        ids = neighborhood.nodes.ids[mixture.labels.nodes]
        self._labels = dict(zip(ids.tolist(), mixture.named.tolist(), strict=True))
        if neighborhood.is_in_memory:
            self.edges = neighborhood.to_edge_list()
            self._rows = slice(None)
            self._model = mixture.in_memory_model(random_state=random_state)
            self._is_fitted = False
        else:
            self._model = mixture.streamed_model(random_state=random_state)
            self._fit(neighborhood.source)
            self.edges, self._rows = neighborhood.renumber(self._model.sparsifier_)

    def _fit(self, graph):
        with warnings.catch_warnings():
            for category in (UnreachedWarning, HomophilyWarning):
                warnings.simplefilter("ignore", category)
            self._model.fit(graph, self._labels)
        self._is_fitted = True

    def fitted(self):
        """Return the model, fitted to all labels, and the rows of its nodes."""
        if not self._is_fitted:
            self._fit(self.edges)
        return self._model, self._rows
