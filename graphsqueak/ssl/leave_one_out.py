"""What a labeled node would be called had it no label: leave-one-out, from the fit's own solve.

Seen from the labeled nodes S, Stable-HFS is a linear smoother: f_S = M y~, where M b are the
values on S of the minimizer for labels b. Leaving label i out of a penalized least squares fit
needs no other fit, M'_ij = M_ij / (1 - M_ii), so that

    f_i without i  =  ( (M y)_i - M_ii y_i - ybar_i ((M 1)_i - M_ii) ) / (1 - M_ii),

exactly, where ybar_i is the mean of the other labels of the component and alpha stays fixed. M y
and M 1 are columns of the fit's own solve. The diagonal takes a column per label; with many labels
it is sketched instead: for random signs s, the mean of s_i (M s)_i is M_ii with variance
sum_(j != i) M_ij^2 over the number of probes: little, since the weight of a row of M is mostly on
its diagonal or spread over many labels.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.ssl.stable import Fit, label_means, smoothed

__all__ = ["LeftOut", "leave_one_out"]

_CLOSEST = 1e-6  # of M_ii to one
_FEW = 32  # labels that get a column each


class LeftOut(NamedTuple):
    """The `fit` to all labels; `scores` and label `mean` (l, C) of each labeled node without its
    own label, NaN where the component has no other."""

    fit: Fit
    scores: np.ndarray
    mean: np.ndarray


def leave_one_out(graph, labeled, targets, alpha, *, n_probes=16, tol=1e-8, random_state=None):
    """Fit to all labels, and what each labeled node would get without its own.

    Parameters
    ----------
    graph, labeled, targets, alpha, tol
        As of `stable_scores`.
    n_probes : int
        Columns for the diagonal of M, if there are more than 32 labels.

    Examples
    --------
    On a path whose ends are labeled, each end alone says the same everywhere:

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList(tail=[0, 1], head=[1, 2])
    >>> out = leave_one_out(path, np.array([0, 2]), np.array([[1.0], [0.0]]), alpha=1.0)
    >>> out.scores.ravel().round(6) + 0.0, out.mean.ravel()
    (array([0., 0.]), array([0., 1.]))
    """
    rng = np.random.default_rng(random_state)
    n_labels, n_columns = targets.shape
    exact = n_labels <= max(n_probes, _FEW)
    signs = np.eye(n_labels) if exact else rng.choice([-1.0, 1.0], size=(n_labels, n_probes))
    columns = np.column_stack([targets, np.ones(n_labels), signs])
    values = smoothed(graph, labeled, columns, alpha, tol=tol, random_state=rng)
    component = graph.components()
    own = component[labeled]
    mean, has_label = label_means(targets, own, np.ones((n_labels, 1)), component)
    raw, constant = values[:, :n_columns], values[:, n_columns : n_columns + 1]
    fit = Fit(raw - mean[component] * constant, mean[component], has_label[component])
    products = signs * values[labeled, n_columns + 1 :]
    diagonal = products.sum(axis=1) if exact else products.mean(axis=1)
    diagonal = np.clip(diagonal, 0.0, 1 - _CLOSEST)[:, None]
    others = np.bincount(own)[own][:, None] - 1.0
    others[others == 0] = np.nan
    rest = (mean[own] * (others + 1) - targets) / others
    scores = raw[labeled] - diagonal * targets - rest * (constant[labeled] - diagonal)
    return LeftOut(fit, scores / (1 - diagonal), rest)
