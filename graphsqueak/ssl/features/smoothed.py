"""Features and graph together: a model of features, its predictions smoothed over the graph.

Three kinds of scores are at hand: p, what an estimator says of a node by its features; f, what
Stable-HFS says by the labels and the graph; and both together, T = labels where they are known and
p elsewhere, spread by walks that stop after every step with probability 1 - gamma [GBG19],

    Z = sum over k < K of (1 - gamma) gamma^k P^k T  +  gamma^K P^K T,       gamma = .5, .8, .95,

all gammas of the same K products.

*The mixture* of all is log-linear: scores sum_k b_k z_k with b >= 0, z the centered logarithms of
shares (those of the labels among them), and f in units of its spread; for values it is linear. The
labels are left out in folds, for the estimator and for the graph alike, and b is what predicts them
best (logarithmic loss, or squares). No label is told to those that score it.

*Which is used*: the mixture where it is clearly better on the labels left out than the better of
estimator and graph alone, else that one. Where `homophily_` is small it has to be better than the
estimator by twice the noise, else the estimator alone is used.

References
----------
[GBG19] Gasteiger, Bojchevski, Guennemann. Predict then propagate: graph neural networks meet
        personalized PageRank. ICLR 2019.
"""

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import as_permutation
from graphsqueak.nodes.numbering import NodeMatching
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.ssl.base import UnreachedWarning
from graphsqueak.ssl.decisions.homophily import HomophilyWarning, measure_homophily
from graphsqueak.ssl.features.neighborhood import Neighborhood, split_features
from graphsqueak.ssl.features.targets import ClassTargets, ValueTargets
from graphsqueak.ssl.labels import class_labels, real_labels
from graphsqueak.validation import check_count

__all__ = ["Smoothed"]

_GAMMAS = (0.5, 0.8, 0.95)
_VIEWS = ("estimator", "graph", *(f"smoothed {gamma}" for gamma in _GAMMAS), "prior")
_UNJUDGED = (0.5, 1.0, 0.0, 0.5, 0.0, 0.0)  # weights where labels are too few to choose by
_HOPS_HELD, _HOPS_READ = 10, 4
_FEWEST, _MANY = 8, 40  # labels that can be left out, and that tell by their loss alone


