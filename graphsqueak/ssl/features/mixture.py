"""Mix the scores of several models with the weights that predict left-out labels best.

`GraphStacking` has scores z_k of several models for each node, its *parts*. A mixture is
sum_k b_k z_k with b >= 0:

    classes   log-linear: z_k are centered logarithms of probabilities (of Stable-HFS: its centered
              scores, divided by the square root of their length and scaled), and b minimizes the
              logarithmic loss
    values    linear: z_k are values minus their mean, and b minimizes the squared error

plus a small ridge term. `ClassMixture` and `ValueMixture` have the same methods.
"""

import numpy as np
import scipy.optimize
from scipy.special import log_softmax, softmax
from sklearn.utils.validation import _num_samples

from graphsqueak.ssl.labels import class_labels, real_labels
from graphsqueak.ssl.model_selection import ALPHAS
from graphsqueak.ssl.regressors import SparseHFSRegressor
from graphsqueak.ssl.sparse_classifier import SparseHFSClassifier
from graphsqueak.ssl.stable import inv_mean_degree, stable_scores

__all__ = ["ClassMixture", "ValueMixture"]

# Weight of the squared norm of b in the loss of a mixture. Three times as much: 0.15 points lower
# on average over 20 kinds of graphs and numbers of labels, ten times: 0.3 points lower.
RIDGE = 0.2


class ClassMixture:
    """Mixture of scores with one column per class.

    Parameters
    ----------
    y : array or mapping from node ids to labels
    nodes : EdgeList
        The nodes that y is matched to.

    Attributes
    ----------
    labels : ClassLabels
    y : ndarray of shape (l,)
        Number of the class of each label.
    named : ndarray of shape (l,)
        The classes themselves, as given.
    prior : ndarray of shape (C,)
        Centered logarithm of the class frequencies: a part that is the same for all nodes.
    """

    streamed_model = SparseHFSClassifier

    def __init__(self, y, nodes):
        self.labels = class_labels(y, nodes)
        self.y = self.labels.code
        self.named = self.labels.classes[self.y]
        self.prior = np.log(self.labels.targets.mean(axis=0))
        self.prior -= self.prior.mean()

    def predict(self, estimator, features):
        """Return probabilities (n, C) of a fitted estimator; 0 for classes that it has not seen."""
        probability = np.zeros((_num_samples(features), self.labels.classes.size))
        column = np.searchsorted(self.labels.classes, estimator.classes_)
        probability[:, column] = estimator.predict_proba(features)
        return probability

    def graph_scores(self, graph, train):
        """Return Stable-HFS, fitted to the labels `train`, as a part of the mixture."""
        scores = _stable_fit(graph, self.labels, train).centered
        # Far from labels scores are small, but often right: the square root of their length lets
        # them count against other parts.
        length = np.linalg.norm(scores, axis=1, keepdims=True)
        scores = scores / np.sqrt(np.where(length > 0, length, 1.0))
        deviation = scores.std()
        return scores / deviation if deviation > 0 else scores

    def standardize(self, probability):
        """Return probabilities (..., C) as a part of the mixture."""
        # Trees predict 0. l probabilities and one draw of any class have the same order, and no 0.
        n_labels = self.y.size
        n_classes = self.labels.classes.size
        logarithm = np.log((n_labels * probability + 1 / n_classes) / (n_labels + 1))
        return logarithm - logarithm.mean(axis=-1, keepdims=True)

    def fit_weights(self, parts):
        """Return the weights of `parts` (n_parts, l, C)."""
        targets = self.labels.targets

        def objective(weights):
            log_probability = log_softmax(np.tensordot(weights, parts, 1), axis=1)
            gradient = np.tensordot(parts, np.exp(log_probability) - targets, 2) + RIDGE * weights
            loss = -(targets * log_probability).sum()
            return loss + RIDGE * weights @ weights / 2, gradient

        return scipy.optimize.minimize(
            objective, np.zeros(len(parts)), jac=True, bounds=[(0.0, None)] * len(parts)
        ).x

    def decide(self, scores):
        """Return the classes and their probabilities."""
        probability = softmax(scores, axis=1)
        return self.labels.classes[probability.argmax(axis=1)], probability


class ValueMixture:
    """Mixture of values, in one column.

    Parameters
    ----------
    y : array or mapping from node ids to values
    nodes : EdgeList
        The nodes that y is matched to.

    Attributes
    ----------
    labels : RealLabels
    y, named : ndarray of shape (l,)
        The values.
    prior : ndarray of shape (1,)
        Zero, since values are centered.
    """

    streamed_model = SparseHFSRegressor

    def __init__(self, y, nodes):
        self.labels = real_labels(y, nodes)
        self.y = self.labels.value
        self.named = self.y
        self._mean = self.y.mean()
        self.prior = np.zeros(1)

    def predict(self, estimator, features):
        """Return the values (n, 1) of a fitted estimator."""
        return np.asarray(estimator.predict(features), dtype=np.float64).reshape(-1, 1)

    def graph_scores(self, graph, train):
        """Return Stable-HFS, fitted to the labels `train`, as a part of the mixture."""
        fit = _stable_fit(graph, self.labels, train)
        return self.standardize(fit.centered + fit.offset)

    def standardize(self, values):
        """Return values as a part of the mixture: minus the mean of all labels."""
        return values - self._mean

    def fit_weights(self, parts):
        """Return the weights of `parts` (n_parts, l, 1)."""
        matrix = parts[:, :, 0].T
        n_parts = len(parts)
        # The ridge term is in units of the largest variance of a part.
        ridge = np.sqrt(RIDGE * matrix.var(axis=0).max()) * np.eye(n_parts)
        centered = self.y - self._mean
        rhs = np.concatenate([centered, np.zeros(n_parts)])
        return scipy.optimize.nnls(np.concatenate([matrix, ridge]), rhs)[0]

    def decide(self, scores):
        """Return the values, and None for probabilities."""
        return scores[:, 0] + self._mean, None


def _stable_fit(graph, labels, train):
    alpha = ALPHAS[0] * inv_mean_degree(graph)
    # The scores only enter a mixture: a loose tolerance is enough.
    return stable_scores(
        graph, labels.nodes[train], labels.targets[train], alpha, tol=1e-5, random_state=0
    )
