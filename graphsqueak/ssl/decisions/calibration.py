"""Probabilities by Platt's method, on the scores that labeled nodes get without their own labels.

One-versus-rest logistic curves, scaled to sum to one. (Isotonic regression would need more labels
than there usually are.)
"""

import warnings

import numpy as np

__all__ = ["CalibrationWarning", "fit_sigmoids", "sigmoid_shares"]

_FEWEST_TO_CALIBRATE = 20


class CalibrationWarning(UserWarning):
    """The left-out scores tell nothing about a class; probabilities are not calibrated."""


def fit_sigmoids(scores, code, classes):
    """Slope and intercept per class, or None with fewer than 20 scored nodes or a falling curve.

    A curve that does not rise says that the scores tell nothing about its class: all nodes would
    get the same probability.

    >>> scores = np.concatenate([np.full((15, 2), [0.1, -0.1]), np.full((15, 2), [-0.1, 0.1])])
    >>> curves = fit_sigmoids(scores, np.repeat([0, 1], 15), np.array([0, 1]))
    >>> sigmoid_shares(np.array([[0.1, -0.1]]), curves)[0, 0] > 0.8
    np.True_
    """
    from sklearn.linear_model import LogisticRegression

    valid = np.isfinite(scores[:, 0])
    scores, code = scores[valid], code[valid]
    if code.size < _FEWEST_TO_CALIBRATE or classes.size < 2:
        return None
    counts, unit = np.bincount(code, minlength=classes.size), scores.std()
    curves = np.zeros((classes.size, 2))
    if counts.min() > 0 and unit > 0:
        for number in range(classes.size):
            model = LogisticRegression()
            model.fit(scores[:, number, None] / unit, code == number)
            curves[number] = model.coef_[0, 0] / unit, model.intercept_[0]
    flat = curves[:, 0] <= 0
    if not flat.any():
        return curves
    rarest = np.where(flat, counts, np.inf).argmin()
    warnings.warn(
        CalibrationWarning(
            f"without their own labels, labeled nodes of class {classes[rarest]!s} do not score "
            "higher than the others, so that label_distributions_ cannot be calibrated and are "
            "plain shares; give more labels of that class"
        ),
        stacklevel=6,
    )
    return None


def sigmoid_shares(scores, curves):
    """Probabilities of the classes; rows sum to one."""
    slope, intercept = curves.T
    shares = 1 / (1 + np.exp(-np.clip(scores * slope + intercept, -500, 500)))
    return shares / shares.sum(axis=1, keepdims=True)
