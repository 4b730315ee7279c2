"""Scores to probabilities: a sigmoid per class, fitted where each label did not see itself.

Platt's method on the leave-one-out (or held-out) scores of the labeled nodes: one-versus-rest
logistic curves, scaled to sum to one. Isotonic regression would need more labels than there
usually are.
"""

import numpy as np

__all__ = ["fit_sigmoids", "sigmoid_shares"]

_FEWEST = 20


def fit_sigmoids(scores, code, n_classes):
    """Slope and intercept per class, or None where there are too few judges (fewer than 20).

    >>> scores = np.concatenate([np.full((15, 2), [0.1, -0.1]), np.full((15, 2), [-0.1, 0.1])])
    >>> curves = fit_sigmoids(scores, np.repeat([0, 1], 15), 2)
    >>> sigmoid_shares(np.array([[0.1, -0.1]]), curves)[0, 0] > 0.8
    np.True_
    """
    from sklearn.linear_model import LogisticRegression

    valid = np.isfinite(scores[:, 0])
    if np.count_nonzero(valid) < _FEWEST or np.unique(code[valid]).size < n_classes:
        return None
    unit = scores[valid].std()
    if n_classes < 2 or unit == 0:
        return None
    curves = []
    for number in range(n_classes):
        model = LogisticRegression()
        model.fit(scores[valid, number, None] / unit, code[valid] == number)
        curves.append((max(model.coef_[0, 0], 0.0) / unit, model.intercept_[0]))
    return np.array(curves)


def sigmoid_shares(scores, curves):
    """Probabilities of the classes; rows sum to one."""
    slope, intercept = curves.T
    shares = 1 / (1 + np.exp(-np.clip(scores * slope + intercept, -500, 500)))
    return shares / shares.sum(axis=1, keepdims=True)