class Smoothed(BaseEstimator):
    """A model of features, smoothed over a graph as far as that helps.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn's kind
        Fitted to the features of the labeled nodes. A classifier has `predict_proba`.
    hops : int or "auto"
        Steps that predictions are spread; of a file, passes. "auto": 10 in memory, 4 of a file.
    n_folds : int
        Into which the labels are divided to choose by; the estimator is fitted so many times more.
    random_state : int or None
        Seeds the folds, and the sparsifier of a file.

    Attributes
    ----------
    transduction_ : ndarray (n_nodes,)
        A class, or a value, for every node.
    label_distributions_ : ndarray (n_nodes, C)
        Shares of the classes; of classifiers.
    weights_ : dict
        Weight of each kind of scores in the mixture.
    chosen_ : {"mixture", "estimator", "graph"}
        What `transduction_` is.
    homophily_, homophily_error_ : float
        As of `HFSClassifier`; of classifiers.
    estimator_ : the estimator, fitted to all labels
    classes_, ids_ : ndarray

    Examples
    --------
    Two blocks, and a feature that is right in three of four nodes:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from graphsqueak.sources import block_model
    >>> graph = block_model(400, 3_000, n_blocks=2, within=0.75, random_state=7).to_edge_list()
    >>> truth, rng = np.arange(400) % 2, np.random.default_rng(7)
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
        hops: int | str = "auto",
        n_folds: int = 5,
        random_state: RandomState = None,
    ) -> None:
        self.estimator, self.hops, self.n_folds = estimator, hops, n_folds
        self.random_state = random_state

    def fit(
        self,
        graph: GraphLike,
        y: ArrayLike | Mapping,
        features: ArrayLike,
        *,
        ids: ArrayLike | None = None,
    ) -> Self:
        """Learn from the labeled nodes, and answer for all.

        Parameters
        ----------
        graph : EdgeList, EdgeSource, scipy adjacency matrix or networkx graph
        y : array of shape (n_nodes,), or mapping from node ids to labels or values
            -1 marks a node without a class and NaN one without a value. A pandas Series, or a
            table with the columns node and label, is a mapping. Arrays go by position if that says
            which node is meant (`graphsqueak.ssl.alignment`): the order of the rows of `features`,
            unless the ids are exactly 0, ..., n_nodes - 1.
        features : array, data frame or sparse matrix of shape (n_nodes, n_features)
            A row for every node.
        ids : array of shape (n_nodes,), optional
            The node of each row. Default: the column node of a table, else the index of a pandas
            frame, else position, as for y.

        Returns
        -------
        self
        """
        features, ids = split_features(features, ids)
        n_rows = _num_samples(features)
        numbers = None if ids is None else as_permutation(np.asarray(ids), n_rows)
        if numbers is not None:
            features = _safe_indexing(features, np.argsort(numbers))
            ids = np.arange(numbers.size)
        around = Neighborhood(graph, n_rows, ids)
        is_class = is_classifier(self.estimator)
        labels = (class_labels if is_class else real_labels)(y, around.names)
        if is_class and not hasattr(self.estimator, "predict_proba"):
            raise InputError(
                "a classifier needs predict_proba to be smoothed; wrap it in "
                "sklearn.calibration.CalibratedClassifierCV"
            )
        task: Any = ClassTargets(labels) if is_class else ValueTargets(labels)
        fold = self._folds(task.own)
        knows = [np.flatnonzero(fold != number) for number in range(fold.max() + 1)]
        knows.append(np.arange(fold.size))  # the last time with all labels
        guesses = [self._fit_estimator(features, task, known) for known in knows]
        held, read = self._held_graph(around, task)
        kinds = [guesses, [task.graph_scores(held, known) for known in knows]]
        kinds += self._smooth(around, task, guesses, fold, knows)
        views = np.array([[task.comparable(v, k) for v in kind] for k, kind in enumerate(kinds)])
        views = np.concatenate([views, np.broadcast_to(task.prior, (1, *views.shape[1:]))])
        left_out = views[:, fold, labels.nodes]
        self.ids_, is_misled = around.names.ids, False
        if is_class:
            found = measure_homophily(held, labels, (left_out[1], task.own))
            self.homophily_, self.homophily_error_ = found.value, found.error
            self.classes_, is_misled = labels.classes, found.is_little
        self._choose(task, left_out, is_misled=is_misled, is_judged=len(knows) > 1)
        scores = np.tensordot(list(self.weights_.values()), views[:, -1], 1)
        self.transduction_, shares = task.decide(scores)
        if self.chosen_ == "graph":
            at, model = read or (slice(None), task.on_graph(random_state=self.random_state))
            if read is None:
                _quietly(model._fit_graph, held, labels)
            self.transduction_[at] = model.transduction_
            if is_class:
                shares[at] = model.label_distributions_
        if is_class:
            self.label_distributions_ = shares
        return self

    def _folds(self, own):
        """The fold of each label, classes or values spread evenly; -1 where there are few."""
        n_folds = min(check_count("n_folds", self.n_folds, least=2), own.size // 2)
        if own.size < _FEWEST or n_folds < 2:
            return np.full(own.size, -1)
        shuffled = np.random.default_rng(self.random_state).permutation(own.size)
        fold = np.empty(own.size, dtype=int)
        fold[shuffled[np.argsort(own[shuffled], kind="stable")]] = np.arange(own.size) % n_folds
        return fold

    def _fit_estimator(self, features, task, known):
        rows = _safe_indexing(features, task.nodes[known])
        self.estimator_ = clone(self.estimator).fit(rows, task.named[known])
        return task.predict(self.estimator_, features)

    def _held_graph(self, around, task):
        """The graph, or a sparsifier of what is only read and the model that has read it."""
        if around.is_held:
            return around.held(), None
        names = around.names.ids[task.nodes].tolist()
        model = task.on_stream(random_state=self.random_state)
        _quietly(model.fit, around.source, dict(zip(names, task.named.tolist(), strict=True)))
        kept, n_rows = model.sparsifier_, around.names.n_nodes
        rows = NodeMatching(around.names).nodes(kept)
        ends = rows[kept.tail], rows[kept.head]
        held = EdgeList.from_validated(*ends, kept.weight, n_rows, around.names.node_ids)
        return held, (rows, model)

    def _smooth(self, around, task, guesses, fold, knows):
        """Labels where they are known, guesses elsewhere, spread: for every gamma and fold."""
        n_hops = self.hops
        if n_hops == "auto":
            n_hops = _HOPS_HELD if around.is_held else _HOPS_READ
        check_count("hops", n_hops)
        starts = self._starts(around, task, guesses, fold, knows, n_hops)
        for start, known in zip(starts, knows, strict=True):
            start[task.nodes[known]] = task.targets[known]
        return around.spread(starts, n_hops, _GAMMAS)

    def _starts(self, around, task, guesses, fold, knows, n_hops):
        """What is spread, in every fold, where no label is known."""
        return [guess.copy() for guess in guesses]

    def _choose(self, task, left_out, *, is_misled, is_judged):
        """Set weights_ and chosen_ by scores (view, label, column) of labels that were left out."""
        weights, self.chosen_ = np.array(_UNJUDGED), "mixture"
        if is_judged:
            weights, losses = task.fit_weights(left_out)
            mistakes = [task.count(left_out[view], view) for view in (0, 1)]
            best = 0 if is_misled else int(np.argmin(mistakes))
            gain = task.fit_weights(left_out[[best, -1]])[1] - losses
            noise = np.sqrt(gain.size) * gain.std()
            is_clear = gain.sum() > max(task.by_chance(losses), (1 + is_misled) * noise)
            if gain.size < _MANY:
                mixed = task.count(np.tensordot(weights, left_out, 1))
                is_clear &= mixed < mistakes[best] - np.sqrt(mistakes[best]) / 2
            if not is_clear:
                self.chosen_ = _VIEWS[best]
        if self.chosen_ != "mixture":
            weights = np.eye(len(_VIEWS))[_VIEWS.index(self.chosen_)]
        self.weights_ = dict(zip(_VIEWS, weights.tolist(), strict=True))

    def predict(self) -> np.ndarray:
        """A class, or a value, for every node, in the order of `ids_`."""
        check_is_fitted(self, "transduction_")
        return self.transduction_

    def predict_proba(self) -> np.ndarray:
        """Shares of the classes for every node; columns in order of `classes_`."""
        check_is_fitted(self, "label_distributions_")
        return self.label_distributions_


def _quietly(fit, *arguments):
    with warnings.catch_warnings():
        for said in (UnreachedWarning, HomophilyWarning):
            warnings.simplefilter("ignore", said)
        return fit(*arguments)
