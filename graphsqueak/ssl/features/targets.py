"""Classes and values as targets: how scores of several kinds are compared, mixed and judged."""

import numpy as np
import scipy.optimize
from sklearn.utils.validation import _num_samples

from graphsqueak.ssl.decisions.thresholds import best_threshold
from graphsqueak.ssl.regressors import SparseHFSRegressor, StableHFSRegressor
from graphsqueak.ssl.sparse_classifier import SparseHFSClassifier
from graphsqueak.ssl.stable import inv_mean_degree, stable_scores
from graphsqueak.ssl.stable_classifier import StableHFSClassifier

__all__ = ["ClassTargets", "ValueTargets"]

_ALPHA = 2.0  # l eta of Stable-HFS, in natural units
_LEAST_SHARE = 1e-3  # whose logarithm is taken
_RIDGE = 0.2  # on the weights of the mixture
_BY_CHANCE = 1.5  # of the logarithm of a likelihood


class ClassTargets:
    """Scores have a column per class."""

    on_graph, on_stream = StableHFSClassifier, SparseHFSClassifier

    def __init__(self, labels):
        self.nodes, self.own, self._classes = labels.nodes, labels.code, labels.classes
        self.targets, self.named = labels.one_hot(), labels.classes[labels.code]
        self.prior = np.log(self.targets.mean(axis=0))
        self.prior -= self.prior.mean()

    def predict(self, model, features):
        """Shares (n, C); a class that the model has not seen has none."""
        shares = np.zeros((_num_samples(features), self._classes.size))
        shares[:, np.searchsorted(self._classes, model.classes_)] = model.predict_proba(features)
        return shares

    def graph_scores(self, graph, known):
        """Centered scores of Stable-HFS, which knows some of the labels."""
        return _stable(graph, self.nodes[known], self.targets[known]).centered

    def comparable(self, scores, view):
        """Scores of the graph (view 1) in units of their spread, shares as logarithms."""
        if view == 1:
            spread = scores.std()
            return scores / spread if spread > 0 else scores
        logarithm = np.log(np.maximum(scores, _LEAST_SHARE))
        return logarithm - logarithm.mean(axis=1, keepdims=True)

    def fit_weights(self, views):
        """Weights, not negative, of the least logarithmic loss, and the loss of every label."""
        rows = np.arange(self.own.size)

        def losses(weights):
            shares = _softmax(np.tensordot(weights, views, 1))
            return -np.log(np.maximum(shares[rows, self.own], 1e-300)), shares

        def loss(weights):
            values, shares = losses(weights)
            slope = np.tensordot(views, shares - self.targets, 2)
            return values.sum() + _RIDGE * weights @ weights / 2, slope + _RIDGE * weights

        start, bounds = np.zeros(len(views)), [(0.0, None)] * len(views)
        found = scipy.optimize.minimize(loss, start, jac=True, bounds=bounds).x
        return found, losses(found)[0]

    def count(self, scores, view=0):
        """Mistakes; of the graph (view 1) with a threshold that suits it, as Stable-HFS has it."""
        if view == 1:
            prior = self.targets.mean(axis=0) - 1 / self._classes.size
            return best_threshold(scores, self.own, prior, "auto")[1]
        return np.count_nonzero(scores.argmax(axis=1) != self.own)

    @staticmethod
    def by_chance(losses):
        """What weights gain that are fitted to noise."""
        return _BY_CHANCE

    def decide(self, scores):
        """Classes and shares."""
        shares = _softmax(scores)
        return self._classes[shares.argmax(axis=1)], shares


class ValueTargets:
    """Scores are one column."""

    on_graph, on_stream = StableHFSRegressor, SparseHFSRegressor

    def __init__(self, labels):
        self.nodes, self.own, self.named = labels.nodes, labels.value, labels.value
        self.targets, self._mean = labels.value[:, None], labels.value.mean()
        self.prior = np.zeros(1)

    def predict(self, model, features):
        """Values (n, 1)."""
        return np.asarray(model.predict(features), dtype=np.float64).reshape(-1, 1)

    def graph_scores(self, graph, known):
        """Stable-HFS, with the mean of the labels it knows."""
        fit = _stable(graph, self.nodes[known], self.targets[known])
        return fit.centered + fit.offset

    def comparable(self, scores, view):
        """Minus the mean of all labels."""
        return scores - self._mean

    def fit_weights(self, views):
        """Weights, not negative, of the least squared error, and the squares."""
        matrix = views[:, :, 0].T
        ridge = np.sqrt(_RIDGE * matrix.var(axis=0).max()) * np.eye(len(views))
        aim = np.concatenate([self.own - self._mean, np.zeros(len(views))])
        weights = scipy.optimize.nnls(np.concatenate([matrix, ridge]), aim)[0]
        return weights, (matrix @ weights - aim[: self.own.size]) ** 2

    def count(self, scores, view=0):
        """Squared error."""
        return float(((scores[:, 0] + self._mean - self.own) ** 2).sum())

    @staticmethod
    def by_chance(losses):
        """What weights gain that are fitted to noise."""
        return 2 * _BY_CHANCE * losses.mean()

    def decide(self, scores):
        """Values, and no shares."""
        return scores[:, 0] + self._mean, None


def _stable(graph, nodes, targets):
    alpha = _ALPHA * inv_mean_degree(graph)
    return stable_scores(graph, nodes, targets, alpha, tol=1e-5, random_state=0)


def _softmax(scores):
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
