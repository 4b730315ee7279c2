"""Linear model of the words of labeled mails, and its mixture with the scores of the graph.

The linear model is ridge regression of +1 for spam and -1 for ham. Without an intercept, scores of
other mails are near 0 and on the side of the more frequent class. So the midpoint between the means
of spam and of ham, each scored without its own label, is subtracted from the score of each mail
that has known words. The mixture is

    s = (1 - w) g + w r

where g are scores of the graph and r those of the linear model, scaled to the mean square of g on
the labeled mails, again without their own labels. The weight w has the least log loss on these
scores after a temperature is fitted (see `calibration`).

With few labels most information is in the mails without a label, which only the graph uses. With
many labels the linear model is better, and the mixture is usually better than both.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.mail.calibration import least_log_loss

__all__ = ["LinearModel", "fit_linear", "mixture_weight", "scale_to"]

# Ridge penalty for points of length one. Halved or doubled: at most 0.3 points of accuracy.
_PENALTY = 0.1
# Number of folds in which labels are left out; fewer labels are left out one by one. Each takes a
# fit: 0.15 s of processor time in total for 1,000 labels. Halved or doubled, accuracy changes by at
# most 0.1 points, and by 0.5 on Spambase with 20 labels (two draws).
_N_FOLDS = 20
# Weights that are compared.
_WEIGHTS = np.linspace(0.0, 1.0, 21)


class LinearModel(NamedTuple):
    """Linear function of the points that have known words; the others score 0.

    Attributes
    ----------
    coefficients : ndarray of shape (n_words,)
    midpoint : float
        Subtracted from the inner products.
    """

    coefficients: np.ndarray
    midpoint: float

    def scores(self, points):
        """Return the scores of points (n, n_words)."""
        return points @ self.coefficients - self.midpoint * (np.diff(points.indptr) > 0)

    def scaled(self, factor):
        """Return the model whose scores are multiplied by a factor."""
        return LinearModel(factor * self.coefficients, factor * self.midpoint)


def fit_linear(points, is_spam):
    """Fit the linear model to labeled mails.

    Parameters
    ----------
    points : scipy CSR array, shape (k, n_words)
    is_spam : ndarray of bool, shape (k,)

    Returns
    -------
    model : LinearModel
    left_out : ndarray of shape (k,)
        Score of each mail by a fit without its fold.

    Examples
    --------
    Each mail is scored by the other one of its kind, with which it shares a word. The midpoint is
    0, since there are as many spam mails as ham:

    >>> import scipy.sparse
    >>> points = scipy.sparse.csr_array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> model, left_out = fit_linear(points, np.array([True, True, False, False]))
    >>> model.coefficients.round(2), left_out.round(2)
    (array([ 0.95, -0.95]), array([ 0.91,  0.91, -0.91, -0.91]))
    """
    target = np.where(is_spam, 1.0, -1.0)
    points = points.astype(np.float64)
    n_folds = min(_N_FOLDS, target.size)
    # Folds have spam and ham in equal proportions.
    fold = np.empty(target.size, dtype=np.int64)
    fold[np.argsort(target, kind="stable")] = np.arange(target.size) % n_folds
    left_out = np.empty(target.size)
    for number in range(n_folds):
        is_out = fold == number
        left_out[is_out] = points[is_out] @ _coefficients(points[~is_out], target[~is_out])
    midpoint = float(left_out[is_spam].mean() + left_out[~is_spam].mean()) / 2
    left_out -= midpoint * (np.diff(points.indptr) > 0)
    return LinearModel(_coefficients(points, target), midpoint), left_out


def _coefficients(points, target):
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=_PENALTY, fit_intercept=False, solver="sparse_cg")
    return model.fit(points, target).coef_


def scale_to(scores, other):
    """Return the factor by which `scores` have the mean square of `other`; 0 if all are 0.

    >>> float(scale_to(np.array([1.0, -1.0]), np.array([3.0, 3.0])))
    3.0
    """
    mean_square = np.mean(scores**2)
    return np.sqrt(np.mean(other**2) / mean_square) if mean_square > 0 else 0.0


def mixture_weight(graph, linear, is_spam):
    """Return the weight of the linear model in the mixture, between 0 and 1.

    Parameters
    ----------
    graph, linear : ndarray of shape (k,)
        Scores of labeled mails without their own labels, of equal mean square.
    is_spam : ndarray of bool, shape (k,)

    Examples
    --------
    >>> is_spam = np.arange(40) % 2 == 0
    >>> right = np.where(is_spam, 1.0, -1.0)
    >>> wrong = np.where(np.arange(40) < 20, right, -right)
    >>> mixture_weight(right, wrong, is_spam), mixture_weight(wrong, right, is_spam)
    (0.0, 1.0)
    """
    losses = [
        least_log_loss((1 - weight) * graph + weight * linear, is_spam)[1] for weight in _WEIGHTS
    ]
    return float(_WEIGHTS[np.argmin(losses)])
