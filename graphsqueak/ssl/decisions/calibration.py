"""Calibrated probabilities by Platt scaling of the scores that labels get when they are left out.

For each class, a logistic regression of "is of this class" on its score,

    P(class c | score s) = 1 / (1 + exp(-(slope_c s + intercept_c))),

and the probabilities of a node are scaled to sum to one. Isotonic regression would need more labels
than there usually are.
"""

import warnings

import numpy as np
from scipy.special import expit

__all__ = ["CalibrationWarning", "fit_sigmoids", "sigmoid_probabilities"]


class CalibrationWarning(UserWarning):
    """Left-out scores do not separate a class from the others: probabilities are not calibrated."""


def fit_sigmoids(scores, code, classes, *, min_labels=20):
    """Fit a logistic curve per class.

    Parameters
    ----------
    scores : array of shape (l, C)
        Scores of labeled nodes without their own labels; rows of NaN are ignored.
    code : array of int, shape (l,)
        Their classes.
    classes : array of shape (C,)
    min_labels : int
        Number of scores that are needed to fit two parameters per class.

    Returns
    -------
    ndarray of shape (C, 2), or None
        Slope and intercept per class. None with fewer than `min_labels` scores, and if a curve
        does not rise: its class would have the same probability everywhere.

    Examples
    --------
    >>> scores = np.concatenate([np.full((15, 2), [0.1, -0.1]), np.full((15, 2), [-0.1, 0.1])])
    >>> curves = fit_sigmoids(scores, np.repeat([0, 1], 15), np.array([0, 1]))
    >>> sigmoid_probabilities(np.array([[0.1, -0.1]]), curves)[0, 0] > 0.8
    np.True_
    """
    from sklearn.linear_model import LogisticRegression

    n_classes = classes.size
    is_valid = np.isfinite(scores[:, 0])
    scores = scores[is_valid]
    code = code[is_valid]
    if code.size < min_labels or n_classes < 2:
        return None
    counts = np.bincount(code, minlength=n_classes)
    deviation = scores.std()
    curves = np.zeros((n_classes, 2))
    if counts.min() > 0 and deviation > 0:
        for number in range(n_classes):
            model = LogisticRegression()
            # The penalty of the regression assumes scores of unit scale.
            model.fit(scores[:, [number]] / deviation, code == number)
            curves[number] = model.coef_[0, 0] / deviation, model.intercept_[0]
    is_flat = curves[:, 0] <= 0
    if not is_flat.any():
        return curves
    rarest = np.where(is_flat, counts, np.inf).argmin()
    warnings.warn(
        CalibrationWarning(
            f"without their own labels, labeled nodes of class {classes[rarest]!s} do not score "
            "higher than the others, so that label_distributions_ cannot be calibrated and are "
            "fractions of the scores; give more labels of that class"
        ),
        stacklevel=6,
    )
    return None


def sigmoid_probabilities(scores, curves):
    """Return the probabilities of the classes by the curves of `fit_sigmoids`; rows sum to one."""
    slope, intercept = curves.T
    probability = expit(scores * slope + intercept)
    # Far from all classes every curve may underflow.
    probability = np.maximum(probability, np.finfo(np.float64).tiny)
    return probability / probability.sum(axis=1, keepdims=True)
