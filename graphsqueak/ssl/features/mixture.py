"""Mix the scores of several models with the weights that predict left-out labels best.

`Smoothed` has scores z_k of several kinds for each node, its *parts*. A mixture is sum_k b_k z_k
with b >= 0:

    classes   log-linear: z_k are centered logarithms of probabilities (of Stable-HFS: its centered
              scores, in standard deviations), and b minimizes the logarithmic loss
    values    linear: z_k are values minus their mean, and b minimizes the squared error

plus a small ridge term. `ClassMixture` and `ValueMixture` have the same methods.
"""

import numpy as np
import scipy.optimize
from scipy.special import log_softmax, softmax
from sklearn.utils.validation import _num_samples

from graphsqueak.ssl.decisions.thresholds import select_prior_weight
from graphsqueak.ssl.labels import class_labels, real_labels
from graphsqueak.ssl.model_selection import ALPHAS
from graphsqueak.ssl.regressors import SparseHFSRegressor, StableHFSRegressor
from graphsqueak.ssl.sparse_classifier import SparseHFSClassifier
from graphsqueak.ssl.stable import inv_mean_degree, stable_scores
from graphsqueak.ssl.stable_classifier import StableHFSClassifier

__all__ = ["ClassMixture", "ValueMixture"]

# Weight of the squared norm of b in the loss of a mixture. Halved: accuracy 0.2 points higher,
# doubled: 0.1 lower; without it the logarithmic loss is 11 % larger (five block models with 5 and
# 20 labels per class, four seeds).
RIDGE = 0.2
# Logarithmic loss that fitted weights save if the parts are noise. Halved: 0.2 points higher on the
# same graphs, doubled: 0.2 lower. With 0 the mixture is always used, and is 3 points worse than the
# graph if features are noise.
CHANCE_GAIN = 1.5


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

    in_memory_model = StableHFSClassifier
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
        deviation = scores.std()
        return scores / deviation if deviation > 0 else scores

    def standardize(self, probability):
        """Return probabilities (..., C) as a part of the mixture."""
        # Trees predict 0, whose logarithm is taken as that of a class that was not drawn in l
        # labels (rule of succession).
        smallest = 1 / (self.y.size + self.labels.classes.size)
        logarithm = np.log(np.maximum(probability, smallest))
        return logarithm - logarithm.mean(axis=-1, keepdims=True)

    def fit_weights(self, parts):
        """Return the weights of `parts` (n_parts, l, C), and the loss of each label."""
        targets = self.labels.targets

        def losses(weights):
            log_probability = log_softmax(np.tensordot(weights, parts, 1), axis=1)
            return -log_probability[np.arange(self.y.size), self.y]

        def objective(weights):
            residual = softmax(np.tensordot(weights, parts, 1), axis=1) - targets
            gradient = np.tensordot(parts, residual, 2) + RIDGE * weights
            return losses(weights).sum() + RIDGE * weights @ weights / 2, gradient

        weights = scipy.optimize.minimize(
            objective, np.zeros(len(parts)), jac=True, bounds=[(0.0, None)] * len(parts)
        ).x
        return weights, losses(weights)

    def error(self, scores):
        """Return the number of misclassified labels; `scores` has a row per label."""
        return np.count_nonzero(scores.argmax(axis=1) != self.y)

    def graph_error(self, scores):
        """Return the same for scores of the graph, with the prior weight that suits them."""
        prior = self.labels.targets.mean(axis=0) - 1 / self.labels.classes.size
        return select_prior_weight(scores, self.y, prior, "auto")[1]

    def chance_gain(self, losses):
        """Return how much of the sum of `losses` fitted weights save if the parts are noise."""
        return CHANCE_GAIN

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

    in_memory_model = StableHFSRegressor
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
        """Return the weights of `parts` (n_parts, l, 1), and the squared error of each label."""
        matrix = parts[:, :, 0].T
        n_parts = len(parts)
        # The ridge term is in units of the largest variance of a part.
        ridge = np.sqrt(RIDGE * matrix.var(axis=0).max()) * np.eye(n_parts)
        centered = self.y - self._mean
        rhs = np.concatenate([centered, np.zeros(n_parts)])
        weights = scipy.optimize.nnls(np.concatenate([matrix, ridge]), rhs)[0]
        return weights, (matrix @ weights - centered) ** 2

    def error(self, scores):
        """Return the sum of the squared errors; `scores` has a row per label."""
        return float(((scores[:, 0] + self._mean - self.y) ** 2).sum())

    graph_error = error

    def chance_gain(self, losses):
        """Return how much of the sum of `losses` fitted weights save if the parts are noise."""
        # The logarithmic loss of a normal distribution is the square over twice the variance.
        return 2 * CHANCE_GAIN * losses.mean()

    def decide(self, scores):
        """Return the values, and None for probabilities."""
        return scores[:, 0] + self._mean, None


def _stable_fit(graph, labels, train):
    alpha = ALPHAS[0] * inv_mean_degree(graph)
    # The scores only enter a mixture: a loose tolerance is enough.
    return stable_scores(
        graph, labels.nodes[train], labels.targets[train], alpha, tol=1e-5, random_state=0
    )
